"""Divide stored samples into those to learn from, a sample of these to select on, and held-out samples."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from metricwise._typing import Indices, Integers, Labels, Mask

_HELD_OUT_SHARE = 0.2
_MOST_HELD_OUT = 200_000  # unless minority samples are so few among them
_MINORITY_HELD_OUT = 1000
_MINORITY_NEEDED = 2  # of every class, in every part


class Parts(NamedTuple):
    """Ascending positions of samples, drawn at random; no sample is in two of the first four parts.

    Attributes
    ----------
    trained : array of int
        Samples that models learn from.
    comparing : array of int
        Held-out samples that choose between models of the sample and models of all samples.
    judging : array of int
        Held-out samples that choose the threshold and estimate the measure to expect.
    testing : array of int
        Held-out samples that a guarantee is tested on; none without one.
    sample : array of int
        Those of ``trained`` that are brought into memory for model selection.
    """

    trained: Indices
    comparing: Indices
    judging: Indices
    testing: Indices
    sample: Indices


def divide(y: Labels, strata: Integers, has_weight: Mask, most_sampled: int, has_guarantee: bool, seed: int) -> Parts:
    """Return parts that have the strata in the same shares.

    Parameters
    ----------
    y : array
        Labels of all samples, for messages.
    strata : array of int
        Codes of all samples.
    has_weight : array of bool
        Samples that count; others are in no part.
    most_sampled : int
        How many samples fit into memory for model selection.
    has_guarantee : bool
        Whether samples are kept to test a guarantee on: as many as those that judge.
    seed : int
        Seeds the draw.

    Raises
    ------
    ValueError
        If a class has too few samples for all parts.

    Examples
    --------
    >>> y = np.repeat([0, 1], 50)
    >>> parts = divide(y, y, np.ones(100, dtype=bool), 30, False, 0)
    >>> [part.size for part in parts]
    [80, 10, 10, 0, 30]
    """
    counts = np.bincount(strata, weights=has_weight).astype(np.int64)
    codes = np.flatnonzero(counts)
    total = int(counts.sum())
    wanted = max(_MOST_HELD_OUT, _MINORITY_HELD_OUT * total / counts[codes].min())
    share = 0.5 * min(_HELD_OUT_SHARE, wanted / total)
    shares = np.array([share, share, 2.0 * share if has_guarantee else 0.0])
    sampled = min(1.0, most_sampled / (total * (1.0 - shares.sum())))
    is_trained, drawn = has_weight.copy(), []
    for code in codes.tolist():
        count = int(counts[code])
        sizes = np.ceil(shares * count).astype(np.int64)
        n_trained = count - int(sizes.sum())
        if n_trained < _MINORITY_NEEDED or sizes[:2].min() < _MINORITY_NEEDED:
            (label,) = y[[np.argmax(strata == code)]].tolist()
            raise ValueError(
                f"the class {label!r} has {count} samples, too few for training and for "
                "two held-out parts: collect more samples of it, or load the samples if they fit into memory"
            )
        n_sampled = max(_MINORITY_NEEDED, round(sampled * n_trained))
        ends = np.cumsum([*sizes, n_sampled])
        random = np.random.default_rng((seed, 11, code))
        # The rest stays in place: a permutation of all samples would take time and memory.
        chosen = np.flatnonzero(has_weight & (strata == code))[random.choice(count, ends[-1], replace=False)]
        drawn.append(np.split(chosen, ends[:-1]))
        is_trained[chosen[: ends[-2]]] = False
    comparing, judging, testing, sample = (np.sort(np.concatenate(part)) for part in zip(*drawn, strict=True))
    return Parts(np.flatnonzero(is_trained), comparing, judging, testing, sample)
