"""Rules for measures of the confusion matrix: against linear programs, brute force and known probabilities."""

from __future__ import annotations

import itertools
import warnings
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import linprog, minimize
from scipy.special import softmax
from sklearn.datasets import make_classification
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

import metricwise as mw
from metricwise import Accuracy, BalancedAccuracy, CohenKappa, GMean, HMean, MinRate, PlugInClassifier, QMean
from metricwise.decisions.class_constraints import ClassConstraints
from metricwise.decisions.confusion_choice import find_gains
from metricwise.decisions.constrained_frank_wolfe import linear_constraints, maximise_constrained
from metricwise.decisions.decision import ScoredSamples
from metricwise.decisions.frank_wolfe import maximise_measure, maximise_ratio
from metricwise.decisions.gain_rules import GainDecision, KnownSamples, draw_rules
from metricwise.decisions.guarantees import Constraint, UnreachableGuaranteeError
from metricwise.estimators.selection.candidates.candidate import Problem
from metricwise.estimators.selection.candidates.portfolio import make_portfolio
from metricwise.estimators.selection.profile import Profile
from metricwise.persistence.exports.linear import margin_at_zero


def _known(seed, n_samples=30, n_classes=3):
    chances = np.random.default_rng(seed).dirichlet(np.linspace(3.0, 0.7, n_classes), n_samples)
    return KnownSamples.of(chances, chances, np.ones(n_samples))


def _program(samples, value, constraints):
    """Return the greatest linear value of randomised labels, plus a variable t, under linear constraints on C and t."""
    n, k = samples.chances.shape

    def flat(matrix, of_t=0.0):  # <matrix, C> as a function of the probabilities of the labels of each sample
        return np.append((samples.truth @ matrix).ravel(), of_t)

    totals = np.hstack([np.kron(np.eye(n), np.ones(k)), np.zeros((n, 1))])
    above = np.array([-flat(*one) for one in constraints])
    bounds = [(0, 1)] * (n * k) + [(None, None)]
    found = linprog(-flat(*value), above, np.zeros(len(above)), totals, np.ones(n), bounds=bounds)
    assert found.status == 0
    return -found.fun


def _recall(samples, k):
    matrix = np.zeros((samples.shares.size,) * 2)
    matrix[k, k] = 1.0 / samples.shares[k]
    return matrix


@pytest.mark.parametrize("seed", range(3))
def test_the_least_recall_equals_that_of_a_linear_program(seed):
    samples = _known(seed, n_classes=3 + seed)
    found = maximise_measure(MinRate(), samples, max_iter=300, tol=1e-5)
    none = np.zeros((3 + seed, 3 + seed))
    expected = _program(samples, (none, 1.0), [(_recall(samples, k), -1.0) for k in range(3 + seed)])
    assert MinRate().of_confusion(found.matrix) == pytest.approx(expected, abs=1e-3)
    assert found.shares.sum() == pytest.approx(1.0) and np.all(found.shares > 0.0)


@pytest.mark.parametrize("measure", [GMean(), HMean(), QMean()])
@pytest.mark.parametrize("seed", range(2))
def test_concave_measures_equal_those_of_a_general_solver(measure, seed):
    samples = _known(seed, n_samples=8)
    found = maximise_measure(measure, samples, max_iter=300, tol=1e-6)

    def loss(labels):
        return -float(measure.of_confusion(samples.truth.T @ labels.reshape(8, 3)))

    totals = {"type": "eq", "fun": lambda labels: labels.reshape(8, 3).sum(axis=1) - 1.0}
    starts = np.random.default_rng(0).dirichlet(np.ones(3), (4, 8)).reshape(4, 24)
    solve = {"method": "SLSQP", "bounds": [(0, 1)] * 24, "constraints": totals, "options": {"maxiter": 300}}
    expected = -min(minimize(loss, start, **solve).fun for start in starts)
    value = float(measure.of_confusion(found.matrix))
    assert value == pytest.approx(expected, abs=1e-5)
    assert found.gap <= 1e-6  # no mixture is better by more


@pytest.mark.parametrize("measure", [Accuracy(), BalancedAccuracy(), CohenKappa(), CohenKappa("quadratic")])
def test_bisection_finds_the_best_of_all_labellings(measure):
    samples = _known(4, n_samples=7)
    labellings = itertools.product(range(3), repeat=7)
    best = max(float(measure.of_confusion(samples.count(np.array(one)))) for one in labellings)
    assert measure.of_confusion(maximise_ratio(measure, samples).matrix) == pytest.approx(best)


