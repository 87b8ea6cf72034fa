"""Offsets of several classes, and thresholds of several labels, from held-out scores."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from metricwise._typing import Floats, Integers, Mask
from metricwise.decisions.binary import Aim, Chosen, HeldOut, Probe, choose
from metricwise.decisions.class_offsets import TablesValue, bagged_offsets, best_offsets
from metricwise.decisions.intervals import resampled_interval, score_interval
from metricwise.measures import Averaged, Measure
from metricwise.measures.averages import matrix_table
from metricwise.measures.base import CountsClassTables, CountsTable, RestrictsLabellings


class ChosenSet(NamedTuple):
    """Offsets or thresholds of several classes or labels, with what is known of them."""

    thresholds: Floats
    interval: tuple[Floats, Floats]
    expected: float
    expected_interval: tuple[float, float]


def averaged(measure: Measure, what: str) -> Any:
    """Return a measure of several classes or labels: the macro average of one that is defined for two classes only."""
    if isinstance(measure, Averaged) or (what == "classes" and isinstance(measure, CountsClassTables)):
        if getattr(measure, "average", None) == "samples":
            raise ValueError(
                f"{measure.name!r} is a mean over samples: use BinaryRelevance(estimator, inference='meuf'), which "
                "chooses the labels of each sample for it"
            )
        return measure
    if isinstance(measure, CountsTable) and not isinstance(measure, RestrictsLabellings):
        return Averaged(measure, "macro")
    raise ValueError(
        f"measure {measure.name!r} is for two classes, but y has several {what}: use an average of a measure of the "
        "contingency table, such as 'f1_macro', 'f1_micro' or 'f1_weighted'"
    )


def choose_offsets(
    value: TablesValue, strategy: str, codes: Integers, scores: Floats, weights: Floats, seed: int
) -> ChosenSet:
    """Choose offsets of the classes: the best of the held-out samples ("max"), or their mean over resamples."""
    if strategy not in ("auto", "bagged", "max"):
        raise ValueError(f"for more than two classes threshold is 'auto', 'bagged' or 'max', got {strategy!r}")
    bagged = bagged_offsets(value, codes, scores, weights, seed)
    offsets = best_offsets(value, codes, scores, weights).offsets if strategy == "max" else bagged.offsets
    size = scores.shape[1]
    found = np.argmax(scores - offsets, axis=1)
    cells = np.bincount(codes * size + found, weights, size * size).astype(np.float64)

    def value_of_cells(*drawn: Floats) -> Any:
        return value(*_tables(np.stack(drawn, axis=-1), size))

    interval = score_interval(value_of_cells, tuple(cells), n_samples=max(1, round(float(weights.sum()))))
    return ChosenSet(offsets, bagged.interval, float(value(*_tables(cells, size))), interval)


def _tables(cells: Floats, size: int) -> tuple[Floats, Floats, Floats, Floats]:
    """Return the tables of all classes from cells (true class, class found) in the last axis."""
    matrix = cells.reshape(*cells.shape[:-1], size, size)
    tp = np.diagonal(matrix, axis1=-2, axis2=-1)
    fp, fn = matrix.sum(axis=-2) - tp, matrix.sum(axis=-1) - tp
    return tp, fp, fn, cells.sum(axis=-1)[..., None] - tp - fp - fn


def choose_thresholds(
    measure: Averaged,
    strategy: str,
    labels: Mask,
    scores: Floats,
    weights: Floats,
    probabilities: bool,
    seed: int,
    probes: list[Probe] | None = None,
) -> ChosenSet:
    """Choose thresholds of the labels: one each, or one for all where the measure is of all labels together.

    With ``probes``, one a label, they are moved to where the models of all samples have them.
    """
    if strategy == "batch":
        raise ValueError("for several labels threshold is 'auto', 'bagged', 'expected' or 'max', got 'batch'")
    aim = Aim(measure.base, measure.base, [])
    if measure.average == "micro":
        pooled = HeldOut(labels.ravel(), scores.ravel(), np.repeat(weights, labels.shape[1]))
        chosen = [choose(aim, strategy, pooled, probabilities, seed)] * labels.shape[1]
    else:
        chosen = [
            _of_label(aim, strategy, HeldOut(truth, column, weights), probabilities, seed)
            for truth, column in zip(labels.T, scores.T, strict=True)
        ]
    thresholds = np.array([one.threshold for one in chosen])
    found = scores > thresholds

    def value(weight: Floats) -> float:
        table = matrix_table(labels, found, weight)
        return float(measure.of_tables(table.tp, table.fp, table.fn, table.tn))

    if probes is not None:
        chosen = [one.for_whole(probe) for one, probe in zip(chosen, probes, strict=True)]
    low, high = np.array([one.interval for one in chosen]).T
    kept = np.array([one.threshold for one in chosen])
    return ChosenSet(kept, (low, high), value(weights), resampled_interval(value, weights, seed=seed))


def _of_label(aim: Aim, strategy: str, held: HeldOut, probabilities: bool, seed: int) -> Chosen:
    if 0 < np.count_nonzero(held.positive) < held.positive.size:
        return choose(aim, strategy, held, probabilities, seed)
    # All samples have the label, or none: constant scores, and any threshold between the two is right.
    return Chosen(0.0, (0.0, 0.0), 1.0, (1.0, 1.0))
