"""Intervals of several classes and labels contain their estimate, whatever the samples."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from metricwise.decisions.confusion_posterior import ConfusionPosterior
from metricwise.decisions.intervals import TablePosterior
from metricwise.decisions.label_posterior import summarize_labels
from metricwise.measures import MCC, Accuracy, Averaged, BalancedAccuracy, CohenKappa, FBeta, Jaccard

AVERAGES = [Averaged(base, how) for base in (FBeta(), Jaccard(), MCC()) for how in ("macro", "micro", "weighted")]
CONFIDENCES = st.floats(0.01, 0.999)
N_SAMPLES = st.none() | st.integers(1, 10_000)
ROUNDING = 1e-9
COUNTS = st.integers(0, 3) | st.integers(0, 500)
# A busy machine takes long to draw arrays, which is no property of intervals.
on_any_machine = settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def check_interval(posterior, confidence, n_samples):
    low, high = posterior.interval(confidence, n_samples)
    assert low <= posterior.value <= high
    assert low >= -1.0 - ROUNDING and high <= 1.0 + ROUNDING


@on_any_machine
@given(
    arrays(float, st.tuples(st.integers(1, 5), st.integers(3, 3), st.integers(3, 3)), elements=COUNTS)
    | arrays(float, st.tuples(st.integers(1, 3), st.integers(8, 8), st.integers(8, 8)), elements=COUNTS),
    st.sampled_from([*AVERAGES, Accuracy(), BalancedAccuracy(), MCC(), CohenKappa()]),
    CONFIDENCES,
    N_SAMPLES,
)
def test_multiclass_intervals_contain_their_estimate(matrices, measure, confidence, n_samples):
    matrices[0, 0, 0] += 1.0  # at least one sample
    check_interval(ConfusionPosterior(measure, matrices), confidence, n_samples)


@on_any_machine
@given(
    st.data(), st.sampled_from(AVERAGES), st.integers(2, 40), st.integers(1, 6), st.booleans(), CONFIDENCES, N_SAMPLES
)
def test_multilabel_intervals_contain_their_estimate(data, measure, size, n_labels, has_folds, confidence, n_samples):
    truth, predicted = (data.draw(arrays(bool, (size, n_labels))) for _ in range(2))
    weights = data.draw(arrays(float, size, elements=st.sampled_from([0.5, 1.0, 3.0])))
    sizes = [size // 2, size - size // 2] if has_folds else None
    check_interval(summarize_labels(measure, truth, predicted, weights, sizes), confidence, n_samples)


@on_any_machine
@given(arrays(float, st.tuples(st.integers(1, 5), st.just(4)), elements=COUNTS), CONFIDENCES, N_SAMPLES)
def test_binary_intervals_contain_their_estimate(tables, confidence, n_samples):
    tables[0, 0] += 1.0
    check_interval(TablePosterior(FBeta(), tuple(map(tuple, tables))), confidence, n_samples)
