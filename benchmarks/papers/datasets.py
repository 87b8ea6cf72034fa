"""The collections of the experiments: a training and a test part, and one column of labels per class.

The data are not part of the repository. The folder is named by the environment variable METRICWISE_DATA, else it is
``../shared/data`` beside the repository; a ``load.py`` in it reads the files.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.context import SkippedError
from benchmarks.data import folder

Mask = NDArray[np.bool_]
Indices = NDArray[np.int64]

# Number of rows of the covertype file before which the classes are equally frequent.
COVERTYPE_BALANCED = 15_120
_COVERTYPE_PARTS = (1000, 2000)
COVERTYPE_SEED = 0


@dataclass(frozen=True)
class Collection:
    """Training and test samples (dense or CSR) and their classes; every class is a problem of its own.

    Parameters
    ----------
    name, title : str
        For the program and for readers.
    X, X_test : matrix
        The features of the two parts.
    labels, test_labels : array of bool of shape (n_samples, n_classes)
        Which samples are positive.
    classes : tuple of str
        Names of the classes.
    """

    name: str
    title: str
    X: Any
    labels: Mask
    X_test: Any
    test_labels: Mask
    classes: tuple[str, ...]


def available(name: str) -> bool:
    """Return whether the files of a collection exist."""
    return (folder() / "load.py").is_file() and (folder() / f"{_FILES[name]}.npz").is_file()


def collection(name: str) -> Collection:
    """Return a collection by its name, one of ``COLLECTIONS``.

    Raises
    ------
    SkippedError
        Where the data are missing.
    """
    if not available(name):
        raise SkippedError(f"{name}: no {_FILES[name]}.npz in the folder that METRICWISE_DATA names")
    return COLLECTIONS[name]()


def _load(name: str) -> dict[str, Any]:
    spec = importlib.util.spec_from_file_location("metricwise_paper_data", folder() / "load.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    data: dict[str, Any] = module.load(name)
    return data


def _reuters() -> Collection:
    """ModApte split; tf-idf of unit length with the document frequencies of the training part."""
    from sklearn.feature_extraction.text import TfidfTransformer

    data = _load("reuters21578")
    weighting = TfidfTransformer().fit(data["X_train"])
    return Collection(
        "reuters",
        "Reuters-21578",
        weighting.transform(data["X_train"]).tocsr(),
        data["y_train"] == 1,
        weighting.transform(data["X_test"]).tocsr(),
        data["y_test"] == 1,
        tuple(str(topic) for topic in data["label_names"]),
    )


def _optdigits() -> Collection:
    """Official split; features, counts up to 16, divided by 16."""
    data = _load("optdigits")
    return _one_vs_rest(
        "optdigits", "Optdigits", data["X_train"] / 16, data["y_train"], data["X_test"] / 16, data["y_test"]
    )


def _covertype() -> Collection:
    """Random samples of the whole file."""
    return _covertype_sample("covertype", "Covertype, random samples", None)


def _covertype_balanced() -> Collection:
    """Random samples of the beginning of the file, where the seven classes are equally frequent."""
    return _covertype_sample("covertype_balanced", "Covertype, balanced samples", COVERTYPE_BALANCED)


def _covertype_sample(name: str, title: str, end: int | None) -> Collection:
    data = _load("covtype")
    X, y = data["X"][:end], data["y"][:end]
    indices = np.random.default_rng(COVERTYPE_SEED).permutation(len(y))[: sum(_COVERTYPE_PARTS)]
    train, test = indices[: _COVERTYPE_PARTS[0]], indices[_COVERTYPE_PARTS[0] :]
    X_train, X_test = _to_unit_range(X[train], X[test])
    return _one_vs_rest(name, title, X_train, y[train], X_test, y[test])


def _to_unit_range(X: Any, X_test: Any) -> tuple[Any, Any]:
    """Scale every column so that it runs from 0 to 1 on the training part; constant columns become 0."""
    low, width = X.min(axis=0), np.ptp(X, axis=0)
    scale = np.divide(1.0, width, out=np.zeros_like(width), where=width > 0)
    return (X - low) * scale, (X_test - low) * scale


def _one_vs_rest(name: str, title: str, X: Any, y: Indices, X_test: Any, y_test: Indices) -> Collection:
    codes = np.unique(y)
    return Collection(
        name, title, X, y[:, None] == codes, X_test, y_test[:, None] == codes, tuple(str(code) for code in codes)
    )


_FILES = {
    "reuters": "reuters21578",
    "optdigits": "optdigits",
    "covertype": "covtype",
    "covertype_balanced": "covtype",
}

COLLECTIONS: dict[str, Callable[[], Collection]] = {
    "reuters": _reuters,
    "optdigits": _optdigits,
    "covertype": _covertype,
    "covertype_balanced": _covertype_balanced,
}
