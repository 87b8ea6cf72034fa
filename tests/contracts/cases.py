"""Cases of the contract tests: every registered measure and solver, and every storage of the data.

A measure or a solver that is registered later is tested without a change here.
"""

from __future__ import annotations

import tempfile
from itertools import count
from pathlib import Path

import numpy as np
from scipy import sparse

import metricwise.io
from metricwise.designs import make_design
from metricwise.measures import (
    GainsByRank,
    HasViolatedLabelling,
    PartialAuc,
    contingency_measure,
    get_measure,
    registered_names,
)
from metricwise.solvers import make_problem
from metricwise.solvers.registry import SOLVERS

TOL = 1e-3


def takes_weights(measure, weights, class_weight=None):
    """Return whether a measure can be trained with weights: copies of samples are ranked whole."""
    has_fractions = class_weight is not None or (weights is not None and np.any(weights != np.floor(weights)))
    return not (has_fractions and isinstance(measure, GainsByRank))


def _custom_value(tp, fp, fn, tn):
    """Return a user-defined function of the contingency table."""
    return (tp + 0.3 * tn) / (tp + 0.3 * tn + 2 * np.sqrt(fp) + fn)


OWN = contingency_measure(_custom_value, "own")
LATER = PartialAuc(min_fpr=0.2, max_fpr=0.6)  # with two maxima per positive; ranges from 0 have one
MEASURES = [get_measure(name) for name in registered_names(HasViolatedLabelling)] + [OWN, LATER]
# Solvers of the multivariate problem in memory with all features.
SHARED = {name: entry for name, entry in SOLVERS.items() if entry.make_problem is make_problem}
SHARED.pop("feature-selection")
PAIRS = [(name, measure) for name, entry in SHARED.items() for measure in MEASURES if isinstance(measure, entry.needs)]
PAIR_IDS = [f"{name}-{measure.name}" for name, measure in PAIRS]


def _make_strided(X):
    """Return a strided view of the same values."""
    wide = np.full((2 * X.shape[0], 2 * X.shape[1] + 1), 99.0, dtype=X.dtype)
    wide[::2, 1::2] = X
    return wide[::2, 1::2]


STORAGE = {
    "dense samples": np.ascontiguousarray,
    "dense columns": np.asfortranarray,
    "dense slice": _make_strided,
    "sparse": sparse.csr_array,
}
FOLDER = tempfile.TemporaryDirectory()
NUMBERS = count()


def _write_and_open(X, suffix):
    """Return the same values from a file that is read in blocks."""
    path = Path(FOLDER.name, f"{next(NUMBERS)}.{suffix}")
    if suffix == "npy":
        np.save(path, X)
    else:
        sparse.save_npz(path, sparse.csr_array(X), compressed=False)
    return metricwise.io.open(path, block_rows=X.shape[0] // 4 + 1)


ON_DISK = {"dense on disk": lambda X: _write_and_open(X, "npy"), "sparse on disk": lambda X: _write_and_open(X, "npz")}
DTYPES = (np.float64, np.float32)
DESIGNS = [(kind, dtype) for kind in STORAGE for dtype in DTYPES]
DESIGN_IDS = [f"{kind} {np.dtype(dtype).name}" for kind, dtype in DESIGNS]
ALL_DESIGNS = [(kind, dtype) for kind in STORAGE | ON_DISK for dtype in DTYPES]  # with those on disk
ALL_DESIGN_IDS = [f"{kind} {np.dtype(dtype).name}" for kind, dtype in ALL_DESIGNS]


def store(X, kind, dtype=np.float64):
    return (STORAGE | ON_DISK)[kind](X.astype(dtype))


def make_data(n_samples=90, n_features=8, seed=0, share=0.3, noise=0.6):
    """Return samples with many zeros, exact in single precision, and whether each is positive."""
    rng = np.random.default_rng(seed)
    X = np.round(8 * rng.normal(size=(n_samples, n_features))) / 8
    X[rng.random(X.shape) < 0.4] = 0.0
    leaning = X @ rng.normal(size=n_features) + noise * rng.normal(size=n_samples)
    return X, leaning > np.quantile(leaning, 1 - share)


def pose_problem(measure, X, positive, C=0.5, weights=None, threads=1, intercept=1.0):
    return make_problem(make_design(X, intercept=intercept, threads=threads), positive, measure, C, weights)


def compute_objective(problem, w):
    return problem.objective(w, problem.oracle.violate(problem.design.scores(w)))
