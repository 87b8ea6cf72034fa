"""Statistics of the trials: means over problems, wins and losses, paired tests, processor seconds, coverage."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import wilcoxon

Record = dict[str, Any]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Pair:
    """A method beside another on the same problems.

    Parameters
    ----------
    difference : float
        Mean of the first minus mean of the second.
    wins, losses : int
        Problems on which the first is better and worse.
    p_value : float
        Of Wilcoxon's signed-rank test over problems, two-sided.
    """

    difference: float
    wins: int
    losses: int
    p_value: float

    @property
    def tally(self) -> str:
        """Wins and losses."""
        return f"{self.wins} : {self.losses}"


def compare(first: Floats, second: Floats) -> Pair:
    """Return how the values of a method stand beside those of another, problem by problem.

    Examples
    --------
    >>> compare(np.array([0.5, 0.6, 0.9]), np.array([0.25, 0.7, 0.9])).tally
    '1 : 1'
    """
    difference = first - second
    p_value = float(wilcoxon(difference).pvalue) if np.any(difference != 0.0) else 1.0
    return Pair(float(difference.mean()), int(np.sum(difference > 0)), int(np.sum(difference < 0)), p_value)


@dataclass(frozen=True)
class Comparison:
    """Values and processor seconds of methods, on the splits that all of them have.

    Parameters
    ----------
    problems : list of str
        Names of the problems.
    n_splits : int
        Number of splits of all problems.
    values : dict of str to array
        The measure of a method on each problem, the mean over its splits.
    seconds : dict of str to array
        Its processor seconds on each problem, the sum over the splits.
    refusals : dict of str to int
        Number of splits on which a method refused to train.
    """

    problems: list[str]
    n_splits: int
    values: dict[str, Floats]
    seconds: dict[str, Floats]
    refusals: dict[str, int]

    @property
    def counts(self) -> str:
        """Numbers of problems and splits, in words."""
        return f"{len(self.problems)} problems, {self.n_splits} splits"

    def mean(self, method: str) -> float:
        """Return the mean of a method over problems."""
        return float(self.values[method].mean())

    def pair(self, method: str, other: str) -> Pair:
        """Return how a method stands beside another."""
        return compare(self.values[method], self.values[other])

    def best(self, methods: Sequence[str]) -> str:
        """Return the one of several methods that has the highest mean over problems."""
        return max((method for method in methods if method in self.values), key=self.mean)

    def oracle(self, methods: Sequence[str]) -> Floats:
        """Return, for each problem, the value of the method that is best on it."""
        return np.max([self.values[method] for method in methods if method in self.values], axis=0)

    def total_seconds(self, method: str) -> float:
        """Return the processor seconds of a method in all."""
        return float(self.seconds[method].sum())

    def seconds_ratio(self, method: str, other: str) -> float:
        """Return the processor seconds of a method in all, divided by those of another."""
        return self.total_seconds(method) / self.total_seconds(other)

    def median_seconds_ratio(self, method: str, other: str) -> float:
        """Return the median over problems of the ratio of processor seconds."""
        return float(np.median(self.seconds[method] / self.seconds[other]))


def _natural_order(name: str) -> list[tuple[int, str]]:
    """Return a key by which "topic 2" comes before "topic 10"."""
    return [(int(part), "") if part.isdigit() else (-1, part.lower()) for part in re.split(r"(\d+)", name)]


def gather(trials: Sequence[Record]) -> Comparison | None:
    """Return the comparison of all methods that have trials, None if no split is common to them.

    Parameters
    ----------
    trials : sequence of dict
        Each with method, problem, repetition, value and perhaps cpu_seconds.

    Returns
    -------
    Comparison or None
    """
    by_method: dict[str, dict[tuple[str, int], Record]] = defaultdict(dict)
    for one in trials:
        by_method[one["method"]][one["problem"], one["repetition"]] = one
    if not by_method:
        return None
    common = set.intersection(*(set(found) for found in by_method.values()))
    if not common:
        return None
    problems = sorted({name for name, _ in common}, key=_natural_order)
    splits = {name: sorted(key for key in common if key[0] == name) for name in problems}

    def combine(method: str, entry: str, reduce: Any) -> Floats:
        found = by_method[method]
        return np.array([reduce([found[key].get(entry, np.nan) for key in splits[name]]) for name in problems])

    values = {method: combine(method, "value", np.mean) for method in by_method}
    seconds = {method: combine(method, "cpu_seconds", np.sum) for method in by_method}
    refusals = {method: sum("refused" in found[key] for key in common) for method, found in by_method.items()}
    return Comparison(problems, len(common), values, seconds, refusals)


def coverage(trials: Sequence[Record]) -> str:
    """Return how often the interval covers the value of the test samples."""
    covered = [one["low"] <= one["value"] <= one["high"] for one in trials if "low" in one]
    return f"{np.mean(covered):.1%} of {len(covered)}" if covered else "–"


def interval_width(trials: Sequence[Record]) -> str:
    """Return the mean width of the intervals."""
    return f"{np.mean([one['high'] - one['low'] for one in trials]):.3f}" if trials else "–"


def interval_bias(trials: Sequence[Record]) -> str:
    """Return the mean of the expected minus the observed score."""
    return f"{np.mean([one['expected'] - one['value'] for one in trials]):+.3f}" if trials else "–"
