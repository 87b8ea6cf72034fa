"""The methods of the benchmark of online decisions: each predicts every sample of a stream before it learns from it."""

from __future__ import annotations

import json
import subprocess
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression, SGDClassifier

from benchmarks.online_data import SKIPPED, Part, Stream, evaluate
from metricwise import OnlineMetricClassifier, PlugInClassifier, SPADEClassifier, STAMPClassifier, get_measure
from metricwise.decisions.online import OnlineDecision
from metricwise.decisions.running_counts import Forgetting
from metricwise.decisions.tasks import make_task
from metricwise.estimators.streaming.online_learning import OnlinePlan

SCRIPT = Path(__file__).with_name("online_process.py")
ALPHAS = (1e-6, 1e-5, 1e-4, 1e-3)
RATES = {False: (0.001, 0.01, 0.1), True: (0.1, 1.0, 10.0)}  # of river's logistic regression, by whether texts
CS = (1.0, 10.0)

OURS, FIXED = "OnlineMetricClassifier(SGDClassifier)", "SGDClassifier"
LINEAR, TREE, FOREST = "logistic regression", "Hoeffding adaptive tree", "adaptive random forest"
Settings = dict[str, Any]


@dataclass(frozen=True)
class Trace:
    """The labels predicted for the samples of a stream, each before it was learnt from, and for test samples."""

    predicted: Any
    tested: Any

    def value_at(self, measure: str, y: Any, n_seen: int) -> float:
        """Return the measure of the first samples."""
        own = slice(SKIPPED, n_seen)
        return evaluate(measure, y[own], self.predicted[own])


def list_batches(n_samples: int) -> Iterator[slice]:
    """Yield the batches of ``batch_size="auto"``: other learners learn from the same ones."""
    plan, start = OnlinePlan(None, None, None, None), 0
    while start < n_samples:
        stop = min(start + plan.next_batch_size(start), n_samples)
        yield slice(start, stop)
        start = stop


def make_sgd(settings: Settings) -> SGDClassifier:
    """Return the default learner of `OnlineMetricClassifier` with other settings."""
    return SGDClassifier(loss="log_loss", random_state=0, **({"average": True} | settings))


def follow_ours(stream: Stream, part: Part, measure: str, settings: Settings, **own: Any) -> Trace:
    """Follow a stream with `OnlineMetricClassifier`."""
    found: list[Any] = []
    model = OnlineMetricClassifier(
        make_sgd(settings), measure=measure, listener=lambda _, predicted: found.append(predicted), **own
    )
    model.partial_fit(part.scaled, part.y, **({} if stream.classes is None else {"classes": stream.classes}))
    first = np.zeros_like(part.y[:SKIPPED])
    return Trace(np.concatenate([first, *found]), model.predict(stream.test.scaled))


def follow_learner(make: Callable[[], Any], stream: Stream, part: Part) -> Trace:
    """Follow a stream with a learner that decides by itself; one per label."""
    columns = part.y.T if part.y.ndim == 2 else part.y[None]
    classes = stream.classes or [0, 1]
    found = [_follow_column(make(), part.scaled, y, classes, stream.test.scaled) for y in columns]
    if part.y.ndim == 1:
        return Trace(*found[0])
    return Trace(*(np.column_stack(one) for one in zip(*found, strict=True)))


def _follow_column(learner: Any, X: Any, y: Any, classes: Sequence[int], X_test: Any) -> tuple[Any, Any]:
    predicted = np.zeros_like(y)
    for own in list_batches(len(y)):
        if own.start:
            predicted[own] = learner.predict(X[own])
        learner.partial_fit(X[own], y[own], classes=classes)
    return predicted, learner.predict(X_test)


