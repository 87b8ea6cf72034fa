"""Out-of-fold scores: folds are made, fold models trained and their scores collected here, for all estimators.

Fold models also score a *probe*, samples that they were trained with. The final model has seen these samples, too, so
that the scores of both show how far the final model's scores lie from those of the fold models.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from sklearn.model_selection import StratifiedKFold, check_cv
from sklearn.utils.validation import check_array

from metricwise._typing import Floats, Indices, Integers, Labels, Mask
from metricwise.decisions.folds import DEFAULT_FOLDS, assign_folds
from metricwise.designs import make_design

Splits = list[tuple[Indices, Indices]]

NO_SAMPLES: Indices = np.zeros(0, dtype=np.int64)
_PROBE_SIZE = 4000  # samples at most


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
    """

    samples: Indices
    scores: Floats
    probe: Indices = NO_SAMPLES
    probe_scores: Floats = np.zeros(0)
    kept: Sequence[Any] = ()


def score_out_of_fold(
    score_fold: Callable[..., tuple[Any, ...]],
    splits: Splits,
    probe: Indices = NO_SAMPLES,
    n_jobs: int | None = None,
    fold_arguments: Sequence[Any] | None = None,
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
    return collect_scores(splits, probe, run_in_parallel(score_fold, jobs, n_jobs))


def run_in_parallel(function: Callable[..., Any], jobs: Sequence[tuple[Any, ...]], n_jobs: int | None) -> list[Any]:
    """Return what a function returns for the arguments of every job, in the order of the jobs."""
    return list(Parallel(n_jobs=n_jobs)(delayed(function)(*job) for job in jobs))


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
    return OutOfFoldScores(samples, scores, probe[known], means, [item for result in results for item in result[2:]])


def align_folds(cv: Any, splits: Splits, scores: Floats, codes: Integers) -> Floats:
    """Shift out-of-fold scores, in the order of the splits, to one median of the common class in all folds.

    Fold models differ in the location of their scores, which a measure that ranks the samples of all folds together
    would count against them: with a dozen positives, an area of 0.99 would look like 0.98. Random folds are alike, so
    their medians should be equal; the splits of a user's own ``cv`` may differ and are left alone.

    Parameters
    ----------
    cv : int, splitter or None
        What made the splits.
    splits : list
        Training and test samples.
    scores : array
        Out-of-fold scores.
    codes : array of int
        Classes of the samples.

    Examples
    --------
    >>> import numpy as np
    >>> halves = [(np.array([2, 3]), np.array([0, 1])), (np.array([0, 1]), np.array([2, 3]))]
    >>> align_folds(2, halves, np.array([0.0, 1.0, 10.0, 12.0]), np.array([0, 1, 0, 1]))
    array([5., 6., 5., 7.])
    """
    if cv is not None and not isinstance(cv, Integral):
        return scores
    fold = np.repeat(np.arange(len(splits)), [test.size for _, test in splits])
    common = codes == np.argmax(np.bincount(codes))
    medians = np.array([np.median(scores[common & (fold == k)]) for k in range(len(splits))])
    moved: Floats = scores + (np.median(scores[common]) - medians)[fold]
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


def make_splits(cv: Any, X: Any, codes: Integers, seed: int, needed: bool = False) -> Splits:
    """Return training and test samples of every fold; none, with a warning, if there are too few samples for folds.

    Equal samples share a fold where samples can be compared, that is if they are numbers. If folds are ``needed``, the
    caller reports that there are none.
    """
    if cv is not None and not isinstance(cv, Integral):
        return [
            (np.asarray(train), np.asarray(test))
            for train, test in check_cv(cv, codes, classifier=True).split(X, codes)
        ]
    wanted = DEFAULT_FOLDS if cv is None else int(cv)
    folds = _folds(X, codes, wanted, seed)
    found = 0 if folds is None else int(folds.max()) + 1
    if found < wanted and (found or not needed):
        _warn_of_few_folds(codes, wanted, found)
    if folds is None:
        return []
    return [(np.flatnonzero(folds != k), np.flatnonzero(folds == k)) for k in range(found)]


def drop_from_splits(cv: Any, X: Any, y: Labels, kept: Mask) -> Any:
    """Return a user's own splits without the samples that are not kept, renumbered; a number of folds unchanged."""
    if cv is None or isinstance(cv, Integral):
        return cv
    number = np.cumsum(kept) - 1
    splits = check_cv(cv, y, classifier=True).split(X, y)
    return [tuple(number[part[kept[part]]] for part in map(np.asarray, split)) for split in splits]


def _folds(X: Any, codes: Integers, wanted: int, seed: int) -> Integers | None:
    try:
        numbers = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_all_finite=False)
    except (TypeError, ValueError):
        numbers = None  # text or objects, for a pipeline to encode
    if numbers is not None:
        return assign_folds(make_design(numbers), codes, wanted, seed)
    n_folds = min(wanted, int(np.bincount(codes).min()))
    if n_folds < 2:
        return None
    folds = np.zeros(codes.size, dtype=np.int64)
    for k, (_, test) in enumerate(StratifiedKFold(n_folds, shuffle=True, random_state=seed).split(codes, codes)):
        folds[test] = k
    return folds


def _warn_of_few_folds(codes: Integers, wanted: int, found: int) -> None:
    least = int(np.bincount(codes)[np.unique(codes)].min())
    what = (
        f"{found} folds are made instead of {wanted}"
        if found
        else "there are no out-of-fold scores, and the threshold is chosen on training scores, which flatter the model"
    )
    warnings.warn(
        f"the rarest class has {least} samples, too few for {wanted} folds of distinct samples: {what}. Collect more "
        f"samples of it, or set cv to {max(found, 2)} or less",
        UserWarning,
        stacklevel=4,
    )
