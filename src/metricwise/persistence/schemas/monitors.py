"""The schema of a monitor of guarantees, and the checks of the parts that it holds."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from metricwise._state import Values
from metricwise.decisions.betting import LEAST_ALPHA, MOST_OUTCOMES, N_BETS
from metricwise.persistence.schemas import kinds as k
from metricwise.persistence.schemas.kinds import Sizes
from metricwise.persistence.schemas.parts import require
from metricwise.persistence.schemas.schema import Schema

_WRONG = "a monitor is damaged: its counts, stakes and guarantees do not fit together"


def _check_reference(values: Values) -> None:
    cuts, above, n = values["cuts"], values["n_above"], values["n_samples"]
    require(cuts.ndim == 1 and cuts.size >= 1 and above.shape == cuts.shape and n >= 0, _WRONG)
    require(np.all(np.isfinite(cuts)) and np.all((above >= 0.0) & (above <= n)), _WRONG)
    columns = values.get("columns")  # files of the first version have none: one column of scores
    columns = np.zeros(cuts.size, dtype=np.int64) if columns is None else columns
    require(columns.shape == cuts.shape and columns.dtype.kind == "i" and columns.min() >= 0, _WRONG)
    steps = np.diff(columns)
    require(np.all((steps > 0) | ((steps == 0) & (np.diff(cuts) > 0.0))), _WRONG)


def _check_constraint(values: Values) -> None:
    require(0.0 < values["bound"] < 1.0, _WRONG)


def _check_watch(values: Values) -> None:
    """Raise unless the counts, stakes and points of a guarantee are those of some course of outcomes."""
    n, of_kind, points = values["n_counted"], values["n_of_kind"], values["points"]
    require(0.0 < values["alpha"] < 1.0 and 0 <= of_kind <= n and values["stride"] >= 1, _WRONG)
    _check_stakes(values["stakes"], (N_BETS,))
    require(points.ndim == 2 and points.shape[1] == 4 and np.all(np.isfinite(points)), _WRONG)
    require(values["alarm_at"] is None or values["alarm_at"] >= 1, _WRONG)


def _check_score_watch(values: Values) -> None:
    require(LEAST_ALPHA <= values["alpha"] < 1.0 and 0 <= values["n_seen"] <= MOST_OUTCOMES, _WRONG)
    require(values["warning_at"] is None or 1 <= values["warning_at"] <= values["n_seen"], _WRONG)
    _check_stakes(values["stakes"], (2 * values["reference"].cuts.size, N_BETS))


def _check_stakes(stakes: Any, shape: tuple[int, ...]) -> None:
    require(stakes.shape == shape and np.all(np.isfinite(stakes)) and np.all(stakes >= 0.0), _WRONG)


def _check_monitor(values: Values, sizes: Sizes) -> None:
    watches, labels, n_seen = values["_watches"], values["_labels"], values["n_seen"]
    is_binary = values["_kind"] == "binary"
    require(watches and labels, _WRONG)
    require(values["_positive"] in labels if is_binary else values["_positive"] is None, _WRONG)
    for watch in watches:
        require(is_binary or watch.constraint.of_class in [None, *labels], _WRONG)
        require(watch.n_counted <= n_seen and (watch.alarm_at or 0) <= n_seen, _WRONG)
        require(math.isclose(watch.alpha * len(watches), values["alpha"]), _WRONG)
    scores = values["_scores"]
    require(scores is None or scores.alpha == values["alpha"], _WRONG)
    columns = None if scores is None else scores.reference.columns
    require(scores is None or (columns is None) == is_binary, _WRONG)
    require(columns is None or columns.max() < len(labels), _WRONG)


SCHEMA = Schema(
    always={
        "alpha": lambda value, sizes: k.is_real(value) and LEAST_ALPHA <= value < 1.0,
        "n_seen": k.whole(0, MOST_OUTCOMES),
        "_watches": k.list_of(k.of_class("GuaranteeWatch")),
        "_scores": k.either(k.none, k.of_class("ScoreWatch")),
        "_labels": k.list_of(k.plain),
        "_positive": k.plain,
        "_points_up": k.boolean,
        "_last": k.either(k.none, k.any_text, k.real()),
        "_kind": lambda value, sizes: isinstance(value, str) and value in ("binary", "multiclass", "multilabel"),
    },
    check_relations=_check_monitor,
)
CHECKS: dict[str, Callable[[Values], None]] = {
    "Constraint": _check_constraint,
    "GuaranteeWatch": _check_watch,
    "ScoreReference": _check_reference,
    "ScoreWatch": _check_score_watch,
}
