"""Minimisation of a convex function along a line, where values cost a sort but no product with the data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from metricwise._typing import Floats
from metricwise.designs import Design
from metricwise.oracles import Labelling
from metricwise.solvers.problem import MultivariateProblem

_MOST_TRIALS = 20


class Trial(NamedTuple):
    """The objective at a step along the line, its slope there, and the labelling that gave both."""

    step: float
    value: float
    slope: float
    labelling: Labelling


@dataclass(frozen=True)
class Line:
    """The points w + t (target - w), given by their scores and three inner products."""

    scores: Floats
    towards: Floats
    square: float
    mixed: float
    target_square: float

    @staticmethod
    def between(design: Design, start: tuple[Floats, Floats], target: tuple[Floats, Floats]) -> Line:
        """Make the line from the start (t = 0) to the target (t = 1), both weights with their scores."""
        (w, scores), change = start, target[0] - start[0]
        covector = design.covector(change)
        square = float(w @ design.covector(w))
        return Line(scores, target[1] - scores, square, float(w @ covector), float(change @ covector))

    def scores_at(self, step: float) -> Floats:
        return self.scores + step * self.towards

    def trial(self, problem: MultivariateProblem, step: float, labelling: Labelling | None = None) -> Trial:
        """Evaluate the objective at a step; a labelling already known for that point saves the oracle's work."""
        if labelling is None:
            labelling = problem.oracle.violate(self.scores_at(step))
        half_norm = 0.5 * self.square + step * self.mixed + 0.5 * step * step * self.target_square
        slope = self.mixed + step * self.target_square + problem.cost * labelling.slope(self.towards)
        return Trial(step, half_norm + problem.cost * labelling.value, slope, labelling)


def minimise_along(
    problem: MultivariateProblem, line: Line, start: Trial, guess: float, enough: float, flat: float = 0.0
) -> Trial:
    """Return the best trial at or beyond ``start`` (t = 0), within about ``enough`` of the line's minimum.

    A trial where the slope is no more than the share ``flat`` of the slope at the start ends the search too.

    Every trial bounds the objective from below by a parabola with the curvature of the regulariser. The next trial is
    where the larger one of the two innermost trials' parabolas is least, kept away from both ends so that the bracket
    shrinks.
    """
    left, right, best = start, None, start
    step = guess
    for _ in range(_MOST_TRIALS):
        trial = line.trial(problem, step)
        if trial.value < best.value:
            best = trial
        if trial.slope >= 0.0:
            right = trial
        else:
            left = trial
        if abs(trial.slope) <= flat * abs(start.slope):
            break
        if right is None:
            step = 2.0 * left.step if left.step > 0.0 else step
            continue
        step, floor = _lowest(left, right, line.target_square)
        if best.value - floor <= enough:
            break
        margin = 0.1 * (right.step - left.step)
        step = min(max(step, left.step + margin), right.step - margin)
        if not left.step < step < right.step:
            break
    return best


def _lowest(left: Trial, right: Trial, curvature: float) -> tuple[float, float]:
    """Return where the larger of the lower bounds of two trials is least, and its height there.

    That is where the parabolas cross, unless one of them has its vertex on the part where it is the larger one.
    """
    # Both parabolas have the same curvature, so their difference is linear in the step.
    offset = left.value - left.slope * left.step + 0.5 * curvature * left.step * left.step
    offset -= right.value - right.slope * right.step + 0.5 * curvature * right.step * right.step
    lean = (left.slope - curvature * left.step) - (right.slope - curvature * right.step)
    step = -offset / lean if lean != 0.0 else 0.5 * (left.step + right.step)
    step = min(max(step, left.step), right.step)
    if curvature > 0.0:
        step = min(step, left.step - left.slope / curvature)
        step = max(step, right.step - right.slope / curvature)
    height = max(_parabola(trial, step, curvature) for trial in (left, right))
    return step, height


def _parabola(trial: Trial, step: float, curvature: float) -> float:
    ahead = step - trial.step
    return trial.value + trial.slope * ahead + 0.5 * curvature * ahead * ahead
