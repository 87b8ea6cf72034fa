"""The time budget of MetricClassifier is kept, the final training included."""

from __future__ import annotations

import re
import threading
import time

import joblib
import numpy as np
import pytest
import sklearn
import threadpoolctl
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

from metricwise import MetricClassifier
from metricwise.estimators.selection.candidate_run import CandidateRun
from metricwise.estimators.selection.candidates.candidate import Candidate
from metricwise.estimators.selection.clock import Clock, OutOfTimeError, run_within
from metricwise.estimators.selection.schedule import Schedule

X, Y = make_classification(4800, 8, n_informative=4, weights=[0.85], random_state=0)


class Slow(LogisticRegression):
    """A learner that takes a time of its own if it has more than some samples: in Python, as a loop over trees does."""

    def __init__(self, C=1.0, seconds_per_sample=0.0, seconds=0.0, from_samples=0):
        super().__init__(C=C)
        self.seconds_per_sample = seconds_per_sample
        self.seconds = seconds
        self.from_samples = from_samples

    def fit(self, X, y, sample_weight=None):
        if len(y) >= self.from_samples:
            end = time.perf_counter() + self.seconds + self.seconds_per_sample * len(y)
            while time.perf_counter() < end:
                time.sleep(1e-3)
        return super().fit(X, y, sample_weight)


class SlowAtLast(LogisticRegression):
    """A learner that is fast on the samples of folds of the first two rungs, and slow on any others."""

    def fit(self, X, y, sample_weight=None):
        if not any(abs(len(y) - size) <= 2 for size in (167, 667)):
            Slow(seconds=30.0).fit(X, y)
        return super().fit(X, y, sample_weight)


def fit_within(budget, **candidates):
    started = time.perf_counter()
    model = MetricClassifier("f1", candidates=candidates, time_budget=budget).fit(X, Y)
    return model, time.perf_counter() - started


def is_kept(budget, seconds):
    """Return whether a budget was kept, up to the time of the least that is done: one candidate on the first rung."""
    _, least = fit_within(1e-3, bayes=GaussianNB())
    return seconds <= 1.1 * budget + least


@pytest.fixture(autouse=True, scope="module")
def warm_up():
    """Load what the first fit of a process loads."""
    fit_within(1e-3, linear=LogisticRegression())


def describe(model, name):
    return model.leaderboard_.set_index("candidate").loc[name]


def test_a_time_budget_is_kept_by_many_slow_candidates():
    # Without a budget, the first rung takes six seconds, and the others as long.
    learners = {f"slow {k}": Slow(C=1.0 + k, seconds_per_sample=1e-4) for k in range(20)}
    model, seconds = fit_within(2.0, **learners)
    assert is_kept(2.0, seconds)
    assert model.leaderboard_["why_dropped"].str.contains("more time than is left").any()
    assert model.predict(X).shape == Y.shape


def test_a_candidate_that_takes_longer_than_expected_is_stopped():
    threads = threading.active_count()
    model, seconds = fit_within(2.0, fast=GaussianNB(), slow=Slow(seconds=30.0, from_samples=600))
    assert is_kept(2.0, seconds)
    assert "more time than" in describe(model, "slow")["why_dropped"]
    assert describe(model, "slow")["n_samples"] <= 250
    deadline = time.perf_counter() + 5.0
    while threading.active_count() > threads and time.perf_counter() < deadline:
        time.sleep(0.01)
    assert threading.active_count() <= threads  # the training has ended, too


def test_a_slow_candidate_leaves_time_to_the_others_on_the_first_rung():
    model, seconds = fit_within(2.0, fast=GaussianNB(), slow=Slow(seconds=30.0), linear=LogisticRegression())
    assert is_kept(2.0, seconds)
    assert describe(model, "slow")["n_samples"] == 0
    assert describe(model, "slow")["seconds"] < 1.0  # the share of the first rung


