"""Bets against guarantees: exact supermartingales, valid intervals, and monitors that do not depend on batches."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import metricwise as mw
from metricwise.decisions.betting import (
    N_BETS,
    interval,
    lower_limit,
    new_stake,
    payoffs,
    settle,
    unstaked_share,
    wealth,
)
from metricwise.decisions.score_reference import ScoreReference, ScoreWatch

BOUNDS = (0.9, 0.5, 0.05, 0.999, 1.0 - 0.05, 1 / 3)


def _exact(values: Any) -> Any:
    return np.array([Fraction(float(one)) for one in np.ravel(values)], dtype=object)


@pytest.mark.parametrize("bound", [*BOUNDS, 1e-9, 1.0 - 1e-9, 0.1, 0.7])
def test_no_bet_gains_on_average_in_exact_arithmetic(bound: float) -> None:
    failed, kept = map(_exact, payoffs(bound))
    q = Fraction(bound)
    assert all(q * one + (1 - q) * other <= 1 for one, other in zip(kept, failed, strict=True))
    # The more probable a kept outcome, the less is gained; and no bet can lose everything.
    assert np.all(kept < failed) and np.all(kept > 0)


@pytest.mark.parametrize("n", [0, 1, 2, 7, 1000, 10**7])
def test_new_stakes_are_paid_from_what_is_not_staked(n: int) -> None:
    before, after = Fraction(unstaked_share(n)), Fraction(unstaked_share(n + 1))
    assert 0 < N_BETS * Fraction(new_stake(n)) <= before - after


@pytest.mark.parametrize(("bound", "length"), [(0.9, 12), *((bound, 8) for bound in BOUNDS[1:])])
@pytest.mark.parametrize("above", ["at the bound", "above the bound"])
def test_the_stopped_wealth_of_all_sequences_is_at_most_one_on_average(bound: float, length: int, above: str) -> None:
    """Enumerate all outcomes up to a length by the arithmetic of the library, in exact fractions."""
    failed, kept = map(_exact, payoffs(bound))
    q = Fraction(bound)
    p = q if above == "at the bound" else (1 + q) / 2
    limit = 2  # a low 1 / alpha, so that some sequences stop early

    def expect(stakes: Any, n: int, left: int) -> Fraction:
        total: Fraction = sum(stakes, Fraction(unstaked_share(n)))
        if left == 0 or total >= limit:
            return total
        stake = Fraction(new_stake(n))
        gained, lost = (expect((stakes + stake) * factors, n + 1, left - 1) for factors in (failed, kept))
        return (1 - p) * gained + p * lost

    found = expect(np.array([Fraction(0)] * N_BETS), 0, length)
    assert Fraction(1, 10) < found <= 1


@pytest.mark.parametrize("rule", ["own", "plug-in", "all in"])
@pytest.mark.parametrize("bound", BOUNDS)
def test_all_sequences_of_twelve_outcomes(bound: float, rule: str) -> None:
    """The same in doubles, to length 12, and for other predictable bets: the enumeration knows a fair game."""
    outcomes = (np.arange(2**12)[:, None] >> np.arange(12)) & 1 == 1
    found = {"own": _own_wealth, "plug-in": _plug_in_wealth, "all in": _all_in_wealth}[rule](outcomes, bound)
    for alpha in (0.7, 0.3, 0.05):
        stop = np.where((found >= 1.0 / alpha).any(axis=1), np.argmax(found >= 1.0 / alpha, axis=1), 11)
        chance = np.prod(np.where(outcomes, bound, 1.0 - bound), axis=1)
        stopped = found[np.arange(len(found)), stop]
        assert chance @ stopped <= 1.0 + 1e-9
        assert chance @ (stopped >= 1.0 / alpha) <= alpha + 1e-9


def _own_wealth(outcomes: Any, bound: float) -> Any:
    factors, stakes = payoffs(bound), np.zeros((len(outcomes), N_BETS))
    course = []
    for n, kept in enumerate(outcomes.T):
        stakes = settle(stakes, new_stake(n), factors[kept.astype(int)])
        course.append(wealth(stakes, n + 1))
    return np.column_stack(course)


def _plug_in_wealth(outcomes: Any, bound: float) -> Any:
    before = np.cumsum(outcomes, axis=1) - outcomes
    mean = (before + 0.5) / (np.arange(outcomes.shape[1]) + 1.0)
    sizes = np.clip((bound - mean) / (bound * (1.0 - bound)), 0.0, 0.5 / (1.0 - bound))
    return np.cumprod(1.0 + sizes * (bound - outcomes), axis=1)


def _all_in_wealth(outcomes: Any, bound: float) -> Any:
    return np.cumprod(1.0 + (bound - outcomes) / (1.0 - bound), axis=1)


def test_the_enumeration_notices_bets_that_look_ahead() -> None:
    outcomes = (np.arange(2**12)[:, None] >> np.arange(12)) & 1 == 1
    sizes = np.where(outcomes, 0.0, 0.5)  # known before the outcome
    found = np.cumprod(1.0 + sizes * (0.9 - outcomes), axis=1)[:, -1]
    assert np.prod(np.where(outcomes, 0.9, 0.1), axis=1) @ found > 1.05


def test_false_alarms_and_false_intervals_are_rare() -> None:
    random = np.random.default_rng(0)
    n_runs, n, alpha = 400, 500, 0.1
    outcomes = random.random((n_runs, n)) < 0.9
    assert np.mean((_own_wealth(outcomes, 0.9) >= 1.0 / alpha).any(axis=1)) <= alpha
    # Intervals are of the average, which moves here.
    chances = np.where(np.arange(n) < 200, 0.95, 0.7)
    outcomes = random.random((n_runs, n)) < chances
    numbers = np.arange(1, n + 1)[::19]
    counts, average = np.cumsum(outcomes, axis=1)[:, ::19], (np.cumsum(chances) / np.arange(1, n + 1))[::19]
    low, high = interval(counts, numbers, alpha)
    assert np.mean(((low > average) | (high < average)).any(axis=1)) <= alpha
    assert np.max(high[:, -1] - low[:, -1]) < 0.2


def test_limits_are_the_roots_of_the_mixture() -> None:
    tilts = [4.0 * 0.5**k for k in range(12)]
    for count, n in ((3, 10), (90, 100), (999, 1000)):
        low = float(lower_limit(count, n, 0.05))
        value = np.mean([np.exp(d * count - n * np.log(1.0 - low + low * np.exp(d))) for d in tilts])
        assert value == pytest.approx(20.0, rel=1e-6)
    assert lower_limit([0, 0], [0, 50], 0.05).tolist() == [0.0, 0.0]
    ends = interval([0, 5], [5, 5], 0.05)
    assert ends[0][0] == 0.0 and ends[1][1] == 1.0


def test_false_warnings_about_scores_are_rare_and_changes_are_found() -> None:
    random = np.random.default_rng(1)
    warned = found = 0
    for _ in range(40):
        reference = ScoreReference.count(random.normal(size=300), random.normal(size=200))
        assert reference is not None
        same, shifted = (ScoreWatch.start(reference, 0.1) for _ in range(2))
        same.update(random.normal(size=400))
        shifted.update(random.normal(0.7, 1.0, size=400))
        warned, found = warned + (same.warning_at is not None), found + (shifted.warning_at is not None)
    assert warned <= 4 and found >= 35


labels = st.lists(st.tuples(st.booleans(), st.booleans()), max_size=40)
GUARANTEES = ["precision>=0.7", "recall>=0.6", "false_positive_rate<=0.3", "accuracy>=0.8"]


def _state(monitor: mw.GuaranteeMonitor) -> Any:
    return (
        monitor.n_seen,
        monitor.alarm,
        monitor.status,
        [np.array(one).tolist() for one in monitor.history()],
    )


def _feed(monitor: mw.GuaranteeMonitor, rows: list[tuple[bool, bool]], between: Callable[[Any], Any]) -> Any:
    for row in rows:
        monitor = between(monitor.update(*row))
    return monitor


@settings(max_examples=20, deadline=None)
@given(labels, st.integers(0, 40))
def test_batches_do_not_matter(rows: list[tuple[bool, bool]], cut: int) -> None:
    truth, predicted = (np.array([row[k] for row in rows], dtype=bool) for k in range(2))
    whole = mw.GuaranteeMonitor(GUARANTEES).update(truth, predicted)
    parts = mw.GuaranteeMonitor(GUARANTEES).update(truth[:cut], predicted[:cut]).update(truth[cut:], predicted[cut:])
    single = _feed(mw.GuaranteeMonitor(GUARANTEES), rows, lambda monitor: monitor)
    assert repr(_state(whole)) == repr(_state(parts)) == repr(_state(single))


@settings(max_examples=10, deadline=None)
@given(labels)
def test_a_stored_monitor_goes_on_identically(rows: list[tuple[bool, bool]]) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder, "monitor.mw")

        def store(monitor: mw.GuaranteeMonitor) -> Any:
            if monitor.n_seen % 10 == 3:
                mw.save(monitor, path)
                return mw.load(path)
            return monitor

        kept, stored = mw.GuaranteeMonitor(GUARANTEES), mw.GuaranteeMonitor(GUARANTEES)
        found = [_feed(kept, rows, lambda monitor: monitor), _feed(stored, rows, store)]
    assert repr(_state(found[0])) == repr(_state(found[1]))


@settings(max_examples=20, deadline=None)
@given(st.lists(st.booleans(), min_size=1, max_size=60))
def test_a_bound_from_above_mirrors_one_from_below(rows: list[bool]) -> None:
    x, ones = np.array(rows), np.ones(len(rows), dtype=bool)
    precise = mw.GuaranteeMonitor("precision>=0.75").update(x, ones).status[0]
    rate = mw.GuaranteeMonitor("false_positive_rate<=0.25").update(~ones, ~x).status[0]
    assert precise.wealth == rate.wealth and precise.alarm_at == rate.alarm_at
    assert precise.share == pytest.approx(1.0 - rate.share)
    assert precise.interval == pytest.approx((1.0 - rate.interval[1], 1.0 - rate.interval[0]))
