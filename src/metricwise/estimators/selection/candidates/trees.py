"""Candidates of scikit-learn's trees: histogram gradient boosting and extremely randomised trees."""

from __future__ import annotations

from collections.abc import Iterator

from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier

from metricwise.estimators.selection.candidates.candidate import Candidate, Problem, Settings
from metricwise.estimators.selection.preprocessing import for_trees

LEAST_SAMPLES_OF_BOOSTING = 10_000  # boosting takes nearly as long for fewer
CAREFUL_SAMPLES = 2000  # below which boosted trees with their usual settings overfit

# Settings in the order of their expected value.
_SLOW: Settings = {"learning_rate": 0.05, "max_iter": 200, "max_features": 0.5, "l2_regularization": 1.0}
BOOSTED_TREES: tuple[Settings, ...] = ({"l2_regularization": 3.0}, _SLOW)
BOOSTED_TREES_OF_FEW: tuple[Settings, ...] = (
    {"learning_rate": 0.05, "max_leaf_nodes": 15, "l2_regularization": 1.0},
    _SLOW | {"max_leaf_nodes": 15},
)
# A penalty on leaves silences rare classes, whose second derivatives are small.
BOOSTED_TREES_OF_CLASSES: tuple[Settings, ...] = ({}, {"class_weight": "balanced"})
EXTRA_TREES: tuple[Settings, ...] = ({"min_samples_leaf": 1}, {"min_samples_leaf": 3})
# Splits that compare all features find the few that matter, but take as many times as long as there are features.
EXTRA_TREES_OF_FEW_FEATURES: tuple[Settings, ...] = (*EXTRA_TREES, {"min_samples_leaf": 1, "max_features": None})

# Of boosted trees that may not stop early; the first is the better guess where there is no choice.
_ITERATIONS = (30, 100)
_FEW_FEATURES = 100
_TREES, _TREES_AT_LAST = 100, 200  # while candidates are compared, and in the final model
_TREES_OF_MANY, _FEWEST_LEAVES = 50, 1000  # of many samples, whose trees are large
_SHARE_OF_SAMPLES = 0.25  # of the memory of the samples, for a forest
_NODE_BYTES, _VALUE_BYTES = 64, 8  # of a node, and of each of its values


def make_boosted_trees(problem: Problem) -> Iterator[Candidate]:
    """Yield histogram gradient boosting, unless the samples are like texts."""
    profile = problem.profile
    if profile.is_wide:
        return
    columns = list(range(len(profile.categorical))) or None
    for settings, stopping in _boosting_settings(problem):
        learner = HistGradientBoostingClassifier(
            categorical_features=columns, random_state=problem.seed, **settings, **stopping
        )
        n_iterations = {"max_iter": stopping["max_iter"]} if stopping else {}
        yield Candidate(
            "boosted trees",
            for_trees(profile, learner),
            settings | n_iterations,
            growth=0.5,
            least_samples=LEAST_SAMPLES_OF_BOOSTING,
            gains_later=n_iterations.get("max_iter") == max(_ITERATIONS),
        )


def _boosting_settings(problem: Problem) -> list[tuple[Settings, Settings]]:
    """Return pairs of settings and of those that decide when to stop; with groups, the latter vary in their place."""
    if problem.is_multiclass:
        table = BOOSTED_TREES_OF_CLASSES
    else:
        table = BOOSTED_TREES_OF_FEW if problem.profile.n_samples < CAREFUL_SAMPLES else BOOSTED_TREES
    if problem.profile.is_grouped:
        return [(table[0], stopping) for stopping in stopping_settings(True)]
    # On many samples, so few iterations are never too many, and those held out to stop early would be copies.
    fixed: Settings = {"early_stopping": False} if problem.profile.is_large else {}
    return [(settings | fixed, {}) for settings in table]


def stopping_settings(is_grouped: bool) -> list[Settings]:
    """Return the settings that decide when boosted trees stop, one dictionary per candidate; the best guess is first.

    From 10,000 samples on they stop when the loss of random held-out samples does. With groups, other samples of the
    same groups are learnt, so that this loss falls on and on; the number of iterations is then one of a few, among
    which folds of whole groups choose.

    Examples
    --------
    >>> stopping_settings(False)
    [{}]
    >>> [settings["max_iter"] for settings in stopping_settings(True)]
    [30, 100]
    """
    if not is_grouped:
        return [{}]
    return [{"early_stopping": False, "max_iter": count} for count in _ITERATIONS]


def make_extra_trees(problem: Problem) -> Iterator[Candidate]:
    """Yield extremely randomised trees, unless the samples are like texts."""
    profile = problem.profile
    if profile.is_wide:
        return
    n_trees, n_trees_at_last, limit = (_TREES, _TREES_AT_LAST, {}) if not profile.is_large else _limit_trees(problem)
    for usual in EXTRA_TREES_OF_FEW_FEATURES if profile.n_features <= _FEW_FEATURES else EXTRA_TREES:
        settings = usual | limit
        few, many = (
            for_trees(profile, ExtraTreesClassifier(count, random_state=problem.seed, **settings))
            for count in (n_trees, n_trees_at_last)
        )
        yield Candidate(
            "extra trees",
            few,
            settings,
            growth=1.0,
            last=many,
            last_cost=n_trees_at_last / n_trees,
            gains_later=settings["min_samples_leaf"] == 1,  # larger leaves average out noise, as more samples do
        )


def _limit_trees(problem: Problem) -> tuple[int, int, Settings]:
    """Return numbers of trees, and the settings with which a forest of many samples is smaller than these."""
    profile, n_values = problem.profile, max(2, problem.n_outputs)
    node_bytes = _NODE_BYTES + _VALUE_BYTES * n_values
    leaf_bytes = 2 * node_bytes  # a binary tree has one inner node less than leaves
    leaves = _SHARE_OF_SAMPLES * _VALUE_BYTES * profile.n_values / (_TREES_OF_MANY * leaf_bytes)
    return _TREES_OF_MANY, _TREES_OF_MANY, {"max_leaf_nodes": max(_FEWEST_LEAVES, int(leaves))}
