"""Random subsets of the samples, and samples that are in none of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from metricwise._typing import Indices, Integers
from metricwise.decisions.groups import draw_whole_groups
from metricwise.decisions.out_of_fold import NO_SAMPLES, number_folds
from metricwise.decisions.training_data import TrainingData

_HELD_OUT, _MINORITY_HELD_OUT = 4000, 60  # samples, and minority samples, that choose a threshold well
_FEWEST_PARTS, _MOST_PARTS = 5, 100  # of the samples, one of which is held out


@dataclass(frozen=True)
class Subsets:
    """Draws stratified subsets of the samples, of whole groups where there are groups.

    Attributes
    ----------
    data : TrainingData
        All samples.
    strata : array of int
        Codes that subsets are stratified by.
    seed : int
        Seeds the subsets.
    held_out : array of int
        Samples that are in no subset but that of all samples.
    """

    data: TrainingData
    strata: Integers
    seed: int
    held_out: Indices

    @property
    def most(self) -> int:
        """The size of the largest subset without the samples that are held out."""
        return self.strata.size - self.held_out.size

    def draw(self, size: int) -> Indices:
        """Return about ``size`` samples, ascending, or all samples; larger subsets contain smaller ones."""
        everything = np.arange(self.strata.size)
        if size >= self.strata.size:
            return everything
        allowed = np.setdiff1d(everything, self.held_out, assume_unique=True)
        if size >= allowed.size:
            return allowed
        return allowed[draw_part(self.strata[allowed], self.data.groups_of(allowed), size, self.seed)]


def hold_out(data: TrainingData, strata: Integers, seed: int) -> Indices:
    """Return samples that share neither groups nor copies with the others; none if they would be too few.

    None are held out where the folds are the user's own: only the user knows which samples are independent of others.

    Parameters
    ----------
    data : TrainingData
        All samples.
    strata : array of int
        Codes that every part of the samples has in the same shares.
    seed : int
        Seeds the parts.
    """
    if data.splits is not None:
        return NO_SAMPLES
    rarest = np.unique(strata, return_counts=True)[1].min()
    wanted = max(_HELD_OUT, _MINORITY_HELD_OUT * strata.size / rarest)
    n_parts = int(np.clip(strata.size / wanted, _FEWEST_PARTS, _MOST_PARTS))
    # Not as splits: the training samples of a hundred folds take more memory than the samples themselves.
    folds = number_folds(n_parts, data.X, strata, seed, data.groups)
    has_enough = folds is not None and folds.max() + 1 >= _FEWEST_PARTS
    return np.flatnonzero(folds == 0) if has_enough else NO_SAMPLES


def draw_part(strata: Integers, groups: Integers | None, size: int, seed: int) -> Indices:
    """Return about ``size`` samples, ascending, with the strata in the same shares; whole groups if there are groups.

    Parameters
    ----------
    strata : array of int
        Codes of the samples.
    groups : array of int or None
        Groups of the samples, numbered without gaps.
    size : int
        The number of samples.
    seed : int
        Seeds the draw: smaller parts of the same samples are in larger ones.

    Examples
    --------
    >>> draw_part(np.array([0, 1, 0, 1, 0, 0, 1, 1]), None, 4, seed=0).size
    4
    """
    if groups is not None:
        return draw_whole_groups(groups, strata, size, seed)
    random = np.random.default_rng((seed, 7))
    parts = []
    for label in np.unique(strata):
        samples = random.permutation(np.flatnonzero(strata == label))
        parts.append(samples[: max(2, round(size * samples.size / strata.size))])
    return np.sort(np.concatenate(parts))
