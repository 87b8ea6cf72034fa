"""scikit-learn's checks for the multilabel classifiers."""

from __future__ import annotations

import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import parametrize_with_checks

from metricwise import BinaryRelevance, ProbabilisticClassifierChain

LABELS = "gives one label with the values 1 and 2, or words; here columns are 0 and 1, and anything else is an error"
ONE_CLASS = "wants an error for a label that all samples have; here such labels are allowed"
ONE_COLUMN = "gives labels in one dimension"
EXPECTED = {
    "check_classifier_data_not_an_array": LABELS,
    "check_estimators_dtypes": LABELS,
    "check_fit2d_1feature": LABELS,
    "check_sample_weights_not_an_array": LABELS,
    "check_sample_weights_not_overwritten": LABELS,
    "check_sample_weights_pandas_series": LABELS,
    "check_sample_weights_shape": LABELS,
    "check_estimator_sparse_array": LABELS,
    "check_estimator_sparse_matrix": LABELS,
    "check_classifiers_train": LABELS,
    "check_classifiers_classes": LABELS,
    "check_classifiers_one_label": ONE_CLASS,
    "check_classifiers_one_label_sample_weights": ONE_CLASS,
    "check_classifier_not_supporting_multiclass": ONE_COLUMN,
}
ESTIMATORS = [
    BinaryRelevance(LogisticRegression()),
    ProbabilisticClassifierChain(LogisticRegression()),
]


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(ESTIMATORS, expected_failed_checks=lambda _: EXPECTED)
def test_estimator_checks(estimator, check):
    check(estimator)
