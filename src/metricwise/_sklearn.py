"""All names of scikit-learn that are not part of its public interface: no other file imports any.

Each line says what the name is for. Where scikit-learn has a public way, that is used instead; where versions differ,
the difference ends here. Both ends of the supported range are tested (``make test``, ``make test-oldest``).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

# Samples of arrays, sparse matrices and data frames by their positions; the public `resample` only draws.
from sklearn.utils import _safe_indexing as take_samples

# The methods whose metadata can be requested, for saved requests (``set_fit_request`` and its like).
from sklearn.utils._metadata_requests import SIMPLE_METHODS

# Constraints of parameters, which `BaseEstimator._validate_params` reads from `_parameter_constraints`.
# One constraint of a parameter as an object, which shows whether a stored value satisfies it.
from sklearn.utils._param_validation import HasMethods, Interval, Options, StrOptions, make_constraint

# `set_params` of estimators by the names they have in a list, as in `VotingClassifier`.
from sklearn.utils.metaestimators import _BaseComposition as NamedEstimatorsMixin

# Votes of the one-vs-one classifiers, ties broken by the sums of scores, as in `SVC`.
from sklearn.utils.multiclass import _ovr_decision_function as votes_of_pairs

# The number of features of chunks, which `validate_data` would convert to an array.
from sklearn.utils.validation import _check_n_features as check_n_features

# One non-negative weight per sample; the public `check_array` knows neither None nor the length of X.
from sklearn.utils.validation import _check_sample_weight

# The number of samples of whatever a learner takes: arrays, sparse matrices, data frames, lists.
from sklearn.utils.validation import _num_samples as count_samples

# Private classes that fitted models of scikit-learn contain: model files name these classes.
HELD_CLASSES = {
    name.rpartition(".")[2]: name
    for name in (
        "sklearn.calibration._CalibratedClassifier",
        "sklearn.calibration._SigmoidCalibration",
        "sklearn.calibration._TemperatureScaling",
        "sklearn.compose._column_transformer._RemainderColsList",  # until 1.6
        "sklearn.ensemble._hist_gradient_boosting.binning._BinMapper",
        "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
        "sklearn.multiclass._ConstantPredictor",
        "sklearn.neural_network._stochastic_optimizers.AdamOptimizer",
        "sklearn.neural_network._stochastic_optimizers.SGDOptimizer",
    )
}
# The losses of boosted trees: a model file stores their names, and loading makes them anew.
HELD_LOSSES = {"sklearn._loss.loss": "ExponentialLoss HalfBinomialLoss HalfMultinomialLoss"}
# Where the compiled decision tree is defined, by which its objects are recognised.
TREE_MODULE = "sklearn.tree._tree"
# Where the searches over parameters are defined, which model files refuse in favour of their best estimator.
SEARCH_MODULE = "sklearn.model_selection._search"

# Of the weights that are not zero, the second in relation to the largest: products of smaller ones vanish.
_LEAST_WEIGHT, _LEAST_SHARE = 1e-50, 1e-12
LARGEST_TOTAL_WEIGHT = 1e14  # of all samples: in larger totals one sample is lost by rounding


def check_sample_weight(sample_weight: Any, X: Any, *, allow_all_zero_weights: bool = False) -> NDArray[np.float64]:
    """Return one weight per sample, ones for None; raise if one is negative or, unless that is allowed, all are zero.

    scikit-learn 1.6 accepts weights that are all zero and newer versions refuse them, so they are checked here.

    Examples
    --------
    >>> check_sample_weight([0, 2], [[1.0], [3.0]])
    array([0., 2.])
    >>> check_sample_weight([0, 0], [[1.0], [3.0]], allow_all_zero_weights=True)
    array([0., 0.])
    """
    n_samples = count_samples(X)
    given = np.asarray(sample_weight)
    if given.shape == (n_samples,) and np.all(given == 0):
        weights = np.zeros(n_samples)
    else:
        samples = np.empty((n_samples, 0))
        try:
            weights = _check_sample_weight(sample_weight, samples, dtype=np.float64, ensure_non_negative=True)
        except OverflowError as error:
            raise ValueError("sample_weight has numbers beyond double precision: divide all by their mean") from error
    if not (allow_all_zero_weights or weights.any()):
        raise ValueError("sample_weight is zero for every sample: give at least two samples a weight above zero")
    check_weight_range(weights)
    return np.asarray(weights)


def check_weight_range(weights: NDArray[np.float64]) -> None:
    """Raise a ValueError if weights are too small or too large for products of theirs, or for counting with them.

    Examples
    --------
    >>> check_weight_range(np.array([0.0, 1e-300, 2.0]))
    Traceback (most recent call last):
        ...
    ValueError: the positive weights are between 1e-300 and 2, 2 in total, but ...
    """
    with np.errstate(over="ignore"):
        total = float(weights.sum())
    least, most = float(weights.min(initial=np.inf, where=weights > 0.0)), float(weights.max(initial=0.0))
    if total == 0.0 or (least >= max(_LEAST_WEIGHT, _LEAST_SHARE * most) and total <= LARGEST_TOTAL_WEIGHT):
        return
    raise ValueError(
        f"the positive weights are between {least:g} and {most:g}, {total:g} in total, but a sample counts as many "
        f"times as its weight: they may add up to {LARGEST_TOTAL_WEIGHT:g}, and none may be below {_LEAST_WEIGHT:g} "
        f"or {_LEAST_SHARE:g} of the largest. Divide the weights by their mean, and set negligible ones to 0"
    )


def tree_types() -> tuple[Any, Any]:
    """Return the compiled decision tree and the type of its nodes, by which nodes read from a file are checked."""
    from sklearn.tree._tree import NODE_DTYPE, Tree

    return Tree, NODE_DTYPE


def boosted_node_type() -> Any:
    """Return the type of the nodes of histogram-based boosted trees."""
    from sklearn.ensemble._hist_gradient_boosting.common import PREDICTOR_RECORD_DTYPE

    return PREDICTOR_RECORD_DTYPE


def boosted_trees(model: Any) -> tuple[NDArray[np.float64], list[list[Any]]]:
    """Return the first scores of histogram-based boosting and, for every iteration, the nodes of each column's tree."""
    return np.ravel(model._baseline_prediction), [[tree.nodes for tree in trees] for trees in model._predictors]


__all__ = [
    "HELD_CLASSES",
    "HELD_LOSSES",
    "SEARCH_MODULE",
    "SIMPLE_METHODS",
    "TREE_MODULE",
    "HasMethods",
    "Interval",
    "NamedEstimatorsMixin",
    "Options",
    "StrOptions",
    "boosted_node_type",
    "boosted_trees",
    "check_n_features",
    "check_sample_weight",
    "check_weight_range",
    "count_samples",
    "make_constraint",
    "take_samples",
    "tree_types",
    "votes_of_pairs",
]
