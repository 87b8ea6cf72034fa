"""AdaptedSVC: classifiers adapted to a measure, with out-of-fold scores no worse than those of the best input."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.metrics import f1_score, roc_auc_score
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from metricwise import AdaptedSVC, DegenerateOptimumWarning, PlugInClassifier, get_measure
from metricwise.measures import FBeta

X, Y = make_classification(500, 6, n_informative=4, weights=[0.75], class_sep=0.7, random_state=1)
TRAIN = slice(0, 350)
INPUTS = [
    ("line", LogisticRegression()),
    ("ridge", RidgeClassifier()),
    ("tree", DecisionTreeClassifier(max_depth=4, random_state=0)),
]


class PartialLogisticRegression(LogisticRegression):
    """Logistic regression on some of the features."""

    def __init__(self, columns=(0,)):
        super().__init__()
        self.columns = columns

    def fit(self, X, y, sample_weight=None):
        return super().fit(X[:, list(self.columns)], y, sample_weight)

    def predict_proba(self, X):
        return super().predict_proba(X[:, list(self.columns)])


def make_complementary_data(n_samples, seed):
    """Return data whose two halves of the features each hold half of the information."""
    rng = np.random.default_rng(seed)
    positive = rng.random(n_samples) < 0.3
    return rng.normal(size=(n_samples, 4)) + 0.9 * positive[:, None], positive.astype(int)


HALVES = [("first", PartialLogisticRegression((0, 1))), ("second", PartialLogisticRegression((2, 3)))]


def make_ring(n_samples, seed):
    """Return a ring, which trees separate and linear models do not."""
    rng = np.random.default_rng(seed)
    samples = rng.normal(size=(n_samples, 2))
    return samples, (np.hypot(*samples.T) > 1.7).astype(int)


# ----------------------------------------------------------------------------------------------------------- guarantees


@pytest.mark.parametrize(("measure", "use_features"), [("f1", False), ("g_mean", True), ("prbep", True)])
def test_out_of_fold_score_is_at_least_that_of_the_best_input(measure, use_features):
    model = AdaptedSVC(measure, INPUTS, use_features=use_features, tol=1e-2).fit(X[TRAIN], Y[TRAIN])
    of_inputs = {name: model.out_of_fold_scores_[name] for name, _ in INPUTS}
    assert model.expected_score_ == model.out_of_fold_scores_[model.selected_] >= max(of_inputs.values())
    low, high = model.expected_score_interval_
    assert low < model.expected_score_ < high
    # Inputs are evaluated as plug-in classifiers are, on the same folds.
    for name, learner in INPUTS:
        alone = PlugInClassifier(learner, measure).fit(X[TRAIN], Y[TRAIN])
        assert of_inputs[name] == pytest.approx(alone.expected_score_, abs=1e-12)


def test_out_of_fold_scores_come_from_models_that_never_saw_the_fold():
    """The user's folds: each is scored by a model whose inputs, too, were trained without it."""
    samples, labels = make_complementary_data(240, seed=0)
    cv = KFold(4, shuffle=True, random_state=0)
    model = AdaptedSVC("roc_auc", HALVES, use_features=False, cv=cv, tol=1e-4).fit(samples, labels)
    scores = np.empty(240)
    folds = [test for _, test in cv.split(samples)]
    for test in folds:
        others = [fold for fold in folds if fold is not test]
        alone = AdaptedSVC("roc_auc", HALVES, use_features=False, tol=1e-4)
        train = np.setdiff1d(np.arange(240), test)
        at = {sample: k for k, sample in enumerate(train)}
        part = [np.array([at[sample] for sample in fold]) for fold in others]
        alone.set_params(cv=[(np.setdiff1d(np.arange(train.size), fold), fold) for fold in part])
        alone.fit(samples[train], labels[train])
        found = {name: one.predict_proba(samples[test])[:, 1] for name, one in alone.estimators_.items()}
        logs = {name: np.log(p / (1.0 - p)) for name, p in found.items()}
        scores[test] = alone._adapter.scores(None, logs)
    assert model.out_of_fold_scores_["adapted"] == pytest.approx(roc_auc_score(labels, scores), abs=2e-3)


def test_noise_is_not_overfitted_across_folds():
    """Out-of-fold outputs are biased against the labels of their samples, which must not be exploited."""
    rng = np.random.default_rng(0)
    samples, labels = rng.normal(size=(150, 60)), (rng.random(150) < 0.3).astype(int)
    model = AdaptedSVC("roc_auc", [("line", LogisticRegression())], feature_scaling=1.0, tol=1e-2).fit(samples, labels)
    assert abs(model.out_of_fold_scores_["adapted"] - 0.5) < 0.12


def test_complementary_inputs_are_combined():
    samples, labels = make_complementary_data(500, seed=0)
    model = AdaptedSVC("f1", HALVES, use_features=False).fit(samples, labels)
    assert model.adapted_ and model.selected_ == "adapted"
    assert min(model.input_weights_.values()) > 0.0
    assert model.out_of_fold_scores_["adapted"] > max(model.out_of_fold_scores_[name] for name, _ in HALVES) + 0.03
    unseen, truth = make_complementary_data(5000, seed=1)
    best = max(PlugInClassifier(learner).fit(samples, labels).score(unseen, truth) for _, learner in HALVES)
    assert model.score(unseen, truth) > best + 0.05
    assert model.score(unseen, truth) == pytest.approx(f1_score(truth, model.predict(unseen)))


