"""Classes and scores of learners that are no classifiers of scikit-learn: right in any order, refused if unusable."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from metricwise import CostSensitiveClassifier, PlugInClassifier, TriageClassifier, threads
from metricwise.decisions.scoring import binary_scores, class_probabilities

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(90, 3))
TWO, THREE = (X[:, 0] > 0).astype(int), np.digitize(X[:, 0], [-0.5, 0.5])


class Rearranged(ClassifierMixin, BaseEstimator):
    """A logistic regression whose classes are in another order."""

    def __init__(self, order=(0, 1, 2)):
        self.order = order

    def fit(self, X, y):
        self.model_ = LogisticRegression().fit(X, y)
        self.classes_ = self.model_.classes_[list(self.order)]
        return self

    def predict_proba(self, X):
        return self.model_.predict_proba(X)[:, list(self.order)]


class Altered(ClassifierMixin, BaseEstimator):
    """A logistic regression whose outputs are altered by a function; by decision values if those are wanted."""

    def __init__(self, alter=None, method="predict_proba", classes=None):
        self.alter = alter
        self.method = method
        self.classes = classes

    def fit(self, X, y, sample_weight=None):
        self.model_ = LogisticRegression().fit(X, y, sample_weight)
        if self.classes is None:
            self.classes_ = self.model_.classes_
        elif self.classes != "none":
            self.classes_ = self.classes
        return self

    def __getattr__(self, name):
        if name in ("predict_proba", "decision_function") and name == self.method:
            return lambda X: self.alter(getattr(self.model_, name)(X))
        raise AttributeError(name)


@pytest.mark.parametrize("order", [(2, 0, 1), (0, 2, 1), (2, 1, 0)])
@pytest.mark.parametrize("prefit", [False, True])
def test_classes_of_a_learner_may_be_in_any_order(order, prefit):
    learner = Rearranged(order)
    model = PlugInClassifier(learner.fit(X, THREE) if prefit else learner, "f1_macro", prefit=prefit).fit(X, THREE)
    assert model.classes_.tolist() == [0, 1, 2]
    assert np.mean(model.predict(X) == THREE) > 0.9
    assert np.mean(model.predict_proba(X).argmax(axis=1) == THREE) > 0.8


@pytest.mark.parametrize("prefit", [False, True])
def test_two_classes_may_be_in_descending_order(prefit):
    learner = Rearranged((1, 0))
    model = PlugInClassifier(learner.fit(X, TWO) if prefit else learner, prefit=prefit).fit(X, TWO)
    assert model.classes_.tolist() == [0, 1]
    assert np.mean(model.predict(X) == TWO) > 0.9
    assert np.mean(model.predict_proba(X)[:, 1].round() == TWO) > 0.9


def _with_nan(values):
    values = np.array(values, dtype=np.float64)
    values[3] = np.nan
    return values


@pytest.mark.parametrize("y", [TWO, THREE])
@pytest.mark.parametrize(
    ("alter", "method", "message"),
    [
        (
            _with_nan,
            "predict_proba",
            r"Altered.predict_proba returned NaN or infinity for 1 of \d+ samples.*position 3",
        ),
        (_with_nan, "decision_function", "Altered.decision_function returned NaN or infinity"),
        (lambda v: v * np.inf, "decision_function", "returned NaN or infinity"),
        (lambda v: v * 100.0, "predict_proba", "probabilities are between 0 and 1"),
        (lambda v: v[:, -1], "predict_proba", r"an array of shape \(\d+,\).*one column per label"),
        (lambda v: v[:, :1], "predict_proba", "one column per label"),
        (lambda v: v[:-1], "predict_proba", "one row per sample"),
        (lambda v: v[:0], "decision_function", "returned an array of shape"),
        (lambda v: np.zeros((len(v), 7)), "decision_function", "returned an array of shape"),
        (lambda v: v.astype(str), "predict_proba", "no array of real numbers"),
        (lambda v: v + 1j, "predict_proba", "no array of real numbers"),
        (lambda v: None, "predict_proba", "returned"),
        (lambda v: sparse.csr_matrix(v), "predict_proba", "a csr_matrix that is no array"),
        (lambda v: [*v.tolist()[:-1], [0.5]], "predict_proba", "a list that is no array"),
    ],
)
def test_unusable_scores_are_refused(y, alter, method, message):
    with pytest.raises(ValueError, match=message):
        PlugInClassifier(Altered(alter, method), "accuracy").fit(X, y)


def test_probabilities_in_the_order_of_the_classes_are_not_copied(monkeypatch):
    model, given = LogisticRegression().fit(X, THREE), np.full((90, 3), 1 / 3)
    monkeypatch.setattr(model, "predict_proba", lambda X: given)
    assert class_probabilities(model, X, np.arange(3)) is given
    assert class_probabilities(model, X, np.arange(4)).shape == (90, 4)


@pytest.mark.parametrize("limits", [True, False])
def test_few_samples_use_one_thread_for_scores_alone(monkeypatch, limits):
    model, seen = LogisticRegression().fit(X, TWO), []
    predict = model.predict_proba
    monkeypatch.setattr(model, "predict_proba", lambda X: seen.append(threads.available_threads()) or predict(X))
    monkeypatch.setattr(threads, "available_cores", lambda: 4)
    if limits:
        binary_scores(model, X, np.arange(2), 1)
    else:
        class_probabilities(model, X, np.arange(2))
    assert seen == [1 if limits else 4]


@pytest.mark.parametrize(
    ("classes", "message"),
    [
        ("none", "has no classes_"),
        (["0", "1"], r"classes_=\['0', '1'\].*not among"),
        ([0, 99], r"\[99\] are not among"),
        ([0, 0], "repeats labels"),
        ([1], r"knows the class \[1\] alone"),
        ([[0, 1]], r"classes_ of the trained Altered has the shape"),
    ],
)
@pytest.mark.parametrize("make", [PlugInClassifier, TriageClassifier, CostSensitiveClassifier])
def test_unusable_classes_are_refused(make, classes, message):
    settings = {"capacity": 0.3} if make is TriageClassifier else {}
    with pytest.raises((TypeError, ValueError), match=message):
        make(Altered(lambda values: values, "predict_proba", classes), **settings).fit(X, TWO)


def test_a_learner_of_several_labels_is_refused():
    learner = RandomForestClassifier(2, random_state=0).fit(X, np.column_stack([np.arange(len(X)) % 3, TWO]))
    with pytest.raises(ValueError, match=r"classes_ of the trained RandomForestClassifier .* must list labels"):
        PlugInClassifier(learner, prefit=True).fit(X, TWO)


def test_labels_of_another_type_are_unknown_to_a_prefitted_learner():
    learner = LogisticRegression().fit(X, TWO.astype(str))
    with pytest.raises(ValueError, match="does not know"):
        PlugInClassifier(learner, prefit=True).fit(X, TWO)
