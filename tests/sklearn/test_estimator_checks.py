"""scikit-learn's own checks.

One of them requires a threshold of one half, which tuned thresholds do not meet. Some train on classes such as 1 and 2,
of which measures like F1 need the positive one: they run with it instead, and with measures that do not need it.
"""

from __future__ import annotations

import pytest
import sklearn
from packaging.version import Version
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import (
    check_classifier_data_not_an_array,
    check_estimators_dtypes,
    check_fit2d_1feature,
    check_sample_weights_not_an_array,
    check_sample_weights_not_overwritten,
    check_sample_weights_pandas_series,
    check_sample_weights_shape,
)

from metricwise import (
    AUCSVC,
    AdaptedSVC,
    AMPClassifier,
    CostSensitiveClassifier,
    FeatureSelectingSVC,
    MetricClassifier,
    MiniBatchSVC,
    MultivariateSVC,
    OnlineMetricClassifier,
    PlugInClassifier,
    SmoothedSVC,
    SPADEClassifier,
    SparseCodingClassifier,
    STAMPClassifier,
    TriageClassifier,
    get_measure,
)
from metricwise.measures import is_symmetric
from tests.sklearn.checks import parametrize_with_checks, run_check

# Binary classifiers get two classes made of three. Before 1.7 the first sample decides which: the numbers 1 and 2, or 2
# and 3, of which F1 needs the positive one.
IS_OLD = Version(sklearn.__version__) < Version("1.7")
OF_TWO_CLASSES = "cohen_kappa" if IS_OLD else "f1"

ESTIMATORS = [
    # Few folds and passes: what is checked does not depend on their number.
    MultivariateSVC(cv=3),
    # Out-of-fold thresholds need more fits, by shared code: variants do without.
    MultivariateSVC("g_mean", threshold="train"),
    MultivariateSVC("prbep", threshold="train"),
    MultivariateSVC("f1", threshold=0.0),
    # gamma="scale" uses the unweighted variance of X, as in scikit-learn.
    MultivariateSVC(kernel="rbf", gamma="auto", cv=3),
    AUCSVC(cv=3),
    AUCSVC(norm=2, threshold="train"),
    AUCSVC(kernel="rbf", gamma="auto", threshold="train"),
    SmoothedSVC(threshold="train"),
    FeatureSelectingSVC(OF_TWO_CLASSES, threshold="train"),
    AMPClassifier(cv=3),
    AMPClassifier("cohen_kappa", threshold=0.0),
    SPADEClassifier(n_passes=3),
    SPADEClassifier("min_rate", n_passes=3, schedule="paper", threshold=0.0),
    STAMPClassifier(n_passes=3),
    STAMPClassifier("jaccard", n_passes=3, threshold=0.0),
    MiniBatchSVC(n_passes=3, threshold=0.0),
    # Few samples, which one pass does not calibrate: a check requires labels of the largest probability.
    OnlineMetricClassifier(GaussianNB(), "accuracy", calibrate=False),
    OnlineMetricClassifier(measure="accuracy", n_passes=5, calibrate=False),
    SparseCodingClassifier(tol=1e-3, threshold=0.0),
    # A learner with decision values: a check requires labels of the largest probability, not of a threshold.
    CostSensitiveClassifier(RidgeClassifier(tol=1e-10), OF_TWO_CLASSES),
    CostSensitiveClassifier(DecisionTreeClassifier(max_depth=3, random_state=0), "g_mean"),
    AdaptedSVC(OF_TWO_CLASSES, [("line", RidgeClassifier(tol=1e-10))], cv=3),
    AdaptedSVC("roc_auc", [("line", RidgeClassifier(tol=1e-10))], use_features=False, cv=2, tol=1e-2),
]

# As these checks shuffle one of their two data sets before the first sample decides, they compare different classes.
FIRST_SAMPLE = dict.fromkeys(
    ("check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data"), ""
)

ONE_OR_TWO = (
    check_classifier_data_not_an_array,
    check_estimators_dtypes,
    check_fit2d_1feature,
    check_sample_weights_not_an_array,
    check_sample_weights_not_overwritten,
    check_sample_weights_pandas_series,
    check_sample_weights_shape,
)
UNNAMED = dict.fromkeys(
    [*(check.__name__ for check in ONE_OR_TWO), "check_classifiers_classes"], "depends on which class is positive"
)
UNNAMED["check_sample_weights_pandas_series"] = "raises error if 'sample_weight'"  # whatever the error is


def needs_positive_class(estimator):
    return not is_symmetric(get_measure(estimator.measure))


def list_failures(estimator):
    """Return the checks that must fail, with their messages."""
    is_binary = not get_tags(estimator).classifier_tags.multi_class
    expected = dict(FIRST_SAMPLE) if is_binary and IS_OLD else {}
    if isinstance(estimator, MultivariateSVC) and estimator.measure == "g_mean":
        expected |= {"check_class_weight_classifiers": ""}  # weighs classes: the G-mean of two does not depend on it
    if isinstance(estimator, OnlineMetricClassifier) and estimator.estimator is None:
        expected |= dict.fromkeys(FIRST_SAMPLE, "Not equal to tolerance")  # to SGD, the order of samples matters
    return expected | (UNNAMED if needs_positive_class(estimator) else {})


@pytest.mark.filterwarnings("ignore:too few samples of one class")
@pytest.mark.filterwarnings("ignore:threshold='cv' needs")
@pytest.mark.filterwarnings("ignore:the surrogate of")
@pytest.mark.filterwarnings("ignore:the rarest class has")
@pytest.mark.filterwarnings("ignore:two folds are too few")
@parametrize_with_checks(ESTIMATORS)
def test_estimator_checks(estimator, check):
    run_check(estimator, check, list_failures(estimator))


PLUG_INS = [
    PlugInClassifier(LogisticRegression(), cv=3),
    MetricClassifier(candidates=["logistic"], cv=3),
    TriageClassifier(LogisticRegression(), cv=3),
    TriageClassifier(LogisticRegression(), "accuracy", cv=3, capacity=0),
]
THRESHOLDS = {"check_classifiers_train": ""}  # wants the most probable class; here the threshold decides


@pytest.mark.filterwarnings("ignore:the rarest class has")
@parametrize_with_checks(PLUG_INS)
def test_estimator_checks_of_any_classifier_with_a_threshold(estimator, check):
    run_check(estimator, check, THRESHOLDS | list_failures(estimator))


ASYMMETRIC = [one for one in (*ESTIMATORS, *PLUG_INS) if needs_positive_class(one)]


@pytest.mark.filterwarnings("ignore:too few samples of one class")
@pytest.mark.filterwarnings("ignore:threshold='cv' needs")
@pytest.mark.filterwarnings("ignore:the surrogate of")
@pytest.mark.filterwarnings("ignore:the rarest class has")
@pytest.mark.parametrize("check", ONE_OR_TWO, ids=lambda check: check.__name__)
@pytest.mark.parametrize("estimator", ASYMMETRIC, ids=lambda one: f"{type(one).__name__} {one.measure}")
def test_checks_of_classes_one_and_two_pass_if_the_positive_one_is_named(estimator, check):
    check(type(estimator).__name__, clone(estimator).set_params(pos_label=2))