def test_features_are_added_to_a_weak_input():
    samples, labels = make_complementary_data(500, seed=2)
    with_features = AdaptedSVC("f1", HALVES[:1]).fit(samples, labels)
    without = AdaptedSVC("f1", HALVES[:1], use_features=False).fit(samples, labels)
    assert with_features.adapted_
    assert with_features.expected_score_ > without.expected_score_ + 0.05
    assert with_features.svc_.coef_.shape == (1, 5) and without.svc_.coef_.shape == (1, 1)


def test_an_optimal_input_is_selected_unchanged():
    samples, labels = make_ring(400, seed=0)
    inputs = [("line", LogisticRegression()), ("tree", DecisionTreeClassifier(random_state=0))]
    model = AdaptedSVC("f1", inputs).fit(samples, labels)
    assert not model.adapted_ and model.selected_ == "tree"
    alone = PlugInClassifier(inputs[1][1], "f1").fit(samples, labels)
    unseen, truth = make_ring(2000, seed=1)
    np.testing.assert_array_equal(model.predict(unseen), alone.predict(unseen))
    np.testing.assert_allclose(model.decision_function(unseen), alone.decision_function(unseen))
    assert model.score(unseen, truth) == pytest.approx(alone.score(unseen, truth))
    assert model.expected_score_interval_ == alone.expected_score_interval_


def test_a_degenerate_svm_is_not_selected(recwarn):
    rng = np.random.default_rng(0)
    samples, labels = rng.normal(size=(300, 1)), (rng.random(300) < 0.1).astype(int)
    model = AdaptedSVC("f1", [("line", LogisticRegression())]).fit(samples, labels)
    assert model.result_.status.value == "degenerate" and model.selected_ == "line"
    assert not [one for one in recwarn if issubclass(one.category, DegenerateOptimumWarning)]


def test_two_folds_select_among_the_inputs_only():
    samples, labels = make_complementary_data(200, seed=0)
    with pytest.warns(UserWarning, match="two folds are too few to judge the adapted machine"):
        model = AdaptedSVC("f1", HALVES, cv=2).fit(samples, labels)
    assert set(model.out_of_fold_scores_) == {"first", "second"} and not model.adapted_
    assert model.expected_score_ == max(model.out_of_fold_scores_.values())


# ------------------------------------------------------------------------------------------------------ trained inputs


def make_trained_classifiers():
    return [(name, clone(learner).fit(X[TRAIN], Y[TRAIN])) for name, learner in INPUTS]


def test_prefitted_classifiers_are_not_refitted():
    given = make_trained_classifiers()
    before = given[0][1].coef_.copy()
    rest = slice(350, 500)
    model = AdaptedSVC("f1", given, prefit=True).fit(X[rest], Y[rest])
    assert all(model.estimators_[name] is learner for name, learner in given)
    np.testing.assert_array_equal(given[0][1].coef_, before)
    for name, learner in given:
        alone = PlugInClassifier(learner, "f1", prefit=True).fit(X[rest], Y[rest])
        assert model.out_of_fold_scores_[name] == pytest.approx(alone.expected_score_)
    assert model.expected_score_ >= max(model.out_of_fold_scores_[name] for name, _ in given)
    assert set(model.predict(X)) == {0, 1}


def test_frozen_prefitted_classifiers_can_be_cross_validated():
    frozen = [(name, FrozenEstimator(learner)) for name, learner in make_trained_classifiers()]
    values = cross_val_score(AdaptedSVC("f1", frozen, prefit=True, cv=2), X[350:], Y[350:], cv=2)
    assert values.min() > 0.3


# ------------------------------------------------------------------------------------------------------------- default


def test_default_inputs_are_used_without_estimators():
    model = AdaptedSVC("f1", cv=3, tol=1e-2).fit(X[TRAIN], Y[TRAIN])
    names = ["boosted trees", "rbf machine", "logistic regression"]
    assert list(model.estimators_) == list(model.input_weights_) == names
    assert model.score(X[350:], Y[350:]) > 0.7
    assert model.result_.certificate.relative <= 1e-2


def test_frames_with_categories_and_missing_values_are_accepted():
    frame = pd.DataFrame(X[TRAIN].copy(), columns=list("abcdef"))
    frame["word"] = np.where(X[TRAIN, 0] > 0, "high", "low")
    frame.loc[::9, "b"] = np.nan
    model = AdaptedSVC("f1", cv=3, tol=1e-2).fit(frame, Y[TRAIN])
    assert list(model.feature_names_in_) == [*"abcdef", "word"]
    assert model.score(frame, Y[TRAIN]) > 0.7
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame.rename(columns={"a": "z"}))


