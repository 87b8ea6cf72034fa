"""How a learner and its decisions go through a stream: predict a batch, count it, learn from it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit
from sklearn import config_context
from sklearn.base import clone
from sklearn.linear_model import SGDClassifier

from metricwise._state import stored_fields
from metricwise._typing import Floats, Integers, Labels
from metricwise.decisions.online import OnlineDecision
from metricwise.decisions.task import Task
from metricwise.decisions.weighting import takes_weights
from metricwise.estimators.streaming.chunks import thin_history
from metricwise.progress import Stage
from metricwise.results import Status, StreamEntry

_FEWEST_IN_BATCH, _MOST_IN_BATCH = 16, 1000
_SAMPLES_BETWEEN_ENTRIES = 131_072


@dataclass(frozen=True)
class OnlinePlan:
    """How to go through a stream; the names are those of the classifier's parameters. ``batch_size`` None is "auto"."""

    batch_size: int | None
    listener: Callable[[Any, Any], Any] | None
    callback: Callable[[StreamEntry], Any] | None
    max_seconds: float | None

    def next_batch_size(self, n_seen: int) -> int:
        """Return how many samples are predicted before the learner learns from them.

        Examples
        --------
        >>> plan = OnlinePlan(None, None, None, None)
        >>> [plan.next_batch_size(n_seen) for n_seen in (0, 100, 1_000_000)]
        [16, 25, 1000]
        """
        if self.batch_size is not None:
            return self.batch_size
        return min(max(n_seen // 4, _FEWEST_IN_BATCH), _MOST_IN_BATCH)


class Samples(NamedTuple):
    """Valid samples with their targets, and their weights; None: all have weight one."""

    X: Any
    y: Labels
    weights: Floats | None

    def take(self, own: Any) -> Samples:
        """Return some of the samples."""
        return Samples(self.X[own], self.y[own], None if self.weights is None else self.weights[own])


@stored_fields(version=1)
@dataclass(frozen=True)
class OnlineModel:
    """The model after a part of a stream; further training returns a new one, with the same learners.

    Attributes
    ----------
    estimators : list of classifiers
        The learner, or one per label.
    decision : OnlineDecision
        The running tables, and the rule that follows from them.
    n_samples : int
        Samples learnt from, those of all passes together.
    entries : tuple of StreamEntry
        The history.
    n_passes, status, seconds
        Values that `result_` reports.
    """

    estimators: list[Any]
    decision: OnlineDecision
    n_samples: int = 0
    entries: tuple[StreamEntry, ...] = ()
    n_passes: int = 1
    status: Status = Status.STREAMING
    seconds: float = 0.0

    @property
    def task(self) -> Task:
        """What is predicted, and the measure of it."""
        return self.decision.task

    def decode(self, values: Integers) -> Any:
        """Return the labels of predicted values."""
        task = self.task
        margins: Floats = np.subtract(values, 0.5, dtype=np.float64)
        if task.is_multilabel:
            return task.labels(margins)
        if task.is_binary:
            return task.labels(task.orient(margins[:, 0]))
        return task.classes[values[:, 0]]

    def check_targets(self, y: Labels) -> None:
        """Raise unless targets are those of the stream so far: classes that are known, or as many labels."""
        is_multilabel, n_labels = y.ndim == 2, self.task.classes.size
        if is_multilabel != self.task.is_multilabel or (is_multilabel and y.shape[1] != n_labels):
            before = f"{n_labels} columns of labels" if self.task.is_multilabel else "one column of classes"
            raise ValueError(f"y has the shape {y.shape}, but the samples before had {before}: give the same targets")
        if is_multilabel:
            return
        classes = self.task.classes
        if classes.size == 2:
            known = (y == classes[0]) | (y == classes[1])
        else:
            known = classes[np.minimum(np.searchsorted(classes, y), classes.size - 1)] == y
        if not known.all():
            row = int(np.argmin(known))
            raise ValueError(
                f"y[{row}] is {y[row : row + 1].tolist()[0]!r}, a label not among classes="
                f"{self.task.classes.tolist()}: name all labels in classes from the start"
            )


def check_learner(estimator: Any) -> None:
    """Raise a TypeError if a learner has no probabilities."""
    if estimator is not None and not hasattr(estimator, "predict_proba"):
        raise TypeError(
            f"{type(estimator).__name__} has no predict_proba with these settings, and the rule needs probabilities: "
            "use one that has it, such as SGDClassifier(loss='log_loss')"
        )


def make_learners(estimator: Any, task: Task, seed: int) -> list[Any]:
    """Return unfitted copies of a learner: one, or one per label."""
    learner = SGDClassifier(loss="log_loss", average=True, random_state=seed) if estimator is None else estimator
    return [clone(learner) for _ in range(task.classes.size if task.is_multilabel else 1)]


def predict_chances(estimators: Sequence[Any], task: Task, X: Any) -> Floats:
    """Return probabilities of valid samples, one column per class or label; of two classes, that of the positive.

    Raises
    ------
    ValueError
        If a learner gives probabilities that are NaN or infinite.
    """
    if task.is_multilabel:
        return np.column_stack([_predict_classes(learner, X)[:, 1] for learner in estimators])
    chances = _predict_classes(estimators[0], X)
    if not task.is_binary:
        return chances
    column = int(task.points_up)  # type: ignore[attr-defined]
    return chances[:, column : column + 1]


def _predict_classes(learner: Any, X: Any) -> Floats:
    """Return the probabilities of all classes; raise if they are NaN or infinite."""
    is_logistic = type(learner) is SGDClassifier and learner.loss == "log_loss"
    chances = _predict_logistic(learner, X) if is_logistic else np.asarray(learner.predict_proba(X), dtype=np.float64)
    if not np.isfinite(chances.sum()):
        first = int(np.argmin(np.isfinite(chances).all(axis=1)))
        raise ValueError(
            f"{type(learner).__name__}.predict_proba gives {chances[first].tolist()} for sample {first} of X: scale "
            "the features, or let it learn from more samples at once (batch_size)"
        )
    return chances


def _predict_logistic(learner: SGDClassifier, X: Any) -> Floats:
    """Return the probabilities of a logistic learner: for single samples, its own method takes many times as long.

    Where those of all classes round to zero, they are equal, as in scikit-learn 1.9; earlier versions give NaN.
    """
    if learner.coef_.shape[0] == 1:
        chances = np.empty((X.shape[0], 2))
        expit(X @ learner.coef_[0] + learner.intercept_[0], out=chances[:, 1])
        np.subtract(1.0, chances[:, 1], out=chances[:, 0])
        return chances
    chances = expit(np.asarray(X @ learner.coef_.T + learner.intercept_))
    chances[~chances.any(axis=1)] = 1.0
    return np.asarray(chances / chances.sum(axis=1, keepdims=True))


def learn_samples(
    plan: OnlinePlan,
    model: OnlineModel,
    samples: Samples,
    started: float | None = None,
    stage: Stage | None = None,
) -> OnlineModel:
    """Return the model after more samples, in batches that are predicted, counted and then learnt from.

    Parameters
    ----------
    plan : OnlinePlan
        How to go through the samples.
    model : OnlineModel
        The model so far.
    samples : Samples
        Valid samples.
    started : float, optional
        When training has begun, if it may be stopped by the time limit or the callback.
    stage : Stage, optional
        Shows the progress.

    Raises
    ------
    ValueError
        If the stream has too many samples or too much weight with these, or a learner's probabilities are not finite.
    """
    model.decision.running.check_countable(len(samples.y), samples.weights)
    begun, before = time.perf_counter(), model.seconds
    start, n_samples = 0, len(samples.y)
    while start < n_samples:
        size = plan.next_batch_size(model.n_samples)
        batch = samples if start == 0 and size >= n_samples else samples.take(slice(start, start + size))
        start += size
        if not model.n_samples and batch.weights is not None and not batch.weights.any():
            continue  # a learner without sample_weight has nothing to learn from yet, and cannot predict
        # The samples are valid: learners need not check them again.
        with config_context(assume_finite=True, skip_parameter_validation=True):
            decision = _predict_batch(plan, model, batch)
            _teach(model, batch)
        seen, seconds = model.n_samples + len(batch.y), before + time.perf_counter() - begun
        model = replace(model, decision=decision, n_samples=seen, seconds=seconds)
        entry = _make_entry(model)
        if entry is not None:
            model = replace(model, entries=(*thin_history(model.entries), entry))
            if stage is not None:
                stage.update(f"{entry.n_samples:,} samples, measure {entry.measure:.4f}")
            if plan.callback is not None and plan.callback(entry) and started is not None:
                return replace(model, status=Status.STOPPED)
        if started is not None and plan.max_seconds is not None and time.perf_counter() - started > plan.max_seconds:
            return replace(model, status=Status.MAX_SECONDS)
    return model


def _predict_batch(plan: OnlinePlan, model: OnlineModel, batch: Samples) -> OnlineDecision:
    """Return the decision after a batch that is predicted in its order; nothing is known to predict the first by."""
    if not model.n_samples:
        return model.decision
    chances = predict_chances(model.estimators, model.task, batch.X)
    weights = np.ones(len(batch.y)) if batch.weights is None else batch.weights
    decision, predicted = model.decision.observe(chances, _encode(model.task, batch.y), weights)
    if plan.listener is not None:
        plan.listener(batch.y, model.decode(predicted))
    return decision


def _teach(model: OnlineModel, batch: Samples) -> None:
    """Let the learners learn from a batch."""
    is_multilabel = model.task.is_multilabel
    classes = (np.array([0, 1]) if is_multilabel else model.task.classes) if not model.n_samples else None
    for learner, target in zip(model.estimators, batch.y.T if is_multilabel else (batch.y,), strict=True):
        _partial_fit(learner, batch.X, target, batch.weights, classes)


def _partial_fit(learner: Any, X: Any, y: Labels, weights: Floats | None, classes: Labels | None) -> None:
    """Let a learner learn from a batch; samples without weight are left out where it takes no weights."""
    given: dict[str, Any] = {} if classes is None else {"classes": classes}
    if weights is not None:
        if takes_weights(learner):
            given["sample_weight"] = weights
        elif np.any(weights == 0.0):
            X, y = X[weights > 0.0], y[weights > 0.0]
    if not len(y):
        return
    try:
        learner.partial_fit(_match_precision(X, learner), y, **given)
    except ValueError as error:
        if "Floating-point under-/overflow" not in str(error):
            raise
        raise ValueError(
            f"the weights of {type(learner).__name__} have overflowed: scale the features, as with StandardScaler, or "
            "the sample weights"
        ) from error


def _match_precision(X: Any, learner: Any) -> Any:
    """Return samples in the precision of a linear learner's first batch, as its compiled updates need them."""
    precision = getattr(getattr(learner, "coef_", None), "dtype", X.dtype)
    return X if precision == X.dtype or precision.kind != "f" else X.astype(precision)


def _encode(task: Task, y: Labels) -> Integers:
    """Return true values, of shape (n_samples, n_parts)."""
    codes = np.asarray(task.encode(y), dtype=np.int64)
    return codes if task.is_multilabel else codes[:, None]


def _make_entry(model: OnlineModel) -> StreamEntry | None:
    """Return the next entry of the history; None if it is not due yet. The intervals between entries grow."""
    last = model.entries[-1].n_samples if model.entries else 0
    if model.n_samples < max(last + min(last, _SAMPLES_BETWEEN_ENTRIES), 1):
        return None
    return StreamEntry(model.n_samples, model.seconds, model.decision.value)