@pytest.mark.parametrize(
    ("measure", "wanted"),
    [
        (Accuracy(), ["recall>=0.6 of c"]),
        (Accuracy(), ["recall>=0.5 of b", "positive_rate<=0.35 of c", "precision>=0.3 of b"]),
        (MinRate(), ["accuracy>=0.55"]),
    ],
)
def test_constrained_mixtures_equal_those_of_a_linear_program(measure, wanted):
    samples = _known(0, n_samples=25)
    constraints = ClassConstraints.locate([Constraint.of(one) for one in wanted], ["a", "b", "c"])
    linear = linear_constraints(constraints, samples.shares)
    found = maximise_constrained(measure, linear, samples)
    kept = [(matrix, 0.0) for matrix in linear.matrices]
    value = (np.eye(3), 0.0)
    if isinstance(measure, MinRate):
        kept += [(_recall(samples, k), -1.0) for k in range(3)]
        value = (np.zeros((3, 3)), 1.0)
    assert found.is_kept and linear.slacks(found.mixture.matrix).min() >= -1e-3
    assert measure.of_confusion(found.mixture.matrix) == pytest.approx(_program(samples, value, kept), abs=4e-3)


@pytest.mark.parametrize("name", ["recall", "precision", "specificity", "npv", "positive_rate", "false_positive_rate"])
@pytest.mark.parametrize("sign", [">=", "<="])
def test_linear_constraints_have_the_sign_of_the_share(name, sign):
    constraint = Constraint.of((name, sign, 0.4, "of", "b"))
    random = np.random.default_rng(1)
    for _ in range(20):
        matrix = random.dirichlet(np.ones(9)).reshape(3, 3)
        linear = linear_constraints(ClassConstraints.locate([constraint], ["a", "b", "c"]), matrix.sum(axis=1))
        tp, fp, fn = matrix[1, 1], matrix[:, 1].sum() - matrix[1, 1], matrix[1].sum() - matrix[1, 1]
        share = float(constraint.share.value(tp, fp, fn, 1.0 - tp - fp - fn))
        holds = share >= 0.4 if sign == ">=" else share <= 0.4
        assert (linear.slacks(matrix)[0] >= 0.0) == holds


# ---------------------------------------------------------------------------------------------------------- estimators


def _make_blobs(n_samples, seed):
    """Return samples of three normal distributions, classes, and the known probabilities."""
    random = np.random.default_rng(seed)
    shares, centres = np.array([0.7, 0.2, 0.1]), np.array([[0.0, 0.0], [1.5, 0.0], [0.8, 1.3]])
    y = random.choice(3, n_samples, p=shares)
    X = random.normal(size=(n_samples, 2)) + centres[y]
    return X, y, softmax(np.log(shares) - 0.5 * ((X[:, None] - centres) ** 2).sum(axis=2), axis=1)


@pytest.mark.parametrize("measure", ["g_mean", "h_mean", "f1_macro", "cohen_kappa:quadratic"])
def test_the_regret_falls_with_the_number_of_samples(measure):
    X, y, chances = _make_blobs(20_000, 99)
    samples = ScoredSamples(y, np.log(chances), np.ones(len(y)))
    rule = mw.get_measure(measure)
    known = KnownSamples.of(chances, np.eye(3)[y], np.ones(len(y)))
    best = rule.of_confusion(known.respond(find_gains(rule, None, samples).gains[0]).matrix)

    def regret(n_samples):
        fits = [PlugInClassifier(LogisticRegression(), measure, threshold="gains", cv=3) for _ in range(3)]
        scores = [model.fit(*_make_blobs(n_samples, seed)[:2]).score(X, y) for seed, model in enumerate(fits)]
        return best - np.mean(scores)

    assert regret(4000) < max(0.008, 0.5 * regret(150))


X, Y = make_classification(
    1200, n_features=8, n_informative=5, n_classes=4, weights=[0.6, 0.2, 0.1], class_sep=0.9, random_state=0
)


def test_gains_decide_with_and_without_probabilities_and_are_saved(tmp_path):
    for learner in (LogisticRegression(), RidgeClassifier()):
        model = PlugInClassifier(learner, "g_mean", threshold="gains", cv=3).fit(X[:800], Y[:800])
        assert isinstance(model._decision, GainDecision) and model.score(X[800:], Y[800:]) > 0.4
        low, high = model.expected_score_interval_
        assert low < model.expected_score_ < high and np.array_equal(model.threshold_, np.zeros(4))
        mw.save(model, tmp_path / "model.mw")
        loaded = mw.load(tmp_path / "model.mw")
        assert np.array_equal(loaded.decision_function(X), model.decision_function(X))
        assert np.array_equal(model.classes_[np.argmax(model.decision_function(X), axis=1)], model.predict(X))
        with pytest.raises(ValueError, match="decides by a matrix of gains, chosen for the prior of training"):
            mw.adapt_prior(model, X)
    calibrated = PlugInClassifier(RidgeClassifier(), "g_mean", threshold="gains", calibrate=True, cv=3).fit(X, Y)
    assert np.allclose(calibrated.predict_proba(X).sum(axis=1), 1.0)


