"""User-defined measures: functions of the contingency table."""

from __future__ import annotations

import dataclasses
import math
import pickle
import warnings

import numpy as np
import pytest

from metricwise.measures import FBeta, Jaccard, Ratio, RatioOfRates, contingency_measure

Y = np.array([1, 1, 0, 0, 0])
LABELS = np.array([1, 0, 1, 0, 0])


def specificity(tp, fp, fn, tn):
    return tn / (tn + fp)


def f1_table(tp, fp, fn, tn):
    return 2 * tp / (2 * tp + fp + fn)


def f1_ratio(theta):
    return Ratio(0.0, 2.0, 0.0, 1 + theta, 1.0, -theta)


def test_custom_measures_are_vectorised():
    calls = []

    def function(tp, fp, fn, tn):
        calls.append(np.shape(tp))
        return f1_table(tp, fp, fn, tn)

    measure = contingency_measure(function, "mine")
    calls.clear()
    tp, fp = np.arange(4)[:, None], np.arange(5)
    values = measure.value(tp, fp, 3 - tp, 4 - fp)
    assert calls == [(20,)]
    np.testing.assert_allclose(values, FBeta().value(tp, fp, 3 - tp, 4 - fp))
    assert measure.name == "mine" and not measure.elementwise


@pytest.mark.parametrize(
    "function",
    [
        lambda tp, fp, fn, tn: 2 * tp / (2 * tp + fp + fn) if tp > 0 else 0.0,
        lambda tp, fp, fn, tn: max(0.0, 2 * tp / (2 * tp + fp + fn)),
        lambda tp, fp, fn, tn: math.exp(math.log(2 * tp + 1e-300) - math.log(2 * tp + fp + fn + 1e-300)),
    ],
)
def test_custom_measures_of_scalars_are_accepted(function):
    measure = contingency_measure(function, "scalar")
    assert measure.elementwise
    tp, fp = np.arange(4)[:, None], np.arange(5)
    np.testing.assert_allclose(measure.value(tp, fp, 3 - tp, 4 - fp), FBeta().value(tp, fp, 3 - tp, 4 - fp), atol=1e-12)
    assert measure.value(np.empty(0), 1, 1, 1).shape == (0,)
    assert measure.score(Y, LABELS) == pytest.approx(0.5)


def test_custom_measures_are_zero_at_zero_over_zero_without_a_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert contingency_measure(f1_table, "mine").value(0, 0, 0, 5) == 0.0
        scalar = contingency_measure(lambda tp, fp, fn, tn: tp / (tp + fp) if fn > -1 else 0, "precision")
        assert scalar.value(0, 0, 1, 5) == 0.0


def test_custom_measures_cannot_change_their_arguments():
    def function(tp, fp, fn, tn):
        tp += fn
        return (tp - fn) / tp

    measure = contingency_measure(function, "recall")
    tp, fn = np.array([1.0, 2.0]), np.array([1.0, 2.0])
    np.testing.assert_allclose(measure.value(tp, 0, fn, 0), 0.5)
    assert tp.tolist() == [1.0, 2.0]


def test_custom_measures_may_have_a_ratio():
    plain = contingency_measure(f1_table, "mine")
    measure = contingency_measure(f1_table, "mine", ratio=f1_ratio)
    assert not isinstance(plain, RatioOfRates) and isinstance(measure, RatioOfRates)
    assert measure.ratio(2.0) == FBeta().ratio(2.0)
    assert measure != plain
    for own in (plain, measure):
        copy = pickle.loads(pickle.dumps(own))
        assert copy == own and hash(copy) == hash(own)
        with pytest.raises(dataclasses.FrozenInstanceError):
            own.name = "other"
    assert contingency_measure(f1_table, "t", ratio=lambda t: tuple(f1_ratio(t))).ratio(1.0) == f1_ratio(1.0)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((0.5, "x"), TypeError, "function must be callable"),
        ((lambda tp, fp: tp, "x"), TypeError, "function must take four numbers"),
        ((lambda tp, fp, fn, tn: "high", "x"), TypeError, "one real number.*'high'"),
        ((lambda tp, fp, fn, tn: None, "x"), TypeError, "one real number.*None"),
        ((lambda tp, fp, fn, tn: (tp, fp), "x"), TypeError, "one real number"),
        ((lambda tp, fp, fn, tn: tp * 1j, "x"), TypeError, "one real number"),
        ((lambda tp, fp, fn, tn: np.log(tp - 3), "x"), ValueError, r"finite.*\(3.0, 2.0, 4.0, 91.0\)"),
        ((f1_table, 3), TypeError, "name must be non-empty text"),
        ((f1_table, ""), TypeError, "name must be non-empty text"),
    ],
)
def test_invalid_custom_measures_raise(arguments, error, message):
    with pytest.raises(error, match=message):
        contingency_measure(*arguments)


@pytest.mark.parametrize(
    ("ratio", "error", "message"),
    [
        (1.0, TypeError, "ratio must be callable"),
        (lambda theta: (1.0, 2.0), TypeError, "six coefficients"),
        (lambda theta: 1.0, TypeError, "six coefficients"),
        (Jaccard().ratio, ValueError, "ratio disagrees with function.*rates"),
    ],
)
def test_invalid_custom_ratios_raise(ratio, error, message):
    with pytest.raises(error, match=message):
        contingency_measure(f1_table, "mine", ratio=ratio)


def test_mistakes_per_loss_names_a_measure_that_ignores_positives():
    measure = contingency_measure(specificity, "specificity")
    with pytest.raises(ValueError, match=r"specificity.*positive and finite"):
        measure.mistakes_per_loss(5, 10)
