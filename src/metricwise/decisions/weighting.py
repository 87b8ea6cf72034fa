"""Pass sample weights to a classifier, also to one at the end of a pipeline."""

from __future__ import annotations

from typing import Any

from sklearn import get_config
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter


def last_step(estimator: Any) -> tuple[str, Any]:
    """Return what goes before the names of the parameters of a classifier, and the classifier itself.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> last_step(make_pipeline(StandardScaler(), LogisticRegression()))
    ('logisticregression__', LogisticRegression())
    """
    if not isinstance(estimator, Pipeline):
        return "", estimator
    name, step = estimator.steps[-1]
    inner, classifier = last_step(step)
    return f"{name}__{inner}", classifier


def takes_weights(estimator: Any) -> bool:
    """Return whether a classifier, or the last step of a pipeline, takes sample weights."""
    return bool(has_fit_parameter(last_step(estimator)[1], "sample_weight"))


def weight_setting(estimator: Any, weights: Any) -> dict[str, Any]:
    """Return the argument of ``fit`` that passes weights on; none if there are none, or the classifier takes none."""
    if weights is None or not takes_weights(estimator):
        return {}
    # With metadata routing, a pipeline passes on what its steps ask for, under its own name.
    prefix = "" if get_config()["enable_metadata_routing"] else last_step(estimator)[0]
    return {f"{prefix}sample_weight": weights}
