"""MetricClassifier: invalid input raises an error that names the remedy."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.utils._param_validation import InvalidParameterError

from metricwise import MetricClassifier, RecallAtPrecision, UnreachableGuaranteeError

X, Y = make_classification(300, 5, weights=[0.8], random_state=0)
LINEAR = {"linear": LogisticRegression()}


class Failing(LogisticRegression):
    """A learner that cannot be trained."""

    def fit(self, X, y, sample_weight=None):
        raise ValueError("the solver failed")


class PackageError(Exception):
    """An error of another package, as CatBoost and LightGBM have."""


class FailingElsewhere(LogisticRegression):
    """A learner that raises an error of its own."""

    def fit(self, X, y, sample_weight=None):
        raise PackageError("the package failed")


class Undefined(LogisticRegression):
    """A learner that does not know the probabilities of one sample."""

    def predict_proba(self, X):
        chances = super().predict_proba(X)
        chances[0] = np.nan
        return chances


def expect_error(error, message, y=Y, samples=X, sample_weight=None, **settings):
    with pytest.raises(error, match=message):
        MetricClassifier(**{"candidates": LINEAR, **settings}).fit(samples, y, sample_weight=sample_weight)


def test_one_class_and_inconsistent_lengths_raise():
    expect_error(ValueError, "y has only one class, 0", y=np.zeros(300, dtype=int))
    expect_error(ValueError, "Found array with 0 sample", samples=X[:0], y=Y[:0])
    expect_error(ValueError, "X has 300 samples and y has 299", y=Y[:299])
    expect_error(ValueError, "requires y to be passed", y=None)


@pytest.mark.filterwarnings("error")
def test_a_class_too_small_for_folds_raises():
    few = np.r_[np.zeros(9, dtype=int), 1]
    expect_error(ValueError, "the rarest class has 1 samples, .* collect more samples", samples=X[:10], y=few)


@pytest.mark.parametrize(
    ("confidence", "message"),
    [
        (0.95, r"no threshold can guarantee precision >= 0\.9 with confidence 0\.95 on the 150 samples"),
        (None, r"no threshold has precision >= 0\.9 on out-of-fold samples; the nearest, .*relax"),
    ],
)
def test_an_unreachable_precision_raises(confidence, message):
    noise = np.random.default_rng(0).normal(size=(300, 3))
    labels = np.arange(300) % 5 == 0
    settings = {"samples": noise, "y": labels, "confidence": confidence}
    expect_error(UnreachableGuaranteeError, message, measure=RecallAtPrecision(0.9), **settings)
    expect_error(UnreachableGuaranteeError, message, subject_to="precision>=0.9", **settings)


def test_constraints_that_cannot_be_guaranteed_are_named():
    expect_error(ValueError, "write 'precision>=0.9' or", subject_to="precise")
    expect_error(ValueError, "a constraint is on one of", subject_to=["f1>=0.5"])
    expect_error(ValueError, "subject_to needs a measure of the", measure="roc_auc", subject_to="recall>=0.5")
    expect_error(ValueError, "is none of the classes: 0, 1, 2", y=np.arange(300) % 3, subject_to="recall>=0.5 of 7")
    expect_error(ValueError, "have the class 2, and 59 are", y=np.arange(300) % 3, subject_to="recall>=0.95 of 2")
    expect_error(ValueError, "a guarantee counts samples", subject_to="recall>=0.5", sample_weight=1.0 + Y)
    expect_error(InvalidParameterError, "confidence", confidence=1.0)


def test_empty_frames_and_text_raise():
    pd = pytest.importorskip("pandas")
    expect_error(ValueError, "check how the data frame was read or filtered", samples=pd.DataFrame(), y=[])
    text = np.array([["a", "b"]] * 10, dtype=object)
    expect_error(ValueError, "Encode it as numbers", samples=text, y=[0, 1] * 5)


def test_invalid_candidates_and_parameters_are_named():
    expect_error(ValueError, "candidates must be 'auto'.*got 'forest'", candidates=["forest"])
    expect_error(ValueError, "candidates must be 'auto'", candidates="all")
    expect_error(ValueError, "none of the candidates auc_svm fits measure 'f1'", candidates=["auc_svm"])
    expect_error(ValueError, "There is no measure 'f3_macro'", measure="f3_macro")
    expect_error(InvalidParameterError, "time_budget", time_budget=0.0)
    expect_error(ValueError, "pos_label=7 is not a label of y", pos_label=7)


def test_binary_measures_of_multiclass_targets_raise():
    message = "measure 'roc_auc' is for two classes, but y has several classes"
    expect_error(ValueError, message, y=np.arange(300) % 3, measure="roc_auc")


def test_invalid_sample_weights_raise():
    expect_error(ValueError, "sample_weight is zero for every sample", sample_weight=np.zeros(300))
    expect_error(ValueError, "only one class", sample_weight=(Y == 0).astype(float))


def test_a_failing_candidate_is_dropped_with_a_warning():
    with pytest.warns(UserWarning, match="candidate broken failed and is dropped: the solver failed"):
        model = MetricClassifier(candidates={"broken": Failing(), **LINEAR}).fit(X, Y)
    assert model.leaderboard_.set_index("candidate").loc["broken", "why_dropped"] == "failed: the solver failed"


def test_errors_of_other_packages_drop_a_candidate():
    with pytest.warns(UserWarning, match="candidate broken failed and is dropped: the package failed"):
        model = MetricClassifier(candidates={"broken": FailingElsewhere(), **LINEAR}).fit(X, Y)
    assert model.leaderboard_["candidate"].tolist() == ["linear", "broken"]


@pytest.mark.parametrize("kind", ["binary", "ranking", "multiclass", "multilabel"])
def test_candidates_without_finite_scores_are_dropped(kind):
    y = {"multiclass": Y + (X[:, 0] > 1.0), "multilabel": np.column_stack([Y, X[:, 0] > 0])}.get(kind, Y)
    measure = {"binary": "f1", "ranking": "roc_auc"}.get(kind, "f1_macro")
    with pytest.warns(UserWarning, match="candidate broken failed .* returned NaN or infinity for 1 of"):
        model = MetricClassifier(measure, candidates={"broken": Undefined(), **LINEAR}, cv=2).fit(X, y)
    assert model.leaderboard_["candidate"].tolist() == ["linear", "broken"]
    assert np.isfinite(model.predict_proba(X)).all()


def test_folds_of_one_class_are_named():
    negatives, everyone = np.flatnonzero(Y == 0), np.arange(300)
    rest = np.setdiff1d(everyone, negatives[:50])
    expect_error(ValueError, "test samples of one class only", cv=[(rest, negatives[:50])])
    expect_error(ValueError, "fold 2 of cv has training samples of one class", cv=[(rest, rest), (negatives, everyone)])


def test_no_candidates_raise():
    expect_error(ValueError, "candidates is empty", candidates={})
    expect_error(ValueError, "candidates is empty", candidates=[])


@pytest.mark.filterwarnings("ignore:candidate broken failed")
def test_an_error_lists_the_failures_if_all_candidates_fail():
    expect_error(
        ValueError, "no candidate could be trained: broken: the solver failed", candidates={"broken": Failing()}
    )


def test_fewer_positives_than_folds_warn():
    few = np.zeros(300, dtype=int)
    few[:3] = 1
    with pytest.warns(UserWarning, match="the rarest class has 3 samples, too few for 5 folds"):
        model = MetricClassifier(candidates=LINEAR).fit(X, few)
    assert model.predict(X).shape == (300,)


def test_a_failed_fit_leaves_the_model_unchanged_and_unfitted_models_raise():
    model = MetricClassifier(candidates=LINEAR).fit(X, Y)
    before = model.decision_function(X)
    with pytest.raises(ValueError, match="only one class"):
        model.fit(X, np.ones(300))
    np.testing.assert_array_equal(model.decision_function(X), before)
    with pytest.raises(NotFittedError):
        MetricClassifier().predict(X)
    with pytest.raises(ValueError, match="features"):
        model.predict(X[:, :3])
