"""From curves to the lines of the tables: what was reached, and when a method first came near the best."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from benchmarks.papers.narasimhan2015.methods import MULTIVARIATE, OURS, PLUG_IN, STREAMING

Record = dict[str, Any]

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

    @property
    def _curves(self) -> Record:
        curves: Record = self.problem["curves"][self.measure]
        return curves

    @property
    def best(self) -> float:
        """The best value that any method had at any time."""
        return float(max(value for curve in self._curves.values() for _, value in curve["points"]))

    @property
    def untuned(self) -> float:
        """The value of logistic regression at the probability one half."""
        return float(self.problem["untuned"][self.measure])

    def points(self, method: str) -> list[list[float]]:
        points: list[list[float]] = self._curves[method]["points"]
        return points

    def final(self, method: str) -> float:
        """The value of a method at the end."""
        return self.points(method)[-1][1]

    def seconds(self, method: str) -> float:
        """How long the whole training took."""
        return self.points(method)[-1][0]

    def ended(self, method: str) -> bool:
        """Whether training came to its end before time was up."""
        return bool(self._curves[method]["ended"])

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
        """The time of the whole plug-in training in times of ours."""
        return self.seconds(PLUG_IN) / self.seconds(OURS)


def lines(found: Record) -> Iterator[Line]:
    """Return the lines of all problems and measures."""
    return (Line(problem, measure) for measure in STREAMING for problem in found["problems"])


def multivariate_ratio(line: Line) -> float:
    """Return the time of the whole training of the multivariate SVM in times of ours."""
    return line.seconds(MULTIVARIATE) / line.seconds(OURS)
