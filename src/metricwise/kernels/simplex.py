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

_NONE, _STUCK = -1, -2  # instead of a position


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
def _drop(L, size, members, inside, alpha, at):
    """Remove a member: delete row ``at`` of the factor and restore its triangle by plane rotations."""
    alpha[members[at]] = 0.0
    inside[members[at]] = False
    for i in range(at, size - 1):
        members[i] = members[i + 1]
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
def _exchange(L, size, members, alpha, new, work):
    """Move weight to a column that depends on the members, until one of these has none left.

    The new column is a combination of the members' with coefficients that add up to one, so along this exchange the
    quadratic part does not change and the linear part, which made the column enter, only gains. Returns the position of
    the member without weight; it is -1 where rounding errors leave no coefficient above zero, and no weight is moved
    then.
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
    if blocking >= 0:
        alpha[new] += step
        for i in range(size):
            rest = alpha[members[i]] - step * work[i]
            alpha[members[i]] = 0.0 if rest < 0.0 else rest
    return blocking


@helper
def _move(G, d, scale, alpha, members, size, L, columns):
    """Move to the optimum over the members, or to the first constraint on the way.

    Returns the position of the member without weight, -1 at the optimum, or -2 where rounding errors leave no step.
    """
    for i in range(size):
        product = 0.0
        for j in range(size):
            product += G[members[i], members[j]] * alpha[members[j]]
        # Solve for the step, not for its end: shares may differ by many orders of magnitude.
        columns[0, i] = d[members[i]] / scale - product
        columns[1, i] = 1.0
    # Solve both systems with L L' at once: either sum alone would wait for its last addition.
    for i in range(size):
        gain, one = columns[0, i], columns[1, i]
        for j in range(i):
            gain -= L[i, j] * columns[0, j]
            one -= L[i, j] * columns[1, j]
        columns[0, i], columns[1, i] = gain / L[i, i], one / L[i, i]
    for i in range(size - 1, -1, -1):
        gain, one = columns[0, i], columns[1, i]
        for j in range(i + 1, size):
            gain -= L[j, i] * columns[0, j]
            one -= L[j, i] * columns[1, j]
        columns[0, i], columns[1, i] = gain / L[i, i], one / L[i, i]
    sum_gain, sum_one = 0.0, 0.0
    for i in range(size):
        sum_gain += columns[0, i]
        sum_one += columns[1, i]
    if not 0.0 < sum_one < np.inf:  # the sum of an inverse, above zero but for rounding
        return _STUCK
    step, blocking = 1.0, _NONE
    for i in range(size):
        columns[0, i] -= sum_gain / sum_one * columns[1, i]
        now, move = alpha[members[i]], columns[0, i]
        if move < 0.0 and now < -step * move:
            step, blocking = -now / move, i
    total = 0.0
    for i in range(size):
        k = members[i]
        moved = alpha[k] + step * columns[0, i]
        alpha[k] = moved if not moved < 0.0 else 0.0
        total += alpha[k]
    if not 0.0 < total < np.inf:
        return _STUCK
    for i in range(size):
        alpha[members[i]] /= total
    return blocking


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
        np.empty((2, K)),
    )
    return _solve_simplex(G, d, scale, alpha, tolerance, members, inside, factor, work)


@kernel
def _solve_simplex(G, d, scale, alpha, tolerance, members, inside, L, work):
    """Do the rounds of `solve_simplex` on arrays for the members and their Cholesky factor."""
    K = d.size
    largest = 0.0
    for k in range(K):
        if G[k, k] > largest:
            largest = G[k, k]
        if abs(d[k]) / scale > largest:
            largest = abs(d[k]) / scale
    # Large enough to separate members that differ by a constant, small enough to preserve small columns.
    shift = 1e-6 * largest if largest > 0.0 else 1.0
    size, start, new, rounds, stuck = nb.int64(0), nb.int64(0), _NONE, 0, False
    while True:
        # The columns that have weight at the start enter first. All enter here, as every call is compiled.
        while start < K and not alpha[start] > 0.0:
            start += 1
        if start < K:
            new = start
        if new >= 0:
            # A column that rounding errors hide behind the members stays outside and keeps no weight.
            while size > 0 and _append(L, size, G, members, new, shift) == 0.0:
                blocking = _exchange(L, size, members, alpha, new, work[0])
                if blocking < 0:
                    alpha[new] = 0.0
                    break
                _drop(L, size, members, inside, alpha, blocking)
                size -= 1
            else:
                if size == 0:
                    whole = G[new, new] + shift
                    L[0, 0] = math.sqrt(shift if shift > whole else whole)
                members[size] = new
                inside[new] = True
                size += 1
        if start < K:
            start, new = start + 1, _NONE
            continue
        stuck = stuck or (new >= 0 and not inside[new])
        if stuck or rounds >= 20 * K + 100:
            break
        rounds += 1
        while size > 1:
            blocking = _move(G, d, scale, alpha, members, size, L, work)
            if blocking < 0:
                stuck = stuck or blocking == _STUCK
                break
            # A coordinate that leaves at once had an ascent below rounding error: there is nothing left to gain.
            stuck = stuck or members[blocking] == new
            _drop(L, size, members, inside, alpha, blocking)
            size -= 1
        if size == 1:
            alpha[members[0]] = 1.0
        level, curvature, steepest, new = 0.0, 0.0, -np.inf, _NONE
        for k in range(K):
            product = 0.0
            for i in range(size):
                product += G[k, members[i]] * alpha[members[i]]
            gradient = d[k] - scale * product
            level += alpha[k] * gradient
            curvature += alpha[k] * scale * product
            if not inside[k] and gradient > steepest:
                steepest, new = gradient, k
        if new < 0 or steepest - level <= tolerance * (abs(level) + curvature):
            break
    total = 0.0
    for k in range(K):
        total += alpha[k]
    if not 0.0 < total < np.inf:
        for k in range(K):
            alpha[k] = 0.0
        alpha[0], total = 1.0, 1.0
    for k in range(K):
        alpha[k] /= total
    return rounds
