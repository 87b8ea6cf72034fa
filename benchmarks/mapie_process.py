"""Choose two thresholds by MAPIE's BinaryClassificationController for the calibration samples in a file: IN OUT.

Runs in an environment of its own, without metricwise. The file has, for every repetition, probabilities and labels of
calibration samples, a grid of thresholds, and the levels of precision and negative predictive value. For every
repetition and method the result holds the lower and the upper threshold, NaN where no pair is valid.
"""

from __future__ import annotations

import sys
import warnings
from typing import Any

import numpy as np
from mapie.risk_control import BinaryClassificationController

METHODS = ("split_fixed_sequence", "bonferroni_holm")
LEARNT = 1 / 3  # of the calibration samples, that order the pairs of thresholds of split_fixed_sequence
BETAS = np.logspace(-25, 0, 100)  # a tenth of the default, whose loops take ten times as long


def decide(X: Any, lower: float, upper: float) -> Any:
    """Return 1 from the upper threshold on, 0 below the lower one, and NaN, which abstains, between."""
    chance = X[:, 0]
    return np.where(chance >= upper, 1.0, np.where(chance < lower, 0.0, np.nan))


def choose(method: str, grid: Any, chance: Any, y: Any, levels: list[float], confidence: float) -> tuple[float, float]:
    """Return the pair of thresholds with the lowest abstention rate among the valid ones."""
    pairs = np.array([(lower, upper) for lower in grid for upper in grid if lower <= upper])
    controller = BinaryClassificationController(
        decide,
        risk=["precision", "negative_predictive_value"],
        target_level=levels,
        confidence_level=confidence,
        best_predict_param_choice="abstention_rate",
        list_predict_params=pairs,
        fwer_method=method,
    )
    X = chance[:, None]
    if method == "split_fixed_sequence":
        size = round(LEARNT * y.size)
        controller.learn_fixed_sequence_order(X[:size], y[:size], beta_grid=BETAS, binary=True)
        X, y = X[size:], y[size:]
    controller.calibrate(X, y)
    found = controller.best_predict_param
    return (np.nan, np.nan) if found is None else found


def main(source: str, target: str) -> None:
    """Choose thresholds for all repetitions."""
    warnings.simplefilter("ignore")  # that no pair is valid
    data = np.load(source)
    levels, confidence = data["levels"].tolist(), float(data["confidence"])
    found = {
        method: np.array(
            [
                choose(method, data["grid"], chance, y, levels, confidence)
                for chance, y in zip(data["chance"], data["y"], strict=True)
            ]
        )
        for method in METHODS
    }
    np.savez(target, **found)


if __name__ == "__main__":
    main(*sys.argv[1:])
