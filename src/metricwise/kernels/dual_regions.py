"""Exact projections onto the dual regions of concave functions of the two rates (Narasimhan et al. 2015, Table 1).

A region is the set of slopes (alpha, beta) that the function can have: Psi(P, N) is the least value of
alpha P + beta N - Psi*(alpha, beta) over it.
"""

import math

from metricwise.kernels.compiling import helper, kernel

POINT = 0  # arithmetic mean: alpha = beta = 1/2
SIMPLEX = 1  # min: alpha + beta = 1
ROOTS = 2  # harmonic mean: sqrt(alpha) + sqrt(beta) >= sqrt(2), within the ball of radius 2
DISC = 3  # quadratic mean: alpha^2 + beta^2 <= 1/2
HYPERBOLA = 4  # geometric mean: alpha beta >= 1/4

_ROUNDS = 100
_LAST_STEP = 1e-5  # leaves an error of its cube


@helper
def _halley(x, value, slope, curvature):
    """Return the Halley step to the root of a rising function, from value and derivatives at x; inf if far away."""
    square, bend = slope * slope, value * curvature
    return x - 2.0 * value * slope / (2.0 * square - bend) if slope > 0.0 and abs(bend) < square else math.inf


@helper
def _on_roots(a, b, near):
    """Return the nearest point of the curve alpha = 2 s^2, beta = 2 (1 - s)^2, 0 <= s <= 1, for a point below it."""
    low, high = 0.0, 1.0
    s = min(math.sqrt(0.5 * near), 1.0)
    for _ in range(_ROUNDS):
        rest = 1.0 - s
        value = 2.0 * s * (2.0 * s * s - a) - 2.0 * rest * (2.0 * rest * rest - b)
        if value > 0.0:
            high = s
        else:
            low = s
        step = _halley(s, value, 12.0 * (s * s + rest * rest) - 2.0 * (a + b), 24.0 * (s - rest))
        last = abs(step - s) <= _LAST_STEP
        s = min(max(step, low), high) if last else step if low < step < high else 0.5 * (low + high)
        if last:
            break
    return 2.0 * s * s, 2.0 * (1.0 - s) * (1.0 - s)


@helper
def _on_hyperbola(a, b, near):
    """Return the nearest point of the curve alpha beta = 1/4, for a point below it."""
    # Where the normal of the curve passes through the point, alpha^4 - a alpha^3 + b alpha / 4 - 1/16 = 0: the only
    # root above zero, as one point of the boundary of a convex set is nearest.
    low, high = 0.0, 1.0 + abs(a) + abs(b)
    alpha = min(near, high)
    for _ in range(_ROUNDS):
        value = ((alpha - a) * alpha * alpha + 0.25 * b) * alpha - 0.0625
        if value > 0.0:
            high = alpha
        else:
            low = alpha
        slope = (4.0 * alpha - 3.0 * a) * alpha * alpha + 0.25 * b
        step = _halley(alpha, value, slope, (12.0 * alpha - 6.0 * a) * alpha)
        last = abs(step - alpha) <= _LAST_STEP * alpha
        alpha = min(max(step, low), high) if last else step if low < step < high else 0.5 * (low + high)
        if last:
            break
    return alpha, 0.25 / alpha


@kernel
def project(region, a, b, near=0.5):
    """Return the point of a region nearest to (a, b); the search for its alpha starts at ``near``, above zero."""
    if region == POINT:
        return 0.5, 0.5
    if region == SIMPLEX:
        alpha = min(max(0.5 * (a - b + 1.0), 0.0), 1.0)
        return alpha, 1.0 - alpha
    if region == HYPERBOLA:
        if a > 0.0 and b > 0.0 and a * b >= 0.25:
            return a, b
        return _on_hyperbola(a, b, near)
    # The others lie in the positive quadrant and within a ball: there, clipping and then shrinking is exact.
    alpha, beta = max(a, 0.0), max(b, 0.0)
    if region == ROOTS and math.sqrt(alpha) + math.sqrt(beta) < math.sqrt(2.0):
        return _on_roots(a, b, near)
    radius = 2.0 if region == ROOTS else math.sqrt(0.5)
    norm = math.sqrt(alpha * alpha + beta * beta)
    if norm > radius:
        alpha, beta = alpha * radius / norm, beta * radius / norm
    return alpha, beta
