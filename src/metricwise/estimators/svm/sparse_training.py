"""Plan the training of joint sparse coding: a first dictionary learnt without labels, then all three parts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from metricwise._typing import Floats, Indices, Mask
from metricwise.decisions.out_of_fold import merge_equal_samples
from metricwise.designs import Design, make_design
from metricwise.designs.base import iterate_blocks
from metricwise.estimators.svm.fallback import plan_accuracy
from metricwise.estimators.svm.training import TrainingData, TrainingPlan
from metricwise.measures import Measure
from metricwise.results import Result, Status
from metricwise.solvers import CuttingPlane, Limits, run
from metricwise.solvers.dictionary_learning import choose_first_atoms, learn_dictionary
from metricwise.solvers.sparse_coding import SparseCoding, SparseCodingResult
from metricwise.solvers.sparse_coding_paper import PaperSparseCoding
from metricwise.solvers.sparse_problem import SampleEncoder, SparseCodingProblem, make_sparse_problem, squared_norms
from metricwise.threads import blas_on_one_thread

MOST_ATOMS = 100  # by default
_CODES_TOL = 1e-8  # of codes that scores are computed from
_SAMPLES_PER_BLOCK = 8192
_MOST_CANDIDATES = 10_000  # samples that atoms are drawn from
_START_TOL, _START_ITERATIONS = 1e-3, 20  # of a dictionary that is going to change
_REFIT_TOL = 1e-3


@dataclass(frozen=True)
class SparseCodingSettings:
    """What is particular to sparse coding: number of atoms, costs, and which parts are learnt from labels."""

    n_atoms: int | None
    C1: float
    C2: float
    variant: str
    refit: bool


def encode(design: Design, dictionary: Floats, penalty: float) -> Floats:
    """Return the lasso codes of samples, computed block by block."""
    with blas_on_one_thread():
        encoders = (
            SampleEncoder.from_design(block, dictionary) for block in iterate_blocks(design, _SAMPLES_PER_BLOCK)
        )
        return np.concatenate([encoder.encode(penalty, _CODES_TOL) for encoder in encoders])


def plan_sparse_coding(plan: TrainingPlan, settings: SparseCodingSettings, data: TrainingData) -> TrainingPlan:
    """Learn the first dictionary, and return the plan of a training that starts from it."""
    squares = squared_norms(data.X)
    with blas_on_one_thread():
        start = _learn_first_dictionary(plan, settings, data, squares)
    make_solver = PaperSparseCoding if settings.variant == "paper" else SparseCoding
    learns = settings.variant != "fixed", settings.variant != "reconstruct"
    refits = settings.refit or settings.variant == "reconstruct"
    return replace(
        plan,
        solver=make_solver(start, *learns, CuttingPlane(seed=plan.seed)),
        make_problem=partial(_make_problem, settings, squares, plan.intercept),
        refit=partial(_refit_weights, plan.seed) if refits else None,
        score=partial(_score_codes, settings.C1, plan.intercept),
    )


def plan_accuracy_of_codes(plan: TrainingPlan, degenerate: Result) -> TrainingPlan:
    """Return the plan that trains the weights of the atoms for the accuracy; the dictionary is that of the result."""
    assert isinstance(degenerate, SparseCodingResult)
    fixed = SparseCoding(degenerate.dictionary, moves_atoms=False, moves_predictor=False)
    return replace(plan_accuracy(plan, degenerate), solver=fixed, refit=partial(_refit_weights, plan.seed))


def _learn_first_dictionary(
    plan: TrainingPlan, settings: SparseCodingSettings, data: TrainingData, squares: Floats
) -> Floats:
    design, weights = data.design, data.targets[0].weights
    one_class = np.zeros(weights.size, dtype=bool)
    samples, merged = merge_equal_samples(design, data.targets[0].samples, one_class, weights)
    atoms = _draw_atoms(plan.seed, settings.n_atoms, data, samples, merged)
    limits = plan.limits
    tol, max_iter = _START_TOL, min(limits.max_iter, _START_ITERATIONS)
    if settings.variant == "fixed":
        tol, max_iter = limits.tol, limits.max_iter
    seconds = None if limits.max_seconds is None else 0.2 * limits.max_seconds
    problem = design.take(samples), squares[samples], merged
    return learn_dictionary(*problem, atoms, settings.C1, tol, max_iter, seconds)[0]


def _draw_atoms(seed: int, n_atoms: int | None, data: TrainingData, samples: Indices, weights: Floats) -> Floats:
    """Return some distinct samples, drawn from all or, where these are many, from a random part of them."""
    _, distinct = np.unique(data.design.take(samples).fingerprints(), return_index=True)
    n_atoms = _count_atoms(n_atoms, distinct.size, data.design.shape[1])
    if distinct.size > max(_MOST_CANDIDATES, n_atoms):
        random = np.random.default_rng(seed)
        distinct = random.choice(distinct, max(_MOST_CANDIDATES, n_atoms), replace=False)
    distinct = np.sort(distinct)
    return choose_first_atoms(data.X[samples[distinct]], weights[distinct], n_atoms, seed)


def _count_atoms(n_atoms: int | None, n_distinct: int, n_features: int) -> int:
    if n_atoms is None:
        return min(n_distinct, 2 * n_features, MOST_ATOMS)
    if n_atoms > n_distinct:
        raise ValueError(
            f"n_atoms={n_atoms}, but X has only {n_distinct} distinct samples with weight: set n_atoms to {n_distinct} "
            "or less, or leave it out"
        )
    return int(n_atoms)


def _make_problem(
    settings: SparseCodingSettings,
    squares: Floats,
    intercept: float,
    design: Any,
    positive: Mask,
    measure: Measure,
    C3: float,
    weights: Floats,
) -> SparseCodingProblem:
    """Make the problem of samples of a matrix, whose squared lengths are among ``squares``."""
    penalties = float(settings.C1), float(settings.C2), float(C3)
    return make_sparse_problem(design, squares[design.samples], positive, measure, penalties, weights, intercept)


def _refit_weights(seed: int, problem: SparseCodingProblem, result: Result, seconds: float | None) -> Result:
    """Train the weights once more, on codes computed without labels, as those of new samples are."""
    assert isinstance(result, SparseCodingResult)
    predictor = problem.predictor(encode(problem.design, result.dictionary, problem.C1))
    again, _ = run(CuttingPlane(seed=seed), predictor, Limits(tol=_REFIT_TOL, max_seconds=seconds))
    status = again.status if again.status is Status.DEGENERATE else result.status
    return replace(result, weights=again.weights, witness=again.witness, status=status)


def _score_codes(penalty: float, intercept: float, result: Result, design: Design) -> Floats:
    assert isinstance(result, SparseCodingResult)
    codes = encode(design, result.dictionary, penalty)
    return make_design(codes, intercept=intercept, threads=design.threads).scores(result.weights)
