"""Trainings in several threads at once give the same models as one after the other."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from threading import Barrier
from typing import Any

from fuzzing.cases import Case, Kind
from fuzzing.judging import Finding
from fuzzing.trainings import draw_training, train, warm_up


def _make_case(random: Random) -> Case:
    return {"trainings": [draw_training(random) for _ in range(random.randint(2, 4))]}


def _check(case: Case, folder: Path) -> str:
    trainings = case["trainings"]
    expected = [train(training) for training in trainings]
    start = Barrier(len(trainings))

    def train_together(training: dict[str, Any]) -> bytes:
        start.wait()
        return train(training)

    with ThreadPoolExecutor(len(trainings)) as pool:
        found = list(pool.map(train_together, trainings))
    for training, before, after in zip(trainings, expected, found, strict=True):
        if before != after:
            raise Finding(f"{training['estimator']} {training['parameters']} differs when trained beside others")
    return "same"


KIND = Kind(warm_up, _make_case, _check)
