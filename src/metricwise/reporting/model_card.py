"""The model card of a report: intended use, data, measures and limits, as a section of the page and as plain data."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import numpy as np

import metricwise
from metricwise.measures import Measure, get_measure
from metricwise.measures.titles import title_of
from metricwise.reporting import charts
from metricwise.reporting.evaluation import Evaluation, evaluate
from metricwise.reporting.guarantees import evaluate_guarantees, find_guaranteed
from metricwise.reporting.markup import Markup, number, paragraph, percent, section, spread, table, tally
from metricwise.reporting.models import expectation_of, list_layers, prior_of, results_of
from metricwise.reporting.optimality import describe_optimality
from metricwise.reporting.predictions import Predictions
from metricwise.reporting.reviews import Reviews
from metricwise.results import Result

FIELDS = ("intended_use", "data_origin", "limits")
_FEW = 50  # samples of a class, below which intervals are wide
_MOST_CLASSES = 30  # that the section names
_UNKNOWN = "not stated"


@dataclass(frozen=True)
class CardSource:
    """What a card is made of.

    Attributes
    ----------
    given : dict
        What the author of the model wrote: some of `FIELDS`.
    model : fitted classifier
        The model.
    n_features : int or None
        Number of features; None for texts.
    found : Predictions
        Its predictions for the samples that were evaluated.
    samples : str
        Description of these samples.
    measure : Measure
        The measure that the model is evaluated by.
    is_declared : bool
        Whether the model was trained for it.
    evaluated : Evaluation
        The measure with its resamples.
    reviewed : Reviews or None
        The samples that were sent to review, which are not among those evaluated.
    groups : tuple of str
        Columns whose groups the page compares.
    """

    given: Mapping[str, Any]
    model: Any
    n_features: int | None
    found: Predictions
    samples: str
    measure: Measure
    is_declared: bool
    evaluated: Evaluation
    reviewed: Reviews | None
    groups: tuple[str, ...]


def validate_card(given: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return what the author of a model wrote for its card.

    Parameters
    ----------
    given : dict or None
        Texts by the names of `FIELDS`; limits may be a list of texts.

    Examples
    --------
    >>> validate_card({"intended_use": "Ranking of calls", "limits": "Not for minors"})
    {'intended_use': 'Ranking of calls', 'limits': ['Not for minors']}
    """
    fields = dict(given or {})
    unknown = [name for name in fields if name not in FIELDS]
    if unknown:
        raise ValueError(f"card has the field {unknown[0]!r}: give some of {', '.join(FIELDS)}")
    if "limits" in fields:
        limits = fields["limits"]
        fields["limits"] = [limits] if isinstance(limits, str) else list(limits)
    for name, value in fields.items():
        texts = value if name == "limits" else [value]
        if not all(isinstance(one, str) and one.strip() for one in texts):
            raise TypeError(f"the field {name!r} of card must be text, got {value!r}")
    return fields


def make_card(source: CardSource, seed: int = 0) -> dict[str, Any]:
    """Return the card as data that JSON can hold.

    Parameters
    ----------
    source : CardSource
        What it is made of.
    seed : int
        Seeds the resamples of the intervals.

    Returns
    -------
    dict
        With the keys model, intended_use, data, measures, guarantees and limits.
    """
    return {
        "model": _describe_model(source),
        "intended_use": source.given.get("intended_use"),
        "data": _describe_data(source),
        "measures": _list_measures(source, seed),
        "guarantees": [
            {"guarantee": one["guarantee"], "share": _plain(one["share"]), "kept": one["kept"]}
            for one in evaluate_guarantees(source.model, source.found)
        ],
        "limits": [*source.given.get("limits", ()), *_find_limits(source)],
    }


def _describe_model(source: CardSource) -> dict[str, Any]:
    expected = expectation_of(source.model)
    return {
        "steps": [type(layer).__name__ for layer in list_layers(source.model)],
        "measure": title_of(source.measure),
        "trained_for_it": source.is_declared,
        "expected_on_new_samples": None
        if expected is None
        else dict(zip(("value", "low", "high"), map(_plain, expected), strict=True)) | {"confidence": 0.9},
        "versions": {"metricwise": metricwise.__version__, "scikit-learn": version("scikit-learn")},
    }


def _describe_data(source: CardSource) -> dict[str, Any]:
    found = source.found
    data = {
        "origin": source.given.get("data_origin"),
        "evaluated_on": source.samples,
        "n_samples": found.n_samples,
        "n_features": source.n_features,
        "n_groups": None if found.groups is None else found.groups.n_groups,
        "is_weighted": found.is_weighted,
        "n_by_class": _count_classes(found),
    }
    return data | ({"positive_class": found.problems[0].name} if found.kind == "binary" else {})


def _count_classes(found: Predictions) -> dict[str, int]:
    """Return the number of samples of every class or label."""
    counts = {one.name: int(np.count_nonzero(one.truth)) for one in found.problems}
    if found.kind != "binary":
        return counts
    positive = found.problems[0].name
    return {
        name: counts[positive] if name == positive else found.n_samples - counts[positive] for name in found.classes
    }


