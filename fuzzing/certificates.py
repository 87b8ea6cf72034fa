"""The certificates of a fitted model against its objective in exact arithmetic."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from scipy import sparse

import metricwise as mw
from fuzzing.exact_objectives import ExactObjective, Floats, make_objective
from fuzzing.judging import Finding, attempt

_RELATIVE = 1e-6  # difference of bounds without an exact objective that rounding errors of scores may explain
_FACTORS = (0.0, 0.5, 0.99, 1.0 - 1e-6, 1.0 + 1e-6, 1.01, 2.0)


def check_certificates(what: str, model: Any, samples: Any, X: Floats, y: Any, weights: Any) -> None:
    """Raise a `Finding` unless the bounds of a binary model, and those of `certify`, hold and are tight.

    Parameters
    ----------
    what : str
        Name of the case.
    model : estimator
        A fitted model.
    samples : array or sparse matrix
        The samples it was trained on.
    X : array
        The same samples in double precision.
    y, weights : arrays
        Labels, and whole numbers as weights or None.
    """
    result = model.result_
    found: Any = attempt(mw.certify, model, samples, y, weights)
    if isinstance(found, Exception):
        raise Finding(f"{what}: the fitted model cannot be certified: {found}") from found
    own = result.certificate
    objective = make_objective(model, X, y, weights, is_sparse=sparse.issparse(samples))
    if objective is None:
        _compare_bounds(what, own, found, result.status.value)
    else:
        _compare_with_definition(what, objective, np.asarray(result.weights), {"fit": own, "certify": found})
    room = 2.0 * _RELATIVE * abs(own.upper)
    if result.status.value == "optimal" and own.gap > 1.01 * model.tol * abs(own.upper) + room:
        raise Finding(f"{what}: optimal with a gap of {own.gap!r} at {own.upper!r}, tol {model.tol}")


def _compare_bounds(what: str, own: Any, found: Any, status: str) -> None:
    """Compare both certificates with each other: their bounds have widths of their own."""
    room = _RELATIVE * (abs(own.upper) + abs(found.upper))
    if not own.lower <= own.upper + room:
        raise Finding(f"{what}: lower bound {own.lower!r} above the upper one {own.upper!r}")
    # Where training stalled, rounding has eaten the digits: bounds are wide, and by how much is a matter of the order.
    if not abs(own.upper - found.upper) <= room and status != "stalled":
        raise Finding(f"{what}: upper bound {own.upper!r}, and certify finds {found.upper!r}")
    if not found.lower <= own.upper + room or not own.lower <= found.upper + room:
        raise Finding(f"{what}: bounds {own.lower!r}, {own.upper!r} exclude those of certify")


def _compare_with_definition(what: str, objective: ExactObjective, w: Floats, certificates: dict[str, Any]) -> None:
    """Upper bounds are J of the weights but for rounding errors, and no weights have a J below a lower bound.

    Bounds are compared without any tolerance: they must hold in exact arithmetic.
    """
    value, room = objective.compute(w), objective.bound_rounding(w)
    least = min([value, *(objective.compute(other) for other in _list_weights(w))])
    for name, certificate in certificates.items():
        if math.isnan(certificate.upper) or certificate.upper < value:
            raise Finding(f"{what}: upper bound {certificate.upper!r} of {name} below the objective {float(value)!r}")
        if math.isfinite(room) and certificate.upper > value + Fraction(room):
            raise Finding(
                f"{what}: upper bound {certificate.upper!r} of {name}, but the objective is {float(value)!r}, and "
                f"rounding adds {room:.1e}"
            )
        if not certificate.lower <= least:
            raise Finding(
                f"{what}: lower bound {certificate.lower!r} of {name}, but some weights have {float(least)!r}"
            )


def _list_weights(w: Floats) -> Iterator[Floats]:
    """Yield weights around given ones; what is zero stays zero, since features may not have been selected."""
    rng, reach = np.random.default_rng(0), np.where(w, 1e-3 * np.abs(w).max(initial=0.0), 0.0)
    for factor in _FACTORS:
        yield factor * w
        yield factor * w + reach * rng.normal(size=w.size)
