"""scikit-learn's checks for the multilabel classifiers."""

from __future__ import annotations

import pytest
import sklearn
from packaging.version import Version
from sklearn.linear_model import LogisticRegression

from metricwise import BinaryRelevance, ProbabilisticClassifierChain
from tests.sklearn.checks import parametrize_with_checks, run_check

LABELS = ""  # one label with the values 1 and 2, or words; here columns are 0 and 1, and anything else is an error
ONE_CLASS = ""  # an error for a label that all samples have; here such labels are allowed
ONE_COLUMN = ""  # labels in one dimension
# The checks that must fail, with the messages of their errors.
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
if Version(sklearn.__version__) < Version("1.7"):
    # These checks make a binary y of three classes: since 1.7 by its smallest label, which is 0; before, by that of the
    # first sample, whichever it is.
    FIRST_LABEL = ""  # one label with the values 1 and 2, or 2 and 3
    EXPECTED |= dict.fromkeys(
        (
            "check_dict_unchanged",
            "check_dont_overwrite_parameters",
            "check_dtype_object",
            "check_estimators_fit_returns_self",
            "check_estimators_overwrite_params",
            "check_estimators_pickle",
            "check_f_contiguous_array_estimator",
            "check_fit2d_predict1d",
            "check_fit_check_is_fitted",
            "check_methods_sample_order_invariance",
            "check_methods_subset_invariance",
            "check_pipeline_consistency",
            "check_readonly_memmap_input",
            "check_sample_weight_equivalence_on_dense_data",
            "check_sample_weight_equivalence_on_sparse_data",
        ),
        FIRST_LABEL,
    )
ESTIMATORS = [
    BinaryRelevance(LogisticRegression()),
    ProbabilisticClassifierChain(LogisticRegression()),
]


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(ESTIMATORS)
def test_estimator_checks(estimator, check):
    run_check(estimator, check, EXPECTED)
