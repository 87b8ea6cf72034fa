"""Ordinary dictionary learning, without labels: the start of joint learning.

Objective: sum_i omega_i (|x_i - D' s_i|^2 + C1 |s_i|_1), no atom longer than 1. Order of steps:

1. samples far from each other, scaled to length 1, are the first atoms (the first step of k-means++);
2. all codes, exactly (lasso);
3. every atom in turn, exactly: with codes and other atoms fixed the curvature is the same in all directions, so the
   minimum within the ball is the projection of the free one (Mairal et al. 2010);
4. back to 2, until an iteration lowers the objective by less than ``tol`` of it.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from sklearn.cluster import kmeans_plusplus

from metricwise._typing import Floats
from metricwise.designs import Design
from metricwise.solvers.sparse_problem import SampleEncoder

_CODES_TOL = 1e-3  # of codes that change in the next step anyway
_SWEEPS = 2


def choose_first_atoms(X: Any, weights: Floats, n_atoms: int, seed: int) -> Floats:
    """Return samples far from each other as atoms, scaled to length 1 (zero samples stay)."""
    chosen, _ = kmeans_plusplus(X.astype(np.float64), n_atoms, sample_weight=weights, random_state=seed)
    atoms = np.asarray(chosen.toarray() if hasattr(chosen, "toarray") else chosen, dtype=np.float64)
    lengths = np.linalg.norm(atoms, axis=1, keepdims=True)
    return atoms / np.where(lengths > 0.0, lengths, 1.0)


def project_atoms(atoms: Floats) -> Floats:
    """Return the atoms projected onto the unit ball."""
    scaled: Floats = atoms / np.maximum(np.linalg.norm(atoms, axis=-1, keepdims=True), 1.0)
    return scaled


def moments(design: Design, codes: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Return the sums of s s' and of s x' over the samples: all that the best dictionary depends on."""
    weighted = codes * weights[:, None]
    mixed = np.array([design.combine(np.ascontiguousarray(column)) for column in weighted.T])
    return codes.T @ weighted, mixed


def improve_atoms(dictionary: Floats, square: Floats, mixed: Floats) -> Floats:
    """Return the atoms, each minimised in turn; atoms that no sample uses are unchanged."""
    atoms = dictionary.copy()
    for _ in range(_SWEEPS):
        for j in np.flatnonzero(np.diag(square) > 0.0):
            atoms[j] = project_atoms(atoms[j] + (mixed[j] - square[j] @ atoms) / square[j, j])
    return atoms


def learn_dictionary(
    design: Design,
    squares: Floats,
    weights: Floats,
    atoms: Floats,
    penalty: float,
    tol: float,
    max_iter: int,
    max_seconds: float | None = None,
) -> tuple[Floats, list[float]]:
    """Return a dictionary that codes the samples well, and the objective after every iteration.

    Examples
    --------
    >>> from metricwise.designs import make_design
    >>> X = np.array([[3.0, 0.1], [2.0, 0.0], [0.0, 1.0]])
    >>> one, atoms = np.ones(3), np.array([[0.8, 0.6]])
    >>> learnt, objectives = learn_dictionary(make_design(X), (X**2).sum(axis=1), one, atoms, 0.1, 1e-6, 50)
    >>> learnt.round(1), objectives[-1] < objectives[0]
    (array([[1., 0.]]), True)
    """
    started = time.perf_counter()
    encoder = SampleEncoder.from_design(design, atoms)
    codes = encoder.encode(penalty, _CODES_TOL)
    objectives: list[float] = []
    for _ in range(max_iter):
        atoms = improve_atoms(atoms, *moments(design, codes, weights))
        encoder = SampleEncoder.from_design(design, atoms)
        codes = encoder.encode(penalty, _CODES_TOL, codes)
        per_sample = encoder.residuals(squares, codes) + penalty * np.abs(codes).sum(axis=1)
        objectives.append(float(weights @ per_sample))
        if len(objectives) > 1 and objectives[-2] - objectives[-1] <= tol * objectives[-2]:
            break
        if max_seconds is not None and time.perf_counter() - started >= max_seconds:
            break
    return atoms, objectives
