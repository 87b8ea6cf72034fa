"""The four measures of Table 1, from labels alone; 0/0 counts 1, as in the paper."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

MEASURES = ("hamming", "macro_f", "micro_f", "f")


def judge(truth: NDArray[np.int8], predicted: NDArray[np.int8]) -> dict[str, float]:
    """Return the Hamming loss, and F over labels, over all entries and over samples."""
    actual, chosen = truth == 1, predicted == 1
    correct = actual & chosen
    values = {
        "hamming": float(np.mean(actual != chosen)),
        "macro_f": _mean_f(correct.sum(axis=0), actual.sum(axis=0), chosen.sum(axis=0)),
        "micro_f": _mean_f(correct.sum(), actual.sum(), chosen.sum()),
        "f": _mean_f(correct.sum(axis=1), actual.sum(axis=1), chosen.sum(axis=1)),
    }
    return {name: round(value, 6) for name, value in values.items()}


def _mean_f(correct: Any, actual: Any, chosen: Any) -> float:
    both = np.asarray(actual + chosen)
    return float(np.mean(np.where(both == 0, 1.0, 2.0 * correct / np.maximum(both, 1))))
