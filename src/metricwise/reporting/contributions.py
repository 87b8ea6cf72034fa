"""What the features of a linear model contribute to its score, on the scale that the model sees them."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from metricwise._typing import Floats
from metricwise.decisions.targets import positive_class
from metricwise.reporting.columns import column_spread
from metricwise.reporting.models import layers, positive_label

_TOLERANCE = 1e-6


def find_contributions(
    model: Any, X: Any, names: list[str] | None, pos_label: Any, sample_weight: Floats | None = None
) -> tuple[list[str], Floats] | None:
    """Return the features that a linear model sees, and what one standard deviation of each adds to its score.

    A contribution is the weight of a feature times its standard deviation after all preprocessing. Of several
    classes it is the root mean square over the classes, which has no sign.

    Parameters
    ----------
    model : fitted classifier
        A linear model, within pipelines, searches and wrappers.
    X : samples
        Samples that the model accepts.
    names : list of str or None
        Names of the columns of X.
    pos_label : label or None
        The positive class.
    sample_weight : array or None
        Weights of the samples.

    Returns
    -------
    tuple or None
        Names and contributions; None if the scores of the model are not linear in the features that it sees.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> X = np.array([[0.0, 1e4], [1.0, 0.0], [2.0, 2e4], [3.0, 0.0]])
    >>> model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, [0, 0, 1, 1])
    >>> names, values = find_contributions(model, X, ["strong", "salary"], None)
    >>> bool(abs(values[0]) > abs(values[1])), bool(np.allclose(values, model[-1].coef_[0]))
    (True, True)
    """
    seen, learner = X, model
    for layer in layers(model):
        learner = layer
        transformer = _transformer_of(layer)
        if transformer is not None:
            seen, names = _transform(transformer, seen), _names_after(transformer, names)
    weights = _linear_weights(learner, seen)
    if weights is None:
        return None
    spread = column_spread(seen, sample_weight)
    names = names if names is not None and len(names) == spread.size else [f"feature {k}" for k in range(spread.size)]
    if len(weights) > 1:
        return names, np.sqrt(np.mean((weights - weights.mean(axis=0)) ** 2, axis=0)) * spread
    given = positive_label(model) if pos_label is None else pos_label
    sign = 1.0 if positive_class(model.classes_, given) == model.classes_[1] else -1.0
    return names, sign * weights[0] * spread


def _transformer_of(layer: Any) -> Any:
    """Return what a layer applies to samples before the layer within it: steps of a pipeline, or a preparation."""
    if hasattr(layer, "steps"):
        return layer[:-1] if len(layer.steps) > 1 else None
    return getattr(layer, "transformer_", None)


def _transform(transformer: Any, X: Any) -> Any:
    # A wrapper may have converted a data frame of numbers to an array before it fitted the transformer.
    is_frame = hasattr(X, "columns") and not hasattr(transformer, "feature_names_in_")
    return transformer.transform(np.asarray(X) if is_frame else X)


def _names_after(transformer: Any, names: list[str] | None) -> list[str] | None:
    """Return the names of the features after a transformer; None if it does not know them.

    A column transformer puts the name of each part before those of its features; it is left out if they stay distinct.
    """
    try:
        found = [str(name) for name in transformer.get_feature_names_out(names)]
    except (AttributeError, ValueError):
        return None
    short = [name.partition("__")[2] for name in found]
    return short if all(short) and len(set(short)) == len(short) else found


def _linear_weights(learner: Any, seen: Any) -> Floats | None:
    """Return the weights of a learner, one row per class or one for two; None if they do not give its scores."""
    weights: Any = getattr(learner, "coef_", None)
    if weights is None or not hasattr(learner, "decision_function"):
        return None
    weights = np.atleast_2d(weights.toarray() if sparse.issparse(weights) else np.asarray(weights, dtype=np.float64))
    if len(np.shape(seen)) != 2 or seen.shape[1] != weights.shape[1]:
        return None
    scores = np.asarray(learner.decision_function(seen), dtype=np.float64).reshape(seen.shape[0], -1)
    if scores.shape[1] != len(weights):
        return None
    rest = scores - np.asarray(seen @ weights.T)  # intercept and threshold, the same for all samples
    scale = max(float(np.abs(scores).max()), 1.0)
    return weights if bool(np.all(np.ptp(rest, axis=0) <= _TOLERANCE * scale)) else None
