"""The binary trainings of joint sparse coding: one dictionary without labels to start from, then all three parts."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from metricwise._typing import Floats, Indices, Mask
from metricwise.designs import Design, make_design
from metricwise.designs.base import iterate_blocks
from metricwise.estimators.svm.training import Training
from metricwise.measures import Measure
from metricwise.results import Result, Status
from metricwise.solvers import CuttingPlane, Limits, run
from metricwise.solvers.dictionary_learning import choose_first_atoms, learn_dictionary
from metricwise.solvers.loop import blas_on_one_thread
from metricwise.solvers.sparse_coding import SparseCoding, SparseCodingResult
from metricwise.solvers.sparse_coding_paper import PaperSparseCoding
from metricwise.solvers.sparse_problem import SampleEncoder, SparseCodingProblem, make_sparse_problem, squared_norms

if TYPE_CHECKING:
    from metricwise.estimators.svm.sparse_coding import SparseCodingClassifier

MOST_ATOMS = 100  # by default
_CODES_TOL = 1e-8  # of codes that scores are computed from
_ROWS_A_BLOCK = 8192
_MOST_CANDIDATES = 10_000  # samples that atoms are chosen from
_START_TOL, _START_ITERATIONS = 1e-3, 20  # of a dictionary that is going to change
_REFIT_TOL = 1e-3


def codes_of(design: Design, dictionary: Floats, penalty: float) -> Floats:
    """Return the lasso codes of samples, block by block."""
    with blas_on_one_thread():
        blocks = [
            SampleEncoder.from_design(block, dictionary).encode(penalty, _CODES_TOL)
            for block in iterate_blocks(design, _ROWS_A_BLOCK)
        ]
    return np.concatenate(blocks)


class SparseCodingTraining(Training):
    """Trainings that start from one dictionary, which was learnt without labels from all samples."""

    make_problem: Any  # of more than others get

    def __init__(
        self, model: SparseCodingClassifier, measure: Measure, X: Any, design: Design, *, seed: int, n_problems: int
    ) -> None:
        settings: dict[str, Any] = {"solver": None, "make_problem": make_sparse_problem}
        super().__init__(model, measure, X, design, seed=seed, n_problems=n_problems, **settings)
        self.squares = squared_norms(X)

    def fit(self, k: int, positive: Mask, weights: Floats) -> tuple[Result, float]:
        """Solve one binary problem and choose its threshold; the first one learns the dictionary to start from."""
        if self.solver is None:
            with blas_on_one_thread():
                self.solver = self._solver(weights)
        return super().fit(k, positive, weights)

    def _solver(self, weights: Floats) -> SparseCoding:
        """Learn the first dictionary."""
        model = self.model
        rows, merged = self._merged(np.flatnonzero(weights > 0.0), np.zeros(weights.size, dtype=bool), weights)
        atoms = self._first_atoms(rows, merged)
        stays = model.variant == "fixed"
        tol, most = (model.tol, model.max_iter) if stays else (_START_TOL, min(model.max_iter, _START_ITERATIONS))
        seconds = None if model.max_seconds is None else 0.2 * model.max_seconds
        design, squares = self.design.take(rows), self.squares[rows]
        start, _ = learn_dictionary(design, squares, merged, atoms, model.C1, tol, most, seconds)
        solver = PaperSparseCoding if model.variant == "paper" else SparseCoding
        return solver(start, not stays, model.variant != "reconstruct", CuttingPlane(seed=self.seed))

    def _first_atoms(self, rows: Indices, weights: Floats) -> Floats:
        """Return some of the samples, none twice, chosen among all or, where these are many, among a sample."""
        _, distinct = np.unique(self.design.take(rows).fingerprints(), return_index=True)
        n_atoms = self._n_atoms(distinct.size)
        if distinct.size > max(_MOST_CANDIDATES, n_atoms):
            random = np.random.default_rng(self.seed)
            distinct = random.choice(distinct, max(_MOST_CANDIDATES, n_atoms), replace=False)
        distinct = np.sort(distinct)
        return choose_first_atoms(self.X[rows[distinct]], weights[distinct], n_atoms, self.seed)

    def _n_atoms(self, distinct: int) -> int:
        wanted = self.model.n_atoms
        if wanted is None:
            return int(min(distinct, 2 * self.design.shape[1], MOST_ATOMS))
        if wanted > distinct:
            raise ValueError(
                f"n_atoms={wanted}, but X has only {distinct} distinct samples with weight: set n_atoms to {distinct} "
                "or less, or leave it out"
            )
        return int(wanted)

    def _problem(self, rows: Indices, positive: Mask, weights: Floats, measure: Measure) -> SparseCodingProblem:
        rows, merged = self._merged(rows, positive, weights)
        model = self.model
        penalties = float(model.C1), float(model.C2), float(model.C3)
        data = self.design.take(rows), self.squares[rows], positive[rows]
        problem: SparseCodingProblem = self.make_problem(*data, measure, penalties, merged, model.intercept_value)
        return problem

    def _trained(self, problem: SparseCodingProblem, limits: Limits, callback: Any = None) -> Result:
        if not self.model.refit and self.model.variant != "reconstruct":
            return run(self.solver, problem, limits, callback=callback)[0]
        half = replace(limits, max_seconds=None if limits.max_seconds is None else 0.5 * limits.max_seconds)
        result = run(self.solver, problem, half, callback=callback)[0]
        return self._refitted(problem, result, half.max_seconds)

    def _refitted(self, problem: SparseCodingProblem, result: Result, seconds: float | None) -> Result:
        """Train the predictor once more, on codes that labels had no part in, as those of new samples."""
        assert isinstance(result, SparseCodingResult)
        predictor = problem.predictor(codes_of(problem.design, result.dictionary, problem.C1))
        limits = Limits(tol=_REFIT_TOL, max_seconds=seconds)
        again = run(CuttingPlane(seed=self.seed), predictor, limits)[0]
        status = again.status if again.status is Status.DEGENERATE else result.status
        return replace(result, weights=again.weights, witness=again.witness, status=status)

    def _scores(self, result: Result, rows: Indices) -> Floats:
        assert isinstance(result, SparseCodingResult)
        codes = codes_of(self.design.take(rows), result.dictionary, self.model.C1)
        coded = make_design(codes, intercept=self.model.intercept_value, threads=self.design.threads)
        return coded.scores(result.weights)
