"""All methods on all problems for all measures, with the results as plain data.

A trial is written to a file as soon as it is done. An interrupted run resumes from there when it is started
again with the same effort and code; the file is removed at the end.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

import metricwise
from benchmarks.context import ROOT, SkippedError
from benchmarks.papers.wang2015 import sensitivity
from benchmarks.papers.wang2015.methods import MEASURES, METHODS
from benchmarks.papers.wang2015.problems import NAMES, SEED, TITLES, VEHICLES, Problem, problem
from benchmarks.papers.wang2015.protocol import choose, folds, trial, warm_up

Record = dict[str, Any]

NAME = "wang2015"
TINY = 60  # samples to compile the kernels on
_OF_TRIALS = ("actions", "profiles", "vehicles", "problems", "methods", "protocol", "sensitivity")
RAW = ROOT / "benchmarks" / "results" / "raw" / "papers"


@dataclass(frozen=True)
class Effort:
    """The extent of the experiments.

    Parameters
    ----------
    n_samples : int
        Samples of a simulated set.
    n_targets : int, optional
        Number of actions vs the rest; all by default.
    n_folds : int
        Folds of the comparison.
    values : tuple of float
        Values of C1, C2 and C3 in the figure of sensitivity.
    n_sensitivity_folds : int
        Folds of that figure.
    """

    n_samples: int = 600
    n_targets: int | None = None
    n_folds: int = 10
    values: tuple[float, ...] = (0.1, 0.3, 1.0, 3.0, 10.0)
    n_sensitivity_folds: int = 2


QUICK = Effort(n_samples=140, n_targets=1, n_folds=2, values=(0.3, 1.0, 3.0), n_sensitivity_folds=2)


@dataclass
class Trials:
    """Finished trials, stored in a file with one line each.

    Parameters
    ----------
    path : Path
        The file. One that was started under other conditions is replaced.
    conditions : dict
        Effort and code that all trials depend on.
    """

    path: Path
    conditions: Record
    done: dict[str, Record] = field(default_factory=dict)

    def __post_init__(self) -> None:
        lines = _whole_lines(self.path)
        begun = [json.loads(line) for line in lines]
        if begun and begun[0] == self.conditions:
            self.done = {_key(entry["of"]): entry["found"] for entry in begun[1:]}
            os.truncate(self.path, len("".join(lines).encode()))  # a last line may have been cut off
        else:
            self.path.unlink(missing_ok=True)
            self._add(self.conditions)

    def once(self, of: Record, perform: Callable[[], Record]) -> Record:
        """Return the result of a trial, new or stored, together with its key."""
        key = _key(of)
        if key not in self.done:
            self.done[key] = perform()
            self._add({"of": of, "found": self.done[key]})
        return of | self.done[key]

    def _add(self, entry: Record) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")


def _key(of: Record) -> str:
    return json.dumps(of, sort_keys=True)


def _whole_lines(path: Path) -> list[str]:
    if not path.is_file():
        return []
    return [line for line in path.read_text(encoding="utf-8").splitlines(keepends=True) if line.endswith("\n")]


def run(effort: Effort, folder: Path = RAW) -> Record:
    """Train everything on one thread and return the results."""
    started = time.perf_counter()
    conditions = json.loads(json.dumps({"effort": asdict(effort), "code": _code()}))
    trials = Trials(folder / f"{NAME}.jsonl", conditions)
    earlier = len(trials.done)
    found: Record = {"name": NAME, "seed": SEED, "effort": asdict(effort), "skipped": []}
    found |= {"problems": [], "trials": [], "sensitivity": []}
    with threadpool_limits(1):
        warm_up(problem(VEHICLES, TINY))
        for name in NAMES:
            try:
                data = problem(name, effort.n_samples, effort.n_targets)
            except SkippedError as reason:
                found["skipped"].append(str(reason))
                continue
            found["problems"].append(_describe(data))
            _compare(data, effort, trials, found)
            _vary(data, effort, trials, found)
    trials.path.unlink()
    return found | {"seconds": time.perf_counter() - started, "earlier": earlier}


def _code() -> str:
    """Return a digest of the code, so that no trial of another version is reused."""
    package = Path(metricwise.__file__).parent
    files = sorted(package.rglob("*.py")) + [Path(__file__).with_name(f"{name}.py") for name in _OF_TRIALS]
    digest = hashlib.sha256()
    for file in files:
        digest.update(file.read_bytes())
    return digest.hexdigest()


def _describe(data: Problem) -> Record:
    positives = {target: int(data.positives(target).sum()) for target in data.targets}
    n_samples, features = data.X.shape
    return {
        "name": data.name,
        "title": TITLES[data.name],
        "n_samples": n_samples,
        "features": features,
        "positives": positives,
    }


def _compare(data: Problem, effort: Effort, trials: Trials, found: Record) -> None:
    """Add the trials of all methods: values and seconds by class, in the order of the targets."""
    for fold in folds(data, effort.n_folds):
        for measure in MEASURES:
            for name in [name for name, method in METHODS.items() if measure in method.measures]:
                of = {"problem": data.name, "fold": fold.number, "measure": measure, "method": name}
                chosen = trials.once(of, partial(choose, data, fold, measure, name))
                done = [
                    trials.once(
                        of | {"target": target}, partial(trial, data, fold, target, measure, name, chosen["setting"])
                    )
                    for target in data.targets
                ]
                found["trials"].append(chosen | _columns(done, {"value": "values", "seconds": "seconds"}))


def _vary(data: Problem, effort: Effort, trials: Trials, found: Record) -> None:
    """Add the trials of joint sparse coding with other values of C1, C2 and C3."""
    for fold in folds(data, effort.n_sensitivity_folds):
        for setting in sensitivity.settings(effort.values):
            of = {"problem": data.name, "fold": fold.number, "setting": setting}
            done = [
                trials.once(of | {"target": target}, partial(sensitivity.trial, data, fold, target, setting))
                for target in data.targets
            ]
            found["sensitivity"].append(of | _columns(done, {"value": "values", "used": "used"}))


def _columns(done: list[Record], names: dict[str, str]) -> Record:
    return {plural: [entry[name] for entry in done] for name, plural in names.items()}
