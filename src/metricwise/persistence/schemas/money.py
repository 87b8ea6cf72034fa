"""Checks of the parts of models that decide by profit, cost or expected gain."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from metricwise._state import Values
from metricwise.persistence.schemas import kinds as k
from metricwise.persistence.schemas.parts import require

_WRONG = "a model is damaged: its amounts, costs and decision do not fit together"
# The decision that belongs to a task; others have a plain one.
_DECISION_OF = {"ProfitTask": "ProfitDecision", "CostTask": "CostDecision"}
BINARY = ("Binary", "ProfitTask")


def check_money(task: Any, decision: Any) -> None:
    """Raise unless a task has a decision of its kind, with lines and costs for its classes."""
    kind = type(task).__name__
    if kind == "Multiclass" and type(decision).__name__ == "GainDecision":
        _check_gains(decision, task.classes.size)
        return
    require(type(decision).__name__ == _DECISION_OF.get(kind, "Decision"), _WRONG)
    if kind == "ProfitTask":
        require(type(task.measure).__name__ == "SampleProfit" and len(decision.calibration.lines) == 1, _WRONG)
    if kind == "CostTask":
        n = task.classes.size
        require(type(task.measure).__name__ == "CostMatrix", _WRONG)
        require(decision.costs is not None and decision.costs.shape == (n, n), _WRONG)
        require(np.all(np.isfinite(decision.costs)) and np.array_equal(task.costs, decision.costs), _WRONG)


def _check_gains(decision: Any, n_classes: int) -> None:
    """Raise unless a mixture of matrices of gains has one for every probability, and lines for the classes."""
    gains, shares = decision.gains, decision.shares
    require(gains is not None and gains.ndim == 3 and gains.shape[1:] == (n_classes, n_classes), _WRONG)
    require(shares is not None and shares.shape == gains.shape[:1] and shares.size > 0, _WRONG)
    require(np.all(np.isfinite(gains)) and np.all(shares >= 0.0) and abs(shares.sum() - 1.0) < 1e-6, _WRONG)
    require(len(decision.calibration.lines) == n_classes, _WRONG)
    floor = decision.floor
    require(floor is None or (floor.shape == (n_classes,) and bool(np.all(np.isfinite(floor)))), _WRONG)
    require(type(decision.seed) is int and 0 <= decision.seed < 1 << 63, _WRONG)


def _check_profit(values: Values) -> None:
    from metricwise.measures.profit import Profit  # not needed for other models

    amounts = [values[outcome] for outcome in ("tp", "fp", "fn", "tn")]
    require(all(type(one) in (float, str) for one in amounts), _WRONG)
    require(Profit(*amounts)._amounts == tuple(amounts), _WRONG)  # parses, and raises for what is no amount
    require(all(type(one) is str for one in values.get("given", ())), _WRONG)
    if "stake" in values:
        require(np.isfinite(values["best"]) and np.isfinite(values["stake"]) and values["stake"] > 0.0, _WRONG)


def _check_cost_matrix(values: Values) -> None:
    from metricwise.measures.cost_matrix import CostMatrix  # not needed for other models

    costs, classes = values["costs"], values["classes"]
    is_matrix = type(costs) is tuple and all(type(row) is tuple and all(type(c) is float for c in row) for row in costs)
    is_named = classes is None or (type(classes) is tuple and all(k.plain(label, {}) for label in classes))
    require(is_matrix and is_named, _WRONG)
    require(CostMatrix(costs, classes).costs == costs, _WRONG)


def _check_outcomes(values: Values) -> None:
    earned, constant, weights = values["earned"], values["constant"], values["weights"]
    n = earned.size
    require(earned.shape == weights.shape == (n,) and n > 0, _WRONG)
    require(constant.ndim == 2 and constant.shape[0] == n and constant.shape[1] >= 1, _WRONG)
    require(all(np.all(np.isfinite(part)) for part in (earned, constant, weights)), _WRONG)
    require(np.all(weights >= 0.0) and weights.sum() > 0.0, _WRONG)
    require(np.isfinite(values["best"]) and np.isfinite(values["stake"]) and values["stake"] > 0.0, _WRONG)


CHECKS: dict[str, Callable[[Values], None]] = {
    "CostMatrix": _check_cost_matrix,
    "OutcomePosterior": _check_outcomes,
    "Profit": _check_profit,
    "SampleProfit": _check_profit,
}
