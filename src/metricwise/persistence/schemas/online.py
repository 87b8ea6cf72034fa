"""Relations of the running counts and rules of a stream."""

from __future__ import annotations

from typing import Any

import numpy as np

from metricwise.decisions.running_calibration import STEEPEST, RunningCalibration
from metricwise.decisions.running_counts import LARGEST_SUM, MOST_SAMPLES
from metricwise.persistence.schemas.parts import require

_WRONG = "a stream is damaged: its running counts, rules and classes do not fit together"


def check_counts(decision: Any) -> None:
    """Raise unless the counts and rules of a decision are those of its classes or labels."""
    n_classes, is_multilabel = decision.task.classes.size, decision.task.is_multilabel
    require(n_classes == 2 if decision.task.is_binary else is_multilabel or n_classes > 2, _WRONG)
    shape = (n_classes, 2, 2) if is_multilabel else (1, n_classes, n_classes)
    running = decision.running
    arrays = (running.counts, running.pending, *running.blocks)
    require(all(_are_numbers(one) and one.shape == shape and _are_counts(one) for one in arrays), _WRONG)
    sums_of_squares = running.squares, running.pending_squares
    require(all(0.0 <= one <= LARGEST_SUM**2 for one in sums_of_squares), _WRONG)
    require(len(running.blocks) == len(running.block_sizes), _WRONG)
    require(all(type(size) is int and size >= 0 for size in running.block_sizes), _WRONG)
    require(0 <= running.renewed_at <= running.position < running.renewal, _WRONG)
    require(running.position <= MOST_SAMPLES, _WRONG)
    forgetting = running.forgetting
    require(forgetting.half_life is None or forgetting.half_life >= 1.0, _WRONG)
    require(forgetting.window is None or forgetting.window >= 2, _WRONG)
    n_columns = 1 if decision.task.is_binary else n_classes
    for rule in (decision.current, decision.average):
        require(all(_are_numbers(one) and one.shape == (n_columns,) for one in (rule.slopes, rule.offsets)), _WRONG)
        require((rule.costs is None) == (type(decision.task).__name__ != "CostTask"), _WRONG)
        require(rule.costs is None or (_are_numbers(rule.costs) and rule.costs.shape == shape[1:]), _WRONG)
    _check_calibration(decision.calibration, n_columns)


def _check_calibration(calibration: Any, n_columns: int) -> None:
    if calibration is None:
        return
    lines, counts, positives = (calibration.slopes, calibration.intercepts), calibration.counts, calibration.positives
    require(all(_are_numbers(one) and one.shape == (n_columns,) for one in lines), _WRONG)
    require(all(np.all(np.abs(one) <= STEEPEST) for one in lines), _WRONG)
    shape = RunningCalibration.start(n_columns).counts.shape
    require(all(_are_numbers(one) and one.shape == shape for one in (counts, positives)), _WRONG)
    require(_are_counts(counts) and np.all((positives >= 0.0) & (positives <= counts)), _WRONG)


def _are_counts(tables: Any) -> bool:
    """Return whether tables, one per entry of the first axis, hold weights that a stream may have in total."""
    return bool(np.all(tables >= 0.0) and np.all(tables.reshape(len(tables), -1).sum(axis=1) <= LARGEST_SUM))


def _are_numbers(values: Any) -> bool:
    is_array = isinstance(values, np.ndarray) and values.dtype == np.float64
    return bool(is_array and np.all(np.isfinite(values)))
