"""Train classifiers for the measure they are judged by.

The public names are loaded on first use, so that ``import metricwise`` costs next to nothing: those of the estimators
by the registry, all others by the table below. Types are in ``__init__.pyi``.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from metricwise import registry

__version__ = "0.2.0"

# No submodule may share the name of a public object: importing the submodule would put the module in its place.
_HOMES = {
    "metricwise.certifying": "certify",
    "metricwise.decisions.guarantees": "UnreachableGuaranteeError",
    "metricwise.decisions.monitor": "GuaranteeMonitor",
    "metricwise.decisions.prior_shift": "UndeterminedPriorError",
    "metricwise.estimators.prior_adaptation": "adapt_prior",
    "metricwise.io.errors": "ModelFileError",
    "metricwise.measures": (
        "Accuracy AveragePrecision Averaged BalancedAccuracy CohenKappa CostMatrix FBeta GMean GowerLegendre HMean "
        "Jaccard MCC MinRate NDCG PRBEP PartialAuc PrecisionAtK PrecisionAtRecall Profit QMean RecallAtK "
        "RecallAtPrecision ReciprocalRank RocAuc Share TwoWayPartialAuc "
        "confusion_measure contingency_measure get_measure score_queries"
    ),
    "metricwise.persistence": "load save",
    "metricwise.persistence.exports": "export_text to_onnx",
    "metricwise.registry": "measure_names",
    "metricwise.reporting.displays": "MeasureCurveDisplay",
    "metricwise.reporting.page": "Report report",
    "metricwise.reporting.training_displays": "ConvergenceDisplay LeaderboardDisplay",
    "metricwise.results": (
        "Certificate DegenerateOptimumWarning Fallback History Result Status StreamEntry StreamResult"
    ),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names.split()}

__all__ = sorted([*_HOME_OF, *(entry.name for entry in registry.entries())])


def __getattr__(name: str) -> Any:
    """Return a public name, loaded on first use (PEP 562)."""
    entry = registry.entry_of(name)
    if entry is not None:
        return entry.load()
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value = getattr(import_module(_HOME_OF[name]), name)
    return value


def __dir__() -> list[str]:
    """Return the names loaded so far together with the public ones."""
    return sorted({*globals(), *_HOME_OF, *(entry.name for entry in registry.entries())})
