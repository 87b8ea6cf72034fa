"""The data sets of the benchmarks, as binary tasks with a training and perhaps a test part.

They are not part of the repository. The folder is named by the environment variable METRICWISE_DATA, else it is
``../shared/data`` beside the repository; a ``load.py`` in it reads the files.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.context import ROOT, SkippedError

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Task:
    """One class vs the rest: matrices (dense or CSR), and which samples are positive."""

    name: str
    X: Any
    y: Mask
    X_test: Any = None
    y_test: Mask | None = None

    @property
    def has_test(self) -> bool:
        return self.y_test is not None

    def some(self, n_samples: int, seed: int = 0) -> Task:
        """Return the task with a random subset of its training samples."""
        if n_samples >= len(self.y):
            return self
        indices = np.sort(np.random.default_rng(seed).permutation(len(self.y))[:n_samples])
        return replace(self, X=self.X[indices], y=self.y[indices])

    def tiny(self, n_samples: int = 300) -> Task:
        """Return the task with a few samples of both classes, to compile the kernels on."""
        indices = np.concatenate([np.flatnonzero(self.y)[:n_samples], np.flatnonzero(~self.y)[:n_samples]])
        return replace(self, X=self.X[indices], y=self.y[indices])


def folder() -> Path:
    """Return the folder of the data sets."""
    named = os.environ.get("METRICWISE_DATA")
    return Path(named) if named else ROOT.parent / "shared" / "data"


@cache
def _reader() -> Any:
    path = folder() / "load.py"
    if not path.is_file():
        raise SkippedError("no data: METRICWISE_DATA does not name a folder with a load.py")
    spec = importlib.util.spec_from_file_location("metricwise_benchmark_data", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def load(name: str) -> dict[str, Any]:
    """Return a data set as the folder's ``load.py`` gives it.

    Raises
    ------
    SkippedError
        Where the data are missing.
    """
    reader = _reader()
    if not (folder() / f"{name}.npz").is_file():
        raise SkippedError(f"the data set {name} is missing from the data folder")
    data: dict[str, Any] = reader.load(name)
    return data


def views() -> tuple[str, ...]:
    """Return the names of the binary problems that the folder's ``load.py`` makes of its data sets."""
    return tuple(_reader().VIEWS)


def view(name: str) -> tuple[Any, Mask]:
    """Return the samples of a binary problem, and which of them are positive."""
    X, y = _reader().binary(name)
    return X, y == 1


@cache
def problem_sizes() -> dict[str, int]:
    """Return the number of classes of each table that the folder's ``load.py`` yields beside its data sets."""
    return {name: int(codes.max()) + 1 for name, _, codes in _problems()}


@lru_cache(maxsize=1)
def problem(name: str) -> tuple[Any, NDArray[np.int64]]:
    """Return the samples of one of these tables and their class codes; the rarer of two classes has code 1.

    Raises
    ------
    SkippedError
        Where the table is missing.
    """
    for found, X, codes in _problems():
        if found == name:
            return X, codes
    raise SkippedError(f"the table {name} is missing from the data folder")


def _problems() -> Iterator[tuple[str, Any, NDArray[np.int64]]]:
    if not (folder() / "problems.npz").is_file():
        raise SkippedError("the data set problems is missing from the data folder")
    yield from _reader().problems()


def _a9a() -> Task:
    data = load("a9a")
    return Task("a9a", data["X_train"], data["y_train"] > 0, data["X_test"], data["y_test"] > 0)


def _mnist() -> Task:
    data = load("mnist")
    return Task("mnist_8", data["X_train"] / 255, data["y_train"] == 8, data["X_test"] / 255, data["y_test"] == 8)


def _w8a() -> Task:
    """There is no official test part: 30 % of the samples, a random stratified subset, serve as one."""
    from sklearn.model_selection import train_test_split

    data = load("w8a")
    y = data["y"] > 0
    X, X_test, y, y_test = train_test_split(data["X"], y, test_size=0.3, random_state=0, stratify=y)
    return Task("w8a", X, y, X_test, y_test)


def _rcv1() -> Task:
    """The most frequent label vs the rest."""
    data = load("rcv1sub1")
    return Task("rcv1", data["X"], data["y"][:, int(np.argmax(data["y"].sum(axis=0)))] == 1)


def _covtype(name: str, label: int) -> Task:
    """All samples, every feature scaled to [0, 1]."""
    data = load("covtype")
    X = data["X"]
    low = X.min(axis=0)
    X -= low
    X /= X.max(axis=0)
    return Task(name, X, data["y"] == label)


def _covtype_5() -> Task:
    whole = _covtype("covtype_5", 5)
    indices = np.random.RandomState(0).permutation(len(whole.y))[:50_000]
    return replace(whole, X=whole.X[indices], y=whole.y[indices])


@lru_cache(maxsize=1)
def _reuters() -> dict[str, Any]:
    """Term counts as tf-idf of unit length, the document frequencies being those of the training part."""
    from sklearn.feature_extraction.text import TfidfTransformer

    data = load("reuters21578")
    weighting = TfidfTransformer().fit(data["X_train"])
    data["X_train"] = weighting.transform(data["X_train"]).tocsr()
    data["X_test"] = weighting.transform(data["X_test"]).tocsr()
    return data


def _reuters_topic(topic: str) -> Task:
    data = _reuters()
    column = [str(name) for name in data["label_names"]].index(topic)
    truth, test_truth = data["y_train"][:, column] == 1, data["y_test"][:, column] == 1
    return Task(f"reuters_{topic}", data["X_train"], truth, data["X_test"], test_truth)


_TASKS: dict[str, Callable[[], Task]] = {
    "a9a": _a9a,
    "mnist_8": _mnist,
    "w8a": _w8a,
    "rcv1": _rcv1,
    "covtype_2": lambda: _covtype("covtype_2", 2),
    "covtype_5": _covtype_5,
}


@lru_cache(maxsize=3)
def task(name: str) -> Task:
    """Return a task by its name: a9a, mnist_8, w8a, rcv1, covtype_2, covtype_5 or reuters_TOPIC.

    Raises
    ------
    SkippedError
        Where the data are missing.
    """
    if name.startswith("reuters_"):
        return _reuters_topic(name.removeprefix("reuters_"))
    return _TASKS[name]()
