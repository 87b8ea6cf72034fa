"""Candidates of other packages, where these are installed: LightGBM, CatBoost and XGBoost."""

from __future__ import annotations

from collections.abc import Iterator

from metricwise.estimators.selection.booster import INSTALL_BOOSTERS, BoosterClassifier
from metricwise.estimators.selection.candidates.candidate import Candidate, Problem, Settings
from metricwise.estimators.selection.candidates.trees import LEAST_SAMPLES_OF_BOOSTING
from metricwise.estimators.selection.packages import import_package
from metricwise.estimators.selection.preprocessing import for_trees

# Settings in the order of their expected value.
LIGHTGBM: tuple[Settings, ...] = (
    {
        "n_estimators": 300,
        "learning_rate": 0.05,
        "num_leaves": 15,
        "colsample_bytree": 0.7,
        "subsample": 0.8,
        "subsample_freq": 1,
    },
    {"n_estimators": 300, "learning_rate": 0.05, "extra_trees": True, "colsample_bytree": 0.7},
)
# With more than two classes, every iteration has a tree per class: fewer and larger ones are as good.
LIGHTGBM_OF_CLASSES: tuple[Settings, ...] = (
    {"n_estimators": 100, "learning_rate": 0.1},
    {
        "n_estimators": 100,
        "learning_rate": 0.1,
        "min_child_samples": 5,
        "colsample_bytree": 0.7,
        "class_weight": "balanced",
    },
)
# In an ensemble, the usual 1000 iterations add nothing to 300, which take a third of the time.
CATBOOST: tuple[Settings, ...] = ({"iterations": 300},)
_CATBOOST_SHARE_OF_MANY = 0.25  # of many samples: it needs some 200 bytes per sample, and more for their features
XGBOOST: tuple[Settings, ...] = (
    {
        "n_estimators": 300,
        "learning_rate": 0.05,
        "max_depth": 5,
        "subsample": 0.8,
        "colsample_bytree": 0.7,
        "min_child_weight": 2,
    },
)
XGBOOST_OF_CLASSES: tuple[Settings, ...] = (
    {
        "n_estimators": 100,
        "learning_rate": 0.2,
        "max_depth": 8,
        "subsample": 0.8,
        "colsample_bytree": 0.7,
        "min_child_weight": 0.1,
    },
)

# Settings for many more samples than those that candidates are compared on: larger trees gain, and do not overfit.
OF_MORE_SAMPLES: dict[str, Settings] = {
    "lightgbm": {"n_estimators": 200, "learning_rate": 0.1, "num_leaves": 63},
    "xgboost": {"n_estimators": 200, "learning_rate": 0.1, "max_depth": 8, "min_child_weight": 2},
}
_KEPT_SETTINGS = ("class_weight",)

_MOST_OUTPUTS = 5  # classes or labels, above which the usual iterations take too long
_OF_MANY_LABELS: Settings = {"n_estimators": 100, "learning_rate": 0.1}

# By how much candidates with LightGBM, CatBoost and XGBoost exceed those without in mean F1, over 23 tables of at most
# 3000 training samples, 62 splits (.7351 and .7343; ``make bench-quality``).
GAIN_OF_BOOSTERS = 0.001


def describe_absence(reason: str) -> str:
    """Return what a user without a booster misses.

    Examples
    --------
    >>> describe_absence("not installed")
    'not installed; over 23 tables, boosters raised the mean F1 by .001'
    """
    gain = f"{GAIN_OF_BOOSTERS:.3f}".lstrip("0")
    return f"{reason}; over 23 tables, boosters raised the mean F1 by {gain}"


def make_lightgbm(problem: Problem) -> Iterator[Candidate]:
    """Yield LightGBM, unless the samples are like texts."""
    if not problem.profile.is_wide:
        table = LIGHTGBM_OF_CLASSES if problem.is_multiclass else LIGHTGBM
        yield from _make_boosters(problem, "lightgbm", table, growth=0.6)


def make_xgboost(problem: Problem) -> Iterator[Candidate]:
    """Yield XGBoost, unless the samples are like texts."""
    if not problem.profile.is_wide:
        yield from _make_boosters(
            problem, "xgboost", XGBOOST_OF_CLASSES if problem.is_multiclass else XGBOOST, growth=0.6
        )


def grow_settings(package: str, settings: Settings) -> Settings:
    """Return the settings for many more samples; the weights of classes stay.

    Examples
    --------
    >>> grow_settings("lightgbm", {"num_leaves": 15, "class_weight": "balanced"})
    {'n_estimators': 200, 'learning_rate': 0.1, 'num_leaves': 63, 'class_weight': 'balanced'}
    """
    return OF_MORE_SAMPLES[package] | {name: settings[name] for name in _KEPT_SETTINGS if name in settings}


def make_catboost(problem: Problem) -> Iterator[Candidate]:
    """Yield CatBoost, unless the samples are like texts, or there are many classes, for which it takes too long."""
    profile = problem.profile
    if profile.is_wide or problem.n_outputs > _MOST_OUTPUTS:
        return
    import_package("catboost", INSTALL_BOOSTERS)
    most_samples = round(_CATBOOST_SHARE_OF_MANY * profile.n_samples) if profile.is_large else None
    for settings in CATBOOST:
        learner = BoosterClassifier("catboost", settings, random_state=problem.seed)
        yield Candidate(
            "catboost",
            for_trees(profile, learner, is_one_hot=True),
            settings,
            growth=0.4,
            least_samples=LEAST_SAMPLES_OF_BOOSTING,
            most_samples=most_samples,
        )


def _make_boosters(problem: Problem, package: str, table: tuple[Settings, ...], growth: float) -> Iterator[Candidate]:
    import_package(package, INSTALL_BOOSTERS)
    profile = problem.profile
    for usual in table:
        has_many_labels = problem.is_multilabel and problem.n_outputs > _MOST_OUTPUTS
        settings = usual | (_OF_MANY_LABELS if has_many_labels else {})
        learner = BoosterClassifier(
            package, settings, n_categorical=len(profile.categorical), random_state=problem.seed
        )
        yield Candidate(package, for_trees(profile, learner), settings, growth, least_samples=LEAST_SAMPLES_OF_BOOSTING)
