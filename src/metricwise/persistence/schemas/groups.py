"""Checks of what models with constraints by group hold."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from metricwise._state import Values
from metricwise.persistence.schemas import kinds as k
from metricwise.persistence.schemas.kinds import Check
from metricwise.persistence.schemas.parts import require

_WRONG = "a model is damaged: its groups, constraints and thresholds do not fit together"
GROUPS: dict[str, Check] = {"_group_rule": k.either(k.none, k.of_class("GroupRule"))}


def _check_column(values: Values) -> None:
    groups = values["groups"]
    require(values["name"] and len(groups) >= 2 and len(set(groups)) == len(groups), _WRONG)


def _check_rule(values: Values) -> None:
    columns, constraints, thresholds = values["columns"], values["constraints"], values.get("thresholds")
    names = [column.name for column in columns]
    require(constraints and set(names) == {one.by for one in constraints} and len(set(names)) == len(names), _WRONG)
    if thresholds is not None:
        require(len(columns) == 1 and thresholds.shape == (len(columns[0].groups),), _WRONG)
        require(not np.isnan(thresholds).any(), _WRONG)


CHECKS: dict[str, Callable[[Values], None]] = {"GroupColumn": _check_column, "GroupRule": _check_rule}
