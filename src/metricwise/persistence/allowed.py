"""The classes that a model file may name. Nothing else is ever looked up, and nothing here runs code from a file.

Classes of metricwise are named without their module, ``metricwise.FBeta``, so that files outlive moves of code: the
estimators of the registry, and the classes of the objects that they hold.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from metricwise.persistence.importing import name_import_failures
from metricwise.persistence.names import OWN, find_value, get_name, is_own, make_table, refuse
from metricwise.persistence.schemas import SCHEMAS
from metricwise.registry import entry_of

BUNCH = "sklearn.utils.Bunch"  # the models inside another, by their names

CLASSES = make_table((*SCHEMAS, BUNCH))


def get_class_name(cls: type) -> str | None:
    """Return the name of a class in files; None if its objects cannot be saved.

    Examples
    --------
    >>> from metricwise.measures import FBeta
    >>> get_class_name(FBeta)
    'metricwise.FBeta'
    """
    if (name := _get_sklearn_name(cls)) is not None:
        return name
    return f"{OWN}{cls.__name__}" if _find_own_class(cls.__name__) is cls else None


def find_class(name: Any) -> Any:
    """Return the class that a model file names; ValueError if files must not name it."""
    if not isinstance(name, str) or not is_own(name):
        return find_value(name, CLASSES)
    with name_import_failures(name[:100]):
        cls = _find_own_class(name.removeprefix(OWN))
    if cls is None:
        raise refuse(name)
    return cls


def _find_own_class(name: str) -> type | None:
    entry = entry_of(name)
    if entry is not None:
        cls: type = entry.load()
        return cls
    for group in GROUPS:
        if name in (classes := _by_name(group)):
            return classes[name]
    return None


@cache
def _by_name(group: Callable[[], tuple[type, ...]]) -> dict[str, type]:
    return {cls.__name__: cls for cls in group()}


@cache
def _get_sklearn_name(cls: type) -> str | None:
    return get_name(cls, CLASSES)


# ------------------------------------------------------------------------------------- what estimators of ours hold
# Imported group by group, when a name is not found in the groups before: a linear model is loaded without the code of
# model selection.


def _import_measures() -> tuple[type, ...]:
    from metricwise import measures as m

    tables = (m.FBeta, m.Jaccard, m.GowerLegendre, m.MCC, m.CohenKappa, m.Accuracy, m.BalancedAccuracy)
    rates = (m.GMean, m.HMean, m.QMean, m.MinRate)
    restricted = (m.PRBEP, m.PrecisionAtK, m.RecallAtK, m.RecallAtPrecision, m.PrecisionAtRecall)
    functions = (m.ConfusionMeasure, m.ContingencyMeasure, m.RatioContingencyMeasure, m.MissingFunction)
    costs = (m.ContingencyCost, m.RatioContingencyCost, m.LinearContingencyCost)
    rankings = (m.RocAuc, m.PartialAuc, m.TwoWayPartialAuc, m.AveragePrecision, m.NDCG, m.ReciprocalRank)
    money = (m.CostMatrix, m.Profit, m.SampleProfit)
    return (*tables, *rates, *restricted, *rankings, m.Share, m.Averaged, *functions, *costs, *money)


def _import_results() -> tuple[type, ...]:
    from metricwise.results import (
        Certificate,
        Fallback,
        History,
        HistoryEntry,
        Result,
        Status,
        StreamEntry,
        Witness,
    )

    return Certificate, Fallback, History, HistoryEntry, Result, Status, StreamEntry, Witness


def _import_decisions() -> tuple[type, ...]:
    from metricwise.decisions.adaptation_data import AdaptationData
    from metricwise.decisions.batch_rule import BatchRule
    from metricwise.decisions.confusion_posterior import ConfusionPosterior
    from metricwise.decisions.constant import Constant
    from metricwise.decisions.cost_matrix import CostDecision, CostTask
    from metricwise.decisions.decision import Calibration, Decision, Sigmoid
    from metricwise.decisions.design_effect import GroupedPosterior
    from metricwise.decisions.gain_rules import GainDecision
    from metricwise.decisions.group_constraints import GroupConstraint
    from metricwise.decisions.group_decision import GroupRule
    from metricwise.decisions.guarantee_watch import GuaranteeWatch
    from metricwise.decisions.guarantees import Constraint
    from metricwise.decisions.intervals import TablePosterior
    from metricwise.decisions.label_posterior import LabelPosterior
    from metricwise.decisions.learning_curve import Extrapolation, FinalPosterior
    from metricwise.decisions.monitor import GuaranteeMonitor
    from metricwise.decisions.multilabel_task import Multilabel
    from metricwise.decisions.outcome_posterior import OutcomePosterior
    from metricwise.decisions.prior_shift import PriorEstimate
    from metricwise.decisions.profit import ProfitDecision
    from metricwise.decisions.profit_task import ProfitTask
    from metricwise.decisions.ranking_posterior import RankingPosterior
    from metricwise.decisions.review_window import ReviewWindow
    from metricwise.decisions.score_reference import ScoreReference, ScoreWatch
    from metricwise.decisions.subgroups import GroupColumn
    from metricwise.decisions.tasks import Binary, Multiclass
    from metricwise.decisions.triage import TriageDecision

    tasks = (Binary, CostTask, Multiclass, Multilabel, ProfitTask)
    expected = (
        ConfusionPosterior,
        Extrapolation,
        FinalPosterior,
        GroupedPosterior,
        LabelPosterior,
        OutcomePosterior,
        RankingPosterior,
        TablePosterior,
    )
    watches = (Constraint, GuaranteeMonitor, GuaranteeWatch, ScoreReference, ScoreWatch)
    adapted = (AdaptationData, PriorEstimate)
    groups = (GroupColumn, GroupConstraint, GroupRule)
    reviews = (ReviewWindow, TriageDecision)
    others = (BatchRule, Calibration, Constant, CostDecision, Decision, GainDecision, ProfitDecision, Sigmoid)
    return (*tasks, *expected, *watches, *adapted, *groups, *reviews, *others)


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
    from metricwise.decisions.online import OnlineDecision
    from metricwise.decisions.online_rule import OnlineRule
    from metricwise.decisions.running_calibration import RunningCalibration
    from metricwise.decisions.running_counts import Forgetting, RunningCounts
    from metricwise.estimators.streaming.online_learning import OnlineModel
    from metricwise.estimators.streaming.training import BinaryModel, StreamModel
    from metricwise.io.hashing import HashedColumns

    online = (Forgetting, OnlineDecision, OnlineModel, OnlineRule, RunningCalibration, RunningCounts)
    return BinaryModel, HashedColumns, StreamModel, *online


def _import_multilabel() -> tuple[type, ...]:
    from metricwise.estimators.multilabel.chain import Chain

    return (Chain,)


def _import_wrappers() -> tuple[type, ...]:
    from metricwise.estimators.wrappers.adapted.adapter import Adapter
    from metricwise.estimators.wrappers.cost_sensitive.iterations import Iteration

    return Adapter, Iteration


def _import_selection() -> tuple[type, ...]:
    from metricwise.estimators.selection.booster import BoosterClassifier
    from metricwise.estimators.selection.ensemble import AveragedModels
    from metricwise.estimators.selection.preprocessing import Categories, Dense, FilledColumns, Prepared
    from metricwise.estimators.selection.texts import TextEncoder
    from metricwise.estimators.selection.times import Part, TimeEncoder

    columns = (Categories, Dense, FilledColumns, Part, TextEncoder, TimeEncoder)
    return AveragedModels, BoosterClassifier, Prepared, *columns


def _import_boosters() -> tuple[type, ...]:
    from metricwise.persistence.boosters.samples import CatBoostSamples, LightGBMSamples, XGBoostSamples
    from metricwise.persistence.boosters.stored import BoostedTrees, StoredBooster
    from metricwise.persistence.boosters.trees import NodeTrees, ObliviousTrees

    samples = (CatBoostSamples, LightGBMSamples, XGBoostSamples)
    return (*samples, BoostedTrees, NodeTrees, ObliviousTrees, StoredBooster)


GROUPS = (
    _import_measures,
    _import_results,
    _import_decisions,
    _import_solvers,
    _import_streaming,
    _import_multilabel,
    _import_wrappers,
    _import_selection,
    _import_boosters,
)
