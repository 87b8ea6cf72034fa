"""The work of `partial_fit`, counted: what a first call adds to the updates themselves must stay small."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from scipy import sparse

from metricwise import STAMPClassifier
from metricwise.estimators import inputs
from metricwise.estimators.streaming import chunks
from metricwise.kernels import products, streaming
from metricwise.solvers.stream_data import StreamData
from metricwise.solvers.stream_state import StreamState

KERNELS = ("sparse_pass", "observe_sparse", "remember_sparse", "rescale_sparse")


def make_stream(n_samples=3000, n_features=40):
    rng = np.random.default_rng(0)
    X = sparse.random_array((n_samples, n_features), density=0.2, format="csr", rng=rng)
    return sparse.csr_matrix(X), (X @ rng.standard_normal(n_features) > 0.3).astype(int)


@pytest.fixture
def calls(monkeypatch):
    """Count calls of compiled functions and of validations."""
    counted: Counter[str] = Counter()

    def count(module, name):
        original = getattr(module, name)

        def call(*args, **kwargs):
            counted[name] += 1
            return original(*args, **kwargs)

        monkeypatch.setattr(module, name, call)

    for name in KERNELS:
        count(streaming, name)
    count(products, "sparse_scores")
    count(inputs, "validate_data")
    count(chunks, "check_classification_targets")
    return counted


def test_first_call_validates_once_and_makes_one_compiled_call_per_step(calls):
    X, y = make_stream()
    STAMPClassifier().partial_fit(X, y, classes=[0, 1])
    # Landmarks at 1, 2, 4, ..., 2048; learning stages of 100, 200, ..., each with an estimation stage of a fourth.
    n_landmarks, n_stages = 12, 8
    n_parts = n_landmarks + n_stages + 1
    assert calls["validate_data"] == 1
    assert calls["check_classification_targets"] == 0
    assert calls["sparse_scores"] == 0
    assert calls["rescale_sparse"] == n_landmarks
    assert calls["observe_sparse"] == n_parts
    assert max(calls[name] for name in ("sparse_pass", "remember_sparse")) <= n_parts


@pytest.mark.parametrize(("n_pos", "strides"), [(1500, (1, 3)), (9000, (1, 1)), (0, (7, 2))])
def test_compiled_memory_of_scores_equals_the_one_of_given_positions(n_pos, strides):
    X = sparse.random_array((10_000, 6), density=0.5, format="csr", rng=np.random.default_rng(0))
    positive = np.arange(10_000) % 10_000 < n_pos
    data = StreamData(sparse.csr_matrix(X), positive, np.linspace(1.0, 2.0, 10_000))
    found = []
    for given in (False, True):
        state = StreamState.fresh(6, is_sparse=True, scaling=True)
        state.snapshot[:], state.snapshot_bias = np.arange(6.0), 0.5
        state.strides = np.array(strides)
        for samples in np.split(np.arange(10_000), [1, 17, 9990]):
            state.remember(data, samples, state.position + np.arange(samples.size) if given else None)
            state.position += samples.size
        found.append((state.scores, state.score_weights, state.score_positions, state.n_scores))
    for compiled, plain in zip(*found, strict=True):
        np.testing.assert_allclose(compiled, plain, rtol=1e-14)


def test_labels_with_fractions_are_refused():
    X, y = make_stream(30)
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        STAMPClassifier().partial_fit(X, y + 0.5, classes=[0.5, 1.5])
