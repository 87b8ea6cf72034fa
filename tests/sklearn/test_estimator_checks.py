"""scikit-learn's own checks, without a single expected failure."""

from __future__ import annotations

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from metricwise import AUCSVC, AMPClassifier, MiniBatchSVC, MultivariateSVC, SPADEClassifier, STAMPClassifier

ESTIMATORS = [
    MultivariateSVC(),
    MultivariateSVC("g_mean"),
    MultivariateSVC("prbep"),
    MultivariateSVC("accuracy"),
    MultivariateSVC("f1", threshold=0.0),
    # gamma="scale" is of the variance of X, as in scikit-learn, where weights of rows have no part in it.
    MultivariateSVC(kernel="rbf", gamma="auto"),
    AUCSVC(),
    AUCSVC(norm=2),
    AUCSVC(kernel="rbf", gamma="auto"),
    AMPClassifier(),
    AMPClassifier("cohen_kappa", threshold=0.0),
    SPADEClassifier(),
    SPADEClassifier("min_rate", schedule="paper"),
    STAMPClassifier(),
    STAMPClassifier("jaccard", threshold=0.0),
    MiniBatchSVC(),
]


@pytest.mark.filterwarnings("ignore:too few rows of one class")
@pytest.mark.filterwarnings("ignore:threshold='cv' needs")
@pytest.mark.filterwarnings("ignore:the surrogate of")
@parametrize_with_checks(ESTIMATORS)
def test_estimator_checks(estimator, check):
    check(estimator)
