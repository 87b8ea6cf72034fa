"""Cutting-plane subspace pursuit: a basis of few samples that lower the objective most (Joachims and Yu 2009).

Weights are restricted to the span of k(b, .) over some basis samples b (`metricwise.designs.subspace`). The solution of
the restricted problem is -cost times a combination of cuts, projected onto that span; what the projection takes away
is the direction in which the full problem would still improve. So the basis grows in stages:

1. solve the restricted problem, not too exactly;
2. take the combination of cuts (of slopes, for a smooth loss) at its solution, without the projection;
3. add, one after the other, the sample whose function removes most of what lies outside of the span: the sample j
   with the largest r_j^2 / d_j, r_j the value of the rest at the sample and d_j the square of the sample's own part
   outside.

The original method improves each cut on its own; the combination of all of them is what the solution depends on.
Of many samples, some are drawn at random as candidates.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metricwise._typing import Floats, Indices
from metricwise.designs.subspace import Subspace
from metricwise.solvers.loop import Limits, run

_STAGES = 6
_FIRST_SHARE = 1 / 8  # of the basis is drawn at random; then it grows by the same factor in every stage
_CANDIDATES = 5000
_STAGE_TOL = 0.02
_DEPENDENT = 1e-8  # of a sample's square: a smaller part outside of the span is rounding error


def draw_first_basis(samples: Indices, positive: NDArray[np.bool_], size: int, random: np.random.Generator) -> Indices:
    """Return random samples, half of them positives if there are enough."""
    pos, neg = samples[positive[samples]], samples[~positive[samples]]
    n_pos = min(pos.size, max(size // 2, size - neg.size))
    chosen = [random.choice(pos, n_pos, replace=False), random.choice(neg, size - n_pos, replace=False)]
    return np.sort(np.concatenate(chosen))


def pursue(
    subspace: Subspace,
    samples: Indices,
    positive: NDArray[np.bool_],
    n_basis: int,
    solver: Any,
    make_problem: Callable[[Subspace], Any],
    limits: Limits,
    seed: int,
) -> None:
    """Grow a basis for one problem.

    Parameters
    ----------
    subspace : Subspace
        Empty; receives ``n_basis`` samples, or fewer if the others add nothing.
    samples : array of int
        Indices of the samples of the problem.
    positive : array of bool
        Which samples of the data are positive.
    n_basis : int
        Size of the basis.
    solver : CuttingPlane or TruncatedNewton
        Solves the restricted problems; its ``sample_coefficients`` give the direction in which a basis grows.
    make_problem : callable
        Makes the problem restricted to a subspace; its ``design`` lists the samples by their index in the data.
    limits : Limits
        Limits of the final training; the stages take at most half of its seconds.
    seed : int
        Seed of the random choices.
    """
    random = np.random.default_rng(seed)
    growth = np.linspace(1.0, 0.0, _STAGES)
    sizes = sorted({max(round(n_basis * _FIRST_SHARE**share), 1) for share in growth})
    subspace.extend(draw_first_basis(samples, positive, sizes[0], random))
    seconds = None if limits.max_seconds is None else 0.5 * limits.max_seconds / _STAGES
    quick = Limits(tol=max(_STAGE_TOL, limits.tol), max_iter=limits.max_iter, max_seconds=seconds)
    for size in sizes[1:]:
        problem = make_problem(subspace)
        _, state = run(solver, problem, quick)
        wanted = solver.sample_coefficients(problem, state)
        chosen = _select_samples(subspace, problem.design.samples, wanted, samples, size - subspace.basis.size, random)
        if chosen.size == 0:
            return
        subspace.extend(chosen)


def _select_samples(
    subspace: Subspace, listed: Indices, wanted: Floats, samples: Indices, count: int, random: np.random.Generator
) -> Indices:
    """Return samples whose functions come nearest to the wanted one outside of the span, one after the other."""
    candidates = np.setdiff1d(samples, subspace.basis)
    if candidates.size > _CANDIDATES:
        candidates = np.sort(random.choice(candidates, _CANDIDATES, replace=False))
    source, features = subspace.source, subspace.features
    used = np.flatnonzero(wanted)
    known = features[candidates]
    along = features[listed[used]].T @ wanted[used]
    rest = source.products(candidates, listed[used], wanted[used]) - known @ along
    whole = source.diagonal()[candidates]
    outside = whole - np.einsum("ij,ij->i", known, known)
    column = source.columns_among(candidates)
    chosen = _match_orthogonally(lambda k: column(k) - known @ known[k], rest, outside, _DEPENDENT * whole, count)
    return candidates[np.array(chosen, dtype=np.int64)]


def _match_orthogonally(
    column: Callable[[int], Floats], rest: Floats, outside: Floats, least: Floats, count: int
) -> list[int]:
    """Return the indices of samples chosen by orthogonal matching pursuit.

    ``column`` gives a sample's inner products with all others outside of the span, ``rest`` those of the wanted
    function, and ``outside`` the squares of the samples, of which at least ``least`` must be left.
    """
    added = np.empty((rest.size, min(count, rest.size)), order="F")
    chosen: list[int] = []
    for k in range(added.shape[1]):
        gains = np.where(outside > least, rest**2 / np.maximum(outside, 1e-300), 0.0)
        gains[chosen] = 0.0
        best = int(np.argmax(gains))
        if gains[best] <= 0.0:
            break
        length = np.sqrt(outside[best])
        added[:, k] = (column(best) - added[:, :k] @ added[best, :k]) / length
        rest = rest - added[:, k] * (rest[best] / length)
        outside = outside - added[:, k] ** 2
        chosen.append(best)
    return chosen
