"""Train a linear model by LibAUC's APLoss and SOAP in one pass over the negatives: SAMPLES SCORES.

Runs in an environment of its own, without metricwise. The learning rate is chosen on the first samples.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np
import torch
from libauc_process import GAMMAS, LEARNING_RATES, score, train
from sklearn.metrics import average_precision_score


def validate(X: Any, y: Any, ends: Any, rate: float) -> float:
    """Return average precision on the samples between the ends of a model that is trained on those before."""
    model = train(X[: ends[0]], y[: ends[0]], rate, GAMMAS[-1], epochs=1)
    return float(average_precision_score(y[ends[0] : ends[1]], score(model, X[ends[0] : ends[1]])))


def main(samples: str, scores: str) -> None:
    """Choose, train and write the scores of the test samples with the processor seconds of the final training."""
    torch.set_num_threads(1)
    with np.load(samples) as stored:
        X, y, X_test, ends = (stored[name] for name in ("X", "y", "X_test", "ends"))
    rate = max(LEARNING_RATES, key=lambda one: validate(X, y, ends, one))
    started = time.process_time()
    model = train(X, y, rate, GAMMAS[-1], epochs=1)
    np.savez(scores, scores=score(model, X_test), rate=rate, cpu_seconds=time.process_time() - started)


if __name__ == "__main__":
    main(*sys.argv[1:])
