"""Tasks side by side in threads: their order, errors and settings, and what an interruption leaves behind."""

from __future__ import annotations

import threading
import time
import warnings
from functools import partial

import joblib
import numpy as np
import pytest
import sklearn
import threadpoolctl

from metricwise.decisions.parallel import count_side_by_side, run_in_parallel
from metricwise.estimators.selection.candidate_warnings import record_warnings
from metricwise.estimators.selection.clock import OutOfTimeError, run_within
from metricwise.progress import add_stage, show_progress
from metricwise.threads import available_cores, available_threads, blas_on_one_thread, count_free_cores, limit_threads
from metricwise.worker_threads import run_side_by_side


def count_threads(user_api):
    return {one["num_threads"] for one in threadpoolctl.threadpool_info() if one["user_api"] == user_api}


def test_tasks_run_at_the_same_time_and_answer_in_order():
    meeting, done = threading.Barrier(2), []
    tasks = [lambda number=number: (meeting.wait(5.0), number)[1] for number in range(4)]
    assert run_side_by_side(tasks, 2, done.append) == [0, 1, 2, 3]
    assert done[-1] == 4 and done == sorted(done)


def fail(number, seconds):
    time.sleep(seconds)
    raise ValueError(f"task {number} failed")


def test_the_error_is_that_of_the_first_task_and_no_other_starts():
    started = []
    tasks = [partial(fail, 1, 0.1), partial(fail, 2, 0.0), lambda: started.append(3)]
    with pytest.raises(ValueError, match="task 1 failed"):
        run_side_by_side(tasks, 2)
    assert not started


def test_tasks_have_the_settings_of_the_caller():
    def divide():
        return np.ones(1) / 0.0

    with sklearn.config_context(assume_finite=True), np.errstate(divide="raise"), limit_threads(1):
        assert all(found["assume_finite"] for found in run_side_by_side([sklearn.get_config] * 2, 2))
        with pytest.raises(FloatingPointError):
            run_side_by_side([divide] * 2, 2)
        limits = run_side_by_side([lambda: (available_threads(), count_threads("openmp"))] * 2, 2)
        assert limits == [(1, {1})] * 2
    with joblib.parallel_config(n_jobs=3):
        assert run_side_by_side([lambda: joblib.Parallel().n_jobs] * 2, 2) == [3, 3]


def test_warnings_of_tasks_are_recorded():
    with record_warnings() as found:
        run_side_by_side([lambda text=text: warnings.warn(text, stacklevel=1) for text in ("one", "two")], 2)
    assert sorted(found) == ["UserWarning: one", "UserWarning: two"]


def test_progress_of_tasks_side_by_side_is_not_mixed():
    lines = []

    def train(_):
        with show_progress("learner", 1) as outer, add_stage() as stage:
            outer.update("iteration 1")
            stage.update("pass 1")

    with show_progress("model", 0) as stage:
        stage.update("candidate")
        update = type(stage).update
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(type(stage), "update", lambda *values: (update(*values), lines.append(values[1])))
            run_in_parallel(train, [(1,), (2,)], None, n_side_by_side=2)
        assert "fold 1 of 2" in lines and "iteration 1" in lines
        assert stage.text == "candidate"


def test_a_stop_reaches_the_tasks():
    ended, running = threading.Semaphore(0), threading.Semaphore(0)

    def work():
        running.release()
        try:
            while True:
                time.sleep(1e-3)
        finally:
            ended.release()

    with pytest.raises(OutOfTimeError):
        run_within(0.2, lambda: run_side_by_side([work] * 4, 2), n_threads=1)
    assert ended.acquire(timeout=5.0) and ended.acquire(timeout=5.0)
    time.sleep(0.1)
    assert running.acquire(blocking=False) and running.acquire(blocking=False)
    assert not running.acquire(blocking=False)  # the others have not started


def test_the_limit_of_blas_lasts_until_the_last_block_has_ended():
    before, entered, leave = count_threads("blas"), threading.Event(), threading.Event()

    def hold():
        with blas_on_one_thread():
            entered.set()
            leave.wait(5.0)

    thread = threading.Thread(target=hold)
    with blas_on_one_thread():
        thread.start()
        assert entered.wait(5.0)
    assert count_threads("blas") == {1}
    leave.set()
    thread.join()
    assert count_threads("blas") == before


def test_the_lower_limit_holds():
    with limit_threads(1), limit_threads(8):
        assert available_threads() == 1 and count_threads("openmp") == {1}
    with limit_threads(None):
        assert available_threads() == available_cores()


def test_jobs_are_side_by_side_only_where_their_number_is_left_open(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(joblib, "cpu_count", lambda: 3)
    assert [count_side_by_side(n_jobs) for n_jobs in (None, 1, 2, -1)] == [3, 1, 1, 1]
    with limit_threads(1):  # of one computation, of which several may run
        assert count_side_by_side(None) == 3
    with joblib.parallel_config(n_jobs=2):
        assert count_side_by_side(None) == 1
    with joblib.parallel_config(backend="threading"):
        assert count_side_by_side(None) == 1
        assert joblib.Parallel(2)(joblib.delayed(count_side_by_side)(None) for _ in range(2)) == [1, 1]


@pytest.mark.parametrize(("share", "free"), [(1.0, 2), (0.9, 2), (0.6, 1), (0.1, 1)])
def test_cores_are_free_as_far_as_others_leave_them(monkeypatch, share, free):
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    monkeypatch.setattr(joblib, "cpu_count", lambda: 2)
    monkeypatch.setattr("metricwise.threads._measure_share", lambda: share)
    assert count_free_cores() == free


def test_a_thread_gets_a_share_of_a_core():
    from metricwise.threads import _measure_share

    assert 0.0 < _measure_share() <= 1.1
