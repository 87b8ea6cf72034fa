"""STAMP: stages of growing length, and class costs that follow the challenge level."""

from __future__ import annotations

import numpy as np
import pytest

from metricwise import FBeta, GowerLegendre, Jaccard, STAMPClassifier, contingency_measure
from metricwise.kernels import streaming
from metricwise.measures import Accuracy, CohenKappa
from metricwise.solvers.point_updates import PointSettings
from metricwise.solvers.stamp import Stamp
from metricwise.solvers.stream_data import StreamData


def tversky(tp, fp, fn, tn):
    return tp / (tp + 0.3 * fp + 0.7 * fn)


def tversky_ratio(theta):
    return 0.0, 1.0, 0.0, 0.7 + 0.3 * theta, 0.3, -0.3 * theta


TVERSKY = contingency_measure(tversky, "tversky", ratio=tversky_ratio)
MEASURES = [FBeta(), FBeta(beta=2.0), FBeta(beta=0.5), Jaccard(), GowerLegendre(), Accuracy(), CohenKappa(), TVERSKY]
each_measure = pytest.mark.parametrize("measure", MEASURES, ids=lambda m: f"{m.name}-{getattr(m, 'beta', '')}")


def make_samples(n=8000, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    positive = X @ [1.0, -1.0, 0.5, 0.0] + 0.7 * rng.normal(size=n) > 1.5
    return X, positive


def record_stages(measure, settings=None, n=8000):
    """Return (position, estimating, level, cost of a positive, cost of a negative) at the start of every stage."""
    settings = settings or PointSettings(prior=0.2)
    X, positive = make_samples(n)
    learner, data = Stamp(measure, settings), StreamData(X, positive, np.ones(n))
    state = learner.start(X.shape[1], is_sparse=False)
    found, before = [], None
    for start in range(0, n, 25):  # no stage is shorter
        if state.estimating != before:
            alpha, beta = state.numbers[[streaming.ALPHA, streaming.BETA]]
            found.append((state.position, state.estimating, state.level, alpha / 0.2, beta / 0.8))
            before = state.estimating
        learner.learn(state, data, np.arange(start, start + 25))
    return found


def test_epochs_double_from_a_hundred_samples():
    found = record_stages(FBeta())
    lengths = np.diff([position for position, *_ in found])
    assert [estimating for _, estimating, *_ in found] == [k % 2 == 1 for k in range(len(found))]
    assert lengths[0::2].tolist() == [100 * 2**k for k in range(len(lengths[0::2]))]
    assert lengths[1::2].tolist() == [25 * 2**k for k in range(len(lengths[1::2]))]
    assert len(lengths) >= 10


def test_samples_of_the_estimation_are_not_learnt_from():
    X, positive = make_samples(125)
    learner, data = Stamp(FBeta(), PointSettings()), StreamData(X, positive, np.ones(125))
    state = learner.start(X.shape[1], is_sparse=False)
    learner.learn(state, data, np.arange(100))
    assert state.estimating
    before = state.average()
    learner.learn(state, data, np.arange(100, 124))
    np.testing.assert_array_equal(state.average()[0], before[0])
    assert state.numbers[streaming.N_SAMPLES] == 100 and state.position == 124


@each_measure
def test_levels_are_values_of_the_measure(measure):
    levels = [level for _, _, level, *_ in record_stages(measure)]
    assert levels[0] == 0.5
    assert len(set(levels)) > 3
    assert all(0.0 <= level <= 1.0 for level in levels)


@each_measure
def test_costs_are_the_slopes_of_the_challenge(measure):
    theta = 0.8 / 0.2
    _, a1, a2, _, b1, b2 = measure.ratio(theta)
    for _, _, level, positive, negative in record_stages(measure, n=2000):
        assert positive * 0.2 * (a2 - level * b2) == pytest.approx(negative * 0.8 * (a1 - level * b1))
        assert positive * 0.2 + negative * 0.8 == pytest.approx(1.0)


@pytest.mark.parametrize("beta", [0.5, 1.0, 2.0])
def test_costs_for_f_beta_follow_the_level(beta):
    """A positive sample costs 1 + beta^2 - v, a negative one v."""
    for _, _, level, positive, negative in record_stages(FBeta(beta=beta), n=2000):
        assert positive / negative == pytest.approx((1.0 + beta**2 - level) / level)


def test_costs_for_jaccard_follow_the_level():
    for _, _, level, positive, negative in record_stages(Jaccard(), n=2000):
        assert positive / negative == pytest.approx(1.0 / level)


def test_costs_for_accuracy_are_equal():
    for _, _, _, positive, negative in record_stages(Accuracy(), n=2000):
        assert positive == pytest.approx(negative)


def test_a_custom_measure_is_learnt():
    X, positive = make_samples()
    half = len(X) // 2
    model = STAMPClassifier(TVERSKY).fit(X[:half], positive[:half])
    level = model.result_.history[-1].duals[0]
    assert model.score(X[half:], positive[half:]) > 0.65
    assert level == pytest.approx(model.score(X[half:], positive[half:]), abs=0.08)


def test_levels_estimate_the_score_on_new_samples():
    """The last level is close to the score on new samples."""
    X, positive = make_samples(20_000, seed=3)
    model = STAMPClassifier("f1").partial_fit(X[:15_000], positive[:15_000], classes=[False, True])
    level = model.result_.history[-1].duals[0]
    assert level == pytest.approx(model.score(X[15_000:], positive[15_000:]), abs=0.05)


def test_a_measure_without_slopes_raises():
    """Its ratio has no slope in either rate at the first level of one half."""

    def constant(tp, fp, fn, tn):
        return 0.0 * tp + 0.5

    measure = contingency_measure(constant, "constant", ratio=constant_ratio)
    X, positive = make_samples(300)
    model = STAMPClassifier(measure)
    with pytest.raises(ValueError, match="'constant' rewards neither true positives nor true negatives"):
        model.fit(X, positive)
    assert not hasattr(model, "classes_")


def constant_ratio(theta):
    return 0.5, 0.0, 0.0, 1.0, 0.0, 0.0
