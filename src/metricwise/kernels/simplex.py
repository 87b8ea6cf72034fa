"""A convex quadratic programme over the simplex, solved exactly by an active set with a growing Cholesky factor.

Gram matrices of data far from the origin are products of rounding: they need not be positive semidefinite, and may hold
NaN or infinity. No comparison here relies on exact arithmetic, so that every index is one that a search has found.
"""

import math
from typing import Any

import numba as nb
import numpy as np

from metricwise.kernels.compiling import helper, kernel

# Below this share of its diagonal, what is left of a new column after projection on the others is rounding error.
_DEPENDENT = 1e-13


@helper
def _append(L, size, G, members, new, shift):
    """Extend the factor of G[members, members] + shift by the row of ``new``, unless it depends on the others.

    Returns the square of the new pivot, or 0 if there is none.
    """
    for i in range(size):
        value = G[new, members[i]] + shift
        for j in range(i):
            value -= L[size, j] * L[i, j]
        L[size, i] = value / L[i, i]
    whole = G[new, new] + shift
    pivot = whole
    for j in range(size):
        pivot -= L[size, j] * L[size, j]
    if not pivot > _DEPENDENT * abs(whole):
        return 0.0
    L[size, size] = math.sqrt(pivot)
    return pivot


@helper
def _remove(L, size, at):
    """Delete row ``at`` of the factor and restore its triangle by plane rotations."""
    for i in range(at, size - 1):
        for j in range(i + 2):
            L[i, j] = L[i + 1, j]
    for k in range(at, size - 1):
        # Row k now reaches one column past its diagonal: rotate columns k and k + 1.
        x, y = L[k, k], L[k, k + 1]
        radius = math.hypot(x, y)
        cosine, sine = x / radius, y / radius
        for i in range(k, size - 1):
            x, y = L[i, k], L[i, k + 1]
            L[i, k] = cosine * x + sine * y
            L[i, k + 1] = cosine * y - sine * x


@helper
def _solve(L, size, right, out):
    for i in range(size):
        value = right[i]
        for j in range(i):
            value -= L[i, j] * out[j]
        out[i] = value / L[i, i]
    for i in range(size - 1, -1, -1):
        value = out[i]
        for j in range(i + 1, size):
            value -= L[j, i] * out[j]
        out[i] = value / L[i, i]


@helper
def _drop(L, size, members, inside, alpha, at):
    """Remove a member."""
    alpha[members[at]] = 0.0
    inside[members[at]] = False
    _remove(L, size, at)
    for i in range(at, size - 1):
        members[i] = members[i + 1]


@helper
def _make_room(L, size, members, inside, alpha, new, work):
    """Move weight to a column that depends on the members, until one of these has none left and is dropped.

    The new column is a combination of the members' with coefficients that add up to one, so along this exchange the
    quadratic part does not change and the linear part, which made the column enter, only gains. Returns the number of
    members; it is the old one where rounding errors leave no coefficient above zero, and no weight is moved then.
    """
    for i in range(size - 1, -1, -1):  # L' z = the row that `_append` has left behind the factor
        value = L[size, i]
        for j in range(i + 1, size):
            value -= L[j, i] * work[j]
        work[i] = value / L[i, i]
    step, blocking = np.inf, nb.int64(-1)
    for i in range(size):
        if work[i] > 0.0 and alpha[members[i]] < step * work[i]:
            step, blocking = alpha[members[i]] / work[i], i
    if blocking < 0:
        return size
    alpha[new] += step
    for i in range(size):
        alpha[members[i]] = max(alpha[members[i]] - step * work[i], 0.0)
    _drop(L, size, members, inside, alpha, blocking)
    return size - 1


@helper
def _enter(G, L, size, members, inside, alpha, new, shift, work):
    """Make a column a member, dropping members it depends on; returns the number of members.

    A column that rounding errors hide behind the members stays outside and keeps no weight.
    """
    while size > 0 and _append(L, size, G, members, new, shift) == 0.0:
        before = size
        size = _make_room(L, size, members, inside, alpha, new, work)
        if size == before:
            alpha[new] = 0.0
            return size
    if size == 0:
        L[0, 0] = math.sqrt(max(G[new, new] + shift, shift))
    members[size] = new
    inside[new] = True
    return size + 1


@helper
def _normalise(alpha):
    """Divide by the sum, which rounding changes; where nothing is left, all weight goes to the first column."""
    total = 0.0
    for k in range(alpha.size):
        total += alpha[k]
    if not 0.0 < total < np.inf:
        alpha[:] = 0.0
        alpha[0], total = 1.0, 1.0
    for k in range(alpha.size):
        alpha[k] /= total


