"""PlugInClassifier refuses what cannot be done, and says what can."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, Perceptron
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC
from sklearn.utils._param_validation import InvalidParameterError

from metricwise import PlugInClassifier, RecallAtPrecision
from metricwise.decisions.guarantees import UnreachableGuaranteeError

X, Y = make_classification(400, 5, weights=[0.8], random_state=0)
SEVERAL = np.arange(400) % 3


class OnlyLabels(LogisticRegression):
    """A learner without scores."""

    predict_proba = decision_function = property()


def expect_refusal(error, message, y=Y, learner=None, sample_weight=None, **settings):
    with pytest.raises(error, match=message):
        PlugInClassifier(learner or LogisticRegression(), **settings).fit(X, y, sample_weight=sample_weight)


def test_learners_without_scores():
    expect_refusal(TypeError, "OnlyLabels has neither predict_proba nor decision_function", learner=OnlyLabels())


def test_one_class():
    expect_refusal(ValueError, "y has only one class, 0", y=np.zeros(400, dtype=int))
    expect_refusal(ValueError, "only one class", sample_weight=(Y == 0).astype(float))


def test_unknown_measures_and_options():
    expect_refusal(ValueError, "There is no measure 'f3_macro'", measure="f3_macro")
    expect_refusal(InvalidParameterError, "threshold", threshold="best")
    expect_refusal(InvalidParameterError, "confidence", confidence=1.0)
    expect_refusal(ValueError, "leave one of them out", threshold="max", transductive=True)
    expect_refusal(ValueError, "pos_label=7 is not a label of y", pos_label=7)


def test_promises_that_cannot_be_kept():
    message = (
        "no threshold can guarantee precision >= 0.999 .* Ask for that, lower the confidence, collect more samples"
    )
    expect_refusal(UnreachableGuaranteeError, message, measure=RecallAtPrecision(0.999))
    message = "no threshold has precision >= 0.99 and recall >= 0.99 on out-of-fold samples; the nearest"
    both = [("precision", ">=", 0.99), ("recall", ">=", 0.99)]
    expect_refusal(UnreachableGuaranteeError, message, subject_to=both, confidence=None)


def test_promises_count_rows():
    weights = np.linspace(0.5, 1.5, 400)
    message = "a guarantee counts samples, so that sample_weight must be the same"
    expect_refusal(ValueError, message, subject_to=[("recall", ">=", 0.5)], sample_weight=weights)
    splits = [(np.arange(200), np.arange(200, 400))]
    expect_refusal(ValueError, "set cv to a number or a splitter", subject_to=[("recall", ">=", 0.5)], cv=splits)


def test_constraints_where_they_make_no_sense():
    expect_refusal(ValueError, "a constraint is on one of", subject_to=[("f1", ">=", 0.5)])
    expect_refusal(
        ValueError, "subject_to needs a measure of the", measure="roc_auc", subject_to=[("recall", ">=", 0.5)]
    )
    expect_refusal(ValueError, "subject_to is for two classes", y=SEVERAL, subject_to=[("recall", ">=", 0.5)])


def test_several_classes_and_labels():
    labels = np.column_stack([Y, 1 - Y, SEVERAL == 1])
    expect_refusal(ValueError, "'roc_auc' is for two classes.*'f1_macro'", y=SEVERAL, measure="roc_auc")
    expect_refusal(ValueError, "'auto', 'bagged' or 'max', got 'batch'", y=SEVERAL, threshold="batch")
    expect_refusal(ValueError, "for several labels threshold is", y=labels, threshold="batch")
    expect_refusal(ValueError, "BinaryRelevance", y=labels, measure="f1_samples")
    expect_refusal(ValueError, r"y\[0, 0\] is", y=labels + 2)
    expect_refusal(ValueError, "set prefit=False", y=labels, prefit=True)
    pairs = SVC(decision_function_shape="ovo")
    four = np.arange(400) % 4
    expect_refusal(ValueError, "gives 6 scores for 4 classes.*'ovr'", y=four, learner=pairs)


def test_an_unfitted_learner_that_should_be_fitted():
    expect_refusal(NotFittedError, "LogisticRegression", prefit=True)
    with pytest.raises(NotFittedError):
        PlugInClassifier(LogisticRegression()).predict(X)


def test_labels_that_a_fitted_learner_does_not_know():
    learner = LogisticRegression().fit(X, Y)
    expect_refusal(ValueError, r"does not know: \[2\]; it knows \[0, 1\]", y=SEVERAL, learner=learner, prefit=True)


def test_fewer_positives_than_folds():
    y = np.zeros(400, dtype=int)
    y[:3] = 1
    with pytest.warns(UserWarning, match=r"the rarest class has 3 samples, too few for 5 folds.*3 folds are made"):
        PlugInClassifier(LogisticRegression()).fit(X, y)
    y[1:] = 0
    with pytest.warns(UserWarning, match="there are no out-of-fold scores"):
        PlugInClassifier(LogisticRegression()).fit(X, y)
    with pytest.raises(ValueError, match="a guarantee needs samples of both"):
        PlugInClassifier(LogisticRegression(), subject_to=[("recall", ">=", 0.5)]).fit(X, y)


def test_weights_that_the_learner_does_not_take():
    with pytest.warns(UserWarning, match="KNeighborsClassifier takes no sample_weight: the weights count for the"):
        PlugInClassifier(KNeighborsClassifier()).fit(X, Y, sample_weight=np.ones(400))
    expect_refusal(ValueError, "sample_weight is zero for every sample", sample_weight=np.zeros(400))
    with pytest.raises(ValueError, match="Negative values"):
        PlugInClassifier(Perceptron()).fit(X, Y, sample_weight=-np.ones(400))