def tune(candidates: Sequence[Settings], follow: Callable[[Settings], Trace], measure: str, part: Part) -> Settings:
    """Return the settings of the best measure on the samples to choose on."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return max(candidates, key=lambda one: follow(one).value_at(measure, part.y, len(part.y)))


def make_own_learner(measure: str) -> tuple[str, Callable[[Settings], Any], Sequence[Settings]] | None:
    """Return the streaming classifier of metricwise for a measure of two classes, and its settings to choose from."""
    settings = [{"eta0": eta0} for eta0 in (0.1, 1.0, 10.0)]
    if measure == "f1":
        return "STAMPClassifier", lambda own: STAMPClassifier("f1", **own), settings
    if measure == "g_mean":
        return "SPADEClassifier", lambda own: SPADEClassifier("g_mean", **own), settings
    return None


def score_batch_optimum(stream: Stream, measure: str) -> tuple[float, Settings]:
    """Return the test measure of `PlugInClassifier` trained on the whole stream at once, and its settings."""
    half = len(stream.tuning.y) // 2
    first, second = stream.tuning.take(slice(half)), stream.tuning.take(slice(half, None))

    def fit_and_score(C: float, part: Part, test: Part) -> float:
        learner = LogisticRegression(C=C, solver="liblinear" if stream.is_text else "lbfgs", max_iter=200)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = PlugInClassifier(learner, measure, cv=3).fit(part.scaled, part.y)
        return evaluate(measure, test.y, model.predict(test.scaled))

    C = max(CS, key=lambda C: fit_and_score(C, first, second)) if stream.is_text else 1.0
    return fit_and_score(C, stream.stream, stream.test), {"C": C}


# --------------------------------------------------------------------------------------------------------------- river


@dataclass(frozen=True)
class Chances:
    """Probabilities that a learner of river gave before it learnt, of test samples, and its seconds per sample."""

    chances: Any
    tested: Any
    seconds: float

    def decide_fixed(self, is_multiclass: bool) -> Trace:
        """Return the most probable class, or labels above 0.5."""
        if is_multiclass:
            return Trace(self.chances.argmax(axis=1), self.tested.argmax(axis=1))
        return Trace(*((one > 0.5).astype(np.int64) for one in self._columns))

    @property
    def _columns(self) -> tuple[Any, Any]:
        """The probabilities, of two classes without their axis."""
        if self.chances.shape[1] > 1:
            return self.chances, self.tested
        return self.chances[:, 0], self.tested[:, 0]

    def decide_online(self, y: Any, measure: str, half_life: float | None = None) -> Trace:
        """Return the decisions of `OnlineMetricClassifier` with ``batch_size=1`` about these probabilities."""
        task = make_task(y, None, get_measure(measure), None, False, False, None)
        codes = y if y.ndim == 2 else y[:, None]
        start = OnlineDecision.start(task, Forgetting(half_life), calibrates=True)
        decision, predicted = start.observe(self.chances[1:], codes[1:], np.ones(len(y) - 1))
        tested = decision.choose(decision.average.gains(decision.calibrate(self.tested)))
        both = np.concatenate([np.zeros_like(predicted[:1]), predicted]), tested
        return Trace(*both) if y.ndim == 2 else Trace(*(one[:, 0] for one in both))


def list_river_learners(stream: Stream) -> list[tuple[str, int, int, Sequence[Settings]]]:
    """Return learners, how many samples they get at most, in how many orders, and settings to choose from."""
    rates = [{"rate": rate} for rate in RATES[stream.is_text]]
    found: list[tuple[str, int, int, Sequence[Settings]]] = [(LINEAR, 20_000, 1 if stream.is_text else 3, rates)]
    if not stream.is_text:
        found.append((TREE, 10_000, 1, [{}, {"grace_period": 100, "delta": 1e-5}]))
        if stream.classes != [0, 1]:
            found.append((FOREST, 5000, 1, [{}]))
    return found


def run_river(interpreter: str, stream: Stream, part: Part, learner: str, settings: Settings, test: Part) -> Chances:
    """Return the probabilities of a learner of river, run in its environment."""
    is_text = stream.is_text
    given: dict[str, Any] = {"y": part.y, "learner": learner, "settings": json.dumps(settings)}
    given["n_classes"] = 2 if stream.classes is None else len(stream.classes)
    for name, X in (("X", part.X), ("X_test", test.X)):
        if is_text:
            given |= {f"{name}_{key}": getattr(X, key) for key in ("data", "indices", "indptr")}
        else:
            given[name] = X
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "given.npz", Path(folder) / "found.npz"
        np.savez(source, **given)
        done = subprocess.run([interpreter, SCRIPT, source, target], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"river failed on {stream.name} with {learner}:\n{done.stderr}")
        with np.load(target) as found:
            return Chances(found["chances"], found["tested"], float(found["cpu_seconds"]) / len(part.y))
