"""Pass sample weights and groups to a classifier, also to one at the end of a pipeline."""

from __future__ import annotations

import warnings
from typing import Any

from sklearn import get_config
from sklearn.pipeline import Pipeline
from sklearn.utils.metadata_routing import MetadataRouter, get_routing_for_object
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
    """Return whether a classifier, or the last step of a pipeline, takes sample weights.

    With metadata routing, one that routes metadata takes what its parts request, and another does unless it refuses
    (``set_fit_request(sample_weight=False)``).
    """
    is_taken = bool(has_fit_parameter(last_step(estimator)[1], "sample_weight"))
    if not get_config()["enable_metadata_routing"]:
        return is_taken
    routing = get_routing_for_object(estimator)
    if isinstance(routing, MetadataRouter):
        return bool(routing.consumes("fit", ["sample_weight"]))
    return is_taken and routing.fit.requests.get("sample_weight") is not False


def warn_of_ignored_weights(estimator: Any) -> None:
    """Warn the caller of ``fit`` that a classifier takes no sample weights."""
    warnings.warn(
        f"{type(estimator).__name__} takes no sample_weight: the weights count for the threshold only",
        UserWarning,
        stacklevel=4,
    )


def weight_setting(estimator: Any, weights: Any) -> dict[str, Any]:
    """Return the argument of ``fit`` that passes weights on; none if there are none, or the classifier takes none."""
    if weights is None or not takes_weights(estimator):
        return {}
    return {f"{_prefix(estimator)}sample_weight": weights}


def fit_settings(estimator: Any, weights: Any, groups: Any) -> dict[str, Any]:
    """Return the arguments of ``fit`` that pass weights and groups on to a classifier that takes them.

    With metadata routing, groups go to what requests them, such as a grid search over folds of whole groups.
    """
    settings = weight_setting(estimator, weights)
    if groups is not None and _takes_groups(estimator):
        settings[f"{_prefix(estimator)}groups"] = groups
    return settings


def _takes_groups(estimator: Any) -> bool:
    if get_config()["enable_metadata_routing"]:
        return bool(get_routing_for_object(estimator).consumes("fit", ["groups"]))
    return bool(has_fit_parameter(last_step(estimator)[1], "groups"))


def _prefix(estimator: Any) -> str:
    """Return what goes before the name of an argument of ``fit``.

    With metadata routing, a pipeline passes on what its steps request, under its own name.
    """
    return "" if get_config()["enable_metadata_routing"] else last_step(estimator)[0]
