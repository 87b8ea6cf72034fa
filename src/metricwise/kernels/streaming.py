"""One pass of point updates over rows, dense or in compressed rows (Narasimhan et al. 2015, Algorithms 1 and 3).

The model is s(x) = a (v . x - m) + b with m = v . mean: its weights a v are those of the raw features, and b belongs to
features from which the mean has been taken. Steps are those of gradient ascent on standardised features,
(x - mean) / deviation, of which ``precision`` holds 1 / deviation^2; because the weights stay raw, mean and precision
may change at any time without changing the model.

Nothing here costs more than the entries of a row that are not zero: the regulariser only shrinks the number a, and
the averaged weights are never formed. With theta_t the share of the model after row t in the average,

    sum of theta_t w_t = A v - z,    A = sum of theta_t a_t,

where every update of v by d adds A d to z (Xu 2011). The numbers a, m, b, A and others live in one array.
"""

import math

import numba as nb

from metricwise.kernels.dual_regions import DISC, HYPERBOLA, project
from metricwise.kernels.prefetching import prefetch

# Positions in the array of numbers.
SCALE, OFFSET, BIAS = 0, 1, 2  # a, m, b
SUM_SCALE, SUM_BIAS, SUM_SHARES = 3, 4, 5  # A, sum of theta (b - a m), sum of theta
ROWS, POS_WEIGHT, NEG_WEIGHT = 6, 7, 8  # seen so far
ALPHA, BETA = 9, 10  # the dual variables, or the prices of the two classes
N_NUMBERS = 11

# Positions in the array of settings.
STEP, STEP_ROWS, DUAL_STEP, SHRINKING, PRIOR = 0, 1, 2, 3, 4
N_SETTINGS = 5

# What the prices of the two classes do during a pass: they stay, or follow the dual region of a measure.
FIXED_PRICES = -1

_REASSOCIATE = {"reassoc", "contract", "nsz"}
_SMALL_SCALE = 1e-3
_FARTHEST = 1e4  # variances: the square of the distance at which an outlier counts in the statistics
_AHEAD = 2  # rows to fetch early: in random order, waiting for memory would take longer than the arithmetic


@nb.njit(cache=True, nogil=True)
def _decay(settings, rows, plain):
    """Steps shrink as one over the root of the rows; unless ``plain``, they begin to after some rows only."""
    if plain:
        return 1.0 / math.sqrt(rows)
    return math.sqrt(settings[STEP_ROWS] / (settings[STEP_ROWS] + rows))


@nb.njit(cache=True, nogil=True)
def _count(numbers, settings, positive, weight):
    """Count a row; return the share of positives, known or estimated."""
    numbers[ROWS] += 1.0
    if positive:
        numbers[POS_WEIGHT] += weight
    else:
        numbers[NEG_WEIGHT] += weight
    if settings[PRIOR] > 0.0:
        return settings[PRIOR]
    return (numbers[POS_WEIGHT] + 1.0) / (numbers[POS_WEIGHT] + numbers[NEG_WEIGHT] + 2.0)


@nb.njit(cache=True, nogil=True)
def _descend_dual(numbers, settings, region, positive, weight, margin, prior, decay):
    """Move the dual variables against the reward of a row, min(1, margin) over the share of its class."""
    reward, steepest = min(1.0, margin), math.inf
    if region == HYPERBOLA:  # the geometric mean is too steep where a rate is zero: rewards are raised, ever less
        raised = 1.0 / math.sqrt(math.sqrt(numbers[ROWS]))
        reward += raised
        steepest = 0.5 * math.sqrt((1.0 + raised) / raised)  # of the rates between raised and 1 + raised
    # The variance of the reward of the rare class is one over its share.
    step = settings[DUAL_STEP] * decay * math.sqrt(min(prior, 1.0 - prior)) * weight
    alpha, beta = numbers[ALPHA], numbers[BETA]
    if region == DISC:  # the conjugate is alpha + beta - 1; those of the others are zero
        alpha, beta = alpha + step, beta + step
    if positive:
        alpha -= step * reward / prior
    else:
        beta -= step * reward / (1.0 - prior)
    alpha, beta = project(region, alpha, beta, max(numbers[ALPHA], 1e-12))
    if alpha > steepest or beta > steepest:  # exact as well: a corner, or a point on an edge
        alpha, beta = max(min(alpha, steepest), 0.25 / steepest), max(min(beta, steepest), 0.25 / steepest)
    numbers[ALPHA], numbers[BETA] = alpha, beta


