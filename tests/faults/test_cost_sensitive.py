"""CostSensitiveClassifier: what cannot be done is refused, with what can."""

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

X, Y = make_classification(300, weights=[0.8], random_state=0)


class OnlyLabels(LogisticRegression):
    """A learner without scores."""

    predict_proba = decision_function = property()


def expect_refusal(error, message, y=Y, learner=None, sample_weight=None, **settings):
    with pytest.raises(error, match=message):
        CostSensitiveClassifier(learner or LogisticRegression(), **settings).fit(X, y, sample_weight=sample_weight)


def test_learners_without_weights():
    message = "KNeighborsClassifier takes no sample_weight.*use PlugInClassifier"
    expect_refusal(TypeError, message, learner=KNeighborsClassifier())
    expect_refusal(TypeError, message, learner=make_pipeline(StandardScaler(), KNeighborsClassifier()))


def test_learners_without_scores():
    expect_refusal(TypeError, "OnlyLabels has neither predict_proba nor decision_function", learner=OnlyLabels())


@pytest.mark.parametrize("measure", ["matthews_corrcoef", "roc_auc", "prbep", RecallAtPrecision(0.8), "f1_macro"])
def test_measures_without_prices(measure):
    message = "neither a ratio of the rates nor a concave function.*PlugInClassifier.*cohen_kappa.*f1.*g_mean"
    expect_refusal(TypeError, message, measure=measure)


def test_measures_that_pay_for_mistakes():
    odd = contingency_measure(
        lambda tp, fp, fn, tn: fn / (tp + fn), "missed", ratio=lambda theta: (1.0, -1.0, 0.0, 1.0, 0.0, 0.0)
    )
    expect_refusal(ValueError, "'missed' pays -1 for true positives", measure=odd)


def test_other_than_two_classes():
    expect_refusal(ValueError, "y has only one class, 0", y=np.zeros(300, dtype=int))
    expect_refusal(ValueError, "only one class, 0", sample_weight=(Y == 0).astype(float))
    expect_refusal(ValueError, "y has 3 classes: use OneVsRestClassifier.*PlugInClassifier", y=np.arange(300) % 3)
    expect_refusal(ValueError, "y has 2 columns: use OneVsRest", y=np.column_stack([Y, Y]))
    expect_refusal(ValueError, "Unknown label type", y=np.linspace(0.0, 1.0, 300))


def test_options():
    expect_refusal(ValueError, "There is no measure 'f11'", measure="f11")
    expect_refusal(InvalidParameterError, "max_iter", max_iter=-1)
    expect_refusal(InvalidParameterError, "tol", tol=-0.1)
    expect_refusal(InvalidParameterError, "threshold", threshold="best")
    expect_refusal(ValueError, "pos_label=7 is not a label of y", pos_label=7)


def test_weights():
    # Newer versions of scikit-learn refuse them in words of their own.
    expect_refusal(ValueError, "sample_weight is zero for every sample", sample_weight=np.zeros(300))
    expect_refusal(ValueError, "Negative values", learner=Perceptron(), sample_weight=-np.ones(300))


def test_a_failed_fit_leaves_the_model_as_it_was():
    model = CostSensitiveClassifier(LogisticRegression())
    with pytest.raises(NotFittedError):
        model.predict(X)
    before = model.fit(X, Y).predict(X)
    with pytest.raises(ValueError, match="only one class"):
        model.fit(X[:, :3], np.zeros(300))
    np.testing.assert_array_equal(model.predict(X), before)
