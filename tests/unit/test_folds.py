"""Folds by the content of the samples."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.model_selection import KFold, StratifiedKFold

from metricwise.decisions.out_of_fold import assign_folds, split_samples
from metricwise.designs import make_design

RNG = np.random.default_rng(0)
DISTINCT = RNG.integers(-9, 10, size=(40, 4)).astype(float) + np.arange(40)[:, None] / 64
NUMBERS = np.r_[np.arange(40), RNG.integers(0, 40, size=60)]
X = DISTINCT[NUMBERS]
POSITIVE = NUMBERS % 4 == 0  # the label is a function of the content


def test_equal_samples_share_a_fold():
    folds = assign_folds(make_design(X), POSITIVE, 5, seed=0)
    assert set(folds) == set(range(5))
    for number in range(40):
        assert np.unique(folds[np.equal(NUMBERS, number)]).size == 1


def make_samples_with_copies(repeated, n_distinct=300, n_copies=200):
    """Return distinct samples and copies of the given ones, shuffled, with their numbers; a tenth is positive."""
    random = np.random.default_rng(1)
    number = random.permutation(np.r_[np.arange(n_distinct), random.choice(repeated, n_copies)])
    return number, random.normal(size=(n_distinct, 3))[number], number % 10 == 0


def compute_fraction_in_one_fold(number, folds):
    return np.mean(
        [np.unique(folds[number == one]).size == 1 for one in np.unique(number) if np.sum(number == one) > 1]
    )


def test_natural_duplicates_are_spread_over_folds():
    number, X, positive = make_samples_with_copies(np.arange(40))  # some samples of either class, many times each
    folds = assign_folds(make_design(X), positive, 5, seed=0)
    assert compute_fraction_in_one_fold(number, folds) < 0.2
    for mask in (positive, ~positive):
        assert np.ptp(np.bincount(folds[mask], minlength=5)) <= 1
    order = np.random.default_rng(2).permutation(len(number))
    shuffled = assign_folds(make_design(X[order]), positive[order], 5, seed=0)
    known = [
        tuple(sorted(zip(r.tolist(), f.tolist(), strict=True))) for r, f in ((number, folds), (number[order], shuffled))
    ]
    assert known[0] == known[1]


def test_few_distinct_samples_are_spread_over_folds():
    number = np.random.default_rng(1).integers(0, 250, 4000)
    X = np.random.default_rng(2).normal(size=(250, 3))[number]
    assert compute_fraction_in_one_fold(number, assign_folds(make_design(X), number % 10 == 0, 5, seed=0)) < 0.1


def test_copies_of_an_oversampled_class_share_a_fold():
    number, X, positive = make_samples_with_copies(np.arange(0, 300, 10))
    assert compute_fraction_in_one_fold(number, assign_folds(make_design(X), positive, 5, seed=0)) == 1.0


def test_folds_are_stratified():
    folds = assign_folds(make_design(X), POSITIVE, 5, seed=0)
    for mask in (POSITIVE, ~POSITIVE):
        distinct = [np.unique(NUMBERS[mask & (folds == k)]).size for k in range(5)]
        assert max(distinct) - min(distinct) <= 1


def test_folds_do_not_depend_on_order_storage_or_copies():
    folds = assign_folds(make_design(X), POSITIVE, 4, seed=3)
    order = RNG.permutation(len(X))
    shuffled = assign_folds(make_design(np.asfortranarray(X[order])), POSITIVE[order], 4, seed=3)
    np.testing.assert_array_equal(shuffled, folds[order])
    for data in (sparse.csr_array(X), X.astype(np.float32)):
        np.testing.assert_array_equal(assign_folds(make_design(data), POSITIVE, 4, seed=3), folds)
    np.testing.assert_array_equal(assign_folds(make_design(DISTINCT), POSITIVE[:40], 4, seed=3), folds[:40])


def test_folds_depend_on_the_seed():
    folds = [assign_folds(make_design(X), POSITIVE, 5, seed) for seed in range(3)]
    assert not np.array_equal(folds[0], folds[1]) and not np.array_equal(folds[0], folds[2])


def test_there_are_at_most_as_many_folds_as_distinct_samples_of_a_class():
    positive = np.isin(NUMBERS, [1, 2, 3])
    assert set(assign_folds(make_design(X), positive, 5, seed=0)) == {0, 1, 2}
    assert assign_folds(make_design(X), np.isin(NUMBERS, [7]), 5, seed=0) is None
    assert assign_folds(make_design(X), ~np.isin(NUMBERS, [7]), 5, seed=0) is None


@pytest.mark.parametrize(("cv", "n_folds"), [(None, 5), (3, 3), (np.int64(4), 4)])
def test_splits_are_a_partition_with_both_classes_in_every_fold(cv, n_folds):
    splits = split_samples(cv, make_design(X), X, POSITIVE, seed=0)
    assert len(splits) == n_folds
    np.testing.assert_array_equal(np.sort(np.concatenate([test for _, test in splits])), np.arange(len(X)))
    for train, test in splits:
        np.testing.assert_array_equal(np.sort(np.r_[train, test]), np.arange(len(X)))
        assert not set(NUMBERS[train]) & set(NUMBERS[test])
        assert POSITIVE[train].any() and POSITIVE[test].any() and not POSITIVE[train].all()


def test_too_few_samples_give_no_splits():
    assert split_samples(None, make_design(X), X, NUMBERS == 7, seed=0) == []


@pytest.mark.parametrize(
    "cv", [KFold(3), StratifiedKFold(3), [(np.arange(50), np.arange(50, 100))]], ids=lambda c: type(c).__name__
)
def test_splitters_and_lists_of_splits_are_used_unchanged(cv):
    found = split_samples(cv, make_design(X), X, POSITIVE, seed=0)
    expected = cv if isinstance(cv, list) else list(cv.split(X, POSITIVE))
    assert len(found) == len(expected)
    for ours, theirs in zip(found, expected, strict=True):
        for a, b in zip(ours, theirs, strict=True):
            np.testing.assert_array_equal(a, b)
