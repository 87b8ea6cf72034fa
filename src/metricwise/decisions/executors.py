"""Executors train fold models and the final model: on this machine (joblib), or where the chunks are (Dask)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from numbers import Integral
from typing import Any, Protocol

import numpy as np
from sklearn.base import clone

from metricwise._sklearn import take_samples
from metricwise._typing import Floats, Indices, Mask
from metricwise.decisions.chunk_learners import ChunkTargets, copy_for_prediction, partial_fit_chunk, score_chunk
from metricwise.decisions.dask_learners import fit_on_dask, load_to_memory, refuse_class_names, trains_on_dask
from metricwise.decisions.groups import draw_one_per_group
from metricwise.decisions.out_of_fold import (
    DEFAULT_FOLDS,
    OutOfFoldScores,
    Splits,
    collect_scores,
    number_repeated,
    probe_of_folds,
    score_out_of_fold,
)
from metricwise.decisions.task import Task
from metricwise.decisions.training_data import Fit, TrainingData
from metricwise.decisions.weighting import weight_setting
from metricwise.designs.cluster.blocks import deal_chunks
from metricwise.designs.cluster.encoding import count_bytes
from metricwise.designs.cluster.source import DaskSource
from metricwise.designs.cluster.tasks import WorkerTasks
from metricwise.registry import trains_on

Score = Callable[[Any, Any], Floats]


class Executor(Protocol):
    """Trains copies of a classifier and scores samples, at any data location."""

    @property
    def task(self) -> Task:
        """The task."""

    @property
    def data(self) -> TrainingData:
        """The samples."""

    @property
    def has_random_folds(self) -> bool:
        """Whether folds are random samples of the data, so that their scores can be aligned."""

    def halve(self, seed: int, tests_most: bool = False) -> tuple[Executor, Executor]:
        """Return executors of two random halves of the samples, for a guarantee; the second has independent samples."""

    def load_prefitted(self, estimator: Any) -> Any:
        """Return a trained classifier that predicts samples in memory."""

    def split(self, cv: Any, seed: int) -> Splits:
        """Return the folds."""

    def fit(self, estimator: Any, splits: Splits, probe: Indices) -> tuple[Any, OutOfFoldScores]:
        """Return the model of all samples, and the scores of fold models."""

    def score(self, model: Any, samples: Indices) -> Floats:
        """Return a model's scores of ascending samples."""


def fit_and_score(
    fit: Fit, score: Score, data: TrainingData, train: Indices, test: Indices, *others: Indices
) -> tuple[Any, list[Floats]]:
    """Train a model on some of the samples; return it with its scores of ``test`` and of each of ``others``.

    Parameters
    ----------
    fit : callable
        ``fit(X, y, weights, groups=groups)`` returns a model.
    score : callable
        ``score(model, X)`` returns its scores of samples.
    data : TrainingData
        All samples.
    train : array of int
        The samples to train on.
    test, *others : arrays of int
        The samples to score; ``others`` may be empty.
    """
    model = data.take_to_train(train).fit(fit)
    scores = score(model, take_samples(data.X, test))
    of_others = [score(model, take_samples(data.X, some)) if some.size else scores[:0] for some in others]
    return model, [scores, *of_others]


def score_fold(
    fit: Fit, score: Score, data: TrainingData, train: Indices, test: Indices, seen: Indices
) -> tuple[Floats, ...]:
    """Train a fold model; return its scores of test samples and of samples that it was trained with."""
    return tuple(fit_and_score(fit, score, data, train, test, seen)[1])