def _list_measures(source: CardSource, seed: int) -> list[dict[str, Any]]:
    """Return the measure of the model; of two classes also precision and recall."""
    confidence = source.evaluated.confidence
    named = [(title_of(source.measure), source.evaluated)]
    if source.found.kind == "binary":
        others = [get_measure(name) for name in ("precision", "recall") if name != source.measure.name]
        named += [(title_of(one), evaluate([source.found], one, confidence, seed)[0]) for one in others]
    return [
        {
            "measure": name,
            "value": _plain(one.value),
            "low": _plain(one.interval[0]),
            "high": _plain(one.interval[1]),
            "confidence": confidence,
        }
        for name, one in named
    ]


def _plain(value: float | None) -> float | None:
    """Return a number that JSON has, None for NaN."""
    return None if value is None or math.isnan(value) else float(value)


# ---------------------------------------------------------------------------------------------------------- the limits


def _find_limits(source: CardSource) -> list[str]:
    """Return what is known to limit the use of a model, in sentences."""
    found = [
        f"The values hold for samples like those evaluated ({source.samples}), if training has not seen these, and not "
        "for other populations or later times.",
        *_limits_of_size(source.found),
        *_limits_of_training(source),
        *_limits_of_guarantees(source),
        *_limits_of_probabilities(source),
    ]
    if source.reviewed is not None:
        found.append(f"It sends {percent(source.reviewed.share)} of the samples to review, which no value counts.")
    if source.found.kind == "binary":
        compared = f"Only groups of {', '.join(source.groups)}" if source.groups else "No groups of samples"
        found.append(f"{compared} were compared.")
    return found


def _limits_of_size(found: Predictions) -> Iterable[str]:
    name, count = min(_count_classes(found).items(), key=lambda one: one[1])
    if count < _FEW:
        what = "label" if found.kind == "multilabel" else "class"
        yield f"Only {count} of {found.n_samples} samples have the {what} “{name}”, so that intervals are wide."


def _limits_of_training(source: CardSource) -> Iterable[str]:
    title = title_of(source.measure)
    if not source.is_declared:
        yield f"The model does not declare that it was trained for {title}."
    results = (one for one in results_of(source.model) if isinstance(one, Result))  # streams have no certificate
    degenerate = next((one for one in results if one.is_degenerate), None)
    if degenerate is not None:
        yield describe_optimality(degenerate, title)
    prior = prior_of(source.model)
    if prior:
        yield f"It was adapted to the prior {prior}, and is too good or too bad for others."


def _limits_of_guarantees(source: CardSource) -> Iterable[str]:
    guaranteed = find_guaranteed(source.model, source.found)
    if guaranteed is None:
        yield "No precision, recall or other share is guaranteed."
    elif guaranteed.confidence is None:
        yield "Its constraints held on out-of-fold samples and are not guaranteed on new ones."
    else:
        yield (
            f"Its guarantees hold with confidence {percent(guaranteed.confidence)}, for samples like those of "
            "training; a GuaranteeMonitor watches whether they still do."
        )


def _limits_of_probabilities(source: CardSource) -> Iterable[str]:
    first = source.found.problems[0]
    if first.scale == "score":
        yield "Its scores are no probabilities."
    elif source.found.kind == "binary":
        error = charts.compute_calibration(first, source.evaluated.confidence, source.found.groups).error
        yield f"Its probabilities and the shares of positives differ by {number(error)} on average over samples."


# --------------------------------------------------------------------------------------------------------- the section


def card_section(card: Mapping[str, Any]) -> Markup:
    """Return the card as a section of the page."""
    data = card["data"]
    rows = [
        ("model", f"{' → '.join(card['model']['steps'])}, evaluated by {card['model']['measure']}"),
        ("intended use", card["intended_use"] or _UNKNOWN),
        ("origin of the data", data["origin"] or _UNKNOWN),
        ("evaluated on", _describe_samples(data)),
        *((one["measure"], _describe_value(one)) for one in card["measures"]),
        *((one["guarantee"], _describe_guarantee(one)) for one in card["guarantees"]),
        *(("limit", one) for one in card["limits"]),
    ]
    versions = ", ".join(f"{package} {found}" for package, found in card["model"]["versions"].items())
    return section(
        "card",
        "Model card",
        table("What the model is for, and what it is not for", ("field", "content"), rows, words=(1,)),
        paragraph(f"Made with {versions}.", style="soft"),
    )


def _describe_samples(data: Mapping[str, Any]) -> str:
    counts = data["n_by_class"]
    features = "" if data["n_features"] is None else f" of {tally(data['n_features'])} features"
    classes = ", ".join(f"{tally(count)} of “{name}”" for name, count in list(counts.items())[:_MOST_CLASSES])
    more = f" and {len(counts) - _MOST_CLASSES} more" if len(counts) > _MOST_CLASSES else ""
    weighted = "; values count weights" if data["is_weighted"] else ""
    return f"{data['evaluated_on']}: {tally(data['n_samples'])} samples{features}: {classes}{more}{weighted}"


def _describe_value(one: Mapping[str, Any]) -> str:
    value, low, high = (math.nan if one[key] is None else one[key] for key in ("value", "low", "high"))
    return f"{number(value)} ({percent(one['confidence'])} interval: {spread((low, high))})"


def _describe_guarantee(one: Mapping[str, Any]) -> str:
    if one["kept"] is None:
        return "not evaluated on these samples"
    return f"{'kept' if one['kept'] else 'not kept'} on these samples, with {number(one['share'])}"
