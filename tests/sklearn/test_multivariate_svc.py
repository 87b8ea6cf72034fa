"""MultivariateSVC as a scikit-learn estimator: labels, scores, thresholds, weights, limits."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn import metrics
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.preprocessing import scale

from metricwise import FBeta, MultivariateSVC, PrecisionAtK, Status, contingency_measure, get_measure
from metricwise.estimators import inputs
from metricwise.measures import HasViolatedLabelling, registered_names

X, Y = load_breast_cancer(return_X_y=True)
X, Y = scale(X)[:300], 1 - Y[:300]
IRIS, SPECIES = load_iris(return_X_y=True)
IRIS = scale(IRIS)


def cost(tp, fp, fn, tn):
    return 1 - (3 * fn + fp) / (3 * (tp + fn) + fp + tn)


OWN = contingency_measure(cost, "cost")


def get_name(measure):
    return get_measure(measure).name


# ------------------------------------------------------------------------------------------------- labels and scores


@pytest.mark.parametrize(
    "labels", [[0, 1], [-1, 1], [5, 3], ["no", "yes"], ["zebra", "ant"], [False, True], [0.0, 1.0]], ids=str
)
def test_labels_of_any_type_are_accepted(labels):
    y = np.array(labels)[Y]
    model = MultivariateSVC("f1", C=0.1, threshold=0.0, pos_label=labels[1]).fit(X, y)
    np.testing.assert_array_equal(model.classes_, np.unique(labels))
    predicted = model.predict(X)
    assert predicted.dtype == y.dtype
    np.testing.assert_array_equal(predicted, model.classes_[(model.decision_function(X) > 0).astype(int)])
    assert model.score(X, y) == pytest.approx(metrics.f1_score(y, predicted, pos_label=labels[1]))


def test_object_labels_are_accepted():
    model = MultivariateSVC("f1", C=0.1, pos_label="yes").fit(X, np.array(["no", "yes"], dtype=object)[Y])
    assert set(model.predict(X)) == {"no", "yes"}


@pytest.mark.parametrize("measure", ["f1", "prbep", "roc_auc", "accuracy"])
@pytest.mark.parametrize("threshold", ["cv", "train", 0.3])
def test_pos_label_exchanges_the_classes(measure, threshold):
    """Training for the other class equals training on exchanged labels; scores still point to classes_[1]."""
    settings, labels = {"C": 0.1, "threshold": threshold}, np.array(["event", "none"])[1 - Y]
    turned = MultivariateSVC(measure, pos_label="event", **settings).fit(X, labels)
    plain = MultivariateSVC(measure, **settings).fit(X, Y)
    np.testing.assert_allclose(turned.decision_function(X), -plain.decision_function(X))
    np.testing.assert_allclose(turned.coef_, -plain.coef_)
    np.testing.assert_array_equal(turned.predict(X) == "none", turned.decision_function(X) > 0)
    assert turned.score(X, labels) == pytest.approx(plain.score(X, Y))


def test_the_default_positive_is_the_greater_label():
    explicit = MultivariateSVC("f1", C=0.1, pos_label=1).fit(X, Y)
    np.testing.assert_array_equal(explicit.coef_, MultivariateSVC("f1", C=0.1).fit(X, Y).coef_)


@pytest.mark.parametrize("measure", [*registered_names(HasViolatedLabelling), OWN], ids=get_name)
def test_scores_are_computed_from_coefficients_and_threshold(measure):
    model = MultivariateSVC(measure, C=0.1).fit(X, Y)
    assert model.coef_.shape == (1, X.shape[1]) and model.intercept_.shape == (1,)
    assert isinstance(model.threshold_, float)
    expected = X @ model.coef_[0] + model.intercept_[0] - model.threshold_
    np.testing.assert_allclose(model.decision_function(X), expected, atol=1e-10)
    np.testing.assert_array_equal(model.predict(X), (model.decision_function(X) > 0).astype(int))
    assert model.measure_.name == get_measure(measure).name
    assert model.score(X, Y) > 0.9
    assert model.n_iter_ == model.result_.n_iter == len(model.result_.history)


SCORES = {
    "f1": lambda y, labels, scores, w: metrics.f1_score(y, labels, sample_weight=w),
    "f2": lambda y, labels, scores, w: metrics.fbeta_score(y, labels, beta=2, sample_weight=w),
    "jaccard": lambda y, labels, scores, w: metrics.jaccard_score(y, labels, sample_weight=w),
    "accuracy": lambda y, labels, scores, w: metrics.accuracy_score(y, labels, sample_weight=w),
    "balanced_accuracy": lambda y, labels, scores, w: metrics.balanced_accuracy_score(y, labels, sample_weight=w),
    "matthews_corrcoef": lambda y, labels, scores, w: metrics.matthews_corrcoef(y, labels, sample_weight=w),
    "cohen_kappa": lambda y, labels, scores, w: metrics.cohen_kappa_score(y, labels, sample_weight=w),
    "roc_auc": lambda y, labels, scores, w: metrics.roc_auc_score(y, scores, sample_weight=w),
}


@pytest.mark.parametrize("name", SCORES)
@pytest.mark.parametrize("weighted", [False, True], ids=["no weights", "weights"])
def test_score_equals_scikit_learns_metric(name, weighted):
    model = MultivariateSVC(name, C=0.01).fit(X[:200, :3], Y[:200])
    weights = np.random.default_rng(0).uniform(0.1, 2.0, size=100) if weighted else None
    samples, y = X[200:, :3], Y[200:]
    expected = SCORES[name](y, model.predict(samples), model.decision_function(samples), weights)
    assert model.score(samples, y, sample_weight=weights) == pytest.approx(expected)
    assert 0.0 < expected < 1.0


def test_score_of_ranking_measures_equals_scikit_learn():
    model = MultivariateSVC(PrecisionAtK(20), C=0.01).fit(X[:200, :3], Y[:200])
    top = np.argsort(-model.decision_function(X[200:, :3]))[:20]
    assert model.score(X[200:, :3], Y[200:]) == pytest.approx(Y[200:][top].mean())


# ------------------------------------------------------------------------------------------------------ more classes


@pytest.mark.parametrize("name", ["f1", "accuracy", "roc_auc", "prbep"])
def test_multiclass_is_one_problem_per_class(name):
    y = np.array(["setosa", "versicolor", "virginica"])[SPECIES]
    model = MultivariateSVC(name).fit(IRIS, y)
    assert model.coef_.shape == (3, 4)
    assert model.intercept_.shape == model.threshold_.shape == (3,)
    assert len(model.result_) == 3
    assert model.n_iter_ == max(result.n_iter for result in model.result_)
    scores = model.decision_function(IRIS)
    assert scores.shape == (150, 3)
    np.testing.assert_array_equal(model.predict(IRIS), model.classes_[scores.argmax(axis=1)])
    for k, label in enumerate(model.classes_):
        single = MultivariateSVC(name).fit(IRIS, y == label)
        np.testing.assert_allclose(scores[:, k], single.decision_function(IRIS), atol=1e-9)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("accuracy", metrics.accuracy_score),
        ("balanced_accuracy", metrics.balanced_accuracy_score),
        ("matthews_corrcoef", metrics.matthews_corrcoef),
        ("cohen_kappa", metrics.cohen_kappa_score),
        ("f1", lambda y, labels: metrics.f1_score(y, labels, average="macro")),
        ("jaccard", lambda y, labels: metrics.jaccard_score(y, labels, average="macro")),
    ],
)
def test_multiclass_score_equals_scikit_learn(name, expected):
    model = MultivariateSVC(name).fit(IRIS, SPECIES)
    assert model.score(IRIS, SPECIES) == pytest.approx(expected(SPECIES, model.predict(IRIS)))


def test_multiclass_score_of_ranking_measures_equals_scikit_learn():
    model = MultivariateSVC("roc_auc").fit(IRIS, SPECIES)
    scores = model.decision_function(IRIS)
    areas = [metrics.roc_auc_score(np.equal(SPECIES, k), scores[:, k]) for k in range(3)]
    assert model.score(IRIS, SPECIES) == pytest.approx(np.mean(areas))


# -------------------------------------------------------------------------------------------------------- thresholds


def test_train_thresholds_are_optimal_on_the_training_scores():
    model = MultivariateSVC("f1", C=0.01, threshold="train").fit(X[:, :3], Y)
    scores = model.decision_function(X[:, :3])
    best = max(metrics.f1_score(Y, scores > at) for at in np.r_[scores.min() - 1, np.sort(scores)])
    assert metrics.f1_score(Y, model.predict(X[:, :3])) == pytest.approx(best)


def test_prbep_predicts_as_many_positives_as_there_are():
    model = MultivariateSVC("prbep", C=0.01, threshold="train").fit(X[:, :3], Y)
    assert np.count_nonzero(model.predict(X[:, :3])) == np.count_nonzero(Y)


def test_a_numeric_threshold_is_used_unchanged():
    zero = MultivariateSVC("f1", C=0.1, threshold=0.0).fit(X, Y)
    other = MultivariateSVC("f1", C=0.1, threshold=1.5).fit(X, Y)
    assert (zero.threshold_, other.threshold_) == (0.0, 1.5)
    np.testing.assert_allclose(other.decision_function(X), zero.decision_function(X) - 1.5)


@pytest.mark.parametrize("cv", [3, KFold(4), StratifiedKFold(3, shuffle=True, random_state=0)], ids=str)
def test_the_threshold_is_chosen_on_out_of_fold_scores(cv):
    """Recompute it from the folds of cv: out-of-fold scores, and the best threshold on all of them."""
    model = MultivariateSVC("f1", C=0.01, cv=cv).fit(X[:, :3], Y)
    assert np.isfinite(model.threshold_)
    if isinstance(cv, int):
        return
    scores = np.empty(len(Y))
    for train, test in cv.split(X, Y):
        fold = MultivariateSVC("f1", C=0.01, threshold=0.0).fit(X[train][:, :3], Y[train])
        scores[test] = fold.decision_function(X[test][:, :3])
    ours = metrics.f1_score(Y, scores > model.threshold_)
    best = max(metrics.f1_score(Y, scores > at) for at in scores)
    assert ours == pytest.approx(best, abs=5e-3)  # the fold models are trained to the tolerance only


def test_cv_may_be_a_list_of_splits():
    splits = [(np.arange(0, 300, 2), np.arange(1, 300, 2)), (np.arange(1, 300, 2), np.arange(0, 300, 2))]
    listed = MultivariateSVC("f1", C=0.1, cv=splits).fit(X, Y)
    assert np.isfinite(listed.threshold_)


def test_the_order_of_the_samples_does_not_matter():
    order = np.random.default_rng(0).permutation(len(Y))
    plain = MultivariateSVC("f1", C=0.1, tol=1e-6).fit(X, Y)
    shuffled = MultivariateSVC("f1", C=0.1, tol=1e-6).fit(X[order], Y[order])
    assert shuffled.result_.certificate.upper == pytest.approx(plain.result_.certificate.upper, rel=2e-6)
    np.testing.assert_allclose(shuffled.coef_, plain.coef_, atol=1e-2 * np.abs(plain.coef_).max())
    assert shuffled.threshold_ == pytest.approx(plain.threshold_, abs=0.05)


# ------------------------------------------------------------------------------------------------- weights and input


def test_sample_weights_equal_repeated_samples_and_zeros_drop_them():
    rng = np.random.default_rng(0)
    copies = rng.integers(0, 3, size=len(Y))
    samples = np.repeat(np.arange(len(Y)), copies)
    weighted = MultivariateSVC("f1", C=0.1, tol=1e-6).fit(X, Y, sample_weight=copies)
    repeated = MultivariateSVC("f1", C=0.1, tol=1e-6).fit(X[samples], Y[samples])
    assert weighted.result_.certificate.upper == pytest.approx(repeated.result_.certificate.upper, rel=2e-6)
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-2 * np.abs(repeated.coef_).max())
    np.testing.assert_array_equal(weighted.predict(X), repeated.predict(X))


def test_class_weights_multiply_sample_weights():
    sample = np.random.default_rng(0).uniform(0.5, 2.0, size=len(Y))
    both = MultivariateSVC("f1", C=0.1, class_weight={0: 2.0, 1: 0.5}).fit(X, Y, sample_weight=sample)
    product = MultivariateSVC("f1", C=0.1).fit(X, Y, sample_weight=sample * np.where(Y == 1, 0.5, 2.0))
    np.testing.assert_allclose(both.coef_, product.coef_)
    balanced = MultivariateSVC("f1", C=0.1, class_weight="balanced").fit(X, Y)
    by_hand = MultivariateSVC("f1", C=0.1).fit(X, Y, sample_weight=(len(Y) / (2 * np.bincount(Y)))[Y])
    np.testing.assert_allclose(balanced.coef_, by_hand.coef_)


def assert_equal_up_to_rounding(model, other):
    assert other.result_.certificate.upper == pytest.approx(model.result_.certificate.upper, rel=1e-3)
    np.testing.assert_array_equal(other.predict(X), model.predict(X))


@pytest.mark.parametrize(
    "container", [sparse.csr_array, sparse.csr_matrix, sparse.csc_array, sparse.coo_array], ids=lambda c: c.__name__
)
def test_sparse_data_give_the_same_model(container):
    dense = MultivariateSVC("f1", C=0.1, tol=1e-5).fit(X, Y)
    fitted = MultivariateSVC("f1", C=0.1, tol=1e-5).fit(container(X), Y)
    assert_equal_up_to_rounding(dense, fitted)
    assert isinstance(fitted.coef_, np.ndarray)
    np.testing.assert_allclose(fitted.decision_function(container(X)), fitted.decision_function(X), atol=1e-9)


def test_integers_and_lists_are_accepted():
    samples = np.round(3 * X).astype(int)
    expected = MultivariateSVC("f1", C=0.1).fit(samples.astype(float), Y)
    for data in (samples, samples.tolist(), samples.astype(np.int8)):
        np.testing.assert_array_equal(MultivariateSVC("f1", C=0.1).fit(data, Y).coef_, expected.coef_)


def record_designs(monkeypatch):
    """Return a list that collects the matrices from which designs are made."""
    from metricwise.estimators import linear
    from metricwise.estimators.svm import base

    seen, make_design = [], linear.make_design

    def record(data, **settings):
        seen.append(data)
        return make_design(data, **settings)

    for module in (linear, base):
        monkeypatch.setattr(module, "make_design", record)
    return seen


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("order", ["C", "F"])
def test_dense_data_are_not_copied(monkeypatch, dtype, order):
    seen = record_designs(monkeypatch)
    if order == "F":  # which only much data keep
        monkeypatch.setattr(inputs, "_MOST_COPIED_VALUES", 0)
    data = np.array(X, dtype=dtype, order=order)
    before = data.copy()
    data.flags.writeable = False
    model = MultivariateSVC("f1", C=0.1).fit(data, Y)
    model.predict(data)
    assert len(seen) >= 2
    assert all(np.shares_memory(matrix, data) and matrix.dtype == dtype for matrix in seen)
    np.testing.assert_array_equal(data, before)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_data_are_not_copied(monkeypatch, dtype):
    seen = record_designs(monkeypatch)
    data = sparse.csr_array(X.astype(dtype))
    MultivariateSVC("f1", C=0.1).fit(data, Y).predict(data)
    assert len(seen) >= 2
    assert all(np.shares_memory(matrix.data, data.data) and matrix.dtype == dtype for matrix in seen)


def test_single_precision_gives_the_same_model():
    rounded = X.astype(np.float32)
    single = MultivariateSVC("f1", C=0.1, tol=1e-6).fit(rounded, Y)
    double = MultivariateSVC("f1", C=0.1, tol=1e-6).fit(rounded.astype(np.float64), Y)
    assert single.coef_.dtype == np.float64
    np.testing.assert_allclose(single.coef_, double.coef_, atol=1e-2 * np.abs(double.coef_).max())


def test_n_jobs_changes_no_bit():
    many = np.tile(X, (8, 4)) + np.random.default_rng(0).normal(size=(2400, 120))
    y = np.tile(Y, 8)
    models = [MultivariateSVC("f1", C=0.01, n_jobs=jobs).fit(many, y) for jobs in (1, 2, -1, None)]
    for model in models[1:]:
        np.testing.assert_array_equal(model.coef_, models[0].coef_)
        assert model.threshold_ == models[0].threshold_


def test_random_state_determines_the_model():
    first, again = (MultivariateSVC("f1", C=0.1, random_state=7).fit(X, Y) for _ in range(2))
    np.testing.assert_array_equal(first.coef_, again.coef_)
    assert first.threshold_ == again.threshold_
    drawn = MultivariateSVC("f1", C=0.1, random_state=np.random.RandomState(7)).fit(X, Y)
    assert drawn.threshold_ == first.threshold_


# ------------------------------------------------------------------------------------------------ clone and pickle


@pytest.mark.parametrize("measure", ["f1", FBeta(2.0), PrecisionAtK(10), OWN], ids=get_name)
def test_clone_and_pickle_preserve_the_model(measure):
    model = MultivariateSVC(measure, C=0.1, class_weight={0: 1.0, 1: 2.0})
    copy = clone(model)
    assert copy.get_params() == model.get_params() and copy is not model
    model.fit(X, Y)
    assert not hasattr(copy, "coef_")
    restored = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(restored.decision_function(X), model.decision_function(X))
    assert restored.result_.certificate == model.result_.certificate
    assert restored.score(X, Y) == model.score(X, Y)


def test_fit_changes_no_parameter():
    model = MultivariateSVC("f1", C=0.1)
    before = model.get_params()
    model.fit(X, Y)
    assert model.get_params() == before
    assert model.measure == "f1" and model.measure_ == FBeta(1.0)


# ---------------------------------------------------------------------------------------------------------- limits


def test_the_callback_gets_every_iteration_and_can_stop_training():
    seen = []
    model = MultivariateSVC("f1", C=0.1, threshold=0.0, callback=seen.append).fit(X, Y)
    assert seen == list(model.result_.history)
    model = MultivariateSVC("f1", C=0.1, callback=lambda entry: entry.iteration >= 3).fit(X, Y)
    assert (model.result_.status, model.n_iter_) == (Status.STOPPED, 3)
    assert np.isfinite(model.decision_function(X)).all()


def test_errors_of_the_callback_reach_the_user():
    def broken(entry):
        raise RuntimeError("the callback's own")

    with pytest.raises(RuntimeError, match="the callback's own"):
        MultivariateSVC("f1", callback=broken).fit(X, Y)


def test_max_seconds_stops_training_with_a_usable_model():
    with pytest.warns(match="increase max_seconds"):
        model = MultivariateSVC("f1", C=100.0, tol=1e-12, max_seconds=1e-6).fit(X, Y)
    assert model.result_.status is Status.MAX_SECONDS
    assert model.result_.certificate.lower <= model.result_.certificate.upper
    assert np.isfinite(model.decision_function(X)).all()


def test_the_history_records_every_iteration():
    history = MultivariateSVC("f1", C=0.1).fit(X, Y).result_.history
    objectives, seconds = [entry.objective for entry in history], [entry.seconds for entry in history]
    assert objectives == sorted(objectives, reverse=True)
    assert seconds == sorted(seconds) and seconds[0] > 0
    assert history[-1].gap <= 1e-3 * objectives[-1]
    assert "entries" in repr(history)
