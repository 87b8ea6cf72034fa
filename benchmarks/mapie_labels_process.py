"""Choose thresholds of labels by MAPIE's controllers on the draws of a file: FILE.

Runs in an environment of its own, without metricwise. A file holds probabilities and truth of a population, the draws
of every trial (half to order thresholds, half to test them), the share that is wanted and its bound. Thresholds of each
controller are written beside it; NaN where it finds none.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from mapie.risk_control import BinaryClassificationController, MultiLabelClassificationController

FEW = 10  # trials of the controller of means over samples, which takes twenty times as long as the others
# Of the learned order, over the range of the library, whose 1000 levels take fifty times as long: close together where
# tests fail.
LEVELS = np.concatenate([np.logspace(-25, -7, 5), np.logspace(-6, 0, 16)])


def control_label(chances: Any, truth: Any, share: str, bound: float, confidence: float, method: str) -> float:
    """Return the threshold of one label; NaN if no threshold is controlled."""
    columns = np.column_stack([1.0 - chances, chances])
    # Its own thresholds go up to 0.99, and where one of them predicts no positive, it controls none at all.
    thresholds = np.linspace(0.0, np.sort(chances)[-10], 100)
    controller = BinaryClassificationController(
        lambda samples: columns[samples],
        share,
        bound,
        confidence_level=confidence,
        fwer_method=method,
        list_predict_params=thresholds,
    )
    samples, half = np.arange(len(truth)), len(truth) // 2
    if method == "split_fixed_sequence":
        controller.learn_fixed_sequence_order(samples[:half], truth[:half], beta_grid=LEVELS, binary=True)
        controller.calibrate(samples[half:], truth[half:])
    else:
        controller.calibrate(samples, truth)
    found = controller.best_predict_param
    return float("nan") if found is None else float(found)


def control_samples(chances: Any, truth: Any, share: str, bound: float, confidence: float) -> float:
    """Return the threshold of all labels for a mean over samples: RCPS for recall, learn then test for precision."""
    known = truth.any(axis=1)  # it takes no samples without labels
    settings = {"method": "rcps", "rcps_bound": "wsr"} if share == "recall" else {"method": "ltt"}
    controller = MultiLabelClassificationController(
        lambda samples: chances[samples], risk=share, target_level=bound, confidence_level=confidence, **settings
    )
    controller.calibrate(np.flatnonzero(known), truth[known])
    found = np.ravel(controller.best_predict_param)[0]
    return float("nan") if found is None else float(found)


def run(path: Path) -> None:
    """Write the thresholds of all trials."""
    with np.load(path) as stored:
        chances, truth, draws = (stored[name] for name in ("chances", "truth", "draws"))
        share, bound, confidence = str(stored["share"]), float(stored["bound"]), float(stored["confidence"])
        wanted, methods = stored["columns"], stored["methods"].tolist()
    each = 1.0 - (1.0 - confidence) / len(wanted)
    found: dict[str, list[Any]] = {method: [] for method in methods}
    for trial, drawn in enumerate(draws):
        some, labels = chances[drawn], truth[drawn].astype(np.int64)
        for method in methods:
            if method != "mean over samples":
                row = [control_label(some[:, k], labels[:, k], share, bound, each, method) for k in wanted]
                found[method].append(row)
            elif trial < FEW:
                found[method].append(np.full(len(wanted), control_samples(some, labels, share, bound, confidence)))
    np.savez(path.with_suffix(".found"), **{name: np.array(rows) for name, rows in found.items()})


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # that nothing is controlled, which is counted
    run(Path(sys.argv[1]))
