"""Record the warnings of candidates: they belong in the leaderboard, and only those of the selected model are shown."""

from __future__ import annotations

import multiprocessing
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, NamedTuple

from metricwise._typing import Indices
from metricwise.decisions.executors import Score, fit_and_score
from metricwise.decisions.training_data import Fit, TrainingData
from metricwise.estimators.selection.clock import Clock


@contextmanager
def record_warnings() -> Iterator[list[str]]:
    """Yield a list that holds, after the block, the distinct warnings of the block, which are not shown.

    Examples
    --------
    >>> with record_warnings() as found:
    ...     warnings.warn("scale the features")
    >>> found
    ['UserWarning: scale the features']
    """
    found: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield found
    found += _describe(caught)


class FoldRecord(NamedTuple):
    """What is kept of a fold beside its scores: the model, if wanted, the warnings of a worker process, and seconds."""

    model: Any
    warnings: list[str]
    seconds: float


def score_fold_quietly(
    fit: Fit,
    score: Score,
    draw: Callable[[Indices], Indices],
    data: TrainingData,
    train: Indices,
    test: Indices,
    seen: Indices,
    keep_model: bool,
) -> tuple[Any, ...]:
    """Return what `score_fold` returns and a `FoldRecord`.

    Warnings are recorded here in worker processes only. In the process of the caller they are recorded by the caller,
    as filters of warnings belong to the process, and a thread that runs out of time would reset them too late.

    Parameters
    ----------
    draw : callable
        Returns those of the training samples that the model is trained on.
    keep_model : bool
        Whether the model is kept.
    fit, score, data, train, test, seen
        Passed to `fit_and_score`.
    """
    is_worker = multiprocessing.current_process().name != "MainProcess"
    recording: AbstractContextManager[list[str]] = record_warnings() if is_worker else nullcontext([])
    clock = Clock(None)
    with recording as found:
        model, scores = fit_and_score(fit, score, data, draw(train), test, seen)
    return (*scores, FoldRecord(model if keep_model else None, found, clock.seconds()))


def _describe(caught: list[Any]) -> list[str]:
    return list(dict.fromkeys(map(_describe_one, caught)))


def _describe_one(one: Any) -> str:
    return f"{one.category.__name__}: {' '.join(str(one.message).split())}"