def solve_simplex(G: Any, d: Any, scale: float, alpha: Any, tolerance: float) -> Any:
    """Maximise d . alpha - scale / 2 alpha' G alpha over the simplex, starting from (and writing to) ``alpha``.

    ``alpha`` must be feasible. Adding a constant to every entry of G changes the objective by a constant on the
    simplex, which makes the matrix of affinely independent members positive definite. Each round takes in the
    coordinate with the steepest ascent, moves towards the optimum of the members, and drops those that reach zero on
    the way; members stay independent, so they are never more than the rank of G plus one. Returns the number of
    rounds; alpha is feasible at any time, so stopping early costs accuracy of the bound, never its validity.
    """
    # Allocated here, as numba compiles a function of its own for every kind of array that a kernel creates.
    K = d.size
    members, inside, factor, work = (
        np.empty(K, np.int64),
        np.zeros(K, np.bool_),
        np.empty((K + 1, K + 2)),
        np.ones((6, K)),
    )
    return _solve_simplex(G, d, scale, alpha, tolerance, members, inside, factor, *work)


@kernel
def _solve_simplex(G, d, scale, alpha, tolerance, members, inside, L, ones, x_one, x_gain, move, gains, gradient):
    """Do the rounds of `solve_simplex` on arrays for the members and their Cholesky factor."""
    K = d.size
    largest = 0.0
    for k in range(K):
        largest = max(largest, G[k, k], abs(d[k]) / scale)
    # Large enough to separate members that differ by a constant, small enough to preserve small columns.
    shift = 1e-6 * largest if largest > 0.0 else 1.0
    size, start = nb.int64(0), nb.int64(0)
    rounds, entering, stuck = 0, nb.int64(-1), False
    while not stuck and rounds < 20 * K + 100:
        # The columns that have weight at the start enter first. They do so here, as every call of `_enter` is compiled.
        while start < K and not alpha[start] > 0.0:
            start += 1
        if start < K:
            size = _enter(G, L, size, members, inside, alpha, start, shift, move)
            start += 1
            continue
        rounds += 1
        while size > 1:  # to the optimum over the members, or to the first constraint on the way
            # Solve for the step, not for its end: shares may differ by many orders of magnitude.
            for i in range(size):
                product = 0.0
                for j in range(size):
                    product += G[members[i], members[j]] * alpha[members[j]]
                gains[i] = d[members[i]] / scale - product
            _solve(L, size, gains, x_gain)
            _solve(L, size, ones, x_one)
            sum_gain, sum_one = 0.0, 0.0
            for i in range(size):
                sum_gain += x_gain[i]
                sum_one += x_one[i]
            if not 0.0 < sum_one < np.inf:  # the sum of an inverse, above zero but for rounding
                stuck = True
                break
            step, blocking = 1.0, nb.int64(-1)
            for i in range(size):
                move[i] = x_gain[i] - sum_gain / sum_one * x_one[i]
                now = alpha[members[i]]
                if move[i] < 0.0 and now < -step * move[i]:
                    step, blocking = -now / move[i], i
            total = 0.0
            for i in range(size):
                k = members[i]
                alpha[k] = max(alpha[k] + step * move[i], 0.0)
                total += alpha[k]
            if not 0.0 < total < np.inf:
                stuck = True
                break
            for i in range(size):
                alpha[members[i]] /= total
            if blocking < 0:
                break
            # A coordinate that leaves at once had an ascent below rounding error: there is nothing left to gain.
            stuck = stuck or members[blocking] == entering
            _drop(L, size, members, inside, alpha, blocking)
            size -= 1
        if size == 1:
            alpha[members[0]] = 1.0
        level, curvature = 0.0, 0.0
        for k in range(K):
            product = 0.0
            for i in range(size):
                product += G[k, members[i]] * alpha[members[i]]
            gradient[k] = d[k] - scale * product
            level += alpha[k] * gradient[k]
            curvature += alpha[k] * scale * product
        steepest, entering = -np.inf, nb.int64(-1)
        for k in range(K):
            if not inside[k] and gradient[k] > steepest:
                steepest, entering = gradient[k], k
        if entering < 0 or steepest - level <= tolerance * (abs(level) + curvature):
            break
        size = _enter(G, L, size, members, inside, alpha, entering, shift, move)
        stuck = stuck or not inside[entering]
    _normalise(alpha)
    return rounds
