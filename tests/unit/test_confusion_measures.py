"""Measures of the confusion matrix of several classes: values, gradients and a user's own functions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import gmean, hmean
from sklearn.metrics import cohen_kappa_score, recall_score

from metricwise import CohenKappa, GMean, HMean, MinRate, QMean, confusion_measure, contingency_measure, get_measure
from metricwise.measures import (
    CountsClassTables,
    CountsConfusion,
    HasMulticlassValue,
    RatioOfConfusion,
    needs_whole_matrix,
)
from metricwise.measures.confusion import count_confusion, one_vs_rest

RANDOM = np.random.default_rng(0)
TRUTH, FOUND = RANDOM.integers(0, 4, 300), RANDOM.integers(0, 4, 300)
FOUND[::2] = TRUTH[::2]
WEIGHT = RANDOM.random(300)
DIFFERENCE = contingency_measure(lambda tp, fp, fn, tn: tp / (tp + fn) - fp / (fp + tn), name="informedness")
NAMES = (
    *("accuracy", "balanced_accuracy", "g_mean", "h_mean", "q_mean", "min_rate", "matthews_corrcoef", "cohen_kappa"),
    *("cohen_kappa:quadratic", "cohen_kappa:linear"),
    *("f1_macro", "f1_micro", "f1_weighted", "f2_macro", "jaccard_macro", "jaccard_micro", "jaccard_weighted"),
    "gower_legendre_macro",
)


@pytest.mark.parametrize("weight", [None, WEIGHT])
def test_means_of_recalls_equal_their_formulas(weight):
    recalls = recall_score(TRUTH, FOUND, average=None, sample_weight=weight)
    expected = {
        GMean(): gmean(recalls),
        HMean(): hmean(recalls),
        QMean(): 1.0 - np.sqrt(np.mean((1.0 - recalls) ** 2)),
        MinRate(): recalls.min(),
    }
    for measure, value in expected.items():
        assert measure.multiclass_score(TRUTH, FOUND, weight) == pytest.approx(value)


@pytest.mark.parametrize("measure", [GMean(), HMean(), QMean(), MinRate()])
def test_means_of_recalls_extend_those_of_two_classes(measure):
    truth, found = TRUTH > 1, FOUND > 1
    assert measure.multiclass_score(truth, found, WEIGHT) == pytest.approx(measure.score(truth, found, WEIGHT))
    # A class that is only predicted has no recall.
    assert measure.multiclass_score(np.zeros(4), [0, 0, 0, 0]) == 1.0
    assert measure.multiclass_score([0, 0, 1, 1], [0, 2, 1, 1]) == pytest.approx(
        float(measure.of_recalls(np.array([0.5, 1.0]), np.array([True, True])))
    )
    assert measure.of_confusion(np.zeros((3, 3))) == 0.0


@pytest.mark.parametrize("weights", [None, "linear", "quadratic"])
def test_weighted_kappa_equals_scikit_learn(weights):
    measure = CohenKappa(weights)
    expected = cohen_kappa_score(TRUTH, FOUND, weights=weights, sample_weight=WEIGHT)
    assert measure.of_confusion(count_confusion(TRUTH, FOUND, WEIGHT)) == pytest.approx(expected)
    assert measure.multiclass_score(TRUTH, FOUND, WEIGHT) == pytest.approx(expected)
    assert needs_whole_matrix(measure) == (weights is not None)
    assert get_measure(measure.name.replace("kappa_", "kappa:")) == measure
    # The weights make no difference for two classes.
    two = (TRUTH > 1, FOUND > 1)
    assert measure.score(*two) == pytest.approx(cohen_kappa_score(*two, weights=weights))


def test_weighted_kappa_refuses_tables_and_unknown_weights():
    with pytest.raises(ValueError, match="needs the confusion matrix"):
        CohenKappa("quadratic").of_tables(*one_vs_rest(np.eye(3)))
    with pytest.raises(ValueError, match="weights must be 'linear', 'quadratic' or None, got 'cubic'"):
        CohenKappa("cubic")
    with pytest.raises(ValueError, match="does not fit: weights must be"):
        get_measure("cohen_kappa:cubic")


@pytest.mark.parametrize("name", NAMES)
def test_matrices_have_the_value_of_their_labels(name):
    measure = get_measure(name)
    assert isinstance(measure, CountsConfusion)
    matrices = np.array([count_confusion(TRUTH, FOUND, WEIGHT), count_confusion(FOUND, TRUTH)])
    score = measure.multiclass_score if isinstance(measure, HasMulticlassValue) else measure.score
    assert measure.of_confusion(matrices) == pytest.approx([score(TRUTH, FOUND, WEIGHT), score(FOUND, TRUTH)])
    if isinstance(measure, CountsClassTables) and not needs_whole_matrix(measure):
        assert measure.of_tables(*one_vs_rest(matrices)) == pytest.approx(measure.of_confusion(matrices))


@pytest.mark.parametrize("name", [*NAMES, DIFFERENCE])
def test_gradients_are_slopes_among_matrices_with_the_same_class_shares(name):
    measure = get_measure(name) if isinstance(name, str) else get_measure("f1_macro").__class__(name)
    matrix = count_confusion(TRUTH, FOUND, WEIGHT) / WEIGHT.sum()
    gradient = measure.confusion_gradient(matrix)
    for seed in range(3):
        direction = np.random.default_rng(seed).normal(size=matrix.shape)
        direction -= direction.mean(axis=1, keepdims=True)
        step = 1e-6
        rise = float(measure.of_confusion(matrix + step * direction) - measure.of_confusion(matrix - step * direction))
        assert np.sum(gradient * direction) == pytest.approx(rise / (2.0 * step), rel=1e-4, abs=1e-6)


@pytest.mark.parametrize("name", [name for name in NAMES if isinstance(get_measure(name), RatioOfConfusion)])
def test_ratios_equal_the_measure(name):
    measure = get_measure(name)
    matrix = count_confusion(TRUTH, FOUND, WEIGHT) / WEIGHT.sum()
    top, bottom = measure.confusion_ratio(matrix.sum(axis=1))
    assert np.sum(top * matrix) / np.sum(bottom * matrix) == pytest.approx(measure.of_confusion(matrix))


def test_a_function_of_the_matrix_is_a_measure():
    stacked = confusion_measure(lambda C: np.trace(C, axis1=-2, axis2=-1) / C.sum(axis=(-2, -1)), "own")
    single = confusion_measure(lambda C: float(sum(C[k, k] for k in range(len(C))) / C.sum()), "own")
    assert not stacked.elementwise and single.elementwise
    matrices = np.random.default_rng(1).random((2, 5, 3, 3))
    assert single.of_confusion(matrices) == pytest.approx(stacked.of_confusion(matrices))
    assert single.score(TRUTH, FOUND) == pytest.approx(np.mean(TRUTH == FOUND))
    assert single.of_confusion(np.zeros((3, 3))) == 0.0  # 0/0
    assert single.find_difference(stacked) is None
    other = confusion_measure(lambda C: C[0, 0] / C[0].sum(), "own")
    assert "for the matrix" in single.find_difference(other)


@pytest.mark.parametrize(
    ("function", "error", "message"),
    [
        (3, TypeError, "callable with a confusion matrix"),
        (lambda a, b: 0.0, TypeError, "must take one confusion matrix"),
        (lambda C: C, TypeError, "one real number per matrix"),
        (lambda C: np.nan, ValueError, "finite numbers"),
        (lambda C: np.trace(C), ValueError, "depends on the number of samples.*Divide by C.sum"),
        (lambda C: C[5, 5] / C.sum(), ValueError, "fails for a matrix of 3 classes.*set n_classes"),
        (lambda C: 1.0 - np.trace(C) / C.sum(), ValueError, "for perfect predictions.*use its negative"),
    ],
)
def test_functions_that_are_no_measure_are_refused(function, error, message):
    with pytest.raises(error, match=message):
        confusion_measure(function, "own")
    with pytest.raises(ValueError, match="n_classes must be a whole number of at least 3, or None, got 2"):
        confusion_measure(lambda C: np.trace(C) / C.sum(), "own", n_classes=2)
    with pytest.raises(TypeError, match="name must be non-empty text"):
        confusion_measure(lambda C: np.trace(C) / C.sum(), "")
