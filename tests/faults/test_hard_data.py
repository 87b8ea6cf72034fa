"""Unusual but valid data: training succeeds, with the expected warnings and no others."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from metricwise import DegenerateOptimumWarning, FeatureSelectingSVC, MultivariateSVC, SmoothedSVC, Status, certify
from metricwise.designs import make_design
from metricwise.measures import FBeta
from metricwise.results import Certificate
from metricwise.solvers import CuttingPlane, Limits, make_problem, run

RNG = np.random.default_rng(1)
X = RNG.normal(size=(120, 4))
y = (X @ [1.0, -1.0, 0.5, 0.0] + 0.5 * RNG.normal(size=120) > 1.0).astype(int)


def fit_quietly(data, target, **parameters):
    """Return a fitted model; every warning is an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return MultivariateSVC(**parameters).fit(data, target)


def assert_sound(model, data):
    assert np.isfinite(model.coef_).all()
    assert np.isfinite(model.decision_function(data)).all()
    assert model.result_.certificate.lower <= model.result_.certificate.upper


@pytest.mark.parametrize(
    "data",
    [
        np.hstack([X, np.full((120, 1), 7.0)]),
        np.hstack([X, np.zeros((120, 2))]),
        np.where(np.arange(120)[:, None] % 5 == 0, 0.0, X),
        np.vstack([X[:60], X[:60]]),
        1e-8 * X,
        1e8 * X,
        X * [1e-6, 1.0, 1e3, 1e6],
    ],
    ids=["constant", "zero columns", "zero samples", "copies", "tiny", "huge", "mixed scales"],
)
@pytest.mark.parametrize("measure", ["f1", "roc_auc", "prbep"])
def test_unusual_data_give_finite_models(data, measure):
    target = np.concatenate([y[:60], y[:60]]) if np.array_equal(data[:60], data[60:]) else y
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateOptimumWarning)  # expected for tiny features
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = MultivariateSVC(measure, max_iter=3000).fit(data, target)
    assert_sound(model, data)


@pytest.mark.parametrize("size", [1e8, 1e-3])
def test_the_scale_of_the_features_does_not_prevent_convergence(size):
    # Features scaled by s at C / s^2 are the same problem.
    model = fit_quietly(size * X, y, C=1.0 / size**2, threshold=0.0, fit_intercept=False)
    plain = fit_quietly(X, y, C=1.0, threshold=0.0, fit_intercept=False)
    assert model.result_.status is Status.OPTIMAL
    np.testing.assert_allclose(size * model.coef_, plain.coef_, rtol=1e-4)


def test_a_single_positive_is_separated_with_a_warning():
    target = np.zeros(120, dtype=int)
    target[np.argmax(X[:, 0])] = 1
    with pytest.warns(UserWarning, match="threshold='cv' needs at least two distinct samples of each class"):
        model = MultivariateSVC().fit(X, target)
    assert_sound(model, X)
    assert model.score(X, target) == 1.0


def test_two_samples_are_separated_with_a_warning():
    with pytest.warns(UserWarning, match="threshold='cv'"):
        model = MultivariateSVC(pos_label="yes").fit([[0.0], [1.0]], ["no", "yes"])
    assert list(model.predict([[0.0], [1.0]])) == ["no", "yes"]


def test_a_rare_class_uses_fewer_folds_without_a_warning():
    target = np.zeros(120, dtype=int)
    target[np.argsort(X[:, 0])[-3:]] = 1
    assert_sound(fit_quietly(X, target), X)


def make_degenerate_data():
    """Return data whose positives are also negatives, so that their sum is a sum of negatives."""
    positives = RNG.normal(size=(5, 3))
    data = np.vstack([positives, positives, RNG.normal(size=(40, 3))])
    return data, np.r_[np.ones(5, dtype=int), np.zeros(45, dtype=int)]


