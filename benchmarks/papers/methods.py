"""The two methods compared: the multivariate SVM trained for a measure, and an SVM with a cost model.

Either trains one model per setting and yields it with the columns of the table it is meant for.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC, LinearSVC

from benchmarks.papers.judging import COLUMNS, MEASURES, TUNED, measure_of
from benchmarks.papers.settings import Grid, Setting
from metricwise.designs import make_design
from metricwise.solvers import CuttingPlane, Limits, MultivariateProblem, make_problem, run

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
Wanted = Mapping[str, Collection[Setting]]


class Fitted(NamedTuple):
    """A trained model: its scores of new samples, the columns it is meant for, and whether training converged."""

    columns: tuple[str, ...]
    setting: Setting
    scores: Callable[[Any], Floats]
    finished: bool


class Method(Protocol):
    """A training method, with the grid its settings are first searched in."""

    @property
    def name(self) -> str: ...

    def grid(self, step: int) -> Grid: ...

    def fit(self, X: Any, positive: Mask, wanted: Wanted, final: bool) -> Iterator[Fitted]:
        """Yield a model for every setting wanted for a column; ``final`` asks for more accuracy."""
        ...


@dataclass(frozen=True)
class MultivariateSVM:
    """One-slack cutting planes, warm-started along rising C; C is the paper's.

    Parameters
    ----------
    tol, final_tol : float
        Relative duality gap at which the search, and the final training, stop.
    slack : float
        Both also stop when the gap is at most the cost of this loss: a tenth of a percent.
    pair_slack : float
        The same for ROC area, whose loss counts pairs and is smaller by nature.
    max_iter : int
        Maximum number of iterations per setting.
    """

    tol: float = 1e-2
    final_tol: float = 1e-3
    slack: float = 1e-3
    pair_slack: float = 1e-5
    max_iter: int = 1000

    name = "multivariate"

    def grid(self, step: int) -> Grid:
        return Grid(step=step)

    def fit(self, X: Any, positive: Mask, wanted: Wanted, final: bool) -> Iterator[Fitted]:
        for trained_for in MEASURES:
            columns = ("f1", TUNED) if trained_for == "f1" else (trained_for,)
            union = {setting for column in columns for setting in wanted.get(column, ())}
            for fitted in self._path(X, positive, trained_for, sorted(union), final):
                meant_for = tuple(column for column in columns if fitted.setting in wanted.get(column, ()))
                yield fitted._replace(columns=meant_for)

    def _path(self, X: Any, positive: Mask, trained_for: str, settings: list[Setting], final: bool) -> Iterator[Fitted]:
        """Train for one measure at rising C: cuts do not depend on C, so each starts from those of the last."""
        # ROC area does not depend on a constant feature.
        intercept = 0.0 if trained_for == "roc_area" else 1.0
        problem = _problem(X, positive, trained_for, intercept)
        solver, state = CuttingPlane(), None
        for setting in settings:
            scaled = problem.with_cost(slack_cost(problem, trained_for, 2.0**setting.c))
            limits = self._limits(trained_for, scaled.cost, final)
            state = solver.init(scaled, warm=state)
            result, state = run(solver, scaled, limits, state)
            yield Fitted((), setting, _linear(result.weights, intercept), result.status.reached_tolerance)

    def _limits(self, trained_for: str, cost: float, final: bool) -> Limits:
        slack = self.pair_slack if trained_for == "roc_area" else self.slack
        return Limits(self.final_tol if final else self.tol, gap=slack * cost, max_iter=self.max_iter)


def _problem(X: Any, positive: Mask, trained_for: str, intercept: float) -> MultivariateProblem:
    design = make_design(X, intercept=intercept, threads=1)
    return make_problem(design, positive, measure_of(trained_for, positive), 1.0)


def slack_cost(problem: MultivariateProblem, trained_for: str, C: float) -> float:
    """Return the cost of the slack in the scale of metricwise, from the paper's C.

    The paper's loss is in percent and its scores enter unscaled: C u^2 / 25 with u the mistakes per loss. For ROC area
    its loss is the number of swapped pairs: 4 C times the number of pairs.
    """
    if trained_for == "roc_area":
        return 4.0 * C * problem.n_pos * (problem.design.shape[0] - problem.n_pos)
    return C * problem.oracle.mistakes**2 / 25.0


def _linear(weights: Floats, intercept: float) -> Callable[[Any], Floats]:
    return lambda X: make_design(X, intercept=intercept, threads=1).scores(weights)


@dataclass(frozen=True)
class CostSVM:
    """The hinge-loss SVM with a cost factor on the positives; one model serves all columns.

    Dense features go to libsvm, whose intercept is not penalised, as in the paper. Sparse ones go to liblinear, which
    is many times faster on text and penalises the intercept.

    Parameters
    ----------
    tol : float
        Tolerance of both programs.
    dense_iter, sparse_iter : int
        Maximum number of iterations of libsvm, and of passes over the samples of liblinear.
    """

    tol: float = 1e-3
    dense_iter: int = 2_000_000
    sparse_iter: int = 5_000

    name = "cost"

    def grid(self, step: int) -> Grid:
        return Grid(j=(0, 7), step=step)

    def fit(self, X: Any, positive: Mask, wanted: Wanted, final: bool) -> Iterator[Fitted]:
        for setting in sorted({setting for settings in wanted.values() for setting in settings}):
            columns = tuple(column for column in COLUMNS if setting in wanted.get(column, ()))
            yield self._fit_one(X, positive, setting)._replace(columns=columns)

    def _fit_one(self, X: Any, positive: Mask, setting: Setting) -> Fitted:
        model = self._model(setting, is_sparse=sparse.issparse(X))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(X, positive.astype(np.int64))
        return Fitted((), setting, model.decision_function, bool(np.max(model.n_iter_) < model.max_iter))

    def _model(self, setting: Setting, is_sparse: bool) -> Any:
        shared = {"C": 2.0**setting.c, "class_weight": {1: 2.0**setting.j}, "tol": self.tol}
        if is_sparse:
            return LinearSVC(loss="hinge", max_iter=self.sparse_iter, random_state=0, **shared)
        return SVC(kernel="linear", max_iter=self.dense_iter, **shared)


METHODS: tuple[Method, ...] = (MultivariateSVM(), CostSVM())
