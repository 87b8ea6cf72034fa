"""One pass of point updates over dense or sparse (CSR) samples (Narasimhan et al. 2015, Algorithms 1 and 3).

The model is s(x) = a (v . x - m) + b with m = v . mean: its weights a v are those of the raw features, and b belongs to
features from which the mean has been taken. Steps are those of gradient ascent on standardised features,
(x - mean) / deviation, of which ``precision`` holds 1 / deviation^2; because the weights stay raw, mean and precision
may change at any time without changing the model.

Nothing here costs more than the entries of a sample that are not zero: the regulariser only shrinks the number a, and
the averaged weights are never formed. With theta_t the share of the model after sample t in the average,

    sum of theta_t w_t = A v - z,    A = sum of theta_t a_t,

where every update of v by d adds A d to z (Xu 2011). The numbers a, m, b, A and others live in one array between
passes, and in local variables during a pass: reading them from an array again and again costs as much as a short
sample.
"""

import math

import numba as nb

from metricwise.kernels.compiling import helper, kernel
from metricwise.kernels.dual_regions import DISC, HYPERBOLA, project
from metricwise.kernels.prefetching import prefetch

# Positions in the array of numbers.
SCALE, OFFSET, BIAS = 0, 1, 2  # a, m, b
SUM_SCALE, SUM_BIAS, SUM_SHARES = 3, 4, 5  # A, sum of theta (b - a m), sum of theta
N_SAMPLES, POS_WEIGHT, NEG_WEIGHT = 6, 7, 8  # seen so far
ALPHA, BETA = 9, 10  # the dual variables, or the costs of the two classes
PACE = 11  # first of the numbers of `_pace`
_PACE_NUMBERS = 6
N_NUMBERS = PACE + _PACE_NUMBERS
_SMALL_SCALE = 1e-3  # below it, the scale is moved into the weights
# The least value of every number: the scale is divided by, counts and costs are not negative.
LEAST_NUMBERS = (_SMALL_SCALE, -math.inf, -math.inf, -math.inf, -math.inf, *[0.0] * (N_NUMBERS - SUM_SHARES))

# Positions in the array of settings.
STEP, STEP_SAMPLES, DUAL_STEP, SHRINKING, PRIOR = 0, 1, 2, 3, 4
N_SETTINGS = 5

# The costs of the two classes stay fixed during a pass, or follow the dual region of a measure. A pass without a region
# is compiled without the projections on it.
FIXED_COSTS = None

_REASSOCIATE = {"reassoc", "contract", "nsz"}
_LEAST_SQUARE = 1e-300  # one over it is finite
_FARTHEST = 1e4  # variances: the square of the distance at which an outlier counts in the statistics
_AHEAD = 2  # samples to fetch early: in random order, waiting for memory would take longer than the arithmetic
_EVERY_SAMPLE_UNTIL, _SAMPLES_PER_PACE = 256, 16


@helper
def _load(numbers):
    """Return the numbers that a pass changes, in the order of their positions."""
    return (
        numbers[SCALE],
        numbers[OFFSET],
        numbers[BIAS],
        numbers[SUM_SCALE],
        numbers[SUM_BIAS],
        numbers[SUM_SHARES],
        numbers[N_SAMPLES],
        numbers[POS_WEIGHT],
        numbers[NEG_WEIGHT],
        numbers[ALPHA],
        numbers[BETA],
    )


@helper
def _load_pace(numbers):
    return numbers[PACE], numbers[PACE + 1], numbers[PACE + 2], numbers[PACE + 3], numbers[PACE + 4], numbers[PACE + 5]


@helper
def _store(numbers, values, first):
    for position, value in enumerate(values):
        numbers[first + position] = value


@helper
def _count(count, pos_weight, neg_weight, is_positive, weight):
    if is_positive:
        return count + 1.0, pos_weight + weight, neg_weight
    return count + 1.0, pos_weight, neg_weight + weight


@helper
def _is_due(n_samples, plain):
    """Return whether `_pace` is due: it changes slowly, and would cost as much as a short sample."""
    return plain or n_samples <= _EVERY_SAMPLE_UNTIL or nb.int64(n_samples) % _SAMPLES_PER_PACE == 0


