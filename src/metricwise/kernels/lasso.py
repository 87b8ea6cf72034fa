"""Lasso codes of many samples for one dictionary, each sample on its own.

Coordinates are minimised in turn; where that takes long, the codes that are not zero jump to their common minimum.
"""

import math
from typing import Any

import numba as nb
import numpy as np

from metricwise.kernels.compiling import helper, kernel

LEAST_SWEEPS = 10  # before a jump
RIDGE = 1e-8
ROUNDING = 1e-12  # of a product with the matrix


@helper
def _descend(gram, code, slope, threshold, size, least, most_sweeps):
    """Minimise over the first ``size`` coordinates in turn; return whether a sweep changed slopes by at most ``least``.

    Sweeps end there, or after ``most_sweeps``.
    """
    for _ in range(most_sweeps):
        largest = 0.0
        for j in range(size):
            curvature = gram[j, j]
            new = 0.0
            if curvature > 0.0:  # else an atom of zeros
                wanted = curvature * code[j] - slope[j]
                shrunk = abs(wanted) - threshold
                new = math.copysign(shrunk if not shrunk < 0.0 else 0.0, wanted) / curvature
            change = new - code[j]
            if change != 0.0:
                code[j] = new
                line = gram[j]
                for k in range(size):
                    slope[k] += change * line[k]
                if abs(change) * curvature > largest:
                    largest = abs(change) * curvature
        if largest <= least:
            return True
    return False


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
def _scatter_active(gram, code, slope, active, here, changes, count):
    """Write the code of the gathered coordinates back, zeros exactly, and change all slopes accordingly."""
    for a in range(count):
        code[active[a]] = here[a]
        if changes[a] != 0.0:
            line = gram[active[a]]
            for k in range(slope.size):
                slope[k] += changes[a] * line[k]


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
            if i < j:
                matrix[j, i] = total / matrix[i, i]
            else:
                matrix[j, i] = math.sqrt(total if not total < least else least)
        for k in range(j):
            solution[j] -= matrix[j, k] * solution[k]
        solution[j] /= matrix[j, j]
    for j in range(size - 1, -1, -1):
        solution[j] /= matrix[j, j]
        for k in range(j):
            solution[k] -= matrix[j, k] * solution[j]


@helper
def _jump(gram, active, here, uphill, way, count):
    """Move against the slopes of all gathered coordinates to where they vanish; return whether one became zero before.

    Where atoms are similar, sweeps converge slowly. Where they are linearly dependent, the direction still descends,
    and the minimum along it may be farther away. The step ends at the first coordinate that becomes zero. ``way`` is
    the solution of the system of the slopes, and becomes the changes.
    """
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
        for a in range(count):
            way[a] = 0.0
        return False
    for a in range(count):
        way[a] *= -step
        here[a] = here[a] + way[a] if a != first else 0.0  # exactly
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
    # A whole number would be a type of its own, which is compiled again, and may be too large for one.
    number = float(penalty)
    return _encode_samples(gram, targets, number, codes, tol, most_rounds, start, stop, active, part, *vectors)


@kernel
def _encode_samples(
    gram, targets, penalty, codes, tol, most_rounds, start, stop, active, part, slope, here, slopes, changes
):
    """Do the work of `encode_samples`; the last arrays are for the slopes and for the coordinates that are not zero."""
    threshold, unfinished, size = 0.5 * penalty, 0, slope.size
    for i in range(start, stop):
        code, target = codes[i], targets[i]
        scale = threshold
        for j in range(size):
            slope[j] = -target[j]
            if abs(target[j]) > scale:
                scale = abs(target[j])
        for j in range(size):
            if code[j] != 0.0:
                for k in range(size):
                    slope[k] += code[j] * gram[j, k]
        least = tol * scale
        for _ in range(most_rounds):
            if _descend(gram, code, slope, threshold, size, least, nb.int64(1)):
                break
            sweeping, going = True, True
            while going:  # sweeps, then jumps, each time with one coordinate less
                count = _gather_active(gram, code, slope, active, part, here, slopes)
                if sweeping:
                    for a in range(count):
                        changes[a] = here[a]
                    # About as long as a jump takes.
                    most_sweeps = count // 2 if count // 2 > LEAST_SWEEPS else LEAST_SWEEPS
                    going = not _descend(part, here, slopes, threshold, count, least, most_sweeps)
                    for a in range(count):
                        changes[a] = here[a] - changes[a]
                    sweeping = False
                else:
                    for a in range(count):
                        slopes[a] += math.copysign(threshold, here[a])
                        changes[a] = slopes[a]
                    _solve(part, changes, count)
                    going = _jump(gram, active, here, slopes, changes, count)
                _scatter_active(gram, code, slope, active, here, changes, count)
        else:
            unfinished += 1
    return unfinished
