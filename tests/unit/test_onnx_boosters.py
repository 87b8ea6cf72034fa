"""ONNX graphs of boosters have the probabilities of the library that trained them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import metricwise as mw
from metricwise.estimators.selection.booster import BoosterClassifier
from metricwise.persistence.boosters.conversion import find_learner, make_stored_booster
from metricwise.persistence.exports.onnx_trees import convert_boosted_trees
from tests.unit.boosters import FIT, make_problem, skip_unless_it_composes

skl2onnx = pytest.importorskip("skl2onnx", reason="skl2onnx is not installed")
runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")

PROBLEM = make_problem(6)  # without categories
BINARY = (PROBLEM.y > 0).astype(int)

each_library = pytest.mark.parametrize("library", FIT)


def _run(graph: Any, samples: np.ndarray) -> Any:
    session = runtime.InferenceSession(graph.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, {"X": samples})


def _assert_same(model: Any) -> None:
    labels, scores = _run(mw.to_onnx(model, PROBLEM.X), PROBLEM.X)
    np.testing.assert_array_equal(labels, model.predict(PROBLEM.X))
    np.testing.assert_allclose(scores, model.decision_function(PROBLEM.X), rtol=1e-4, atol=1e-4)


@each_library
@pytest.mark.parametrize("seed", [1, 2, 4, 5])
def test_graphs_of_boosters_have_the_same_probabilities(library: str, seed: int, tmp_path: Path) -> None:
    problem = make_problem(2 * seed)  # without categories
    model = FIT[library](problem, seed)
    mw.save(model, tmp_path / "model.mw")
    loaded = mw.load(tmp_path / "model.mw")
    with convert_boosted_trees():
        graph = skl2onnx.to_onnx(loaded, problem.others[:1], options={"zipmap": False}, target_opset=21)
    labels, chances = _run(graph, problem.others)
    np.testing.assert_allclose(chances, model.predict_proba(problem.others), rtol=0.0, atol=1e-6)
    is_clear = np.ptp(np.sort(chances, axis=1)[:, -2:], axis=1) > 1e-6
    np.testing.assert_array_equal(labels[is_clear], loaded.predict(problem.others)[is_clear])


@each_library
def test_graphs_of_models_around_boosters_compute_the_same(library: str) -> None:
    skip_unless_it_composes(library)
    booster = FIT[library](PROBLEM._replace(y=BINARY, n_classes=2), 0)  # trained again by what follows
    for model in (
        mw.PlugInClassifier(booster, cv=2),
        mw.MetricClassifier("f1", candidates={"booster": make_pipeline(StandardScaler(), booster)}),
    ):
        _assert_same(model.fit(PROBLEM.X, BINARY))


@pytest.mark.parametrize("y", [BINARY, np.array(["no", "yes"])[BINARY], PROBLEM.y])
def test_graphs_of_ensembles_of_boosters_compute_the_same(y: np.ndarray) -> None:
    candidates = {
        name: BoosterClassifier(name, {"iterations" if name == "catboost" else "n_estimators": 5}) for name in FIT
    }
    candidates["other"] = BoosterClassifier("lightgbm", {"n_estimators": 40, "num_leaves": 3})
    measure, pos_label = ("f1_macro", None) if y is PROBLEM.y else ("f1", "yes" if y.dtype.kind == "U" else None)
    model = mw.MetricClassifier(measure, candidates=candidates, pos_label=pos_label).fit(PROBLEM.X, y)
    _assert_same(model)


@pytest.mark.parametrize(
    ("library", "seed", "message"),
    [
        ("lightgbm", 3, "split categories have no operator in ONNX"),
        ("lightgbm", 10, "no missing values but NaN"),  # zero_as_missing
        ("xgboost", 8, "no missing values but NaN"),  # missing=0.0
    ],
)
def test_boosters_without_a_graph_are_refused(library: str, seed: int, message: str) -> None:
    problem = make_problem(seed)
    model = FIT[library](problem, seed)
    stored = make_stored_booster(model, find_learner(model))
    with pytest.raises(TypeError, match=message), convert_boosted_trees():
        skl2onnx.to_onnx(stored, problem.X[:1], options={"zipmap": False}, target_opset=21)


def test_models_around_boosters_without_a_graph_are_refused() -> None:
    lightgbm = pytest.importorskip("lightgbm", reason="LightGBM is not installed")
    booster = lightgbm.LGBMClassifier(n_estimators=2, zero_as_missing=True, n_jobs=1, verbose=-1)
    model = mw.PlugInClassifier(booster, cv=2).fit(PROBLEM.X, BINARY)
    with pytest.raises(TypeError, match=r"cannot convert this PlugInClassifier .*no missing values but NaN"):
        mw.to_onnx(model, PROBLEM.X)
