"""Class costs: the gain of a measure per additional correct label of each class, from its definition."""

from __future__ import annotations

import numpy as np
import pytest

from metricwise import CohenKappa, FBeta, GMean, GowerLegendre, HMean, Jaccard, MinRate, QMean, contingency_measure
from metricwise.measures import get_measure, registered_names
from metricwise.solvers.class_costs import NEEDS, compute_class_costs, slopes

RATIOS = [FBeta(), FBeta(2.0), Jaccard(), GowerLegendre(0.5), GowerLegendre(2.0), CohenKappa()]
CONCAVE = [GMean(), HMean(), QMean()]
TABLES = [(30.0, 20.0, 20.0, 130.0), (80.0, 5.0, 40.0, 60.0), (7.5, 12.0, 1.5, 300.0)]


def measure_gains(measure, table, step=1e-4):
    """Return the gain of the measure from slightly more correctly labelled weight of each class."""
    tp, fp, fn, tn = table
    pos = measure.value(tp + step, fp, fn - step, tn) - measure.value(tp - step, fp, fn + step, tn)
    neg = measure.value(tp, fp - step, fn, tn + step) - measure.value(tp, fp + step, fn, tn - step)
    return pos, neg


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("measure", RATIOS, ids=str)
def test_class_costs_of_a_ratio_are_its_gains_per_sample(measure, table):
    costs = compute_class_costs(measure, table)
    pos, neg = measure_gains(measure, table)
    assert costs.pos / costs.neg == pytest.approx(pos / neg, rel=1e-5)


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("measure", CONCAVE, ids=str)
def test_class_costs_of_a_concave_measure_are_its_gains_per_sample(measure, table):
    many = tuple(1e6 * count for count in table)  # so many samples that finite differences are close to slopes
    costs = compute_class_costs(measure, many)
    pos, neg = measure_gains(measure, table)
    assert costs.pos / costs.neg == pytest.approx(pos / neg, rel=1e-4)


@pytest.mark.parametrize("name", registered_names(NEEDS))
@pytest.mark.parametrize("table", TABLES)
def test_the_mean_cost_over_samples_is_one(name, table):
    tp, fp, fn, tn = table
    costs = compute_class_costs(get_measure(name), table)
    assert (tp + fn) * costs.pos + (tn + fp) * costs.neg == pytest.approx(sum(table))
    assert min(costs) >= 0.0


@pytest.mark.parametrize("beta", [0.5, 1.0, 2.0])
def test_class_costs_of_f_beta_equal_the_formula(beta):
    measure = FBeta(beta)
    level = measure.value(*TABLES[0])
    costs = compute_class_costs(measure, TABLES[0])
    assert costs.pos / costs.neg == pytest.approx((1 + beta**2 - level) / level)
    costs = compute_class_costs(Jaccard(), TABLES[0])
    assert costs.pos / costs.neg == pytest.approx(1.0 / Jaccard().value(*TABLES[0]))
    assert compute_class_costs(get_measure("accuracy"), TABLES[0]) == pytest.approx((1.0, 1.0))
    costs = compute_class_costs(get_measure("balanced_accuracy"), TABLES[0])
    assert costs == pytest.approx((200 / 100, 200 / 300))


def test_class_costs_of_a_user_defined_ratio():
    own = contingency_measure(
        lambda tp, fp, fn, tn: tp / (tp + fp + fn), "mine", ratio=lambda theta: (0, 1, 0, 1 + theta, 0, -theta)
    )
    assert compute_class_costs(own, TABLES[1]) == pytest.approx(compute_class_costs(Jaccard(), TABLES[1]))


def test_a_class_that_cannot_change_the_measure_costs_nothing():
    assert compute_class_costs(FBeta(), (0.0, 5.0, 20.0, 100.0)).neg == 0.0
    assert compute_class_costs(MinRate(), (10.0, 10.0, 90.0, 900.0)).neg == 0.0


def test_slopes_are_finite_and_averaged_at_a_kink():
    assert slopes(MinRate(), 0.6, 0.6, 0.05) == pytest.approx((0.5, 0.5))
    assert slopes(MinRate(), 0.6, 0.62, 0.05) == pytest.approx((0.7, 0.3))
    assert np.isfinite(slopes(GMean(), 0.0, 1.0, 0.05)).all()
    assert np.isfinite(compute_class_costs(QMean(), (20.0, 0.0, 0.0, 100.0))).all()
