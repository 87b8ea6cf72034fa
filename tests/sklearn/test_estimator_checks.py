"""scikit-learn's own checks, without a single expected failure."""

from __future__ import annotations

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from metricwise import MultivariateSVC

ESTIMATORS = [
    MultivariateSVC(),
    MultivariateSVC("jaccard"),
    MultivariateSVC("g_mean"),
    MultivariateSVC("prbep"),
    MultivariateSVC("accuracy"),
    MultivariateSVC("h_mean"),
    MultivariateSVC("f1", threshold="train"),
    MultivariateSVC("f1", threshold=0.0),
]


@pytest.mark.filterwarnings("ignore:threshold='cv' needs")
@pytest.mark.filterwarnings("ignore:the surrogate of")
@parametrize_with_checks(ESTIMATORS)
def test_estimator_checks(estimator, check):
    check(estimator)