def test_text_is_accepted_without_features():
    from sklearn.feature_extraction.text import CountVectorizer

    texts = np.array(["good fine" if label else "bad poor" for label in Y[:120]], dtype=object)
    texts[:20] = "good bad"
    words = make_pipeline(CountVectorizer(), LogisticRegression())
    model = AdaptedSVC("f1", [("words", words)], use_features=False).fit(texts, Y[:120])
    assert model.score(texts, Y[:120]) > 0.8


def test_sparse_samples_are_accepted():
    samples = sparse.csr_matrix(np.where(np.abs(X) > 0.5, X, 0.0))
    inputs = [INPUTS[0], INPUTS[1]]
    of_sparse = AdaptedSVC("f1", inputs).fit(samples[TRAIN], Y[TRAIN])
    assert sparse.issparse(samples) and of_sparse.score(samples[350:], Y[350:]) > 0.5
    assert of_sparse.expected_score_ >= max(of_sparse.out_of_fold_scores_[name] for name, _ in inputs)
    wide = sparse.random(120, 3000, density=0.01, random_state=0, format="csr")
    wide = sparse.hstack([wide, sparse.csr_matrix(Y[:120, None] * 1.0)], format="csr")
    by_default = AdaptedSVC("f1", cv=3).fit(wide, Y[:120])
    assert list(by_default.estimators_) == ["logistic regression"]
    assert by_default.score(wide, Y[:120]) > 0.9


# --------------------------------------------------------------------------------------------------- weights, processes


def test_sample_weights_equal_repeated_samples():
    times = np.arange(350) % 3
    inputs = [("ridge", RidgeClassifier(tol=1e-12)), INPUTS[2]]
    weighted = AdaptedSVC("f1", inputs, tol=1e-4).fit(X[TRAIN], Y[TRAIN], times)
    copies = np.repeat(np.arange(350), times)
    repeated = AdaptedSVC("f1", inputs, tol=1e-4).fit(X[copies], Y[copies])
    assert weighted.out_of_fold_scores_ == pytest.approx(repeated.out_of_fold_scores_, abs=0.01)
    assert weighted.selected_ == repeated.selected_
    assert np.mean(weighted.predict(X) == repeated.predict(X)) > 0.99


def test_sample_weights_reach_the_inputs_that_accept_them():
    weights = np.where(Y == 1, 5.0, 1.0)
    inputs = [("line", LogisticRegression()), ("neighbours", KNeighborsClassifier())]
    with pytest.warns(UserWarning, match="no sample_weight is taken by 'neighbours'"):
        model = AdaptedSVC("f1", inputs).fit(X, Y, weights)
    np.testing.assert_allclose(model.estimators_["line"].coef_, LogisticRegression().fit(X, Y, weights).coef_)


def test_results_do_not_depend_on_n_jobs():
    alone = AdaptedSVC("f1", INPUTS).fit(X[TRAIN], Y[TRAIN])
    beside = AdaptedSVC("f1", INPUTS, n_jobs=2).fit(X[TRAIN], Y[TRAIN])
    assert beside.out_of_fold_scores_ == alone.out_of_fold_scores_
    assert beside.input_weights_ == alone.input_weights_ and beside.threshold_ == alone.threshold_
    np.testing.assert_array_equal(beside.decision_function(X), alone.decision_function(X))


# --------------------------------------------------------------------------------------------- scikit-learn's interface


@pytest.mark.parametrize("inputs", [HALVES, INPUTS])
def test_labels_of_any_type_and_either_positive_class(inputs):
    names = np.array(["no", "yes"])[Y]
    by_number = AdaptedSVC("f1", inputs, use_features=False).fit(X[TRAIN], Y[TRAIN])
    by_name = AdaptedSVC("f1", inputs, use_features=False, pos_label="yes").fit(X[TRAIN], names[TRAIN])
    np.testing.assert_array_equal(by_name.predict(X), np.array(["no", "yes"])[by_number.predict(X)])
    swapped = AdaptedSVC("f1", inputs, use_features=False, pos_label=0).fit(X[TRAIN], Y[TRAIN])
    expected = get_measure("f1").score(Y == 0, swapped.predict(X) == 0)
    assert swapped.score(X, Y) == pytest.approx(expected) and expected > 0.8
    np.testing.assert_array_equal(swapped.predict(X) == 1, swapped.decision_function(X) > 0.0)


def test_grid_search_sets_parameters_of_the_inputs():
    model = AdaptedSVC(FBeta(2.0), [("ridge", RidgeClassifier()), ("bayes", GaussianNB())])
    assert model.get_params()["ridge__alpha"] == 1.0
    assert model.set_params(ridge__alpha=3.0).estimators[0][1].alpha == 3.0
    search = GridSearchCV(model, {"ridge__alpha": [1.0, 100.0], "C": [0.1]}, cv=2).fit(X[TRAIN], Y[TRAIN])
    assert search.best_estimator_.estimators_["ridge"].alpha == search.best_params_["ridge__alpha"]
    piped = make_pipeline(StandardScaler(), clone(search.best_estimator_)).fit(X[TRAIN], Y[TRAIN])
    assert piped.score(X, Y) == pytest.approx(piped[-1].score(piped[:-1].transform(X), Y))
