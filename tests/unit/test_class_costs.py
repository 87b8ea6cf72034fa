"""Prices of the classes: what a right label more of each class adds to a measure, from its definition."""

from __future__ import annotations

import numpy as np
import pytest

from metricwise import CohenKappa, FBeta, GMean, GowerLegendre, HMean, Jaccard, MinRate, QMean, contingency_measure
from metricwise.measures import get_measure, registered_names
from metricwise.solvers.class_costs import NEEDS, compute_class_costs, slopes

RATIOS = [FBeta(), FBeta(2.0), Jaccard(), GowerLegendre(0.5), GowerLegendre(2.0), CohenKappa()]
CONCAVE = [GMean(), HMean(), QMean()]
TABLES = [(30.0, 20.0, 20.0, 130.0), (80.0, 5.0, 40.0, 60.0), (7.5, 12.0, 1.5, 300.0)]


def value_of_samples(measure, table, step=1e-4):
    """What the measure gains by labelling rightly a little more of a positive, and of a negative, sample."""
    tp, fp, fn, tn = table
    pos = measure.value(tp + step, fp, fn - step, tn) - measure.value(tp - step, fp, fn + step, tn)
    neg = measure.value(tp, fp - step, fn, tn + step) - measure.value(tp, fp + step, fn, tn - step)
    return pos, neg


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("measure", RATIOS, ids=str)
def test_costs_of_a_ratio_are_what_samples_add_to_it(measure, table):
    prices = compute_class_costs(measure, table)
    pos, neg = value_of_samples(measure, table)
    assert prices.pos / prices.neg == pytest.approx(pos / neg, rel=1e-5)


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("measure", CONCAVE, ids=str)
def test_costs_of_a_concave_measure_are_what_samples_add_to_it(measure, table):
    many = tuple(1e6 * count for count in table)  # so many samples that slopes are taken over next to no room
    prices = compute_class_costs(measure, many)
    pos, neg = value_of_samples(measure, table)
    assert prices.pos / prices.neg == pytest.approx(pos / neg, rel=1e-4)


@pytest.mark.parametrize("name", registered_names(NEEDS))
@pytest.mark.parametrize("table", TABLES)
def test_the_mean_cost_of_samples_is_one(name, table):
    tp, fp, fn, tn = table
    prices = compute_class_costs(get_measure(name), table)
    assert (tp + fn) * prices.pos + (tn + fp) * prices.neg == pytest.approx(sum(table))
    assert min(prices) >= 0.0


@pytest.mark.parametrize("beta", [0.5, 1.0, 2.0])
def test_known_costs(beta):
    measure = FBeta(beta)
    level = measure.value(*TABLES[0])
    prices = compute_class_costs(measure, TABLES[0])
    assert prices.pos / prices.neg == pytest.approx((1 + beta**2 - level) / level)
    prices = compute_class_costs(Jaccard(), TABLES[0])
    assert prices.pos / prices.neg == pytest.approx(1.0 / Jaccard().value(*TABLES[0]))
    assert compute_class_costs(get_measure("accuracy"), TABLES[0]) == pytest.approx((1.0, 1.0))
    prices = compute_class_costs(get_measure("balanced_accuracy"), TABLES[0])
    assert prices == pytest.approx((200 / 100, 200 / 300))


def test_a_ratio_of_the_users_own():
    own = contingency_measure(
        lambda tp, fp, fn, tn: tp / (tp + fp + fn), "mine", ratio=lambda theta: (0, 1, 0, 1 + theta, 0, -theta)
    )
    assert compute_class_costs(own, TABLES[1]) == pytest.approx(compute_class_costs(Jaccard(), TABLES[1]))


def test_classes_without_a_cost():
    assert compute_class_costs(FBeta(), (0.0, 5.0, 20.0, 100.0)).neg == 0.0
    assert compute_class_costs(MinRate(), (10.0, 10.0, 90.0, 900.0)).neg == 0.0


def test_slopes_are_finite_and_meet_in_the_middle_of_a_kink():
    assert slopes(MinRate(), 0.6, 0.6, 0.05) == pytest.approx((0.5, 0.5))
    assert slopes(MinRate(), 0.6, 0.62, 0.05) == pytest.approx((0.7, 0.3))
    assert np.isfinite(slopes(GMean(), 0.0, 1.0, 0.05)).all()
    assert np.isfinite(compute_class_costs(QMean(), (20.0, 0.0, 0.0, 100.0))).all()
