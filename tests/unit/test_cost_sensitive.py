"""CostSensitiveClassifier: class costs by iteration, with out-of-fold scores no worse than the plug-in's."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_predict
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from metricwise import Accuracy, CostSensitiveClassifier, FBeta, PlugInClassifier, get_measure
from metricwise.decisions.comparison import Judged, least_gain
from metricwise.decisions.decision import Decision, ScoredSamples
from metricwise.decisions.out_of_fold import OutOfFoldScores
from metricwise.estimators.wrappers.cost_sensitive import iterations
from metricwise.estimators.wrappers.cost_sensitive.iterations import JudgedWeights, select_iteration
from metricwise.estimators.wrappers.cost_sensitive.learners import can_start_from
from metricwise.solvers.amp_problem import ClassCosts

X, Y = make_classification(1500, 8, n_informative=4, weights=[0.85], flip_y=0.05, random_state=0)
TRAIN, TEST = slice(0, 700), slice(700, 1500)
STUMP = DecisionTreeClassifier(max_depth=1, random_state=0)
FOLDS = list(StratifiedKFold(3, shuffle=True, random_state=1).split(X[TRAIN], Y[TRAIN]))


def make_curved_data(n_samples, seed):
    """Return positives that no single threshold separates; stumps without class costs split on the wrong feature."""
    random = np.random.default_rng(seed)
    samples = random.normal(size=(n_samples, 2)) * [1.0, 2.0]
    probability = 1.0 / (1.0 + np.exp(6.0 - 3.0 * samples[:, 0] - samples[:, 1] ** 2 / 1.5))
    return samples, (random.random(n_samples) < probability).astype(int)


def fit_model(learner=STUMP, measure="g_mean", **settings):
    return CostSensitiveClassifier(learner, measure, **settings).fit(X[TRAIN], Y[TRAIN])


class RecordingLearner(LogisticRegression):
    """A learner that records the sample weights of every fit, and whether it started from earlier coefficients."""

    seen: list = []  # noqa: RUF012

    def fit(self, X, y, sample_weight=None):
        self.seen.append((len(y), sample_weight, self.warm_start and hasattr(self, "coef_")))
        return super().fit(X, y, sample_weight)


# --------------------------------------------------------------------------------------------------- out-of-fold scores


@pytest.mark.parametrize("measure", ["f1", "g_mean"])
def test_without_iterations_it_equals_the_plug_in(measure):
    plug_in = PlugInClassifier(LogisticRegression(), measure).fit(X[TRAIN], Y[TRAIN])
    model = fit_model(LogisticRegression(), measure, max_iter=0)
    np.testing.assert_array_equal(model.decision_function(X), plug_in.decision_function(X))
    assert model.threshold_ == plug_in.threshold_
    assert model.expected_score_ == plug_in.expected_score_
    assert model.expected_score_interval_ == plug_in.expected_score_interval_
    assert model.class_weights_ == (1.0, 1.0)
    assert model.n_refits_ == 6


@pytest.mark.parametrize("measure", ["f1", "jaccard", "cohen_kappa", "g_mean", "q_mean", "min_rate"])
@pytest.mark.parametrize("learner", [LogisticRegression(), LinearSVC(), STUMP], ids=lambda x: type(x).__name__)
def test_out_of_fold_score_is_at_least_that_of_the_plug_in(learner, measure):
    plug_in = PlugInClassifier(learner, measure).fit(X[TRAIN], Y[TRAIN])
    model = fit_model(learner, measure)
    assert model.history_[0].score == plug_in.expected_score_
    assert model.expected_score_ >= plug_in.expected_score_
    assert model.expected_score_ == model.history_[model.best_iter_].score
    assert model.class_weights_ == model.history_[model.best_iter_].class_weights
    assert len(model.history_) <= 1 + model.max_iter
    low, high = model.threshold_interval_
    assert low <= model.threshold_ <= high


def undo_class_weights(chances, class_weights):
    odds = chances / np.maximum(1.0 - chances, 1e-15) * class_weights.neg / class_weights.pos
    return odds / (1.0 + odds)


@pytest.mark.parametrize("learner", [STUMP, LogisticRegression(max_iter=1000, tol=1e-8)], ids=["tree", "linear"])
def test_expected_score_equals_that_of_cross_validated_predictions(learner):
    model = fit_model(learner, "g_mean", cv=FOLDS)
    weights = np.where(Y[TRAIN] == 1, model.history_[1].class_weights.pos, model.history_[1].class_weights.neg)
    chances = cross_val_predict(
        learner, X[TRAIN], Y[TRAIN], cv=FOLDS, params={"sample_weight": weights}, method="predict_proba"
    )[:, 1]
    unweighted = undo_class_weights(chances, model.history_[1].class_weights)
    found = get_measure("g_mean").score(Y[TRAIN], unweighted > model.history_[1].threshold)
    assert found == pytest.approx(model.history_[1].score, abs=1e-9)


def test_class_costs_are_derived_from_the_previous_score():
    model = fit_model(STUMP, "f1", tol=0.0, max_iter=5)
    for last, now in pairwise(model.history_):
        assert now.class_weights.pos / now.class_weights.neg == pytest.approx((2.0 - last.score) / last.score)
    scores = [entry.score for entry in model.history_]
    assert all(later > earlier for earlier, later in pairwise(scores[:-1]))


def test_samples_are_weighted_by_class_costs():
    RecordingLearner.seen = []
    given = np.linspace(0.5, 1.5, 700)
    model = CostSensitiveClassifier(RecordingLearner(), "g_mean", cv=FOLDS, max_iter=1).fit(X[TRAIN], Y[TRAIN], given)
    first, second = RecordingLearner.seen[:3], RecordingLearner.seen[3:6]
    costs = model.history_[1].class_weights
    for (_, plain, _), (_, weighted, _), (train, _) in zip(first, second, FOLDS, strict=True):
        np.testing.assert_array_equal(plain, given[train])
        np.testing.assert_allclose(weighted, given[train] * np.where(Y[train] == 1, *costs))
    total = given @ np.where(Y[TRAIN] == 1, *costs)
    assert total == pytest.approx(given.sum())


def test_iterations_end_when_class_costs_settle():
    assert len(fit_model(STUMP, "accuracy").history_) == 1
    assert len(fit_model(STUMP, "balanced_accuracy", max_iter=9).history_) == 2
    assert len(fit_model(STUMP, "g_mean", tol=1e9).history_) == 1


@pytest.mark.parametrize("measure", ["f1", "g_mean"])
def test_class_costs_help_where_a_threshold_cannot(measure):
    unseen = make_curved_data(20000, seed=9)
    samples, labels = make_curved_data(2000, seed=0)
    plug_in = PlugInClassifier(STUMP, measure).fit(samples, labels)
    model = CostSensitiveClassifier(STUMP, measure).fit(samples, labels)
    assert model.best_iter_ > 0
    assert model.score(*unseen) > plug_in.score(*unseen) + 0.1


# ------------------------------------------------------------------------------------------------------- significance


def make_iteration(right, truth):
    """Return an iteration whose labels are correct where ``right`` is true."""
    labels = np.where(right, truth, ~truth)
    samples = ScoredSamples(truth, labels.astype(float), np.ones(truth.size))
    expected = float(np.mean(right))
    judged = Judged(samples, Decision(0.5, (0.5, 0.5), expected, (0.0, 1.0)))
    return JudgedWeights(ClassCosts(1.0, 1.0), judged, OutOfFoldScores(np.arange(truth.size), samples.scores))


def test_a_significant_gain_is_selected():
    truth = np.arange(1000) % 2 == 0
    base = np.arange(1000) % 10 > 0
    slight, clear = base.copy(), base.copy()
    slight[[0, 10, 20, 30, 40]], slight[[1, 2, 3, 4]] = True, False
    clear[[0, 10, 20, 30, 40, 50, 60, 70, 80]], clear[[1, 2]] = True, False
    first = make_iteration(base, truth)
    assert select_iteration(Accuracy(), [first, make_iteration(slight, truth)]) == 0
    assert select_iteration(Accuracy(), [first, make_iteration(clear, truth)]) == 1
    assert select_iteration(Accuracy(), [first, make_iteration(slight, truth), make_iteration(clear, truth)]) == 2
    assert select_iteration(Accuracy(), [first]) == 0


def test_gains_agree_with_the_bootstrap():
    random = np.random.default_rng(0)
    truth = random.random(2000) < 0.2
    one, other = (make_iteration(random.random(2000) < rate, truth) for rate in (0.8, 0.85))
    labels = [iteration.judged.samples.scores > 0.5 for iteration in (one, other)]
    gains = []
    for _ in range(2000):
        weight = random.exponential(size=2000)
        gains.append(FBeta().score(truth, labels[1], weight) - FBeta().score(truth, labels[0], weight))
    assert least_gain(FBeta(), one.judged, other.judged, confidence=0.8) == pytest.approx(
        np.quantile(gains, 0.1), abs=0.004
    )


# ------------------------------------------------------------------------------------------------------- warm starts


def test_linear_models_start_from_their_last_iteration():
    RecordingLearner.seen = []
    samples, labels = make_curved_data(700, seed=0)
    model = CostSensitiveClassifier(RecordingLearner(), "g_mean", cv=3, max_iter=1).fit(samples, labels)
    assert [warm for _, _, warm in RecordingLearner.seen[:6]] == [False] * 3 + [True] * 3
    assert model.n_refits_ == len(RecordingLearner.seen)
    assert model.estimator_.warm_start is False
    assert model.estimator.warm_start is False


@pytest.mark.parametrize("measure", ["f1", "g_mean"])
def test_warm_starts_do_not_change_the_result(measure, monkeypatch):
    learner = LogisticRegression(max_iter=1000, tol=1e-9)
    warm = fit_model(learner, measure)
    monkeypatch.setattr(iterations, "can_start_from", lambda model: False)
    cold = fit_model(learner, measure)
    assert [entry.score for entry in warm.history_] == pytest.approx([entry.score for entry in cold.history_], abs=1e-3)
    np.testing.assert_allclose(warm.estimator_.coef_, cold.estimator_.coef_, atol=1e-4)


CONTINUES = [
    (LogisticRegression(), True),
    (SGDClassifier(loss="log_loss"), True),
    (MLPClassifier((3,), solver="lbfgs", max_iter=5000), True),
    (LinearSVC(), False),
    (STUMP, False),
    (RandomForestClassifier(5), False),
    (GradientBoostingClassifier(n_estimators=5), False),
]


@pytest.mark.parametrize(("learner", "expected"), CONTINUES, ids=lambda x: type(x).__name__)
def test_learners_with_warm_start_are_recognised(learner, expected):
    assert can_start_from(clone(learner).fit(X[TRAIN], Y[TRAIN])) is expected
    pipeline = make_pipeline(StandardScaler(), learner)
    assert can_start_from(clone(pipeline).fit(X[TRAIN], Y[TRAIN])) is expected


# ------------------------------------------------------------------------------------------------------- predictions


@pytest.mark.parametrize("learner", [STUMP, LogisticRegression()], ids=["tree", "linear"])
@pytest.mark.parametrize("strategy", ["auto", "max", "bagged", "expected"])
def test_labels_follow_the_threshold(learner, strategy):
    samples, labels = make_curved_data(1000, seed=0)
    model = CostSensitiveClassifier(learner, "g_mean", threshold=strategy).fit(samples, labels)
    chances = model.predict_proba(samples)
    unweighted = undo_class_weights(model.estimator_.predict_proba(samples)[:, 1], model.class_weights_)
    np.testing.assert_allclose(chances, np.column_stack([1.0 - unweighted, unweighted]), atol=1e-9)
    np.testing.assert_array_equal(model.predict(samples), chances[:, 1] > model.threshold_)
    np.testing.assert_array_equal(model.predict(samples), model.decision_function(samples) > 0.0)
    assert model.score(samples, labels) == pytest.approx(get_measure("g_mean").score(labels, model.predict(samples)))


def test_class_weights_do_not_shift_probabilities():
    samples, labels = make_curved_data(2000, seed=0)
    model = CostSensitiveClassifier(STUMP, "g_mean").fit(samples, labels)
    assert model.class_weights_.pos > 2.0 * model.class_weights_.neg and not model.calibrated_
    found, shifted = (one.predict_proba(samples)[:, 1].mean() for one in (model, model.estimator_))
    assert found == pytest.approx(labels.mean(), abs=0.01) and shifted > 2.0 * found


def test_decision_values_replace_probabilities():
    model = fit_model(LinearSVC(), "g_mean")
    margins = model.estimator_.decision_function(X[TEST])
    np.testing.assert_array_equal(model.predict(X[TEST]), margins > model.threshold_)
    assert not hasattr(model, "predict_proba")


def test_batch_predictions_account_for_class_costs():
    samples, labels = make_curved_data(1000, seed=0)
    learner = DecisionTreeClassifier(max_depth=3)
    alone = CostSensitiveClassifier(learner, "g_mean").fit(samples, labels)
    batch = CostSensitiveClassifier(learner, "g_mean", threshold="batch").fit(samples, labels)
    assert batch.best_iter_ == alone.best_iter_ > 0
    unseen, truth = make_curved_data(20000, seed=9)
    assert batch.score(unseen, truth) > alone.score(unseen, truth) - 0.05


def test_labels_of_any_type_and_either_positive_class():
    names = np.array(["no", "yes"])[Y]
    model = CostSensitiveClassifier(STUMP, "g_mean").fit(X[TRAIN], names[TRAIN])
    np.testing.assert_array_equal(model.predict(X), np.array(["no", "yes"])[fit_model().predict(X)])
    other = CostSensitiveClassifier(LogisticRegression(), "f1", pos_label="no").fit(X[TRAIN], names[TRAIN])
    swapped = CostSensitiveClassifier(LogisticRegression(), "f1").fit(X[TRAIN], 1 - Y[TRAIN])
    np.testing.assert_array_equal(other.predict(X) == "no", swapped.predict(X) == 1)
    assert other.score(X, names) == pytest.approx(swapped.score(X, 1 - Y))


# --------------------------------------------------------------------------------------------- scikit-learn's interface


def test_pipelines_pass_sample_weights_to_their_last_step():
    inside = fit_model(make_pipeline(StandardScaler(), LogisticRegression(C=0.1)), "g_mean")
    scaled = StandardScaler().fit_transform(X[TRAIN])
    assert len(inside.history_) > 1
    assert inside.history_[1].class_weights != (1.0, 1.0)
    weights = np.where(Y[TRAIN] == 1, *inside.class_weights_)
    alone = LogisticRegression(C=0.1).fit(scaled, Y[TRAIN], weights)
    np.testing.assert_allclose(inside.estimator_[-1].coef_, alone.coef_, atol=1e-2)
    outside = make_pipeline(StandardScaler(), CostSensitiveClassifier(LogisticRegression(), "f1")).fit(X, Y)
    assert outside.score(X, Y) == pytest.approx(outside[-1].score(outside[:-1].transform(X), Y))


def test_pipelines_route_sample_weights():
    plain = fit_model(make_pipeline(StandardScaler(), STUMP), "g_mean")
    with config_context(enable_metadata_routing=True):
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        routed = fit_model(make_pipeline(scaler, clone(STUMP).set_fit_request(sample_weight=True)), "g_mean")
    assert routed.history_ == plain.history_


def test_grid_search_and_clone_work():
    search = GridSearchCV(CostSensitiveClassifier(STUMP, "g_mean"), {"estimator__max_depth": [1, 3]}, cv=2)
    assert search.fit(X[TRAIN], Y[TRAIN]).best_params_ == {"estimator__max_depth": 3}
    assert clone(search.best_estimator_).get_params()["measure"] == "g_mean"
    multiclass = OneVsRestClassifier(CostSensitiveClassifier(STUMP, "f1")).fit(X, Y + (X[:, 0] > 1))
    assert set(multiclass.predict(X)) <= {0, 1, 2}


def test_sample_weights_equal_repeated_samples():
    times = np.arange(700) % 3
    weighted = CostSensitiveClassifier(STUMP, "g_mean").fit(X[TRAIN], Y[TRAIN], times)
    copies = np.repeat(np.arange(700), times)
    repeated = CostSensitiveClassifier(STUMP, "g_mean").fit(X[copies], Y[copies])
    assert weighted.expected_score_ == pytest.approx(repeated.expected_score_)
    assert weighted.class_weights_ == pytest.approx(repeated.class_weights_)
    np.testing.assert_array_equal(weighted.predict(X), repeated.predict(X))


def test_sparse_samples_and_n_jobs_do_not_change_the_result():
    learner = DecisionTreeClassifier(max_depth=2, random_state=0)
    dense = fit_model(learner)
    parallel = fit_model(learner, n_jobs=2)
    assert parallel.history_ == dense.history_
    samples = sparse.csr_matrix(X)
    of_sparse = CostSensitiveClassifier(learner, "g_mean").fit(samples[TRAIN], Y[TRAIN])
    assert of_sparse.class_weights_ == pytest.approx(dense.class_weights_)
    assert of_sparse.threshold_ == pytest.approx(dense.threshold_)


def test_too_few_samples_for_folds_warn_and_end_after_one_fit():
    samples, labels = np.arange(12.0)[:, None], np.r_[1, np.zeros(11, dtype=int)]
    with pytest.warns(UserWarning, match="there are no out-of-fold scores"):
        model = CostSensitiveClassifier(LogisticRegression()).fit(samples, labels)
    assert len(model.history_) == 1