def test_fold_models_replace_a_final_training_that_does_not_finish():
    model, seconds = fit_within(2.0, slow=SlowAtLast())
    assert is_kept(2.0, seconds)
    assert len(model.best_estimator_) == 3 and model.weights_ == pytest.approx(np.full(3, 1.0 / 3.0))
    assert model.score(X, Y) > 0.5
    assert re.search(r"There was time to train on \d+ of 4800 samples", model.explain())


def test_every_learner_comes_before_further_settings_of_one():
    lines = []

    def stop_at_two(text):
        lines.append(text)
        return len(lines) == 2

    MetricClassifier("f1", candidates=["logistic", "extra_trees"], time_budget=60.0, callback=stop_at_two).fit(X, Y)
    assert [line.split(": ")[1].split(" {")[0] for line in lines] == ["logistic regression", "extra trees"]


def test_as_many_samples_as_there_is_time_for_are_trained_on():
    # The last rung takes 15 seconds, and the final training five: half of the samples are possible.
    model, seconds = fit_within(4.0, slow=Slow(seconds_per_sample=1e-3))
    assert is_kept(4.0, seconds)
    found = re.search(r"There was time to train on (\d+) of 4800 samples", model.explain())
    assert found is not None and int(found[1]) <= 2400
    assert model.leaderboard_["n_samples"].max() <= 1000


def test_tight_budgets_give_a_model_and_intervals():
    model, _ = fit_within(1e-3, linear=LogisticRegression(), bayes=GaussianNB())
    assert model.predict(X).shape == Y.shape
    assert "nan" not in model.explain()
    trained = model.leaderboard_.query("n_samples > 0")
    assert len(trained) == 1 and trained[["value", "low", "high"]].notna().all(axis=None)


def test_a_guarantee_and_its_test_fit_in_the_time_budget():
    started = time.perf_counter()
    learners = {f"slow {k}": Slow(C=1.0 + k, seconds_per_sample=1e-4) for k in range(9)}
    model = MetricClassifier("f1", candidates=learners, subject_to="recall>=0.3", time_budget=2.0).fit(X, Y)
    assert is_kept(2.0, time.perf_counter() - started)
    assert "Guaranteed" in model.explain()


# ------------------------------------------------------------------------------------------------------------ parts


def test_functions_that_finish_return_or_raise():
    assert run_within(10.0, lambda: "done") == run_within(np.inf, lambda: "done") == "done"
    with pytest.raises(ZeroDivisionError):
        run_within(10.0, lambda: 1 / 0)
    with pytest.raises(TimeoutError, match="of its own"):
        run_within(10.0, raise_timeout)
    with pytest.raises(OutOfTimeError):
        run_within(0.0, lambda: "done")


def raise_timeout():
    raise TimeoutError("of its own")


def test_functions_that_swallow_errors_are_stopped():
    ended = threading.Event()

    def try_again():
        try:
            while True:
                try:
                    time.sleep(1e-3)
                except Exception:
                    continue
        finally:
            ended.set()

    with pytest.raises(OutOfTimeError):
        run_within(0.05, try_again)
    assert ended.wait(5.0)


def test_functions_have_the_settings_of_the_caller():
    with sklearn.config_context(assume_finite=True), np.errstate(divide="raise"):
        assert run_within(10.0, sklearn.get_config)["assume_finite"]
        with pytest.raises(FloatingPointError):
            run_within(10.0, lambda: np.ones(1) / 0.0)

    def count_jobs():
        return joblib.Parallel().n_jobs, type(joblib.Parallel()._backend)

    with joblib.parallel_config("threading", n_jobs=2):
        assert run_within(10.0, count_jobs) == count_jobs()
    assert run_within(10.0, count_jobs) == count_jobs()


def test_limits_of_threads_end_with_the_function():
    def count_threads(user_api="blas"):
        return {one["num_threads"] for one in threadpoolctl.threadpool_info() if one["user_api"] == user_api}

    before = count_threads()
    assert run_within(10.0, count_threads, n_threads=1) == {1}
    with pytest.raises(OutOfTimeError):
        run_within(0.02, lambda: time.sleep(0.5), n_threads=1)
    assert count_threads() == before


