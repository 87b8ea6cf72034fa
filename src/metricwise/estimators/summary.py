"""What training has found, below scikit-learn's diagram of an estimator in notebooks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from metricwise.decisions.group_constraints import separate_constraints
from metricwise.decisions.monitor import find_pooled_constraints
from metricwise.markup import Markup, number, spread
from metricwise.measures.titles import title_of
from metricwise.notebook.curves import draw_interval
from metricwise.notebook.tables import join_parts, keep_together, list_values, note, show_table
from metricwise.notebook.training import describe_gap, draw_history, last_measure
from metricwise.results import Result

_MOST_CANDIDATES, _MOST_THRESHOLDS, _MOST_CLASSES = 10, 6, 6  # that are shown


class ShowsSummary:
    """Shows what training has found in notebooks, below the diagram of scikit-learn and only where that is shown.

    Place it before ``BaseEstimator`` among the base classes.
    """

    @property
    def _repr_html_(self) -> Callable[[], str]:
        diagram: Callable[[], str] = super()._repr_html_  # type: ignore[misc]  # an AttributeError for texts
        return lambda: f"{diagram()}{summarise(self)}"

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        shown: dict[str, str] = super()._repr_mimebundle_(**kwargs)  # type: ignore[misc]
        if "text/html" in shown:
            shown["text/html"] += summarise(self)
        return shown


def summarise(model: Any) -> str:
    """Return what the training of an estimator has found, as HTML; an empty text if it is not fitted.

    Parameters
    ----------
    model : estimator
        An estimator of metricwise.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from metricwise import MultivariateSVC
    >>> summarise(MultivariateSVC())
    ''
    >>> X, y = make_classification(200, random_state=0)
    >>> "no weights have an objective more than" in summarise(MultivariateSVC("f1").fit(X, y))
    True
    """
    if not _is_fitted(model):
        return ""
    values: dict[str, object] = {}
    for find in (_find_measure, _find_scores, _find_thresholds, _find_constraints, _find_training):
        values |= find(model)
    results = _list_results(model)
    course = draw_history(results[0].history) if len(results) == 1 else Markup("")
    return join_parts(list_values("What training has found", values), course, *_show_leaderboard(model))


def _is_fitted(model: Any) -> bool:
    try:
        check_is_fitted(model)
    except (AttributeError, ValueError):  # NotFittedError is both
        return False
    return True


def _find_measure(model: Any) -> dict[str, object]:
    measure = getattr(model, "measure_", None)
    if measure is not None:
        return {"measure": title_of(measure)}
    return {"labels": f"{model.n_labels_:,}", "inference": model.inference}  # multilabel, by the F-measure


def _find_scores(model: Any) -> dict[str, object]:
    """Return the measure to expect of new samples, or that of a stream, and the share of reviews."""
    values: dict[str, object] = {}
    if hasattr(model, "expected_score_"):
        interval = model.expected_score_interval_
        values["expected on new samples (90 %)"] = _show_interval(model.expected_score_, interval)
    if hasattr(model, "running_score_"):
        values["on samples before they were learnt from (90 %)"] = _show_interval(
            model.running_score_, model.running_score_interval_
        )
    if hasattr(model, "review_share_"):
        values["sent to review (90 %)"] = _show_interval(model.review_share_, model.review_share_interval_)
    return values


def _show_interval(value: float, interval: tuple[float, float]) -> Markup:
    low, high = interval
    ends = (0.0, 1.0) if low >= 0.0 and high <= 1.0 else (min(low, 0.0), max(high, 0.0))
    shown = keep_together(f"{number(value)} ({spread(interval)})")
    return Markup(f"{shown} {draw_interval(value, interval, ends)}")


def _find_thresholds(model: Any) -> dict[str, object]:
    # Models with a threshold for each group have no threshold_, rankings have neither.
    by_group: Mapping[Any, float] | None = getattr(model, "group_thresholds_", None)
    if by_group is not None:
        return {"threshold of each group": _shorten(f"{name}: {value:.4g}" for name, value in by_group.items())}
    threshold = getattr(model, "threshold_", None)
    if threshold is None:
        return {}
    values = [f"{value:.4g}" for value in np.ravel(threshold)]
    name = "threshold" if len(values) == 1 else "thresholds"
    adaptation = getattr(getattr(model, "_decision", None), "adaptation", None)
    is_assigned = adaptation is not None and adaptation.is_assigned
    return {name: _shorten(values) + (", assigned after training" if is_assigned else "")}


def _shorten(values: Iterable[str]) -> str:
    listed = list(values)
    rest = len(listed) - _MOST_THRESHOLDS
    return ", ".join(listed[:_MOST_THRESHOLDS]) + (f" and {rest} more" if rest > 0 else "")


def _find_constraints(model: Any) -> dict[str, object]:
    """Return what the model was trained subject to, and the prior it was adapted to."""
    values: dict[str, object] = {}
    by_group = separate_constraints(getattr(model, "subject_to", None)).by_group
    wanted = [str(one) for one in (*find_pooled_constraints(model), *by_group)]
    if wanted:
        certain = "on out-of-fold samples" if model.confidence is None else f"with confidence {model.confidence:g}"
        values["trained subject to"] = f"{', '.join(wanted)}, {certain}"
    prior = getattr(getattr(model, "_decision", None), "prior", None)
    if prior is not None:
        values["adapted to the prior"] = str(prior)
    return values


def _find_training(model: Any) -> dict[str, object]:
    """Return why training ended, and its certificates; one row per binary problem of several classes."""
    results = _list_results(model)
    if len(results) == 1:
        return _describe_result(results[0], has_running_score=hasattr(model, "running_score_"))
    classes = [str(label) for label in model.classes_] if len(results) else []
    values = {
        f"training, class {name}": f"{one.status.value}: {_describe_state(one)}"
        for name, one in list(zip(classes, results, strict=True))[:_MOST_CLASSES]
    }
    if len(classes) > _MOST_CLASSES:
        values["training, other classes"] = f"{len(classes) - _MOST_CLASSES} more in result_"
    return {**values}


def _describe_result(result: Any, has_running_score: bool) -> dict[str, object]:
    values: dict[str, object] = {"training": f"{result.status.value}, {result.seconds:.3g} s"}
    if isinstance(result, Result):
        values["training"] = f"{result.status.value}, {result.n_iter:,} iterations, {result.seconds:.3g} s"
        values["certificate"] = _describe_state(result)
        return values
    values["training"] = f"{result.status.value}, {result.n_samples:,} samples, {result.seconds:.3g} s"
    measured = last_measure(result.history)
    if measured is not None and not has_running_score:
        values["on samples not learnt from"] = number(measured)
    return values


def _describe_state(result: Any) -> str:
    """Return the certificate in words, and what it belongs to if that is not the measure."""
    if not isinstance(result, Result):
        return f"{result.n_samples:,} samples"
    gap = describe_gap(result.certificate)
    if result.fallback is None:
        return gap
    return f"{gap}, for the accuracy with {result.fallback.positive_weight:.3g} times the weight for positives"


def _list_results(model: Any) -> list[Any]:
    found = getattr(model, "result_", None)
    return found if isinstance(found, list) else [] if found is None else [found]


def _show_leaderboard(model: Any) -> list[Markup]:
    """Return the candidates of a model selection, the selected ones first; nothing for other models."""
    records = getattr(model, "_records", [])
    if not records:
        return []
    shown = records[:_MOST_CANDIDATES]
    bounds = np.array([[record["low"], record["high"]] for record in shown], dtype=np.float64)
    finite = bounds[np.isfinite(bounds)]
    room = 0.1 * np.ptp(finite) if finite.size else 0.0
    ends = (float(finite.min() - room), float(finite.max() + room)) if finite.size else (0.0, 1.0)
    head = ("candidate", title_of(model.measure_), "90 % interval", "", "weight", "samples", "seconds")
    rows = [_candidate(record, ends) for record in shown]
    table = show_table("Candidates, by out-of-fold scores", head, rows, (1, 4, 5, 6))
    rest = len(records) - len(shown)
    return [table, note(f"{rest} more in leaderboard_.")] if rest else [table]


def _candidate(record: Mapping[str, Any], ends: tuple[float, float]) -> tuple[object, ...]:
    value, interval = float(record["value"]), (float(record["low"]), float(record["high"]))
    settings = ", ".join(f"{name}={given}" for name, given in record["settings"].items())
    name = f"{record['candidate']} ({settings})" if settings else record["candidate"]
    if not np.isfinite(value):
        return name, "–", record["why_dropped"], "", "–", "–", "–"
    return (
        name,
        number(value),
        keep_together(spread(interval)),
        draw_interval(value, interval, ends),
        f"{record['weight']:.2g}" if record["weight"] else "–",
        f"{record['n_samples']:,}",
        f"{record['seconds']:.2g}",
    )
