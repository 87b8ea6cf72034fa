"""Train AutoGluon or FLAML on the samples of a file and write what it predicts: LIBRARY SECONDS SAMPLES PREDICTIONS.

Runs in an environment of its own, without metricwise. SECONDS are those of a core that does nothing else: the time
limit is longer where other work is found to run beside.
"""

from __future__ import annotations

import resource
import sys
import time
from typing import Any

import numpy as np

CALIBRATION = 1.0  # processor seconds
MOST_SLOWDOWN = 4.0


def predict_by_autogluon(X: Any, y: Any, X_test: Any, seconds: int) -> Any:
    """Return the labels predicted by AutoGluon, medium quality."""
    import pandas as pd
    from autogluon.tabular import TabularPredictor

    columns = [f"x{number}" for number in range(X.shape[1])]
    train = pd.DataFrame(X, columns=columns).assign(target=y)
    predictor = TabularPredictor("target", problem_type="binary", eval_metric="f1", path="autogluon", verbosity=0)
    predictor.fit(train, presets="medium_quality", time_limit=seconds, num_cpus=1, num_gpus=0)
    return predictor.predict(pd.DataFrame(X_test, columns=columns)).to_numpy()


def predict_by_flaml(X: Any, y: Any, X_test: Any, seconds: int) -> Any:
    """Return the labels predicted by FLAML."""
    from flaml import AutoML

    model = AutoML()
    model.fit(X, y, task="classification", metric="f1", time_budget=seconds, n_jobs=1, seed=0, verbose=0)
    return model.predict(X_test)


def measure_slowdown() -> float:
    """Return the wall-clock seconds that a second of computation takes, since other work may run on the machine.

    Raises
    ------
    RuntimeError
        If they are too many for a comparison by the clock.
    """
    started, cpu_started = time.perf_counter(), time.process_time()
    while time.process_time() - cpu_started < CALIBRATION:
        pass
    slowdown = (time.perf_counter() - started) / CALIBRATION
    if slowdown > MOST_SLOWDOWN:
        raise RuntimeError(
            f"a second of computation takes {slowdown:.1f} s: too much other work runs on this machine to give a "
            "library its time; run this again when it is quieter"
        )
    return slowdown


def _processor_seconds() -> float:
    """Return the processor seconds of this process and of those that it has started and that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def main(library: str, seconds: str, samples: str, predictions: str) -> None:
    """Train, predict, and write the predicted labels with the seconds taken."""
    predict = {"AutoGluon": predict_by_autogluon, "FLAML": predict_by_flaml}[library]
    with np.load(samples) as stored:
        X, y, X_test = stored["X"], stored["y"], stored["X_test"]
    started, cpu_started = time.perf_counter(), _processor_seconds()
    predicted = np.asarray(predict(X, y, X_test, round(float(seconds) * measure_slowdown())))
    taken = {"seconds": time.perf_counter() - started, "cpu_seconds": _processor_seconds() - cpu_started}
    np.savez(predictions, predicted=predicted, **taken)


if __name__ == "__main__":
    main(*sys.argv[1:])