@dataclass(frozen=True)
class LocalExecutor:
    """Trains on this machine, folds in parallel.

    Attributes
    ----------
    task, data
        Task and samples.
    n_jobs : int or None
        Folds, and labels of the final model, trained in parallel.
    """

    task: Task
    data: TrainingData
    n_jobs: int | None = None

    @property
    def has_random_folds(self) -> bool:
        """Whether folds are random samples of the data, so that their scores can be aligned."""
        return self.data.has_random_folds

    def halve(self, seed: int, tests_most: bool = False) -> tuple[LocalExecutor, LocalExecutor]:
        """Return executors of two random halves of the samples; ValueError if a guarantee makes no sense for them.

        Halves consist of whole groups. Exact tests need independent samples, so the second half has one random sample
        per group: the guarantee is for a sample of a new group. Without groups, samples that were repeated are in one
        half, and the second has each of them once. If it ``tests_most``, the second part has two thirds of the samples:
        the first need not train a model.
        """
        weights = self.data.sample_weights
        if not np.all(weights == weights[0]):
            raise ValueError(
                "a guarantee counts samples, so that sample_weight must be the same for all of them (or zero): drop "
                "sample_weight, or ask for no guarantee, by confidence=None, which keeps constraints on out-of-fold "
                "samples, or by capacity= of TriageClassifier"
            )
        n_parts, codes = (3 if tests_most else 2), self.task.strata(self.data.target)
        halves = replace(self.data, splits=None).split(n_parts, codes, seed, needed=True)
        if not halves:
            raise ValueError(
                "a guarantee needs samples of both classes for training and for testing, but a class has fewer than "
                f"two {'distinct samples' if self.data.groups is None else 'groups'}: collect more samples"
            )
        chosen = halves[0][::-1] if tests_most else halves[0]
        first, second = (replace(self.data, weights=None).take(half) for half in chosen)
        if first.splits == []:
            raise ValueError(
                "a guarantee keeps half of the samples from training, and the splits of cv have no training or no test "
                "samples in the other half: set cv to a number of folds"
            )
        alike = second.groups
        if alike is None:
            alike = number_repeated(self.data.X, codes, seed)[chosen[1]]
        second = second.take(draw_one_per_group(alike, seed))
        return LocalExecutor(self.task, first, self.n_jobs), LocalExecutor(self.task, second, self.n_jobs)

    def load_prefitted(self, estimator: Any) -> Any:
        """Return a trained classifier unchanged."""
        return estimator

    def split(self, cv: Any, seed: int) -> Splits:
        """Return folds, those of equal samples together; none, with a warning, if there are too few samples."""
        return self.data.split(cv, self.task.strata(self.data.target), seed)

    def fit(self, estimator: Any, splits: Splits, probe: Indices) -> tuple[Any, OutOfFoldScores]:
        """Return the model of all samples, and the scores of fold models; without folds, the model's own scores."""
        data = self.data
        model = data.fit(partial(self.task.fit, estimator, n_jobs=self.n_jobs))
        if not splits:
            return model, OutOfFoldScores(np.arange(len(data.y)), self.task.scores(model, data.X))
        return model, self.score_folds(partial(self.task.fit, estimator), self.task.scores, splits, probe)

    def score_folds(self, fit: Fit, score: Score, splits: Splits, probe: Indices) -> OutOfFoldScores:
        """Return the scores of fold models; see `fit_and_score`."""
        return score_out_of_fold(partial(score_fold, fit, score, self.data), splits, probe, self.n_jobs)

    def score(self, model: Any, samples: Indices) -> Floats:
        """Return a model's scores of samples."""
        return self.task.scores(model, take_samples(self.data.X, samples))