@helper
def _pace(settings, n_samples, positives, negatives, plain):
    """Return the quantities that depend on the number of samples seen.

    These are the decay of the steps, one over the share of either class, the step of the dual variables, the amount by
    which rewards are raised for the geometric mean, and its largest slope at such rewards.
    """
    prior = settings[PRIOR] if settings[PRIOR] > 0.0 else (positives + 1.0) / (positives + negatives + 2.0)
    # Steps shrink as one over the root of the samples; unless plain, they begin to shrink after some samples only.
    full = settings[STEP_SAMPLES]
    decay = 1.0 / math.sqrt(n_samples) if plain else math.sqrt(full / (full + n_samples))
    # The variance of the reward of the rare class is one over its share.
    dual_step = settings[DUAL_STEP] * decay * math.sqrt(prior if prior < 0.5 else 1.0 - prior)
    # The geometric mean is too steep where a rate is zero: rewards are raised, ever less.
    raised = 1.0 / math.sqrt(math.sqrt(n_samples))
    steepest = 0.5 * math.sqrt((1.0 + raised) / raised)  # of the rates between raised and 1 + raised
    return decay, 1.0 / prior, 1.0 / (1.0 - prior), dual_step, raised, steepest


@helper
def _descend_dual(region, alpha, beta, positive, step, margin, per_share, raised, steepest):
    """Move the dual variables against the reward of a sample, min(1, margin) over the share of its class."""
    new_alpha, new_beta, reward = alpha, beta, min(1.0, margin)
    if region == HYPERBOLA:
        reward += raised
    if region == DISC:  # the conjugate is alpha + beta - 1; those of the others are zero
        new_alpha, new_beta = alpha + step, beta + step
    if positive:
        new_alpha -= step * reward * per_share
    else:
        new_beta -= step * reward * per_share
    new_alpha, new_beta = project(region, new_alpha, new_beta, max(alpha, 1e-12))
    if region == HYPERBOLA and max(new_alpha, new_beta) > steepest:  # exact as well: a corner, or a point on an edge
        flattest = 0.25 / steepest
        return max(min(new_alpha, steepest), flattest), max(min(new_beta, steepest), flattest)
    return new_alpha, new_beta


@helper
def _step_length(step, margin, square, capped):
    """Return how far to move: not beyond the margin, so that neither an outlier nor a long step can overshoot."""
    if square <= 0.0:
        return 0.0
    longest = (1.0 - margin) / square
    return longest if capped and longest < step else step


@helper
def _fold_scale(v, z, scale, sum_scale):
    """Move the factor into the weights before it gets too small to be divided by; z takes the average so far."""
    for j in range(v.size):
        z[j] -= sum_scale * v[j]
        v[j] *= scale


@kernel
def shrink(v, z, numbers, decrease):
    """Shrink the weights by a share of them, at most to zero."""
    numbers[SCALE] *= max(1.0 - decrease, 0.0)
    if numbers[SCALE] >= _SMALL_SCALE:
        return
    _fold_scale(v, z, numbers[SCALE], numbers[SUM_SCALE])
    numbers[OFFSET] *= numbers[SCALE]
    numbers[SUM_SCALE] = 0.0
    numbers[SCALE] = 1.0


