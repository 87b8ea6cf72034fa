"""Rungs of successive halving: subsets of the samples with their folds."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from metricwise._typing import Indices, Integers
from metricwise.decisions.out_of_fold import NO_SAMPLES, Splits
from metricwise.decisions.task import Task
from metricwise.decisions.training_data import TrainingData
from metricwise.estimators.selection.profile import MANY_SAMPLES

_FOLDS_OF_PART = 3
_FOLDS_OF_MANY = 2  # half of many samples is enough to learn from, and a larger part needs more time and memory
_ENOUGH_OF_A_CLASS = 3000  # samples of each class
_PROBE_SIZE = 1000  # samples that models which have seen them score, too


@dataclass
class Rung:
    """A subset of the samples, its folds, and its probe: samples that the models which have seen them score, too."""

    samples: Indices
    splits: Splits
    probe: Indices

    @property
    def test_samples(self) -> Indices:
        """The samples in the order of the folds that test them."""
        test_samples: Indices = self.samples[np.concatenate([test for _, test in self.splits])]
        return test_samples

    @property
    def sizes(self) -> list[int]:
        """The number of test samples of each fold."""
        return [test.size for _, test in self.splits]


def make_rung(task: Task, data: TrainingData, cv: Any, seed: int, samples: Indices) -> Rung | None:
    """Return the rung of samples; None if they make no folds though all samples may.

    Parameters
    ----------
    task, data
        Task and all samples.
    cv : int, splitter, iterable or None
        Folds of all samples; subsets have three at most. None for the usual number: five; of many samples two, or
        three if a class is rare or targets are multilabel, unless there are groups.
    seed : int
        Seeds folds and probe.
    samples : array of int
        Ascending samples of the rung.
    """
    strata, is_part = task.strata(data.target)[samples], samples.size < len(data.y)
    is_large = cv is None and data.has_random_folds and samples.size > MANY_SAMPLES
    has_enough = not task.is_multilabel and np.bincount(strata).min() >= _ENOUGH_OF_A_CLASS  # some label may be rare
    n_folds = _choose_folds(cv, is_part, is_large, has_enough)
    part = data.take(samples) if is_part else data
    with warnings.catch_warnings():
        if is_part:
            warnings.simplefilter("ignore")  # a rung may have too few samples of a class, though the data have enough
        splits = part.split(n_folds, strata, seed, needed=True)
    if is_part:
        splits = _keep_trainable(splits, strata)
        if not splits and not data.has_random_folds:
            return None  # groups, or the user's own folds, that only larger parts have enough of
    if not splits:
        needed = "at least two must be different" if data.groups is None else "there must be some in two groups"
        raise ValueError(
            "candidates are judged on out-of-fold samples, but the rarest class has "
            f"{int(np.bincount(strata).min())} samples, of which {needed}: collect more samples of it"
        )
    if not is_part and data.splits is not None:
        _refuse_one_class(splits, strata)
    return Rung(samples, splits, task.draw_probe(data.target[samples], seed, most=_PROBE_SIZE))


def make_held_out_rung(task: Task, data: TrainingData, seed: int, samples: Indices) -> Rung | None:
    """Return samples that no model has seen, with folds on each of which the thresholds of the others are judged.

    None if there are no samples, or too few for folds.

    Parameters
    ----------
    task, data
        Task and all samples.
    seed : int
        Seeds the folds.
    samples : array of int
        Ascending samples that no model has seen.
    """
    if not samples.size:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # fewer folds than usual are no concern of the user
        splits = data.take(samples).split(None, task.strata(data.target)[samples], seed, needed=True)
    return Rung(samples, splits, NO_SAMPLES) if splits else None


def _refuse_one_class(splits: Splits, strata: Integers) -> None:
    """Raise a ValueError if a fold of the user's own trains on one class only, or if all folds test only one."""
    if np.unique(strata).size == 1:
        return  # multilabel samples have no strata
    remedy = "use folds with samples of all classes, such as those of StratifiedKFold"
    for number, (train, _) in enumerate(splits, start=1):
        if np.unique(strata[train]).size == 1:
            raise ValueError(f"fold {number} of cv has training samples of one class only: {remedy}")
    if np.unique(strata[np.concatenate([test for _, test in splits])]).size == 1:
        raise ValueError(f"the folds of cv test samples of one class only, which choose no threshold: {remedy}")


def _choose_folds(cv: Any, is_part: bool, is_large: bool, has_enough: bool) -> Any:
    if is_large and has_enough:
        return _FOLDS_OF_MANY
    if is_part:
        return min(_FOLDS_OF_PART, cv) if isinstance(cv, Integral) else _FOLDS_OF_PART
    return _FOLDS_OF_PART if is_large else cv


def _keep_trainable(splits: Splits, strata: Integers) -> Splits:
    """Return the splits whose training samples have all classes."""
    n_classes = np.unique(strata).size
    return [split for split in splits if np.unique(strata[split[0]]).size == n_classes]
