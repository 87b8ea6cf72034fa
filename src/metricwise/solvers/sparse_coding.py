"""JSCHP: a dictionary, codes and a predictor learnt together for a measure (Yang et al. 2015).

Objective J: see `metricwise.solvers.sparse_problem`. It is not convex, but convex in each of its three parts, and
every part is moved so that J falls. Order of steps (`step`):

1. dictionary: every atom in turn, exactly, within its ball (the paper has a closed form of Lagrange multipliers, which
   holds only for the right ones);
2. codes: with the slack replaced by a plane (a mixture of labellings), and a proximal term at the present codes
   (without it, linearly dependent atoms leave codes unbounded), every sample is an independent lasso; the step to
   their solution is halved until J decreases. The mixture is the predictor's dual solution, at which most samples
   are on the margin; where J does not fall, the labelling that is most violated at the lassos' solution joins it;
3. predictor: cutting planes on the codes, started from the last points of theirs and the present weights.

`PaperSparseCoding` makes the paper's own moves. J has no useful lower bound, so the certificate's is minus infinity,
and the solver stops when a step lowers J by less than the tolerance (`Status.STATIONARY`).
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import numpy as np

from metricwise._state import stored_fields
from metricwise._typing import Floats
from metricwise.results import Certificate, HistoryEntry, Objective, ProblemDescription, Result, Status, Witness
from metricwise.solvers.cutting_plane import CuttingPlane
from metricwise.solvers.dictionary_learning import improve_atoms, moments
from metricwise.solvers.loop import Limits, make_history, run
from metricwise.solvers.sparse_problem import SampleEncoder, SparseCodingProblem

_PREDICTOR_TOL = 1e-2  # of its own objective
_PREDICTOR_SHARE = 0.1  # of the decrease of J that may remain at the end: the predictor is solved no better
_MOST_CUTS = 10  # per iteration; the next one continues from them
_CODES_TOL = 1e-4  # of the codes of training samples, which change in the next step anyway
_NEARNESS = 1.0  # weight of the proximal term; atoms have a curvature of one
_MOST_MIXTURES = 3
_MOST_HALVINGS = 6


@stored_fields(version=2)
@dataclass(frozen=True)
class SparseCodingResult(Result):
    """A dictionary with the weights of its atoms.

    The certificate's ``upper`` is J; there is no lower bound. ``loss_bound`` is the slack on the training codes. The
    witness is that of the predictor.

    Parameters
    ----------
    dictionary : array of shape (n_atoms, n_features)
        The atoms.
    """

    dictionary: Floats = field(default_factory=lambda: np.empty((0, 0)), repr=False)

    @property
    def problem(self) -> ProblemDescription:
        """The problem whose objective the certificate bounds."""
        return ProblemDescription(Objective.SPARSE_CODING, positive_weight=self.positive_weight)


@dataclass
class SparseCodingState:
    """Dictionary, codes and weights, with values computed from them.

    ``mixture`` holds the coefficients of the labellings that the predictor's dual solution is made of.
    """

    dictionary: Floats
    encoder: SampleEncoder
    codes: Floats
    w: Floats
    slack: float
    mixture: Floats
    objective: float
    witness: Witness
    predictor_status: Status
    decrease: float = np.inf
    iteration: int = 0
    seconds: float = 0.0
    stalled: bool = False
    history: list[HistoryEntry] = field(default_factory=list)

    @property
    def n_cuts(self) -> int:
        return self.witness.shares.size


@dataclass(frozen=True)
class SparseCoding:
    """Settings of joint learning.

    Parameters
    ----------
    dictionary : array of shape (n_atoms, n_features)
        The initial dictionary.
    moves_atoms, moves_predictor : bool
        Whether dictionary and predictor are learnt. Without a predictor, w stays zero and codes ignore the labels.
    inner : CuttingPlane
        Solves for the predictor.
    """

    dictionary: Floats
    moves_atoms: bool = True
    moves_predictor: bool = True
    inner: CuttingPlane = field(default_factory=CuttingPlane)

    def init(
        self, problem: SparseCodingProblem, limits: Limits | None = None, warm: SparseCodingState | None = None
    ) -> SparseCodingState:
        """Return a state to start from: plain codes by the first dictionary, or that of ``warm``, and a predictor."""
        state = self._state(problem, warm)
        if self.moves_predictor:
            self.move_predictor(problem, state, limits or Limits())
        return state

    def _state(self, problem: SparseCodingProblem, warm: SparseCodingState | None) -> SparseCodingState:
        """Return plain codes and w = 0."""
        dictionary = self.dictionary if warm is None else warm.dictionary
        encoder = problem.make_encoder(dictionary)
        codes = encoder.encode(problem.C1, _CODES_TOL)
        w = np.zeros(codes.shape[1] + (problem.intercept != 0.0))
        slack = problem.slack(codes, w)
        empty = Witness(np.empty(0), np.empty((0, w.size)), np.empty((0, 2)))
        return SparseCodingState(
            dictionary,
            encoder,
            codes,
            w,
            slack,
            mixture=np.zeros(len(codes)),
            objective=problem.objective(encoder, codes, w, slack),
            witness=empty if warm is None else warm.witness,
            predictor_status=Status.MAX_ITER,
        )

    def step(self, problem: SparseCodingProblem, state: SparseCodingState, limits: Limits) -> None:
        """Move the three parts once."""
        before, started = state.objective, time.perf_counter()
        if self.moves_atoms:
            self.move_atoms(problem, state)
        self.move_codes(problem, state)
        if self.moves_predictor:
            self.move_predictor(problem, state, limits.since(started))
        state.decrease = before - state.objective

    def move_atoms(self, problem: SparseCodingProblem, state: SparseCodingState) -> None:
        """Lower J by the dictionary."""
        square, mixed = moments(problem.design, state.codes, problem.weights)
        atoms = improve_atoms(state.dictionary, square, mixed)
        encoder = problem.make_encoder(atoms)
        objective = problem.objective(encoder, state.codes, state.w, state.slack)
        if objective < state.objective:
            state.dictionary, state.encoder, state.objective = atoms, encoder, objective

    def move_codes(self, problem: SparseCodingProblem, state: SparseCodingState) -> None:
        """Lower J by the codes."""
        weights, mixture = state.w[: len(state.dictionary)], state.mixture
        nearness = _NEARNESS if self.moves_predictor else 0.0
        for attempt in range(_MOST_MIXTURES):
            pull = np.outer(problem.cost * mixture / problem.weights, weights)
            target = state.encoder.encode(problem.C1, _CODES_TOL, state.codes, pull, nearness)
            if self._move_towards(problem, state, target):
                return
            violated = problem.oracle.violate(problem.scores(target, state.w)).coefficients()
            mixture = mixture + (violated - mixture) / (attempt + 2)

    @staticmethod
    def _move_towards(problem: SparseCodingProblem, state: SparseCodingState, target: Floats) -> bool:
        """Move towards other codes, halving the step until J falls; return whether it does."""
        way = target - state.codes
        for halving in range(_MOST_HALVINGS):
            codes = state.codes + 0.5**halving * way
            slack = problem.slack(codes, state.w)
            objective = problem.objective(state.encoder, codes, state.w, slack)
            if objective < state.objective:
                state.codes, state.slack, state.objective = codes, slack, objective
                return True
        return False

    def move_predictor(self, problem: SparseCodingProblem, state: SparseCodingState, limits: Limits) -> None:
        """Lower J by the weights of the atoms, to their minimum."""
        predictor = problem.predictor(state.codes)
        enough = _PREDICTOR_SHARE * limits.tol * state.objective / problem.C2
        quick = Limits(_PREDICTOR_TOL, gap=enough, max_iter=_MOST_CUTS, max_seconds=limits.max_seconds)
        start = self.inner.init_at(predictor, _drop_duplicates(np.vstack([state.w, state.witness.points])))
        result, inner = run(self.inner, predictor, quick, start)
        slack = inner.labelling.value
        objective = problem.objective(state.encoder, state.codes, result.weights, slack)
        if objective <= state.objective:
            state.w, state.slack, state.objective = result.weights, slack, objective
        state.predictor_status = result.status
        state.witness = result.witness
        state.mixture = self.inner.sample_coefficients(predictor, inner)

    def certificate(self, problem: SparseCodingProblem, state: SparseCodingState) -> Certificate:
        """Return J; there is no lower bound."""
        return Certificate(state.objective, -np.inf, state.slack)

    def check_convergence(
        self, problem: SparseCodingProblem, state: SparseCodingState, limits: Limits
    ) -> Status | None:
        """Return the status once a step has lowered J by no more than the tolerance."""
        if state.decrease > max(limits.tol * abs(state.objective), limits.gap):
            return None
        return Status.DEGENERATE if state.predictor_status is Status.DEGENERATE else Status.STATIONARY

    def result(self, problem: SparseCodingProblem, state: SparseCodingState, status: Status) -> SparseCodingResult:
        """Return the dictionary and the weights as the result."""
        return SparseCodingResult(
            weights=state.w,
            certificate=self.certificate(problem, state),
            status=status,
            n_iter=state.iteration,
            seconds=state.seconds,
            history=make_history(state),
            witness=state.witness,
            dictionary=state.dictionary,
        )


def _drop_duplicates(points: Floats) -> Floats:
    """Return each point once, without w = 0, at which every model is cut anyway: equal cuts are redundant."""
    different: Floats = np.unique(points, axis=0)
    return different[np.any(different != 0.0, axis=1)]
