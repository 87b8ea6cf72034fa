"""`OnlineMetricClassifier`: any learner, decided for a measure while samples keep coming."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.metrics import f1_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier

import metricwise as mw
from metricwise.decisions.running_calibration import RunningCalibration
from metricwise.decisions.running_counts import LARGEST_SUM, MOST_SAMPLES
from metricwise.decisions.tasks import task_of_classes
from metricwise.estimators.streaming import online
from metricwise.estimators.streaming.online_learning import predict_chances

RNG = np.random.default_rng(0)
Y = (RNG.random(3000) < 0.1).astype(int)
X = RNG.normal(size=(3000, 8)) + 0.5 * Y[:, None]
THREE_Y = RNG.choice(3, size=3000, p=[0.8, 0.15, 0.05])
THREE_X = RNG.normal(size=(3000, 8)) + 0.8 * np.eye(3, 8)[THREE_Y]
LABELS = np.column_stack([THREE_Y == 1, THREE_Y == 2, THREE_X[:, 0] > 1.0]).astype(int)


def learn_in_parts(model, samples, y, size, classes=None):
    for start in range(0, len(y), size):
        model.partial_fit(
            samples[start : start + size], y[start : start + size], classes=classes if not start else None
        )
    return model


def test_it_beats_the_fixed_threshold_of_its_learner():
    model = learn_in_parts(mw.OnlineMetricClassifier(GaussianNB(), calibrate=False), X, Y, 100, [0, 1])
    learner = learn_in_parts(GaussianNB(), X, Y, 100, [0, 1])
    assert model.score(X, Y) == f1_score(Y, model.predict(X)) > f1_score(Y, learner.predict(X)) + 0.02
    np.testing.assert_allclose(model.predict_proba(X), learner.predict_proba(X), rtol=1e-8)
    assert 0.0 < model.threshold_ < 0.5 and model.running_score_ == pytest.approx(model.score(X, Y), abs=0.08)
    assert model.result_.n_samples == 3000 and model.result_.positive_share == pytest.approx(Y.mean(), abs=0.01)


def test_a_learner_that_is_too_certain_is_calibrated():
    """Ten copies of every feature: naive Bayes takes them as ten times the evidence."""
    copies = np.tile(X, 10)
    scores = {}
    for calibrate in (False, True):
        model = mw.OnlineMetricClassifier(GaussianNB(), calibrate=calibrate)
        learn_in_parts(model, copies, Y, 100, [0, 1])
        scores[calibrate] = model.running_score_
        chance = model.predict_proba(copies)[:, 1]
        assert (abs(chance.mean() - Y.mean()) < 0.02) == calibrate
    assert scores[True] > scores[False]


def test_the_running_score_is_that_of_predictions_made_before_learning():
    seen = []
    model = mw.OnlineMetricClassifier(GaussianNB(), batch_size=50, listener=lambda *pair: seen.append(pair))
    learn_in_parts(model, X, Y, 130, [0, 1])
    truth, predicted = (np.concatenate(part) for part in zip(*seen, strict=True))
    np.testing.assert_array_equal(truth, Y[50:])  # nothing is known to predict the first batch by
    assert model.running_score_ == f1_score(truth, predicted)
    assert model.confusion_.sum() == truth.size and model.confusion_[1, 1] == (truth & predicted).sum()
    low, high = model.running_score_interval_
    assert low < model.running_score_ < high


def test_batches_of_one_do_not_depend_on_the_division_among_calls():
    models = [
        learn_in_parts(
            mw.OnlineMetricClassifier(SGDClassifier(loss="log_loss"), batch_size=1), X[:300], Y[:300], size, [0, 1]
        )
        for size in (1, 37, 300)
    ]
    for other in models[1:]:
        np.testing.assert_array_equal(other.confusion_, models[0].confusion_)
        np.testing.assert_array_equal(other.decision_function(X), models[0].decision_function(X))


@pytest.mark.parametrize(
    "learner", [None, GaussianNB(), MLPClassifier((), learning_rate_init=0.02, random_state=0)], ids=str
)
def test_several_classes(learner):
    model = mw.OnlineMetricClassifier(learner, "f1_macro", batch_size=30)
    learn_in_parts(model, THREE_X, THREE_Y, 300, [0, 1, 2])
    chances = model.predict_proba(THREE_X)
    assert model.decision_function(THREE_X).shape == chances.shape == (3000, 3)
    assert model.score(THREE_X, THREE_Y) > f1_score(THREE_Y, chances.argmax(axis=1), average="macro") + 0.02
    assert model.confusion_.shape == (3, 3) and model.running_score_interval_[0] < model.running_score_
    with pytest.raises(AttributeError, match="no thresholds"):
        model.threshold_  # noqa: B018


def test_a_measure_of_the_whole_confusion_matrix():
    kappa = mw.CohenKappa("quadratic")
    model = learn_in_parts(mw.OnlineMetricClassifier(GaussianNB(), kappa), THREE_X, THREE_Y, 300, [0, 1, 2])
    assert (
        model.score(THREE_X, THREE_Y)
        > kappa.multiclass_score(THREE_Y, model.predict_proba(THREE_X).argmax(axis=1)) - 0.01
    )
    assert model.running_score_ == pytest.approx(float(kappa.of_confusion(model.confusion_)))


def test_a_cost_matrix_decides_for_the_least_expected_cost():
    costs = mw.CostMatrix([[0, 1, 1], [5, 0, 5], [9, 9, 0]])
    model = mw.OnlineMetricClassifier(GaussianNB(), costs, calibrate=False).fit(THREE_X, THREE_Y)
    expected = np.argmin(model.estimator_.predict_proba(THREE_X) @ np.array(costs.costs), axis=1)
    np.testing.assert_array_equal(model.predict(THREE_X), expected)
    assert model.score(THREE_X, THREE_Y) == costs.score(THREE_Y, expected)
    rates = np.array(costs.costs) * model.confusion_
    assert model.running_score_ == pytest.approx(rates.sum())


@pytest.mark.parametrize("measure", ["f1_macro", "f1_micro"])
def test_several_labels(measure):
    model = learn_in_parts(mw.OnlineMetricClassifier(GaussianNB(), measure), THREE_X, LABELS, 500)
    predicted = model.predict(THREE_X)
    assert predicted.shape == LABELS.shape and len(model.estimator_) == 3
    average = measure.removeprefix("f1_")
    assert model.score(THREE_X, LABELS) == f1_score(LABELS, predicted, average=average)
    at_half = model.predict_proba(THREE_X) > 0.5
    assert model.score(THREE_X, LABELS) > f1_score(LABELS, at_half, average=average) - 0.02
    assert (np.ptp(model.threshold_) < 1e-9) == (average == "micro")
    sparse_labels = mw.OnlineMetricClassifier(GaussianNB(), measure).fit(THREE_X, sparse.csr_matrix(LABELS))
    assert sparse.issparse(sparse_labels.predict(THREE_X))
    with pytest.raises(ValueError, match="the samples before had 3 columns of labels"):
        model.partial_fit(THREE_X, LABELS[:, :2])


def test_a_sequence_is_predicted_without_labels_and_leaves_the_model_as_it_is():
    """Positives that are expected keep the running F1 in balance: labels are nearly those of known truth."""
    model = mw.OnlineMetricClassifier(GaussianNB()).fit(X[:2000], Y[:2000])
    before = model.confusion_.copy()
    sequence = model.predict_sequence(X[2000:])
    np.testing.assert_array_equal(model.confusion_, before)
    assert np.mean(sequence != model.predict(X[2000:])) < 0.05
    np.testing.assert_array_equal(model.predict_sequence(X[2000:]), sequence)
    classes = mw.OnlineMetricClassifier(GaussianNB(), "f1_macro").fit(THREE_X, THREE_Y)
    assert set(classes.predict_sequence(THREE_X)) <= {0, 1, 2}


def test_a_monitor_can_listen():
    monitor = mw.GuaranteeMonitor("recall>=0.99")
    learn_in_parts(mw.OnlineMetricClassifier(GaussianNB(), listener=monitor.update), X, Y, 500, [0, 1])
    assert monitor.n_seen == 2984 and monitor.alarm  # all but the first 16, and recall is lower


def test_words_as_classes_and_a_positive_class_that_comes_first():
    words = np.array(["no", "yes"])[1 - Y]
    model = mw.OnlineMetricClassifier(GaussianNB(), pos_label="no").fit(X, words)
    numbers = mw.OnlineMetricClassifier(GaussianNB()).fit(X, Y)
    np.testing.assert_array_equal(model.predict(X) == "no", numbers.predict(X) == 1)
    np.testing.assert_allclose(model.predict_proba(X)[:, 0], numbers.predict_proba(X)[:, 1])
    assert model.score(X, words) == numbers.score(X, Y)
    np.testing.assert_array_equal(model.predict(X) == "yes", model.decision_function(X) >= 0.0)
    with pytest.raises(ValueError, match="f1 depends on which class is positive"):
        mw.OnlineMetricClassifier().fit(X, words)


def test_files_are_read_in_chunks(tmp_path):
    table = "\n".join(",".join(map(str, [*row, label])) for row, label in zip(X[:500].round(3), Y[:500], strict=True))
    (tmp_path / "stream.csv").write_text(",".join([*"abcdefgh", "label"]) + "\n" + table + "\n")
    model = mw.OnlineMetricClassifier(GaussianNB()).fit_stream(tmp_path / "stream.csv", chunk_rows=200)
    chunks = ((X[:500].round(3)[start : start + 200], Y[start : min(start + 200, 500)]) for start in (0, 200, 400))
    same = mw.OnlineMetricClassifier(GaussianNB()).fit_stream(chunks)
    assert list(model.feature_names_in_) == list("abcdefgh") and model.result_.n_samples == 500
    np.testing.assert_array_equal(model.confusion_, same.confusion_)
    stopped = mw.OnlineMetricClassifier(GaussianNB(), callback=lambda entry: entry.n_samples > 100)
    assert stopped.fit(X, Y).result_.status is mw.Status.STOPPED


def test_sample_weights_count():
    weights = np.where(Y == 1, 3.0, 1.0)
    model = mw.OnlineMetricClassifier(GaussianNB(), batch_size=100)
    model.partial_fit(X, Y, [0, 1], sample_weight=weights)
    assert model.confusion_.sum() == pytest.approx(weights[100:].sum())
    half = np.arange(3000) % 2
    given = mw.OnlineMetricClassifier(MLPClassifier((4,), random_state=0)).fit(X, Y, sample_weight=half.astype(float))
    left_out = mw.OnlineMetricClassifier(MLPClassifier((4,), random_state=0))
    assert given.result_.n_samples == left_out.fit(X[half == 1], Y[half == 1]).result_.n_samples == 1500


def test_weights_that_lose_samples_by_rounding_are_refused_before_they_add_up():
    model = mw.OnlineMetricClassifier(GaussianNB()).partial_fit(X, Y, [0, 1], np.full(len(Y), 2e10))
    before = model.confusion_.copy()
    with pytest.raises(ValueError, match=r"sample_weight adds up to 6e\+13 after .* in the stream so far"):
        model.partial_fit(X, Y, sample_weight=np.full(len(Y), 2e10))
    np.testing.assert_array_equal(model.confusion_, before)


def test_a_stream_ends_where_its_samples_cannot_be_counted():
    model = mw.OnlineMetricClassifier(GaussianNB()).partial_fit(X, Y, [0, 1])
    running = replace(model._model.decision.running, position=MOST_SAMPLES - 10, renewal=MOST_SAMPLES)
    model._model = replace(model._model, decision=replace(model._model.decision, running=running))
    model.partial_fit(X[:10], Y[:10])
    with pytest.raises(ValueError, match="1 more samples after 100000000000000 exceed"):
        model.partial_fit(X[:1], Y[:1])


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_calibration_of_counts_that_overflow_is_refused():
    calibration = RunningCalibration.start(1)
    calibration.counts[:] = 1e300
    with pytest.raises(ValueError, match="too large for finite lines"):
        calibration.renew(1.0)


def test_a_calibration_of_the_largest_counts_tells_samples_apart():
    calibration = RunningCalibration.start(1)
    calibration.counts[:, 40] = calibration.positives[:, 40] = LARGEST_SUM
    for _ in range(50):
        calibration = calibration.renew(1.0)
        calibration = replace(calibration, counts=calibration.counts / 0.8, positives=calibration.positives / 0.8)
    assert np.all(np.diff(calibration(np.linspace(-9.0, -8.0, 5)[:, None]), axis=0) > 0.0)


def test_a_stream_may_begin_with_samples_without_weight():
    class Unweighted(GaussianNB):
        def fit(self, X, y):
            return super().fit(X, y)

        def partial_fit(self, X, y, classes=None):
            return super().partial_fit(X, y, classes)

    weights = (np.arange(500) >= 40).astype(float)
    model = mw.OnlineMetricClassifier(Unweighted()).partial_fit(X[:500], Y[:500], [0, 1], weights)
    other = mw.OnlineMetricClassifier(Unweighted()).partial_fit(X[32:500], Y[32:500], [0, 1], weights[32:])
    np.testing.assert_array_equal(model.decision_function(X), other.decision_function(X))


@pytest.mark.parametrize("samples", [X, sparse.csr_matrix(X)], ids=["dense", "sparse"])
@pytest.mark.parametrize("y", [Y, THREE_Y], ids=["two classes", "three classes"])
def test_the_fast_probabilities_of_logistic_learners_are_their_own(samples, y):
    learner = SGDClassifier(loss="log_loss", random_state=0).fit(samples, y)
    task = task_of_classes(np.unique(y), mw.get_measure("f1_macro"), None, np.bincount(y))
    expected = learner.predict_proba(samples)[:, -1 if y is Y else slice(None)].reshape(len(y), -1)
    np.testing.assert_allclose(predict_chances([learner], task, samples), expected, rtol=1e-12, atol=1e-15)


def test_probabilities_that_all_round_to_zero_are_equal():
    """As early in a stream of features with rare large values; earlier versions of scikit-learn divide 0 by 0."""
    learner = SGDClassifier(loss="log_loss", random_state=0).fit(THREE_X, THREE_Y)
    learner.intercept_ -= 1e6
    task = task_of_classes(np.arange(3), mw.get_measure("f1_macro"), None, np.bincount(THREE_Y))
    assert (predict_chances([learner], task, THREE_X) == 1.0 / 3.0).all()


def test_a_learner_without_finite_probabilities_is_an_error():
    """The variances of a single sample are zero, so that naive Bayes divides by zero."""
    with (
        np.errstate(all="ignore"),
        pytest.raises(ValueError, match=r"GaussianNB.predict_proba gives \[nan, nan\] for sample 0 of X: scale"),
    ):
        mw.OnlineMetricClassifier(GaussianNB(), batch_size=1).partial_fit(X, Y, classes=[0, 1])


@pytest.mark.parametrize(
    ("plain", "other"),
    [(np.asarray, np.asfortranarray), (sparse.csr_matrix, sparse.csc_matrix), (sparse.csr_array, sparse.csc_array)],
)
def test_the_fast_path_of_plain_samples_learns_the_same(plain, other, monkeypatch):
    labels = Y.astype(object).tolist()
    slow = learn_in_parts(mw.OnlineMetricClassifier(), other(X), labels, 200, [0, 1])
    fast = mw.OnlineMetricClassifier().partial_fit(plain(X)[:200], Y[:200], classes=[0, 1])
    with monkeypatch.context() as patch:
        patch.setattr(online, "validate_samples", None)  # further calls do without
        learn_in_parts(fast, plain(X)[200:], Y[200:], 200)
    np.testing.assert_array_equal(fast.decision_function(X), slow.decision_function(X))
    for wrong, message in (
        (np.full((1, 8), np.nan), "NaN"),
        (np.full((1, 8), 1e39), "1e\\+39"),
        (X[:1, :7], "7 features"),
    ):
        with pytest.raises(ValueError, match=message):
            fast.partial_fit(plain(wrong), np.array([1]))


def test_saved_models_go_on_learning(tmp_path):
    model = learn_in_parts(mw.OnlineMetricClassifier(half_life=400), X[:1500], Y[:1500], 100, [0, 1])
    mw.save(model, tmp_path / "model.mw")
    loaded = mw.load(tmp_path / "model.mw")
    for one in (model, loaded):
        learn_in_parts(one, X[1500:], Y[1500:], 100)
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))
    assert loaded.running_score_ == model.running_score_


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize(("first", "later"), [(np.float64, np.float32), (np.float32, np.float64)])
def test_samples_of_both_precisions_are_learnt(tmp_path, first, later, storage):
    model = mw.OnlineMetricClassifier().partial_fit(storage(X[:900].astype(first)), Y[:900], [0, 1])
    mw.save(model, tmp_path / "model.mw")
    alike, loaded = deepcopy(model), mw.load(tmp_path / "model.mw")
    for one in (model, loaded):
        one.partial_fit(storage(X[900:].astype(later)), Y[900:])
        assert one.estimator_.coef_.dtype == first
    alike.partial_fit(storage(X[900:].astype(np.float32).astype(first)), Y[900:])
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(model.estimator_.coef_, alike.estimator_.coef_)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"half_life": 10, "window": 10}, "leave one of them out"),
        ({"measure": "roc_auc"}, "lacks what OnlineMetricClassifier needs"),
        ({"measure": "recall"}, "recall"),
        ({"measure": "f1_samples"}, "averages over samples"),
        ({"estimator": SGDClassifier()}, "has no predict_proba with these settings"),
        ({"estimator": LogisticRegression()}, "partial_fit"),
    ],
)
def test_refusals(settings, message):
    model = mw.OnlineMetricClassifier(**settings)
    with pytest.raises((TypeError, ValueError), match=message):
        model.fit(X, Y)
    with pytest.raises((TypeError, ValueError), match=message):
        clone(model).partial_fit(X, Y, [0, 1])


@pytest.mark.parametrize(("learner", "weights"), [(GaussianNB(), "theta_"), (SGDClassifier(loss="log_loss"), "coef_")])
def test_probabilities_that_are_nan_are_refused_and_leave_the_model_as_it_is(learner, weights):
    model = mw.OnlineMetricClassifier(learner).fit(X, Y)
    before = model.running_score_
    getattr(model._model.estimators[0], weights)[:] = np.nan
    for call in (lambda: model.predict(X), lambda: model.partial_fit(X, Y)):
        with pytest.raises(ValueError, match=r"predict_proba gives \[nan, nan\] for sample 0 of X"):
            call()
    assert model.running_score_ == before


def test_unknown_labels_are_refused_and_leave_the_model_as_it_is():
    model = mw.OnlineMetricClassifier(GaussianNB()).partial_fit(X, Y, [0, 1])
    before = model.confusion_.copy()
    with pytest.raises(ValueError, match=r"y\[1\] is 7, a label not among classes=\[0, 1\]"):
        model.partial_fit(X[:2], np.array([0, 7]))
    np.testing.assert_array_equal(model.confusion_, before)
