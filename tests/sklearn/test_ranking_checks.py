"""scikit-learn's own checks of the ranker; those that weigh single samples must fail, since it weighs queries."""

from __future__ import annotations

import pytest

from metricwise import RankingSVC
from tests.sklearn.checks import parametrize_with_checks, run_check

WEIGHS_SAMPLES = dict.fromkeys(
    (
        "check_sample_weights_not_overwritten",
        "check_sample_weight_equivalence_on_dense_data",
        "check_sample_weight_equivalence_on_sparse_data",
    ),
    "sample_weight weighs queries",
)


@pytest.mark.filterwarnings("ignore:the surrogate of", "ignore:groups is None")
@parametrize_with_checks([RankingSVC()])
def test_estimator_checks(estimator, check):
    run_check(estimator, check, WEIGHS_SAMPLES)