@nb.njit(cache=True, nogil=True)
def _price(numbers, positive, prior):
    return numbers[ALPHA] / prior if positive else numbers[BETA] / (1.0 - prior)


@nb.njit(cache=True, nogil=True)
def _step_length(step, margin, square, capped):
    """How far to move: not beyond the margin, so that neither an outlier nor a long step can overshoot."""
    return min(step, (1.0 - margin) / square) if capped else step


@nb.njit(cache=True, nogil=True)
def shrink(v, z, numbers, decrease):
    """Shrink the weights by a share of them, at most to zero."""
    numbers[SCALE] *= max(1.0 - decrease, 0.0)
    if numbers[SCALE] >= _SMALL_SCALE:
        return
    # The factor moves into the weights before it gets too small to be divided by; z takes the average so far.
    for j in range(v.size):
        z[j] -= numbers[SUM_SCALE] * v[j]
        v[j] *= numbers[SCALE]
    numbers[OFFSET] *= numbers[SCALE]
    numbers[SUM_SCALE] = 0.0
    numbers[SCALE] = 1.0


@nb.njit(cache=True, nogil=True)
def _average(numbers, share):
    numbers[SUM_SCALE] += share * numbers[SCALE]
    numbers[SUM_BIAS] += share * (numbers[BIAS] - numbers[SCALE] * numbers[OFFSET])
    numbers[SUM_SHARES] += share


@nb.njit(cache=True, nogil=True, fastmath=_REASSOCIATE)
def dense_pass(
    X, rows, positive, weights, mean, precision, v, z, numbers, settings, region, plain, intercept, start, stop
):
    """Update the model with the rows ``rows[start:stop]``, one after the other."""
    for k in range(start, stop):
        i = rows[k]
        if k + _AHEAD < stop:
            row = X[rows[k + _AHEAD]]
            prefetch(row, 0, row.size)
        weight = weights[i]
        row, truth = X[i], 1.0 if positive[i] else -1.0
        prior = _count(numbers, settings, positive[i], weight)
        decay = _decay(settings, numbers[ROWS], plain)
        step = settings[STEP] * decay
        product = 0.0
        for j in range(row.size):
            product += row[j] * v[j]
        margin = truth * (numbers[SCALE] * (product - numbers[OFFSET]) + numbers[BIAS])
        price = weight * _price(numbers, positive[i], prior)
        if region != FIXED_PRICES:
            _descend_dual(numbers, settings, region, positive[i], weight, margin, prior, decay)
        shrink(v, z, numbers, step * settings[SHRINKING])
        if margin < 1.0 and price > 0.0:
            square, offset = intercept, 0.0
            for j in range(row.size):
                centred = row[j] - mean[j]
                scaled = centred * precision[j]
                square += centred * scaled
                offset += mean[j] * scaled
            length = truth * _step_length(step * price, margin, square, not plain) if square > 0.0 else 0.0
            move = length / numbers[SCALE]
            summed = move * numbers[SUM_SCALE]
            for j in range(row.size):
                scaled = (row[j] - mean[j]) * precision[j]
                v[j] += move * scaled
                z[j] += summed * scaled
            numbers[OFFSET] += move * offset
            numbers[BIAS] += length * intercept
        _average(numbers, 1.0 if plain else numbers[ROWS])


