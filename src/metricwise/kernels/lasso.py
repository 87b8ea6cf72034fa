"""Lasso codes of many samples for one dictionary, each sample on its own.

Coordinates are minimised in turn; where that takes long, the codes that are not zero jump to their common minimum.
"""

import math
from typing import Any

import numpy as np

from metricwise.kernels.compiling import helper, kernel

LEAST_SWEEPS = 10  # before a jump
RIDGE = 1e-8
ROUNDING = 1e-12  # of a product with the matrix


@helper
def _descend(gram, code, slope, threshold, size):
    """Minimise over the first ``size`` coordinates in turn; return the largest change, in units of the slope."""
    largest = 0.0
    for j in range(size):
        curvature = gram[j, j]
        new = 0.0
        if curvature > 0.0:  # else an atom of zeros
            wanted = curvature * code[j] - slope[j]
            new = math.copysign(max(abs(wanted) - threshold, 0.0), wanted) / curvature
        change = new - code[j]
        if change != 0.0:
            code[j] = new
            line = gram[j]
            for k in range(size):
                slope[k] += change * line[k]
            largest = max(largest, abs(change) * curvature)
    return largest


@helper
def _gather_active(gram, code, slope, active, part, here, slopes):
    """Copy code, slopes and the part of the matrix of all nonzero coordinates; return how many these are."""
    count = 0
    for j in range(code.size):
        if code[j] != 0.0:
            active[count], here[count], slopes[count] = j, code[j], slope[j]
            count += 1
    for a in range(count):
        for b in range(count):
            part[a, b] = gram[active[a], active[b]]
    return count


@helper
def _change(gram, code, slope, active, changes, count):
    for a in range(count):
        if changes[a] != 0.0:
            code[active[a]] += changes[a]
            line = gram[active[a]]
            for k in range(slope.size):
                slope[k] += changes[a] * line[k]


@helper
def _descend_active(gram, code, slope, threshold, least, active, part, here, slopes, changes):
    """Descend over the coordinates that are not zero; return whether their changes fell to ``least``."""
    count = _gather_active(gram, code, slope, active, part, here, slopes)
    done = False
    for _ in range(max(LEAST_SWEEPS, count // 2)):  # about as long as a jump takes
        done = _descend(part, here, slopes, threshold, count) <= least
        if done:
            break
    for a in range(count):
        changes[a] = here[a] - code[active[a]]
    _change(gram, code, slope, active, changes, count)
    for a in range(count):
        code[active[a]] = here[a]  # zeros exactly
    return done


@helper
def _solve(matrix, solution, size):
    """Replace the right side of a symmetric system by its solution; the matrix becomes its Cholesky factor.

    Pivots are kept above zero.
    """
    for j in range(size):
        least = RIDGE * matrix[j, j]
        for i in range(j + 1):
            total = matrix[j, i]
            for k in range(i):
                total -= matrix[i, k] * matrix[j, k]
            matrix[j, i] = math.sqrt(max(total, least)) if i == j else total / matrix[i, i]
        for k in range(j):
            solution[j] -= matrix[j, k] * solution[k]
        solution[j] /= matrix[j, j]
    for j in range(size - 1, -1, -1):
        solution[j] /= matrix[j, j]
        for k in range(j):
            solution[k] -= matrix[j, k] * solution[j]


@helper
def _jump(gram, code, slope, threshold, active, part, here, uphill, way):
    """Move to where the slopes of all nonzero coordinates vanish; return whether one became zero before.

    Where atoms are similar, sweeps converge slowly. Where they are linearly dependent, the direction still descends,
    and the minimum along it may be farther away. The step ends at the first coordinate that becomes zero.
    """
    count = _gather_active(gram, code, slope, active, part, here, uphill)
    for a in range(count):
        uphill[a] += math.copysign(threshold, here[a])
        way[a] = uphill[a]
    _solve(part, way, count)
    fall, bend = 0.0, 0.0  # overestimated rather than underestimated: too long a step would ascend
    for a in range(count):
        fall += way[a] * uphill[a]
        bend += ROUNDING * gram[active[a], active[a]] * way[a] * way[a]
        for b in range(count):
            bend += way[a] * gram[active[a], active[b]] * way[b]
    step = fall / bend if bend > 0.0 else math.inf
    first = -1
    for a in range(count):
        if way[a] * here[a] > 0.0 and here[a] / way[a] <= step:
            step, first = here[a] / way[a], a
    if fall <= 0.0 or not math.isfinite(step):
        return False
    for a in range(count):
        way[a] *= -step
    _change(gram, code, slope, active, way, count)
    if first >= 0:
        code[active[first]] = 0.0  # exactly
    return first >= 0


def encode_samples(
    gram: Any, targets: Any, penalty: float, codes: Any, tol: float, most_rounds: int, start: int, stop: int
) -> Any:
    """Minimise s' gram s - 2 targets[i] . s + penalty |s|_1 over s = codes[i] for the samples start..stop.

    Codes are changed in place and never get worse than they were. A sample is done when a sweep over all coordinates
    changes no slope by more than ``tol`` of its largest target. Returns how many samples did not converge.
    """
    # Allocated here, as numba compiles a function of its own for every kind of array that a kernel creates.
    size = gram.shape[0]
    active, part, vectors = np.empty(size, np.int64), np.empty((size, size)), np.empty((4, size))
    return _encode_samples(gram, targets, penalty, codes, tol, most_rounds, start, stop, active, part, *vectors)


@kernel
def _encode_samples(
    gram, targets, penalty, codes, tol, most_rounds, start, stop, active, part, slope, here, slopes, changes
):
    """Do the work of `encode_samples`; the last arrays are for the slopes and for the coordinates that are not zero."""
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
            if _descend(gram, code, slope, threshold, slope.size) <= tol * scale:
                break
            going = not _descend_active(gram, code, slope, threshold, tol * scale, active, part, here, slopes, changes)
            while going:  # each time with one coordinate less
                going = _jump(gram, code, slope, threshold, active, part, here, slopes, changes)
        else:
            unfinished += 1
    return unfinished
