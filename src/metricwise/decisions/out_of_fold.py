"""Scores of samples by models that have not seen them, of any scikit-learn classifier."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy.special import logit
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold, check_cv
from sklearn.utils.validation import check_array, check_is_fitted

from metricwise._sklearn import take_samples
from metricwise._typing import Floats, Indices, Integers
from metricwise.decisions.constant import Constant
from metricwise.decisions.folds import DEFAULT_FOLDS, assign_folds
from metricwise.decisions.weighting import weight_setting
from metricwise.designs import make_design

Splits = list[tuple[Indices, Indices]]

_MOST_PROBED = 4000  # samples
_SMALLEST = 1e-15  # of a probability; its log-odds, 35, are beyond all that matters


def gives_probabilities(model: Any) -> bool:
    """Whether a classifier has ``predict_proba``; TypeError if it has no scores at all."""
    if hasattr(model, "predict_proba"):
        return True
    if hasattr(model, "decision_function"):
        return False
    raise TypeError(
        f"{type(model).__name__} has neither predict_proba nor decision_function, so there is no score to put a "
        "threshold on: use a classifier that has one of them, or set the option that gives it one"
    )


def known_classes(model: Any, classes: NDArray[Any]) -> NDArray[Any]:
    """Return the classes of a trained classifier; ValueError if some of the given ones are unknown to it."""
    check_is_fitted(model)
    known = np.asarray(model.classes_)
    unknown = np.setdiff1d(classes, known)
    if unknown.size:
        raise ValueError(
            f"y has labels that the trained {type(model).__name__} does not know: {unknown.tolist()}; it knows "
            f"{known.tolist()}. Pass samples of these classes, or set prefit=False"
        )
    return known


def binary_scores(model: Any, X: Any, positive: Any) -> Floats:
    """Return log-odds of the positive class, or decision values that point to it."""
    at = list(model.classes_).index(positive)
    if gives_probabilities(model):
        chances = np.asarray(model.predict_proba(X), dtype=np.float64)[:, at]
        values: Floats = logit(np.clip(chances, _SMALLEST, 1.0 - _SMALLEST))
        return values
    decisions = np.asarray(model.decision_function(X), dtype=np.float64)
    return decisions.ravel() if at == 1 else -decisions.ravel()


def class_scores(model: Any, X: Any, classes: NDArray[Any]) -> Floats:
    """Return log-probabilities, or decision values, of each class; a class unknown to the model gets the least."""
    if gives_probabilities(model):
        values = np.log(np.maximum(np.asarray(model.predict_proba(X), dtype=np.float64), _SMALLEST))
    else:
        values = np.asarray(model.decision_function(X), dtype=np.float64)
        values = np.column_stack([-values, values]) if values.ndim == 1 else values
    if values.shape[1] != len(model.classes_):
        raise ValueError(
            f"{type(model).__name__} gives {values.shape[1]} scores for {len(model.classes_)} classes: offsets of "
            "classes need one score a class, so set decision_function_shape='ovr' or use a classifier with "
            "predict_proba"
        )
    columns = np.full((len(values), len(classes)), min(float(values.min()), float(np.log(_SMALLEST))))
    columns[:, np.searchsorted(classes, model.classes_)] = values
    return columns


def fitted(estimator: Any, X: Any, y: NDArray[Any], weights: Floats | None) -> Any:
    """Return a trained copy of a classifier; weights are passed on where it takes them."""
    return clone(estimator).fit(X, y, **weight_setting(estimator, weights))


def fitted_label(estimator: Any, X: Any, column: NDArray[Any], rows: Indices, weights: Floats | None) -> Any:
    """Return a trained copy for one of several labels, by some samples; a constant if all of them have it, or none."""
    if column[rows].min() == column[rows].max():
        return Constant(float(column[rows][0]))
    part = None if weights is None else weights[rows]
    return fitted(estimator, take_samples(X, rows), column[rows], part)


class Scores(NamedTuple):
    """Scores of samples by models that have not seen them, and by models that have.

    Attributes
    ----------
    samples : array of int
        The samples held out.
    unseen : array
        The score of each by a model trained without it.
    probe : array of int
        Samples, not all of them if there are many, whose scores by models that have seen them are known.
    seen : array
        Mean scores of these.
    """

    rows: Indices
    unseen: Floats
    probe: Indices
    seen: Floats


def score_out_of_fold(
    score: Callable[[Indices, Indices, Indices], tuple[Floats, Floats]],
    splits: Splits,
    probe: Indices,
    n_jobs: int | None,
) -> Scores:
    """Return scores of samples by models of others, and of samples of a probe by models that have learnt from them.

    ``score(train, test, seen)`` trains a model and returns its scores of held-out samples, and of some that it was
    trained with.
    """
    found = Parallel(n_jobs=n_jobs)(delayed(score)(*split) for split in with_probe(splits, probe))
    return collected(splits, probe, found)


def with_probe(splits: Splits, probe: Indices) -> list[tuple[Indices, Indices, Indices]]:
    """Return training samples, held-out samples, and samples of a probe that are among the training samples."""
    return [(train, test, np.intersect1d(probe, train)) for train, test in splits]


def collected(splits: Splits, probe: Indices, found: list[tuple[Floats, Floats]]) -> Scores:
    """Put together the scores of held-out samples, and of samples of a probe that were seen, of every split."""
    unseen = np.concatenate([new for new, _ in found])
    total, count = np.zeros((probe.size, *unseen.shape[1:])), np.zeros(probe.size)
    for (_, _, rows), (_, seen) in zip(with_probe(splits, probe), found, strict=True):
        at = np.searchsorted(probe, rows)
        total[at] += seen
        count[at] += 1.0
    some = count > 0.0
    means = total[some] / count[some].reshape(-1, *[1] * (total.ndim - 1))
    return Scores(np.concatenate([test for _, test in splits]), unseen, probe[some], means)


def on_one_scale(cv: Any, splits: Splits, unseen: Floats, codes: Integers) -> Floats:
    """Return held-out scores, in the order of the splits, moved so that folds have the same median of the common class.

    Models of folds differ in where their scores lie, and a measure that ranks samples of all folds would blame them for
    it: with a dozen positives, an area of 0.99 would look like one of 0.98. Samples of random folds are alike, so that
    their medians should be; the splits of a user's own ``cv`` may not be, and stay as they are.

    Parameters
    ----------
    cv : int, splitter or None
        What the splits were made by.
    splits : list
        Training and held-out samples.
    unseen : array
        Scores of the held-out samples.
    codes : array of int
        Their classes.

    Examples
    --------
    >>> import numpy as np
    >>> halves = [(np.array([2, 3]), np.array([0, 1])), (np.array([0, 1]), np.array([2, 3]))]
    >>> on_one_scale(2, halves, np.array([0.0, 1.0, 10.0, 12.0]), np.array([0, 1, 0, 1]))
    array([5., 6., 5., 7.])
    """
    if cv is not None and not isinstance(cv, Integral):
        return unseen
    fold = np.repeat(np.arange(len(splits)), [test.size for _, test in splits])
    common = codes == np.argmax(np.bincount(codes))
    medians = np.array([np.median(unseen[common & (fold == k)]) for k in range(len(splits))])
    moved: Floats = unseen + (np.median(unseen[common]) - medians)[fold]
    return moved


def draw_probe(codes: Integers, seed: int, most: int = _MOST_PROBED) -> Indices:
    """Return samples, in order, that show how far models differ: all of them or, if there are many, some of each class.

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
    """Return training and held-out samples; none, with a warning, if the data are too few to be divided.

    Equal samples share a fold where samples can be compared, that is if they are numbers. If held-out samples are
    needed, it is for the caller to say that there are none.
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
        _warn_of_few(codes, wanted, found)
    if folds is None:
        return []
    return [(np.flatnonzero(folds != k), np.flatnonzero(folds == k)) for k in range(found)]


def without_rows(cv: Any, X: Any, y: NDArray[Any], kept: NDArray[np.bool_]) -> Any:
    """Return a user's own splits for the samples that are kept, renumbered; a number of folds stays as it is."""
    if cv is None or isinstance(cv, Integral):
        return cv
    number = np.cumsum(kept) - 1
    splits = check_cv(cv, y, classifier=True).split(X, y)
    return [tuple(number[part[kept[part]]] for part in map(np.asarray, split)) for split in splits]


def _folds(X: Any, codes: Integers, wanted: int, seed: int) -> Integers | None:
    try:
        numbers = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_all_finite=False)
    except (TypeError, ValueError):
        numbers = None  # text or objects, for a pipeline to deal with: folds by sample
    if numbers is not None:
        return assign_folds(make_design(numbers), codes, wanted, seed)
    n_folds = min(wanted, int(np.bincount(codes).min()))
    if n_folds < 2:
        return None
    folds = np.zeros(codes.size, dtype=np.int64)
    for k, (_, test) in enumerate(StratifiedKFold(n_folds, shuffle=True, random_state=seed).split(codes, codes)):
        folds[test] = k
    return folds


def _warn_of_few(codes: Integers, wanted: int, found: int) -> None:
    least = int(np.bincount(codes)[np.unique(codes)].min())
    what = (
        f"{found} folds are made instead of {wanted}"
        if found
        else "no samples can be held out, so that the threshold is chosen on training scores, which flatter the model"
    )
    warnings.warn(
        f"the rarest class has {least} samples, too few for {wanted} folds of distinct samples: {what}. Collect more "
        f"samples of it, or set cv to {max(found, 2)} or less",
        UserWarning,
        stacklevel=4,
    )
