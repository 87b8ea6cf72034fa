"""AdaptedSVC: invalid input raises an error that names the remedy."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import ShuffleSplit
from sklearn.utils._param_validation import InvalidParameterError

from metricwise import AdaptedSVC, RecallAtPrecision

X, Y = make_classification(120, weights=[0.7], random_state=0)
LOGISTIC = [("line", LogisticRegression())]


def expect_error(error, message, samples=X, y=Y, estimators=None, sample_weight=None, **settings):
    with pytest.raises(error, match=message):
        AdaptedSVC(estimators=LOGISTIC if estimators is None else estimators, **settings).fit(samples, y, sample_weight)


def test_invalid_lists_of_classifiers_raise():
    expect_error(ValueError, "estimators is empty: give a list", estimators=[])
    expect_error(ValueError, r"must be a list of \(name, classifier\)", estimators=[LogisticRegression()])
    expect_error(ValueError, "several classifiers with the name 'line'", estimators=LOGISTIC * 2)
    expect_error(ValueError, "is called 'adapted'", estimators=[("adapted", LogisticRegression())])
    expect_error(ValueError, "is called 'a__b'", estimators=[("a__b", LogisticRegression())])
    expect_error(InvalidParameterError, "estimators", estimators="usual")


def test_classifiers_without_scores_raise():
    message = "estimators, 'numbers': LinearRegression has neither predict_proba nor decision_function"
    expect_error(TypeError, message, estimators=[("numbers", LinearRegression())])


def test_unfitted_classifiers_with_prefit_raise():
    given = [("line", LogisticRegression().fit(X, Y)), ("other", LogisticRegression())]
    message = r"prefit=True, but the classifier 'other' \(LogisticRegression\) is not fitted.*prefit=False"
    expect_error(NotFittedError, message, estimators=given, prefit=True)
    expect_error(ValueError, "prefit=True needs trained classifiers", estimators="default", prefit=True)


@pytest.mark.parametrize("labels", [Y + 1, np.arange(120) % 3])
def test_prefitted_classifiers_of_other_classes_raise(labels):
    given = [("line", LogisticRegression().fit(X, labels))]
    message = r"'line' \(LogisticRegression\) knows the classes .*, but y has \[0, 1\]"
    expect_error(ValueError, message, estimators=given, prefit=True)


@pytest.mark.parametrize("measure", [RecallAtPrecision(0.8), "f1_macro"])
def test_measures_without_an_oracle_raise(measure):
    expect_error(TypeError, "lacks what AdaptedSVC needs.*PlugInClassifier.*AdaptedSVC takes: .*f1", measure=measure)


def test_targets_that_are_not_binary_raise():
    expect_error(ValueError, "y has only one class, 0", y=np.zeros(120, dtype=int))
    expect_error(ValueError, r"y has 3 classes: use OneVsRestClassifier\(AdaptedSVC", y=np.arange(120) % 3)
    expect_error(ValueError, "y has 2 columns: use OneVsRest", y=np.column_stack([Y, Y]))


def test_too_few_or_overlapping_folds_raise():
    expect_error(ValueError, "needs folds .* but there are 0: set cv", y=np.r_[1, np.zeros(119, dtype=int)])
    expect_error(ValueError, "every sample exactly once", cv=ShuffleSplit(4, random_state=0))


def test_invalid_parameters_are_named():
    expect_error(ValueError, "There is no measure 'f11'", measure="f11")
    expect_error(InvalidParameterError, "'C' parameter", C=0.0)
    expect_error(InvalidParameterError, "'feature_scaling' parameter", feature_scaling=-1.0)
    expect_error(ValueError, "pos_label=7 is not a label of y", pos_label=7)
    expect_error(ValueError, "sample_weight is zero for every sample", sample_weight=np.zeros(120))


def test_missing_values_raise():
    missing = X.copy()
    missing[3, 2] = np.nan
    expect_error(ValueError, "NaN", samples=missing)


def test_a_failed_fit_leaves_the_model_unchanged():
    model = AdaptedSVC(estimators=LOGISTIC)
    with pytest.raises(NotFittedError):
        model.predict(X)
    before = model.fit(X, Y).predict(X)
    with pytest.raises(ValueError, match="only one class"):
        model.fit(X[:, :3], np.zeros(120))
    with pytest.raises(ValueError, match="every sample exactly once"):
        model.set_params(cv=ShuffleSplit(4, random_state=0)).fit(X[:, :3], Y)
    np.testing.assert_array_equal(model.predict(X), before)