def test_probabilities_of_zero_do_not_spoil_the_calibration(tmp_path):
    problem = {"n_features": 8, "n_informative": 5, "n_classes": 4, "weights": [0.6, 0.2, 0.1], "class_sep": 0.9}
    many, labels = make_classification(2400, random_state=0, **problem)
    learner = DecisionTreeClassifier(max_depth=8, random_state=0)  # leaves without samples of a class
    model = PlugInClassifier(learner, "h_mean", threshold="gains", cv=3).fit(many[:1200], labels[:1200])
    floor, slope = model._decision.floor, model._decision.calibration.lines[0].slope
    assert floor.shape == (4,) and slope > 0.3  # about 0.1 if logarithms of zero are not limited
    assert model.score(many[1200:], labels[1200:]) > 0.55
    mw.save(model, tmp_path / "model.mw")
    assert np.array_equal(mw.load(tmp_path / "model.mw").decision_function(many), model.decision_function(many))
    for wrong in (floor[:3], np.where(floor == floor[0], np.nan, floor)):
        model._decision = replace(model._decision, floor=wrong)
        with pytest.raises(mw.ModelFileError, match="do not fit together"):
            mw.save(model, tmp_path / "damaged.mw")
    values = PlugInClassifier(RidgeClassifier(), "h_mean", threshold="gains", cv=3).fit(many[:300], labels[:300])
    assert values._decision.floor is None  # decision values have no share of a class as their scale


@pytest.mark.parametrize("measure", [GMean(), mw.get_measure("f1_macro")], ids=str)
def test_gains_are_means_of_those_of_probabilities_and_of_labels(measure):
    _, y, chances = _make_blobs(400, 5)
    samples = ScoredSamples(y, np.log(chances), np.ones(len(y)))
    (gains,) = find_gains(measure, None, samples).gains
    assert 1.9 < np.abs(gains).sum() <= 2.0 + 1e-9 and np.allclose(gains.sum(axis=1), 0.0)  # two of size one, alike
    # Labels count in part: with others, the gains are others.
    (others,) = find_gains(measure, None, samples._replace(target=np.roll(y, 1))).gains
    assert not np.allclose(gains, others)
    # What is found is no worse on the samples than plain predictions.
    known = KnownSamples.of(chances, 0.5 * (np.eye(3)[y] + chances), np.ones(len(y)))
    plain = measure.of_confusion(known.respond(np.eye(3)).matrix)
    assert measure.of_confusion(known.respond(gains).matrix) > plain


def test_mixtures_are_reproducible_and_do_not_depend_on_the_batch(tmp_path):
    def fit(**options):
        return PlugInClassifier(GaussianNB(), "min_rate", threshold="gains", randomised=True, cv=3, **options).fit(X, Y)

    model = fit()
    gains, shares = model._decision.gains, model._decision.shares
    assert len(gains) == shares.size > 1 and model._decision.shortfall > 0.0
    labels = model.predict(X)
    assert np.array_equal(fit().predict(X), labels)
    assert np.array_equal(np.concatenate([model.predict(X[k : k + 1]) for k in range(50)]), labels[:50])
    assert not np.array_equal(fit(random_state=1).predict(X), labels)
    mw.save(model, tmp_path / "model.mw")
    assert np.array_equal(mw.load(tmp_path / "model.mw").predict(X), labels)
    drawn = draw_rules(model._task.scores(model.estimator_, X), shares, model._decision.seed)
    assert np.bincount(drawn, minlength=shares.size) / len(X) == pytest.approx(shares, abs=0.06)


def test_constraints_hold_on_out_of_fold_samples():
    wanted = ["recall>=0.5 of 3", "positive_rate<=0.4 of 3"]
    options = {"subject_to": wanted, "confidence": None, "threshold": "gains", "cv": 3}
    model = PlugInClassifier(LogisticRegression(), "accuracy", **options).fit(X, Y)
    free = PlugInClassifier(LogisticRegression(), "accuracy", threshold="gains", cv=3).fit(X, Y)
    labels = model.predict(X)
    assert np.mean(labels[Y == 3] == 3) > 0.45 > 0.2 > np.mean(free.predict(X)[Y == 3] == 3)
    assert np.mean(labels == 3) < 0.42
    with pytest.raises(UnreachableGuaranteeError, match=r"no matrix of gains has recall >= 0.99 .* the nearest has"):
        PlugInClassifier(LogisticRegression(), "accuracy", **options | {"subject_to": "recall>=0.99"}).fit(X, Y)


