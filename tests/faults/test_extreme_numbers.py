"""Extreme features, weights and parameters in every estimator: finite results, or one clear error and no warnings."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import metricwise
from metricwise.registry import entries

RNG = np.random.default_rng(0)
N = 80
X = RNG.normal(size=(N, 3))
Y = (X @ [1.0, -1.0, 0.5] + 0.3 * RNG.normal(size=N) > 0.5).astype(int)
WEIGHTS = RNG.random(N) + 0.5
QUERIES = np.arange(N) % 10
ODD = np.arange(N) % 2 == 1
UNIT = X / np.abs(X).max()

MODELS = {
    "MultivariateSVC": lambda: metricwise.MultivariateSVC("f1"),
    "MultivariateSVC rbf": lambda: metricwise.MultivariateSVC("f1", kernel="rbf"),
    "AUCSVC": lambda: metricwise.AUCSVC(),
    "AUCSVC 2-norm": lambda: metricwise.AUCSVC(norm=2),
    "SmoothedSVC": lambda: metricwise.SmoothedSVC("roc_auc", max_iter=50),
    "FeatureSelectingSVC": lambda: metricwise.FeatureSelectingSVC("f1"),
    "SparseCodingClassifier": lambda: metricwise.SparseCodingClassifier("f1", max_iter=5),
    "RankingSVC": lambda: metricwise.RankingSVC("ndcg"),
    "AMPClassifier": lambda: metricwise.AMPClassifier("f1"),
    "SPADEClassifier": lambda: metricwise.SPADEClassifier("g_mean"),
    "STAMPClassifier": lambda: metricwise.STAMPClassifier("f1"),
    "MiniBatchSVC": lambda: metricwise.MiniBatchSVC("f1", n_passes=2),
    "OnlineMetricClassifier": lambda: metricwise.OnlineMetricClassifier(),
    "PlugInClassifier": lambda: metricwise.PlugInClassifier(LogisticRegression(), "f1"),
    "TriageClassifier": lambda: metricwise.TriageClassifier(LogisticRegression(), "f1"),
    "CostSensitiveClassifier": lambda: metricwise.CostSensitiveClassifier(LogisticRegression(), "f1"),
    "AdaptedSVC": lambda: metricwise.AdaptedSVC("f1", [("line", LogisticRegression())]),
    "MetricClassifier": lambda: metricwise.MetricClassifier("f1", candidates={"line": LogisticRegression()}),
    "BinaryRelevance": lambda: metricwise.BinaryRelevance(LogisticRegression()),
    "ProbabilisticClassifierChain": lambda: metricwise.ProbabilisticClassifierChain(LogisticRegression()),
}
SAMPLES = {
    "tiny": (1e-300 * X, None),
    "subnormal": (1e-320 * X, None),
    "huge": (1e300 * UNIT, None),
    "largest": (1.7e308 * UNIT, None),
    "mixed columns": (UNIT * [1e300, 1.0, 1e-300], None),
    "mixed samples": (UNIT * np.where(ODD, 1e300, 1e-300)[:, None], None),
    "of single precision": (3e38 * UNIT, None),
    "tiny weights": (X, 1e-300 * WEIGHTS),
    "subnormal weights": (X, 1e-322 * WEIGHTS),
    "huge weights": (X, 1e300 * WEIGHTS),
    "largest weights": (X, 1.1e308 * WEIGHTS),
    "mixed weights": (X, np.where(ODD, 1e300, 1e-300)),
    "one huge weight": (X, np.where(np.arange(N) == np.argmax(Y), 1e300, 1.0)),
    "tiny weights of positives": (X, np.where(Y == 1, 1e-300, 1.0)),
    "least weights": (X, 2e-50 * WEIGHTS),
    "most weight": (X, WEIGHTS * (9e13 / WEIGHTS.sum())),
    "least share": (X, np.where(Y == 1, 1.1e-12, 1.0)),
}
REFUSALS = (
    "the positive weights are between",
    "learners compute with numbers up to",
    "SGDClassifier have overflowed: scale",
)


def fit(model, samples, weights):
    """Return the fitted model, or None if one clear error was raised; all other errors are raised."""
    is_multilabel = type(model).__name__ in ("BinaryRelevance", "ProbabilisticClassifierChain")
    y = np.column_stack([Y, X[:, 1] > 0.3]).astype(int) if is_multilabel else Y
    given = {} if weights is None else {"sample_weight": weights}
    if type(model).__name__ == "RankingSVC":  # which weighs queries
        given = {"groups": QUERIES} | {name: values[QUERIES] for name, values in given.items()}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            model.fit(samples, y, **given)
        except ValueError as error:
            assert any(words in str(error) for words in REFUSALS), error
            assert not caught
            return None
    assert len({(one.category, str(one.message)[:40]) for one in caught}) == len(caught) <= 3
    ours = [one for one in caught if "metricwise" in one.filename and issubclass(one.category, RuntimeWarning)]
    assert not ours, ours[0].message
    return model


def assert_finite(model):
    for name in ("coef_", "intercept_", "dual_coef_", "threshold_", "expected_score_", "expected_score_interval_"):
        if getattr(model, name, None) is not None:
            assert np.isfinite(np.asarray(getattr(model, name), dtype=float)).all(), name
    assert len(model.predict(X)) == N


def test_every_estimator_is_tested():
    assert {name.split()[0] for name in MODELS} == {entry.name for entry in entries()}


@pytest.mark.parametrize("name", list(MODELS))
def test_extreme_numbers_give_finite_models_or_one_error(name):
    n_fitted = 0
    for samples, weights in SAMPLES.values():
        model = fit(MODELS[name](), samples, weights)
        if model is not None:
            assert_finite(model)
            n_fitted += 1
    assert 4 <= n_fitted < len(SAMPLES)


@pytest.mark.parametrize("name", ["MultivariateSVC", "AUCSVC", "AUCSVC 2-norm", "FeatureSelectingSVC", "AMPClassifier"])
def test_extreme_costs_give_finite_models_or_one_error(name):
    for C in (1e-300, 1e300):
        with pytest.raises(ValueError, match=r"'C' parameter .* range \[1e-30, 1e\+30\]"):
            MODELS[name]().set_params(C=C).fit(X, Y)
    for C in (1e-30, 1e30):
        assert_finite(fit(MODELS[name]().set_params(C=C), X, None))


def test_class_weights_are_limited_like_sample_weights():
    with pytest.raises(ValueError, match="the positive weights are between 1 and 1e"):
        metricwise.MultivariateSVC("f1", class_weight={0: 1.0, 1: 1e300}).fit(X, Y)


def test_huge_numbers_on_disk_name_file_and_place(tmp_path):
    path = tmp_path / "X.npy"
    np.save(path, np.where(np.arange(N)[:, None] == 7, 1e200, X))
    data = metricwise.io.open(path, target=Y)
    with pytest.raises(ValueError, match=r"X\.npy holds 1e\+200 in sample 7, column 0 .* up to 3.4e\+38"):
        metricwise.MultivariateSVC("f1").fit(data)
