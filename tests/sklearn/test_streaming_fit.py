"""`fit` of the streaming classifiers: passes, stopping, thresholds, history and the conventions of scikit-learn."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from metricwise import MiniBatchSVC, SPADEClassifier, STAMPClassifier, Status
from metricwise.inference import best_threshold
from metricwise.solvers.spade import Spade

MAKERS = {
    "spade": lambda **options: SPADEClassifier(**{"measure": "g_mean", **options}),
    "stamp": lambda **options: STAMPClassifier(**{"measure": "f1", **options}),
    "batches": lambda **options: MiniBatchSVC(**{"measure": "f1", "batch_size": 60, **options}),
}
each_model = pytest.mark.parametrize("name", MAKERS)


def make_samples(n=1500, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    y = (X @ [1.0, -1.0, 0.5, 0.0, 0.3] + 0.6 * rng.normal(size=n) > 1.0).astype(int)
    return X, y


X, Y = make_samples()
NEW_X, NEW_Y = make_samples(seed=1)


def assert_same_model(left, right):
    np.testing.assert_array_equal(left.coef_, right.coef_)
    np.testing.assert_array_equal(left.intercept_, right.intercept_)
    np.testing.assert_array_equal(left.threshold_, right.threshold_)


# ------------------------------------------------------------------------------------------------- passes and their end


@each_model
@pytest.mark.parametrize("n_passes", [1, 25])
def test_all_passes_are_made_if_tol_is_negative(name, n_passes):
    model = MAKERS[name](n_passes=n_passes, tol=-1.0).fit(X, Y)
    n_validation = X.shape[0] - model.result_.n_samples / n_passes
    assert model.n_iter_ == model.result_.n_passes == len(model.result_.history) == n_passes
    assert 0.09 * len(X) < n_validation < 0.11 * len(X) and n_validation == int(n_validation)
    assert model.result_.status is Status.MAX_ITER


@each_model
def test_passes_end_when_the_measure_settles(name):
    model = MAKERS[name](n_passes=500, patience=2).fit(X, Y)
    assert model.result_.status is Status.SETTLED
    assert 3 <= model.n_iter_ < 100
    values = [entry.measure for entry in model.result_.history]
    # The last passes are not noticeably better than the best one before them.
    assert max(values[-2:]) <= max(values[:-2]) + 1e-3


@each_model
def test_the_callback_stops_training(name):
    calls = []

    def stop_at_third(entry):
        calls.append(entry)
        return len(calls) == 3

    model = MAKERS[name](tol=-1.0, callback=stop_at_third).fit(X, Y)
    assert model.result_.status is Status.STOPPED
    assert model.n_iter_ == 3 == len(calls)
    assert list(model.result_.history) == calls
    assert model.score(NEW_X, NEW_Y) > 0.7


@each_model
def test_the_callback_stops_within_the_first_pass(name):
    rng = np.random.default_rng(0)
    samples = rng.normal(size=(30_000, 2))
    model = MAKERS[name](callback=lambda entry: True).fit(samples, samples[:, 0] > 1.0)
    assert 0 < model.result_.n_samples < 10_000
    assert model.n_iter_ == 1 and model.result_.status is Status.STOPPED


@each_model
def test_an_unfinished_pass_over_chunks_is_counted(name):
    chunks = [(X[start : start + 300], Y[start : start + 300]) for start in range(0, len(X), 300)]
    model = MAKERS[name](callback=lambda entry: entry.n_samples > 0.9 * len(X))  # what one pass learns from
    model.fit_stream(chunks, n_passes=3)
    assert model.result_.status is Status.STOPPED
    assert model.n_iter_ == model.result_.n_passes == 2


@each_model
def test_max_seconds_stops_training(name):
    model = MAKERS[name](n_passes=10**6, tol=-1.0, max_seconds=0.05).fit(X, Y)
    assert model.result_.status is Status.MAX_SECONDS
    assert 0.05 < model.result_.seconds < 5.0
    stream = MAKERS[name](max_seconds=1e-9).fit_stream([(X, Y)] * 50)
    assert stream.result_.status is Status.MAX_SECONDS and stream.result_.n_samples == len(X)


def test_every_pass_has_another_order(monkeypatch):
    """The validation samples are in none of them."""
    orders = []
    learn = Spade.learn
    monkeypatch.setattr(Spade, "learn", lambda *args, **options: orders.append(args[3]) or learn(*args, **options))
    SPADEClassifier(n_passes=3, tol=-1.0).fit(X, Y)
    assert len(orders) == 3 and len({order.tobytes() for order in orders}) == 3
    for order in orders:
        np.testing.assert_array_equal(np.sort(order), np.sort(orders[0]))
    assert np.unique(orders[0]).size == orders[0].size < len(X)


# ---------------------------------------------------------------------------------------------------------- history


@each_model
@pytest.mark.parametrize("method", ["fit", "partial_fit", "fit_stream"])
def test_the_history_is_consistent(name, method):
    model = MAKERS[name](tol=-1.0, n_passes=6)
    chunks = [(X[start : start + 100], Y[start : start + 100]) for start in range(0, len(X), 100)]
    if method == "fit":
        model.fit(X, Y)
    elif method == "fit_stream":
        model.fit_stream(chunks, n_passes=2)
    else:
        for samples, labels in chunks:
            model.partial_fit(samples, labels, classes=[0, 1])
    result, history = model.result_, model.result_.history
    assert len(history) >= 4
    assert np.all(np.diff([entry.n_samples for entry in history]) > 0)
    assert np.all(np.diff([entry.seconds for entry in history]) > 0.0)
    assert history[-1].n_samples <= result.n_samples and history[-1].seconds <= result.seconds
    known = [entry.measure for entry in history if not np.isnan(entry.measure)]
    assert len(known) >= 2 and all(0.0 <= value <= 1.0 for value in known)
    assert known[-1] == pytest.approx(model.score(NEW_X, NEW_Y), abs=0.12)
    assert all(len(entry.duals) == (2 if name == "spade" else 1) for entry in history)
    assert np.all(np.isfinite([entry.duals for entry in history]))
    if method == "fit":
        left = [entry.seconds_left for entry in history]
        assert left[-1] == 0.0 and all(value > 0.0 for value in left[:-1])
    np.testing.assert_array_equal(result.weights, np.append(model.coef_[0], model.intercept_))


def test_long_histories_are_thinned():
    model = SPADEClassifier()
    for start in range(0, 1500, 5):
        model.partial_fit(X[start : start + 5], Y[start : start + 5], classes=[0, 1])
    assert 5 < len(model.result_.history) < 20  # entries become rarer


# ------------------------------------------------------------------------------------------------------- thresholds


@each_model
def test_the_threshold_is_close_to_the_best_for_new_samples(name):
    """The threshold is chosen on validation samples; on new samples its score is close to that of the best one."""
    model = MAKERS[name]().fit(X, Y)
    scores = NEW_X @ model.coef_[0] + model.intercept_[0]
    best = best_threshold(model.measure_, NEW_Y == 1, scores)
    assert model.score(NEW_X, NEW_Y) > best.value - 0.04
    fixed = MAKERS[name](threshold=0.25).fit(X, Y)
    assert fixed.threshold_ == 0.25
    np.testing.assert_array_equal(fixed.coef_, model.coef_)
    streamed = MAKERS[name](threshold=-1).partial_fit(X, Y, classes=[0, 1])
    assert streamed.threshold_ == -1.0


@each_model
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_labels_are_the_sign_of_the_decision(name, method):
    model = MAKERS[name]()
    model = model.fit(X, Y) if method == "fit" else model.partial_fit(X, Y, classes=[0, 1])
    decision = model.decision_function(NEW_X)
    np.testing.assert_allclose(decision, NEW_X @ model.coef_[0] + model.intercept_[0] - model.threshold_)
    np.testing.assert_array_equal(model.predict(NEW_X), (decision > 0.0).astype(int))
    assert model.score(NEW_X, NEW_Y) == model.measure_.score(NEW_Y, model.predict(NEW_X))


# ------------------------------------------------------------------------------------------------- labels and classes


@each_model
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_text_labels_and_pos_label_give_the_same_model(name, method):
    words = np.array(["spam", "ham"])[Y]  # sorted, the positives come first
    plain, named = MAKERS[name](), MAKERS[name](pos_label="ham")
    if method == "fit":
        plain.fit(X, Y), named.fit(X, words)
    else:
        plain.partial_fit(X, Y, classes=[0, 1]), named.partial_fit(X, words, classes=["spam", "ham"])
    assert named.classes_.tolist() == ["ham", "spam"]
    np.testing.assert_array_equal(named.coef_, -plain.coef_)
    np.testing.assert_array_equal(named.threshold_, -plain.threshold_)
    agree = named.predict(NEW_X) == np.array(["spam", "ham"])[plain.predict(NEW_X)]
    assert np.all(agree)
    assert named.score(NEW_X, np.array(["spam", "ham"])[NEW_Y]) == plain.score(NEW_X, NEW_Y)


@each_model
@pytest.mark.parametrize("method", ["fit", "partial_fit", "fit_stream"])
def test_three_classes_are_trained_one_vs_rest(name, method):
    labels = np.array(["a", "b", "c"])[np.argmax(X[:, :3] + [0.0, 0.2, 0.4], axis=1)]
    new = np.array(["a", "b", "c"])[np.argmax(NEW_X[:, :3] + [0.0, 0.2, 0.4], axis=1)]
    model = MAKERS[name]()
    if method == "fit":
        model.fit(X, labels)
    elif method == "partial_fit":
        model.partial_fit(X[:700], labels[:700], classes=["c", "b", "a"]).partial_fit(X[700:], labels[700:])
    else:
        model.fit_stream([(X, labels)] * 2)
    assert model.coef_.shape == (3, 5) and model.intercept_.shape == model.threshold_.shape == (3,)
    assert model.decision_function(NEW_X).shape == (len(NEW_X), 3)
    assert np.mean(model.predict(NEW_X) == new) > 0.8
    binary = MAKERS[name]()
    binary = binary.fit(X, labels == "b") if method == "fit" else binary.partial_fit(X, labels == "b", [False, True])
    if method != "fit_stream":
        np.testing.assert_array_equal(model.coef_[1], binary.coef_[0])


# ------------------------------------------------------------------------------------------------------ scikit-learn


@each_model
def test_frames_and_pipelines_are_supported(name):
    frame = pd.DataFrame(X, columns=list("abcde"))
    model = MAKERS[name]().fit(frame, pd.Series(Y))
    assert model.feature_names_in_.tolist() == list("abcde") and model.n_features_in_ == 5
    assert_same_model(model, MAKERS[name]().fit(X, Y))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[list("edcba")])
    pipeline = make_pipeline(StandardScaler(), MAKERS[name]()).fit(frame, Y)
    assert pipeline.score(pd.DataFrame(NEW_X, columns=list("abcde")), NEW_Y) > 0.7
    assert cross_val_score(MAKERS[name](n_passes=3), X, Y, cv=3).min() > 0.6


def test_grid_search_finds_a_good_model():
    search = GridSearchCV(SPADEClassifier(n_passes=2), {"eta0": [0.1, 1.0], "measure": ["g_mean", "min_rate"]}, cv=3)
    search.fit(X, Y)
    assert search.best_score_ > 0.7


@each_model
def test_pickled_models_and_clones_train_the_same(name):
    model = MAKERS[name](eta0=0.5).fit(X, Y)
    copy = pickle.loads(pickle.dumps(model))
    assert_same_model(copy, model)
    np.testing.assert_array_equal(copy.predict(NEW_X), model.predict(NEW_X))
    bare = clone(model)
    assert not hasattr(bare, "coef_") and bare.get_params() == model.get_params()
    assert_same_model(bare.fit(X, Y), model)
    # A copy continues as the model itself does.
    assert_same_model(copy.partial_fit(NEW_X, NEW_Y), model.partial_fit(NEW_X, NEW_Y))


@each_model
def test_random_states_determine_the_model(name):
    first, again, other = (MAKERS[name](random_state=seed, n_passes=2).fit(X, Y) for seed in (3, 3, 4))
    assert_same_model(first, again)
    assert not np.array_equal(first.coef_, other.coef_)
    assert_same_model(
        MAKERS[name](random_state=np.random.RandomState(3), n_passes=2).fit(X, Y),
        MAKERS[name](random_state=np.random.RandomState(3), n_passes=2).fit(X, Y),
    )


@each_model
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])
def test_integer_weights_equal_repeated_samples(name, make):
    weights = np.random.default_rng(2).integers(0, 4, size=len(X))
    weighted = MAKERS[name](n_passes=3).fit(make(X), Y, sample_weight=weights)
    order = np.random.default_rng(3).permutation(int(weights.sum()))
    samples, labels = np.repeat(X, weights, axis=0)[order], np.repeat(Y, weights)[order]
    assert len(samples) > 2000  # more samples than are merged
    fewer = weights[:600]
    weighted = MAKERS[name](n_passes=3).fit(make(X[:600]), Y[:600], sample_weight=fewer)
    order = np.random.default_rng(3).permutation(int(fewer.sum()))
    samples, labels = np.repeat(X[:600], fewer, axis=0)[order], np.repeat(Y[:600], fewer)[order]
    repeated = MAKERS[name](n_passes=3).fit(make(samples), labels)
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-9)
    np.testing.assert_allclose(weighted.threshold_, repeated.threshold_, rtol=1e-9)


@each_model
def test_fit_discards_earlier_training(name):
    model = MAKERS[name]().fit(X[:, :3], Y)
    assert_same_model(model.fit(X, Y), MAKERS[name]().fit(X, Y))
    streamed = MAKERS[name]().partial_fit(X, Y, classes=[0, 1]).fit(X, Y)
    assert_same_model(streamed, model)
    model.fit_stream([(NEW_X[:, :2], NEW_Y)])
    assert model.n_features_in_ == 2 and model.result_.n_samples == len(NEW_X)
