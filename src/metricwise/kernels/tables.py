"""The best contingency table: max over (a, b) of loss(T[a], F[b]) + A[a] + B[b].

Both axes have at least one entry, for nothing predicted positive, so that every scan returns a table that exists even
where no value is above minus infinity or NaN hides them all.

T[a] is the weight of the positives predicted positive when the a best of the sorted candidates are, F[b] the weight of
the negatives predicted positive; A and B are the parts of the objective that depend on the scores, both concave in the
weight. All scans take these four arrays, so samples with weights need no code of their own.

A loss is named by an integer ``kind`` and, for ratios, its constants ``par``. It is a function of two coordinates of a
table: the weights themselves for ratios, the rates for means of the rates, their roots for the geometric mean. The
scans take the coordinates, so that roots and divisions are done once per sample and not once per table.
"""

import math

import numpy as np

from metricwise.kernels.compiling import helper, kernel

RATIO, G_MEAN, H_MEAN, Q_MEAN, MIN_RATE = 0, 1, 2, 3, 4

# Of tables that are equally violated up to rounding, every scan takes the one with the fewest true, then the fewest
# false positives, so that copies of samples and weights lead to the same labelling.
_TIE = 1e-13


@helper
def table_loss(kind, par, x, y):
    """Return 1 - measure, from the coordinates of a table."""
    if kind == 0:  # a ratio of affine functions, 0/0 counting as a measure of 0
        below = par[5] + par[6] * x + par[7] * y
        return 1.0 - (par[2] + par[3] * x + par[4] * y) / below if below != 0.0 else 1.0
    if kind == 1:
        return 1.0 - x * y
    if kind == 2:
        return 1.0 - 2.0 * x * y / (x + y) if x + y > 0.0 else 1.0
    if kind == 3:
        return math.sqrt(0.5 * ((1.0 - x) * (1.0 - x) + (1.0 - y) * (1.0 - y)))
    return 1.0 - (y if y < x else x)


@kernel
def scan_pointers(kind, par, T, A, F, B):
    """For a loss that is concave in F and whose best b never falls as a grows: one walk along both, O(|T| + |F|)."""
    best, best_a, best_b = -np.inf, 0, 0
    b = 0
    for a in range(T.size):
        here = table_loss(kind, par, T[a], F[b]) + B[b]
        while b + 1 < F.size:
            there = table_loss(kind, par, T[a], F[b + 1]) + B[b + 1]
            if there <= here:
                break
            here = there
            b += 1
        if here + A[a] > best + _TIE * (1.0 + abs(here)):
            best, best_a, best_b = here + A[a], a, b
    return best, best_a, best_b


@kernel
def scan_bisection(kind, par, T, A, F, B):
    """For a loss that is concave in F: the best b of every a by bisection on the slope, O(|T| log |F|)."""
    best, best_a, best_b = -np.inf, 0, 0
    for a in range(T.size):
        low, high = 0, F.size - 1
        while low < high:
            b = (low + high) // 2
            rise = table_loss(kind, par, T[a], F[b + 1]) - table_loss(kind, par, T[a], F[b]) + (B[b + 1] - B[b])
            if rise > 0.0:
                low = b + 1
            else:
                high = b
        value = table_loss(kind, par, T[a], F[low]) + B[low] + A[a]
        if value > best + _TIE * (1.0 + abs(value)):
            best, best_a, best_b = value, a, low
    return best, best_a, best_b


@helper
def _bound(kind, par, T, A, F, B, first, last, low, high, a_peak, b_peak):
    """Return an upper bound of the value over a rectangle of tables.

    Along either axis every loss here is monotone, so its largest value is in a corner; A and B are concave, so theirs
    is at the peak or at the end next to it.
    """
    loss = max(
        max(table_loss(kind, par, T[first], F[low]), table_loss(kind, par, T[first], F[high])),
        max(table_loss(kind, par, T[last], F[low]), table_loss(kind, par, T[last], F[high])),
    )
    return loss + A[min(max(a_peak, first), last)] + B[min(max(b_peak, low), high)]