def test_a_degenerate_optimum_warns_once():
    data, target = make_degenerate_data()
    with pytest.warns(DegenerateOptimumWarning, match="w = 0.*roc_auc") as caught:
        model = MultivariateSVC(C=10.0, threshold=0.0).fit(data, target)
    assert len([w for w in caught if w.category is DegenerateOptimumWarning]) == 1
    assert model.result_.status is Status.DEGENERATE
    certificate = model.result_.certificate
    assert certificate.upper == pytest.approx(10.0 * (2 * 5 - 1))  # J(0) = C u


def test_data_degenerate_for_f1_may_be_optimal_for_ranking():
    data, target = make_degenerate_data()
    data[:5, 0] += 0.5
    data[5:10, 0] -= 0.5
    model = fit_quietly(data, target, measure="roc_auc", threshold=0.0)
    assert model.result_.status is Status.OPTIMAL


@pytest.mark.parametrize(
    ("parameters", "status", "remedy"),
    [
        ({"max_iter": 1}, Status.MAX_ITER, "increase max_iter"),
        ({"max_seconds": 1e-9}, Status.MAX_SECONDS, "increase max_seconds"),
    ],
)
def test_unfinished_training_warns(parameters, status, remedy):
    with pytest.warns(ConvergenceWarning, match=remedy):
        model = MultivariateSVC(threshold=0.0, **parameters).fit(X, y)
    assert model.result_.status is status
    assert_sound(model, X)


def test_sparse_data_without_entries_give_zero_weights():
    data = sparse.csr_array((40, 3))
    with pytest.warns(UserWarning):
        model = MultivariateSVC().fit(data, np.arange(40) % 2)
    assert np.all(model.coef_ == 0.0)


# ------------------------------------------------------------------------------------------------ exhausted accuracy


@pytest.mark.parametrize(
    ("data", "target", "cost"),
    [
        (
            [
                [1.1912393504683387, 0.012650952191825392, 3.7331896082657616e19],
                [-0.5769624372530139, -0.6660356870016211, -2.0641514686323642e19],
                [-3.336410903827131, 0.5001921672219656, 8.95650171187891e19],
            ],
            [1, 0, 0],
            1e-6,
        ),
        ([[-4e6, -3e6, 1e16], [-1e6, -2e6, 1e16], [1e6, 0.0, 1.0000000002e16], [2e6, 1e6, 1e16]], [0, 0, 1, 1], 1e6),
    ],
    ids=["huge feature", "huge offset"],
)
def test_descent_stalls_where_bounds_creep_by_their_last_digits(data, target, cost):
    data = np.array(data)
    with pytest.warns(ConvergenceWarning, match="StandardScaler"):
        model = SmoothedSVC("roc_auc", C=cost, fit_intercept=False, threshold=0.0).fit(data, target)
    assert model.result_.status is Status.STALLED
    assert model.n_iter_ < 1000  # of the 10,000 that are allowed
    assert_sound(model, data)
    assert certify(model, data, target).lower <= model.result_.certificate.upper


def test_feature_selection_ends_inner_problems_that_creep(monkeypatch):
    """One sample is 1e9 times as large as the others, and a feature is the negative of another."""
    data = np.array(
        [
            [-1.6616760587292543, -0.8347493409195932, 1.6616760587292543],
            [-0.8661150515055762, -1.6005469120605114, 0.8661150515055762],
            [0.17351835290572185, -0.5782864217235067, -0.17351835290572185],
            [1.3314724846816788, -0.45433709549825246, -1.3314724846816788],
            [-1000000000.0, -1.02467866024186, -0.012844953143570882],
            [0.22296819419006508, 1.0354478878108355, -0.22296819419006508],
            [0.24728554983948275, -0.12234090754831901, -0.24728554983948275],
        ],
        dtype=np.float32,
    )
    steps, step = [], CuttingPlane.step
    monkeypatch.setattr(CuttingPlane, "step", lambda *arguments: (steps.append(1), step(*arguments))[1])
    model = FeatureSelectingSVC("f1", C=1e3, threshold="cv", fit_intercept=False).fit(data, [0, 0, 1, 1, 1, 1, 1])
    assert len(steps) < 2000  # one inner problem alone took 10,000
    assert_sound(model, data)


