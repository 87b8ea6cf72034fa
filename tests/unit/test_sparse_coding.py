"""Joint sparse coding: every step lowers the objective, and each part agrees with an independent reference."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_classification
from sklearn.decomposition import sparse_encode
from sklearn.linear_model import Lasso

from metricwise import MultivariateSVC, SparseCodingClassifier, certify, export_text, get_measure
from metricwise.designs import make_design
from metricwise.reporting.sections import convergence
from metricwise.reporting.training_displays import ConvergenceDisplay
from metricwise.results import Status
from metricwise.solvers import Limits, run
from metricwise.solvers.dictionary_learning import choose_first_atoms, learn_dictionary
from metricwise.solvers.sparse_coding import SparseCoding
from metricwise.solvers.sparse_coding_paper import PaperSparseCoding, gradient_of_codes, gradient_of_weights
from metricwise.solvers.sparse_problem import SampleEncoder, make_sparse_problem, squared_norms

X, y = make_classification(150, 8, n_informative=5, weights=[0.7], flip_y=0.05, random_state=0)
POSITIVE = y == 1
MEASURES = ["f1", "g_mean", "prbep", "roc_auc", "accuracy"]
WEIGHTS = np.random.default_rng(1).uniform(0.5, 3.0, size=len(y))


def make_problem(measure="f1", C1=1.0, C2=1.0, C3=2.0, weights=None, intercept=1.0):
    omega = np.ones(len(y)) if weights is None else weights
    return make_sparse_problem(
        make_design(X), squared_norms(X), POSITIVE, get_measure(measure), (C1, C2, C3), omega, intercept
    )


def make_atoms(n_atoms=12):
    return choose_first_atoms(X, np.ones(len(y)), n_atoms, 0)


def compute_objective(problem, coded, codes, w):
    return problem.objective(coded, codes, w, problem.slack(codes, w))


def compute_objective_by_definition(problem, dictionary, codes, w):
    """Return J by its definition, from the residuals of the samples."""
    samples = X[problem.design.samples]
    residuals = ((samples - codes @ dictionary) ** 2).sum(axis=1)
    scores = codes @ w[: codes.shape[1]] + problem.intercept * w[-1]
    slack = problem.oracle.violate(scores).value
    coding = problem.weights @ (residuals + problem.C1 * np.abs(codes).sum(axis=1))
    return coding + 0.5 * problem.C2 * w @ w + problem.C3 * problem.oracle.mistakes * slack


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["unweighted", "weighted"])
def test_every_step_of_every_block_lowers_the_objective(measure, weights):
    problem, solver = make_problem(measure, weights=weights), SparseCoding(make_atoms())
    limits = Limits(tol=1e-6)
    state = solver.init(problem, limits)
    values = [compute_objective_by_definition(problem, state.dictionary, state.codes, state.w)]
    for _ in range(5):
        for move in (solver.move_atoms, solver.move_codes, partial(solver.move_predictor, limits=limits)):
            move(problem, state)
            values.append(compute_objective_by_definition(problem, state.dictionary, state.codes, state.w))
            assert state.objective == pytest.approx(values[-1], rel=1e-9)
    assert np.all(np.diff(values) <= 1e-9 * values[0])
    assert values[-1] < values[0] * (1 - 1e-3)
    assert np.linalg.norm(state.dictionary, axis=1).max() <= 1 + 1e-9


def test_codes_reach_a_minimum():
    """With dictionary and weights fixed the problem is convex: no perturbation must improve it."""
    problem, solver = make_problem("accuracy"), SparseCoding(make_atoms())
    state = solver.init(problem, Limits(tol=1e-6))
    before = state.objective
    for _ in range(60):
        solver.move_codes(problem, state)
    rng = np.random.default_rng(0)
    fallen = before - state.objective
    assert fallen > 0
    for scale in np.repeat([1e-3, 1e-2, 0.1], 30):
        codes = state.codes + scale * rng.normal(size=state.codes.shape) * (state.codes != 0)
        assert compute_objective(problem, state.encoder, codes, state.w) >= state.objective - 0.05 * fallen


@pytest.mark.parametrize("n_atoms", [10, 40])
def test_the_lasso_agrees_with_two_independent_solvers(n_atoms):
    atoms, C1 = make_atoms(n_atoms), 0.7
    codes = SampleEncoder.from_design(make_design(X), atoms).encode(C1, 1e-10)
    by_lars = sparse_encode(X, atoms, algorithm="lasso_lars", alpha=C1 / 2, max_iter=20_000)
    lasso = Lasso(alpha=C1 / (2 * X.shape[1]), fit_intercept=False, tol=1e-12, max_iter=100_000)
    by_lasso = [lasso.fit(atoms.T, sample).coef_ for sample in X[:20]]
    np.testing.assert_allclose(codes, by_lars, atol=1e-4)
    np.testing.assert_allclose(codes[:20], by_lasso, atol=1e-4)


def test_lasso_codes_of_correlated_atoms_are_optimal():
    """Optimality: the gradient equals the penalty where a code is nonzero, and is at most the penalty elsewhere."""
    atoms, C1 = np.repeat(make_atoms(20), 2, axis=0), 1e-3
    atoms[1::2] += 1e-3 * np.random.default_rng(0).normal(size=(20, 8))
    atoms[5] = 0.0
    codes = SampleEncoder.from_design(make_design(X), atoms).encode(C1, 1e-9)
    slopes = 2 * (X - codes @ atoms) @ atoms.T
    assert np.abs(slopes).max() <= C1 * (1 + 1e-3)
    np.testing.assert_allclose(slopes[codes != 0], C1 * np.sign(codes[codes != 0]), rtol=1e-3)
    assert np.all(codes[:, 5] == 0)


def test_atoms_reach_the_minimum_of_ordinary_dictionary_learning():
    squares, one = squared_norms(X), np.ones(len(y))
    atoms, objectives = learn_dictionary(make_design(X), squares, one, make_atoms(), 0.5, 1e-8, 200)
    assert np.all(np.diff(objectives) <= 1e-9 * objectives[0])
    assert objectives[-1] < 0.97 * objectives[0]
    assert np.linalg.norm(atoms, axis=1).max() <= 1 + 1e-9


@pytest.mark.parametrize("measure", ["f1", "roc_auc"])
def test_gradients_equal_finite_differences(measure):
    """At a random point the most violated labelling is unique, and the objective is smooth except at codes of zero."""
    problem, rng = make_problem(measure, weights=WEIGHTS), np.random.default_rng(3)
    coded = problem.make_encoder(make_atoms())
    codes, w, step = rng.normal(size=(len(y), 12)), rng.normal(size=13), 1e-6
    by_codes = gradient_of_codes(problem, coded, codes, w)
    by_weights = gradient_of_weights(problem, codes, w)
    for _ in range(10):
        direction = rng.normal(size=codes.shape)
        ends = [compute_objective(problem, coded, codes + sign * step * direction, w) for sign in (1, -1)]
        assert (ends[0] - ends[1]) / (2 * step) == pytest.approx(
            float((by_codes * direction).sum()), rel=1e-4, abs=1e-2
        )
        turn = rng.normal(size=w.shape)
        ends = [compute_objective(problem, coded, codes, w + sign * step * turn) for sign in (1, -1)]
        assert (ends[0] - ends[1]) / (2 * step) == pytest.approx(float(by_weights @ turn), rel=1e-4, abs=1e-2)


def test_the_gradient_of_the_reconstruction_is_an_ascent_direction():
    """The paper prints it with the opposite sign."""
    problem = make_problem(C3=1e-9)
    coded, codes = problem.make_encoder(make_atoms()), np.full((len(y), 12), 0.5)
    slope = gradient_of_codes(problem, coded, codes, np.zeros(13))
    samples = X[problem.design.samples]
    np.testing.assert_allclose(slope, -2 * (samples - codes @ make_atoms()) @ make_atoms().T + problem.C1, atol=1e-9)


@pytest.mark.parametrize("measure", MEASURES)
def test_weights_equal_those_of_the_multivariate_svm_on_the_codes(measure):
    model = SparseCodingClassifier(measure, 12, C2=2.0, C3=1.0, threshold=0.0).fit(X, y)
    plain = MultivariateSVC(measure, C=0.5, threshold=0.0, tol=1e-5).fit(model.transform(X), y)

    def value(of):
        w = np.append(of.coef_[0], of.intercept_ if measure != "roc_auc" else [])
        problem = make_problem(measure, C2=2.0, C3=1.0, intercept=0.0 if measure == "roc_auc" else 1.0)
        inner = problem.predictor(model.transform(X[problem.design.samples]))
        return inner.objective(w, inner.oracle.violate(inner.design.scores(w)))

    assert value(plain) <= value(model) * (1 + 1e-6)
    assert value(model) == pytest.approx(value(plain), rel=2e-3)


def test_the_papers_steps_lower_the_objective_and_return_the_best():
    problem = make_problem("f1", C3=0.5)
    result, state = run(PaperSparseCoding(make_atoms()), problem, Limits(tol=1e-5, max_iter=200))
    values = [entry.objective for entry in result.history]
    assert np.all(np.diff(values) <= 0)
    assert values[-1] < values[0]
    assert compute_objective_by_definition(problem, result.dictionary, state.codes, result.weights) == pytest.approx(
        values[-1]
    )
    assert np.any(result.weights != 0)


@pytest.mark.parametrize("variant", ["joint", "fixed", "reconstruct", "paper"])
@pytest.mark.parametrize("refit", [True, False])
def test_every_variant_trains_and_reports_its_history(variant, refit):
    model = SparseCodingClassifier("f1", 12, variant=variant, refit=refit, tol=1e-3, cv=3).fit(X, y)
    # Predicting all positive gives 0.46; the paper's own weight steps reach little more.
    assert model.score(X, y) > (0.47 if variant == "paper" and not refit else 0.6)
    assert model.result_.status in (Status.STATIONARY, Status.DEGENERATE)
    objectives = [entry.objective for entry in model.result_.history]
    assert np.all(np.diff(objectives) <= 1e-9 * objectives[0])
    assert model.result_.certificate.lower == -np.inf
    assert model.n_iter_ == len(objectives)


def test_a_learned_dictionary_reaches_a_lower_objective_than_a_fixed_one():
    problem, limits = make_problem("f1"), Limits(tol=1e-6, max_iter=30)
    joint, fixed = (run(SparseCoding(make_atoms(), moves), problem, limits)[0] for moves in (True, False))
    assert joint.certificate.upper < 0.99 * fixed.certificate.upper
    np.testing.assert_array_equal(fixed.dictionary, make_atoms())


@pytest.mark.filterwarnings("ignore:training stopped")
def test_labels_influence_only_the_joint_dictionary():
    def dictionary(kind, labels):
        settings = {"threshold": 0.0, "tol": 1e-9, "max_iter": 3, "C3": 10.0}
        return SparseCodingClassifier("f1", 12, variant=kind, **settings).fit(X, labels).dictionary_

    for kind in ("fixed", "reconstruct"):
        np.testing.assert_allclose(dictionary(kind, y), dictionary(kind, 1 - y), atol=1e-6)
    assert not np.allclose(dictionary("joint", y), dictionary("joint", 1 - y), atol=1e-3)


def test_models_on_codes_are_not_exported_as_linear(tmp_path):
    """With as many atoms as features, the weights of atoms have the shape of feature weights."""
    model = SparseCodingClassifier("f1", X.shape[1], threshold=0.0, max_iter=2, tol=0.5).fit(X, y)
    with pytest.raises(TypeError, match="not linear in the features"):
        export_text(model, tmp_path / "model.txt")
    with pytest.raises(ValueError, match=r"no bound to recompute: .* model.transform"):
        certify(model, X, y)
    page = str(convergence(model, get_measure("f1"), 0.5, 0.1))
    assert "it is not convex, and no bound of it is known" in page and "No weights" not in page
    assert len(ConvergenceDisplay.from_estimator(model).lines_) == 1


def test_samples_of_weight_two_equal_repeated_samples():
    weights = np.random.default_rng(2).integers(0, 3, size=len(y))
    weighted = SparseCodingClassifier("f1", 12, threshold=0.0).fit(X, y, sample_weight=weights)
    repeated = SparseCodingClassifier("f1", 12, threshold=0.0).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    np.testing.assert_allclose(weighted.decision_function(X), repeated.decision_function(X), atol=1e-6)


def test_results_agree_for_sparse_samples_single_precision_and_threads():
    samples = np.round(4 * X) / 4
    samples[np.abs(samples) < 0.5] = 0.0
    settings = {"n_atoms": 10, "threshold": 0.0}
    model = SparseCodingClassifier("f1", n_jobs=1, **settings).fit(samples, y)
    same = SparseCodingClassifier("f1", n_jobs=2, **settings).fit(samples, y)
    np.testing.assert_array_equal(model.decision_function(samples), same.decision_function(samples))
    for kind in (sparse.csr_array(samples), samples.astype(np.float32)):
        other = SparseCodingClassifier("f1", **settings).fit(kind, y)
        # Another order of summation may stop training elsewhere within its tolerance.
        assert np.corrcoef(other.decision_function(kind), model.decision_function(samples))[0, 1] > 0.99


def test_codes_do_not_depend_on_the_batch():
    model = SparseCodingClassifier("f1", 12, threshold=0.0).fit(X, y)
    codes = model.transform(X)
    assert codes.shape == (len(y), 12) and 0 < (codes == 0).mean() < 1
    np.testing.assert_allclose(np.vstack([model.transform(sample[None]) for sample in X[:10]]), codes[:10], atol=1e-9)
    assert list(model.get_feature_names_out())[:2] == ["sparsecodingclassifier0", "sparsecodingclassifier1"]


def test_time_iteration_and_callback_limits_stop_training():
    with pytest.warns(UserWarning, match=r"max_iter\).*objective still fell.*increase max_iter"):
        model = SparseCodingClassifier("f1", 12, tol=1e-12, max_iter=2, threshold=0.0).fit(X, y)
    assert model.result_.status is Status.MAX_ITER
    seen = []
    stopped = SparseCodingClassifier(
        "f1", 12, tol=1e-12, threshold=0.0, callback=lambda e: seen.append(e) or len(seen) == 2
    )
    assert stopped.fit(X, y).result_.status is Status.STOPPED
    assert len(seen) == 2


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"n_atoms": 151}, ValueError, "n_atoms=151, but X has only 150 distinct samples"),
        ({"n_atoms": 0}, ValueError, "'n_atoms'"),
        ({"C1": -1.0}, ValueError, "'C1'"),
        ({"C2": 0.0}, ValueError, "'C2'"),
        ({"C3": -0.5}, ValueError, "'C3'"),
        ({"variant": "other"}, ValueError, "'variant'"),
        ({"measure": "recall_at_precision"}, TypeError, "lacks what SparseCodingClassifier needs"),
    ],
)
def test_invalid_parameters_are_named(settings, error, message):
    with pytest.raises(error, match=message):
        SparseCodingClassifier(**settings).fit(X, y)
