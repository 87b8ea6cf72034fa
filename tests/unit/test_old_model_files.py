"""Model files of earlier versions load and predict the same, to the last bit."""

from __future__ import annotations

import gzip
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import metricwise
from metricwise import registry
from metricwise.results import Objective

FOLDER = Path(__file__).parent.parent / "fixtures" / "model_files"
NAMES = sorted(path.name.removesuffix(".mw.gz") for path in FOLDER.glob("*.mw.gz"))


def read_input(stored: Any) -> Any:
    columns = {key.removeprefix("column/"): stored[key] for key in stored.files if key.startswith("column/")}
    if not columns:
        return stored["X"]
    return pd.DataFrame({name: _read_column(values) for name, values in columns.items()})


def _read_column(values: Any) -> Any:
    return pd.Categorical(values.astype(object)) if values.dtype.kind == "U" else values


def load_old(name: str, folder: Path) -> Any:
    path = folder / f"{name}.mw"
    path.write_bytes(gzip.decompress((FOLDER / f"{name}.mw.gz").read_bytes()))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # other versions of numpy and scikit-learn are reported
        return metricwise.load(path)


def test_every_estimator_has_a_file() -> None:
    assert {entry.name for entry in registry.entries()} <= {name.split("-")[0] for name in NAMES}


@pytest.mark.parametrize("name", NAMES)
def test_predictions_are_the_same(name: str, tmp_path: Path) -> None:
    model, again = load_old(name, tmp_path), tmp_path / "again.mw"
    expect_predictions(model, name)
    metricwise.save(model, again)
    expect_predictions(metricwise.load(again), name)


def expect_predictions(model: Any, name: str) -> None:
    with np.load(FOLDER / f"{name}.npz") as stored:
        X = read_input(stored)
        methods = [key for key in stored.files if key != "X" and not key.startswith("column/")]
        assert "predict" in methods
        for method in methods:
            found = getattr(model, method)(X)
            found = found.toarray() if sparse.issparse(found) else np.asarray(found)
            assert found.astype(stored[method].dtype).tobytes() == stored[method].tobytes(), method


def test_results_state_their_objective(tmp_path: Path) -> None:
    """Files of format 1 did not state the objective of a result."""
    found = load_old("AUCSVC-squared", tmp_path)
    assert found.norm == 2 and found.result_.problem.objective is Objective.SQUARED_PAIRS


def test_iterations_are_counted(tmp_path: Path) -> None:
    """Files of format 1 did not store how many there were."""
    found = load_old("CostSensitiveClassifier", tmp_path)
    assert found.n_iter_ == len(found.history_) > found.best_iter_
