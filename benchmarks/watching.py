"""How often does the watch on a guarantee raise a false alarm, and how soon does it find a drop?

All runs bet on the outcomes of predicted positives, and are looked at after every outcome.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

from benchmarks.context import Context
from benchmarks.report import Column, Record, Section, Table
from metricwise.decisions.betting import N_BETS, new_stake, payoffs, settle, wealth
from metricwise.decisions.score_reference import ScoreReference, ScoreWatch

BOUND, DROPPED, ALPHA, POWER = 0.9, 0.8, 0.05, 0.8
RUNS, QUICK_RUNS = 1000, 50
N_KEPT, N_DROPPED = 5000, 3000  # outcomes without a drop, and after one
CHANGES = (0, 1000)  # outcomes before the drop

Outcomes = NDArray[np.bool_]
Found = NDArray[np.int64]

COLUMNS = (
    Column("test", "test"),
    Column("false_alarms", f"false alarms in {N_KEPT} outcomes", "{:.1%}"),
    *(
        column
        for n in CHANGES
        for column in (
            Column(f"median_{n}", f"median delay, drop after {n}", "{:.0f}"),
            Column(f"slow_{n}", f"90 % delay, drop after {n}", "{:.0f}"),
            Column(f"missed_{n}", f"not found, drop after {n}", "{:.1%}"),
        )
    ),
)

SCORE_RUNS, QUICK_SCORE_RUNS, N_REFERENCE, N_SCORES = 200, 5, 500, 2000
SHIFTS = (0.0, 0.25, 0.5, 1.0)  # of normal scores, in standard deviations
SCORE_COLUMNS = (
    Column("shift", "shift of the scores", "{:g} sd"),
    Column("warned", f"warnings in {N_SCORES} scores", "{:.1%}"),
    Column("median", "median delay", "{:.0f}"),
)


@dataclass(frozen=True)
class FixedTest:
    """A binomial test of so many outcomes, and the greatest number of kept ones that is an alarm."""

    n_outcomes: int
    most_kept: int


def measure(context: Context) -> Section:
    """Count false alarms under the guarantee, and measure the delay of alarms after a drop."""
    fixed = find_fixed_test()
    runs = QUICK_RUNS if context.quick else RUNS
    tests: dict[str, Callable[[Outcomes], Found]] = {
        "GuaranteeMonitor": bet_from_every_outcome,
        "the same bets, all from the first outcome": bet_from_the_first,
        "predictable plug-in bets (aGRAPA)": bet_plug_in,
        f"binomial test once, after {fixed.n_outcomes} outcomes": lambda x: run_one_test(x, fixed),
        "binomial test after every outcome": run_test_always,
    }
    records = [_measure(name, test, runs) for name, test in tests.items()]
    section = Section("watching", "Watching a guarantee", [_describe(fixed, runs)])
    section.tables.append(Table("False alarms and delays", COLUMNS, records))
    warnings = [_count_warnings(shift, QUICK_SCORE_RUNS if context.quick else SCORE_RUNS) for shift in SHIFTS]
    section.tables.append(Table("Warnings about scores", SCORE_COLUMNS, warnings))
    if warnings[0]["warned"] > ALPHA:
        section.failures.append(f"false warnings in {warnings[0]['warned']:.1%} of the runs, limit {ALPHA:.0%}")
    if records[0]["false_alarms"] > ALPHA:
        section.failures.append(f"false alarms in {records[0]['false_alarms']:.1%} of the runs, limit {ALPHA:.0%}")
    return section


def _describe(fixed: FixedTest, runs: int) -> str:
    return (
        f"A precision of {BOUND:g} is guaranteed, and watched at a false alarm probability of {ALPHA:g} in {runs} "
        "runs, looked at after every outcome of a predicted positive. False alarms: the precision is exactly "
        f"{BOUND:g} for {N_KEPT} outcomes. Delay: outcomes from the moment at which it drops to {DROPPED:g} until the "
        f"alarm, over the runs without an alarm before; runs that raise none within {N_DROPPED} outcomes count as "
        f"longer. The binomial test with a fixed number of outcomes has the {fixed.n_outcomes} that it needs to find "
        f"this drop with probability {POWER:g}, if the whole sample is after the drop. It is looked at once, so it "
        "says nothing about what comes later. Looked at after every outcome, it is no test at that level any more. The "
        "plug-in bets are those of Waudby-Smith and Ramdas (2024), truncated at one half. The warning about scores, "
        f"which needs no labels, compares {N_SCORES} normal scores with {N_REFERENCE} of a reference, in "
        f"{SCORE_RUNS} runs."
    )


def _measure(name: str, test: Callable[[Outcomes], Found], runs: int) -> Record:
    random = np.random.default_rng(0)
    record: Record = {"test": name, "runs": runs}
    record["false_alarms"] = float(np.mean(test(random.random((runs, N_KEPT)) < BOUND) > 0))
    for n in CHANGES:
        chance = np.where(np.arange(n + N_DROPPED) < n, BOUND, DROPPED)
        found = test(random.random((runs, chance.size)) < chance)
        is_counted = (found == 0) | (found > n)
        delay = np.where(found == 0, np.inf, found - n)[is_counted]
        median, slow = np.quantile(delay, [0.5, 0.9], method="inverted_cdf")
        record[f"missed_{n}"] = float(np.mean(np.isinf(delay)))
        record[f"median_{n}"] = float(median) if np.isfinite(median) else "never"
        record[f"slow_{n}"] = float(slow) if np.isfinite(slow) else "never"
    return record


def _count_warnings(shift: float, runs: int) -> Record:
    """Compare scores, shifted by so many standard deviations, with references of their own."""
    random = np.random.default_rng(1)
    delays = []
    for _ in range(runs):
        reference = ScoreReference.count(random.normal(size=N_REFERENCE), random.normal(size=N_REFERENCE))
        assert reference is not None
        watch = ScoreWatch.start(reference, ALPHA)
        watch.update(random.normal(shift, 1.0, size=N_SCORES))
        delays.append(np.inf if watch.warning_at is None else watch.warning_at)
    median = float(np.quantile(delays, 0.5, method="inverted_cdf"))
    warned = float(np.mean(np.isfinite(delays)))
    return {"shift": shift, "runs": runs, "warned": warned, "median": median if np.isfinite(median) else "never"}


# ------------------------------------------------------------------ tests: the outcome of the first alarm, 0 if none


def bet_from_every_outcome(kept: Outcomes) -> Found:
    """Bet as `GuaranteeMonitor` does, all runs at once."""
    factors, stakes = payoffs(BOUND), np.zeros((len(kept), N_BETS))
    alarm = np.zeros(len(kept), dtype=np.int64)
    for n, outcome in enumerate(kept.T):
        stakes = settle(stakes, new_stake(n), factors[outcome.astype(np.int64)])
        alarm[(alarm == 0) & (wealth(stakes, n + 1) >= 1.0 / ALPHA)] = n + 1
    return alarm


def bet_from_the_first(kept: Outcomes) -> Found:
    """Bet with the same sizes, and the whole capital from the first outcome."""
    logs = np.log(payoffs(BOUND))
    n_kept, n_outcomes = np.cumsum(kept, axis=1), np.arange(1, kept.shape[1] + 1)
    total = np.full(kept.shape, -np.inf)
    for failed, passed in logs.T:  # one by one, to hold one matrix at a time
        total = np.logaddexp(total, n_kept * passed + (n_outcomes - n_kept) * failed)
    return _first(total - np.log(N_BETS) >= -np.log(ALPHA))


def bet_plug_in(kept: Outcomes) -> Found:
    """Bet with the size that was best for mean and variance so far (aGRAPA)."""
    n_before = np.arange(1, kept.shape[1] + 1)
    before = 0.5 + np.cumsum(kept, axis=1) - kept
    mean = before / n_before
    after = (0.5 + np.cumsum(kept, axis=1)) / (n_before + 1)
    squares = (kept - after) ** 2
    variance = (0.25 + np.cumsum(squares, axis=1) - squares) / n_before
    sizes = np.clip((BOUND - mean) / (variance + (BOUND - mean) ** 2), 0.0, 0.5 / (1.0 - BOUND))
    return _first(np.cumsum(np.log1p(sizes * (BOUND - kept)), axis=1) >= -np.log(ALPHA))


def run_one_test(kept: Outcomes, fixed: FixedTest) -> Found:
    """Test the first outcomes once."""
    is_alarm = kept[:, : fixed.n_outcomes].sum(axis=1) <= fixed.most_kept
    return np.where(is_alarm, fixed.n_outcomes, 0)


def run_test_always(kept: Outcomes) -> Found:
    """Test all outcomes so far after every outcome, as if each were the only test."""
    numbers = np.arange(1, kept.shape[1] + 1)
    limits = binom.ppf(ALPHA, numbers, BOUND)
    limits = np.where(binom.cdf(limits, numbers, BOUND) <= ALPHA, limits, limits - 1)
    return _first(np.cumsum(kept, axis=1) <= limits)


def find_fixed_test() -> FixedTest:
    """Return the binomial test of the fewest outcomes that finds the drop with the wanted probability."""
    n = 1
    while True:
        most = int(binom.ppf(ALPHA, n, BOUND))
        most -= binom.cdf(most, n, BOUND) > ALPHA
        if most >= 0 and binom.cdf(most, n, DROPPED) >= POWER:
            return FixedTest(n, most)
        n += 1


def _first(is_alarm: NDArray[np.bool_]) -> Found:
    return np.where(is_alarm.any(axis=1), np.argmax(is_alarm, axis=1) + 1, 0)