def make_state(solver, measure):
    """Return a problem of ordinary samples and the state of a solver after its first step."""
    problem = make_problem(make_design(X, intercept=1.0), y == 1, measure, 1.0)
    state = solver.init(problem)
    solver.step(problem, state, Limits())
    return problem, state


def set_bounds(state, upper, lower):
    """Set the bounds as a step would, and let cutting planes judge them."""
    state.upper, state.lower = upper, lower
    CuttingPlane._note_stall(state)
    return state.stalled


def test_cutting_planes_stall_where_bounds_creep():
    _, state = make_state(CuttingPlane(), FBeta())
    assert any(set_bounds(state, 10.0 - 1e-9 * step, 5.0 + 1e-9 * step) for step in range(200))


def test_cutting_planes_stall_where_bounds_swing():
    _, state = make_state(CuttingPlane(), FBeta())
    assert any(set_bounds(state, 10.0 + 0.1 * (step % 3), 5.0) for step in range(200))


@pytest.mark.parametrize(
    "bounds",
    [
        lambda step: (1e6, 1e-9 * 1.01**step),
        lambda step: (10.0 + 1e-7 * 0.999**step, 10.0),
        lambda step: (1e6 * (1.0 - 1e-7) ** step, 0.0),
        lambda step: (10.0 - 1e-4 * (step // 40), 5.0),
    ],
    ids=["small lower bound", "small gap", "slow", "now and then"],
)
def test_slow_progress_is_not_a_stall(bounds):
    _, state = make_state(CuttingPlane(), FBeta())
    state.moved_to = np.inf, -np.inf
    assert not any(set_bounds(state, *bounds(step)) for step in range(2000))


def test_a_resumed_training_stalls_as_early():
    """What a checkpoint does not store follows from its history."""
    solver = CuttingPlane()
    problem, state = make_state(solver, FBeta())
    _, state = run(solver, problem, Limits(tol=0.0, max_iter=5), state)
    resumed = solver.restored(problem, solver.saved(state), Limits())
    assert resumed.moved_to == state.moved_to != (np.inf, -np.inf)


class MistakenSolver(CuttingPlane):
    """Reports bounds that are close to each other and far below the objective of its weights."""

    def certificate(self, problem, state):
        return Certificate(0.5 * state.upper, 0.49 * state.upper)


@pytest.mark.parametrize(
    ("solver", "status"),
    [(CuttingPlane(), Status.MAX_ITER), (MistakenSolver(), Status.STALLED)],
    ids=["right", "wrong"],
)
def test_training_stalls_where_the_upper_bound_is_wrong_by_more_than_the_gap(solver, status):
    """Solvers update scores along lines: errors that add up are found when the weights are evaluated anew."""
    problem, state = make_state(solver, FBeta())
    state.iteration = 99
    result, _ = run(solver, problem, Limits(tol=0.0, max_iter=1), state)
    assert result.status is status
    assert result.certificate.upper >= state.upper * (1.0 - 1e-9)


@pytest.mark.filterwarnings("ignore")
def test_features_are_selected_where_no_labelling_is_violated():
    """A column that separates the classes by its last digit leaves a dual solution without any violated labelling."""
    column = np.array([1e16, 1e16, 1e16 - 2.0, 1e16, 1e16 - 2.0, 1e16 - 2.0, 1e16])
    first = [1.6588730015900806, 0.5230287211299369, -0.40871199891714916, 1.1298997565814872]
    first += [-1.329996026659239, -1.6021291328567142, 0.5277291433916174]
    second = [1.1664976429972667, -0.03711870532667008, -0.6135840224348798, -0.010875651145385228]
    second += [-0.7522256266527855, 0.23256951675498747, 1e-200]
    data = np.asfortranarray(np.column_stack([first, second, column]))
    model = FeatureSelectingSVC("gower_legendre", C=1000.0, fit_intercept=False).fit(data, [1, 0, 0, 1, 0, 0, 0])
    assert_sound(model, data)