@kernel(fastmath=_REASSOCIATE)
def dense_pass(
    X, samples, positive, weights, mean, precision, v, z, numbers, settings, region, plain, intercept, start, stop
):
    """Update the model with the samples ``samples[start:stop]``, one after the other."""
    scale, offset, bias, sum_scale, sum_bias, sum_shares, count, pos_weight, neg_weight, alpha, beta = _load(numbers)
    decay, per_pos, per_neg, dual_step, raised, steepest = _load_pace(numbers)
    for k in range(start, stop):
        i = samples[k]
        if k + _AHEAD < stop:
            row = X[samples[k + _AHEAD]]
            prefetch(row, 0, row.size)
        row, weight, is_positive = X[i], weights[i], positive[i]
        count, pos_weight, neg_weight = _count(count, pos_weight, neg_weight, is_positive, weight)
        if _is_due(count, plain):
            decay, per_pos, per_neg, dual_step, raised, steepest = _pace(settings, count, pos_weight, neg_weight, plain)
        step, per_share = settings[STEP] * decay, per_pos if is_positive else per_neg
        product = 0.0
        for j in range(row.size):
            product += row[j] * v[j]
        truth = 1.0 if is_positive else -1.0
        margin = truth * (scale * (product - offset) + bias)
        cost = weight * (alpha if is_positive else beta) * per_share
        if region is not None:
            alpha, beta = _descend_dual(
                region, alpha, beta, is_positive, dual_step * weight, margin, per_share, raised, steepest
            )
        shrinking = 1.0 - step * settings[SHRINKING]
        scale *= shrinking if not shrinking < 0.0 else 0.0
        if scale < _SMALL_SCALE:
            _fold_scale(v, z, scale, sum_scale)
            scale, offset, sum_scale = 1.0, offset * scale, 0.0
        if margin < 1.0 and cost > 0.0:
            square, change = intercept, 0.0
            for j in range(row.size):
                centred = row[j] - mean[j]
                scaled = centred * precision[j]
                square += centred * scaled
                change += mean[j] * scaled
            length = truth * _step_length(step * cost, margin, square, not plain)
            move = length / scale
            summed = move * sum_scale
            for j in range(row.size):
                scaled = (row[j] - mean[j]) * precision[j]
                v[j] += move * scaled
                z[j] += summed * scaled
            offset += move * change
            bias += length * intercept
        share = 1.0 if plain else count
        sum_scale += share * scale
        sum_bias += share * (bias - scale * offset)
        sum_shares += share
    _store(
        numbers,
        (scale, offset, bias, sum_scale, sum_bias, sum_shares, count, pos_weight, neg_weight, alpha, beta),
        SCALE,
    )
    _store(numbers, (decay, per_pos, per_neg, dual_step, raised, steepest), PACE)


@helper
def _meet_features(data, indices, first, last, precision):
    """Give features never seen before the scale of their first entry; return the square of the sample."""
    square = 0.0
    for p in range(first, last):
        j = nb.uint64(indices[p])
        if precision[j] == 0.0 and data[p] != 0.0:
            precision[j] = 1.0 / max(data[p] * data[p], _LEAST_SQUARE)
        if precision[j] > 0.0:  # else the square may be NaN
            square += data[p] * data[p] * precision[j]
    return square


