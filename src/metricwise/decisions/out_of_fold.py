"""Out-of-fold scores: folds are made, fold models trained and their scores collected here, for all estimators.

Folds follow the content of the samples and do not depend on their order. Samples that were repeated share a fold, so
that a sample of weight two is treated as the same sample twice. Where equal samples occur naturally (`copies`), folds
that keep them together would underrate models that memorise, so there every sample gets a fold of its own. Where the
user gives groups, folds consist of whole groups instead.

Fold models also score a *probe*, samples that they were trained with. The final model has seen these samples, too, so
that the scores of both show how far the final model's scores lie from those of the fold models; and the fold models'
own scores out of fold show how much there is left to learn.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from sklearn import get_config
from sklearn.model_selection import StratifiedKFold, check_cv
from sklearn.utils.metadata_routing import get_routing_for_object
from sklearn.utils.validation import check_array

from metricwise._typing import Floats, Indices, Integers, Labels, Mask
from metricwise.decisions.copies import identify_samples
from metricwise.decisions.groups import assign_group_folds
from metricwise.decisions.parallel import run_in_parallel
from metricwise.decisions.refitting import weighted_median
from metricwise.designs import Design, make_design

Splits = list[tuple[Indices, Indices]]

DEFAULT_FOLDS = 5
NO_SAMPLES: Indices = np.zeros(0, dtype=np.int64)

_PROBE_SIZE = 4000  # samples at most

# Equal samples are merged into one with their total weight where that costs nothing, so that a sample of weight two and
# the same sample twice give the same numbers to the last digit. On large data both end within the tolerance, and unit
# weights are faster.
_MOST_SAMPLES_TO_MERGE = 2000


def assign_folds(design: Design, classes: Mask | Integers, n_folds: int, seed: int) -> Integers | None:
    """Return a stratified fold for every sample; None if a class has fewer than two distinct samples."""
    masks = [classes == label for label in np.unique(classes)]
    identities = identify_samples(design, classes, seed)
    folds = np.zeros(classes.size, dtype=np.int64)
    distinct = [np.unique(identities[mask], return_inverse=True) for mask in masks]
    n_folds = min(n_folds, *(values.size for values, _ in distinct))
    if n_folds < 2:
        return None
    for mask, (_, rank) in zip(masks, distinct, strict=True):
        folds[mask] = rank % n_folds
    return folds


def merge_copies(design: Design, samples: Indices, codes: Mask | Integers, weights: Floats) -> tuple[Indices, Floats]:
    """Return one of each set of equal samples of a class, with their total weight, ordered by content."""
    fingerprints = design.fingerprints()
    order = np.lexsort((fingerprints, codes))
    new = np.append(True, np.diff(fingerprints[order]) != 0) | np.append(True, np.diff(codes[order]) != 0)
    first = np.flatnonzero(new)
    return samples[order][first], np.add.reduceat(weights[order], first)


def merge_equal_samples(
    design: Design, samples: Indices, codes: Mask | Integers, weights: Floats
) -> tuple[Indices, Floats]:
    """Return samples and their weights, equal ones of a class merged where that costs nothing."""
    are_whole = bool(np.all(weights[samples] == np.floor(weights[samples])))
    if are_whole and samples.size <= _MOST_SAMPLES_TO_MERGE:
        return merge_copies(design.take(samples), samples, codes[samples], weights[samples])
    return samples, weights[samples]


def split_samples(
    cv: Any, design: Design, X: Any, codes: Mask | Integers, seed: int, groups: Integers | None = None
) -> Splits:
    """Return training and test samples of every fold; none if a class has fewer than two distinct samples or groups.

    A number of folds is made from groups or, without these, from the content of the design; a user's own splitter gets
    X and the groups.
    """
    if is_given(cv):
        return list_given_splits(cv, X, codes, groups)
    if groups is not None:
        return _list_splits(assign_group_folds(groups, codes, _count_folds(cv), seed))
    return _list_splits(assign_folds(design, codes, _count_folds(cv), seed))


def make_splits(
    cv: int | None, X: Any, codes: Integers, seed: int, needed: bool = False, groups: Integers | None = None
) -> Splits:
    """Return training and test samples of every fold; none, with a warning, if there are too few samples for folds.

    Folds consist of whole groups. Without groups, equal samples share a fold where samples can be compared, that is if
    they are numbers. If folds are ``needed``, the caller reports that there are none.
    """
    wanted = _count_folds(cv)
    splits = _list_splits(number_folds(wanted, X, codes, seed, groups))
    if len(splits) < wanted and (splits or not needed):
        _warn_of_few_folds(codes, wanted, len(splits), groups)
    return splits


def number_folds(wanted: int, X: Any, codes: Integers, seed: int, groups: Integers | None = None) -> Integers | None:
    """Return the number of the fold that tests each sample; None if there are too few samples for folds.

    Parameters
    ----------
    wanted : int
        Number of folds; there are fewer if a class has fewer samples or groups.
    X : samples
        Equal ones share a fold where they can be compared and there are no groups.
    codes : array of int
        Codes that folds are stratified by.
    seed : int
        Seeds the folds.
    groups : array of int, optional
        Folds consist of whole groups.
    """
    if groups is None:
        return _assign_folds_to_any(X, codes, wanted, seed)
    return assign_group_folds(groups, codes, wanted, seed)


def is_given(cv: Any) -> bool:
    """Return whether ``cv`` is a user's own splitter or iterable of splits, not a number of folds."""
    return cv is not None and not isinstance(cv, Integral)


