"""PlugInClassifier: labels follow the threshold, for every type of learner, target and measure."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_classification, make_multilabel_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.metrics import f1_score, precision_score, recall_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import LinearSVC

from metricwise import (
    FBeta,
    PlugInClassifier,
    PrecisionAtK,
    PrecisionAtRecall,
    RecallAtPrecision,
    contingency_measure,
    get_measure,
    measure_names,
)
from metricwise.measures import CountsTable, RestrictsLabellings

X, Y = make_classification(3000, 10, n_informative=5, weights=[0.9], class_sep=1.2, random_state=0)
TRAIN, TEST = slice(0, 1000), slice(1000, 3000)
LEARNERS = [LogisticRegression(), LinearSVC(), RidgeClassifier(), RandomForestClassifier(20, random_state=0)]
STRATEGIES = ["auto", "max", "bagged", "expected", "batch"]


def fit_model(learner=None, **settings):
    return PlugInClassifier(LogisticRegression() if learner is None else learner, **settings).fit(X[TRAIN], Y[TRAIN])


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: type(learner).__name__)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_learner_and_strategy_is_about_as_good_as_plain_or_better(learner, strategy):
    model = fit_model(learner, threshold=strategy)
    plain = f1_score(Y[TEST], clone(learner).fit(X[TRAIN], Y[TRAIN]).predict(X[TEST]))
    assert model.score(X[TEST], Y[TEST]) == pytest.approx(f1_score(Y[TEST], model.predict(X[TEST])))
    assert model.score(X[TEST], Y[TEST]) > plain - 0.02
    low, high = model.threshold_interval_
    assert low <= model.threshold_ <= high
    low, high = model.expected_score_interval_
    assert low < model.expected_score_ < high
    np.testing.assert_array_equal(model.predict(X[TEST]), model.decision_function(X[TEST]) > 0)
    assert hasattr(model, "predict_proba") == hasattr(learner, "predict_proba")


def test_the_threshold_applies_to_the_probability():
    model = fit_model()
    np.testing.assert_array_equal(model.predict(X[TEST]), model.predict_proba(X[TEST])[:, 1] > model.threshold_)
    np.testing.assert_array_equal(model.predict_proba(X[TEST]), model.estimator_.predict_proba(X[TEST]))


def test_the_threshold_applies_to_the_decision_value():
    model = fit_model(LinearSVC())
    np.testing.assert_array_equal(
        model.predict(X[TEST]), model.estimator_.decision_function(X[TEST]) > model.threshold_
    )


def test_the_final_classifier_is_trained_on_all_samples():
    np.testing.assert_array_equal(fit_model().estimator_.coef_, LogisticRegression().fit(X[TRAIN], Y[TRAIN]).coef_)


def test_labels_depend_on_the_batch_only_on_request():
    alone = fit_model()
    np.testing.assert_array_equal(alone.predict(X[TEST])[:50], alone.predict(X[TEST][:50]))
    batch = fit_model(threshold="batch")
    shifted = X[TEST] + 2.0 * alone.estimator_.coef_ / np.linalg.norm(alone.estimator_.coef_)
    assert batch.predict(shifted).mean() < alone.predict(shifted).mean()
    assert batch.predict(X[TEST][:1]).shape == (1,)
    np.testing.assert_array_equal(fit_model(transductive=True).predict(X[TEST]), batch.predict(X[TEST]))


@pytest.mark.parametrize("name", measure_names("PlugInClassifier"))
def test_every_measure_is_supported(name):
    model = fit_model(measure=name, confidence=None)
    measure = get_measure(name)
    if isinstance(measure, CountsTable) and not isinstance(measure, RestrictsLabellings):
        labels = model.predict(X[TEST])
        constant = max(measure.score(Y[TEST], np.full(2000, label)) for label in (0, 1))
        assert model.score(X[TEST], Y[TEST]) == measure.score(Y[TEST], labels) > constant
    low, high = model.expected_score_interval_
    assert low < model.expected_score_ < high or model.expected_score_ == pytest.approx(1.0)


def test_custom_measures_and_parameters_are_accepted():
    cost = contingency_measure(lambda tp, fp, fn, tn: 1 - (5 * fn + fp) / (tp + fp + fn + tn), "cost")
    assert fit_model(measure=cost).predict(X[TEST]).sum() > fit_model(measure="accuracy").predict(X[TEST]).sum()
    assert fit_model(measure=FBeta(3.0)).threshold_ < fit_model(measure=FBeta(0.5)).threshold_
    selected = fit_model(measure=PrecisionAtK(40)).predict(X[TEST]).mean()
    assert selected == pytest.approx(0.04, abs=0.015)


def test_the_positive_label_may_be_either_class():
    words = np.where(Y == 1, "no", "yes")
    model = PlugInClassifier(LogisticRegression(), pos_label="no").fit(X[TRAIN], words[TRAIN])
    found = model.predict(X[TEST])
    np.testing.assert_array_equal(found == "no", fit_model().predict(X[TEST]) == 1)
    np.testing.assert_array_equal(found == "yes", model.decision_function(X[TEST]) >= 0)
    assert model.score(X[TEST], words[TEST]) == pytest.approx(f1_score(words[TEST], found, pos_label="no"))


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_matrix, sparse.csc_array])
def test_dense_and_sparse_samples_give_the_same_threshold(make):
    model = PlugInClassifier(LogisticRegression()).fit(make(X[TRAIN]), Y[TRAIN])
    assert model.threshold_ == pytest.approx(fit_model().threshold_, rel=1e-3)
    assert model.n_features_in_ == 10


def test_frames_give_the_model_of_arrays():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=[f"c{k}" for k in range(10)])
    model = PlugInClassifier(LogisticRegression()).fit(frame[TRAIN], pandas.Series(Y[TRAIN]))
    assert list(model.feature_names_in_) == list(frame.columns)
    np.testing.assert_array_equal(model.predict(frame[TEST]), fit_model().predict(X[TEST]))


def test_text_pipelines_are_accepted():
    texts = ["good film", "bad film", "very good indeed", "very bad indeed", "good good", "bad bad"] * 5
    pipeline = make_pipeline(TfidfVectorizer(), LogisticRegression())
    model = PlugInClassifier(pipeline).fit(texts, [1, 0] * 15)
    assert model.predict(["good", "bad"]).tolist() == [1, 0]


@pytest.mark.parametrize("measure", ["f1", "roc_auc"])
def test_sample_weights_equal_repeated_samples(measure):
    weights = np.random.default_rng(0).integers(0, 4, 1000)
    learner = LogisticRegression(
        tol=1e-10, max_iter=1000, solver="newton-cholesky"
    )  # exact with every version of SciPy
    model = PlugInClassifier(learner, measure)
    weighted = clone(model).fit(X[TRAIN], Y[TRAIN], sample_weight=weights)
    repeated = clone(model).fit(np.repeat(X[TRAIN], weights, axis=0), np.repeat(Y[TRAIN], weights))
    assert weighted.threshold_ == pytest.approx(repeated.threshold_, rel=1e-4)
    assert weighted.expected_score_ == pytest.approx(repeated.expected_score_, abs=1e-9)
    assert weighted.expected_score_interval_ == pytest.approx(
        repeated.expected_score_interval_, abs=1e-3 if measure == "f1" else 0.02
    )


@pytest.mark.parametrize(
    ("arguments", "message"), [({"n_samples": 0}, "1 or more"), ({"confidence": 90}, "90 percent as 0.9")]
)
def test_intervals_of_impossible_samples_are_refused(arguments, message):
    model = PlugInClassifier(LogisticRegression(), cv=2).fit(X[:200], Y[:200])
    with pytest.raises(ValueError, match=message):
        model.score_interval(**arguments)


def test_prefitted_learners_are_not_refitted():
    learner = LogisticRegression().fit(X[TRAIN], Y[TRAIN])
    model = PlugInClassifier(learner, prefit=True).fit(X[TEST][:500], Y[TEST][:500])
    assert model.estimator_ is learner
    assert model.score(X[TEST][500:], Y[TEST][500:]) > 0.5
    guaranteed = PlugInClassifier(learner, subject_to=[("recall", ">=", 0.5)], prefit=True).fit(X[TEST], Y[TEST])
    assert guaranteed.estimator_ is learner


def test_user_defined_folds_are_used():
    own = fit_model(cv=StratifiedKFold(3))
    splits = list(StratifiedKFold(3).split(X[TRAIN], Y[TRAIN]))
    assert own.threshold_ == fit_model(cv=splits).threshold_ != fit_model(cv=3).threshold_


def test_results_are_reproducible_and_do_not_depend_on_n_jobs():
    first, second, parallel = fit_model(), fit_model(), fit_model(n_jobs=2)
    assert first.threshold_ == second.threshold_ == pytest.approx(parallel.threshold_)
    assert fit_model(random_state=1).threshold_ != first.threshold_


def test_pipelines_and_grid_search_work():
    pipeline = make_pipeline(StandardScaler(), PlugInClassifier(LogisticRegression()))
    assert cross_val_score(pipeline, X[TRAIN], Y[TRAIN], cv=3).min() > 0.4
    grid = {"estimator__C": [0.01, 1.0], "measure": ["f1", "g_mean"]}
    search = GridSearchCV(PlugInClassifier(LogisticRegression()), grid, cv=3, scoring="f1", error_score="raise")
    assert search.fit(X[TRAIN], Y[TRAIN]).best_params_["measure"] == "f1"


def test_a_failed_fit_leaves_the_model_unchanged():
    model = fit_model()
    before = model.threshold_
    with pytest.raises(ValueError, match="one class"):
        model.fit(X[TRAIN], np.zeros(1000))
    assert model.threshold_ == before


def test_score_intervals_shrink_with_samples_and_grow_with_confidence():
    model = fit_model()
    few, many, surer = model.score_interval(200), model.score_interval(), model.score_interval(confidence=0.99)
    assert few[0] < many[0] < model.expected_score_ < many[1] < few[1]
    assert surer[0] < many[0] and many[1] < surer[1]
    ranking = fit_model(measure="roc_auc")
    few, many = ranking.score_interval(200), ranking.score_interval()
    assert few[0] < many[0] < ranking.expected_score_ < many[1] < few[1] < 1.0
    multilabel = PlugInClassifier(LogisticRegression(), "f1_macro").fit(*LABELS)
    few, many, surer = (multilabel.score_interval(*args) for args in ((200,), (), (None, 0.99)))
    assert few[0] < many[0] < multilabel.expected_score_ < many[1] < few[1]
    assert surer[0] < many[0] and many[1] < surer[1]


# ----------------------------------------------------------------------------------------------------------- guarantees


def test_guarantees_hold_on_new_samples():
    at_recall = fit_model(measure=PrecisionAtRecall(0.7))
    assert recall_score(Y[TEST], at_recall.predict(X[TEST])) >= 0.7
    same = fit_model(subject_to=[("recall", ">=", 0.7)])
    assert same.threshold_interval_[0] <= same.threshold_ <= same.threshold_interval_[1]
    at_precision = fit_model(measure=RecallAtPrecision(0.6))
    assert precision_score(Y[TEST], at_precision.predict(X[TEST])) >= 0.6
    surer = fit_model(measure=PrecisionAtRecall(0.7), confidence=0.999)
    assert surer.threshold_ < at_recall.threshold_


def test_constraints_without_a_guarantee_use_all_samples():
    model = fit_model(subject_to=[("precision", ">=", 0.8)], confidence=None)
    np.testing.assert_array_equal(model.estimator_.coef_, fit_model().estimator_.coef_)
    assert model.threshold_ > fit_model().threshold_
    assert model.threshold_interval_[0] <= model.threshold_ <= model.threshold_interval_[1]


# ------------------------------------------------------------------------------------------- multiclass and multilabel


CLASSES = make_classification(
    3000, 10, n_informative=6, n_classes=4, weights=[0.7, 0.15, 0.1, 0.05], class_sep=0.8, random_state=0
)


@pytest.mark.parametrize("name", ["f1", "f1_micro", "f1_weighted", "accuracy", "balanced_accuracy", "mcc", "jaccard"])
@pytest.mark.parametrize("learner", [LogisticRegression(), LinearSVC()], ids=["probabilities", "decisions"])
def test_multiclass_measures_are_supported(name, learner):
    X, y = CLASSES[0], np.array(list("abcd"))[CLASSES[1]]
    model = PlugInClassifier(learner, name).fit(X[TRAIN], y[TRAIN])
    plain = copy.deepcopy(model)
    plain.threshold_ = np.zeros(4)
    assert model.threshold_.shape == (4,)
    assert model.score(X[TEST], y[TEST]) > plain.score(X[TEST], y[TEST]) - 0.02
    low, high = model.expected_score_interval_
    assert low < model.expected_score_ < high
    assert model.decision_function(X[TEST]).shape == (2000, 4)


def test_multiclass_offsets_improve_macro_f1():
    X, y = CLASSES
    model = PlugInClassifier(LogisticRegression(), "f1_macro").fit(X[TRAIN], y[TRAIN])
    plain = LogisticRegression().fit(X[TRAIN], y[TRAIN])
    gained = f1_score(y[TEST], model.predict(X[TEST]), average="macro")
    assert model.score(X[TEST], y[TEST]) == pytest.approx(gained)
    assert gained > f1_score(y[TEST], plain.predict(X[TEST]), average="macro") + 0.03


LABELS = make_multilabel_classification(1500, n_classes=5, random_state=0)


@pytest.mark.parametrize("name", ["f1", "f1_macro", "f1_micro", "f1_weighted", "g_mean_macro"])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
def test_multilabel_targets_are_supported(name, kind):
    X, Y = LABELS
    model = PlugInClassifier(LogisticRegression(), name).fit(X[:700], kind(Y[:700]))
    found = model.predict(X[700:])
    assert sparse.issparse(found) == (kind is sparse.csr_matrix)
    assert model.predict_proba(X[700:]).shape == found.shape == (800, 5)
    # One threshold for all labels, except for the shift to the refitted models.
    assert (np.ptp(model.threshold_) < 0.05) == (name == "f1_micro")
    dense = found.toarray() if sparse.issparse(found) else found
    np.testing.assert_array_equal(dense, model.decision_function(X[700:]) > 0)
    low, high = model.expected_score_interval_
    assert low < model.score(X[700:], kind(Y[700:])) < high


def test_constant_labels_are_predicted_as_constant():
    X, Y = LABELS[0][:300], LABELS[1][:300].copy()
    Y[:, 0], Y[:, 1] = 0, 1
    found = PlugInClassifier(LogisticRegression(), "f1_macro").fit(X, Y).predict(X)
    assert not found[:, 0].any() and found[:, 1].all()


def test_sample_weights_reach_the_last_step_of_a_pipeline():
    X, y = make_classification(400, 5, weights=[0.8], random_state=0)
    weights = np.where(y == 1, 5.0, 1.0)
    piped = PlugInClassifier(make_pipeline(FunctionTransformer(), LogisticRegression())).fit(X, y, weights)
    plain = PlugInClassifier(LogisticRegression()).fit(X, y, weights)
    np.testing.assert_allclose(piped.decision_function(X), plain.decision_function(X))
