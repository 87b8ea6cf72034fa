"""Decisions that cannot be combined: a named error instead of a guarantee of something else."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

from metricwise import CostMatrix, PlugInClassifier, Profit, TriageClassifier, UndeterminedPriorError, adapt_prior
from metricwise.decisions.out_of_fold import assign_folds
from metricwise.designs import make_design

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(600, 2))
NOISY = X.sum(axis=1) + RANDOM.normal(size=600)
Y = (NOISY > 0.5).astype(int)
THREE = np.digitize(NOISY, [-0.5, 1.0])
REGION = pd.DataFrame({"region": np.where(RANDOM.random(600) < 0.5, "north", "south")})
LEARNER = LogisticRegression()
BY_REGION = {"subject_to": "recall>=0.5 by region", "confidence": None}


@pytest.mark.parametrize("given", ["recall>=0.9 of 0 by region"])
def test_constraints_by_group_name_no_class(given):
    with pytest.raises(ValueError, match="on the positive class: leave 'of 0' out"):
        PlugInClassifier(LEARNER, subject_to=given).fit(X, Y, sensitive_features=REGION)


def test_constraints_of_reviews_name_no_class():
    with pytest.raises(ValueError, match="leave 'of 0' out"):
        TriageClassifier(LEARNER, subject_to="precision>=0.7 of 0").fit(X, Y)


def test_constraints_by_group_are_for_two_classes():
    with pytest.raises(ValueError, match="by group are for two classes"):
        PlugInClassifier(LEARNER, "f1_macro", **BY_REGION).fit(X, THREE, sensitive_features=REGION)


def test_constraints_by_group_are_not_for_amounts_per_sample():
    with pytest.raises(ValueError, match="give the Profit numbers"):
        PlugInClassifier(LEARNER, Profit(tp=1, fp=-1), **BY_REGION).fit(
            X, Y, sensitive_features=REGION, tp=np.ones(600)
        )


def test_one_sample_determines_no_prior():
    with pytest.raises(UndeterminedPriorError, match="anything from 0 to 1, given 1 samples"):
        adapt_prior(PlugInClassifier(LEARNER).fit(X, Y), X[:1])


def test_models_without_one_threshold_are_not_adapted():
    by_region = PlugInClassifier(LEARNER, **BY_REGION).fit(X, Y, sensitive_features=REGION)
    with pytest.raises(ValueError, match="are by group, each of which has its own"):
        adapt_prior(by_region, prior=0.3)
    earning = PlugInClassifier(LEARNER, Profit(tp=1, fp=-1)).fit(X, Y, tp=np.ones(600))
    costs = PlugInClassifier(LEARNER, CostMatrix(1.0 - np.eye(3))).fit(X, THREE)
    for model in (earning, costs):
        with pytest.raises(ValueError, match="what each sample earns or costs"):
            adapt_prior(model, prior=0.3)


def test_thresholds_of_groups_are_calibrated_probabilities():
    model = PlugInClassifier(GaussianNB(), **BY_REGION, group_thresholds=True, calibrate=True)
    repeated = np.column_stack([X, X, X])
    model.fit(repeated, Y, sensitive_features=REGION)
    thresholds = REGION.region.map(model.group_thresholds_).to_numpy()
    predicted = model.predict(repeated, sensitive_features=REGION)
    np.testing.assert_array_equal(model.predict_proba(repeated)[:, 1] > thresholds, predicted == 1)


def test_savings_take_the_groups():
    model = PlugInClassifier(LEARNER, Profit(tp=10, fp=-5, fn=-10), **BY_REGION, group_thresholds=True)
    model.fit(X, Y, sensitive_features=REGION)
    low, high = model.savings_interval(X, Y, sensitive_features=REGION)
    assert low <= model.savings(X, Y, sensitive_features=REGION) <= high


def test_copies_of_a_dozen_values_are_in_both_halves():
    """Otherwise a test of a guarantee would not be on samples like new ones."""
    values = RANDOM.integers(0, 12, 3000)
    folds = assign_folds(make_design(values[:, None].astype(float)), RANDOM.random(3000) < 0.4, 2, seed=0)
    assert folds is not None
    assert all(set(folds[values == one]) == {0, 1} for one in range(12))
