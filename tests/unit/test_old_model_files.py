"""Model files of earlier versions load and predict the same; to the last bit with the libraries that wrote them."""

from __future__ import annotations

import gzip
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn
from packaging.version import parse as parse_version
from scipy import sparse
from scipy.special import expit

import metricwise
from metricwise import registry
from metricwise.persistence import describe
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


def load_old_file(name: str, folder: Path) -> Any:
    path = folder / f"{name}.mw"
    path.write_bytes(gzip.decompress((FOLDER / f"{name}.mw.gz").read_bytes()))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # other versions of numpy and scikit-learn are reported
        try:
            return metricwise.load(path)
        except metricwise.ModelFileError as error:
            written = describe(path).versions["scikit-learn"]
            if parse_version(written) > parse_version(sklearn.__version__):
                pytest.skip(f"scikit-learn {sklearn.__version__} cannot read what {written} wrote: {error}")
            raise


def test_every_estimator_has_an_old_file() -> None:
    assert {entry.name for entry in registry.entries()} <= {name.split("-")[0] for name in NAMES}


@pytest.mark.parametrize("name", NAMES)
def test_old_models_predict_the_same_and_can_be_saved_again(name: str, tmp_path: Path) -> None:
    model, again = load_old_file(name, tmp_path), tmp_path / "again.mw"
    assert_same_predictions(model, name)
    metricwise.save(model, again)
    assert_same_predictions(metricwise.load(again), name)


def assert_same_predictions(model: Any, name: str) -> None:
    with np.load(FOLDER / f"{name}.npz") as stored:
        X = read_input(stored)
        methods = [key for key in stored.files if key != "X" and not key.startswith("column/")]
        assert "predict" in methods
        for method in methods:
            found = getattr(model, method)(X)
            found = found.toarray() if sparse.issparse(found) else np.asarray(found)
            expected = stored[method]
            if expected.dtype.kind != "f":
                assert found.astype(expected.dtype).tobytes() == expected.tobytes(), method
            else:  # other versions and processors add in another order
                np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12, err_msg=method)


def test_results_state_their_objective(tmp_path: Path) -> None:
    """Files of format 1 did not state the objective of a result."""
    found = load_old_file("AUCSVC-squared", tmp_path)
    assert found.norm == 2 and found.result_.problem.objective is Objective.SQUARED_PAIRS


def test_iterations_are_counted(tmp_path: Path) -> None:
    """Files of format 1 did not store how many there were."""
    found = load_old_file("CostSensitiveClassifier", tmp_path)
    assert found.n_iter_ == len(found.history_) > found.best_iter_


@pytest.mark.parametrize("name", ["PlugInClassifier-multiclass", "PlugInClassifier-multilabel-decision_1"])
def test_models_without_a_posterior_name_the_remedy(name: str, tmp_path: Path) -> None:
    """Intervals of several classes and labels, for any number of samples, were not stored before."""
    found = load_old_file(name, tmp_path)
    assert found.expected_score_interval_[0] < found.expected_score_interval_[1]
    with pytest.raises(ValueError, match="train the model again"):
        found.score_interval()


@pytest.mark.parametrize(
    ("name", "threshold"),
    [
        ("MetricClassifier-state1", expit(-0.5055097632322222)),
        ("MetricClassifier-state1_multilabel", expit([-0.29470438, -0.27356643, -0.44331363])),
        ("PlugInClassifier-state1_multilabel", expit([-0.56947387, -0.47976243, -0.18991601])),
        ("PlugInClassifier-state1_assigned", 0.8),
        ("BinaryRelevance-state1", [0.37224245, 0.49441375, 0.38731989]),
        ("AdaptedSVC-state1", -0.1809742203602367),
    ],
)
def test_thresholds_of_old_models_are_shown_on_the_scale_of_new_ones(name: str, threshold: Any, tmp_path: Path) -> None:
    model = load_old_file(name, tmp_path)
    np.testing.assert_allclose(model.threshold_, threshold, rtol=1e-7)
    model.threshold_ = 0.25 + 0.0 * np.asarray(threshold)
    np.testing.assert_allclose(model.threshold_, 0.25)
