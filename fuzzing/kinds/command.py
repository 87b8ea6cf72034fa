"""The command with random sub-commands, options and files.

Exit codes are 0, 1 or 2 and errors are clear. Nothing is half written, and no file that a command reads is changed.
"""

from __future__ import annotations

import os
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import click
from click.testing import CliRunner

from fuzzing.cases import Case, Kind, pack_bytes, unpack_bytes
from fuzzing.judging import Finding, find_place, require_clear
from fuzzing.mutation import mutate_bytes
from metricwise.cli import main
from metricwise.io.atomic import PARTIAL
from metricwise.registry import entries

_NUMBERS = "a,b,group,w,y\n" + "".join(
    f"{k % 7},{k * k % 11},{k // 4},{1 + k % 2},{int(k % 7 > 3)}\n" for k in range(40)
)
_WORDS = "a;colour;y\n" + "".join(
    f"{k % 5};{'red' if k % 3 else 'blue'};{'yes' if k % 5 > 2 else 'no'}\n" for k in range(40)
)
_SPARSE = "".join(f"{1 if k % 5 > 2 else -1} 1:{k % 5} 3:{k * k % 7}\n" for k in range(40))
_QUERIES = "".join(f"{k % 3} qid:{k // 5} 1:{k % 5} 3:{k * k % 7}\n" for k in range(40))
_ARFF = "@relation r\n@attribute a real\n@attribute y {0,1}\n@data\n" + "".join(
    f"{k % 9},{int(k % 9 > 4)}\n" for k in range(40)
)
FILES = {
    "numbers.csv": _NUMBERS,
    "words.csv": _WORDS,
    "sparse.svm": _SPARSE,
    "queries.svm": _QUERIES,
    "table.arff": _ARFF,
    "empty.csv": "",
    "own.py": "x = 1\n",
}
_DATA = (
    "numbers.csv",
    "numbers.csv",
    "words.csv",
    "sparse.svm",
    "queries.svm",
    "table.arff",
    "empty.csv",
    "missing.csv",
    ".",
    "model.mw",
)
_NO_DATA = ("empty.csv", "missing.csv", ".", "model.mw", "own.py")
_OUTPUTS = ("out.mw", "out.csv", "out.html", "missing/out", ".", "numbers.csv", "./numbers.csv", "model.mw")
_WRITTEN = ("--out", "--html", "--state", "--checkpoint")  # options whose value is a file to write
_VALUES = (
    "0",
    "1",
    "-1",
    "3",
    "0.5",
    "1e9",
    "-1e-9",
    "nan",
    "inf",
    "",
    "y",
    "a",
    "colour",
    "99",
    "auto",
    "é",
    "f1",
    "x=1",
    "5s",
    "1h",
)
_MEASURES = (
    "f1",
    "roc_auc",
    "accuracy",
    "g_mean",
    "prbep",
    "precision_at_k:3",
    "f0.5",
    "f1_macro",
    "nonsense",
    "partial_roc_auc",
    "two-way-partial-auc:0.5,0.3",
    "ndcg",
    "recall",
)
_LIKELY = {
    "--target": ("y",),
    "--weight": ("w", "a"),
    "--groups": ("group",),
    "--drop": ("b", "w,group"),
    "--pos-label": ("1", "yes"),
    "--memory-limit": ("800MB", "2GiB"),
    "--encoding": ("utf-8", "latin-1", "utf-16"),
    "--decimal": ("point", "comma"),
    "--delimiter": ("comma", ";", "tab"),
    "--confidence": ("0.9", "0.5"),
    "--subject-to": ("precision>=0.5", "recall>=0.9"),
    "--classes": ("0,1", "no,yes"),
    "--n-features": ("3", "5"),
    "--passes": ("1", "3"),
    "--time-budget": ("1s",),
    "--threshold": ("cv", "train", "0"),
    "--checkpoint": ("run", "missing/run"),
    "--id": ("a", "group"),
    "--compare": ("model.mw",),
}
# Slow by design: they search, draw or wait.
_SKIPPED = {"auto", "sparse-coding", "adapted-svm", "classifier-chain"}
_ALGORITHMS = tuple(entry.command_name for entry in entries() if entry.command_name not in _SKIPPED)
_COMMANDS = sorted(set(main.commands) - {"warm-up"})  # which trains everything
_NEVER = {"--help", "--version", "-h"}
_MODEL: list[bytes] = []


def _prepare() -> None:
    """Train one model, and run some cases, so that most functions are compiled."""
    runner = CliRunner()
    with runner.isolated_filesystem():
        _write_files({name: pack_bytes(text.encode()) for name, text in FILES.items()})
        arguments = ["train", "numbers.csv", "--target", "y", "--algorithm", "multivariate-svm", "--out", "model.mw"]
        trained = runner.invoke(main, arguments)
        if trained.exit_code != 0:
            raise ValueError(f"the command cannot train: {trained.output}")
        _MODEL[:] = [Path("model.mw").read_bytes()]
        for command in (["predict", "model.mw", "numbers.csv"], ["evaluate", "model.mw", "numbers.csv"]):
            runner.invoke(main, command)


