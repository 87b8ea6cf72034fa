"""Models adapted to other class priors."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.special import expit, logit
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, log_loss
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

import metricwise
from metricwise import (
    CostSensitiveClassifier,
    MetricClassifier,
    PlugInClassifier,
    UndeterminedPriorError,
    adapt_prior,
)
from metricwise.decisions.adaptation import estimate_prior
from metricwise.decisions.adaptation_data import AdaptationData
from metricwise.decisions.tasks import Binary
from metricwise.measures import FBeta
from metricwise.reporting.overview import training

CENTRES = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 2.0]])
OLD, NEW = 0.1, 0.4


def draw(n_samples, shares, seed):
    """Draw Gaussian classes of unit variance, whose log-odds are linear."""
    random = np.random.default_rng(seed)
    codes = random.choice(len(shares), n_samples, p=shares)
    return CENTRES[codes] + random.normal(size=(n_samples, 2)), codes


def true_log_odds(X, prior):
    return 2.0 * X[:, 0] - 2.0 + logit(prior)


TRAIN, UNLABELLED, TEST = (
    draw(n_samples, [1.0 - prior, prior], seed)
    for n_samples, prior, seed in ((1000, OLD, 0), (700, NEW, 1), (3000, NEW, 2))
)
MODELS = {
    "logistic": PlugInClassifier(LogisticRegression()),
    "bayes": PlugInClassifier(GaussianNB(), calibrate=True),
    "svm": PlugInClassifier(LinearSVC()),
    "weighted": CostSensitiveClassifier(LogisticRegression(C=0.01), "g_mean"),
    "selection": MetricClassifier(candidates={"line": LogisticRegression()}),
}


@pytest.fixture(scope="module")
def models():
    return {name: model.fit(*TRAIN) for name, model in MODELS.items()}


@pytest.fixture(scope="module")
def adapted(models):
    return {name: adapt_prior(model, UNLABELLED[0]) for name, model in models.items()}


@pytest.mark.parametrize("name", MODELS)
def test_probabilities_are_those_of_the_new_prior(models, adapted, name):
    X, y = TEST
    model = adapted[name]
    low, high = model.prior_.interval
    assert low < NEW < high and high - low < 0.15 and model.prior_.training == pytest.approx(OLD, abs=0.02)
    chances = model.predict_proba(X)[:, 1]
    assert np.abs(chances - expit(true_log_odds(X, NEW))).mean() < 0.04
    assert log_loss(y, chances) < log_loss(y, expit(true_log_odds(X, NEW))) + 0.01
    assert model.calibrated_
    np.testing.assert_array_equal(model.predict(X), chances > model.threshold_)
    with pytest.raises(AttributeError, match="adapt_prior returns models"):
        _ = models[name].prior_


@pytest.mark.parametrize("name", ["logistic", "svm", "selection"])
def test_the_threshold_follows(models, adapted, name):
    X, y = TEST
    before, after = (f1_score(y, one[name].predict(X)) for one in (models, adapted))
    best = max(f1_score(y, X[:, 0] > threshold) for threshold in np.linspace(0.0, 2.0, 21))
    assert after > best - 0.01 and after > before + 0.03
    low, high = adapted[name].expected_score_interval_
    assert low < after < high and high - low < 0.2
    assert adapted[name].score_interval()[0] > low


def test_a_given_prior_is_exact(models):
    model = adapt_prior(models["logistic"], prior=NEW)
    assert model.prior_.estimate == NEW and model.prior_.interval == (NEW, NEW) and model.prior_.n_samples is None
    before = adapt_prior(models["logistic"], prior=models["logistic"]._decision.adaptation.prior)
    X = TEST[0]
    shift = logit(NEW) - logit(before.prior_.estimate)
    np.testing.assert_allclose(
        logit(model.predict_proba(X)[:, 1]), logit(before.predict_proba(X)[:, 1]) + shift, atol=1e-8
    )


def test_samples_of_the_training_prior_change_little(models):
    X, _ = draw(1500, [1.0 - OLD, OLD], 5)
    model = adapt_prior(models["logistic"], X)
    assert model.prior_.interval[0] < OLD < model.prior_.interval[1]
    assert np.mean(model.predict(X) != models["logistic"].predict(X)) < 0.02
    low, high = model.expected_score_interval_
    assert low < models["logistic"].expected_score_ < high


def test_the_given_model_stays_and_adaptation_starts_from_training(models, adapted):
    model = models["logistic"]
    threshold, chances = model.threshold_, model.predict_proba(TEST[0])
    again = adapt_prior(adapt_prior(model, prior=0.9), UNLABELLED[0])
    assert model.threshold_ == threshold
    np.testing.assert_array_equal(model.predict_proba(TEST[0]), chances)
    np.testing.assert_array_equal(again.decision_function(TEST[0]), adapted["logistic"].decision_function(TEST[0]))


def test_several_classes():
    X, y = draw(400, [0.7, 0.2, 0.1], 0)
    X_new, y_new = draw(600, [0.2, 0.3, 0.5], 1)
    model = PlugInClassifier(LogisticRegression()).fit(X, np.array(["a", "b", "c"])[y])
    adapted = adapt_prior(model, X_new)
    low, high = adapted.prior_.interval
    assert np.all(low <= [0.2, 0.3, 0.5]) and np.all(high >= [0.2, 0.3, 0.5]) and np.max(high - low) < 0.25
    labels = np.array(["a", "b", "c"])[y_new]
    assert adapted.score(X_new, labels) > model.score(X_new, labels) + 0.03
    scores = X_new @ CENTRES.T - 0.5 * np.sum(CENTRES**2, axis=1) + np.log([0.2, 0.3, 0.5])
    truth = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    assert np.abs(adapted.predict_proba(X_new) - truth).mean() < 0.03
    by_name = adapt_prior(model, prior={"c": 0.5, "a": 0.2, "b": 0.3})
    np.testing.assert_array_equal(by_name.prior_.estimate, [0.2, 0.3, 0.5])


def test_the_positive_class_may_be_the_first():
    names = np.array(["sick", "well"])
    model = PlugInClassifier(LogisticRegression(), pos_label="sick").fit(TRAIN[0][:400], names[1 - TRAIN[1][:400]])
    adapted = [adapt_prior(model, prior=given) for given in (NEW, [NEW, 1.0 - NEW], {"well": 1.0 - NEW, "sick": NEW})]
    assert [one.prior_.estimate for one in adapted] == [NEW] * 3
    assert adapted[0].predict_proba(TEST[0])[:, 0].mean() == pytest.approx(NEW, abs=0.03)


@pytest.mark.parametrize("strategy", ["max", "expected", "batch"])
def test_strategies_and_constraints_stay(strategy):
    model = PlugInClassifier(LogisticRegression(), threshold=strategy).fit(*TRAIN)
    assert adapt_prior(model, prior=NEW).score(*TEST) > model.score(*TEST) + 0.02
    if strategy == "max":
        careful = PlugInClassifier(LogisticRegression(), subject_to="precision>=0.8", confidence=None).fit(*TRAIN)
        predicted = adapt_prior(careful, prior=NEW).predict(TEST[0]) == 1
        assert 0.75 < TEST[1][predicted].mean() < 0.85


def test_an_assigned_threshold_stays_the_same_probability(models):
    model = adapt_prior(models["logistic"], prior=OLD)
    model.threshold_ = 0.3
    adapted = adapt_prior(model, prior=NEW)
    assert adapted.threshold_ == pytest.approx(0.3) and np.isnan(adapted.expected_score_)
    np.testing.assert_array_equal(adapted.predict(TEST[0]), adapted.predict_proba(TEST[0])[:, 1] > adapted.threshold_)


def test_intervals_contain_the_prior_nine_times_in_ten():
    task = Binary(np.array([0, 1]), FBeta(), 1)
    inside, random = 0, np.random.default_rng(0)
    for _ in range(40):
        codes = (random.random(300) < 0.2).astype(int)
        data = AdaptationData.of(codes, 2.0 * codes + random.normal(size=300), np.ones(300))
        low, high = estimate_prior(task, data, 2.0 * (random.random(200) < 0.35) + random.normal(size=200)).interval
        inside += low <= 0.35 <= high
    assert inside >= 31  # 36 are expected; fewer have a probability of 1 %


# ----------------------------------------------------------------------------------------------------------- refusals


def test_other_changes_than_those_of_the_prior_are_reported(models):
    with pytest.warns(UserWarning, match="more has changed than the class priors"):
        adapt_prior(models["logistic"], UNLABELLED[0] * 2.5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        adapt_prior(models["logistic"], UNLABELLED[0])


def test_too_few_or_uninformative_samples_are_refused(models):
    with pytest.raises(
        UndeterminedPriorError, match=r"does not determine the share of class 1.*given 3 samples.*ROC area of 0.9"
    ):
        adapt_prior(models["logistic"], UNLABELLED[0][:3])
    blind = PlugInClassifier(DummyClassifier(strategy="prior")).fit(*TRAIN)
    with pytest.raises(UndeterminedPriorError, match=r"ROC area of 0.50.*adapt_prior\(model, prior=\.\.\.\)"):
        adapt_prior(blind, UNLABELLED[0][:40])


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({}, "got neither"),
        ({"X_new": TEST[0], "prior": 0.2}, "got both"),
        ({"X_new": TEST[0][:0]}, "no samples"),
        ({"prior": 0.0}, "between 0 and 1"),
        ({"prior": 30}, "write 10 percent as 0.1"),
        ({"prior": float("nan")}, "between 0 and 1"),
        ({"prior": "many"}, "must be a number"),
        ({"prior": [0.2, 0.3]}, "sum to 1"),
        ({"prior": [0.2, 0.3, 0.5]}, r"for each of the classes \[0, 1\]"),
        ({"prior": {1: 0.3}}, r"lacks \[0\]"),
        ({"prior": {0: 0.5, 1: 0.3, 2: 0.2}}, r"has \[2\]"),
    ],
)
def test_bad_input(models, given, problem):
    with pytest.raises(ValueError, match=problem):
        adapt_prior(models["logistic"], **given)


def test_models_that_cannot_be_adapted(models):
    X, y = TRAIN
    for other in (LogisticRegression().fit(X, y), make_pipeline(models["logistic"])):
        with pytest.raises(TypeError, match="wrap its learner"):
            adapt_prior(other, prior=0.2)
    labels = PlugInClassifier(LogisticRegression(), "f1_macro").fit(X, np.column_stack([y, X[:, 1] > 0]).astype(int))
    with pytest.raises(ValueError, match="one model per label"):
        adapt_prior(labels, prior=0.2)
    guaranteed = PlugInClassifier(LogisticRegression(), subject_to="recall>=0.5").fit(X, y)
    with pytest.raises(ValueError, match="confidence=None"):
        adapt_prior(guaranteed, prior=0.2)
    svm = PlugInClassifier(LinearSVC()).fit(X, y)
    svm.threshold_ = 0.1
    with pytest.raises(ValueError, match="assign the threshold afterwards"):
        adapt_prior(svm, prior=0.2)


# --------------------------------------------------------------------------------------------------------- model files


@pytest.mark.parametrize("name", MODELS)
def test_adapted_models_are_saved(adapted, name, tmp_path):
    path = tmp_path / "adapted.mw"
    metricwise.save(adapted[name], path)
    loaded = metricwise.load(path)
    X = TEST[0][:200]
    np.testing.assert_array_equal(loaded.predict_proba(X), adapted[name].predict_proba(X))
    np.testing.assert_array_equal(loaded.predict(X), adapted[name].predict(X))
    assert loaded.prior_ == adapted[name].prior_ and loaded.threshold_ == adapted[name].threshold_
    assert loaded._decision.adaptation.codes.size == adapted[name]._decision.adaptation.codes.size


def test_reports_mention_the_prior(adapted):
    model = adapted["logistic"]
    for one, is_shown in (
        (model, True),
        (PlugInClassifier(LogisticRegression()).fit(TRAIN[0][:200], TRAIN[1][:200]), False),
    ):
        page = str(training(one, one.measure_, True))
        assert (f"It was adapted to the prior {model.prior_}." in page) == is_shown
        assert ("Out of fold, weighted for this prior, its F1 was" in page) == is_shown
    model = adapt_prior(model, prior=OLD)
    model.threshold_ = 0.3
    assert "Out of fold" not in str(training(adapt_prior(model, prior=NEW), model.measure_, True))


def test_a_loaded_model_can_be_adapted(models, tmp_path):
    model = models["weighted"]
    metricwise.save(model, tmp_path / "model.mw")
    again = adapt_prior(metricwise.load(tmp_path / "model.mw"), prior=0.2)
    assert again.threshold_ == adapt_prior(model, prior=0.2).threshold_


@pytest.mark.parametrize("kind", [PlugInClassifier(LogisticRegression()), MODELS["selection"]])
def test_groups_of_training_widen_the_interval_of_an_adapted_model(kind, tmp_path):
    """Copies are worth as much as one of them: 150 samples six times tell no more than 150 samples."""
    X, y = (np.repeat(part, 6, axis=0) for part in draw(150, [0.7, 0.3], 5))
    X = X + 1e-6 * np.random.default_rng(0).normal(size=X.shape)
    grouped = clone(kind).fit(X, y, groups=np.repeat(np.arange(150), 6))
    again = adapt_prior(adapt_prior(grouped, prior=0.6), prior=0.4)
    metricwise.save(grouped, tmp_path / "model.mw")
    widths = [
        float(np.diff(one.expected_score_interval_)[0])
        for one in (
            adapt_prior(clone(kind).fit(X, y), prior=0.4),
            adapt_prior(grouped, prior=0.4),
            adapt_prior(metricwise.load(tmp_path / "model.mw"), prior=0.4),
            again,
        )
    ]
    assert widths[1] > 1.7 * widths[0]
    assert widths[1:] == pytest.approx([widths[1]] * 3)