def make_run(n_samples=1000, seconds=1.0, **settings):
    run = CandidateRun(Candidate("learner", None, **settings))
    run.record_time(3.0 * seconds, 3, n_samples)
    run.trained_share = 1.0  # a final training takes as long as that of a fold, for round numbers
    return run


def test_what_would_not_finish_does_not_start():
    schedule = Schedule(Clock(10.0))
    assert not schedule.is_too_slow(make_run(seconds=0.5), 4000, 3)  # 1.25 s per training, and four of them
    assert schedule.is_too_slow(make_run(seconds=1.0), 4000, 3)
    assert schedule.final_limit([make_run(seconds=0.1)], 1000, 1_000_000, 3) is None
    assert schedule.final_limit([make_run(seconds=0.1)], 1000, 4000, 3) == pytest.approx(9.5, abs=0.1)
    assert not Schedule(Clock(None)).is_too_slow(make_run(seconds=1e6), 4000, 3)


def test_time_is_kept_back_for_what_comes_later():
    schedule = Schedule(Clock(10.0), judged_samples=1000, decision_seconds=0.1, judging_seconds=0.5)
    run, done = make_run(seconds=0.5), make_run(4000, seconds=2.0)
    left = 10.0 - 1.2 * 10 * 0.175 - 0.5 - 0.875  # thresholds at last, what is spare, and judging this run
    assert schedule.limit([run], run, 4000, 3) == pytest.approx(left * 3 / 4, abs=0.1)
    assert schedule.limit([run, done], run, 4000, 3) == pytest.approx(left - 1.2 * 2.0, abs=0.1)
    testing = Schedule(Clock(10.0), n_testing=1000)
    run.scoring_seconds = 1e-3
    assert testing.finishing_seconds([run], 4000, 3) == pytest.approx(1.2 * 3.0 + 0.5)


def test_time_is_kept_back_for_training_on_more_samples_than_those_of_a_rung():
    run = make_run(seconds=0.1)
    part, whole = (Schedule(Clock(10.0), n_samples=size).limit([run], run, 4000, 9) for size in (100_000, 4000))
    assert part == pytest.approx(9.5 - 2.5, abs=0.1)
    assert whole == pytest.approx(9.5 * 9 / 10, abs=0.1)


def test_the_time_of_a_training_is_known_from_the_last_one():
    run = make_run(seconds=0.1, last_cost=2.0)
    run.record_final_time(1.0, 9000)
    assert run.estimate_final_seconds(9000) == pytest.approx(1.0)
    assert run.n_samples == 1000  # those that the candidate was compared on


def test_a_final_training_has_more_samples_than_that_of_a_fold():
    for n_folds, share in ((2, 1 / 2), (5, 4 / 5)):
        run = CandidateRun(Candidate("learner", None))
        run.record_time(n_folds * 1.0, n_folds, 10**6)
        assert run.estimate_seconds(10**6) == 1.0
        assert run.estimate_final_seconds(10**6) == pytest.approx(1.0 / share, rel=1e-2)


def test_threads_are_used_for_many_samples_on_a_quiet_machine(monkeypatch):
    monkeypatch.setattr("metricwise.estimators.selection.schedule.available_cores", lambda: 4)
    for budget, free, expected in [(10.0, 4, None), (None, 4, None), (10.0, 3, 3), (None, 1, 1)]:
        monkeypatch.setattr("metricwise.estimators.selection.schedule.count_free_cores", lambda free=free: free)
        assert Schedule(Clock(budget)).n_threads(100_000) == expected
        assert Schedule(Clock(budget)).n_threads(1000) == 1


def test_folds_side_by_side_take_less_time(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    monkeypatch.setattr(joblib, "cpu_count", lambda: 2)
    alone, together = (Schedule(Clock(10.0), n_jobs=n_jobs) for n_jobs in (1, None))
    assert (alone.count_rounds(1000, 5), together.count_rounds(1000, 5)) == (5, 3)
    assert together.count_rounds(100_000, 5) == 5  # each of them has all threads
    assert alone.is_too_slow(make_run(seconds=1.0), 4000, 3)
    assert not together.is_too_slow(make_run(seconds=1.0), 4000, 3)