def _make_case(random: Random) -> Case:
    name = random.choice(["train"] * 4 + _COMMANDS)
    command = main.commands[name]
    arguments = [name]
    for parameter in command.params:
        if isinstance(parameter, click.Argument):
            arguments += _draw_argument(parameter, name, random)
    if name == "train":
        arguments += ["--algorithm", random.choice(_ALGORITHMS)]
    options = [parameter for parameter in command.params if isinstance(parameter, click.Option)]
    for option in random.sample(options, min(random.choice([0, 1, 1, 2, 3, 5]), len(options))):
        arguments += _draw_option(option, random)
    if random.random() < 0.4:
        arguments += ["--target", random.choice(["y", "y", "a", "-1", "nothing"])]
    if random.random() < 0.6:
        arguments += ["--out", random.choice(_OUTPUTS[:3] + _OUTPUTS)]
    files = {file: pack_bytes(text.encode()) for file, text in FILES.items()}
    files["model.mw"] = pack_bytes(_MODEL[0])
    if random.random() < 0.2:
        damaged = random.choice(sorted(files))
        files[damaged] = pack_bytes(mutate_bytes(unpack_bytes(files[damaged]), random))
    used = {file: content for file, content in files.items() if file in arguments}
    return {"arguments": arguments, "files": used, "shows_traceback": random.random() < 0.5}


def _draw_argument(argument: click.Argument, command: str, random: Random) -> list[str]:
    if "model" in str(argument.name):
        return [random.choice(["model.mw", "model.mw", "model.mw", "numbers.csv", "missing.mw"])]
    if command == "compare":  # trains all candidates, where there is something to train on
        return [random.choice(_NO_DATA)]
    if random.random() < 0.75:
        return ["numbers.csv"]
    return [random.choice(_DATA)] if random.random() < 0.97 else []


def _draw_option(option: click.Option, random: Random) -> list[str]:
    name = random.choice([*option.opts, *option.secondary_opts])
    if option.is_flag or option.count:
        return [] if name in _NEVER else [name]
    if "measure" in name:
        return [name, random.choice(_MEASURES)]
    if isinstance(option.type, click.Choice) and random.random() < 0.8:
        chosen = [str(choice) for choice in option.type.choices if str(choice) not in _SKIPPED]
        return [name, random.choice(chosen)]
    if name in _LIKELY and random.random() < 0.75:
        return [name, random.choice(_LIKELY[name])]
    if name in _WRITTEN:
        return [name, random.choice([*_OUTPUTS, *_DATA])]
    return [name, random.choice(_VALUES)]


def _check(case: Case, folder: Path) -> str:
    os.chdir(folder)
    _write_files(case["files"])
    before = {path: path.read_bytes() for path in folder.iterdir()}
    arguments = [*case["arguments"], *(["--debug"] if case["shows_traceback"] else [])]
    result = CliRunner().invoke(main, arguments)
    what = f"metricwise {' '.join(arguments)}"
    error = result.exception
    if error is not None and not isinstance(error, SystemExit):
        require_clear(error)
    elif result.exit_code not in (0, 1, 2):
        raise Finding(f"{what}: exit code {result.exit_code}")
    if "Traceback" in result.output or "unexpected " in result.output:
        raise Finding(f"{what}: {result.output.strip()[:300]}")
    if (
        result.exit_code in (1, 2)
        and error is not None
        and isinstance(error, SystemExit)
        and "rror" not in result.output
    ):
        raise Finding(f"{what}: exit code {result.exit_code} without an error")
    _check_files(what, folder, before, result, _list_inputs(arguments))
    return "succeeded" if result.exit_code == 0 else "refused"


def _write_files(files: dict[str, str]) -> None:
    for name, content in files.items():
        Path(name).write_bytes(unpack_bytes(content))


def _list_inputs(arguments: list[str]) -> set[str]:
    """Return the names of the files among the arguments that the command only reads."""
    return {name for option, name in pairwise(arguments) if option not in _WRITTEN}


def _check_files(what: str, folder: Path, before: dict[Path, bytes], result: Any, inputs: set[str]) -> None:
    """No unfinished file is left; inputs are as before, and after an error all files are."""
    after = {path: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    unfinished = [path.name for path in folder.rglob("*") if path.name.endswith(PARTIAL)]
    if unfinished:
        raise Finding(f"{what}: leaves {unfinished[0]}")
    lost = [path.name for path in before if path.name in inputs and before[path] != after.get(path)]
    if lost:
        raise Finding(f"{what}: replaces its input {sorted(lost)[0]}")
    if result.exit_code != 0:
        changed = [path.name for path in {*before, *after} if before.get(path) != after.get(path)]
        if changed:
            place = find_place(result.exception) if result.exception else "unknown"
            raise Finding(f"{what}: fails, but writes {sorted(changed)[0]} [{place}]")


KIND = Kind(_prepare, _make_case, _check)
