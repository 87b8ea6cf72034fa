"""Sentences about the results, computed from the numbers, and compared with the paper's statements."""

from __future__ import annotations

import statistics
from typing import Any

import numpy as np

from benchmarks.papers.wang2015.methods import CPSP, JSCHP, LINEAR, METHODS, PLUG_IN, TITLES
from benchmarks.papers.wang2015.problems import ACTIONS
from benchmarks.papers.wang2015.sensitivity import MIDDLE, PARAMETERS
from benchmarks.papers.wang2015.summary import LEVEL, Case, cases, curve, mean_ranks, seconds, tally

Record = dict[str, Any]

MEASURE_TITLES = {"f1": "F1", "prbep": "PRBEP", "roc_auc": "AUC"}
OTHERS = [method for method in METHODS if method != JSCHP]
_OUR_ADDITIONS = (LINEAR, PLUG_IN)
_CLEAR = 0.8  # rank correlation from which a trend counts as clear


def remarks(found: Record) -> list[str]:
    """Return sentences about the record."""
    some = cases(found)
    sentences = [_wins(some), _losses(some), _against(some), _ranks(some), _of_the_paper(some), _areas(some)]
    return [sentence for sentence in [*sentences, *_actions(some), _trends(found), _times(some)] if sentence]


def _agrees(true: bool) -> str:
    return "This agrees with the paper" if true else "This does not agree with the paper"


def _case(case: Case) -> str:
    return f"{case.title}, {MEASURE_TITLES[case.measure]}"


def _listed(methods: list[str]) -> str:
    return " and ".join(TITLES[method] for method in methods)


def _wins(some: list[Case]) -> str:
    won = [case for case in some if case.best == [JSCHP]]
    shared = [case for case in some if JSCHP in case.best and len(case.best) > 1]
    sentence = (
        f"**Best method.** JSCHP alone has the best average in {len(won)} of {len(some)} cases of data and measure"
    )
    sentence += f" ({'; '.join(_case(case) for case in won)})" if won else ""
    sentence += f", and shares it in {len(shared)}" if shared else ""
    others = {method: sum(case.best == [method] for case in some) for method in OTHERS}
    winners = [f"{TITLES[method]} in {count}" for method, count in others.items() if count]
    sentence += f". Other methods alone have it: {', '.join(winners) or 'none'}."
    return f"{sentence} {_agrees(2 * len(won) > len(some))}, in which JSCHP is ahead in most cases."


def _losses(some: list[Case]) -> str:
    parts = [
        f"{_case(case)}: {_listed(case.best)} ({case.mean(case.best[0]):.3f}, JSCHP {case.mean(JSCHP):.3f})"
        for case in some
        if JSCHP not in case.best
    ]
    return f"**Where JSCHP does not win**, the best are: {'; '.join(parts)}." if parts else ""


def _against(some: list[Case]) -> str:
    parts = []
    for other in OTHERS:
        result = tally(some, other)
        parts.append(
            f"{TITLES[other]} {result.won} / {result.tied} / {result.lost} ({result.difference:+.3f} on average)"
        )
    return (
        f"Compared with each other method by a Wilcoxon signed-rank test over folds at the level {LEVEL:.0%}, JSCHP is "
        f"significantly better / not different / significantly worse in this many cases: {'; '.join(parts)}. Folds "
        "share training samples, and no correction was made for the number of tests."
    )


def _ranks(some: list[Case]) -> str:
    ranks = mean_ranks(some)
    position = list(ranks).index(JSCHP) + 1
    absent = [method for method in METHODS if method not in ranks]
    sentence = (
        f"**Mean ranks** over folds and cases, 1 the best: "
        f"{', '.join(f'{TITLES[method]} {rank:.2f}' for method, rank in ranks.items())}. JSCHP is number {position} of "
        f"{len(ranks)}."
    )
    if absent:
        without = [case for case in some if all(method in case.values for method in absent)]
        with_all = mean_ranks(without)
        sentence += (
            f" {_listed(absent)} cannot be trained for every measure; in the {len(without)} cases that include it, "
            f"the ranks are {', '.join(f'{TITLES[method]} {rank:.2f}' for method, rank in with_all.items())}."
        )
    return sentence


def _of_the_paper(some: list[Case]) -> str:
    """Compare the order of the paper's other methods: CPSP last."""
    last = sum(
        case.mean(CPSP) < min(case.mean(m) for m in case.methods if m not in (CPSP, JSCHP, *_OUR_ADDITIONS))
        for case in some
    )
    return (
        f"CPSP is the last of the paper's four other methods in {last} of {len(some)} cases. "
        f"{_agrees(2 * last > len(some))}, which finds the other three comparable and CPSP behind them."
    )


def _areas(some: list[Case]) -> str:
    by_name: dict[str, dict[str, Case]] = {}
    for case in some:
        by_name.setdefault(case.name, {})[case.measure] = case
    higher = [
        measures["roc_auc"].mean(JSCHP) > max(measures["f1"].mean(JSCHP), measures["prbep"].mean(JSCHP))
        for measures in by_name.values()
    ]
    return (
        f"AUC of JSCHP is above its F1 and PRBEP on {sum(higher)} of {len(higher)} data sets. {_agrees(all(higher))}."
    )


def _actions(some: list[Case]) -> list[str]:
    """Compare F1 on the actions with the paper's statement about medians and quartiles."""
    case = next((case for case in some if case.name == ACTIONS and case.measure == "f1"), None)
    if case is None:
        return []
    median = statistics.median(case.values[JSCHP])
    quartiles = {method: float(np.quantile(case.values[method], 0.75)) for method in case.methods if method != JSCHP}
    below = [method for method, quartile in quartiles.items() if quartile < median]
    agrees = all(method in below for method in quartiles if method not in _OUR_ADDITIONS)
    return [
        f"On the actions the median F1 of JSCHP is {median:.3f}; it is above the upper quartile of {len(below)} of the "
        f"{len(quartiles)} others. {_agrees(agrees)}, in which it is above those of all it is compared with."
    ]


def _trends(found: Record) -> str:
    parts = []
    for parameter in PARAMETERS:
        by_problem = []
        for record in found["problems"]:
            line = curve(found, record["name"], parameter, MIDDLE)
            by_problem.append(
                f"{record['title']} {_direction(line.trend)} (from {line.values[0]:.3f} to "
                f"{line.values[-1]:.3f}, span {line.span:.3f})"
            )
        parts.append(f"{parameter}: {', '.join(by_problem)}")
    return (
        f"**Sensitivity.** F1 with one growing parameter, all others being {MIDDLE:g}. {'. '.join(parts)}. The paper "
        "finds that F1 rises with C1 and with C3, and depends little on C2."
    )


def _direction(trend: float) -> str:
    if abs(trend) < _CLEAR:
        return "no clear trend"
    return "rises" if trend > 0.0 else "falls"


def _times(some: list[Case]) -> str:
    mine = [case for case in some if case.name == ACTIONS] or some
    taken = {method: seconds(mine, method) for method in METHODS}
    ordered = sorted(taken, key=lambda method: taken[method])
    faster = [TITLES[method] for method in ordered if taken[method] < taken[JSCHP]]
    of_paper = all(taken[JSCHP] < taken[method] for method in METHODS if method not in (JSCHP, *_OUR_ADDITIONS))
    return (
        f"**Time.** Median seconds of training on {mine[0].title}: "
        f"{', '.join(f'{TITLES[method]} {taken[method]:.3f}' for method in ordered)}. Faster than JSCHP: "
        f"{', '.join(faster) or 'none'}. {_agrees(of_paper)}, in which JSCHP is the fastest."
    )
