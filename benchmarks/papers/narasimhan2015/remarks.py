"""Sentences about the results, computed from the numbers."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any

from benchmarks.papers.narasimhan2015.methods import BATCHES, MULTIVARIATE, OURS, PLUG_IN
from benchmarks.papers.narasimhan2015.summary import WANTED, Line, lines, multivariate_ratio

Record = dict[str, Any]
METHOD_NAMES = {BATCHES: "mini-batches", MULTIVARIATE: "the multivariate SVM", PLUG_IN: "the plug-in method"}
Name = Callable[[Line], str]


def remarks(found: Record, name: Name) -> list[str]:
    """Return sentences about the record; ``name`` returns the name of a line."""
    drawn = list(lines(found))
    return [
        _quality(drawn, name),
        _against_plug_in(drawn),
        _speed(drawn, name),
        _whole(drawn),
        _multivariate(drawn),
        _batches(drawn),
        _untuned(drawn),
    ]


def _names(some: list[Line], name: Name) -> str:
    return "; ".join(name(line) for line in some) if some else "none"


def _quality(drawn: list[Line], name: Name) -> str:
    missed = [line for line in drawn if not line.ends_near]
    sentence = (
        f"SPADE and STAMP end within 1 % of the best value that any method reached in {len(drawn) - len(missed)} of "
        f"{len(drawn)} cases."
    )
    if missed:
        shortfalls = [f"{name(line)} ({1.0 - line.final(OURS) / line.best:.1%}{_early(line)})" for line in missed]
        sentence += f" They fall short by more on: {'; '.join(shortfalls)}."
    return sentence


def _early(line: Line) -> str:
    """Return a note if the best value is that of a run that was stopped early, and how much worse it ends."""
    method, part = line.best_at
    if method == OURS or part > 0.9:
        return ""
    loss = 1.0 - line.final(method) / line.best
    return f"; that value is of {METHOD_NAMES[method]}, after {part:.0%} of its time, and {loss:.1%} lower at its end"


def _against_plug_in(drawn: list[Line]) -> str:
    better = sum(line.final(OURS) > line.final(PLUG_IN) for line in drawn)
    return (
        f"Their final value is above that of the plug-in method in {better} of {len(drawn)} cases. The median "
        f"difference is {statistics.median(line.final(OURS) - line.final(PLUG_IN) for line in drawn):+.4f}."
    )


def _speed(drawn: list[Line], name: Name) -> str:
    both = [(line, ratio) for line in drawn if (ratio := line.times_faster()) is not None]
    slower = [line for line, ratio in both if ratio < WANTED]
    only = [line for line in drawn if line.near(OURS) is not None and line.near(PLUG_IN) is None]
    never = [line for line in drawn if line.near(OURS) is None]
    median = f"{statistics.median(ratio for _, ratio in both):.1f}" if both else "–"
    return (
        f"In {len(both)} cases both come within 1 % of the best at some time. The plug-in method's time until then, "
        f"divided by theirs, is {median} in the median; it is below {WANTED:g} on: {_names(slower, name)}. Only the "
        f"plug-in method never comes so near on: {_names(only, name)}. SPADE and STAMP never do on: "
        f"{_names(never, name)}."
    )


def _whole(drawn: list[Line]) -> str:
    ratios = [line.whole_ratio for line in drawn]
    return (
        f"From beginning to end, the plug-in method takes {min(ratios):.1f} to {max(ratios):.1f} times as long as "
        f"SPADE or STAMP, {statistics.median(ratios):.1f} times in the median."
    )


def _multivariate(drawn: list[Line]) -> str:
    ratios = [multivariate_ratio(line) for line in drawn]
    unfinished = sum(not line.ended(MULTIVARIATE) for line in drawn)
    better = sum(line.final(MULTIVARIATE) > line.final(OURS) for line in drawn)
    return (
        f"The multivariate SVM takes {statistics.median(ratios):.0f} times as long in the median, is stopped before "
        f"its end in {unfinished} cases, and has the better final value in {better} of {len(drawn)}."
    )


def _batches(drawn: list[Line]) -> str:
    ratios = [line.seconds(BATCHES) / line.seconds(OURS) for line in drawn]
    better = sum(line.final(BATCHES) > line.final(OURS) for line in drawn)
    return (
        f"Mini-batches take {statistics.median(ratios):.1f} times as long in the median, and have the better final "
        f"value in {better} of {len(drawn)} cases."
    )


def _untuned(drawn: list[Line]) -> str:
    losses = [line.final(PLUG_IN) - line.untuned for line in drawn]
    return (
        "Logistic regression that predicts positive at a probability above one half is "
        f"{statistics.median(losses):.3f} below the plug-in method in the median, and {max(losses):.3f} at most."
    )
