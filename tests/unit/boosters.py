"""Random boosters of LightGBM, XGBoost and CatBoost, with samples that are hard to predict alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

_REASON = "boosters of this library are saved only where it is installed"
EXTREMES = np.array([0.0, -0.0, 1e-36, -1e-36, 1e-300, 1.0, -1.0, 1e30, -1e30, 3.5e38, -1e300, 16777217.0, np.nan])


class Problem(NamedTuple):
    """Samples with missing values and columns of codes, their labels, and other samples to predict."""

    X: np.ndarray
    y: np.ndarray
    others: np.ndarray
    categorical: list[int]
    n_classes: int


def make_problem(seed: int, n_samples: int = 150) -> Problem:
    """Return a random problem of two to four classes; every second one has a categorical column."""
    rng = np.random.default_rng(seed)
    n_features, n_classes = int(rng.integers(1, 7)), int(rng.integers(2, 5))
    categorical = [0] if seed % 2 else []
    codes = rng.integers(0, 40, size=2 * n_samples)
    X = rng.normal(size=(2 * n_samples, n_features)) * 10.0 ** rng.integers(-6, 7, size=n_features)
    signal = X[:, -1] / X[:, -1].std() + rng.normal(size=2 * n_samples) / 2.0
    if categorical:
        X[:, 0] = codes
        signal = signal + rng.normal(size=40)[codes]
    y = np.argsort(np.argsort(signal)) * n_classes // signal.size
    X[rng.random(X.shape) < rng.choice([0.0, 0.2])] = np.nan
    X[rng.random(X.shape) < 0.1] = 0.0
    others = X[n_samples:].copy()
    changed = rng.random(others.shape) < 0.2
    others[changed] = rng.choice(EXTREMES, size=changed.sum())
    others[0] = np.nan
    return Problem(X[:n_samples], y[:n_samples], others, categorical, n_classes)


def skip_unless_it_composes(library: str) -> None:
    """Skip a test of a booster inside other estimators if it lacks the tags of scikit-learn 1.6."""
    if library == "xgboost":
        tags = pytest.importorskip("xgboost", reason=_REASON).XGBClassifier().__sklearn_tags__()
        if tags.estimator_type != "classifier":
            pytest.skip("XGBoost before 2.1.4 does not work inside estimators of scikit-learn 1.6")


def _fit_lightgbm(problem: Problem, seed: int) -> Any:
    lightgbm = pytest.importorskip("lightgbm", reason=_REASON)
    rng = np.random.default_rng(seed)
    ova = {"objective": "multiclassova", "sigmoid": 1.5} if problem.n_classes > 2 else {"sigmoid": 0.7}
    kinds: list[dict[str, Any]] = [
        {},
        {"boosting_type": "rf", "subsample": 0.7, "subsample_freq": 1},
        {"boosting_type": "dart", "drop_rate": 0.5},
        {"zero_as_missing": True},
        {"use_missing": False},
        {"extra_trees": True},
        ova,
    ]
    model = lightgbm.LGBMClassifier(
        n_estimators=8, num_leaves=9, min_child_samples=3, min_data_per_group=3, cat_smooth=1.0, n_jobs=1, verbose=-1,
        random_state=seed, **kinds[seed % len(kinds)],
    )  # fmt: skip
    weights = rng.uniform(0.5, 2.0, size=problem.y.size)
    return model.fit(problem.X, problem.y, sample_weight=weights, categorical_feature=problem.categorical)


def _fit_xgboost(problem: Problem, seed: int) -> Any:
    xgboost = pytest.importorskip("xgboost", reason=_REASON)
    kinds: list[dict[str, Any]] = [
        {},
        {"booster": "dart", "rate_drop": 0.4},
        {"grow_policy": "lossguide", "max_leaves": 7, "gamma": 0.05},
        {"missing": 0.0, "base_score": 0.3},
        {"num_parallel_tree": 2, "subsample": 0.6, "max_cat_to_onehot": 1},
    ]
    types = ["c" if column in problem.categorical else "q" for column in range(problem.X.shape[1])]
    model = xgboost.XGBClassifier(
        n_estimators=8, max_depth=4, n_jobs=1, feature_types=types, enable_categorical=True, random_state=seed,
        **kinds[seed % len(kinds)],
    )  # fmt: skip
    return model.fit(problem.X, problem.y, sample_weight=np.arange(problem.y.size) % 3 + 1.0)


def _fit_catboost(problem: Problem, seed: int) -> Any:
    catboost = pytest.importorskip("catboost", reason=_REASON)
    kinds: list[dict[str, Any]] = [
        {},
        {"nan_mode": "Max"},
        {"grow_policy": "Lossguide", "max_leaves": 7},
        {"grow_policy": "Depthwise", "nan_mode": "Max", "boost_from_average": problem.n_classes == 2},
        {"loss_function": "MultiClassOneVsAll" if problem.n_classes > 2 else "CrossEntropy"},
    ]
    model = catboost.CatBoostClassifier(
        iterations=8, depth=3, thread_count=1, verbose=0, allow_writing_files=False, random_seed=seed,
        **kinds[seed % len(kinds)],
    )  # fmt: skip
    y = np.minimum(problem.y, 1) if kinds[seed % len(kinds)].get("loss_function") == "CrossEntropy" else problem.y
    return model.fit(problem.X, y, sample_weight=np.arange(y.size) % 3 + 1.0)


FIT: dict[str, Callable[[Problem, int], Any]] = {
    "lightgbm": _fit_lightgbm,
    "xgboost": _fit_xgboost,
    "catboost": _fit_catboost,
}
