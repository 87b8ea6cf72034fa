"""Compiled code never leaves its arrays, whatever rounding, NaN or damaged matrices do to its searches.

A wrong index may end the process, so searches that rounding decides run in a process of their own.
"""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse

from metricwise import MultivariateSVC, SPADEClassifier
from metricwise.designs import make_design
from metricwise.kernels import histograms, tables

FAR_FROM_THE_ORIGIN = """
import warnings
import numpy as np
from metricwise import MultivariateSVC
warnings.simplefilter("ignore")
for measure, kernel, offset in CASES:
    for seed in range(8):
        random = np.random.default_rng(seed)
        X = random.normal(size=(20, 10)) + offset
        y = np.arange(20) % 2
        model = MultivariateSVC(measure, kernel=kernel, threshold=0.0, max_iter=100).fit(X, y)
        shares = model.result_.witness.shares
        assert np.isfinite(model.result_.certificate.upper) and np.all(shares >= 0.0) and shares.sum() < 1.0 + 1e-9
"""
INDEFINITE_MATRICES = """
import numpy as np
from metricwise.kernels.simplex import solve_simplex
for seed in range(400):
    random = np.random.default_rng(seed)
    size = int(random.integers(2, 40))
    cuts = random.normal(size=(size, 3)) + 1e8 * (seed % 2)
    noise = random.normal(size=(size, size))
    G = cuts @ cuts.T + 10.0 ** random.integers(-9, 9) * (noise + noise.T)
    if seed % 5 == 0:
        G[tuple(random.integers(0, size, 2))] = random.choice([np.nan, np.inf, -np.inf, 0.0])
    alpha = random.random(size) if seed % 3 else np.eye(size)[0]
    alpha /= alpha.sum()
    solve_simplex(G, random.random(size), 10.0 ** random.integers(-6, 7), alpha, 1e-11)
    assert np.all(alpha >= 0.0) and abs(alpha.sum() - 1.0) < 1e-9, seed
"""


def assert_runs_alone(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, f"exit {done.returncode}: {done.stderr[-2000:]}"


def test_kernels_of_samples_far_from_the_origin_train():
    cases = [("min_rate", "rbf", 1e8), ("f1", "rbf", 1e8), ("roc_auc", "poly", 1e6), ("prbep", "poly", 1e8)]
    assert_runs_alone(f"CASES = {cases!r}\n{FAR_FROM_THE_ORIGIN}")


def test_quadratic_programmes_of_indefinite_matrices_stay_feasible():
    assert_runs_alone(INDEFINITE_MATRICES)


def test_nan_among_scores_counts_in_the_first_bin():
    bins = [np.zeros(4, dtype=np.int64), np.zeros(4), np.zeros(4), np.zeros(4, np.int64), np.zeros(4, np.int64)]
    scores, edges = np.array([np.nan, 0.5, 9.0]), np.array([0.0, 1.0, 2.0])
    histograms.count_scores(scores, np.zeros(3), 1.0, 0.0, np.ones(3, bool), edges, True, 1.0, 1.0, *bins)
    assert bins[0].tolist() == [1, 1, 0, 1]


def test_weights_lost_by_rounding_have_no_share():
    F, T = np.array([0.0, 1.0, 1.0, 2.0]), np.array([0.0, 1.0])
    f1 = np.array([0.0, 0.0, 0.0, 2.0, 0.0, 1.0, 1.0, 1.0])
    value, a, weight = tables.scan_splitting(f1, T, np.zeros(2), F, np.zeros(4), False, 0.0)
    assert (value, a, weight) == (1.0, 0, 0.0)


DAMAGES = {
    "column beyond the last": ("indices", 5, 2**30),
    "negative column": ("indices", 5, -(2**30)),
    "negative start": ("indptr", 100, -(2**30)),
    "start beyond the end": ("indptr", 100, 2**30),
    "no entries, starts beyond the end": ("indptr", slice(1, None), [2**30] * 199 + [0]),
    "starts whose difference overflows": ("indptr", slice(100, 103), [2**31 - 1, -(2**31), -1]),
}


def make_damaged(damage):
    X = sparse.random(200, 30, density=0.3, random_state=0, format="csr")
    array, position, value = DAMAGES[damage]
    getattr(X, array)[position] = value
    return X


@pytest.mark.parametrize("damage", DAMAGES)
def test_sparse_matrices_with_positions_outside_raise(damage):
    with pytest.raises(ValueError, match=r"not a valid CSR matrix .* build it again"):
        make_design(make_damaged(damage))


@pytest.mark.parametrize("model", [MultivariateSVC("f1"), SPADEClassifier("g_mean")], ids=["batch", "streaming"])
def test_estimators_refuse_sparse_matrices_with_columns_outside(model):
    with pytest.raises(ValueError, match="not a valid CSR matrix"):
        model.fit(make_damaged("column beyond the last"), np.arange(200) % 2)
