"""Precision, recall, specificity and negative predictive value: for evaluation and constraints, not to train for."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import precision_score, recall_score

from metricwise import CostSensitiveClassifier, MetricClassifier, MultivariateSVC, PlugInClassifier, STAMPClassifier
from metricwise.decisions.guarantees import Constraint
from metricwise.measures import Share, get_measure

X, Y = make_classification(600, weights=[0.8], random_state=0)
SCORERS = {
    "precision": precision_score,
    "recall": recall_score,
    "specificity": lambda y, labels: recall_score(y, labels, pos_label=0),
    "npv": lambda y, labels: precision_score(y, labels, pos_label=0),
}


@pytest.mark.parametrize("name", SCORERS)
def test_shares_equal_those_of_scikit_learn(name):
    random = np.random.default_rng(0)
    y, labels = random.integers(0, 2, (2, 50))
    assert get_measure(name).score(y, labels) == pytest.approx(SCORERS[name](y, labels))


def test_averages_and_other_spellings_are_found():
    y, labels = [0, 1, 2, 2], [0, 2, 2, 1]
    assert get_measure("precision_macro").score(y, labels) == pytest.approx(
        precision_score(y, labels, average="macro", zero_division=0)
    )
    assert get_measure("negative-predictive-value") == get_measure("npv") == Share("npv")
    assert Constraint.of(("negative_predictive_value", ">=", 0.9)) == Constraint.of(("npv", ">=", 0.9))


@pytest.mark.parametrize("name", SCORERS)
@pytest.mark.parametrize(
    "make",
    [
        lambda name: PlugInClassifier(LogisticRegression(), name),
        lambda name: PlugInClassifier(LogisticRegression(), name, subject_to=[(name, ">=", 0.5)]),
        lambda name: CostSensitiveClassifier(LogisticRegression(), name),
        lambda name: MetricClassifier(name, candidates=["logistic"]),
        MultivariateSVC,
        STAMPClassifier,
    ],
)
def test_a_share_alone_is_refused_with_what_to_do(name, make):
    with pytest.raises((TypeError, ValueError), match=f"'{name}' alone is greatest for a classifier that.*subject_to"):
        make(name).fit(X, Y)


def test_a_share_under_a_constraint_on_another_is_trained_for():
    model = PlugInClassifier(LogisticRegression(), "recall", subject_to=[("precision", ">=", 0.6)]).fit(X, Y)
    assert precision_score(Y, model.predict(X)) >= 0.6
    assert model.score(X, Y) == pytest.approx(recall_score(Y, model.predict(X)))


def test_label_averages_of_a_share_are_refused():
    with pytest.raises(ValueError, match="'recall_macro' cannot be trained for, label by label"):
        PlugInClassifier(LogisticRegression(), "recall_macro").fit(X, np.column_stack([Y, 1 - Y]))
