"""Expected F-measures from their definition: slow, and independent of the library."""

from __future__ import annotations

from itertools import product

import numpy as np


def list_sets(m):
    return np.array(list(product([0, 1], repeat=m)), dtype=np.int64).reshape(2**m, m)


def compute_f_beta(truth, predicted, beta):
    """Return F-beta of every set in ``truth`` against every set in ``predicted``; 0/0 is 1."""
    square = beta * beta
    right = truth @ predicted.T
    below = square * truth.sum(axis=1)[:, None] + predicted.sum(axis=1)[None, :]
    return np.where(below == 0, 1.0, (1.0 + square) * right / np.where(below == 0, 1.0, below))


def compute_product_distribution(p):
    """Return the probability of every set of independent labels."""
    sets = list_sets(len(p))
    return np.prod(np.where(sets == 1, p, 1.0 - np.asarray(p)), axis=1)


def summarise_joint(sets, probabilities):
    """Return P and p_zero of a distribution over label sets, as `gfm` takes them."""
    m = sets.shape[1]
    P, p_zero = np.zeros((m, m)), 0.0
    for labels, probability in zip(sets, probabilities, strict=True):
        if labels.any():
            P[labels == 1, labels.sum() - 1] += probability
        else:
            p_zero += probability
    return P, min(p_zero, 1.0)


def compute_sum_distribution(p, dtype=np.longdouble):
    """Return the distributions of the number of ones among the first 0, 1, 2, ... labels."""
    m = len(p)
    distributions = np.zeros((m + 1, m + 1), dtype)
    distributions[0, 0] = 1
    for k in range(m):
        distributions[k + 1] = distributions[k] * (dtype(1) - dtype(p[k]))
        distributions[k + 1, 1:] += distributions[k, :-1] * dtype(p[k])
    return distributions


def compute_prefix_values(p, beta):
    """Return expected F-beta of the first 0, 1, ..., m independent labels, by the double sum over hits and misses."""
    m = len(p)
    inside, outside = compute_sum_distribution(p), compute_sum_distribution(p[::-1])
    square = np.longdouble(beta) ** 2
    values = [inside[m, 0]]
    for k in range(1, m + 1):
        right, missed = np.arange(k + 1)[:, None], np.arange(m - k + 1)[None, :]
        measure = (1 + square) * right / (square * (right + missed) + k)
        values.append(inside[k, : k + 1] @ measure @ outside[m - k, : m - k + 1])
    return np.array(values)


def compute_f1_prefix_values(p):
    """Return `compute_prefix_values` for F1 by the O(m^2) recursion of Ye, Chai, Lee and Chieu (2012)."""
    m = len(p)
    inside = compute_sum_distribution(p)
    values = np.empty(m + 1, np.longdouble)
    u = np.longdouble(1) / np.maximum(np.arange(2 * m + 2), 1).astype(np.longdouble)  # u(m, x) = 1 / x
    for k in range(m, 0, -1):
        t = np.arange(k + 1)
        values[k] = 2 * np.sum(t * inside[k, : k + 1] * u[k + t])
        probability = np.longdouble(p[k - 1])
        u[:-1] = probability * u[1:] + (1 - probability) * u[:-1]
    values[0] = inside[m, 0]
    return values