def list_given_splits(cv: Any, X: Any, y: Labels, groups: Any) -> Splits:
    """Return the splits of a user's own splitter, which gets the groups, or those of an iterable of splits."""
    n_samples = len(y)
    folds = check_cv(cv if hasattr(cv, "split") else _list_pairs(cv), y, classifier=True)
    splits = folds.split(X, y, **_group_setting(cv, groups))
    return [(_check_indices(train, n_samples), _check_indices(test, n_samples)) for train, test in splits]


def _list_pairs(cv: Any) -> list[Any]:
    """Return the splits of an iterable; ValueError if one is no pair of training and test samples."""
    pairs = [_read_pair(split) for split in cv] if np.iterable(cv) else [cv]
    if not all(isinstance(pair, tuple) and len(pair) == 2 for pair in pairs):
        raise ValueError(
            "cv is a number of folds, a splitter or an iterable of splits, and each split a pair: the positions of the "
            "training samples and those of the test samples"
        )
    return pairs


def _read_pair(split: Any) -> Any:
    """Return the parts of a split, which may be an iterator; anything else unchanged."""
    return tuple(split) if np.iterable(split) and not isinstance(split, str | bytes) else split


def _group_setting(cv: Any, groups: Any) -> dict[str, Any]:
    """Return the argument of ``split`` that passes groups on: with metadata routing, to splitters that request them."""
    is_routed = get_config()["enable_metadata_routing"]
    if groups is None or (is_routed and not get_routing_for_object(cv).consumes("split", ["groups"])):
        return {}
    return {"groups": groups}


def _check_indices(part: Any, n_samples: int) -> Indices:
    indices = np.asarray(part)
    if indices.dtype == bool and indices.size == n_samples:
        return np.flatnonzero(indices)
    if indices.size and (indices.dtype.kind not in "iu" or indices.min() < 0 or indices.max() >= n_samples):
        raise ValueError(
            f"cv gives splits that do not fit the {n_samples} samples: each must be two arrays of positions from 0 to "
            f"{n_samples - 1}"
        )
    return indices.astype(np.int64)


def restrict_splits(splits: Splits, samples: Indices, n_samples: int) -> Splits:
    """Return splits of all samples as splits of ascending ``samples``, renumbered; those left without samples drop out.

    Examples
    --------
    >>> import numpy as np
    >>> halves = [(np.array([2, 3]), np.array([0, 1])), (np.array([0, 1]), np.array([2, 3]))]
    >>> restrict_splits(halves, np.array([1, 2]), 4)
    [(array([1]), array([0])), (array([0]), array([1]))]
    """
    number = np.full(n_samples, -1, dtype=np.int64)
    number[samples] = np.arange(samples.size)
    parts = ([number[part][number[part] >= 0] for part in split] for split in splits)
    return [(train, test) for train, test in parts if train.size and test.size]


def _count_folds(cv: int | None) -> int:
    return DEFAULT_FOLDS if cv is None else int(cv)


def _list_splits(folds: Integers | None) -> Splits:
    if folds is None:
        return []
    return [(np.flatnonzero(folds != k), np.flatnonzero(folds == k)) for k in range(int(folds.max()) + 1)]


