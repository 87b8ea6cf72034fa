"""One pass over many samples: learners for average precision beside others, and beside training on all samples."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.metrics import average_precision_score
from sklearn.preprocessing import StandardScaler

from benchmarks.context import Context, SkippedError
from benchmarks.data import view
from benchmarks.rank_quality import LIBAUC, LIBAUC_VARIABLE
from benchmarks.report import Column, Record, Section, Table
from benchmarks.timing import clock
from metricwise import MiniBatchSVC, MultivariateSVC

SCRIPT = Path(__file__).with_name("libauc_stream_process.py")
CHUNK = 10_000
N_TEST, N_TUNING, N_VALIDATION = 80_000, 100_000, 50_000
N_SYNTHETIC, QUICK_SAMPLES = 1_000_000, 40_000
OURS = "MiniBatchSVC, average precision"


@dataclass(frozen=True)
class Samples:
    """Standardised training samples in the order of the stream, and test samples."""

    name: str
    X: NDArray[np.float64]
    y: NDArray[np.int64]
    X_test: NDArray[np.float64]
    y_test: NDArray[np.int64]


@dataclass(frozen=True)
class Learner:
    """A way to train, and the settings among which a part of the stream chooses."""

    name: str
    data: str
    make: Callable[..., Any]
    settings: Sequence[dict[str, Any]]
    passes_once: bool = True


def _minibatch(measure: str) -> Learner:
    settings = [{"batch_size": size, "eta0": eta} for size in (1000, 10_000) for eta in (0.1, 1.0)]
    name = OURS if measure == "average_precision" else "MiniBatchSVC, ROC area"
    return Learner(name, "one pass", lambda **own: MiniBatchSVC(measure, n_jobs=1, threshold=0.0, **own), settings)


LEARNERS = (
    _minibatch("average_precision"),
    _minibatch("roc_auc"),
    Learner(
        "SGDClassifier, logistic loss",
        "one pass",
        lambda **own: SGDClassifier("log_loss", average=True, random_state=0, **own),
        [{"alpha": alpha} for alpha in (1e-6, 1e-5, 1e-4, 1e-3)],
    ),
    Learner(
        "MultivariateSVC, average precision",
        "all in memory",
        lambda **own: MultivariateSVC("average_precision", threshold=0.0, n_jobs=1, **own),
        [{"C": C} for C in (1e-3, 1e-2, 0.1, 1.0)],
        passes_once=False,
    ),
    Learner(
        "LogisticRegression",
        "all in memory",
        lambda **own: LogisticRegression(max_iter=1000, **own),
        [{"C": C} for C in (1e-3, 1e-2, 0.1, 1.0)],
        passes_once=False,
    ),
)

COLUMNS = (
    Column("data", "data"),
    Column("n_samples", "samples", "{:,}"),
    Column("positives", "positives", "{:.2%}"),
    Column("method", "method"),
    Column("kind", "training"),
    Column("value", "average precision", "{:.4f}"),
    Column("seconds", "processor seconds of the final training", "{:.1f}"),
    Column("settings", "settings"),
)

TEXT = [
    f"Streams in chunks of {CHUNK:,}: {N_SYNTHETIC:,} samples of ``make_classification`` with 50 features, 20 of them "
    "informative, and a hundredth of them positive; and covtype, class 5 vs the rest, all samples but "
    f"{N_TEST:,} for the test. Features are standardised. The settings of each method are chosen by training on the "
    f"first {N_TUNING:,} samples and average precision on the next {N_VALIDATION:,}. LibAUC (``APLoss``, ``SOAP``, "
    "batches of 128, half of them positive, learning rate of 0.001, 0.01 or 0.1) needs the number of samples ahead, "
    "and draws positives again and again while it passes the negatives once.",
]


def measure(context: Context) -> Section:
    """Measure all learners on both streams."""
    section = Section("rank_streams", "One pass for average precision", list(TEXT))
    interpreter = os.environ.get(LIBAUC_VARIABLE)
    if interpreter is None:
        section.skip(LIBAUC, f"the environment variable {LIBAUC_VARIABLE} names no interpreter")
    records: list[Record] = []
    for make in (_make_synthetic, _load_covtype):
        try:
            samples = make(context.quick)
        except SkippedError as reason:
            section.skip(make.__name__.split("_")[-1], reason)
            continue
        about = {"data": samples.name, "n_samples": len(samples.y), "positives": float(samples.y.mean())}
        found = [_run(learner, samples) for learner in LEARNERS]
        if interpreter is not None:
            found.append(_run_libauc(interpreter, samples))
        records += [about | one for one in found]
    if records:
        section.text.append(_remark(records))
    section.tables.append(Table("Average precision of test samples", COLUMNS, records))
    return section


def _make_synthetic(is_quick: bool) -> Samples:
    n_samples = QUICK_SAMPLES if is_quick else N_SYNTHETIC
    X, y = make_classification(
        n_samples + N_TEST, 50, n_informative=20, n_redundant=10, weights=[0.99], flip_y=0.002, random_state=0
    )
    return _split("synthetic", X, y, n_samples)


def _load_covtype(is_quick: bool) -> Samples:
    X, y = view("covtype_5")
    order = np.random.default_rng(0).permutation(len(y))
    order = order[: QUICK_SAMPLES + N_TEST] if is_quick else order
    return _split("covtype, class 5", X[order], y[order].astype(np.int64), len(order) - N_TEST)


def _split(name: str, X: Any, y: Any, n_samples: int) -> Samples:
    scaler = StandardScaler(copy=False).fit(X[:n_samples])
    X = scaler.transform(X)
    return Samples(name, X[:n_samples], y[:n_samples], X[n_samples:], y[n_samples:])


def _tuning_parts(samples: Samples) -> tuple[slice, slice]:
    n_tuning = min(N_TUNING, len(samples.y) // 2)
    return slice(n_tuning), slice(n_tuning, n_tuning + min(N_VALIDATION, len(samples.y) - n_tuning))


def _train(learner: Learner, settings: dict[str, Any], X: Any, y: Any) -> Any:
    model = learner.make(**settings)
    if not learner.passes_once:
        return model.fit(X, y)
    for start in range(0, len(y), CHUNK):
        model.partial_fit(X[start : start + CHUNK], y[start : start + CHUNK], classes=[0, 1])
    return model


def _run(learner: Learner, samples: Samples) -> Record:
    tuning, validation = _tuning_parts(samples)

    def validate(settings: dict[str, Any]) -> float:
        model = clock(lambda: _train(learner, settings, samples.X[tuning], samples.y[tuning]))[1]
        return _value(samples.y[validation], model.decision_function(samples.X[validation]))

    chosen = max(learner.settings, key=validate)
    seconds, model = clock(lambda: _train(learner, chosen, samples.X, samples.y))
    return {
        "method": learner.name,
        "kind": learner.data,
        "value": _value(samples.y_test, model.decision_function(samples.X_test)),
        "seconds": seconds,
        "settings": ", ".join(f"{key} {value:g}" for key, value in chosen.items()),
    }


def _value(y: Any, scores: Any) -> float:
    return float(average_precision_score(y, scores))


def _run_libauc(interpreter: str, samples: Samples) -> Record:
    tuning, validation = _tuning_parts(samples)
    with tempfile.TemporaryDirectory() as name:
        data, scores = Path(name) / "samples.npz", Path(name) / "scores.npz"
        parts = {"X": samples.X.astype(np.float32), "y": samples.y, "X_test": samples.X_test.astype(np.float32)}
        np.savez(data, **parts, ends=np.array([tuning.stop, validation.stop]))
        done = subprocess.run([interpreter, SCRIPT, data, scores], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"LibAUC failed on {samples.name}:\n{done.stderr}")
        with np.load(scores) as stored:
            return {
                "method": LIBAUC,
                "kind": "one pass",
                "value": _value(samples.y_test, stored["scores"]),
                "seconds": float(stored["cpu_seconds"]),
                "settings": f"rate {float(stored['rate']):g}",
            }


def _remark(records: Sequence[Record]) -> str:
    """Say, in words computed from the records, how the one-pass learner for average precision stands."""
    parts = []
    for name in dict.fromkeys(record["data"] for record in records):
        own = [record for record in records if record["data"] == name]
        ours = next(record for record in own if record["method"] == OURS)
        passing = [record for record in own if record["kind"] == "one pass" and record["method"] != OURS]
        best = max(passing, key=lambda record: record["value"])
        parts.append(f"{name}: {ours['value']:.4f} against {best['value']:.4f} of {best['method']}")
    return f"{OURS}, beside the best other learner of one pass: {'; '.join(parts)}."
