"""Load mutants of model files, predict and score with them, each in a process with limits of time and memory."""

from __future__ import annotations

import os
import pickle
import re
import resource
import signal
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import metricwise as mw

MOST_SECONDS = 10
MOST_BYTES = 1 << 30
REFUSED, LOADED, REPORTED = "refused", "loaded and right", "clear error at predict"
# What numpy says of arrays that do not fit is no clear error: the file should have been refused.
_UNCLEAR = re.compile(r"broadcast|not aligned|mismatch in its core|inhomogeneous|memoryview|Buffer|setting an array")


def judge_mutant(content: bytes, path: Path, samples: Any, labels: Any) -> str:
    """Return what becomes of a mutant; anything but `REFUSED`, `LOADED` and `REPORTED` is a fault."""
    path.write_bytes(content)
    return run_limited(lambda: _use(path, samples, labels))


def _use(path: Path, samples: Any, labels: Any) -> str:
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    try:
        model = mw.load(path)
    except mw.ModelFileError:
        return REFUSED
    except BaseException as error:
        return f"error at load: {error!r}"[:300]
    try:
        # Threads of the parent process do not exist in this one, and OpenMP would wait for them.
        threadpool_limits(1)
        for method in ("predict", "decision_function", "predict_proba"):
            if hasattr(model, method):
                getattr(model, method)(samples)
        if hasattr(model, "score"):  # the last step of a pipeline may be a transformer now
            model.score(samples, labels)
    except ValueError as error:
        return f"unclear error: {error!r}"[:300] if _UNCLEAR.search(str(error)) else REPORTED
    except BaseException as error:
        return f"error at predict: {error!r}"[:300]
    return LOADED


def run_limited(function: Callable[[], str]) -> str:
    """Return what a function returns in a process of its own, or how the process ended."""
    receive, send = os.pipe()
    start = time.monotonic()
    child = os.fork()
    if child == 0:
        _run_in_child(function, receive, send)
    os.close(send)
    with os.fdopen(receive, "rb") as pipe:
        answer = pipe.read()
    _, status, used = os.wait4(child, 0)
    if used.ru_maxrss * 1024 > MOST_BYTES:
        return f"memory: {used.ru_maxrss / 1024:.0f} MB"
    if os.WIFSIGNALED(status):
        seconds = time.monotonic() - start
        return f"ended by {signal.Signals(os.WTERMSIG(status)).name} after {seconds:.1f} s"
    return str(pickle.loads(answer)) if answer else f"ended with {status}"


def _run_in_child(function: Callable[[], str], receive: int, send: int) -> None:
    os.close(receive)
    resource.setrlimit(resource.RLIMIT_CPU, (MOST_SECONDS, MOST_SECONDS + 1))
    signal.alarm(6 * MOST_SECONDS)  # a busy machine gives less than a processor
    try:
        outcome = function()
    except BaseException as error:
        outcome = f"error: {error!r}"[:300]
    os.write(send, pickle.dumps(outcome))
    os._exit(0)