def _assign_folds_to_any(X: Any, codes: Integers, wanted: int, seed: int) -> Integers | None:
    design = _compare_samples(X)
    if design is not None:
        return assign_folds(design, codes, wanted, seed)
    n_folds = min(wanted, int(np.bincount(codes).min()))
    if n_folds < 2:
        return None
    folds = np.zeros(codes.size, dtype=np.int64)
    for k, (_, test) in enumerate(StratifiedKFold(n_folds, shuffle=True, random_state=seed).split(codes, codes)):
        folds[test] = k
    return folds


def _compare_samples(X: Any) -> Design | None:
    """Return samples that can be compared; None for texts or objects, which a pipeline encodes."""
    try:
        numbers = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_all_finite=False)
    except (TypeError, ValueError):
        return None
    return make_design(numbers)


def number_repeated(X: Any, codes: Integers, seed: int) -> Integers:
    """Return a number for every sample, equal for samples of one class that were repeated; see `identify_samples`.

    Examples
    --------
    >>> import numpy as np
    >>> X, codes = np.array([[0.5], [0.5], [2.0], [3.5]]), np.array([0, 0, 0, 1])
    >>> np.unique(number_repeated(X, codes, seed=0)).size
    3
    """
    design = _compare_samples(X)
    if design is None:
        return np.arange(codes.size)
    order = np.lexsort((identities := identify_samples(design, codes, seed), codes))
    is_new = np.append(False, (np.diff(identities[order]) != 0) | (np.diff(codes[order]) != 0))
    numbers = np.empty(codes.size, dtype=np.int64)
    numbers[order] = np.cumsum(is_new)
    return numbers


def _warn_of_few_folds(codes: Integers, wanted: int, found: int, groups: Integers | None) -> None:
    if groups is None:
        least, kind, what_of = int(np.bincount(codes)[np.unique(codes)].min()), "distinct samples", "samples"
    else:
        least = min(np.unique(groups[codes == code]).size for code in np.unique(codes))
        kind, what_of = "whole groups", "groups"
    what = (
        f"{found} folds are made instead of {wanted}"
        if found
        else "there are no out-of-fold scores, and the threshold is chosen on training scores, which flatter the model"
    )
    warnings.warn(
        f"the rarest class has {least} {what_of}, too few for {wanted} folds of {kind}: {what}. Collect more "
        f"{what_of} of it, or set cv to {max(found, 2)} or less",
        UserWarning,
        stacklevel=4,
    )


class OutOfFoldScores(NamedTuple):
    """Scores of samples by fold models that were not trained with them, and of a probe by fold models that were.

    Attributes
    ----------
    samples : array of int
        The test samples, fold by fold.
    scores : array
        The score of each by the model trained without it.
    probe : array of int
        Samples whose scores by models that were trained with them are known.
    probe_scores : array
        Mean scores of these.
    kept : list
        What else each fold returned: a model to start the next training from, for example.
    sizes : list of int
        The number of test samples of each fold; empty if there are no folds.
    n_trained : float
        Mean number of samples that fold models were trained on; zero if there are no folds.
    """

    samples: Indices
    scores: Floats
    probe: Indices = NO_SAMPLES
    probe_scores: Floats = np.zeros(0)
    kept: Sequence[Any] = ()
    sizes: Sequence[int] = ()
    n_trained: float = 0.0


def score_out_of_fold(
    score_fold: Callable[..., tuple[Any, ...]],
    splits: Splits,
    probe: Indices = NO_SAMPLES,
    n_jobs: int | None = None,
    fold_arguments: Sequence[Any] | None = None,
    n_side_by_side: int = 1,
) -> OutOfFoldScores:
    """Train a model per fold and return the scores of the test samples and of the probe.

    Parameters
    ----------
    score_fold : callable
        ``score_fold(train, test, seen)`` trains a model on ``train`` and returns its scores of ``test`` and of
        ``seen``, samples of the probe that are among ``train``. What it returns beyond these is ``kept``.
    splits : list
        Training and test samples of every fold.
    probe : array of int
        Ascending samples.
    n_jobs : int, optional
        Folds trained in parallel (joblib).
    fold_arguments : sequence, optional
        One further argument of ``score_fold`` for every fold.
    n_side_by_side : int
        Threads that share the folds, instead of joblib; see `run_in_parallel`.

    Examples
    --------
    >>> import numpy as np
    >>> halves = [(np.array([2, 3]), np.array([0, 1])), (np.array([0, 1]), np.array([2, 3]))]
    >>> found = score_out_of_fold(lambda train, test, seen: (test * 1.0, seen * 10.0), halves, np.array([1, 2]))
    >>> found.scores, found.probe_scores
    (array([0., 1., 2., 3.]), array([10., 20.]))
    """
    jobs: list[tuple[Any, ...]] = [
        (*split, seen) for split, seen in zip(splits, probe_of_folds(splits, probe), strict=True)
    ]
    if fold_arguments is not None:
        jobs = [(*job, argument) for job, argument in zip(jobs, fold_arguments, strict=True)]
    return collect_scores(splits, probe, run_in_parallel(score_fold, jobs, n_jobs, n_side_by_side=n_side_by_side))


