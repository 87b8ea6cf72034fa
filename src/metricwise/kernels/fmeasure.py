"""Label sets with the largest expected F-measure: from joint probabilities, from samples, from marginals.

F-beta of a truth with s labels and a prediction with k labels, t of them right, is t / (size_share s + count_share k),
where size_share = beta^2 / (1 + beta^2) and count_share = 1 / (1 + beta^2).
"""

import numpy as np

from metricwise.kernels.compiling import kernel

# Of sets whose values differ by rounding errors only, the one with fewest labels is taken.
_TIE = 1e-12
# A set whose upper bound stays this far below the best value cannot be a tie.
_HOPELESS = 1e-11
# Factors below this count as zero: they would soon be subnormal, and slow.
_VANISHED = 1e-280


@kernel
def smallest_best(values):
    """Return the index of the first value that reaches the largest one, up to rounding."""
    enough = values.max() * (1.0 - _TIE)
    for k in range(values.size):
        if values[k] >= enough:
            return k
    return 0


# ------------------------------------------------------------------------------------------------ joint probabilities


@kernel
def _select(values, k):
    """Rearrange ``values`` so that the k largest come first (Hoare's selection).

    The inner scans stay within low..high: the pivot is one of the entries, later on those already exchanged stop them,
    and so does NaN, which is neither above nor below.
    """
    low, high = 0, values.size - 1
    while low < high:
        middle = (low + high) // 2
        a, b, c = values[low], values[middle], values[high]
        pivot = max(min(a, b), min(max(a, b), c))
        i, j = low, high
        while i <= j:
            while values[i] > pivot:
                i += 1
            while values[j] < pivot:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i += 1
                j -= 1
        if k - 1 <= j:
            high = j
        elif k - 1 >= i:
            low = i
        else:
            return


@kernel
def _gains(mass, sizes, k, size_share, count_share, out):
    """Write to ``out`` what each label adds to the expected measure of a set with k labels."""
    out[:] = 0.0
    for row in range(sizes.size):
        weight = 1.0 / (size_share * sizes[row] + count_share * k)
        for i in range(out.size):
            out[i] += weight * mass[row, i]


@kernel
def _free_set(mass, sizes, p_zero, size_share, count_share, values, gains, labels):
    """Mark the best set among all; mass[row, i] is the probability of label i with sizes[row] labels in all.

    A label of a set with k labels gains sum over s of p(y_i = 1, s labels) / (size_share s + count_share k), so the
    best k labels are those with the largest gains. Each k has a bound that is cheap: the k best labels of one size
    cannot hold more than k times the largest mass, nor more than all of it.
    """
    m = gains.size
    totals, peaks = np.zeros(sizes.size), np.zeros(sizes.size)
    for row in range(sizes.size):
        for i in range(m):
            totals[row] += mass[row, i]
            peaks[row] = max(peaks[row], mass[row, i])
    bounds = np.zeros(m + 1)
    for k in range(1, m + 1):
        for row in range(sizes.size):
            bounds[k] += min(k * peaks[row], totals[row]) / (size_share * sizes[row] + count_share * k)
    values[:] = -1.0
    values[0] = best = p_zero
    promising = int(np.argmax(bounds))
    for turn in range(m + 1):
        k = promising if turn == 0 else turn
        if k == 0 or (turn == promising and turn > 0) or bounds[k] < best * (1.0 - _HOPELESS):
            continue
        _gains(mass, sizes, k, size_share, count_share, gains)
        _select(gains, k)
        values[k] = gains[:k].sum()
        best = max(best, values[k])
    k = smallest_best(values)
    if k > 0:
        _gains(mass, sizes, k, size_share, count_share, gains)
        ranked = gains.copy()
        _select(ranked, k)
        least = ranked[:k].min()
        room = k
        for i in range(m):
            if gains[i] > least:
                labels[i] = 1
                room -= 1
        for i in range(m):  # equal gains at the border: the first labels are taken
            if room > 0 and gains[i] == least:
                labels[i] = 1
                room -= 1
    return values[k]


