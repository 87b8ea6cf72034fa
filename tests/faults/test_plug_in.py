"""PlugInClassifier: invalid input raises an error that names the remedy."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, Perceptron
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC
from sklearn.utils._param_validation import InvalidParameterError

from metricwise import PlugInClassifier, RecallAtPrecision, UnreachableGuaranteeError
from tests.faults.learners import OnlyLabels

X, Y = make_classification(400, 5, weights=[0.8], random_state=0)
MULTICLASS = np.arange(400) % 3


def expect_error(error, message, y=Y, learner=None, sample_weight=None, **settings):
    with pytest.raises(error, match=message):
        PlugInClassifier(learner or LogisticRegression(), **settings).fit(X, y, sample_weight=sample_weight)


def test_learners_without_scores_raise():
    expect_error(TypeError, "OnlyLabels has neither predict_proba nor decision_function", learner=OnlyLabels())


def test_one_class_raises():
    expect_error(ValueError, "y has only one class, 0", y=np.zeros(400, dtype=int))
    expect_error(ValueError, "only one class", sample_weight=(Y == 0).astype(float))


def test_invalid_parameters_are_named():
    expect_error(ValueError, "There is no measure 'f3_macro'", measure="f3_macro")
    expect_error(InvalidParameterError, "threshold", threshold="best")
    expect_error(InvalidParameterError, "confidence", confidence=1.0)
    expect_error(ValueError, "leave one of them out", threshold="max", transductive=True)
    expect_error(ValueError, "pos_label=7 is not a label of y", pos_label=7)


def test_unreachable_guarantees_raise():
    message = (
        "no threshold can guarantee precision >= 0.999 .* Ask for that, lower the confidence, collect more samples"
    )
    expect_error(UnreachableGuaranteeError, message, measure=RecallAtPrecision(0.999))
    message = "no threshold has precision >= 0.99 and recall >= 0.99 on out-of-fold samples; the nearest"
    both = [("precision", ">=", 0.99), ("recall", ">=", 0.99)]
    expect_error(UnreachableGuaranteeError, message, subject_to=both, confidence=None)


def test_guarantees_require_equal_weights():
    weights = np.linspace(0.5, 1.5, 400)
    message = "a guarantee counts samples, so that sample_weight must be the same"
    expect_error(ValueError, message, subject_to=[("recall", ">=", 0.5)], sample_weight=weights)


def test_invalid_constraints_raise():
    expect_error(ValueError, "a constraint is on one of", subject_to=[("f1", ">=", 0.5)])
    expect_error(ValueError, "subject_to needs a measure of the", measure="roc_auc", subject_to=[("recall", ">=", 0.5)])
    expect_error(
        ValueError, "'a' in the constraint .* is none of the classes", y=MULTICLASS, subject_to="npv>=0.5 of a"
    )
    expect_error(
        ValueError, "no class offsets can guarantee recall >= 0.9 of 0", y=MULTICLASS, subject_to="recall>=0.9"
    )
    expect_error(ValueError, "the positive one, 1, but 'recall >= 0.5 of 0' names", subject_to="recall>=0.5 of 0")


def test_unsupported_multiclass_and_multilabel_settings_raise():
    labels = np.column_stack([Y, 1 - Y, MULTICLASS == 1])
    expect_error(ValueError, "'roc_auc' is for two classes.*'f1_macro'", y=MULTICLASS, measure="roc_auc")
    expect_error(
        ValueError, "'auto', 'bagged', 'max', 'expected' or 'gains', got 'batch'", y=MULTICLASS, threshold="batch"
    )
    expect_error(ValueError, "for several labels threshold is", y=labels, threshold="batch")
    expect_error(ValueError, "for several labels threshold is", y=labels, threshold="batch", subject_to="recall>=0.1")
    expect_error(ValueError, "got 'batch'", y=MULTICLASS, threshold="batch", subject_to="recall>=0.1")
    expect_error(ValueError, "BinaryRelevance", y=labels, measure="f1_samples")
    expect_error(ValueError, r"y\[0, 0\] is", y=labels + 2)
    expect_error(ValueError, "set prefit=False", y=labels, prefit=True)
    pairs = SVC(decision_function_shape="ovo")
    four = np.arange(400) % 4
    expect_error(ValueError, r"shape \(80, 6\), and 80 samples of 4 classes.*'ovr'", y=four, learner=pairs)


def test_an_unfitted_learner_with_prefit_raises():
    expect_error(NotFittedError, "LogisticRegression", prefit=True)
    with pytest.raises(NotFittedError):
        PlugInClassifier(LogisticRegression()).predict(X)


def test_labels_unknown_to_a_prefitted_learner_raise():
    learner = LogisticRegression().fit(X, Y)
    expect_error(ValueError, r"does not know: \[2\]; it knows \[0, 1\]", y=MULTICLASS, learner=learner, prefit=True)


def test_fewer_positives_than_folds_warn():
    y = np.zeros(400, dtype=int)
    y[:3] = 1
    with pytest.warns(UserWarning, match=r"the rarest class has 3 samples, too few for 5 folds.*3 folds are made"):
        PlugInClassifier(LogisticRegression()).fit(X, y)
    y[1:] = 0
    with pytest.warns(UserWarning, match="there are no out-of-fold scores"):
        PlugInClassifier(LogisticRegression()).fit(X, y)
    with pytest.raises(ValueError, match="a guarantee needs samples of both"):
        PlugInClassifier(LogisticRegression(), subject_to=[("recall", ">=", 0.5)]).fit(X, y)


def test_unsupported_sample_weights_warn_and_invalid_ones_raise():
    with pytest.warns(UserWarning, match="KNeighborsClassifier takes no sample_weight: the weights count for the"):
        PlugInClassifier(KNeighborsClassifier()).fit(X, Y, sample_weight=np.ones(400))
    expect_error(ValueError, "sample_weight is zero for every sample", sample_weight=np.zeros(400))
    with pytest.raises(ValueError, match="Negative values"):
        PlugInClassifier(Perceptron()).fit(X, Y, sample_weight=-np.ones(400))
