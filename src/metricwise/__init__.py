"""Train classifiers for the measure they are judged by.

The public names are loaded on first use, so that ``import metricwise`` costs next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

__version__ = "0.1.0"

__all__ = [
    "AUCSVC",
    "MCC",
    "PRBEP",
    "AMPClassifier",
    "Accuracy",
    "AdaptedSVC",
    "Averaged",
    "BalancedAccuracy",
    "BinaryRelevance",
    "Certificate",
    "CohenKappa",
    "ConvergenceDisplay",
    "CostSensitiveClassifier",
    "DegenerateOptimumWarning",
    "FBeta",
    "FeatureSelectingSVC",
    "GMean",
    "GowerLegendre",
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
    "PartialAuc",
    "PlugInClassifier",
    "PrecisionAtK",
    "PrecisionAtRecall",
    "ProbabilisticClassifierChain",
    "QMean",
    "RecallAtK",
    "RecallAtPrecision",
    "Report",
    "Result",
    "RocAuc",
    "SPADEClassifier",
    "STAMPClassifier",
    "SmoothedSVC",
    "SparseCodingClassifier",
    "Status",
    "StreamEntry",
    "StreamResult",
    "certify",
    "contingency_measure",
    "export_text",
    "get_measure",
    "load",
    "measure_names",
    "report",
    "save",
    "to_onnx",
]

if TYPE_CHECKING:
    from metricwise.certifying import certify
    from metricwise.estimators.adapted.classifier import AdaptedSVC
    from metricwise.estimators.amp import AMPClassifier
    from metricwise.estimators.auc_svc import AUCSVC
    from metricwise.estimators.catalog import measure_names
    from metricwise.estimators.cost_sensitive.classifier import CostSensitiveClassifier
    from metricwise.estimators.feature_selecting_svc import FeatureSelectingSVC
    from metricwise.estimators.front_door.classifier import MetricClassifier
    from metricwise.estimators.minibatch_svc import MiniBatchSVC
    from metricwise.estimators.multilabel.binary_relevance import BinaryRelevance
    from metricwise.estimators.multilabel.classifier_chain import ProbabilisticClassifierChain
    from metricwise.estimators.multivariate_svc import MultivariateSVC
    from metricwise.estimators.plug_in.classifier import PlugInClassifier
    from metricwise.estimators.smoothed_svc import SmoothedSVC
    from metricwise.estimators.spade import SPADEClassifier
    from metricwise.estimators.sparse_coding import SparseCodingClassifier
    from metricwise.estimators.stamp import STAMPClassifier
    from metricwise.io.errors import ModelFileError
    from metricwise.io.exports import export_text, to_onnx
    from metricwise.io.model_files import load, save
    from metricwise.measures import (
        MCC,
        PRBEP,
        Accuracy,
        Averaged,
        BalancedAccuracy,
        CohenKappa,
        FBeta,
        GMean,
        GowerLegendre,
        HMean,
        Jaccard,
        MinRate,
        PartialAuc,
        PrecisionAtK,
        PrecisionAtRecall,
        QMean,
        RecallAtK,
        RecallAtPrecision,
        RocAuc,
        contingency_measure,
        get_measure,
    )
    from metricwise.reporting.displays import MeasureCurveDisplay
    from metricwise.reporting.page import Report, report
    from metricwise.reporting.training_displays import ConvergenceDisplay, LeaderboardDisplay
    from metricwise.results import (
        Certificate,
        DegenerateOptimumWarning,
        History,
        Result,
        Status,
        StreamEntry,
        StreamResult,
    )
else:
    # Where a name lives, if not in metricwise.measures. No submodule may share the name of a public object:
    # importing the submodule would put the module in the object's place.
    _HOMES = {
        "AdaptedSVC": "metricwise.estimators.adapted.classifier",
        "AMPClassifier": "metricwise.estimators.amp",
        "AUCSVC": "metricwise.estimators.auc_svc",
        "BinaryRelevance": "metricwise.estimators.multilabel.binary_relevance",
        "MiniBatchSVC": "metricwise.estimators.minibatch_svc",
        "MultivariateSVC": "metricwise.estimators.multivariate_svc",
        "CostSensitiveClassifier": "metricwise.estimators.cost_sensitive.classifier",
        "FeatureSelectingSVC": "metricwise.estimators.feature_selecting_svc",
        "MetricClassifier": "metricwise.estimators.front_door.classifier",
        "PlugInClassifier": "metricwise.estimators.plug_in.classifier",
        "ProbabilisticClassifierChain": "metricwise.estimators.multilabel.classifier_chain",
        "SPADEClassifier": "metricwise.estimators.spade",
        "STAMPClassifier": "metricwise.estimators.stamp",
        "SmoothedSVC": "metricwise.estimators.smoothed_svc",
        "SparseCodingClassifier": "metricwise.estimators.sparse_coding",
        "StreamEntry": "metricwise.results",
        "StreamResult": "metricwise.results",
        "measure_names": "metricwise.estimators.catalog",
        "ModelFileError": "metricwise.io.errors",
        "export_text": "metricwise.io.exports",
        "load": "metricwise.io.model_files",
        "save": "metricwise.io.model_files",
        "to_onnx": "metricwise.io.exports",
        "certify": "metricwise.certifying",
        "ConvergenceDisplay": "metricwise.reporting.training_displays",
        "LeaderboardDisplay": "metricwise.reporting.training_displays",
        "MeasureCurveDisplay": "metricwise.reporting.displays",
        "Report": "metricwise.reporting.page",
        "report": "metricwise.reporting.page",
        "Certificate": "metricwise.results",
        "DegenerateOptimumWarning": "metricwise.results",
        "History": "metricwise.results",
        "Result": "metricwise.results",
        "Status": "metricwise.results",
    }

    def __getattr__(name):
        """Load a public name on first use and keep it (PEP 562)."""
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        value = getattr(import_module(_HOMES.get(name, "metricwise.measures")), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    """The names loaded so far together with the public ones."""
    return sorted({*globals(), *__all__})