@nb.njit(cache=True, nogil=True)
def _meet_features(data, indices, first, last, precision):
    """Give features never seen before the scale of their first entry; return the square of the row."""
    square = 0.0
    for p in range(first, last):
        j = nb.uint64(indices[p])
        if precision[j] == 0.0 and data[p] != 0.0:
            precision[j] = 1.0 / max(data[p] * data[p], 1e-300)
        if precision[j] > 0.0:  # else the square may be no number
            square += data[p] * data[p] * precision[j]
    return square


@nb.njit(cache=True, nogil=True, fastmath=_REASSOCIATE)
def sparse_pass(
    data,
    indices,
    indptr,
    rows,
    positive,
    weights,
    precision,
    v,
    z,
    numbers,
    settings,
    region,
    plain,
    intercept,
    start,
    stop,
):
    """`dense_pass` for compressed rows, whose features keep their mean."""
    for k in range(start, stop):
        i = rows[k]
        if k + _AHEAD < stop:
            later = rows[k + _AHEAD]
            prefetch(data, indptr[later], indptr[later + 1])
            prefetch(indices, indptr[later], indptr[later + 1])
        weight = weights[i]
        truth = 1.0 if positive[i] else -1.0
        first, last = nb.uint64(indptr[i]), nb.uint64(indptr[i + 1])
        prior = _count(numbers, settings, positive[i], weight)
        decay = _decay(settings, numbers[ROWS], plain)
        step = settings[STEP] * decay
        product = 0.0
        for p in range(first, last):
            product += data[p] * v[nb.uint64(indices[p])]
        margin = truth * (numbers[SCALE] * product + numbers[BIAS])
        price = weight * _price(numbers, positive[i], prior)
        if region != FIXED_PRICES:
            _descend_dual(numbers, settings, region, positive[i], weight, margin, prior, decay)
        shrink(v, z, numbers, step * settings[SHRINKING])
        if margin < 1.0 and price > 0.0:
            square, least = intercept, math.inf
            for p in range(first, last):
                j = nb.uint64(indices[p])
                square += data[p] * data[p] * precision[j]
                least = min(least, precision[j])
            if least == 0.0:
                square = intercept + _meet_features(data, indices, first, last, precision)
            length = truth * _step_length(step * price, margin, square, not plain) if square > 0.0 else 0.0
            move = length / numbers[SCALE]
            summed = move * numbers[SUM_SCALE]
            for p in range(first, last):
                j = nb.uint64(indices[p])
                scaled = data[p] * precision[j]
                v[j] += move * scaled
                z[j] += summed * scaled
            numbers[BIAS] += length * intercept
        _average(numbers, 1.0 if plain else numbers[ROWS])


@nb.njit(cache=True, nogil=True)
def observe_dense(X, rows, origin, first, second, observed, start, stop):
    """Add rows to the sums of x - origin and of its square, after so many ``observed`` ones; outliers count less."""
    for k in range(start, stop):
        row, share = X[rows[k]], 1.0 / max(observed + k - start, 1)
        for j in range(row.size):
            shifted = row[j] - origin[j]
            middle = first[j] * share
            variance = second[j] * share - middle * middle
            far = shifted - middle
            if far * far > _FARTHEST * variance and variance > 1e-14 * second[j] * share:
                shifted = middle + math.copysign(math.sqrt(_FARTHEST * variance), far)
            first[j] += shifted
            second[j] += shifted * shifted


@nb.njit(cache=True, nogil=True)
def observe_sparse(data, indices, indptr, rows, counts, second, start, stop):
    """Add the rows to the numbers of entries of every feature that are not zero, and to the sums of their squares."""
    for k in range(start, stop):
        for p in range(indptr[rows[k]], indptr[rows[k] + 1]):
            if data[p] != 0.0:
                j, square = indices[p], data[p] * data[p]
                if square * counts[j] > _FARTHEST * second[j] and second[j] > 0.0:  # as above
                    square = _FARTHEST * second[j] / counts[j]
                counts[j] += 1.0
                second[j] += square
