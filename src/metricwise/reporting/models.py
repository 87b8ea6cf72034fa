"""Read measure, settings, training result and leaderboard of a fitted model."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import numpy as np

from metricwise.measures import Measure, get_measure, is_symmetric
from metricwise.registry import entry_of
from metricwise.results import Result, StreamResult

_WRAPPED = ("best_estimator_", "estimator_", "learner_", "estimator")  # in searches, plug-ins, prepared learners


def layers(model: Any) -> Iterator[Any]:
    """Yield a model and what it wraps, from the outside: searches, pipelines, plug-ins, then the learner.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> pipeline = make_pipeline(StandardScaler(), LogisticRegression())
    >>> [type(layer).__name__ for layer in layers(pipeline)]
    ['Pipeline', 'LogisticRegression']
    """
    yield model
    if hasattr(model, "steps"):
        yield from layers(model.steps[-1][1])
        return
    inner = next((getattr(model, name) for name in _WRAPPED if hasattr(model, name)), None)
    # Forests and other ensembles name the learner of each member, which is no layer of the model.
    if hasattr(inner, "fit") and not hasattr(model, "estimators_"):
        yield from layers(inner)


def list_layers(model: Any) -> list[Any]:
    """Return the layers of a model and the steps of its pipelines, from the outside."""
    found: list[Any] = []
    for layer in layers(model):
        steps = [step for _, step in layer.steps[:-1] if step != "passthrough"] if hasattr(layer, "steps") else [layer]
        found += steps
    return found


def name_of(model: Any) -> str:
    """Return the name of a model: the class of the last step of a pipeline or search.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> name_of(make_pipeline(LogisticRegression()))
    'LogisticRegression'
    """
    inner = (layer for layer in layers(model) if not hasattr(layer, "steps") and not hasattr(layer, "best_params_"))
    return type(next(inner, model)).__name__


def measure_of(model: Any, several: bool) -> tuple[Measure, bool]:
    """Return the measure of a model, and whether the model declares it; (macro) F1 if it declares none."""
    found = next((layer.measure_ for layer in layers(model) if hasattr(layer, "measure_")), None)
    if found is not None:
        return found, True
    scoring = next((layer.scoring for layer in layers(model) if isinstance(getattr(layer, "scoring", None), str)), None)
    try:
        return get_measure(scoring or ""), True
    except ValueError:
        return get_measure("f1_macro" if several else "f1"), False


def positive_label(model: Any) -> Any:
    """Return the positive class that a model of two classes was trained for; None if it was not named.

    Measures that depend on the positive class cannot be trained for without one: by default it is the last class.
    """
    labels = (getattr(layer, "pos_label", None) for layer in layers(model))
    named = next((label for label in labels if label is not None), None)
    measures = (layer.measure_ for layer in layers(model) if hasattr(layer, "measure_"))
    if named is None and not all(is_symmetric(measure) for measure in measures):
        return model.classes_[1]
    return named


def find_positive_class(model: Any) -> Any:
    """Return the positive class of a model of two classes: the one it was trained for, else the last in order."""
    named = positive_label(model)
    return model.classes_[1] if named is None else named


def thresholds_of(model: Any, label: int = 0) -> list[float]:
    """Return the thresholds of a model as its users read them: `threshold_` here, `best_threshold_` in scikit-learn.

    Parameters
    ----------
    model : fitted classifier
        The model.
    label : int, default=0
        Number of the label of a multilabel target, each of which has a threshold.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from metricwise import PlugInClassifier
    >>> X, y = make_classification(200, random_state=0)
    >>> model = PlugInClassifier(LogisticRegression()).fit(X, y)
    >>> thresholds_of(model) == [model.threshold_]
    True
    """
    found = (getattr(layer, name, None) for layer in layers(model) for name in ("best_threshold_", "threshold_"))
    numbers = (np.ravel(value) for value in found if value is not None)
    return [float(values[label]) for values in numbers if label < len(values)]


def score_offset(model: Any) -> float:
    """Return what to add to decision values so that `threshold_` separates them.

    The classifiers of this library subtract their threshold from decision values. Where they have probabilities, the
    threshold is one of these, and the decision values stay as they are.
    """
    own = next((layer for layer in layers(model) if entry_of(layer) is not None), None)
    threshold = None if own is None or hasattr(own, "predict_proba") else getattr(own, "threshold_", None)
    return threshold if isinstance(threshold, float) else 0.0


def results_of(model: Any) -> list[Result | StreamResult]:
    """Return the training results of a model: one, one per class, or none if unknown."""
    for layer in layers(model):
        found = getattr(layer, "result_", None)
        if found is not None:
            return list(found) if isinstance(found, (list, tuple)) else [found]
    return []


def describe_class(model: Any) -> str:
    """Return the first sentence of the documentation of a model's class.

    Examples
    --------
    >>> from metricwise import MetricClassifier
    >>> describe_class(MetricClassifier())
    'Select, ensemble and threshold the learners that suit a measure and the data.'
    """
    text = inspect.getdoc(type(model)) or ""
    return " ".join(text.split("\n\n")[0].replace("`", "").split())


def changed_settings(model: Any) -> dict[str, str]:
    """Return the parameters of a model that are not their defaults, as text.

    Examples
    --------
    >>> from metricwise import MultivariateSVC
    >>> changed_settings(MultivariateSVC("g_mean", C=10.0))
    {'measure': "'g_mean'", 'C': '10.0'}
    """
    if not hasattr(model, "get_params"):
        return {}
    parameters = inspect.signature(type(model).__init__).parameters
    given = {name: repr(value) for name, value in model.get_params(deep=False).items()}
    ordered = [name for name in parameters if name in given]
    return {name: _short(given[name]) for name in ordered if repr(parameters[name].default) != given[name]}


def _short(text: str, most: int = 160) -> str:
    text = " ".join(text.split())
    return text if len(text) <= most else text[: most - 1] + "…"


def leaderboard_of(model: Any) -> list[dict[str, Any]]:
    """Return one record per candidate of a `MetricClassifier`, the selected ones first; none for other models."""
    # The data frame `leaderboard_` holds the same, but needs pandas.
    return next((layer._records for layer in layers(model) if _selects_models(layer)), [])


def explanation_of(model: Any) -> str | None:
    """Return the explanation of a `MetricClassifier`; None for other models."""
    return next((layer.explain() for layer in layers(model) if _selects_models(layer)), None)


def _selects_models(model: Any) -> bool:
    own = entry_of(model)
    return own is not None and own.family == "selection"


def expectation_of(model: Any) -> tuple[float, float, float] | None:
    """Return the expected score of a model on new samples with its interval, if it has one."""
    for layer in layers(model):
        if hasattr(layer, "expected_score_"):
            low, high = layer.expected_score_interval_
            return float(layer.expected_score_), float(low), float(high)
    return None


def prior_of(model: Any) -> str | None:
    """Return the prior that `metricwise.adapt_prior` has adapted a model to, in words; None for other models."""
    return next((str(layer.prior_) for layer in layers(model) if hasattr(layer, "prior_")), None)
