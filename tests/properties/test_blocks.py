"""Products, fingerprints and gathered samples do not depend on how samples on disk are divided into blocks."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy import sparse

import metricwise.io
from metricwise.designs import make_design

NUMBERS = st.integers(-8, 8).map(lambda value: value / 4)


@st.composite
def matrices(draw):
    shape = draw(st.tuples(st.integers(1, 30), st.integers(1, 6)))
    return draw(arrays.arrays(draw(st.sampled_from([np.float32, np.float64])), shape, elements=NUMBERS))


@settings(max_examples=60, deadline=None)
@given(matrices(), st.integers(1, 31), st.booleans(), st.sampled_from([0.0, 1.5]), st.data())
def test_any_blocks_give_the_results_of_the_whole_matrix(X, block_rows, is_sparse, constant, data):
    n_samples, n_columns = X.shape
    listed = np.array(data.draw(st.lists(st.integers(0, n_samples - 1), max_size=40)), dtype=np.int64)
    random = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "X.npz" if is_sparse else "X.npy")
        if is_sparse:
            sparse.save_npz(path, sparse.csr_matrix(X), compressed=False)
        else:
            np.save(path, X)
        samples = metricwise.io.open(path, block_rows=block_rows)
        assert len(samples.bounds) - 1 == -(-n_samples // block_rows)
        there, here = make_design(samples, intercept=constant), make_design(X, intercept=constant)
        w = random.normal(size=n_columns + (constant != 0.0))
        for part, same in ((there, here), (there.take(listed), here.take(listed))):
            c = random.integers(-1, 2, size=same.shape[0]).astype(float)
            np.testing.assert_allclose(part.scores(w), same.scores(w), atol=1e-12)
            np.testing.assert_allclose(part.combine(c), same.combine(c), atol=1e-12)
            np.testing.assert_array_equal(part.fingerprints(3), same.fingerprints(3))
        if listed.size:
            np.testing.assert_allclose(there.gather(listed).scores(w), here.take(listed).scores(w), atol=1e-12)
