"""Mutated model files with a right checksum: a clear error, or a model that predicts or raises a clear error."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

import metricwise
from fuzzing.archives import mutate_archive
from fuzzing.cases import Case, Kind, make_generator, pack_bytes, unpack_bytes
from fuzzing.judging import Finding, attempt
from fuzzing.model_files import mutate
from fuzzing.models import FORMAT_1, extract_models, list_predicted

_METHODS = ("predict", "decision_function", "predict_proba", "transform")
_OTHER_METHODS = (  # which return more or less than a row per sample
    *("apply", "decision_path", "kneighbors", "kneighbors_graph"),
    *("staged_predict", "staged_decision_function", "staged_predict_proba"),
)
_OVERFLOW = "Floating-point under-/overflow"  # an error that compiled code of scikit-learn raises deliberately
_TEXT = "could not convert string to float"  # NumPy's error, which scikit-learn passes on
_SAMPLES: dict[str, Any] = {}
_PATHS: list[Path] = []


def _prepare() -> None:
    """Load and use every model once, so that all functions are compiled."""
    folder = tempfile.mkdtemp(prefix="fuzzing-models-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    _SAMPLES.update(list_predicted())
    _PATHS[:] = extract_models(Path(folder))
    for path in _PATHS:
        model = metricwise.load(path)
        _predict(model, _SAMPLES[_find_samples(path.name)])


def _find_samples(name: str) -> str:
    return name.split(".")[-2]


def _make_case(random: Random) -> Case:
    path = random.choice(_PATHS)
    return {"model": path.name, "content": pack_bytes(_mutate(path, random))}


def _mutate(path: Path, random: Random) -> bytes:
    if not path.name.startswith(FORMAT_1) and random.random() < 0.5:
        return mutate(path, make_generator(random))
    return mutate_archive(path.read_bytes(), random, has_checksum=True)


def _check(case: Case, folder: Path) -> str:
    path = folder / "model.mw"
    path.write_bytes(unpack_bytes(case["content"]))
    model = attempt(metricwise.load, path)
    if isinstance(model, Exception):
        if str(path) not in str(model):
            raise Finding(f"the error does not name the file: {model}") from model
        return "refused"
    return _predict(model, _SAMPLES[_find_samples(case["model"])])


def _predict(model: Any, samples: Any) -> str:
    """Use all methods of a model; return "predicted" if all of them return, else "failed"."""
    outcome = "predicted"
    for name in (*_METHODS, *_OTHER_METHODS):
        method = attempt(getattr, model, name, None)
        if method is None or isinstance(method, Exception):
            continue
        found = attempt(_call, method, samples)
        if isinstance(found, Exception):
            outcome = "failed"
        elif name in _METHODS and np.shape(found)[:1] != (samples.shape[0],) and not hasattr(found, "tocsr"):
            raise Finding(f"{name} returns the shape {np.shape(found)} for {samples.shape[0]} samples")
    return "failed" if isinstance(attempt(_train_further, model, samples), Exception) else outcome


def _call(method: Any, samples: Any) -> Any:
    """Return what a method returns; of one that yields, all of it; of a learner of others, its error about texts.

    A changed file may hold the learner of a pipeline alone, which is a valid model, but not of samples with texts.
    """
    try:
        found = method(samples)
    except ValueError as error:
        if _TEXT not in str(error) or type(method.__self__).__module__.startswith(metricwise.__name__):
            raise
        return error
    return list(found) if isinstance(found, Iterator) else found


def _train_further(model: Any, samples: Any) -> None:
    """Train a model on samples with labels of its classes, if it is fitted and has a method for that.

    A monitor is fed with labels instead.
    """
    if isinstance(model, metricwise.GuaranteeMonitor):
        _watch(model, samples.shape[0])
    if not (hasattr(model, "partial_fit") and hasattr(model, "classes_")):
        return
    try:
        model.partial_fit(samples, np.resize(model.classes_, samples.shape[0]))
    except ValueError as error:
        if _OVERFLOW not in str(error):
            raise


def _watch(monitor: metricwise.GuaranteeMonitor, n_samples: int) -> None:
    """Feed a monitor with outcomes and scores, and look at all that it shows."""
    labels = np.resize([0, 1], n_samples)
    monitor.update(labels, labels[::-1], labels - 0.5)
    shown = monitor.alarm, monitor.status, monitor.interval, monitor.score_warning, monitor.history, repr(monitor)
    if not np.all(np.isfinite([one.share for one in shown[1]])):
        raise Finding(f"a monitor shows {shown}")


KIND = Kind(_prepare, _make_case, _check)
