"""Files that commands write, and standard input and output that are closed or full."""

from __future__ import annotations

import os
import stat
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import metricwise
from metricwise.cli.options import Size
from tests.cli.invocation import run_command
from tests.cli.test_process import COMMAND, ENVIRONMENT


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the current folder, with a table, arrays, two models and links to one of them."""
    random = np.random.default_rng(0)
    X = pd.DataFrame(random.normal(size=(200, 2)), columns=["a", "b"]).round(3)
    y = (X["a"] + random.normal(scale=0.5, size=200) > 0.5).astype(int)
    learner = metricwise.PlugInClassifier(LogisticRegression(), "f1", subject_to="precision>=0.5")
    metricwise.save(learner.fit(X, y), tmp_path / "model.mw")
    metricwise.save(LogisticRegression().fit(X, y), tmp_path / "other.mw")
    X.assign(y=y).to_csv(tmp_path / "table.csv", index=False)
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "labels.npy", y)
    (tmp_path / "link.csv").symlink_to("table.csv")
    os.link(tmp_path / "table.csv", tmp_path / "hard.csv")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _read_files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


TRAIN = ("train", "table.csv", "--target", "y", "--algorithm", "multivariate-svm")
ARRAYS = ("train", "X.npy", "--target", "labels.npy", "--disk", "--algorithm", "multivariate-svm")


@pytest.mark.parametrize(
    ("arguments", "replaced"),
    [
        (("predict", "model.mw", "table.csv", "--out", "./table.csv"), "table.csv"),
        (("predict", "model.mw", "table.csv", "--out", "hard.csv"), "table.csv"),
        (("predict", "model.mw", "link.csv", "--out", "table.csv"), "link.csv"),
        (("predict", "model.mw", "table.csv", "--out", "link.csv"), "table.csv"),
        (("predict", "model.mw", "table.csv", "--out", "model.mw"), "model.mw"),
        ((*TRAIN, "--out", "table.csv"), "table.csv"),
        ((*TRAIN, "--out", "m.mw", "--checkpoint", "table.csv"), "table.csv"),
        ((*ARRAYS, "--out", "labels.npy"), "labels.npy"),
        (("report", "model.mw", "table.csv", "--out", "table.csv"), "table.csv"),
        (("report", "model.mw", "table.csv", "--compare", "other.mw", "--out", "other.mw"), "other.mw"),
        (("adapt", "model.mw", "--prior", "0.2", "--out", "model.mw"), "model.mw"),
        (("watch", "model.mw", "table.csv", "--html", "model.mw"), "model.mw"),
        (("watch", "model.mw", "table.csv", "--state", "table.csv"), "table.csv"),
    ],
)
def test_no_command_replaces_a_file_that_it_reads(folder: Path, arguments: tuple[str, ...], replaced: str) -> None:
    before = _read_files(folder)
    failed = run_command(*arguments, code=2)
    assert f" would replace {replaced}, which the command reads: give another path" in failed.stderr
    assert _read_files(folder) == before


@pytest.mark.parametrize(
    "arguments",
    [
        (*TRAIN, "--out", "new.mw", "--checkpoint", "./new.mw"),
        ("watch", "model.mw", "table.csv", "--state", "new.mw", "--html", "new.mw"),
    ],
)
def test_two_files_cannot_have_one_path(folder: Path, arguments: tuple[str, ...]) -> None:
    assert "new.mw: give two paths" in run_command(*arguments, code=2).stderr
    assert not (folder / "new.mw").exists()


def test_other_files_are_replaced_and_a_watch_continues_its_own_state(folder: Path) -> None:
    run_command("predict", "model.mw", "table.csv", "--out", "other.mw")
    assert (folder / "other.mw").read_text().startswith("prediction")
    table = pd.read_csv("table.csv")
    for half in (table[:100], table[100:]):
        half.to_csv("half.csv", index=False)
        run_command("watch", "model.mw", "half.csv", "--target", "y", "--state", "state.mw")
    assert metricwise.load("state.mw").n_seen == 200


def test_the_data_of_standard_input_are_not_replaced_either(folder: Path) -> None:
    with open("table.csv", "rb") as file:
        done = subprocess.run(
            [*COMMAND, "predict", "model.mw", "-", "--out", "table.csv"], stdin=file, capture_output=True, check=False
        )
    assert done.returncode == 2 and b"would replace standard input" in done.stderr
    assert len(pd.read_csv("table.csv")) == 200


def test_predictions_keep_the_link_and_the_permissions_of_the_file_before(folder: Path) -> None:
    (folder / "private.csv").touch(mode=0o600)
    (folder / "latest.csv").symlink_to("private.csv")
    run_command("predict", "model.mw", "table.csv", "--out", "latest.csv")
    assert (folder / "latest.csv").is_symlink() and len(pd.read_csv("private.csv")) == 200
    assert stat.S_IMODE((folder / "private.csv").stat().st_mode) == 0o600


def test_a_pipe_gets_predictions_and_no_model(folder: Path) -> None:
    os.mkfifo("pipe")
    with subprocess.Popen(["cat", "pipe"], stdout=subprocess.PIPE) as reader:
        run_command("predict", "model.mw", "table.csv", "--out", "pipe")
        assert reader.communicate(timeout=60)[0].startswith(b"prediction\n")
    assert "a device or a pipe" in run_command(*TRAIN, "--out", "pipe", code=1).stderr
    assert Path("pipe").is_fifo()


def _run_in_shell(tail: str, code: int) -> str:
    """Return the standard error of the command behind a redirection of a shell."""
    line = " ".join([*COMMAND, tail])
    done = subprocess.run(["sh", "-c", line], env=ENVIRONMENT, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr and "Exception ignored" not in done.stderr
    return done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
@pytest.mark.parametrize("option", ["--version", "--help", "train --help"])
def test_texts_that_cannot_be_printed_are_clear_errors(folder: Path, option: str) -> None:
    error = _run_in_shell(f"{option} > /dev/full", 1)
    assert error.strip().splitlines() == [
        "Error: the text cannot be written to standard output: [Errno 28] No space left on device"
    ]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_result_that_cannot_be_written_is_an_error(folder: Path) -> None:
    error = _run_in_shell("predict -q model.mw table.csv > /dev/full", 1)
    assert "Error: the result cannot be written to standard output" in error
    assert "No space left" in _run_in_shell("predict -q model.mw table.csv --out /dev/full", 1)


def test_closed_standard_input_and_output_are_errors(folder: Path) -> None:
    assert "Error: standard output is closed" in _run_in_shell("predict model.mw table.csv >&-", 1)
    for command in ("predict model.mw -", "train - --target y --stream --out new.mw"):
        assert "Error: standard input is closed" in _run_in_shell(f"{command} <&-", 1)


def test_closed_standard_output_is_no_error_if_the_result_goes_to_a_file(folder: Path) -> None:
    for redirection in (">&-", "<&- >&-"):
        _run_in_shell(f"predict model.mw table.csv --out new.csv {redirection}", 0)
        assert len(pd.read_csv("new.csv")) == 200
        Path("new.csv").unlink()
    _run_in_shell("watch model.mw table.csv --target y --state state.mw --html page.html >&-", 0)
    assert Path("state.mw").exists() and Path("page.html").exists()


def test_a_file_may_have_the_name_that_stands_for_standard_input(folder: Path) -> None:
    for redirection in ("< table.csv", "< table.csv > -"):
        _run_in_shell(f"predict model.mw - --out - {redirection}", 0)
        assert len(pd.read_csv(folder / "-")) == 200
        Path("-").unlink()


def test_predictions_for_standard_output_keep_what_the_file_behind_it_holds(folder: Path) -> None:
    (folder / "log").write_text("earlier\n")
    _run_in_shell("predict -q model.mw table.csv --out /dev/stdout >> log", 0)
    lines = (folder / "log").read_text().splitlines()
    assert lines[:2] == ["earlier", "prediction"] and len(lines) == 203


def test_a_reader_that_stops_early_is_no_error(folder: Path) -> None:
    pd.concat([pd.read_csv("table.csv")] * 500).to_csv("long.csv", index=False)
    error = _run_in_shell("predict -q model.mw long.csv | head -n 1", 0)
    assert not error


@pytest.mark.parametrize("text", ["9" * 400 + "GB", "0GB", "²GB", "9" * 5000])
def test_an_amount_that_no_machine_has_is_wrong_usage(folder: Path, text: str) -> None:
    failed = run_command(*TRAIN, "--disk", "--memory-limit", text, "--out", "new.mw", code=2)
    assert "is no amount of memory: write 800MB or 2GiB" in failed.stderr


def test_any_error_of_an_option_is_reported_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> int:
        raise OverflowError("too large")

    monkeypatch.setattr(Size, "convert", fail)
    arguments = ("train", "table.csv", "--disk", "--memory-limit", "1GB", "--out", "new.mw")
    assert "Error: unexpected OverflowError: too large" in run_command(*arguments, code=1).stderr
    assert isinstance(run_command(*arguments, "--debug", code=1).exception, OverflowError)
