"""What is learnt from a stream depends on its samples and their order, to the last bit, and not on how it is cut."""

from __future__ import annotations

import itertools
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from metricwise import MiniBatchSVC, SPADEClassifier, STAMPClassifier

N_ROWS = 450


def made_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_ROWS, 7)) * 10.0 ** np.arange(-3, 4) + np.arange(7)
    X[rng.random(X.shape) < 0.5] = 0.0
    y = (X @ 10.0 ** np.arange(3.0, -4.0, -1.0) + rng.normal(size=N_ROWS) > 4.0).astype(int)
    weights = rng.integers(0, 4, size=N_ROWS) / 2.0  # some samples weigh nothing
    return X, y, weights


X, Y, WEIGHTS = made_rows()
MODELS = {
    "spade": SPADEClassifier("g_mean"),
    "spade-paper": SPADEClassifier("min_rate", schedule="paper", eta0=1e-6),
    "stamp": STAMPClassifier("f1"),
    "batches": MiniBatchSVC("f1", batch_size=60),
    "batches-paper": MiniBatchSVC("prbep", batch_size=50, schedule="paper", eta0=1e-6),
}
MATRICES = {
    "dense64": X,
    "dense32": X.astype(np.float32),
    "columns": np.asfortranarray(X),
    "sparse64": sparse.csr_matrix(X),
    "sparse32": sparse.csr_array(X.astype(np.float32)),
}
each_model = pytest.mark.parametrize("model", MODELS)
each_matrix = pytest.mark.parametrize("kind", MATRICES)


@st.composite
def cuts(draw):
    """Where to cut a stream: evenly or anywhere."""
    if draw(st.booleans()):
        step = draw(st.sampled_from([11, 25, 59, 60, 61, 128, 449]))
        return list(range(step, N_ROWS, step))
    return sorted(draw(st.sets(st.integers(1, N_ROWS - 1), max_size=8)))


def chunks_of(kind, places, weighted):
    bounds = [0, *places, N_ROWS]
    rows = [slice(start, stop) for start, stop in itertools.pairwise(bounds)]
    return [(MATRICES[kind][part], Y[part], WEIGHTS[part] if weighted else None) for part in rows]


def fresh(model):
    settings = MODELS[model].get_params(deep=False)
    return type(MODELS[model])(**settings)


def is_chunked(model, chunks):
    made = fresh(model)
    for rows, labels, weights in chunks:
        made.partial_fit(rows, labels, classes=[0, 1], sample_weight=weights)
    return made


def expect_equal(left, right):
    np.testing.assert_array_equal(left.coef_, right.coef_)
    np.testing.assert_array_equal(left.intercept_, right.intercept_)
    assert left.threshold_ == right.threshold_
    assert left.result_.n_samples == right.result_.n_samples


WHOLE: dict = {}


def whole(model, kind, weighted):
    """The model that learnt all samples at once, made once."""
    key = model, kind, weighted
    if key not in WHOLE:
        WHOLE[key] = is_chunked(model, chunks_of(kind, [], weighted))
    return WHOLE[key]


@each_model
@each_matrix
@settings(max_examples=8, deadline=None)
@given(places=cuts(), weighted=st.booleans())
def test_partial_fit(model, kind, places, weighted):
    expected = whole(model, kind, weighted)
    assert np.all(np.isfinite(expected.coef_)) and np.any(expected.coef_) and expected.threshold_ != 0.0
    expect_equal(is_chunked(model, chunks_of(kind, places, weighted)), expected)


@each_model
@pytest.mark.parametrize("kind", ["dense64", "columns", "sparse32"])
def test_row_by_row(model, kind):
    expect_equal(is_chunked(model, chunks_of(kind, range(1, N_ROWS), True)), whole(model, kind, True))


@each_model
@pytest.mark.parametrize("kind", ["dense64", "sparse64"])
@pytest.mark.parametrize("n_passes", [1, 3])
@settings(max_examples=6, deadline=None)
@given(places=cuts(), weighted=st.booleans())
def test_fit_stream(model, kind, n_passes, places, weighted):
    made = fresh(model).set_params(tol=-1.0)
    made.fit_stream(chunks_of(kind, places, weighted), classes=[0, 1], n_passes=n_passes)
    if n_passes == 1:
        expect_equal(made, whole(model, kind, weighted))
        return
    key = model, kind, weighted, n_passes
    if key not in WHOLE:
        WHOLE[key] = fresh(model).set_params(tol=-1.0)
        WHOLE[key].fit_stream(chunks_of(kind, [], weighted), classes=[0, 1], n_passes=n_passes)
    expect_equal(made, WHOLE[key])
    assert made.n_iter_ == 3


@each_model
def test_storage_makes_no_difference(model):
    reference = whole(model, "dense64", True)
    exact = X.astype(np.float32).astype(np.float64)
    rounded = is_chunked(model, [(exact, Y, WEIGHTS)])
    expect_equal(rounded, whole(model, "dense32", True))
    expect_equal(whole(model, "columns", True), reference)


def test_models_go_on_after_being_pickled():
    chunks = chunks_of("dense64", [100, 333], True)
    for model in MODELS:
        made = fresh(model)
        for rows, labels, weights in chunks:
            made = pickle.loads(pickle.dumps(made))
            made.partial_fit(rows, labels, classes=[0, 1], sample_weight=weights)
        expect_equal(made, whole(model, "dense64", True))
