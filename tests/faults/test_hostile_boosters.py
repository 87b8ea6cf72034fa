"""Files of boosters with changed arrays are refused, or predict probabilities: compiled code reads no other memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import metricwise as mw
from metricwise.io.errors import ModelFileError
from metricwise.kernels.tree_nodes import CATEGORICAL, NODE
from metricwise.persistence.container import write_container
from tests.faults.forged_models import assert_load_raises, read_parts
from tests.unit.boosters import FIT, make_problem

# Boosters with missing values and categories: several classes, two, and trees that are not oblivious.
SEEDS = {"lightgbm": 1, "xgboost": 9, "catboost": 1, "lossguide catboost": 2}
PROBLEMS = {name: make_problem(seed) for name, seed in SEEDS.items()}
NUMBERS = (-(2**31), -5, -1, 0, 1, 2, 7, 10**6, 2**31 - 1)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("boosters")
    paths = {name: folder / f"{name}.mw" for name in SEEDS}
    for name, seed in SEEDS.items():
        mw.save(FIT[name.split()[-1]](PROBLEMS[name], seed), paths[name])
    return paths


def _change(array: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return an array with an entry, the bits of a byte, or the size changed."""
    array = array.copy()
    kind = rng.integers(4)
    if kind == 0 or array.size == 0:
        return array[: rng.integers(len(array) + 1)] if rng.integers(2) else np.concatenate([array, array[:1]])
    if kind == 1:
        return (
            array.astype(rng.choice(["<i4", "<i8", "<f4", "<f8", ">f8"])) if array.dtype.names is None else array[::-1]
        )
    if kind == 2:
        array.view(np.uint8).reshape(-1)[rng.integers(array.nbytes)] ^= np.uint8(1 << rng.integers(8))
        return array
    at = rng.integers(len(array))
    values = array[array.dtype.names[rng.integers(len(array.dtype.names))]] if array.dtype.names else array
    if values.dtype.kind == "f":
        values[at] = rng.choice([np.nan, np.inf, -np.inf, 1e300, -1e38, 0.5, *NUMBERS])
    else:
        info = np.iinfo(values.dtype)
        values[at] = np.clip(rng.choice(NUMBERS), info.min, info.max)
    return array


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # numbers that the types of arrays cannot hold
@pytest.mark.parametrize("name", SEEDS)
def test_changed_arrays_are_refused_or_predict(name: str, files: dict[str, Path], tmp_path: Path) -> None:
    header, tree, arrays = read_parts(files[name])
    rng, path, X = np.random.default_rng(0), tmp_path / "x.mw", PROBLEMS[name].others
    n_refused = n_predicted = 0
    for _ in range(100):
        number = int(rng.integers(len(arrays)))
        changed = [_change(array, rng) if k == number else array for k, array in enumerate(arrays)]
        write_container(path, header, tree, changed)
        try:
            model = mw.load(path)
        except ModelFileError:
            n_refused += 1
            continue
        probabilities = model.predict_proba(X)
        assert np.all((probabilities >= 0.0) & (probabilities <= 1.0))
        assert model.predict(X).shape == (len(X),)
        n_predicted += 1
    assert n_refused >= 20 and n_predicted >= 10


def _select(array: np.ndarray, dtype: Any, ndim: int = 1) -> bool:
    return bool(array.dtype == dtype and array.ndim == ndim)


@pytest.mark.parametrize(
    ("field", "value"),
    [("left", 0), ("right", 10**9), ("left", -(2**31)), ("feature", -1), ("feature", 10**6), ("threshold", np.nan)],
)
def test_invalid_nodes_are_refused(field: str, value: Any, files: dict[str, Path], tmp_path: Path) -> None:
    header, tree, arrays = read_parts(files["lightgbm"])
    nodes = next(array for array in arrays if array.dtype == NODE)
    at = np.flatnonzero(nodes["flags"] & CATEGORICAL)[0]  # NaN is no number of a set
    nodes[field][at] = value
    write_container(tmp_path / "x.mw", header, tree, arrays)
    assert_load_raises(tmp_path / "x.mw", "boosted trees are damaged")


@pytest.mark.parametrize("column", [-1, 4, 2**31 - 1])
def test_columns_beyond_the_scores_are_refused(column: int, files: dict[str, Path], tmp_path: Path) -> None:
    header, tree, arrays = read_parts(files["xgboost"])
    at = _find_entry(tree, "NodeTrees")["columns"]["at"]
    arrays[tree["entries"][at]["number"]][-1] = column
    write_container(tmp_path / "x.mw", header, tree, arrays)
    assert_load_raises(tmp_path / "x.mw", "boosted trees are damaged")


def test_leaves_whose_sum_is_infinite_are_refused(files: dict[str, Path], tmp_path: Path) -> None:
    header, tree, arrays = read_parts(files["catboost"])
    leaf_values = next(array for array in arrays if _select(array, np.float64, ndim=2))
    leaf_values[:] = 1e308
    write_container(tmp_path / "x.mw", header, tree, arrays)
    assert_load_raises(tmp_path / "x.mw", "boosted trees are damaged")


def _find_entry(tree: dict[str, Any], name: str) -> dict[str, Any]:
    return next(entry["fields"] for entry in tree["entries"] if entry.get("class") == f"metricwise.{name}")


@pytest.mark.parametrize(
    ("cls", "field", "value", "message"),
    [
        ("StoredBooster", "n_features_in_", 1, "StoredBooster is damaged|boosted trees are damaged"),
        ("StoredBooster", "n_features_in_", 2.5, "StoredBooster is damaged|boosted trees are damaged"),
        ("StoredBooster", "boosted_trees_", None, "StoredBooster is damaged|boosted trees are damaged"),
        ("StoredBooster", "learner", 3, "StoredBooster is damaged|a booster is damaged"),
        ("StoredBooster", "settings", {"is": "dict", "items": [["train_dir", "/tmp"]]}, "a booster sets 'train_dir'"),
        ("BoostedTrees", "link", "softplus", "boosted trees are damaged"),
        ("BoostedTrees", "link", "softmax", "boosted trees are damaged"),
        ("BoostedTrees", "trees", "none", "'trees' of a BoostedTrees is damaged"),
        ("BoostedTrees", "samples", "none", "'samples' of a BoostedTrees is damaged"),
    ],
)
def test_invalid_fields_are_refused(
    cls: str, field: str, value: Any, message: str, files: dict[str, Path], tmp_path: Path
) -> None:
    header, tree, arrays = read_parts(files["lossguide catboost"])
    _find_entry(tree, cls)[field] = value
    write_container(tmp_path / "x.mw", header, tree, arrays)
    assert_load_raises(tmp_path / "x.mw", message)
