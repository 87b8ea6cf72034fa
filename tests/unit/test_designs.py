"""Designs: two products and subsets of samples, without a copy of the data."""

from __future__ import annotations

import tracemalloc

import numba
import numpy as np
import pytest
from scipy import sparse

from metricwise.designs import make_design
from metricwise.designs.base import iterate_blocks
from metricwise.kernels import hashing
from tests.contracts.cases import ALL_DESIGN_IDS, ALL_DESIGNS, DESIGN_IDS, DESIGNS, STORAGE, store

RNG = np.random.default_rng(0)
X = np.round(8 * RNG.normal(size=(37, 9))) / 8  # exact in single precision
X[RNG.random(X.shape) < 0.4] = 0.0
X[5] = 0.0

each_design = pytest.mark.parametrize(("kind", "dtype"), ALL_DESIGNS, ids=ALL_DESIGN_IDS)
in_memory = pytest.mark.parametrize(("kind", "dtype"), DESIGNS, ids=DESIGN_IDS)


def add_constant(constant):
    return np.column_stack([X, np.full(len(X), constant)]) if constant else X


@each_design
@pytest.mark.parametrize("constant", [0.0, 1.0, 2.5])
def test_products_equal_those_of_numpy(kind, dtype, constant):
    design, full = make_design(store(X, kind, dtype), intercept=constant), add_constant(constant)
    assert design.shape == full.shape
    assert design.is_sparse == ("sparse" in kind)
    w, c = RNG.normal(size=full.shape[1]), RNG.normal(size=full.shape[0])
    np.testing.assert_allclose(design.scores(w), full @ w, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(design.combine(c), full.T @ c, rtol=1e-12, atol=1e-12)
    assert design.scores(w).dtype == design.combine(c).dtype == np.float64


@each_design
def test_products_with_zeros_among_the_coefficients(kind, dtype):
    design = make_design(store(X, kind, dtype), intercept=1.0)
    w, c = np.zeros(10), np.zeros(37)
    assert not design.scores(w).any() and not design.combine(c).any()
    w[[2, 9]], c[[0, 5, 36]] = [1.5, -2.0], [1.0, 3.0, -0.5]
    np.testing.assert_allclose(design.scores(w), add_constant(1.0) @ w, atol=1e-12)
    np.testing.assert_allclose(design.combine(c), add_constant(1.0).T @ c, atol=1e-12)


@each_design
def test_vectors_may_be_strided(kind, dtype):
    design = make_design(store(X, kind, dtype), intercept=1.0)
    w, c = RNG.normal(size=20)[::2], RNG.normal(size=74)[::-2]
    np.testing.assert_allclose(design.scores(w), add_constant(1.0) @ w, atol=1e-12)
    np.testing.assert_allclose(design.combine(c), add_constant(1.0).T @ c, atol=1e-12)


@each_design
@pytest.mark.parametrize(
    "indices",
    [[3], [36, 0, 5, 5, 12], list(range(30)), list(range(36, -1, -1)), []],
    ids=["one", "few", "many", "all", "none"],
)
def test_take_selects_samples_and_can_be_nested(kind, dtype, indices):
    """Few and many samples are read by different code where columns are contiguous."""
    design = make_design(store(X, kind, dtype), intercept=1.0)
    indices = np.array(indices, dtype=np.int64)
    part, full = design.take(indices), add_constant(1.0)[indices]
    w, c = RNG.normal(size=10), RNG.normal(size=len(indices))
    assert part.shape == full.shape
    np.testing.assert_allclose(part.scores(w), full @ w, atol=1e-12)
    np.testing.assert_allclose(part.combine(c), full.T @ c, atol=1e-12)
    if len(indices) > 1:
        again = part.take(np.array([1, 0, 1]))
        np.testing.assert_allclose(again.scores(w), full[[1, 0, 1]] @ w, atol=1e-12)
        np.testing.assert_array_equal(again.fingerprints(), part.fingerprints()[[1, 0, 1]])


@each_design
def test_take_reads_many_samples_in_any_order(kind, dtype):
    """Many samples are read in memory order, whatever the order of the indices."""
    data = np.round(8 * RNG.normal(size=(6000, 7))) / 8
    indices = RNG.integers(0, 6000, size=6500)  # with copies
    part = make_design(store(data, kind, dtype), threads=2).take(indices)
    w, c = RNG.normal(size=7), RNG.normal(size=6500)
    np.testing.assert_allclose(part.scores(w), data[indices] @ w, atol=1e-12)
    np.testing.assert_allclose(part.combine(c), data[indices].T @ c, atol=1e-9)


@each_design
@pytest.mark.parametrize("n_listed", [40, 6500])
def test_gathered_samples_have_the_products_of_taken_ones(kind, dtype, n_listed):
    data = np.round(8 * RNG.normal(size=(6000, 7))) / 8
    design = make_design(store(data, kind, dtype), intercept=1.0).take(RNG.permutation(6000))
    listed = RNG.integers(0, 6000, size=n_listed)  # with copies
    there, here = design.take(listed), design.gather(listed)
    w, c = RNG.normal(size=8), RNG.normal(size=n_listed)
    assert here.shape == there.shape and here.is_sparse == there.is_sparse
    np.testing.assert_allclose(here.scores(w), there.scores(w), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(here.combine(c), there.combine(c), rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(here.fingerprints(), there.fingerprints())


@in_memory
def test_gathered_samples_are_copies_that_are_added_up_in_the_same_order(kind, dtype):
    data = store(RNG.normal(size=(6000, 7)), kind, dtype)
    listed = RNG.permutation(6000)[:5500]
    there, here = make_design(data).take(listed), make_design(data).gather(listed)
    kept = (here.X.data, data.data) if kind == "sparse" else (here.X, data)
    assert not np.shares_memory(*kept)
    if kind in ("dense samples", "sparse"):  # copies of other layouts have contiguous rows, which other code adds up
        w, c = RNG.normal(size=7), RNG.normal(size=5500)
        np.testing.assert_array_equal(here.scores(w), there.scores(w))
        np.testing.assert_array_equal(here.combine(c), there.combine(c))


@each_design
@pytest.mark.parametrize("size", [1, 10, 37, 1000])
def test_blocks_cover_all_samples_in_order(kind, dtype, size):
    design = make_design(store(X, kind, dtype), intercept=1.0)
    blocks = list(iterate_blocks(design, size))
    w = RNG.normal(size=10)
    assert max(block.shape[0] for block in blocks) <= size
    np.testing.assert_allclose(np.concatenate([block.scores(w) for block in blocks]), design.scores(w), atol=1e-12)


@each_design
def test_equal_samples_get_equal_scores_at_any_position(kind, dtype):
    """Ties must not be broken by rounding: copies of a sample may be in different blocks and subsets."""
    if numba.config.BOUNDSCHECK and kind == "dense columns":
        pytest.skip("loops that check each index add up columns in another order at the end of a block")
    data = RNG.normal(size=(5, 33))
    indices = RNG.integers(0, 5, size=4001)
    design = make_design(store(data[indices], kind, dtype), intercept=0.3)
    w = RNG.normal(size=34)
    for part, which in ((design, indices), (design.take(np.arange(7, 4001, 90)), indices[7::90])):
        scores = part.scores(w)
        for sample in range(5):
            assert np.unique(scores[which == sample]).size <= 1


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_fingerprints_of_few_samples_are_those_of_many(order, dtype, monkeypatch):
    data = np.asarray(np.where(X > 0.5, 0.0, X), dtype=dtype, order=order)
    data[0] = -0.0
    few = make_design(data).fingerprints(seed=7)
    monkeypatch.setattr(hashing, "FEW_ENTRIES", 0)
    np.testing.assert_array_equal(make_design(data).fingerprints(seed=7), few)


@pytest.mark.parametrize("threads", [1, 2, 3])
@each_design
def test_threads_change_no_bit(kind, dtype, threads):
    data = np.round(8 * RNG.normal(size=(3000, 120))) / 8
    data = store(data, kind, dtype)
    one, threaded = make_design(data, intercept=1.0), make_design(data, intercept=1.0, threads=threads)
    w, c = np.sin(np.arange(121.0)), np.cos(np.arange(3000.0))
    np.testing.assert_array_equal(one.scores(w), threaded.scores(w))
    np.testing.assert_array_equal(one.combine(c), threaded.combine(c))


@each_design
def test_fingerprints_do_not_depend_on_the_storage(kind, dtype):
    expected = make_design(X).fingerprints()
    np.testing.assert_array_equal(make_design(store(X, kind, dtype)).fingerprints(), expected)
    assert not np.array_equal(make_design(store(X, kind, dtype)).fingerprints(seed=1), expected)


@each_design
def test_fingerprints_follow_the_samples(kind, dtype):
    order = RNG.permutation(37)
    whole = make_design(store(X, kind, dtype))
    shuffled = make_design(store(X[order], kind, dtype))
    np.testing.assert_array_equal(shuffled.fingerprints(), whole.fingerprints()[order])
    np.testing.assert_array_equal(whole.take(order).fingerprints(), whole.fingerprints()[order])


@each_design
def test_fingerprints_of_different_samples_differ(kind, dtype):
    """Samples with the same values in other columns, with other signs, and with a zero in between differ, too."""
    indices = np.array(
        [
            [1, 2, 0, 0],
            [2, 1, 0, 0],
            [1, 0, 2, 0],
            [-1, -2, 0, 0],
            [0, 0, 0, 0],
            [1, 2, 1, 2],
            [0, 0, 1, 2],
            [3, 0, 0, 0],
        ],
        dtype=float,
    )
    indices = np.vstack([indices, RNG.integers(-50, 50, size=(5000, 4))])
    distinct = np.unique(indices, axis=0).shape[0]
    assert np.unique(make_design(store(indices, kind, dtype)).fingerprints()).size == distinct


def test_fingerprints_ignore_stored_zeros_order_of_columns_and_the_sign_of_zero():
    plain = sparse.csr_array(np.array([[0.0, 2.0, 3.0]]))
    untidy = sparse.csr_array((np.array([3.0, 0.0, 2.0]), np.array([2, 0, 1]), np.array([0, 3])), shape=(1, 3))
    signed = np.array([[-0.0, 2.0, 3.0]])
    expected = make_design(plain).fingerprints()
    np.testing.assert_array_equal(make_design(untidy).fingerprints(), expected)
    np.testing.assert_array_equal(make_design(signed).fingerprints(), expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_64_bit_indices_give_the_same_products(dtype):
    """Matrices with more entries than 32 bits can count have 64-bit indices."""
    short = sparse.csr_array(X.astype(dtype))
    wide = sparse.csr_array((short.data, short.indices.astype(np.int64), short.indptr.astype(np.int64)), shape=X.shape)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    design, w, c = make_design(wide, intercept=1.0), RNG.normal(size=10), RNG.normal(size=37)
    assert wide.indices.dtype == wide.indptr.dtype == np.int64
    np.testing.assert_allclose(design.scores(w), add_constant(1.0) @ w, atol=1e-12)
    np.testing.assert_allclose(design.combine(c), add_constant(1.0).T @ c, atol=1e-12)
    np.testing.assert_array_equal(design.fingerprints(), make_design(X).fingerprints())


@pytest.mark.parametrize("container", [sparse.csr_array, sparse.csr_matrix])
def test_sparse_matrices_and_arrays_give_the_same_products(container):
    w = RNG.normal(size=9)
    np.testing.assert_allclose(make_design(container(X)).scores(w), X @ w, atol=1e-12)


@pytest.mark.parametrize("convert", ["tocsc", "tocoo", "tolil"])
def test_other_sparse_formats_raise_with_the_remedy(convert):
    with pytest.raises(TypeError, match=r"CSR format, got .*X\.tocsr\(\)"):
        make_design(getattr(sparse.csr_array(X), convert)())


@in_memory
def test_read_only_data_are_accepted(kind, dtype):
    data = store(X, kind, dtype).copy()
    arrays = [data.data, data.indices, data.indptr] if kind == "sparse" else [data]
    before = [array.copy() for array in arrays]
    for array in arrays:
        array.flags.writeable = False
    design, w, c = make_design(data, intercept=1.0), RNG.normal(size=10), RNG.normal(size=37)
    w.flags.writeable = c.flags.writeable = False
    np.testing.assert_allclose(design.scores(w), add_constant(1.0) @ w, atol=1e-12)
    np.testing.assert_allclose(design.combine(c), add_constant(1.0).T @ c, atol=1e-12)
    design.take(np.array([1, 2])).fingerprints()
    for array, old in zip(arrays, before, strict=True):
        np.testing.assert_array_equal(array, old)


def count_bytes(data):
    return data.data.nbytes + data.indices.nbytes + data.indptr.nbytes if sparse.issparse(data) else data.nbytes


@pytest.mark.parametrize("kind", STORAGE)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_nothing_as_large_as_the_data_is_allocated(kind, dtype):
    data = store(np.tile(X, (100, 20)), kind, dtype)
    n_samples, n_columns = data.shape
    half = np.arange(0, n_samples, 2)
    w, c = RNG.normal(size=n_columns + 1), RNG.normal(size=n_samples)

    def touch():
        design = make_design(data, intercept=1.0)
        for part, factors in ((design, c), (design.take(half), c[half])):
            part.scores(w)
            part.combine(factors)
            part.fingerprints()
        for block in iterate_blocks(design, 1000):
            block.scores(w)

    touch()  # the first time, kernels are compiled or loaded
    tracemalloc.start()
    try:
        touch()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 0.15 * count_bytes(data)


@in_memory
def test_the_matrix_is_not_copied(kind, dtype):
    data = store(X, kind, dtype)
    design = make_design(data)
    for part in (design, design.take(np.array([1, 2, 3])), next(iterate_blocks(design, 5))):
        if kind == "sparse":
            assert all(np.shares_memory(getattr(part.X, n), getattr(data, n)) for n in ("data", "indices", "indptr"))
        else:
            assert np.shares_memory(part.X, data)


def test_single_samples_and_features_give_the_same_products():
    """Such arrays are both C- and F-contiguous."""
    for shape in ((1, 6), (6, 1), (1, 1)):
        data, w, c = RNG.normal(size=shape), RNG.normal(size=shape[1] + 1), RNG.normal(size=shape[0])
        for dense in (np.ascontiguousarray(data), np.asfortranarray(data), sparse.csr_array(data)):
            design = make_design(dense, intercept=1.0)
            full = np.column_stack([data, np.ones(shape[0])])
            np.testing.assert_allclose(design.scores(w), full @ w, atol=1e-12)
            np.testing.assert_allclose(design.combine(c), full.T @ c, atol=1e-12)
