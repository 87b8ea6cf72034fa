"""The cost of a mistake in each class, at the contingency table that a classifier has reached.

A learner that minimises weighted mistakes optimises a measure of the rates P = tp/n+ and N = tn/n- if its class weights
are the measure's slopes at that table:

- a ratio (a0 + a1 P + a2 N) / (b0 + b1 P + b2 N) at the level v: a1 - v b1 for P and a2 - v b2 for N, as in AMP
  (Narasimhan, Kar and Jain 2015, Algorithm 2);
- a concave function: its slopes, as in the method of Frank and Wolfe (Narasimhan et al. 2015, *Consistent Multiclass
  Algorithms for Complex Performance Measures*).

Each sample of a class gets an equal share of the slope by the class's rate.
"""

from __future__ import annotations

import math

from metricwise.measures import Measure
from metricwise.measures.base import CountsTable
from metricwise.measures.rate_capabilities import ConcaveInRates, RatioOfRates
from metricwise.solvers.amp_problem import ClassCosts, make_level_ratio

NEEDS = (RatioOfRates, ConcaveInRates)


def compute_class_costs(measure: Measure, table: tuple[float, float, float, float]) -> ClassCosts:
    """Return the cost of a mistake on a positive and on a negative sample; the mean over all samples is 1.

    Parameters
    ----------
    measure : Measure
        A function of the contingency table that is a ratio of rates or concave in them.
    table : tuple of float
        True positives, false positives, false negatives and true negatives, with samples of both classes.

    Examples
    --------
    >>> from metricwise.measures import FBeta
    >>> costs = compute_class_costs(FBeta(), (30.0, 20.0, 20.0, 130.0))  # F1 is 0.6
    >>> round(costs.pos / costs.neg, 9)  # (2 - 0.6) / 0.6
    2.333333333
    """
    tp, fp, fn, tn = table
    n_pos, n_neg = tp + fn, tn + fp
    assert isinstance(measure, CountsTable)
    if isinstance(measure, RatioOfRates):
        slope = make_level_ratio(measure, n_neg / n_pos).class_costs(float(measure.value(*table)))
    else:
        assert isinstance(measure, ConcaveInRates)
        # Rates are known up to the standard error of the minority class's rate.
        room = min(0.25, 0.5 / math.sqrt(min(n_pos, n_neg)))
        slope = slopes(measure, tp / n_pos, tn / n_neg, room)
    total = slope.pos + slope.neg
    share = (n_pos + n_neg) / total if total > 0.0 else 0.0
    return ClassCosts(share * slope.pos / n_pos, share * slope.neg / n_neg)


def slopes(measure: ConcaveInRates, tpr: float, tnr: float, room: float) -> ClassCosts:
    """Return the slopes of a measure at two rates, as mean slopes over ``room`` on both sides.

    Where a measure has a kink, such as the lesser of two rates where they are equal, the result lies between the slopes
    on either side; where a slope is unbounded, such as that of the geometric mean at 0, it is finite here.

    Examples
    --------
    >>> from metricwise.measures import MinRate
    >>> slopes(MinRate(), 0.75, 0.75, room=0.125)
    ClassCosts(pos=0.5, neg=0.5)
    """
    value = measure.rate_value
    tpr, tnr = (min(max(rate, room), 1.0 - room) for rate in (tpr, tnr))
    pos = float(value(tpr + room, tnr) - value(tpr - room, tnr)) / (2.0 * room)
    neg = float(value(tpr, tnr + room) - value(tpr, tnr - room)) / (2.0 * room)
    return ClassCosts(pos, neg)
