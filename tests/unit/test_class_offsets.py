"""Class offsets: against brute force over all offsets on tiny problems, one offset at a time on larger ones."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from metricwise.decisions.class_offsets import bagged_offsets, best_offsets, expected_offsets, value_of
from metricwise.inference import best_threshold
from metricwise.measures import MCC, Accuracy, Averaged, BalancedAccuracy, CohenKappa, FBeta, Jaccard

MEASURES = [
    Averaged(FBeta()),
    Averaged(FBeta(), "micro"),
    Averaged(FBeta(), "weighted"),
    Averaged(Jaccard()),
    Accuracy(),
    BalancedAccuracy(),
    MCC(),
    CohenKappa(),
]
IDS = [measure.name for measure in MEASURES]


def make_problem(n, size, seed, noise=1.5):
    random = np.random.default_rng(seed)
    codes = np.concatenate(
        [np.arange(size), random.choice(size, n - size, p=np.r_[0.6, np.full(size - 1, 0.4 / (size - 1))])]
    )
    scores = np.round(noise * random.normal(size=(n, size)), 2)
    scores[np.arange(n), codes] += 1.0
    return codes, scores


def list_offsets(differences):
    """Return one offset between every two neighbouring score differences, and one at either end."""
    values = np.unique(np.round(differences, 9))  # rounding errors do not separate samples
    return [values[0] - 1.0, *(values[1:] + values[:-1]) / 2, values[-1] + 1.0]


def search_offsets(value, codes, scores):
    """Return the best value over all offsets of three classes, the first of them zero.

    Labels change where the offsets cross a line: o1 = a, o2 = b or o2 - o1 = c. Every region between the lines has a
    corner where two of them meet, so that it suffices to evaluate the neighbourhood of all corners.
    """
    a, b = scores[:, 1] - scores[:, 0], scores[:, 2] - scores[:, 0]
    c = scores[:, 2] - scores[:, 1]
    corners = (
        {(x, y) for x, y in product(a, b)}
        | {(x, x + z) for x, z in product(a, c)}
        | {(y - z, y) for y, z in product(b, c)}
    )
    angles = np.linspace(0.1, 0.1 + 2 * np.pi, 12, endpoint=False)
    around = 1e-6 * np.column_stack([np.cos(angles), np.sin(angles)])
    weights = np.ones(len(codes))
    points = (np.array([0.0, *(np.array(corner) + step)]) for corner in corners for step in around)
    return max(value_of(value, codes, scores, weights, point) for point in points)


@pytest.mark.parametrize("measure", [MEASURES[0], MEASURES[1], MCC()], ids=lambda m: m.name)
def test_value_is_close_to_brute_force_over_all_offsets(measure):
    reached = []
    for seed in range(8):
        codes, scores = make_problem(7, 3, seed)
        best = search_offsets(measure.of_tables, codes, scores)
        found = best_offsets(measure.of_tables, codes, scores).value
        assert found <= best + 1e-12
        reached.append(found >= best - 1e-12)
    assert np.mean(reached) >= 0.75


@pytest.mark.parametrize("measure", MEASURES, ids=IDS)
@pytest.mark.parametrize("seed", range(3))
def test_changing_a_single_offset_does_not_improve(measure, seed):
    codes, scores = make_problem(60, 4, seed)
    weights = np.random.default_rng(seed).integers(1, 4, 60).astype(float)
    found = best_offsets(measure.of_tables, codes, scores, weights)
    assert found.value == pytest.approx(value_of(measure.of_tables, codes, scores, weights, found.offsets))
    assert found.value >= value_of(measure.of_tables, codes, scores, weights, np.zeros(4))
    for k in range(4):
        rest = np.delete(scores - found.offsets, k, axis=1).max(axis=1)
        for offset in list_offsets(scores[:, k] - rest):
            other = found.offsets.copy()
            other[k] = offset
            assert value_of(measure.of_tables, codes, scores, weights, other) <= found.value + 1e-9


def test_two_classes_give_a_threshold():
    codes, scores = make_problem(80, 2, 0)
    found = best_offsets(Averaged(FBeta()).of_tables, codes, scores).value
    lead, positive = scores[:, 1] - scores[:, 0], codes == 1
    assert found >= Averaged(FBeta()).score(codes, lead > best_threshold(FBeta(), positive, lead).threshold) - 1e-12


def test_a_sample_of_weight_two_equals_two_samples():
    codes, scores = make_problem(60, 3, 0)
    weights = np.random.default_rng(0).integers(1, 4, 60)
    value = Averaged(FBeta()).of_tables
    weighted = bagged_offsets(value, codes, scores, weights.astype(float), seed=1)
    repeated = bagged_offsets(value, np.repeat(codes, weights), np.repeat(scores, weights, axis=0), seed=1)
    np.testing.assert_allclose(weighted.offsets, repeated.offsets)
    assert np.all(weighted.interval[0] <= weighted.offsets) and np.all(weighted.offsets <= weighted.interval[1])


def test_expected_offsets_maximise_the_measure_of_expected_tables():
    random = np.random.default_rng(0)
    scores = random.normal(size=(40, 2)) * 2.0
    chances = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    value, weights = Averaged(FBeta()).of_tables, random.integers(1, 4, 40).astype(float)

    def expected_value(offset):
        predicted = np.argmax(scores - [offset, -offset], axis=1)[:, None] == np.arange(2)
        shares = chances * weights[:, None]
        tp = (shares * predicted).sum(axis=0)
        fp, fn = (weights[:, None] * predicted).sum(axis=0) - tp, shares.sum(axis=0) - tp
        return float(value(tp, fp, fn, weights.sum() - tp - fp - fn))

    lead = np.sort(scores[:, 0] - scores[:, 1]) / 2.0
    best = max(map(expected_value, np.concatenate([lead - 1e-9, lead + 1e-9])))
    found = expected_offsets(value, scores, weights)
    assert expected_value(found[0]) == pytest.approx(best, abs=1e-3)  # classes of negligible probability are left out


@pytest.mark.parametrize("measure", [Averaged(FBeta()), MCC(), BalancedAccuracy()], ids=lambda measure: measure.name)
def test_expected_offsets_equal_those_of_samples_that_are_split_by_class(measure):
    _, scores = make_problem(200, 4, 3)
    weights = np.random.default_rng(0).integers(1, 4, 200).astype(float)
    chances = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    samples, codes = np.nonzero(chances > 1e-3)
    split = (codes, scores[samples], (chances * weights[:, None])[samples, codes])
    found = expected_offsets(measure.of_tables, scores, weights)
    reached = value_of(measure.of_tables, *split, found)
    assert reached == pytest.approx(best_offsets(measure.of_tables, *split).value, abs=1e-9)
    assert reached > value_of(measure.of_tables, *split, np.zeros(4))


@pytest.mark.parametrize("seed", range(40))
def test_copies_and_rounding_errors_change_no_offsets(seed):
    """A processor may compute the scores of copies of a sample with other last digits."""
    codes, scores = make_problem(12, 3, seed)
    random = np.random.default_rng(seed)
    weights = random.integers(1, 4, size=12)
    which = random.permutation(np.repeat(np.arange(12), weights))
    noisy = scores[which] * (1.0 + 1e-14 * random.normal(size=(which.size, 3)))
    value = Averaged(FBeta()).of_tables
    bagged, again = bagged_offsets(value, codes, scores, weights), bagged_offsets(value, codes[which], noisy)
    assert again.offsets == pytest.approx(bagged.offsets, abs=1e-9)
    expected = expected_offsets(value, scores, weights.astype(float))
    assert expected_offsets(value, noisy, np.ones(which.size)) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("mask", [-1e11, -1e15, -1e300])
def test_large_scores_of_a_mask_do_not_make_others_equal(mask):
    codes, scores = make_problem(60, 4, 0)
    is_masked = (np.arange(60) % 2 == 0) & (codes != 3)
    ordinary, masked = scores.copy(), scores.copy()
    ordinary[is_masked, 3], masked[is_masked, 3] = -100.0, mask
    masked[is_masked, 3] += np.spacing(mask) * np.arange(is_masked.sum())
    value = Averaged(FBeta()).of_tables
    expected = bagged_offsets(value, codes, ordinary).offsets
    assert bagged_offsets(value, codes, masked).offsets == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("largest", [1e11, 1e300])
def test_one_large_score_does_not_make_others_equal(largest):
    codes, scores = make_problem(40, 3, 0)
    scores[np.flatnonzero(codes == 1)[0], 1] = 10.0  # wins with any offsets
    raised = np.where(scores == 10.0, largest, scores)
    value = Averaged(FBeta()).of_tables
    expected = bagged_offsets(value, codes, scores).offsets
    assert bagged_offsets(value, codes, raised).offsets == pytest.approx(expected, abs=1e-9)
    expected = expected_offsets(value, scores, np.ones(40))
    assert expected_offsets(value, raised, np.ones(40)) == pytest.approx(expected, abs=1e-9)