@dataclass(frozen=True)
class ClusterExecutor:
    """Trains where the chunks of a Dask collection are; folds are whole chunks.

    Attributes
    ----------
    task, data
        Task and samples, of which some may have no weight.
    n_passes : int
        Passes over the chunks of a classifier that is trained by ``partial_fit``.
    """

    task: Task
    data: TrainingData
    n_passes: int = 1
    has_random_folds = False  # chunks may differ

    def halve(self, seed: int, tests_most: bool = False) -> tuple[ClusterExecutor, ClusterExecutor]:
        """Raise a ValueError: chunks are no random subsets of the samples."""
        raise ValueError(
            "a guarantee is tested on samples drawn at random, and samples of a Dask collection are kept from training "
            "in whole chunks: set confidence=None to keep constraints on out-of-fold samples without a guarantee, or "
            "use X.compute()"
        )

    def load_prefitted(self, estimator: Any) -> Any:
        """Return a trained classifier that predicts samples in memory."""
        return load_to_memory(estimator) if trains_on_dask(estimator) else estimator

    @property
    def _source(self) -> DaskSource:
        source: DaskSource = self.data.X
        return source

    @property
    def _n_chunks(self) -> int:
        return len(self._source.bounds) - 1

    @property
    def _has_weight(self) -> Mask:
        return self.data.sample_weights > 0.0

    # ----------------------------------------------------------------------------------------------------------- folds

    def split(self, cv: Any, seed: int) -> Splits:
        """Return folds of whole chunks, dealt out in turn; ValueError if a class is missing without one of them."""
        if cv is not None and not isinstance(cv, Integral):
            raise ValueError(
                "folds of a Dask collection are made of whole chunks, so that cv must be the number of folds, not "
                f"{type(cv).__name__}"
            )
        n_folds = DEFAULT_FOLDS if cv is None else int(cv)
        if not 2 <= n_folds <= self._n_chunks:
            raise ValueError(
                f"{n_folds} folds of whole chunks need two folds or more and as many chunks, but X has "
                f"{self._n_chunks} with samples: use X.rechunk(...) or X.repartition(...) to make more, or set cv to a "
                f"number from 2 to {self._n_chunks}"
            )
        fold_of_sample = np.repeat(np.arange(self._n_chunks) % n_folds, np.diff(self._source.bounds))
        has_weight = np.flatnonzero(self._has_weight)
        in_fold = [fold_of_sample[has_weight] == fold for fold in range(n_folds)]
        splits = [(has_weight[~own], has_weight[own]) for own in in_fold]
        codes = self.task.strata(self.data.target)
        n_classes = np.unique(codes[has_weight]).size
        for fold, (train, _) in enumerate(splits):
            missing = n_classes - np.unique(codes[train]).size
            if missing:
                chunks = deal_chunks(self._n_chunks, n_folds)[fold]
                raise ValueError(
                    f"without fold {fold}, which is chunks {chunks} of those that have samples, {missing} of the "
                    f"{n_classes} classes have no sample to train on: shuffle the samples among chunks, or make "
                    "smaller chunks with X.rechunk(...) or X.repartition(...)"
                )
        return splits

    # -------------------------------------------------------------------------------------------------------- training

    def fit(self, estimator: Any, splits: Splits, probe: Indices) -> tuple[Any, OutOfFoldScores]:
        """Return the model of all chunks, and the scores of models that were trained without the chunks of a fold."""
        folds = deal_chunks(self._n_chunks, len(splits))
        every_chunk = list(range(self._n_chunks))
        parts = [[k for k in every_chunk if k not in set(fold)] for fold in folds]
        tasks = WorkerTasks(self._source)
        models, final = self._fit_parts(tasks, estimator, [*parts, every_chunk])
        asked = [
            self._ask(tasks, model, samples)
            for (_, test), seen, model in zip(splits, probe_of_folds(splits, probe), models, strict=True)
            for samples in (test, seen)
        ]
        scores = _gather(tasks, asked)
        return final, collect_scores(splits, probe, list(zip(scores[::2], scores[1::2], strict=True)))

    def _fit_parts(self, tasks: WorkerTasks, estimator: Any, parts: list[list[int]]) -> tuple[list[Any], Any]:
        """Return futures of the models of all parts but the last, and the model of the last."""
        is_made_for_dask = trains_on_dask(estimator)
        if is_made_for_dask:
            refuse_class_names(estimator, self.data.y[self._has_weight])
        if is_made_for_dask or trains_on(estimator, "cluster"):
            models = [self._fit_chunks(estimator, part) for part in parts]
            return [_send(tasks, model) for model in models[:-1]], models[-1]
        classes = np.unique(self.data.y[self._has_weight])
        targets = [self._send_targets(tasks, k) for k in range(self._n_chunks)]
        chains = []
        for part in parts:
            model = tasks.keep(clone(estimator), 0)
            for k in part * self.n_passes:
                model = tasks.on_chunk(k, partial_fit_chunk, model, targets[k], classes)
            chains.append(model)
        (final,) = tasks.answers(chains[-1:], lambda model: 0)
        if self._source.feature_names is not None:
            final.feature_names_in_ = np.array(self._source.feature_names, dtype=object)
        return chains[:-1], final

    def _fit_chunks(self, estimator: Any, chunks: Sequence[int]) -> Any:
        """Train a classifier that takes chunks itself."""
        bounds, source = self._source.bounds, self._source.part(chunks)
        samples = np.concatenate([np.arange(bounds[k], bounds[k + 1]) for k in chunks])
        weights = None if self.data.weights is None else self.data.weights[samples]
        if trains_on_dask(estimator):
            return fit_on_dask(estimator, source, self.data.y[samples], weights)
        return clone(estimator).fit(source, self.data.y[samples], **weight_setting(estimator, weights))

    def _send_targets(self, tasks: WorkerTasks, k: int) -> Any:
        own = slice(self._source.bounds[k], self._source.bounds[k + 1])
        targets = ChunkTargets(self.data.y[own], None if self.data.weights is None else self.data.weights[own])
        return tasks.keep(targets, count_bytes([part for part in targets if part is not None]), beside=k)

    # --------------------------------------------------------------------------------------------------------- scoring

    def score(self, model: Any, samples: Indices) -> Floats:
        """Return a model's scores of ascending samples."""
        tasks = WorkerTasks(self._source)
        return _gather(tasks, [self._ask(tasks, _send(tasks, model), samples)])[0]

    def _ask(self, tasks: WorkerTasks, model: Any, samples: Indices) -> list[Any]:
        """Return futures of the scores of ascending samples, one per chunk."""
        bounds = self._source.bounds
        edges = np.searchsorted(samples, bounds)
        asked = []
        for k in np.flatnonzero(np.diff(edges)).tolist():
            own = samples[edges[k] : edges[k + 1]] - bounds[k]
            is_whole = own.size == bounds[k + 1] - bounds[k]
            asked.append(tasks.on_chunk(k, score_chunk, model, self.task.scores, None if is_whole else own))
        return asked


def _send(tasks: WorkerTasks, model: Any) -> Any:
    """Return the future of a trained model for the scores of chunks, which are arrays without names of features."""
    light = copy_for_prediction(model)
    vars(light).pop("feature_names_in_", None)
    return tasks.keep(light, 0)


def _gather(tasks: WorkerTasks, asked: Sequence[Sequence[Any]]) -> list[Floats]:
    """Return the scores behind each list of futures."""
    answers = tasks.answers([future for one in asked for future in one], lambda scores: int(scores.nbytes))
    edges = np.cumsum([0] + [len(one) for one in asked])
    return [np.concatenate(answers[first:last]) if last > first else np.zeros(0) for first, last in pairwise(edges)]
