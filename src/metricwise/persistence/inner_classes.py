"""The classes of metricwise, beside its estimators, whose objects model files store.

They are imported group by group, when a name is not found in the groups before: a linear model is loaded without the
code of model selection.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache


def find_inner_class(name: str) -> type | None:
    """Return the class of a name; None if there is none.

    Examples
    --------
    >>> find_inner_class("FBeta")
    <class 'metricwise.measures.contingency.FBeta'>
    """
    for group in GROUPS:
        if name in (classes := _by_name(group)):
            return classes[name]
    return None


@cache
def _by_name(group: Callable[[], tuple[type, ...]]) -> dict[str, type]:
    return {cls.__name__: cls for cls in group()}


def _import_measures() -> tuple[type, ...]:
    from metricwise import measures as m

    tables = (m.FBeta, m.Jaccard, m.GowerLegendre, m.MCC, m.CohenKappa, m.Accuracy, m.BalancedAccuracy)
    rates = (m.GMean, m.HMean, m.QMean, m.MinRate)
    restricted = (m.PRBEP, m.PrecisionAtK, m.RecallAtK, m.RecallAtPrecision, m.PrecisionAtRecall)
    return (*tables, *rates, *restricted, m.RocAuc, m.PartialAuc, m.Averaged)


def _import_results() -> tuple[type, ...]:
    from metricwise.results import Certificate, History, HistoryEntry, Result, Status, StreamEntry, Witness

    return Certificate, History, HistoryEntry, Result, Status, StreamEntry, Witness


def _import_decisions() -> tuple[type, ...]:
    from metricwise.decisions.batch_rule import BatchRule
    from metricwise.decisions.constant import Constant
    from metricwise.decisions.decision import Calibration, Decision, Sigmoid
    from metricwise.decisions.guarantees import Share
    from metricwise.decisions.intervals import TablePosterior
    from metricwise.decisions.ranking_posterior import RankingPosterior
    from metricwise.decisions.tasks import Binary, Multiclass, Multilabel

    tasks = (Binary, Multiclass, Multilabel)
    return (*tasks, BatchRule, Calibration, Constant, Decision, RankingPosterior, Share, Sigmoid, TablePosterior)


def _import_solvers() -> tuple[type, ...]:
    from metricwise.solvers.amp import AmpResult
    from metricwise.solvers.amp_problem import ClassCosts
    from metricwise.solvers.feature_selection import SelectionResult
    from metricwise.solvers.newton import SquaredPairsResult
    from metricwise.solvers.smoothing import SmoothedResult
    from metricwise.solvers.sparse_coding import SparseCodingResult
    from metricwise.solvers.stream_state import StreamState

    results = (AmpResult, SelectionResult, SmoothedResult, SparseCodingResult, SquaredPairsResult)
    return (*results, ClassCosts, StreamState)


def _import_streaming() -> tuple[type, ...]:
    from metricwise.estimators.streaming.training import BinaryModel, StreamModel

    return BinaryModel, StreamModel


def _import_multilabel() -> tuple[type, ...]:
    from metricwise.estimators.multilabel.chain import Chain

    return (Chain,)


def _import_wrappers() -> tuple[type, ...]:
    from metricwise.estimators.wrappers.adapted.adapter import Adapter
    from metricwise.estimators.wrappers.cost_sensitive.iterations import Iteration

    return Adapter, Iteration


def _import_selection() -> tuple[type, ...]:
    from metricwise.estimators.selection.ensemble import AveragedModels
    from metricwise.estimators.selection.learning_curve import Extrapolation
    from metricwise.estimators.selection.preprocessing import Dense, Prepared

    return AveragedModels, Dense, Extrapolation, Prepared


GROUPS = (
    _import_measures,
    _import_results,
    _import_decisions,
    _import_solvers,
    _import_streaming,
    _import_multilabel,
    _import_wrappers,
    _import_selection,
)
