"""From areas on draws to averages, tests and counts."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from benchmarks.papers.brefeld2005.methods import AUC_1

Record = dict[str, Any]

LEVEL = 0.05  # of the tests


@dataclass(frozen=True)
class Cell:
    """One problem with one number of training samples.

    Parameters
    ----------
    record : dict
        The record of the protocol.
    """

    record: Record

    @property
    def name(self) -> str:
        return str(self.record["name"])

    @property
    def n_samples(self) -> int:
        return int(self.record["n_samples"])

    def has(self, method: str) -> bool:
        return method in self.record["values"]

    def values(self, method: str) -> list[float]:
        """The areas of a method on the draws."""
        values: list[float] = self.record["values"][method]
        return values

    def mean(self, method: str) -> float:
        return statistics.fmean(self.values(method))

    def error(self, method: str) -> float:
        """The standard error of the average over draws; zero for a single draw."""
        values = self.values(method)
        return statistics.stdev(values) / len(values) ** 0.5 if len(values) > 1 else 0.0

    def difference(self, ours: str, theirs: str) -> float:
        """The average difference on the draws that both have."""
        return float(np.mean(self._differences(ours, theirs)))

    def _differences(self, ours: str, theirs: str) -> Any:
        both = zip(self.values(ours), self.values(theirs), strict=False)  # clusters have the first draws only
        return np.array([one - other for one, other in both])

    def p(self, ours: str, theirs: str) -> float:
        """The p-value of a two-sided paired t-test over draws."""
        differences = self._differences(ours, theirs)
        if differences.size < 2 or not np.any(differences):
            return 1.0
        if np.ptp(differences) == 0.0:
            return 0.0
        return float(stats.ttest_1samp(differences, 0.0).pvalue)

    def verdict(self, ours: str, theirs: str) -> int:
        """1 if ours is significantly better, -1 if significantly worse, else 0."""
        return int(np.sign(self.difference(ours, theirs))) if self.p(ours, theirs) < LEVEL else 0

    def search(self, method: str) -> list[float]:
        """The average area for every C."""
        values: list[float] = self.record["search"][method]
        return values

    def best(self, method: str) -> float:
        """The exponent of ten of the best C; of the AUC-SVM on the scale of this library."""
        return float(self.record["best"][method])

    def best_of_paper(self, method: str = AUC_1) -> float:
        """The exponent of the AUC-SVM's best C on the scale of the paper."""
        return self.best(method) + float(np.log10(self.record["paper_scale"]))


class Tally(NamedTuple):
    """In how many cells ours is significantly better, not significantly different, significantly worse."""

    won: int
    tied: int
    lost: int
    difference: float  # average

    @property
    def cells(self) -> int:
        return self.won + self.tied + self.lost


def cells(found: Record, part: str) -> list[Cell]:
    """Return the cells of ``"text"`` or ``"digits"``."""
    return [Cell(record) for record in found[part]]


def tally(some: Iterable[Cell], ours: str, theirs: str) -> Tally:
    """Count wins, ties and losses where both methods have values."""
    both = [cell for cell in some if cell.has(ours) and cell.has(theirs)]
    verdicts = [cell.verdict(ours, theirs) for cell in both]
    difference = statistics.fmean(cell.difference(ours, theirs) for cell in both) if both else 0.0
    return Tally(verdicts.count(1), verdicts.count(0), verdicts.count(-1), difference)


def sizes(some: Iterable[Cell]) -> list[int]:
    return sorted({cell.n_samples for cell in some})


def names(some: Iterable[Cell]) -> list[str]:
    """Return the names of the problems in the order of their first cell."""
    return list(dict.fromkeys(cell.name for cell in some))


def at_edge(some: list[Cell], method: str, exponents: list[float]) -> int:
    """Count the cells whose best C is the largest or the smallest that was tried."""
    return sum(cell.best(method) in (exponents[0], exponents[-1]) for cell in some)


class Point(NamedTuple):
    """The median over draws of seconds, and of the area."""

    seconds: float
    area: float


def point(draws: list[list[float]]) -> Point:
    return Point(*(statistics.median(column) for column in zip(*draws, strict=True)))


def curve(found: Record, method: str) -> dict[int, Point]:
    """Return seconds and area of a timed method by the number of samples."""
    return {int(n_samples): point(draws) for n_samples, draws in found["times"]["methods"][method].items()}


def growth(points: dict[int, Point]) -> float | None:
    """Return the slope of log seconds over log samples; None for fewer than two points."""
    if len(points) < 2:
        return None
    n_samples = np.log(list(points))
    seconds = np.log([max(value.seconds, 1e-4) for value in points.values()])
    return float(np.polyfit(n_samples, seconds, 1)[0])


def cluster_points(record: Record) -> Iterator[tuple[int, Point]]:
    """Return seconds and areas by the number of clusters."""
    return ((count, point(record[str(count)])) for count in record["counts"])
