"""A convex quadratic programme over the simplex, solved exactly by an active set with a growing Cholesky factor."""

import math

import numba as nb
import numpy as np


@nb.njit(cache=True, nogil=True)
def _append(L, size, G, members, new, shift, ridge):
    """Extend the factor of G[members, members] + shift by the row of ``new``."""
    for i in range(size):
        value = G[new, members[i]] + shift
        for j in range(i):
            value -= L[size, j] * L[i, j]
        L[size, i] = value / L[i, i]
    pivot = G[new, new] + shift + ridge
    for j in range(size):
        pivot -= L[size, j] * L[size, j]
    L[size, size] = math.sqrt(max(pivot, ridge))


@nb.njit(cache=True, nogil=True)
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


@nb.njit(cache=True, nogil=True)
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


@nb.njit(cache=True, nogil=True)
def solve_simplex(G, d, scale, alpha, tolerance):
    """Maximise d . alpha - scale / 2 alpha' G alpha over the simplex, starting from (and writing to) ``alpha``.

    ``alpha`` must be feasible. Adding a constant to every entry of G changes the objective by a constant on the
    simplex, which makes the matrix of the members positive definite. Each round takes in the coordinate with the
    steepest ascent, moves towards the optimum of the members, and drops those that reach zero on the way. Returns the
    number of rounds; alpha is feasible at any time, so stopping early costs accuracy of the bound, never its validity.
    """
    K = d.size
    largest = 0.0
    for k in range(K):
        largest = max(largest, G[k, k])
    shift = largest if largest > 0.0 else 1.0
    ridge = 1e-12 * shift
    members = np.empty(K, np.int64)
    inside = np.zeros(K, np.bool_)
    L = np.empty((K + 1, K + 2))
    size = 0
    for k in range(K):
        if alpha[k] > 0.0:
            _append(L, size, G, members, k, shift, ridge)
            members[size] = k
            inside[k] = True
            size += 1
    ones, gains = np.ones(K), np.empty(K)
    x_one, x_gain, target = np.empty(K), np.empty(K), np.empty(K)
    gradient = np.empty(K)
    rounds, entering, stuck = 0, -1, False
    while not stuck and rounds < 20 * K + 100:
        rounds += 1
        while True:  # to the optimum over the members, or to the wall that is met first
            for i in range(size):
                gains[i] = d[members[i]] / scale
            _solve(L, size, gains, x_gain)
            _solve(L, size, ones, x_one)
            sum_gain, sum_one = 0.0, 0.0
            for i in range(size):
                sum_gain += x_gain[i]
                sum_one += x_one[i]
            multiplier = (1.0 - sum_gain) / sum_one
            step, blocking = 1.0, -1
            for i in range(size):
                target[i] = x_gain[i] + multiplier * x_one[i]
                now = alpha[members[i]]
                if target[i] < 0.0 and now < step * (now - target[i]):
                    step, blocking = now / (now - target[i]), i
            total = 0.0
            for i in range(size):
                k = members[i]
                alpha[k] = max(alpha[k] + step * (target[i] - alpha[k]), 0.0)
                total += alpha[k]
            for i in range(size):
                alpha[members[i]] /= total
            if blocking < 0:
                break
            k = members[blocking]
            # A newcomer that leaves at once promised an ascent below rounding error: there is nothing left to gain.
            stuck = stuck or k == entering
            alpha[k] = 0.0
            inside[k] = False
            _remove(L, size, blocking)
            for i in range(blocking, size - 1):
                members[i] = members[i + 1]
            size -= 1
        level, curvature = 0.0, 0.0
        for k in range(K):
            product = 0.0
            for i in range(size):
                product += G[k, members[i]] * alpha[members[i]]
            gradient[k] = d[k] - scale * product
            level += alpha[k] * gradient[k]
            curvature += alpha[k] * scale * product
        steepest, entering = -np.inf, -1
        for k in range(K):
            if not inside[k] and gradient[k] > steepest:
                steepest, entering = gradient[k], k
        if entering < 0 or steepest - level <= tolerance * (abs(level) + curvature):
            break
        _append(L, size, G, members, entering, shift, ridge)
        members[size] = entering
        inside[entering] = True
        size += 1
    return rounds
