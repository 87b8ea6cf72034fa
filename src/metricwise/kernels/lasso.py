"""Lasso codes of many samples for one dictionary, each sample on its own.

Coordinates are minimised in turn; where that takes long, the codes that are not zero jump to their common minimum.
"""

import numba as nb
import numpy as np

LEAST_SWEEPS = 10  # before a jump
RIDGE = 1e-8
ROUNDING = 1e-12  # of a product with the matrix


@nb.njit(cache=True, nogil=True)
def _descend(gram, code, slope, threshold):
    """Minimise over every coordinate in turn; return the largest change, in units of the slope."""
    largest = 0.0
    for j in range(code.size):
        curvature = gram[j, j]
        new = 0.0
        if curvature > 0.0:  # else an atom of zeros
            wanted = curvature * code[j] - slope[j]
            new = np.sign(wanted) * max(abs(wanted) - threshold, 0.0) / curvature
        change = new - code[j]
        if change != 0.0:
            code[j] = new
            line = gram[j]
            for k in range(slope.size):
                slope[k] += change * line[k]
            largest = max(largest, abs(change) * curvature)
    return largest


@nb.njit(cache=True, nogil=True)
def _part(gram, active):
    """Return the rows and columns of some coordinates, so that steps among them do not touch the others."""
    part = np.empty((active.size, active.size))
    for a in range(active.size):
        for b in range(active.size):
            part[a, b] = gram[active[a], active[b]]
    return part


@nb.njit(cache=True, nogil=True)
def _change(gram, code, slope, active, changes):
    for a in range(active.size):
        if changes[a] != 0.0:
            code[active[a]] += changes[a]
            line = gram[active[a]]
            for k in range(slope.size):
                slope[k] += changes[a] * line[k]


@nb.njit(cache=True, nogil=True)
def _descend_active(gram, code, slope, threshold, least):
    """Descend over the coordinates that are not zero; return whether their changes fell to ``least``."""
    active = np.flatnonzero(code)
    part, old, slopes = _part(gram, active), code[active], slope[active]
    new = old.copy()
    for _ in range(max(LEAST_SWEEPS, active.size // 2)):  # about as long as a jump takes
        done = _descend(part, new, slopes, threshold) <= least
        if done:
            break
    _change(gram, code, slope, active, new - old)
    code[active] = new  # zeros exactly
    return done


@nb.njit(cache=True, nogil=True)
def _solve(matrix, right):
    """Return the solution of a symmetric system by an in-place Cholesky factor, pivots kept above zero."""
    solution = right.copy()
    for j in range(right.size):
        least = RIDGE * matrix[j, j]
        for i in range(j + 1):
            total = matrix[j, i]
            for k in range(i):
                total -= matrix[i, k] * matrix[j, k]
            matrix[j, i] = np.sqrt(max(total, least)) if i == j else total / matrix[i, i]
        for k in range(j):
            solution[j] -= matrix[j, k] * solution[k]
        solution[j] /= matrix[j, j]
    for j in range(right.size - 1, -1, -1):
        solution[j] /= matrix[j, j]
        for k in range(j):
            solution[k] -= matrix[j, k] * solution[j]
    return solution


@nb.njit(cache=True, nogil=True)
def _jump(gram, code, slope, threshold):
    """Move to where the slopes of all nonzero coordinates vanish; return whether one became zero before.

    Where atoms are similar, sweeps converge slowly. Where they are linearly dependent, the direction still descends,
    and the minimum along it may be farther away. The step ends at the first coordinate that becomes zero.
    """
    active = np.flatnonzero(code)
    part, here = _part(gram, active), code[active]
    uphill = slope[active] + threshold * np.sign(here)
    way = _solve(part, uphill)
    fall, bend = 0.0, 0.0  # overestimated rather than underestimated: too long a step would ascend
    for a in range(active.size):
        fall += way[a] * uphill[a]
        bend += ROUNDING * gram[active[a], active[a]] * way[a] * way[a]
        for b in range(active.size):
            bend += way[a] * gram[active[a], active[b]] * way[b]
    step = fall / bend if bend > 0.0 else np.inf
    first = -1
    for a in range(active.size):
        if way[a] * here[a] > 0.0 and here[a] / way[a] <= step:
            step, first = here[a] / way[a], a
    if fall <= 0.0 or not np.isfinite(step):
        return False
    _change(gram, code, slope, active, -step * way)
    if first >= 0:
        code[active[first]] = 0.0  # exactly
    return first >= 0


@nb.njit(cache=True, nogil=True)
def encode_samples(gram, targets, penalty, codes, tol, most_rounds, start, stop):
    """Minimise s' gram s - 2 targets[i] . s + penalty |s|_1 over s = codes[i] for the samples start..stop.

    Codes are changed in place and never get worse than they were. A sample is done when a sweep over all coordinates
    changes no slope by more than ``tol`` of its largest target. Returns how many samples did not converge.
    """
    slope = np.empty(gram.shape[0])
    threshold, unfinished = 0.5 * penalty, 0
    for i in range(start, stop):
        code, target = codes[i], targets[i]
        scale = threshold
        for j in range(slope.size):
            slope[j] = -target[j]
            scale = max(scale, abs(target[j]))
        for j in range(slope.size):
            if code[j] != 0.0:
                for k in range(slope.size):
                    slope[k] += code[j] * gram[j, k]
        for _ in range(most_rounds):
            if _descend(gram, code, slope, threshold) <= tol * scale:
                break
            going = not _descend_active(gram, code, slope, threshold, tol * scale)
            while going:  # each time with one coordinate less
                going = _jump(gram, code, slope, threshold)
        else:
            unfinished += 1
    return unfinished
