"""Trainings in processes that are forked after a training, in a thread or not, give the same models."""

from __future__ import annotations

import multiprocessing
import os
from pathlib import Path
from random import Random
from threading import Thread
from typing import Any

from fuzzing.cases import Case, Kind
from fuzzing.judging import Finding
from fuzzing.trainings import draw_training, train, warm_up


def _make_case(random: Random) -> Case:
    return {
        "way": random.choice(["fork", "fork", "pool"]),
        "is_in_thread": random.random() < 0.3,
        "before": draw_training(random),
        "trainings": [draw_training(random) for _ in range(2)],
    }


def _check(case: Case, folder: Path) -> str:
    expected = [train(training) for training in case["trainings"]]
    if case["is_in_thread"]:
        thread = Thread(target=train, args=(case["before"],))
        thread.start()
        thread.join()  # beside a running thread, no fork is safe in Python
    else:
        train(case["before"])
    found = _train_in_pool(case["trainings"]) if case["way"] == "pool" else _train_in_fork(case["trainings"], folder)
    for training, before, after in zip(case["trainings"], expected, found, strict=True):
        if before != after:
            raise Finding(f"{training['estimator']} {training['parameters']} differs in a forked process")
    return "same"


def _train_in_fork(trainings: list[dict[str, Any]], folder: Path) -> list[bytes]:
    child = os.fork()
    if child == 0:
        try:
            for number, training in enumerate(trainings):
                (folder / str(number)).write_bytes(train(training))
            os._exit(0)
        finally:
            os._exit(3)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code:
        raise Finding(f"training in a forked process ends with {code}")
    return [(folder / str(number)).read_bytes() for number in range(len(trainings))]


def _train_in_pool(trainings: list[dict[str, Any]]) -> list[bytes]:
    with multiprocessing.get_context("fork").Pool(2) as pool:
        return pool.map(train, trainings)


KIND = Kind(warm_up, _make_case, _check)
