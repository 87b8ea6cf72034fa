"""Which estimators there are, and which measures they can be trained for."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from metricwise.measures import HasViolatedLabelling, Measure, registered_names
from metricwise.solvers.class_prices import NEEDS

# By name, so that asking for one estimator does not load the others.
_ESTIMATORS = {
    "AMPClassifier": "metricwise.estimators.amp",
    "AUCSVC": "metricwise.estimators.auc_svc",
    "FeatureSelectingSVC": "metricwise.estimators.feature_selecting_svc",
    "MiniBatchSVC": "metricwise.estimators.minibatch_svc",
    "MultivariateSVC": "metricwise.estimators.multivariate_svc",
    "SPADEClassifier": "metricwise.estimators.spade",
    "STAMPClassifier": "metricwise.estimators.stamp",
    "SmoothedSVC": "metricwise.estimators.smoothed_svc",
    "SparseCodingClassifier": "metricwise.estimators.sparse_coding",
}
# These wrap learners: thresholds and candidates are chosen for any measure; some set prices or have an oracle.
_WRAPPERS: dict[str, Any] = {
    "AdaptedSVC": HasViolatedLabelling,
    "CostSensitiveClassifier": NEEDS,
    "MetricClassifier": Measure,
    "PlugInClassifier": Measure,
}


def estimator_names() -> tuple[str, ...]:
    """Return the names of the estimators that are trained for a measure."""
    return tuple(sorted(_ESTIMATORS))


def _needs(solver: str) -> Any:
    if solver in _WRAPPERS:
        return _WRAPPERS[solver]
    return getattr(import_module(_ESTIMATORS[solver]), solver).needs


def measure_names(solver: str | type | None = None) -> tuple[str, ...]:
    """Return the names of all measures, or of those that an estimator can be trained for.

    Parameters
    ----------
    solver : str or class, optional
        An estimator such as "MultivariateSVC".

    Examples
    --------
    >>> from metricwise import measure_names
    >>> "recall_at_precision" in measure_names()
    True
    >>> "recall_at_precision" in measure_names("MultivariateSVC")
    False
    """
    if solver is None:
        return registered_names()
    name = solver.__name__ if isinstance(solver, type) else solver
    if name not in (*_ESTIMATORS, *_WRAPPERS):
        known = ", ".join(sorted([*_ESTIMATORS, *_WRAPPERS]))
        raise ValueError(f"solver must be one of {known}, got {solver!r}")
    return registered_names(_needs(name))


def check_trainable(measure: Measure, solver: str) -> None:
    """Raise a TypeError, which says what fits instead, unless the estimator can be trained for the measure."""
    if isinstance(measure, _needs(solver)):
        return
    fitting = [name for name in estimator_names() if isinstance(measure, _needs(name))]
    fitting += [name for name, needs in _WRAPPERS.items() if isinstance(measure, needs)]
    others = f"estimators for it: {', '.join(fitting)}"
    raise TypeError(
        f"measure {measure.name!r} lacks what {solver} needs ({_needs(solver).__name__}); {others}. "
        f"{solver} takes: {', '.join(measure_names(solver))}."
    )
