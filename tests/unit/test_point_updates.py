"""The kernels of point updates equal a slow reference written from the definition; absent features cost nothing."""

from __future__ import annotations

import math
import tracemalloc

import numpy as np
import pytest
from scipy import sparse

from metricwise import GMean, HMean, MinRate, QMean, SPADEClassifier
from metricwise.kernels import dual_regions, streaming
from metricwise.kernels.random_numbers import FEW_VALUES, shuffle, shuffle_many
from metricwise.measures import BalancedAccuracy
from metricwise.solvers.point_updates import PointSettings
from metricwise.solvers.spade import Spade
from metricwise.solvers.stream_data import StreamData
from metricwise.solvers.stream_state import StreamState

REGIONS = {
    "fixed": streaming.FIXED_COSTS,
    "point": dual_regions.POINT,
    "simplex": dual_regions.SIMPLEX,
    "roots": dual_regions.ROOTS,
    "disc": dual_regions.DISC,
    "hyperbola": dual_regions.HYPERBOLA,
}
MEASURES = {
    "point": BalancedAccuracy(),
    "simplex": MinRate(),
    "roots": HMean(),
    "disc": QMean(),
    "hyperbola": GMean(),
}


class Reference:
    """Point updates by their definition: weights of standardised features and the sum of all models are explicit."""

    def __init__(self, n_features, mean, precision, settings, region, square):
        self.mean, self.deviation = mean, np.zeros(n_features)
        self.deviation[precision > 0.0] = 1.0 / np.sqrt(precision[precision > 0.0])
        self.used = precision > 0.0
        self.settings, self.region, self.square = settings, region, square
        self.w, self.b = np.zeros(n_features), 0.0
        self.total_w, self.total_b, self.shares = np.zeros(n_features), 0.0, 0.0
        self.n_samples, self.seen = 0, np.zeros(2)
        self.slopes = np.array([0.5, 0.5])

    def standardise(self, x):
        out = np.zeros(x.size)
        out[self.used] = (x - self.mean)[self.used] / self.deviation[self.used]
        return out

    def learn(self, x, positive, weight):
        settings, plain = self.settings, self.settings.schedule == "paper"
        self.n_samples += 1
        self.seen += weight * np.array([positive, not positive])
        if plain or self.n_samples <= 256 or self.n_samples % 16 == 0:
            self.known = self.n_samples, self.seen.copy()
        n_samples, seen = self.known
        prior = settings.prior or (seen[0] + 1.0) / (seen.sum() + 2.0)
        decay = n_samples**-0.5 if plain else math.sqrt(1000.0 / (1000.0 + n_samples))
        eta = settings.eta0 * decay if plain else settings.eta0 / self.square * decay
        u, truth = self.standardise(x), 1.0 if positive else -1.0
        margin = truth * (self.w @ u + self.b)
        side, share = (0, prior) if positive else (1, 1.0 - prior)
        cost = weight * self.slopes[side] / share
        if self.region is not streaming.FIXED_COSTS:
            self.descend(side, share, weight, margin, prior, decay)
        self.w *= max(1.0 - eta * settings.alpha, 0.0)
        square = u @ u + settings.intercept
        if margin < 1.0 and cost > 0.0 and square > 0.0:
            length = eta * cost if plain else min(eta * cost, (1.0 - margin) / square)
            self.w += truth * length * u
            self.b += truth * length * settings.intercept
        self.add_to_average(1.0 if plain else self.n_samples)

    def descend(self, side, share, weight, margin, prior, decay):
        reward = min(1.0, margin)
        if self.region == dual_regions.HYPERBOLA:
            reward += self.known[0] ** -0.25
        gradient = np.zeros(2)
        gradient[side] = reward / share
        if self.region == dual_regions.DISC:
            gradient -= 1.0
        step = 0.5 * decay * math.sqrt(min(prior, 1.0 - prior)) * weight
        self.slopes = np.array(dual_regions.project(self.region, *(self.slopes - step * gradient)))
        if self.region == dual_regions.HYPERBOLA:  # also within a square: rates are raised above zero
            raised = self.known[0] ** -0.25
            steepest = 0.5 * math.sqrt((1.0 + raised) / raised)
            self.slopes = np.clip(self.slopes, 0.25 / steepest, steepest)

    def compute_raw_model(self, w, b):
        weights = np.zeros(w.size)
        weights[self.used] = w[self.used] / self.deviation[self.used]
        return weights, b - weights @ self.mean

    def add_to_average(self, share):
        weights, bias = self.compute_raw_model(self.w, self.b)
        self.total_w += share * weights
        self.total_b += share * bias
        self.shares += share

    def average(self):
        return self.total_w / self.shares, self.total_b / self.shares


