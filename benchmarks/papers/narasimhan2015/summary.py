"""From curves to the rows of the tables: the values reached, and when a method first came near the best.

Everything is averaged over the splits first: the best of single curves would be the luckiest one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from benchmarks.papers.narasimhan2015.methods import BATCHES, MULTIVARIATE, OURS, PLUG_IN, STREAMING

Record = dict[str, Any]

METHODS = (OURS, BATCHES, MULTIVARIATE, PLUG_IN)
NEAR = 0.99  # of the best value of any method
WANTED = 3.0  # times faster than the plug-in method


@dataclass(frozen=True)
class Line:
    """One problem and one measure.

    Parameters
    ----------
    problem : dict
        The record of the problem.
    measure : str
        Name of the measure.
    """

    problem: Record
    measure: str

    def _curves(self, method: str) -> list[Record]:
        return [split["curves"][self.measure][method] for split in self.problem["splits"]]

    @property
    def best(self) -> float:
        """The best value, averaged over the splits, that any method had at any time."""
        return max(value for method in METHODS for _, value in self.points(method))

    @property
    def best_at(self) -> tuple[str, float]:
        """Which method had the best value, and after what part of its time."""
        found = [(value, method, seconds) for method in METHODS for seconds, value in self.points(method)]
        _, method, seconds = max(found)
        return method, seconds / self.points(method)[-1][0]

    @property
    def untuned(self) -> float:
        """The value of logistic regression at the probability one half."""
        return fmean(split["untuned"][self.measure] for split in self.problem["splits"])

    def points(self, method: str) -> list[tuple[float, float]]:
        """The value of a method against seconds, averaged over the splits, from when all of them have one."""
        curves = [curve["points"] for curve in self._curves(method)]
        begin = max(points[0][0] for points in curves)
        times = sorted({seconds for points in curves for seconds, _ in points if seconds >= begin})
        return [(time, fmean(_value_at(points, time) for points in curves)) for time in times]

    def final(self, method: str) -> float:
        """The value of a method at the end."""
        return fmean(curve["points"][-1][1] for curve in self._curves(method))

    def seconds(self, method: str) -> float:
        """The seconds of the whole training."""
        return fmean(curve["points"][-1][0] for curve in self._curves(method))

    def ended(self, method: str) -> bool:
        """Whether training ended by itself within the time limit in every split."""
        return all(curve["ended"] for curve in self._curves(method))

    def near(self, method: str) -> float | None:
        """When a method first came near the best value, None if never."""
        return next((seconds for seconds, value in self.points(method) if value >= NEAR * self.best), None)

    @property
    def ends_near(self) -> bool:
        """Whether the streaming method is near the best value at the end."""
        return self.final(OURS) >= NEAR * self.best

    def times_faster(self, method: str = PLUG_IN) -> float | None:
        """How many times sooner the streaming method came near than another; None unless both did."""
        ours, theirs = self.near(OURS), self.near(method)
        return None if ours is None or theirs is None else theirs / ours

    @property
    def whole_ratio(self) -> float:
        """The time of the whole plug-in training divided by ours."""
        return self.seconds(PLUG_IN) / self.seconds(OURS)


def _value_at(points: list[list[float]], time: float) -> float:
    """Return the value of the last point up to a time."""
    return [value for seconds, value in points if seconds <= time][-1]


def lines(found: Record) -> Iterator[Line]:
    """Return the lines of all problems and measures."""
    return (Line(problem, measure) for measure in STREAMING for problem in found["problems"])


def multivariate_ratio(line: Line) -> float:
    """Return the time of the whole training of the multivariate SVM divided by ours."""
    return line.seconds(MULTIVARIATE) / line.seconds(OURS)