@kernel(fastmath=_REASSOCIATE)
def sparse_pass(
    data,
    indices,
    indptr,
    samples,
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
    """Update the model with the samples ``samples[start:stop]`` of a CSR matrix, one after the other, not centred."""
    scale, offset, bias, sum_scale, sum_bias, sum_shares, count, pos_weight, neg_weight, alpha, beta = _load(numbers)
    decay, per_pos, per_neg, dual_step, raised, steepest = _load_pace(numbers)
    for k in range(start, stop):
        i = samples[k]
        if k + _AHEAD < stop:
            later = samples[k + _AHEAD]
            prefetch(data, indptr[later], indptr[later + 1])
            prefetch(indices, indptr[later], indptr[later + 1])
        weight, is_positive = weights[i], positive[i]
        first, last = nb.uint64(indptr[i]), nb.uint64(indptr[i + 1])
        count, pos_weight, neg_weight = _count(count, pos_weight, neg_weight, is_positive, weight)
        if _is_due(count, plain):
            decay, per_pos, per_neg, dual_step, raised, steepest = _pace(settings, count, pos_weight, neg_weight, plain)
        step, per_share = settings[STEP] * decay, per_pos if is_positive else per_neg
        product = 0.0
        for p in range(first, last):
            product += data[p] * v[nb.uint64(indices[p])]
        truth = 1.0 if is_positive else -1.0
        margin = truth * (scale * product + bias)
        cost = weight * (alpha if is_positive else beta) * per_share
        if region is not None:
            alpha, beta = _descend_dual(
                region, alpha, beta, is_positive, dual_step * weight, margin, per_share, raised, steepest
            )
        shrinking = 1.0 - step * settings[SHRINKING]
        scale *= shrinking if not shrinking < 0.0 else 0.0
        if scale < _SMALL_SCALE:
            _fold_scale(v, z, scale, sum_scale)
            scale, sum_scale = 1.0, 0.0
        if margin < 1.0 and cost > 0.0:
            square, least = intercept, math.inf
            for p in range(first, last):
                j = nb.uint64(indices[p])
                square += data[p] * data[p] * precision[j]
                least = min(least, precision[j])
            if least == 0.0:
                square = intercept + _meet_features(data, indices, first, last, precision)
            length = truth * _step_length(step * cost, margin, square, not plain)
            move = length / scale
            summed = move * sum_scale
            for p in range(first, last):
                j = nb.uint64(indices[p])
                scaled = data[p] * precision[j]
                v[j] += move * scaled
                z[j] += summed * scaled
            bias += length * intercept
        share = 1.0 if plain else count
        sum_scale += share * scale
        sum_bias += share * bias
        sum_shares += share
    _store(
        numbers,
        (scale, offset, bias, sum_scale, sum_bias, sum_shares, count, pos_weight, neg_weight, alpha, beta),
        SCALE,
    )
    _store(numbers, (decay, per_pos, per_neg, dual_step, raised, steepest), PACE)


@kernel
def observe_dense(X, samples, origin, first, second, observed, start, stop):
    """Add samples to the sums of x - origin and of its square, after ``observed`` earlier ones; outliers count less."""
    for k in range(start, stop):
        row, earlier = X[samples[k]], observed + k - start
        share = 1.0 / earlier if earlier > 1 else 1.0
        for j in range(row.size):
            shifted = row[j] - origin[j]
            middle = first[j] * share
            variance = second[j] * share - middle * middle
            far = shifted - middle
            if far * far > _FARTHEST * variance and variance > 1e-14 * second[j] * share:
                shifted = middle + math.copysign(math.sqrt(_FARTHEST * variance), far)
            first[j] += shifted
            second[j] += shifted * shifted


@kernel
def observe_sparse(data, indices, indptr, samples, counts, second, start, stop):
    """Add the samples to every feature's number of nonzero entries and to their sum of squares."""
    for k in range(start, stop):
        for p in range(nb.uint64(indptr[samples[k]]), nb.uint64(indptr[samples[k] + 1])):
            if data[p] != 0.0:
                j, square = nb.uint64(indices[p]), data[p] * data[p]
                if square * counts[j] > _FARTHEST * second[j] and second[j] > 0.0:  # an outlier counts less
                    square = _FARTHEST * second[j] / counts[j]
                counts[j] += 1.0
                second[j] += square


@kernel
def rescale_sparse(counts, second, observed, precision, shares):
    """Set the precision of the features observed so far, and the share of every feature in the square of a sample."""
    for j in range(counts.size):
        is_used = (second[j] > _LEAST_SQUARE) & (second[j] < math.inf)
        share = math.sqrt(counts[j] * observed)
        shares[j] = share if is_used else 0.0
        precision[j] = share / second[j] if is_used else precision[j]


@kernel
def average_weights(v, z, sum_scale, sum_shares, out):
    """Write the weights of the averaged model, in one pass."""
    for j in range(v.size):
        out[j] = (v[j] * sum_scale - z[j]) / sum_shares


@kernel(fastmath=_REASSOCIATE)
def remember_sparse(
    data,
    indices,
    indptr,
    samples,
    positive,
    weights,
    position,
    strides,
    w,
    intercept,
    scores,
    score_weights,
    score_positions,
    n_scores,
):
    """Score the positives at every ``strides[0]``-th position and the negatives at every ``strides[1]``-th.

    ``position`` is that of the first sample. Scores replace the oldest ones of their class, with weights and positions.
    """
    n_places = scores.shape[1]
    for side in range(2):
        wanted, first, stride = side == 0, -position % strides[side], strides[side]
        surplus = -n_places  # the first ones are not kept, if there are more than places
        for k in range(first, samples.size, stride):
            surplus += positive[samples[k]] == wanted
        place = n_scores[side] % n_places
        for k in range(first, samples.size, stride):
            i = samples[k]
            if positive[i] != wanted:
                continue
            if surplus > 0:
                surplus -= 1
                continue
            total = 0.0
            for p in range(nb.uint64(indptr[i]), nb.uint64(indptr[i + 1])):
                total += data[p] * w[nb.uint64(indices[p])]
            scores[side, place] = total + intercept
            score_weights[side, place] = weights[i]
            score_positions[side, place] = position + k
            n_scores[side] += 1
            place = (place + 1) % n_places
