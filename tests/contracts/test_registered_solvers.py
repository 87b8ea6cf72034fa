"""Guarantees of every registered solver; `test_solvers` has more for those of the multivariate problem."""

from __future__ import annotations

import numpy as np
import pytest

from metricwise.designs import make_design
from metricwise.designs.remote_design import LocalData, RemoteDesign
from metricwise.measures import FBeta, RocAuc, get_measure
from metricwise.results import Status
from metricwise.solvers import Limits, run
from metricwise.solvers.registry import SOLVERS, fitting_solvers, get_solver
from tests.contracts.cases import TOL, make_data

X, POSITIVE = make_data()
ATOMS = np.linalg.qr(np.random.default_rng(0).normal(size=(X.shape[1], 4)))[0].T
SETTINGS = {"feature-selection": {"n_features": 3}, "sparse-coding": {"dictionary": ATOMS}}
NEVER = 1e-14
ENDED = {Status.OPTIMAL, Status.DEGENERATE, Status.STATIONARY, Status.COARSE}

each_solver = pytest.mark.parametrize("name", SOLVERS)


def choose_measure(name):
    """Return F1 where the solver supports it, else the area under the ROC curve."""
    return FBeta() if isinstance(FBeta(), SOLVERS[name].needs) else RocAuc()


def make_solver(name):
    return SOLVERS[name].solver(**SETTINGS.get(name, {}))


def pose_problem(name, data=X, threads=1):
    make, measure = SOLVERS[name].make_problem, choose_measure(name)
    if name == "binned-cutting-plane":
        design = make_design(data, intercept=1.0, threads=threads)
        return make(RemoteDesign(LocalData(design, POSITIVE.astype(np.int64)), 1), measure, 256, 0.5, TOL)
    if name == "sparse-coding":
        design, squares = make_design(data, threads=threads), (data**2).sum(axis=1)
        return make(design, squares, POSITIVE, measure, (0.5, 1.0, 0.5), np.ones(len(data)), 1.0)
    return make(make_design(data, intercept=1.0, threads=threads), POSITIVE, measure, 0.5)


@each_solver
def test_every_solver_converges_with_consistent_bounds(name):
    result, _ = run(make_solver(name), pose_problem(name), Limits(tol=TOL))
    assert result.status in ENDED
    objectives, lowers = (np.array([getattr(entry, key) for entry in result.history]) for key in ("objective", "lower"))
    rounding = 1e-9 * np.abs(objectives).max()
    assert np.all(objectives[1:] <= objectives[:-1] + rounding)
    assert np.all(lowers[1:] >= lowers[:-1] - rounding)
    assert np.all(lowers <= objectives + rounding)
    assert [entry.iteration for entry in result.history] == list(range(1, result.n_iter + 1))
    assert np.all(np.isfinite(result.weights))


@each_solver
def test_every_solver_resumes_from_the_state_of_a_stopped_run(name):
    solver, problem = make_solver(name), pose_problem(name)
    first, state = run(solver, problem, Limits(tol=TOL), callback=lambda entry: True)
    assert first.n_iter == 1
    resumed, _ = run(solver, problem, Limits(tol=TOL), state)
    assert resumed.n_iter > 1
    assert list(resumed.history)[:1] == list(first.history)
    assert resumed.status in ENDED


@each_solver
def test_the_callback_and_max_iter_stop_every_solver(name):
    result, _ = run(make_solver(name), pose_problem(name), Limits(tol=NEVER), callback=lambda entry: True)
    assert (result.status, result.n_iter) == (Status.STOPPED, 1)
    result, _ = run(make_solver(name), pose_problem(name), Limits(tol=NEVER, max_iter=1))
    assert (result.status, result.n_iter) == (Status.MAX_ITER, 1)


@each_solver
def test_solvers_change_no_data_and_do_not_depend_on_threads(name):
    data = X.copy()
    data.flags.writeable = False
    one, two = (
        run(make_solver(name), pose_problem(name, data, threads), Limits(TOL, max_iter=5))[0] for threads in (1, 2)
    )
    np.testing.assert_array_equal(one.weights, two.weights)
    assert one.certificate == two.certificate


@each_solver
def test_a_mismatch_names_the_solvers_that_fit(name):
    entry = get_solver(name, choose_measure(name))
    assert entry is SOLVERS[name]
    other = get_measure("recall_at_precision")  # has none of the capabilities
    assert fitting_solvers(other) == ()
    with pytest.raises(TypeError, match=rf"solver '{name}' needs .* {entry.needs.__name__}"):
        get_solver(name, other)


def test_an_unknown_solver_raises_with_the_known_names():
    with pytest.raises(ValueError, match="no solver 'simplex'; choose one of cutting-plane"):
        get_solver("simplex", FBeta())
    with pytest.raises(TypeError, match=r"solvers that fit: cutting-plane, .*amp"):
        get_solver("smoothing", FBeta())
