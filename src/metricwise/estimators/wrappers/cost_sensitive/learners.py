"""Train classifiers that take sample weights, further where they can be (warm start)."""

from __future__ import annotations

from typing import Any

from sklearn.utils.validation import has_fit_parameter

from metricwise._typing import Floats, Integers, Labels
from metricwise.decisions.scoring import fit_copy
from metricwise.decisions.weighting import fit_settings, last_step, takes_weights


def require_weights(estimator: Any) -> None:
    """Raise a TypeError if a classifier, or the last step of a pipeline, takes no sample weights."""
    if not takes_weights(estimator):
        if has_fit_parameter(last_step(estimator)[1], "sample_weight"):
            raise TypeError(
                f"classes cannot be given weights, since no part of {type(estimator).__name__} requests them: with "
                "metadata routing, call set_fit_request(sample_weight=True) on the classifier"
            )
        raise TypeError(
            f"{type(last_step(estimator)[1]).__name__} takes no sample_weight, so that classes cannot be given "
            "weights: use PlugInClassifier, which chooses a threshold for any classifier, or a classifier whose fit "
            "takes sample_weight"
        )


def fit_from(
    start: Any, estimator: Any, X: Any, y: Labels, weights: Floats | None, *, groups: Integers | None = None
) -> Any:
    """Train the model to start from further or, if that is None, a copy of a classifier; return the model."""
    if start is None:
        return fit_copy(estimator, X, y, weights, groups)
    warm = f"{last_step(start)[0]}warm_start"
    own = start.get_params()[warm]
    return start.set_params(**{warm: True}).fit(X, y, **fit_settings(start, weights, groups)).set_params(**{warm: own})


def can_start_from(model: Any) -> bool:
    """Whether training a model again starts from its present weights.

    Linear models and networks do so if they have ``warm_start``. That of forests and boosted trees adds trees and
    leaves the old ones, which were grown for other class weights, unchanged.
    """
    last = last_step(model)[1]
    has_weights = hasattr(last, "coef_") or hasattr(last, "coefs_")
    return has_weights and "warm_start" in last.get_params(deep=False)