def test_a_function_of_the_matrix_is_trained_for():
    def careful(C):
        return np.trace(C) / C.sum() - 2.0 * C[3, 0] / C[3].sum()

    measure = mw.confusion_measure(careful, "careful", n_classes=4)
    model = PlugInClassifier(LogisticRegression(), measure, cv=3).fit(X[:800], Y[:800])
    plain = LogisticRegression().fit(X[:800], Y[:800])
    assert model.score(X[800:], Y[800:]) > measure.score(Y[800:], plain.predict(X[800:])) + 0.1
    # All classes count, also where some are absent.
    few = np.flatnonzero(Y[800:] != 1)[:50] + 800
    matrix = np.zeros((4, 4))
    np.add.at(matrix, (Y[few], model.predict(X[few])), 1.0)
    assert model.score(X[few], Y[few]) == pytest.approx(careful(matrix))


def test_a_single_rule_that_loses_much_warns():
    with pytest.warns(UserWarning, match="single rule is expected to lose .* of min_rate .* randomised=True"):
        PlugInClassifier(DummyClassifier(), "min_rate", threshold="gains", cv=3).fit(X[:200], Y[:200])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        PlugInClassifier(LogisticRegression(), "q_mean", threshold="gains", cv=3).fit(X, Y)


@pytest.mark.parametrize(
    ("options", "target", "message"),
    [
        ({"threshold": "gains"}, Y > 0, "threshold='gains' is for more than two classes, and y has two classes"),
        ({"threshold": "gains"}, np.column_stack([Y > 0, Y > 1]) * 1, "and y has several labels"),
        ({"randomised": True}, Y, "randomised=True is for a matrix of gains: set threshold='gains'"),
        ({"threshold": "gains", "subject_to": "recall>=0.2"}, Y, "set confidence=None"),
        ({"measure": "cohen_kappa:quadratic", "threshold": "bagged"}, Y, "threshold is 'auto' or 'gains'"),
        (
            {"measure": mw.confusion_measure(lambda C: np.trace(C) / C.sum(), "own")},
            Y > 0,
            "is for more than two classes",
        ),
        (
            {"measure": mw.confusion_measure(lambda C: C[4, 4] / C.sum(), "own", n_classes=5)},
            Y,
            "was made for 5 classes, and there are 4",
        ),
    ],
)
def test_what_does_not_fit_is_refused(options, target, message):
    settings = {"measure": "f1_macro", "cv": 3} | options
    with pytest.raises(ValueError, match=message):
        PlugInClassifier(LogisticRegression(), **settings).fit(X[:300], target[:300])


def test_model_selection_trains_for_measures_of_the_whole_matrix(tmp_path):
    candidates = {"line": LogisticRegression(), "bayes": GaussianNB()}
    model = mw.MetricClassifier("cohen_kappa:quadratic", candidates=candidates, cv=2).fit(X[:500], Y[:500])
    assert isinstance(model._decision, GainDecision) and model.score(X[500:], Y[500:]) > 0.2
    mw.save(model, tmp_path / "model.mw")
    assert np.array_equal(mw.load(tmp_path / "model.mw").predict(X), model.predict(X))
    with pytest.raises(TypeError, match="decides by the expected gain or cost of each class"):
        margin_at_zero(model)


@pytest.mark.parametrize(("n_classes", "take_part"), [(10, True), (11, False)])
def test_svms_are_automatic_candidates_for_up_to_ten_classes(n_classes, take_part):
    problem = Problem(Profile.of(np.eye(20)), mw.get_measure("f1_macro"), n_classes)
    names = {one.name for one in make_portfolio("auto", problem).candidates}
    assert ({"linear SVM", "multivariate SVM"} <= names) == take_part
    named = {one.name for one in make_portfolio(["linear_svm"], problem).candidates}
    assert named == {"linear SVM"}


@pytest.mark.parametrize("measure", ["f1_macro", "g_mean"])
def test_svms_that_are_named_are_candidates_for_several_classes(measure):
    model = mw.MetricClassifier(measure, candidates=["linear_svm", "multivariate_svm"], cv=2).fit(X[:400], Y[:400])
    assert {str(name) for name in model.leaderboard_["candidate"]} == {"linear SVM", "multivariate SVM"}
    assert model.score(X[400:], Y[400:]) > 0.3
