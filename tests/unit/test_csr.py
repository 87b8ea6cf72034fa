"""The check of CSR matrices finds every position outside of them, and takes less time than SciPy's."""

from __future__ import annotations

from timeit import repeat

import numpy as np
import pytest
from scipy import sparse

from metricwise.csr import check_csr_arrays

_SHAPE = (3, 4)
_DATA, _INDICES, _INDPTR = np.ones(4), np.array([0, 3, 1, 2], np.int32), np.array([0, 2, 2, 4], np.int32)


@pytest.mark.parametrize("kind", [np.int32, np.int64, np.uint8])
def test_valid_matrices_pass(kind):
    check_csr_arrays(_DATA, _INDICES.astype(kind), _INDPTR.astype(kind), _SHAPE)
    check_csr_arrays(np.empty(0), np.empty(0, kind), np.zeros(4, kind), _SHAPE)
    check_csr_arrays(np.empty(0), np.empty(0, kind), np.zeros(1, kind), (0, 0))


@pytest.mark.parametrize(
    ("data", "indices", "indptr", "message"),
    [
        (_DATA, [0, 4, 1, 2], _INDPTR, "from 0 to 3"),
        (_DATA, [0, -1, 1, 2], _INDPTR, "from 0 to 3"),
        (_DATA, _INDICES, [0, 2, 4], "4 entries"),
        (_DATA, _INDICES, [1, 2, 2, 4], "rise from 0 to 4"),
        (_DATA, _INDICES, [0, 3, 2, 4], "rise from 0 to 4"),
        (_DATA, _INDICES, [0, 2, 2, 3], "rise from 0 to 4"),
        (_DATA, _INDICES, np.array([0, 2**31 - 1, -(2**31), 4], np.int32), "rise from 0 to 4"),
        (np.empty(0), np.empty(0, np.int32), [0, 2**30, 2**30, 0], "rise from 0 to 0"),
        (np.ones(3), _INDICES, _INDPTR, "same size"),
        (np.ones((4, 1)), _INDICES, _INDPTR, "one dimension"),
        (_DATA, [0.0, 3.0, 1.0, 2.0], _INDPTR, "whole numbers"),
    ],
)
def test_positions_outside_raise(data, indices, indptr, message):
    with pytest.raises(ValueError, match=message):
        check_csr_arrays(data, np.asarray(indices), np.asarray(indptr), _SHAPE)


def test_a_matrix_without_the_start_of_its_first_row_raises():
    nothing = np.empty(0, np.int64)
    with pytest.raises(ValueError, match="1 entries"):
        check_csr_arrays(np.empty(0), nothing, nothing, (nothing.size - 1, 3))


def test_check_is_not_slower_than_that_of_scipy():
    X = sparse.random(20_000, 1000, density=0.02, random_state=0, format="csr")
    own = min(repeat(lambda: check_csr_arrays(X.data, X.indices, X.indptr, X.shape), number=5, repeat=7))
    other = min(repeat(lambda: X.check_format(full_check=True), number=5, repeat=7))
    assert own < 2.0 * other


@pytest.mark.parametrize("kind", ["<i4", ">i4", "<i8", "<u2", ">i8", "i1"])
def test_negative_and_large_indices_raise_in_any_byte_order(kind):
    kept = np.array([0, 2, 1], dtype=kind)
    check_csr_arrays(np.ones(3), kept, np.array([0, 3]), (1, 3))
    for wrong in (3, 100, *([-1] if np.dtype(kind).kind == "i" else [])):
        with pytest.raises(ValueError, match="from 0 to 2"):
            check_csr_arrays(np.ones(3), np.array([0, wrong, 1], dtype=kind), np.array([0, 3]), (1, 3))
