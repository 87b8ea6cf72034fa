"""Codes for vectors of few distinct values."""

from __future__ import annotations

from metricwise.kernels.compiling import kernel


@kernel
def code_values(vector, values, other, codes):
    """Write to ``codes`` the index of every entry among ``values``, or ``other``; return how many are ``other``.

    Neighbours are often equal: the value of the last entry is tried first. There is at least one value.
    """
    n_others = 0
    last = 0
    for row in range(vector.size):
        entry = vector[row]
        if values[last] != entry:
            found = -1
            for place in range(values.size):
                if values[place] == entry:
                    found = place
                    break
            if found < 0:
                codes[row] = other
                n_others += 1
                continue
            last = found
        codes[row] = last
    return n_others