@kernel
def _ordered_set(mass, sizes, p_zero, size_share, count_share, values, gains, labels):
    """Mark the best set among those that keep to the order of the marginal probabilities."""
    m = gains.size
    gains[:] = 0.0
    for row in range(sizes.size):
        for i in range(m):
            gains[i] -= mass[row, i]
    order = np.argsort(gains, kind="mergesort")  # stable, so that equal marginals keep their order
    held = np.zeros(sizes.size)
    values[0] = p_zero
    for k in range(1, m + 1):
        values[k] = 0.0
        for row in range(sizes.size):
            held[row] += mass[row, order[k - 1]]
            values[k] += held[row] / (size_share * sizes[row] + count_share * k)
    k = smallest_best(values)
    for i in order[:k]:
        labels[i] = 1
    return values[k]


@kernel
def _best_set(ordered, mass, sizes, p_zero, size_share, count_share, values, gains, labels):
    if ordered:
        return _ordered_set(mass, sizes, p_zero, size_share, count_share, values, gains, labels)
    return _free_set(mass, sizes, p_zero, size_share, count_share, values, gains, labels)


@kernel
def joint_sets(joint, p_zero, ordered, size_share, count_share, labels, expected):
    """For each instance, mark the best set given joint[i, s - 1] = p(y_i = 1, s labels); labels start at zero."""
    n, m = labels.shape
    mass, sizes = np.empty((m, m)), np.empty(m)
    values, gains = np.empty(m + 1), np.empty(m)
    for instance in range(n):
        found = 0
        for s in range(m):
            heaviest = 0.0
            for i in range(m):
                mass[found, i] = joint[instance, i, s]
                heaviest = max(heaviest, mass[found, i])
            sizes[found] = s + 1
            found += heaviest > 0.0  # sizes that cannot occur are overwritten
        zero, present = p_zero[instance], labels[instance]
        expected[instance] = _best_set(
            ordered, mass[:found], sizes[:found], zero, size_share, count_share, values, gains, present
        )


# ------------------------------------------------------------------------------------------------------------- samples


@kernel
def first_not_binary(values):
    """Return the position of the first value that is neither 0 nor 1, or -1."""
    for i in range(values.size):
        if values[i] != 0 and values[i] != 1:
            return i
    return -1


@kernel
def _sampled_set(counts, sizes, found, n_drawn, empty, ordered, size_share, count_share, labels):
    """Mark the best set given counts[row, i], how often label i came with sizes[row] labels in all."""
    m = labels.size
    active = np.empty(m, np.int64)
    used = 0
    for i in range(m):
        total = 0.0
        for row in range(found):
            total += counts[row, i]
        active[used] = i
        used += total > 0.0
    # A label that no sample has only enlarges a set, so the search leaves it out.
    mass = np.empty((found, used))
    for row in range(found):
        for j in range(used):
            mass[row, j] = counts[row, active[j]] / n_drawn
    chosen = np.zeros(used, np.int8)
    values, gains = np.empty(used + 1), np.empty(used)
    value = _best_set(ordered, mass, sizes[:found], empty / n_drawn, size_share, count_share, values, gains, chosen)
    for j in range(used):
        labels[active[j]] = chosen[j]
    return value