def probe_of_folds(splits: Splits, probe: Indices) -> list[Indices]:
    """Return the samples of the probe that each fold's model is trained with."""
    return [np.intersect1d(probe, train) for train, _ in splits]


def collect_scores(splits: Splits, probe: Indices, results: Sequence[tuple[Any, ...]]) -> OutOfFoldScores:
    """Put together what folds return: scores of test samples, scores of the probe, and what is to be kept."""
    scores = np.concatenate([result[0] for result in results])
    total, count = np.zeros((probe.size, *scores.shape[1:])), np.zeros(probe.size)
    for seen, result in zip(probe_of_folds(splits, probe), results, strict=True):
        if seen.size:
            at = np.searchsorted(probe, seen)
            total[at] += result[1]
            count[at] += 1.0
    known = count > 0.0
    means = total[known] / count[known].reshape(-1, *[1] * (total.ndim - 1))
    samples = np.concatenate([test for _, test in splits])
    kept = [item for result in results for item in result[2:]]
    sizes, n_trained = [test.size for _, test in splits], float(np.mean([train.size for train, _ in splits]))
    return OutOfFoldScores(samples, scores, probe[known], means, kept, sizes, n_trained)


def align_folds(splits: Splits, scores: Floats, codes: Integers, weights: Floats) -> Floats:
    """Shift out-of-fold scores, in the order of the splits, to one median of the common class in all folds.

    Fold models differ in the location of their scores, which a measure that ranks the samples of all folds together
    would count against them: with a dozen positives, an area of 0.99 would look like 0.98. Random folds are alike, so
    their medians should be equal. Folds of whole groups and a user's own may differ and must be left alone; see
    `TrainingData.has_random_folds`.

    Parameters
    ----------
    splits : list
        Training and test samples.
    scores : array
        Out-of-fold scores.
    codes : array of int
        Classes of the samples.
    weights : array
        Weights of the samples.

    Examples
    --------
    >>> import numpy as np
    >>> halves = [(np.array([2, 3]), np.array([0, 1])), (np.array([0, 1]), np.array([2, 3]))]
    >>> align_folds(halves, np.array([0.0, 1.0, 10.0, 12.0]), np.array([0, 1, 0, 1]), np.ones(4))
    array([5., 6., 5., 7.])
    """
    fold = np.repeat(np.arange(len(splits)), [test.size for _, test in splits])
    common = codes == np.argmax(np.bincount(codes, weights))
    parts = [common & (fold == k) for k in range(len(splits))]
    medians = np.array([weighted_median(scores[part], weights[part]) for part in parts])
    moved: Floats = scores + (weighted_median(scores[common], weights[common]) - medians)[fold]
    return moved


def draw_probe(codes: Integers, seed: int, most: int = _PROBE_SIZE) -> Indices:
    """Return samples, in order, on which models are compared: all of them or, if there are many, some of each class.

    Examples
    --------
    >>> import numpy as np
    >>> draw_probe(np.array([0, 0, 1, 0]), seed=0)
    array([0, 1, 2, 3])
    """
    if codes.size <= most:
        return np.arange(codes.size)
    order = np.random.default_rng((seed, 11)).permutation(codes.size)
    counts = np.bincount(codes)
    rarest = np.argmin(np.where(counts > 0, counts, codes.size + 1))
    rare = order[codes[order] == rarest][: most // 2]
    others = order[codes[order] != rarest][: most - rare.size]
    return np.sort(np.concatenate([rare, others]))
