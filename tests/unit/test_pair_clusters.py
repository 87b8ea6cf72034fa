"""Clusters of pairs: one cluster per pair gives the exact problem, and the pairs are never all in memory."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from metricwise import AUCSVC
from metricwise.designs import make_design
from metricwise.measures import RocAuc
from metricwise.solvers import pair_clusters
from metricwise.solvers.pair_clusters import PairClusters

ROOT = Path(__file__).resolve().parents[2]
RNG = np.random.default_rng(0)
Y = np.arange(23) % 3 == 0  # 8 positives and 15 negatives: 120 pairs
X = RNG.normal(size=(23, 4)) + 0.8 * Y[:, None]
N_PAIRS = 120
ALL = X[Y][:, None, :] - X[~Y][None, :, :]

each_norm = pytest.mark.parametrize("norm", [1, 2], ids=["norm 1", "norm 2"])


def make_clusters(n_clusters, norm=2, data=X, positive=Y, C=1.0, weights=None, seed=0):
    weights = np.ones(len(positive)) if weights is None else weights
    problem = PairClusters(n_clusters, norm, seed).make_problem(make_design(data), positive, RocAuc(), C, weights)
    centres = problem.design.X[problem.design.samples]
    if norm == 2:
        return problem, centres, problem.loss.weights
    return problem, centres, problem.weights / problem.weights.sum() if problem.weights is not None else None


def expect_all_pairs(centres, shares, pairs=ALL, weights=None):
    """Check that centres are the pairs, each with its weight; some may have the opposite sign."""
    pairs = pairs.reshape(-1, pairs.shape[-1])
    weights = np.ones(len(pairs)) if weights is None else weights.ravel()
    distances = np.abs(centres[:, None] - pairs[None]).max(axis=2)
    nearest = distances.argmin(axis=1)
    assert distances.min(axis=1).max() < 1e-9
    np.testing.assert_allclose(shares, weights[nearest] / weights.sum(), rtol=1e-9)


# ------------------------------------------------------------------------------------------ as many clusters as pairs


@each_norm
@pytest.mark.parametrize("kind", ["dense", "sparse", "single"])
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
def test_a_cluster_for_every_pair_is_the_exact_problem(norm, kind, weighted):
    data = {"dense": X, "sparse": sparse.csr_array(X), "single": X.astype(np.float32)}[kind]
    weights = RNG.uniform(0.5, 2.0, size=23) if weighted else None
    settings = {"C": 0.3, "norm": norm, "tol": 1e-7, "threshold": 0.0}
    exact = AUCSVC(**settings).fit(data, Y, weights)
    for n_clusters in (N_PAIRS, 5 * N_PAIRS):
        model = AUCSVC(pairs="kmeans", n_clusters=n_clusters, **settings).fit(data, Y, weights)
        assert model.result_.certificate.upper == pytest.approx(exact.result_.certificate.upper, rel=1e-6)
        np.testing.assert_allclose(model.coef_, exact.coef_, atol=2e-3)
        assert not model.intercept_.any()


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_centres_equal_the_pairs_if_there_are_enough_clusters(kind):
    data = X if kind == "dense" else sparse.csr_array(X)
    _, centres, shares = make_clusters(N_PAIRS, data=data)
    assert centres.shape == (N_PAIRS, 4)
    expect_all_pairs(centres, shares)
    weights = RNG.uniform(0.5, 2.0, size=23)
    _, centres, shares = make_clusters(N_PAIRS, data=data, weights=weights)
    expect_all_pairs(centres, shares, weights=np.outer(weights[Y], weights[~Y]))


@each_norm
def test_copies_share_a_cluster(norm):
    """With every sample twice, there are four copies of each pair; half the cost gives the same weights."""
    data, y = np.vstack([X, X]), np.r_[Y, Y]
    settings = {"norm": norm, "tol": 1e-8, "threshold": 0.0, "pairs": "kmeans", "n_clusters": 4 * N_PAIRS}
    twice = AUCSVC(0.15, **settings).fit(data, y)
    once = AUCSVC(0.3, **settings).fit(X, Y)
    np.testing.assert_allclose(twice.coef_, once.coef_, atol=2e-3)


# -------------------------------------------------------------------------------------------------------- any clusters


@each_norm
@pytest.mark.parametrize("n_clusters", [2, 3, 10, 60])
def test_cluster_weights_add_up_and_the_mean_pair_is_preserved(norm, n_clusters):
    weights = RNG.uniform(0.2, 3.0, size=23)
    problem, centres, shares = make_clusters(n_clusters, norm, C=0.7, weights=weights)
    assert 2 <= len(centres) <= n_clusters
    assert problem.cost == pytest.approx(0.7 * weights.sum())
    if norm == 1:
        assert problem.weights.sum() == pytest.approx(weights.sum())
        # The negatives of the problem are centres with the opposite sign.
        centres = np.where(np.arange(len(centres))[:, None] < problem.n_pos, centres, -centres)
    assert shares.min() > 0.0 and shares.sum() == pytest.approx(1.0)
    share = np.outer(weights[Y], weights[~Y]) / (weights[Y].sum() * weights[~Y].sum())
    np.testing.assert_allclose(shares @ centres, np.einsum("ij,ijk->k", share, ALL), atol=1e-10)


@each_norm
def test_clusters_give_a_lower_bound_of_the_objective(norm):
    """Losses are convex: the loss of a mean is at most the mean of the losses, for any clusters."""
    exact = AUCSVC(0.3, norm, tol=1e-6, threshold=0.0).fit(X, Y)
    for n_clusters in (2, 5, 20, 80):
        model = AUCSVC(0.3, norm, pairs="kmeans", n_clusters=n_clusters, tol=1e-6, threshold=0.0).fit(X, Y)
        assert model.result_.certificate.lower <= exact.result_.certificate.upper
        assert model.score(X, Y) > 0.6


@each_norm
def test_a_single_pair_gives_the_exact_model(norm):
    model = AUCSVC(5.0, norm, pairs="kmeans", threshold=0.0, tol=1e-6).fit(X[:2], Y[:2])
    exact = AUCSVC(5.0, norm, threshold=0.0, tol=1e-6).fit(X[:2], Y[:2])
    np.testing.assert_allclose(model.coef_, exact.coef_, atol=1e-3)


@each_norm
def test_clusters_are_determined_by_the_seed(norm):
    settings = {"norm": norm, "pairs": "kmeans", "n_clusters": 7}
    one, same, other = (AUCSVC(random_state=seed, **settings).fit(X, Y) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one.coef_, same.coef_)
    assert np.any(one.coef_ != other.coef_)


@each_norm
def test_multiclass_problems_can_be_clustered(norm):
    y = np.arange(23) % 3
    for multi_class in ("ovr", "ovo"):
        model = AUCSVC(norm=norm, pairs="kmeans", n_clusters=20, multi_class=multi_class, threshold=0.0).fit(X, y)
        assert model.coef_.shape == (3, 4) and model.decision_function(X).shape == (23, 3)


# ------------------------------------------------------------------------------------------------------- many pairs


@pytest.mark.parametrize("batch", [256, 4 * 50, 4 * 7], ids=["whole", "two", "many"])
def test_batches_cover_all_pairs(monkeypatch, batch):
    monkeypatch.setattr(pair_clusters, "_ENTRIES_PER_BATCH", batch)
    weights = RNG.uniform(0.5, 2.0, size=23)
    pairs = pair_clusters._Pairs(X, np.flatnonzero(Y), np.flatnonzero(~Y), weights[Y], weights[~Y], 3)
    for size in (7, 50, 120, 1000):
        found, shares = (np.concatenate(parts) for parts in zip(*pairs.batches(size), strict=True))
        assert found.shape == (N_PAIRS, 4)
        expect_all_pairs(found, shares / shares.sum(), weights=np.outer(weights[Y], weights[~Y]))
        again = np.concatenate([part for part, _ in pairs.batches(size)])
        np.testing.assert_array_equal(found, again)


def test_a_sample_of_pairs_follows_the_weights(monkeypatch):
    monkeypatch.setattr(pair_clusters, "MOST_PAIRS", 100)
    weights = np.where(np.arange(23) < 12, 3.0, 0.5)
    pairs = pair_clusters._Pairs(X, np.flatnonzero(Y), np.flatnonzero(~Y), weights[Y], weights[~Y], 3)
    assert pairs.count == 100 and not pairs.all
    pairs.count = 40_000
    mean = np.concatenate([part for part, _ in pairs.batches(5000)]).mean(axis=0)
    share = np.outer(weights[Y], weights[~Y]) / (weights[Y].sum() * weights[~Y].sum())
    np.testing.assert_allclose(mean, np.einsum("ij,ijk->k", share, ALL), atol=0.05)
    _, _, shares = make_clusters(10, weights=weights)
    assert shares.sum() == pytest.approx(1.0)


SCRIPT = """
import resource, sys
import numpy as np
from metricwise import AUCSVC
rng = np.random.default_rng(0)
y = np.arange(20_000) % 2
X = rng.normal(size=(20_000, 20)) + 0.2 * y[:, None]
AUCSVC(pairs="kmeans", n_clusters=20, threshold=0.0).fit(X[:300], y[:300])  # all that is loaded once
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
model = AUCSVC(0.01, norm=2, pairs="kmeans", n_clusters=50, threshold=0.0).fit(X, y)
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print((after - before) * (1 if sys.platform == "darwin" else 1024), model.score(X, y))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="peak memory is measured by a POSIX module")
def test_a_hundred_million_pairs_are_never_in_memory():
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    command = [sys.executable, "-c", SCRIPT]
    run = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    peak, score = map(float, run.stdout.split())
    assert peak < 1e9  # the pairs themselves would take 16 GB
    assert score > 0.6