def make_samples(n=400, schedule="adaptive"):
    """Return samples whose features have any scale; about one scale for the paper's schedule, which does not adapt."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 6)) * [1.0, 10.0, 0.1, 3.0, 1.0, 0.5] + [0.0, 5.0, 0.0, -2.0, 1.0, 0.0]
    X[rng.random(X.shape) < 0.4] = 0.0
    positive = X @ [1.0, 0.05, 4.0, 0.2, 0.0, 1.0] + 0.5 * rng.normal(size=n) > 1.2
    if schedule == "paper":
        X *= [0.4, 0.04, 4.0, 0.13, 0.4, 0.8]
    return X, positive, rng.integers(1, 4, size=n).astype(float)


def compute_statistics(X, schedule, is_sparse):
    """Return mean, precision and squared length of a sample before the pass, with one feature treated as constant."""
    d = X.shape[1]
    if schedule == "paper":
        return np.zeros(d), np.ones(d), 1.0
    mean = np.zeros(d) if is_sparse else X.mean(axis=0)
    precision = 1.0 / np.mean((X - mean) ** 2, axis=0)
    if not is_sparse:
        mean[4] = precision[4] = 0.0
    return mean, precision, 1.0 + d


def train(X, positive, weights, settings, region, is_sparse, order=None):
    """Return a state that is trained on samples with fixed statistics."""
    mean, precision, square = compute_statistics(X, settings.schedule, is_sparse)
    state = StreamState.fresh(X.shape[1], is_sparse, scaling=True)
    state.mean[:], state.precision[:], state.square = mean, precision, square
    data = StreamData(sparse.csr_matrix(X) if is_sparse else X, positive, weights)
    order = np.arange(len(X)) if order is None else order
    data.learn(order, state, settings.numbers(state), region, settings.plain, float(settings.intercept))
    return state


def assert_equal_to_reference(state, reference, tolerance=1e-9):
    weights, bias = state.average()
    expected, expected_bias = reference.average()
    np.testing.assert_allclose(weights, expected, rtol=tolerance, atol=tolerance)
    assert bias == pytest.approx(expected_bias, rel=tolerance, abs=tolerance)
    numbers = state.numbers
    last, last_bias = reference.compute_raw_model(reference.w, reference.b)
    np.testing.assert_allclose(numbers[streaming.SCALE] * state.v, last, rtol=tolerance, atol=tolerance)
    offset = numbers[streaming.BIAS] - numbers[streaming.SCALE] * numbers[streaming.OFFSET]
    assert offset == pytest.approx(last_bias, rel=tolerance, abs=tolerance)
    np.testing.assert_allclose(numbers[[streaming.ALPHA, streaming.BETA]], reference.slopes, rtol=tolerance)
    np.testing.assert_allclose(numbers[[streaming.POS_WEIGHT, streaming.NEG_WEIGHT]], reference.seen)


@pytest.mark.parametrize("region", REGIONS)
@pytest.mark.parametrize("schedule", ["adaptive", "paper"])
@pytest.mark.parametrize("is_sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize(
    "options",
    [{}, {"alpha": 0.0}, {"alpha": 0.7}, {"intercept": False}, {"prior": 0.2}, {"eta0": 3.0}, {"alpha": 50.0}],
    ids=["plain", "no regulariser", "regulariser", "no intercept", "prior", "long steps", "regulariser beyond zero"],
)
def test_kernels_follow_the_definition(region, schedule, is_sparse, options):
    X, positive, weights = make_samples(schedule=schedule)
    settings = PointSettings(schedule=schedule, **options)
    state = train(X, positive, weights, settings, REGIONS[region], is_sparse)
    mean, precision, square = compute_statistics(X, schedule, is_sparse)
    reference = Reference(X.shape[1], mean, precision, settings, REGIONS[region], square)
    for sample in zip(X, positive, weights, strict=True):
        reference.learn(*sample)
    assert np.any(reference.total_w)
    assert_equal_to_reference(state, reference)


@pytest.mark.parametrize("region", MEASURES)
@pytest.mark.parametrize("weighted", [False, True], ids=["unweighted", "weighted"])
def test_sparse_and_dense_samples_give_the_same_model_of_raw_features(region, weighted):
    X, positive, weights = make_samples(1000, schedule="paper")
    weights = weights if weighted else np.ones(len(X))
    learner = Spade(MEASURES[region], PointSettings(schedule="paper", eta0=0.3))
    models = []
    for matrix in (X, sparse.csr_matrix(X)):
        state = learner.start(X.shape[1], sparse.issparse(matrix))
        learner.learn(state, StreamData(matrix, positive, weights), np.arange(len(X)))
        models.append(np.append(*state.average()))
    np.testing.assert_allclose(models[1], models[0], rtol=1e-9, atol=1e-12)
    assert np.all(models[0][:4] != 0.0)


def test_the_first_sample_changes_the_average():
    X = np.array([[3.0, 4.0]])
    learner = Spade(BalancedAccuracy(), PointSettings(schedule="paper", eta0=0.1, alpha=0.0, prior=0.5))
    for matrix in (X, sparse.csr_matrix(X)):
        state = learner.start(2, sparse.issparse(matrix))
        learner.learn(state, StreamData(matrix, np.array([True]), np.ones(1)), np.arange(1))
        weights, bias = state.average()
        np.testing.assert_allclose(np.append(weights, bias), [0.3, 0.4, 0.1])


# ------------------------------------------------------------------------------------------------------------ landmarks


def get_models(state):
    """Return the weights of the last model and of the average, each with its bias."""
    numbers = state.numbers
    bias = numbers[streaming.BIAS] - numbers[streaming.SCALE] * numbers[streaming.OFFSET]
    return np.append(numbers[streaming.SCALE] * state.v, bias), np.append(*state.average())


@pytest.mark.parametrize("is_sparse", [False, True], ids=["dense", "sparse"])
def test_landmarks_change_statistics_and_not_the_model(is_sparse):
    X, positive, weights = make_samples()
    state = train(X, positive, weights, PointSettings(), dual_regions.HYPERBOLA, is_sparse)
    before, precision = get_models(state), state.precision.copy()
    moved = 7.0 * X + 3.0 * (X != 0.0)
    state.observe(StreamData(sparse.csr_matrix(moved) if is_sparse else moved, positive, weights), np.arange(len(X)))
    state.position = len(X)
    state.pass_landmark(scaling=True)
    assert not np.allclose(state.precision, precision)
    for left, right in zip(before, get_models(state), strict=True):
        np.testing.assert_allclose(left, right, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(state.snapshot, state.average()[0])
    if not is_sparse:
        np.testing.assert_allclose(state.mean, moved.mean(axis=0))
        np.testing.assert_allclose(state.precision, 1.0 / moved.var(axis=0))


def test_landmarks_double_and_are_equidistant_later():
    state = StreamState.fresh(3, is_sparse=False, scaling=True)
    positions = []
    while state.position < 60_000:
        state.position = state.next_landmark
        positions.append(state.position)
        state.pass_landmark(scaling=True)
    assert positions[:14] == [2**k for k in range(14)]
    assert set(np.diff(positions[14:])) == {8192}


@pytest.mark.parametrize("decrease", [0.5, 0.9995, 1.0, 4.0])
def test_shrinking_keeps_the_average(decrease):
    X, positive, weights = make_samples()
    state = train(X, positive, weights, PointSettings(), dual_regions.DISC, is_sparse=False)
    (model, average), numbers = get_models(state), state.numbers
    offset = numbers[streaming.SCALE] * numbers[streaming.OFFSET]
    streaming.shrink(state.v, state.z, numbers, decrease)
    left = max(1.0 - decrease, 0.0)
    np.testing.assert_allclose(numbers[streaming.SCALE] * state.v, left * model[:-1], rtol=1e-12)
    assert numbers[streaming.SCALE] * numbers[streaming.OFFSET] == pytest.approx(left * offset)
    np.testing.assert_allclose(np.append(*state.average()), average, rtol=1e-11)
    assert numbers[streaming.SCALE] >= 1e-3


# ----------------------------------------------------------------------------------------------------- cost of a sample


@pytest.mark.parametrize("schedule", ["adaptive", "paper"])
def test_absent_features_are_not_read(schedule):
    n_features = 50
    state = StreamState.fresh(n_features, is_sparse=True, scaling=True)
    # NaN would spread in any pass over all features.
    state.v[:] = state.z[:] = np.nan
    state.precision[:] = 1.0
    present = [3, 17, 31]
    state.v[present] = state.z[present] = 0.0
    X = sparse.csr_matrix(([1.0, 2.0, -1.0, 0.5], ([0, 0, 1, 1], [3, 17, 3, 31])), shape=(2, n_features))
    settings = PointSettings(schedule=schedule)
    data = StreamData(X, np.array([True, False]), np.ones(2))
    data.learn(np.arange(2), state, settings.numbers(state), dual_regions.HYPERBOLA, settings.plain, 1.0)
    assert np.all(np.isfinite(state.v[present])) and np.any(state.v[present])
    absent = np.setdiff1d(np.arange(n_features), present)
    assert np.all(np.isnan(state.v[absent])) and np.all(np.isnan(state.z[absent]))
    assert np.all(np.isfinite(state.numbers))


def test_a_sparse_sample_of_a_million_features_needs_no_dense_vector():
    n_features = 1_000_000
    rng = np.random.default_rng(0)
    X = sparse.random(1100, n_features, density=1e-5, format="csr", random_state=rng)
    y = rng.integers(0, 2, size=1100)
    model = SPADEClassifier("g_mean").partial_fit(X[:1090], y[:1090], classes=[0, 1])
    tracemalloc.start()
    for i in range(1090, 1100):
        model.partial_fit(X[i], y[i : i + 1])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1_000_000  # one vector would be eight times as much


def test_the_seed_determines_the_order_of_shuffled_samples():
    samples = np.arange(1000, dtype=np.int64)
    orders = []
    for seed in (0, 0, 1):
        orders.append(samples.copy())
        shuffle(orders[-1], np.uint64(seed))
    np.testing.assert_array_equal(np.sort(orders[0]), samples)
    np.testing.assert_array_equal(orders[0], orders[1])
    assert np.mean(orders[0] == orders[2]) < 0.01


@pytest.mark.parametrize("n_values", [0, 1, 2, 17, FEW_VALUES])
@pytest.mark.parametrize("seed", [0, 1, 2**63, 2**64 - 1])
def test_few_values_are_shuffled_as_many_are(n_values, seed):
    by_numpy, compiled = np.arange(n_values), np.arange(n_values)
    shuffle(by_numpy, np.uint64(seed))
    shuffle_many(compiled, np.uint64(seed))
    np.testing.assert_array_equal(by_numpy, compiled)


def test_every_position_of_a_shuffled_sample_is_equally_likely():
    counts, n_shuffles = np.zeros((5, 5)), 20_000
    for seed in range(n_shuffles):
        values = np.arange(5, dtype=np.int64)
        shuffle(values, np.uint64(seed))
        counts[np.arange(5), values] += 1
    # Five standard deviations of a binomial share of one fifth.
    np.testing.assert_allclose(counts / n_shuffles, 0.2, atol=5.0 * math.sqrt(0.16 / n_shuffles))
