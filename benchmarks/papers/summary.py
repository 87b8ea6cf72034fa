"""From results per class to the rows of the table: averages, wins and losses, and a test of the difference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import wilcoxon

Floats = NDArray[np.float64]
Record = dict[str, Any]

_SAME = 1e-9


@dataclass(frozen=True)
class Line:
    """A comparison over the classes of a collection: averages in percent, and on how many classes each method won."""

    multivariate: float
    cost: float
    won: int
    lost: int
    stars: str
    p: float | None = None

    @property
    def difference(self) -> float:
        """How much better the multivariate SVM is, from the averages as they are printed."""
        return round(self.multivariate, 1) - round(self.cost, 1)


def values(found: Record, method: str, column: str) -> Floats:
    """Return the results of a method in a column in percent, one per class."""
    return 100.0 * np.array([entry["values"][method][column] for entry in found["classes"]])


def compare(found: Record, column: str) -> Line:
    """Return the comparison in a column, with the p-value of the two-tailed Wilcoxon test over classes."""
    multivariate, cost = values(found, "multivariate", column), values(found, "cost", column)
    differences = multivariate - cost
    p = p_value(differences)
    return Line(
        float(multivariate.mean()),
        float(cost.mean()),
        int(np.count_nonzero(differences > _SAME)),
        int(np.count_nonzero(differences < -_SAME)),
        stars(p),
        p,
    )


def p_value(differences: Floats) -> float:
    """Return the p-value of the two-tailed signed-rank test; classes without a difference are excluded."""
    nonzero = differences[np.abs(differences) > _SAME]
    return float(wilcoxon(nonzero).pvalue) if nonzero.size else 1.0


def stars(p: float) -> str:
    """Return the stars of the paper: two at the level 0.95, one at 0.9."""
    return "**" if p <= 0.05 else "*" if p <= 0.1 else ""


def frequency_bins(found: Record, count: int = 5) -> list[NDArray[np.intp]]:
    """Return the classes in bins of nearly equal size, the most frequent classes first."""
    positives = np.array([entry["positives"] for entry in found["classes"]])
    bins = np.array_split(np.argsort(-positives, kind="stable"), count)
    return [members for members in bins if members.size]


def improvement_by_bin(found: Record, column: str, count: int = 5) -> Floats:
    """Return the average improvement in every bin of class frequency, in percentage points."""
    differences = values(found, "multivariate", column) - values(found, "cost", column)
    return np.array([differences[members].mean() for members in frequency_bins(found, count)])
