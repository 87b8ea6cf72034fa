"""Measures of how well predicted labels or scores agree with the true labels.

A measure is a frozen dataclass; the protocols of `base` and of the modules of capabilities name what
else it can do.
"""

from __future__ import annotations

from metricwise.measures.averages import Averaged
from metricwise.measures.base import (
    CountsTable,
    DeclaresSymmetric,
    HasMistakeCosts,
    HasViolatedLabelling,
    IsCost,
    IsTotal,
    Measure,
    NeedsConstraint,
    Response,
    RestrictsLabellings,
    Table,
    is_symmetric,
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
from metricwise.measures.multiclass_capabilities import (
    ConcaveInRecalls,
    ConfusionRatio,
    CountsClassTables,
    CountsConfusion,
    HasMulticlassValue,
    RatioOfConfusion,
    needs_whole_matrix,
)
from metricwise.measures.profit import Profit, SampleProfit
from metricwise.measures.queries import score_queries
from metricwise.measures.rank_gains import NDCG, AveragePrecision, ReciprocalRank
from metricwise.measures.ranking import PartialAuc, RocAuc, TwoWayPartialAuc
from metricwise.measures.ranking_capabilities import GainsByRank, GradesRelevance, RanksPairs, RocRegion
from metricwise.measures.rate_capabilities import ConcaveInRates, DualRegion, HasDualRegion, Ratio, RatioOfRates
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