@kernel
def dense_sample_sets(samples, ordered, size_share, count_share, labels, expected):
    """For each instance, mark the best set given samples of its labels (instances x samples x labels, int8).

    Entries are 0 or 1, so that a size is at most the number of labels.
    """
    n, n_drawn, m = samples.shape
    counts, sizes = np.empty((min(n_drawn, m), m)), np.empty(min(n_drawn, m))
    row_of_size = np.empty(m + 1, np.int64)
    for instance in range(n):
        row_of_size[:] = -1
        found, empty = 0, 0
        for sample in range(n_drawn):
            size = 0
            for i in range(m):
                size += samples[instance, sample, i]
            if size == 0:
                empty += 1
                continue
            if row_of_size[size] < 0:
                row_of_size[size] = found
                sizes[found] = size
                counts[found] = 0.0
                found += 1
            row = counts[row_of_size[size]]
            for i in range(m):
                row[i] += samples[instance, sample, i]
        expected[instance] = _sampled_set(
            counts, sizes, found, n_drawn, empty, ordered, size_share, count_share, labels[instance]
        )


@kernel
def sparse_sample_sets(indptr, indices, starts, first, ordered, size_share, count_share, labels, expected):
    """For each instance, mark the best set given its samples, rows starts[first + j] to starts[first + j + 1].

    No entry is stored twice, so that a size is at most the number of labels.
    """
    n, m = labels.shape
    row_of_size = np.empty(m + 1, np.int64)
    for instance in range(n):
        start, stop = starts[first + instance], starts[first + instance + 1]
        row_of_size[:] = -1
        found, empty = 0, 0
        for sample in range(start, stop):
            size = indptr[sample + 1] - indptr[sample]
            empty += size == 0
            if size > 0 and row_of_size[size] < 0:
                row_of_size[size] = found
                found += 1
        counts, sizes = np.zeros((found, m)), np.empty(found)
        for sample in range(start, stop):
            size = indptr[sample + 1] - indptr[sample]
            if size > 0:
                row = row_of_size[size]
                sizes[row] = size
                for at in range(indptr[sample], indptr[sample + 1]):
                    counts[row, indices[at]] += 1.0
        expected[instance] = _sampled_set(
            counts, sizes, found, stop - start, empty, ordered, size_share, count_share, labels[instance]
        )


# --------------------------------------------------------------------------------------------------- independent labels


@kernel
def start_nodes(p, size_factors, weights, powers):
    """Set powers to weights times the expectation of size_factor^S, S the number of labels; factors ascend."""
    powers[:] = weights
    first = 0
    for i in range(p.size):
        here, other = p[i], 1.0 - p[i]
        while first < powers.size and powers[first] < _VANISHED:
            powers[first] = 0.0
            first += 1
        for node in range(first, powers.size):
            powers[node] *= other + here * size_factors[node]


@kernel(fastmath={"reassoc", "contract"})
def advance_nodes(p, size_factors, count_factors, powers, shares, out):
    """Add one label after the other to the set: out[i] += the nodes' part of the expected measure after label i.

    ``p`` is part of the descending probabilities; ``powers`` and ``shares`` (the expected number of right labels, under
    each node's tilt) are carried from part to part.
    """
    first = 0
    for i in range(p.size):
        here, other = p[i], 1.0 - p[i]
        while first < powers.size and powers[first] < _VANISHED:
            powers[first] = 0.0
            first += 1
        total = 0.0
        for node in range(first, powers.size):
            right = here * size_factors[node]
            shares[node] += right / (other + right)
            powers[node] *= count_factors[node]
            total += powers[node] * shares[node]
        out[i] += total


@kernel
def independent_counts(p, size_factors, count_factors, weights, search, counts, expected):
    """For each instance, with descending probabilities, evaluate the expected measure of its first ``counts`` labels.

    With ``search``, the best counts are found first, and stored.
    """
    n, m = p.shape
    powers, shares, values = np.empty(weights.size), np.empty(weights.size), np.empty(m + 1)
    for instance in range(n):
        values[:] = 0.0
        values[0] = 1.0
        for i in range(m):
            values[0] *= 1.0 - p[instance, i]
        shares[:] = 0.0
        start_nodes(p[instance], size_factors, weights, powers)
        advance_nodes(p[instance], size_factors, count_factors, powers, shares, values[1:])
        if search:
            counts[instance] = smallest_best(values)
        expected[instance] = values[counts[instance]]