@kernel
def scan_monge(kind, par, T, A, F, B, rising):
    """For a loss whose best b moves one way as a grows (rising or falling): divide and conquer, O(n log n).

    Rectangles that cannot beat the best table so far are left out, which spares most of the lower levels.
    """
    best, best_a, best_b, tie = -np.inf, 0, 0, _TIE
    a_peak, b_peak = np.argmax(A), np.argmax(B)
    level, next_level = np.empty((T.size + 1, 4), np.int64), np.empty((T.size + 1, 4), np.int64)
    level[0, 0], level[0, 1], level[0, 2], level[0, 3] = 0, T.size - 1, 0, F.size - 1
    size = 1
    while size > 0:  # level by level: a good table found early spares the most
        next_size = 0
        for node in range(size):
            first, last, low, high = level[node]
            if _bound(kind, par, T, A, F, B, first, last, low, high, a_peak, b_peak) < best - tie:
                continue
            a = (first + last) // 2
            row_best, row_b = -np.inf, low
            for b in range(low, high + 1):
                value = table_loss(kind, par, T[a], F[b]) + B[b]
                if value > row_best + tie:
                    row_best, row_b = value, b
            lead = row_best + A[a] - best
            if lead > tie or (lead >= -tie and a < best_a):
                best, best_a, best_b = row_best + A[a], a, row_b
                tie = _TIE * (1.0 + abs(best))
            if first < a:
                child = next_level[next_size]
                child[0], child[1] = first, a - 1
                child[2], child[3] = (low, row_b) if rising else (row_b, high)
                next_size += 1
            if a < last:
                child = next_level[next_size]
                child[0], child[1] = a + 1, last
                child[2], child[3] = (row_b, high) if rising else (low, row_b)
                next_size += 1
        level, next_level, size = next_level, level, next_size
    return best, best_a, best_b


@helper
def _best_share(par, tp, f_low, f_high, slope, whole):
    """Return the best weight of false positives between f_low and f_high for a ratio; B has this ``slope``."""
    # The loss falls in F as -(p + q F) / (r + t F); its slope is (p t - q r) / (r + t F)^2, and we want it = -slope.
    p = par[2] + par[3] * tp
    r = par[5] + par[6] * tp
    lean = p * par[7] - par[4] * r
    if slope >= 0.0:
        return f_high
    f = (math.sqrt(max(lean / -slope, 0.0)) - r) / par[7]
    f = min(max(f, f_low), f_high)
    if whole:
        down = math.floor(f)
        up = min(down + 1.0, f_high)
        gain_down = table_loss(0, par, tp, down) + slope * (down - f_low)
        gain_up = table_loss(0, par, tp, up) + slope * (up - f_low)
        f = up if gain_up > gain_down else down
    return f


@kernel
def scan_splitting(par, T, A, F, B, whole, least):
    """`scan_bisection` for a ratio concave in F, where a sample's weight may be split at the end of the prefix.

    With weights, the best prefix may end inside a sample: anywhere, or (``whole``) at a whole number of its copies.
    Only tables with T + F >= ``least`` count; that bound must lie on the grid. Returns the best value, a, and the
    weight of false positives.
    """
    best, best_a, best_f = -np.inf, 0, 0.0
    for a in range(T.size):
        start = np.searchsorted(F, least - T[a] - _TIE * abs(least)) if T[a] < least else 0
        if start == F.size:
            continue
        low, high = start, F.size - 1
        while low < high:
            b = (low + high) // 2
            rise = table_loss(0, par, T[a], F[b + 1]) - table_loss(0, par, T[a], F[b]) + (B[b + 1] - B[b])
            if rise > 0.0:
                low = b + 1
            else:
                high = b
        value = table_loss(0, par, T[a], F[low]) + B[low]
        f_best = F[low]
        for cell in range(max(low - 1, start), min(low + 1, F.size - 1)):
            if not F[cell + 1] > F[cell]:  # a weight that rounding has lost
                continue
            slope = (B[cell + 1] - B[cell]) / (F[cell + 1] - F[cell])
            f = _best_share(par, T[a], F[cell], F[cell + 1], slope, whole)
            inside = table_loss(0, par, T[a], f) + B[cell] + slope * (f - F[cell])
            if inside > value + _TIE * (1.0 + abs(value)):
                value, f_best = inside, f
        if value + A[a] > best + _TIE * (1.0 + abs(value)):
            best, best_a, best_f = value + A[a], a, f_best
    return best, best_a, best_f
