"""The four measures of Table 1, from labels alone; 0/0 counts 1, as in the paper."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

MEASURES = ("hamming", "macro_f", "micro_f", "f")


def judge(truth: NDArray[np.int8], called: NDArray[np.int8]) -> dict[str, float]:
    """Return the Hamming loss, and F over labels, over all entries and over rows."""
    wanted, given = truth == 1, called == 1
    right = wanted & given
    values = {
        "hamming": float(np.mean(wanted != given)),
        "macro_f": _mean_f(right.sum(axis=0), wanted.sum(axis=0), given.sum(axis=0)),
        "micro_f": _mean_f(right.sum(), wanted.sum(), given.sum()),
        "f": _mean_f(right.sum(axis=1), wanted.sum(axis=1), given.sum(axis=1)),
    }
    return {name: round(value, 6) for name, value in values.items()}


def _mean_f(right: Any, wanted: Any, given: Any) -> float:
    both = np.asarray(wanted + given)
    return float(np.mean(np.where(both == 0, 1.0, 2.0 * right / np.maximum(both, 1))))
