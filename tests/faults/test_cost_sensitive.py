"""CostSensitiveClassifier: invalid input raises an error that names the remedy."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, Perceptron
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils._param_validation import InvalidParameterError

from metricwise import CostSensitiveClassifier, RecallAtPrecision, contingency_measure
from tests.faults.learners import OnlyLabels

X, Y = make_classification(300, weights=[0.8], random_state=0)


def expect_error(error, message, y=Y, learner=None, sample_weight=None, **settings):
    with pytest.raises(error, match=message):
        CostSensitiveClassifier(learner or LogisticRegression(), **settings).fit(X, y, sample_weight=sample_weight)


def test_learners_without_sample_weight_raise():
    message = "KNeighborsClassifier takes no sample_weight.*use PlugInClassifier"
    expect_error(TypeError, message, learner=KNeighborsClassifier())
    expect_error(TypeError, message, learner=make_pipeline(StandardScaler(), KNeighborsClassifier()))


def test_learners_without_scores_raise():
    expect_error(TypeError, "OnlyLabels has neither predict_proba nor decision_function", learner=OnlyLabels())


@pytest.mark.parametrize("measure", ["matthews_corrcoef", "roc_auc", "prbep", RecallAtPrecision(0.8), "f1_macro"])
def test_measures_without_class_costs_raise(measure):
    message = "neither a ratio of the rates nor a concave function.*PlugInClassifier.*cohen_kappa.*f1.*g_mean"
    expect_error(TypeError, message, measure=measure)


def test_measures_that_reward_mistakes_raise():
    with pytest.raises(ValueError, match="'missed' falls when mistakes are corrected"):
        contingency_measure(lambda tp, fp, fn, tn: fn / (tp + fn), "missed")


def test_targets_that_are_not_binary_raise():
    expect_error(ValueError, "y has only one class, 0", y=np.zeros(300, dtype=int))
    expect_error(ValueError, "only one class, 0", sample_weight=(Y == 0).astype(float))
    expect_error(TypeError, "takes no sample_weight", learner=KNeighborsClassifier(), y=np.arange(300) % 3)
    expect_error(ValueError, "y has 2 columns: use OneVsRest", y=np.column_stack([Y, Y]))
    expect_error(ValueError, "Unknown label type", y=np.linspace(0.0, 1.0, 300))


def test_invalid_parameters_are_named():
    expect_error(ValueError, "There is no measure 'f11'", measure="f11")
    expect_error(InvalidParameterError, "max_iter", max_iter=-1)
    expect_error(InvalidParameterError, "tol", tol=-0.1)
    expect_error(InvalidParameterError, "threshold", threshold="best")
    expect_error(ValueError, "pos_label=7 is not a label of y", pos_label=7)


def test_invalid_sample_weights_raise():
    # Newer versions of scikit-learn have a message of their own.
    expect_error(ValueError, "sample_weight is zero for every sample", sample_weight=np.zeros(300))
    expect_error(ValueError, "Negative values", learner=Perceptron(), sample_weight=-np.ones(300))


def test_a_failed_fit_leaves_the_model_unchanged():
    model = CostSensitiveClassifier(LogisticRegression())
    with pytest.raises(NotFittedError):
        model.predict(X)
    before = model.fit(X, Y).predict(X)
    with pytest.raises(ValueError, match="only one class"):
        model.fit(X[:, :3], np.zeros(300))
    np.testing.assert_array_equal(model.predict(X), before)
