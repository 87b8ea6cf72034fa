"""From single trials to boxes, averages, ranks and tests over folds."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from benchmarks.papers.wang2015.methods import JSCHP, MEASURES, METHODS

Record = dict[str, Any]

LEVEL = 0.05  # of the tests
SAME = 1e-9  # closer averages are the same


@dataclass(frozen=True)
class Case:
    """One data set and one measure.

    Parameters
    ----------
    record : dict
        The description of the data set.
    measure : str
        Name of the measure.
    values : dict
        By method, the value of every fold, averaged over the binary problems.
    seconds : dict
        By method, the seconds of training of every fold, averaged in the same manner.
    """

    record: Record
    measure: str
    values: dict[str, list[float]]
    seconds: dict[str, list[float]]

    @property
    def name(self) -> str:
        return str(self.record["name"])

    @property
    def title(self) -> str:
        return str(self.record["title"])

    @property
    def methods(self) -> list[str]:
        """The methods that can be trained for the measure."""
        return list(self.values)

    def mean(self, method: str) -> float:
        return statistics.fmean(self.values[method])

    @property
    def best(self) -> list[str]:
        """The methods with the largest average."""
        largest = max(self.mean(method) for method in self.methods)
        return [method for method in self.methods if self.mean(method) >= largest - SAME]

    def difference(self, ours: str, theirs: str) -> float:
        return self.mean(ours) - self.mean(theirs)

    def p(self, ours: str, theirs: str) -> float:
        """The p-value of a two-sided Wilcoxon signed-rank test over folds."""
        return signed_rank_p(np.subtract(self.values[ours], self.values[theirs]).round(9))

    def verdict(self, ours: str, theirs: str) -> int:
        """1 if ours is significantly better, -1 if significantly worse, else 0."""
        return int(np.sign(self.difference(ours, theirs))) if self.p(ours, theirs) < LEVEL else 0

    def ranks(self) -> dict[str, float]:
        """The rank of every method, 1 the best, averaged over folds; methods that are equal share a rank."""
        table = np.array([self.values[method] for method in self.methods]).round(9)
        means = stats.rankdata(-table, axis=0).mean(axis=1)
        return dict(zip(self.methods, means.tolist(), strict=True))


def signed_rank_p(differences: Any) -> float:
    """Return the exact p-value of Wilcoxon's two-sided signed-rank test of a few differences, excluding zeros.

    All assignments of signs to the ranks are counted, so that ties need no approximation; scipy does the same a
    thousand times slower.
    """
    nonzero = differences[differences != 0.0]
    ranks = stats.rankdata(np.abs(nonzero))
    signs = np.arange(2**ranks.size)[:, None] >> np.arange(ranks.size) & 1
    middle = ranks.sum() / 2.0
    observed = abs(ranks[nonzero > 0.0].sum() - middle)
    return float(np.mean(np.abs(signs @ ranks - middle) >= observed - SAME))


class Tally(NamedTuple):
    """In how many cases ours is significantly better, not different, significantly worse; average difference."""

    won: int
    tied: int
    lost: int
    difference: float


def cases(found: Record) -> list[Case]:
    """Return all data sets with all measures."""
    return [
        Case(
            record,
            measure,
            _by_fold(found["trials"], record["name"], measure, "values"),
            _by_fold(found["trials"], record["name"], measure, "seconds"),
        )
        for record in found["problems"]
        for measure in MEASURES
    ]


def _by_fold(trials: list[Record], problem: str, measure: str, key: str) -> dict[str, list[float]]:
    """Return averages over classes by method, in the order of the folds."""
    mine = [trial for trial in trials if (trial["problem"], trial["measure"]) == (problem, measure)]
    by_method = {
        method: [statistics.fmean(trial[key]) for trial in mine if trial["method"] == method] for method in METHODS
    }
    return {method: values for method, values in by_method.items() if values}


def tally(some: list[Case], theirs: str, ours: str = JSCHP) -> Tally:
    """Count wins, ties and losses in the cases in which both have values."""
    both = [case for case in some if ours in case.values and theirs in case.values]
    verdicts = [case.verdict(ours, theirs) for case in both]
    difference = statistics.fmean(case.difference(ours, theirs) for case in both)
    return Tally(verdicts.count(1), verdicts.count(0), verdicts.count(-1), difference)


def mean_ranks(some: list[Case]) -> dict[str, float]:
    """Return the average rank of every method that has values in all cases, best first."""
    ranks = [case.ranks() for case in some]
    everywhere = [method for method in METHODS if all(method in rank for rank in ranks)]
    means = {method: statistics.fmean(rank[method] for rank in ranks) for method in everywhere}
    return dict(sorted(means.items(), key=lambda entry: entry[1]))


def seconds(some: list[Case], method: str) -> float:
    """Return the median over folds and cases of the seconds of training."""
    return statistics.median(value for case in some if method in case.seconds for value in case.seconds[method])


class Curve(NamedTuple):
    """F1 of joint sparse coding, and the share of atoms in the code of a sample, against one parameter."""

    grid: list[float]
    values: list[float]
    used: list[float]

    @property
    def span(self) -> float:
        return max(self.values) - min(self.values)

    @property
    def trend(self) -> float:
        """The rank correlation of parameter and F1; 0 for a constant curve."""
        if self.span < SAME:
            return 0.0
        return float(stats.spearmanr(self.grid, self.values).statistic)


def curve(found: Record, problem: str, parameter: str, middle: float) -> Curve:
    """Return averages over folds and classes with all other parameters in the middle."""
    points: dict[float, list[Record]] = {}
    for trial in found["sensitivity"]:
        others = [value for name, value in trial["setting"].items() if name != parameter]
        if trial["problem"] == problem and all(value == middle for value in others):
            points.setdefault(trial["setting"][parameter], []).append(trial)
    grid = sorted(points)
    averages = [
        [
            statistics.fmean(value for trial in points[parameter_value] for value in trial[key])
            for parameter_value in grid
        ]
        for key in ("values", "used")
    ]
    return Curve(grid, *averages)


def frequent_setting(found: Record, problem: str, measure: str, method: str) -> tuple[Record, int]:
    """Return the setting chosen in most folds, and in how many."""
    chosen = [
        trial["setting"]
        for trial in found["trials"]
        if (trial["problem"], trial["measure"], trial["method"]) == (problem, measure, method)
    ]
    best = max(METHODS[method].settings, key=chosen.count)
    return best, chosen.count(best)
