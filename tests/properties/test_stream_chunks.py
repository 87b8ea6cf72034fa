"""The model of a stream depends on its samples and their order alone, to the last bit, and not on its chunks."""

from __future__ import annotations

import itertools
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from metricwise import MiniBatchSVC, SPADEClassifier, STAMPClassifier

N_SAMPLES = 450


def make_samples():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_SAMPLES, 7)) * 10.0 ** np.arange(-3, 4) + np.arange(7)
    X[rng.random(X.shape) < 0.5] = 0.0
    y = (X @ 10.0 ** np.arange(3.0, -4.0, -1.0) + rng.normal(size=N_SAMPLES) > 4.0).astype(int)
    weights = rng.integers(0, 4, size=N_SAMPLES) / 2.0  # some samples weigh nothing
    return X, y, weights


X, Y, WEIGHTS = make_samples()
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
def chunk_starts(draw):
    """Draw where chunks begin: at equal distances or anywhere."""
    if draw(st.booleans()):
        step = draw(st.sampled_from([11, 25, 59, 60, 61, 128, 449]))
        return list(range(step, N_SAMPLES, step))
    return sorted(draw(st.sets(st.integers(1, N_SAMPLES - 1), max_size=8)))


def make_chunks(kind, starts, weighted):
    bounds = [0, *starts, N_SAMPLES]
    parts = [slice(start, stop) for start, stop in itertools.pairwise(bounds)]
    return [(MATRICES[kind][part], Y[part], WEIGHTS[part] if weighted else None) for part in parts]


def make_model(model):
    settings = MODELS[model].get_params(deep=False)
    return type(MODELS[model])(**settings)


def fit_chunks(model, chunks):
    fitted = make_model(model)
    for samples, labels, weights in chunks:
        fitted.partial_fit(samples, labels, classes=[0, 1], sample_weight=weights)
    return fitted


def expect_equal(left, right):
    np.testing.assert_array_equal(left.coef_, right.coef_)
    np.testing.assert_array_equal(left.intercept_, right.intercept_)
    assert left.threshold_ == right.threshold_
    assert left.result_.n_samples == right.result_.n_samples


FITTED_AT_ONCE: dict = {}


def fit_at_once(model, kind, weighted):
    """Return the model of one chunk with all samples, trained once."""
    key = model, kind, weighted
    if key not in FITTED_AT_ONCE:
        FITTED_AT_ONCE[key] = fit_chunks(model, make_chunks(kind, [], weighted))
    return FITTED_AT_ONCE[key]


@each_model
@each_matrix
@settings(max_examples=8, deadline=None)
@given(starts=chunk_starts(), weighted=st.booleans())
def test_partial_fit_does_not_depend_on_chunks(model, kind, starts, weighted):
    expected = fit_at_once(model, kind, weighted)
    assert np.all(np.isfinite(expected.coef_)) and np.any(expected.coef_) and expected.threshold_ != 0.0
    expect_equal(fit_chunks(model, make_chunks(kind, starts, weighted)), expected)


@each_model
@pytest.mark.parametrize("kind", ["dense64", "columns", "sparse32"])
def test_single_samples_give_the_same_model(model, kind):
    expect_equal(fit_chunks(model, make_chunks(kind, range(1, N_SAMPLES), True)), fit_at_once(model, kind, True))


@each_model
@pytest.mark.parametrize("kind", ["dense64", "sparse64"])
@pytest.mark.parametrize("n_passes", [1, 3])
@settings(max_examples=6, deadline=None)
@given(starts=chunk_starts(), weighted=st.booleans())
def test_fit_stream_does_not_depend_on_chunks(model, kind, n_passes, starts, weighted):
    fitted = make_model(model).set_params(tol=-1.0)
    fitted.fit_stream(make_chunks(kind, starts, weighted), classes=[0, 1], n_passes=n_passes)
    if n_passes == 1:
        expect_equal(fitted, fit_at_once(model, kind, weighted))
        return
    key = model, kind, weighted, n_passes
    if key not in FITTED_AT_ONCE:
        FITTED_AT_ONCE[key] = make_model(model).set_params(tol=-1.0)
        FITTED_AT_ONCE[key].fit_stream(make_chunks(kind, [], weighted), classes=[0, 1], n_passes=n_passes)
    expect_equal(fitted, FITTED_AT_ONCE[key])
    assert fitted.n_iter_ == 3


@each_model
def test_storage_does_not_change_the_model(model):
    reference = fit_at_once(model, "dense64", True)
    exact = X.astype(np.float32).astype(np.float64)
    rounded = fit_chunks(model, [(exact, Y, WEIGHTS)])
    expect_equal(rounded, fit_at_once(model, "dense32", True))
    expect_equal(fit_at_once(model, "columns", True), reference)


def test_pickled_models_continue_with_the_same_bits():
    chunks = make_chunks("dense64", [100, 333], True)
    for model in MODELS:
        fitted = make_model(model)
        for samples, labels, weights in chunks:
            fitted = pickle.loads(pickle.dumps(fitted))
            fitted.partial_fit(samples, labels, classes=[0, 1], sample_weight=weights)
        expect_equal(fitted, fit_at_once(model, "dense64", True))
