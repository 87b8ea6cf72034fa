"""The classifiers that are adapted to a measure: given by the user, or default ones that suit the samples."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from metricwise.decisions.scoring import gives_probabilities
from metricwise.estimators.selection.candidates.candidate import Problem
from metricwise.estimators.selection.candidates.portfolio import make_portfolio
from metricwise.estimators.selection.profile import Profile
from metricwise.measures import Measure

ADAPTED = "adapted"  # the name of the machine among those of its inputs
_USUAL = ("boosted_trees", "rbf", "logistic")
_LEAST_C = 1.0  # of a default input

Inputs = dict[str, Any]


def default_inputs(profile: Profile, measure: Measure, seed: int) -> Inputs:
    """Return boosted trees, a machine with an rbf kernel and logistic regression, as far as they suit the samples.

    Examples
    --------
    >>> import numpy as np
    >>> from metricwise.measures import FBeta
    >>> list(default_inputs(Profile.of(np.zeros((100, 2))), FBeta(), seed=0))
    ['boosted trees', 'rbf machine', 'logistic regression']
    """
    found: Inputs = {}
    for candidate in make_portfolio(_USUAL, Problem(profile, measure, seed=seed)).candidates:
        if candidate.settings.get("C", _LEAST_C) >= _LEAST_C:
            found.setdefault(candidate.name, candidate.final)
    return found


def check_inputs(estimators: Any) -> Inputs:
    """Return the classifiers of a list of pairs by their names; ValueError or TypeError if it is no such list."""
    pairs = [tuple(pair) if isinstance(pair, tuple | list) else (pair,) for pair in estimators]
    if not pairs:
        raise ValueError("estimators is empty: give a list of (name, classifier), or 'default'")
    for pair in pairs:
        if len(pair) != 2 or not isinstance(pair[0], str):
            raise ValueError(f"estimators must be a list of (name, classifier), or 'default'; found {pair!r} in it")
    names = [name for name, _ in pairs]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise ValueError(f"estimators has several classifiers with the name {repeated[0]!r}: give each its own")
    odd = [name for name in names if "__" in name or name == ADAPTED]
    if odd:
        raise ValueError(
            f"a classifier of estimators is called {odd[0]!r}: {ADAPTED!r} and names with '__' mean something else, so "
            "give it another name"
        )
    for name, model in pairs:
        _check_scores(name, model)
    return dict(pairs)


def _check_scores(name: str, model: Any) -> None:
    try:
        gives_probabilities(model)
    except TypeError as error:
        raise TypeError(f"estimators, {name!r}: {error}") from error


def check_trained(inputs: Inputs, classes: NDArray[Any]) -> None:
    """Raise unless all classifiers are fitted (NotFittedError) and know the two classes, and no others (ValueError)."""
    for name, model in inputs.items():
        try:
            check_is_fitted(model)
        except NotFittedError as error:
            raise NotFittedError(
                f"prefit=True, but the classifier {name!r} ({type(model).__name__}) is not fitted: fit it before, on "
                "other samples than these, or set prefit=False. Copies that searches and cross-validation make forget "
                "their training unless it is wrapped in sklearn.frozen.FrozenEstimator"
            ) from error
        known = np.asarray(model.classes_)
        if not np.array_equal(known, classes):
            raise ValueError(
                f"the trained classifier {name!r} ({type(model).__name__}) knows the classes {known.tolist()}, but y "
                f"has {classes.tolist()}: give classifiers that were trained for these two, or set prefit=False"
            )
