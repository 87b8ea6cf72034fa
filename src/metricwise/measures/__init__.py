"""Measures of how well predicted labels or scores agree with the true labels.

A measure is a frozen dataclass; the protocols of `metricwise.measures.base` name what else it can do.
"""

from __future__ import annotations

from metricwise.measures.averages import Averaged
from metricwise.measures.base import (
    ConcaveInRates,
    ConcaveInRecalls,
    ConfusionRatio,
    CountsClassTables,
    CountsConfusion,
    CountsTable,
    DeclaresSymmetric,
    DualRegion,
    GainsByRank,
    GradesRelevance,
    HasDualRegion,
    HasMistakeCosts,
    HasMulticlassValue,
    HasViolatedLabelling,
    IsCost,
    IsTotal,
    Measure,
    NeedsConstraint,
    RanksPairs,
    Ratio,
    RatioOfConfusion,
    RatioOfRates,
    Response,
    RestrictsLabellings,
    RocRegion,
    Table,
    is_symmetric,
    needs_whole_matrix,
)
from metricwise.measures.confusion_functions import ConfusionMeasure, confusion_measure
from metricwise.measures.contingency import (
    MCC,
    Accuracy,
    BalancedAccuracy,
    CohenKappa,
    FBeta,
    GowerLegendre,
    Jaccard,
)
from metricwise.measures.cost_matrix import CostMatrix
from metricwise.measures.costs import ContingencyCost, LinearContingencyCost, RatioContingencyCost
from metricwise.measures.custom import ContingencyMeasure, RatioContingencyMeasure, contingency_measure
from metricwise.measures.function_measures import FunctionMeasure, MissingFunction, MissingFunctionError
from metricwise.measures.profit import Profit, SampleProfit
from metricwise.measures.queries import score_queries
from metricwise.measures.rank_gains import NDCG, AveragePrecision, ReciprocalRank
from metricwise.measures.ranking import PartialAuc, RocAuc, TwoWayPartialAuc
from metricwise.measures.rates import GMean, HMean, MinRate, QMean
from metricwise.measures.registry import get_measure, register, registered_names
from metricwise.measures.restricted import PRBEP, PrecisionAtK, PrecisionAtRecall, RecallAtK, RecallAtPrecision
from metricwise.measures.shares import Share
from metricwise.measures.tables import contingency_table

__all__ = [
    "MCC",
    "NDCG",
    "PRBEP",
    "Accuracy",
    "AveragePrecision",
    "Averaged",
    "BalancedAccuracy",
    "CohenKappa",
    "ConcaveInRates",
    "ConcaveInRecalls",
    "ConfusionMeasure",
    "ConfusionRatio",
    "ContingencyCost",
    "ContingencyMeasure",
    "CostMatrix",
    "CountsClassTables",
    "CountsConfusion",
    "CountsTable",
    "DeclaresSymmetric",
    "DualRegion",
    "FBeta",
    "FunctionMeasure",
    "GMean",
    "GainsByRank",
    "GowerLegendre",
    "GradesRelevance",
    "HMean",
    "HasDualRegion",
    "HasMistakeCosts",
    "HasMulticlassValue",
    "HasViolatedLabelling",
    "IsCost",
    "IsTotal",
    "Jaccard",
    "LinearContingencyCost",
    "Measure",
    "MinRate",
    "MissingFunction",
    "MissingFunctionError",
    "NeedsConstraint",
    "PartialAuc",
    "PrecisionAtK",
    "PrecisionAtRecall",
    "Profit",
    "QMean",
    "RanksPairs",
    "Ratio",
    "RatioContingencyCost",
    "RatioContingencyMeasure",
    "RatioOfConfusion",
    "RatioOfRates",
    "RecallAtK",
    "RecallAtPrecision",
    "ReciprocalRank",
    "Response",
    "RestrictsLabellings",
    "RocAuc",
    "RocRegion",
    "SampleProfit",
    "Share",
    "Table",
    "TwoWayPartialAuc",
    "confusion_measure",
    "contingency_measure",
    "contingency_table",
    "get_measure",
    "is_symmetric",
    "needs_whole_matrix",
    "register",
    "registered_names",
    "score_queries",
]
