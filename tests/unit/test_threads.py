"""The number of threads follows the cores of the process and OMP_NUM_THREADS; blocks follow the work alone."""

from __future__ import annotations

import os

import pytest

from metricwise.threads import WORK_WORTH_SHARING, available_threads, block_bounds, run_blocks, run_both


@pytest.mark.parametrize("value, expected", [("1", 1), ("0", 1)])
def test_omp_num_threads_lowers_the_number_of_threads(monkeypatch, value, expected):
    monkeypatch.setenv("OMP_NUM_THREADS", value)
    assert available_threads() == expected


@pytest.mark.parametrize("value", ["", "many", "4,2", "²", "100000"])
def test_omp_num_threads_never_raises_the_number_of_threads(monkeypatch, value):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    cores = available_threads()
    monkeypatch.setenv("OMP_NUM_THREADS", value)
    assert available_threads() == cores <= (os.cpu_count() or 1)


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="the system has no settable affinity")
def test_the_number_of_threads_follows_the_affinity(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    before = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(before)})
        assert available_threads() == 1
    finally:
        os.sched_setaffinity(0, before)


@pytest.mark.parametrize("size", [0, 1, 5, 100])
@pytest.mark.parametrize("work", [1, WORK_WORTH_SHARING])
@pytest.mark.parametrize("threads", [1, 3])
def test_every_block_runs_once(size, work, threads):
    seen = [0] * size

    def count(block, start, stop):
        for k in range(start, stop):
            seen[k] += 1

    run_blocks(count, block_bounds(size, work), threads)
    assert seen == [1] * size


@pytest.mark.parametrize("threads", [1, 2])
def test_two_tasks_both_run(threads):
    assert run_both(lambda: "first", lambda: "second", threads) == ("first", "second")
