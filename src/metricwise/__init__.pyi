"""The public names with their types; a test compares them with the registry and with __init__.py."""

from metricwise.certifying import certify
from metricwise.decisions.guarantees import UnreachableGuaranteeError
from metricwise.decisions.monitor import GuaranteeMonitor
from metricwise.decisions.prior_shift import UndeterminedPriorError
from metricwise.estimators.multilabel.binary_relevance import BinaryRelevance
from metricwise.estimators.multilabel.classifier_chain import ProbabilisticClassifierChain
from metricwise.estimators.prior_adaptation import adapt_prior
from metricwise.estimators.selection.classifier import MetricClassifier
from metricwise.estimators.streaming.minibatch_svc import MiniBatchSVC
from metricwise.estimators.streaming.online import OnlineMetricClassifier
from metricwise.estimators.streaming.spade import SPADEClassifier
from metricwise.estimators.streaming.stamp import STAMPClassifier
from metricwise.estimators.svm.amp import AMPClassifier
from metricwise.estimators.svm.auc_svc import AUCSVC
from metricwise.estimators.svm.feature_selecting_svc import FeatureSelectingSVC
from metricwise.estimators.svm.multivariate_svc import MultivariateSVC
from metricwise.estimators.svm.ranking_svc import RankingSVC
from metricwise.estimators.svm.smoothed_svc import SmoothedSVC
from metricwise.estimators.svm.sparse_coding import SparseCodingClassifier
from metricwise.estimators.wrappers.adapted.classifier import AdaptedSVC
from metricwise.estimators.wrappers.cost_sensitive.classifier import CostSensitiveClassifier
from metricwise.estimators.wrappers.plug_in import PlugInClassifier
from metricwise.estimators.wrappers.triage import TriageClassifier
from metricwise.io.errors import ModelFileError
from metricwise.measures import (
    MCC,
    NDCG,
    PRBEP,
    Accuracy,
    Averaged,
    AveragePrecision,
    BalancedAccuracy,
    CohenKappa,
    CostMatrix,
    FBeta,
    GMean,
    GowerLegendre,
    HMean,
    Jaccard,
    MinRate,
    PartialAuc,
    PrecisionAtK,
    PrecisionAtRecall,
    Profit,
    QMean,
    RecallAtK,
    RecallAtPrecision,
    ReciprocalRank,
    RocAuc,
    Share,
    TwoWayPartialAuc,
    confusion_measure,
    contingency_measure,
    get_measure,
    score_queries,
)
from metricwise.persistence import load, save
from metricwise.persistence.exports import export_text, to_onnx
from metricwise.registry import measure_names
from metricwise.reporting.displays import MeasureCurveDisplay
from metricwise.reporting.page import Report, report
from metricwise.reporting.training_displays import ConvergenceDisplay, LeaderboardDisplay
from metricwise.results import (
    Certificate,
    DegenerateOptimumWarning,
    Fallback,
    History,
    Result,
    Status,
    StreamEntry,
    StreamResult,
)

__version__: str

__all__ = [
    "AUCSVC",
    "MCC",
    "NDCG",
    "PRBEP",
    "AMPClassifier",
    "Accuracy",
    "AdaptedSVC",
    "AveragePrecision",
    "Averaged",
    "BalancedAccuracy",
    "BinaryRelevance",
    "Certificate",
    "CohenKappa",
    "ConvergenceDisplay",
    "CostMatrix",
    "CostSensitiveClassifier",
    "DegenerateOptimumWarning",
    "FBeta",
    "Fallback",
    "FeatureSelectingSVC",
    "GMean",
    "GowerLegendre",
    "GuaranteeMonitor",
    "HMean",
    "History",
    "Jaccard",
    "LeaderboardDisplay",
    "MeasureCurveDisplay",
    "MetricClassifier",
    "MinRate",
    "MiniBatchSVC",
    "ModelFileError",
    "MultivariateSVC",
    "OnlineMetricClassifier",
    "PartialAuc",
    "PlugInClassifier",
    "PrecisionAtK",
    "PrecisionAtRecall",
    "ProbabilisticClassifierChain",
    "Profit",
    "QMean",
    "RankingSVC",
    "RecallAtK",
    "RecallAtPrecision",
    "ReciprocalRank",
    "Report",
    "Result",
    "RocAuc",
    "SPADEClassifier",
    "STAMPClassifier",
    "Share",
    "SmoothedSVC",
    "SparseCodingClassifier",
    "Status",
    "StreamEntry",
    "StreamResult",
    "TriageClassifier",
    "TwoWayPartialAuc",
    "UndeterminedPriorError",
    "UnreachableGuaranteeError",
    "adapt_prior",
    "certify",
    "confusion_measure",
    "contingency_measure",
    "export_text",
    "get_measure",
    "load",
    "measure_names",
    "report",
    "save",
    "score_queries",
    "to_onnx",
]
