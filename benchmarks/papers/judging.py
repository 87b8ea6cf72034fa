"""The measures that models are judged by: the columns of the table."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from metricwise.inference.threshold import best_threshold
from metricwise.measures import PRBEP, FBeta, RecallAtK, RocAuc
from metricwise.measures.base import Measure

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

# The measures of the paper, and F1 once more with the threshold chosen on the holdout part.
MEASURES = ("f1", "prbep", "rec_2p", "roc_area")
TUNED = "f1_tuned"
COLUMNS = (*MEASURES, TUNED)
TITLES = {
    "f1": "F1",
    "prbep": "PRBEP",
    "rec_2p": "Rec@2p",
    "roc_area": "ROC area",
    TUNED: "F1, threshold tuned",
}


class Judged(NamedTuple):
    """A value, and the threshold above which samples are predicted positive."""

    value: float
    threshold: float = 0.0


def twice(positive: Mask) -> int:
    """Return twice the number of positives, but at most the number of samples."""
    return min(2 * int(np.count_nonzero(positive)), positive.size)


def measure_of(column: str, positive: Mask) -> Measure:
    """Return the measure of a column for samples with these positives."""
    if column == "rec_2p":
        return RecallAtK(twice(positive))
    plain: dict[str, Measure] = {"f1": FBeta(), TUNED: FBeta(), "prbep": PRBEP(), "roc_area": RocAuc()}
    return plain[column]


def judge(column: str, positive: Mask, scores: Floats, threshold: float = 0.0) -> Judged:
    """Return the value of scores in a column; only F1 uses the threshold."""
    measure = measure_of(column, positive)
    response = scores if measure.response == "scores" else (scores > threshold).astype(np.int64)
    return Judged(measure.score(positive, response), threshold)


def judge_on_holdout(column: str, positive: Mask, scores: Floats) -> Judged:
    """Return the value of scores in a column, with the best threshold where it may be tuned."""
    if column != TUNED:
        return judge(column, positive, scores)
    best = best_threshold(FBeta(), positive, scores)
    return Judged(best.value, best.threshold)
