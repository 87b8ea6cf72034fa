"""AdaptedSVC: what cannot be done is refused, with what can."""

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
LINE = [("line", LogisticRegression())]


def expect_refusal(error, message, rows=X, y=Y, estimators=None, sample_weight=None, **settings):
    with pytest.raises(error, match=message):
        AdaptedSVC(estimators=LINE if estimators is None else estimators, **settings).fit(rows, y, sample_weight)


def test_lists_of_classifiers():
    expect_refusal(ValueError, "estimators is empty: give a list", estimators=[])
    expect_refusal(ValueError, r"must be a list of \(name, classifier\)", estimators=[LogisticRegression()])
    expect_refusal(ValueError, "several classifiers with the name 'line'", estimators=LINE * 2)
    expect_refusal(ValueError, "is called 'adapted'", estimators=[("adapted", LogisticRegression())])
    expect_refusal(ValueError, "is called 'a__b'", estimators=[("a__b", LogisticRegression())])
    expect_refusal(InvalidParameterError, "estimators", estimators="usual")


def test_classifiers_without_scores():
    message = "estimators, 'numbers': LinearRegression has neither predict_proba nor decision_function"
    expect_refusal(TypeError, message, estimators=[("numbers", LinearRegression())])


def test_classifiers_that_are_not_trained():
    given = [("line", LogisticRegression().fit(X, Y)), ("other", LogisticRegression())]
    message = r"prefit=True, but the classifier 'other' \(LogisticRegression\) is not fitted.*prefit=False"
    expect_refusal(NotFittedError, message, estimators=given, prefit=True)
    expect_refusal(ValueError, "prefit=True needs trained classifiers", estimators="default", prefit=True)


@pytest.mark.parametrize("labels", [Y + 1, np.arange(120) % 3])
def test_classifiers_of_other_classes(labels):
    given = [("line", LogisticRegression().fit(X, labels))]
    message = r"'line' \(LogisticRegression\) knows the classes .*, but y has \[0, 1\]"
    expect_refusal(ValueError, message, estimators=given, prefit=True)


@pytest.mark.parametrize("measure", [RecallAtPrecision(0.8), "f1_macro"])
def test_measures_without_an_oracle(measure):
    expect_refusal(TypeError, "lacks what AdaptedSVC needs.*PlugInClassifier.*AdaptedSVC takes: .*f1", measure=measure)


def test_other_than_two_classes():
    expect_refusal(ValueError, "y has only one class, 0", y=np.zeros(120, dtype=int))
    expect_refusal(ValueError, r"y has 3 classes: use OneVsRestClassifier\(AdaptedSVC", y=np.arange(120) % 3)
    expect_refusal(ValueError, "y has 2 columns: use OneVsRest", y=np.column_stack([Y, Y]))


def test_too_few_folds():
    expect_refusal(ValueError, "needs folds .* but there are 0: set cv", y=np.r_[1, np.zeros(119, dtype=int)])
    expect_refusal(ValueError, "every sample exactly once", cv=ShuffleSplit(4, random_state=0))


def test_options():
    expect_refusal(ValueError, "There is no measure 'f11'", measure="f11")
    expect_refusal(InvalidParameterError, "'C' parameter", C=0.0)
    expect_refusal(InvalidParameterError, "'feature_scaling' parameter", feature_scaling=-1.0)
    expect_refusal(ValueError, "pos_label=7 is not a label of y", pos_label=7)
    expect_refusal(ValueError, "sample_weight is zero for every sample", sample_weight=np.zeros(120))


def test_rows_that_inputs_do_not_take():
    gaps = X.copy()
    gaps[3, 2] = np.nan
    expect_refusal(ValueError, "NaN", rows=gaps)


def test_a_failed_fit_leaves_the_model_as_it_was():
    model = AdaptedSVC(estimators=LINE)
    with pytest.raises(NotFittedError):
        model.predict(X)
    before = model.fit(X, Y).predict(X)
    with pytest.raises(ValueError, match="only one class"):
        model.fit(X[:, :3], np.zeros(120))
    with pytest.raises(ValueError, match="every sample exactly once"):
        model.set_params(cv=ShuffleSplit(4, random_state=0)).fit(X[:, :3], Y)
    np.testing.assert_array_equal(model.predict(X), before)
