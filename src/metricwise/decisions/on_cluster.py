"""One call of `fit` on a Dask collection: models are trained where the chunks are, and folds are whole chunks."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from copy import copy, deepcopy
from dataclasses import dataclass
from itertools import pairwise
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from metricwise._typing import Floats, Indices, Labels
from metricwise.decisions.binary import Aim
from metricwise.decisions.dask_learners import (
    fitted_on_dask,
    for_memory,
    refuse_names_of_classes,
    trains_on_dask,
)
from metricwise.decisions.fitting import Binary, Fitting
from metricwise.decisions.folds import DEFAULT_FOLDS, deal_chunks
from metricwise.decisions.out_of_fold import Scores, draw_probe
from metricwise.decisions.weighting import weight_setting
from metricwise.designs.cluster.encoding import count_bytes
from metricwise.designs.cluster.source import DaskSource
from metricwise.designs.cluster.tasks import WorkerTasks
from metricwise.registry import entries, listed, trains_on

Score = Callable[[Any, Any], Floats]


_NOT_FOR_PREDICTION = ("result_", "_warm_states", "_held_out", "callback")  # large, or at home in this process only


class Targets(NamedTuple):
    """Labels and weights of the samples of a chunk; None: all have weight one."""

    y: Labels
    weights: Floats | None


@dataclass
class ClusterFitting(Fitting):
    """The parameters of one call of `fit`, and chunks of samples on a cluster.

    Attributes
    ----------
    X : DaskSource
        The chunks.
    n_passes : int
        Over the chunks, of a learner that is trained by ``partial_fit``.
    """

    X: DaskSource
    n_passes: int = 1

    def __post_init__(self) -> None:
        self.tasks = WorkerTasks(self.X)
        self.n_chunks = len(self.X.bounds) - 1

    def _promise(self, aim: Aim, y: Labels, positive: Any, confidence: float) -> Binary:
        raise ValueError(
            "a promise is tested on samples drawn at random, and samples of a Dask collection are kept from training "
            "in whole chunks: set confidence=None to keep constraints on held-out samples without a promise, or use "
            "X.compute()"
        )

    def _scores(
        self, y: Labels, strata: Labels, score: Score, probed: bool = True, one_scale: bool = False
    ) -> tuple[Scores, Any]:
        """Return scores of samples by models that have not seen them, and the model of all samples.

        Scores of different folds stay as they are (``one_scale`` is for random folds): chunks may differ.
        """
        counted = np.flatnonzero(self.sample_weights_of > 0.0)
        if self.prefit:
            nothing = np.zeros(0)
            model = for_memory(self.estimator) if trains_on_dask(self.estimator) else self.estimator
            return Scores(counted, self.scored(model, counted, score), nothing.astype(np.int64), nothing), model
        codes = np.unique(strata, return_inverse=True)[1]
        folds = self._folds(codes)
        models, whole = self._trained(y, folds)
        fold_of_row = np.repeat(np.arange(self.n_chunks) % len(folds), np.diff(self.X.bounds))
        held = [counted[fold_of_row[counted] == fold] for fold in range(len(folds))]
        probe = counted[draw_probe(codes[counted], self.seed)] if probed else counted[:0]
        seen = [probe[fold_of_row[probe] != fold] for fold in range(len(folds))]
        asked = [self._asked(model, rows, score) for model, rows in zip(models * 2, held + seen, strict=True)]
        found = self._answered(asked)
        unseen, again = np.concatenate(found[: len(folds)]), found[len(folds) :]
        total = np.zeros((probe.size, *unseen.shape[1:]))
        for rows, scores in zip(seen, again, strict=True):
            if rows.size:
                total[np.searchsorted(probe, rows)] += scores
        # Every sample of the probe was seen by all models but one.
        return Scores(np.concatenate(held), unseen, probe, total / (len(folds) - 1)), whole

    # ----------------------------------------------------------------------------------------------------------- folds

    def _folds(self, codes: NDArray[np.int64]) -> list[list[int]]:
        """Return the chunks of every fold, dealt out in turn; raise if models could not be trained without them."""
        if self.cv is not None and not isinstance(self.cv, Integral):
            raise ValueError(
                "folds of a Dask collection are made of whole chunks, so that cv must be the number of folds, not "
                f"{type(self.cv).__name__}"
            )
        n_folds = DEFAULT_FOLDS if self.cv is None else int(self.cv)
        if not 2 <= n_folds <= self.n_chunks:
            raise ValueError(
                f"{n_folds} folds of whole chunks need two folds or more and as many chunks, but X has {self.n_chunks} "
                f"with samples: use X.rechunk(...) or X.repartition(...) to make more, or set cv to a number from 2 to "
                f"{self.n_chunks}"
            )
        folds = deal_chunks(self.n_chunks, n_folds)
        counts = np.zeros((self.n_chunks, int(codes.max()) + 1))
        chunk_of_row = np.repeat(np.arange(self.n_chunks), np.diff(self.X.bounds))
        np.add.at(counts, (chunk_of_row, codes), self.sample_weights_of > 0.0)
        for number, fold in enumerate(folds):
            missing = np.flatnonzero(counts.sum(axis=0) - counts[fold].sum(axis=0) == 0.0)
            if missing.size:
                raise ValueError(
                    f"without fold {number}, which is chunks {fold} of those that have samples, {missing.size} of the "
                    f"{counts.shape[1]} classes have no sample to train on: shuffle the samples among chunks, or make "
                    "smaller chunks with X.rechunk(...) or X.repartition(...)"
                )
        return folds

    # -------------------------------------------------------------------------------------------------------- training

    def _trained(self, y: Labels, folds: Sequence[Sequence[int]]) -> tuple[list[Any], Any]:
        """Return futures of models, each without a fold, and the model of all chunks."""
        everything = list(range(self.n_chunks))
        parts = [[k for k in everything if k not in set(fold)] for fold in folds]
        made_for_dask = trains_on_dask(self.estimator)
        if made_for_dask:
            refuse_names_of_classes(self.estimator, y[self.sample_weights_of > 0.0])
        if made_for_dask or trains_on(self.estimator, "cluster"):
            models = [self._fitted(y, part) for part in [*parts, everything]]
            return [self._kept(model) for model in models[:-1]], models[-1]
        classes = np.unique(y[self.sample_weights_of > 0.0])
        targets = [self._targets(y, k) for k in everything]
        chains = [self._taught(part, targets, classes) for part in [*parts, everything]]
        (whole,) = self.tasks.answers(chains[-1:], lambda model: 0)
        if self.X.feature_names is not None:
            whole.feature_names_in_ = np.array(self.X.feature_names, dtype=object)
        return chains[:-1], whole

    def _fitted(self, y: Labels, chunks: Sequence[int]) -> Any:
        rows = np.concatenate([np.arange(self.X.bounds[k], self.X.bounds[k + 1]) for k in chunks])
        part = None if self.weights is None else self.weights[rows]
        if trains_on_dask(self.estimator):
            return fitted_on_dask(self.estimator, self.X.part(chunks), y[rows], part)
        return clone(self.estimator).fit(self.X.part(chunks), y[rows], **weight_setting(self.estimator, part))

    def _targets(self, y: Labels, k: int) -> Any:
        own = slice(self.X.bounds[k], self.X.bounds[k + 1])
        targets = Targets(y[own], None if self.weights is None else self.weights[own])
        return self.tasks.keep(targets, count_bytes([part for part in targets if part is not None]), beside=k)

    def _taught(self, chunks: Sequence[int], targets: Sequence[Any], classes: Labels) -> Any:
        """Return the future of a model that has visited chunks in their order, some times."""
        model = self.tasks.keep(clone(self.estimator), 0)
        for _ in range(self.n_passes):
            for k in chunks:
                model = self.tasks.on_chunk(k, taught, model, targets[k], classes)
        return model

    # --------------------------------------------------------------------------------------------------------- scoring

    def scored(self, model: Any, rows: Indices, score: Score) -> Floats:
        """Return a model's scores of ascending samples."""
        return self._answered([self._asked(self._kept(model), rows, score)])[0]

    def _kept(self, model: Any) -> Any:
        """Return the future of a trained model for the scores of chunks, which are arrays without names of features."""
        light = light_copy(model)
        vars(light).pop("feature_names_in_", None)
        return self.tasks.keep(light, 0)

    def _asked(self, model: Any, rows: Indices, score: Score) -> list[Any]:
        """Return futures of the scores of ascending samples, a chunk each."""
        edges = np.searchsorted(rows, self.X.bounds)
        asked = []
        for k in np.flatnonzero(np.diff(edges)).tolist():
            own = rows[edges[k] : edges[k + 1]] - self.X.bounds[k]
            all_of_them = own.size == self.X.bounds[k + 1] - self.X.bounds[k]
            asked.append(self.tasks.on_chunk(k, chunk_scores, model, score, None if all_of_them else own))
        return asked

    def _answered(self, asked: Sequence[Sequence[Any]]) -> list[Floats]:
        answers = self.tasks.answers([future for one in asked for future in one], lambda scores: int(scores.nbytes))
        edges = np.cumsum([0] + [len(one) for one in asked])
        return [np.concatenate(answers[first:last]) if last > first else np.zeros(0) for first, last in pairwise(edges)]


def refuse_learner(estimator: Any) -> None:
    """Raise if a learner cannot be trained on a Dask collection."""
    if trains_on(estimator, "cluster"):
        refuse_kernels(estimator)
    elif not trains_on_dask(estimator) and not hasattr(estimator, "partial_fit"):
        raise ValueError(
            f"{type(estimator).__name__} needs all samples in memory, and X is a Dask collection: use X.compute(), or "
            "a classifier with partial_fit (such as SGDClassifier(loss='log_loss')), one made for Dask (such as "
            f"lightgbm.DaskLGBMClassifier), or {listed(entries('svm', 'streaming', trains_on='cluster'))}"
        )


def taught(X: Any, model: Any, targets: Targets, classes: Labels) -> Any:
    """Return a model that has learnt from one more chunk; the given one stays as it is."""
    y, weights = targets
    if weights is not None and np.any(weights == 0.0):
        rows = np.flatnonzero(weights)
        X, y, weights = X[rows], y[rows], weights[rows]
    if not y.size:
        return model
    takes = weights is not None and "sample_weight" in inspect.signature(model.partial_fit).parameters
    return deepcopy(model).partial_fit(X, y, classes=classes, **({"sample_weight": weights} if takes else {}))


def chunk_scores(X: Any, model: Any, score: Score, rows: Indices | None) -> Floats:
    """Return the scores of a chunk, or of some of its samples."""
    return score(model, X if rows is None else X[rows])


def refuse_kernels(model: Any) -> None:
    """Raise if a model would need all samples in memory for a kernel or for clusters of pairs."""
    if getattr(model, "kernel", "linear") != "linear" or getattr(model, "pairs", "exact") != "exact":
        raise ValueError(
            "kernels and pairs='kmeans' need all samples in memory, and these are on a cluster: set kernel='linear' "
            "and pairs='exact', with features of your own (Nystroem) if the model is to bend, or use X.compute()"
        )


def light_copy(model: Any) -> Any:
    """Return a copy of a trained model without what predictions do not need, and what would be sent along."""
    light: Any = copy(model)
    for name in _NOT_FOR_PREDICTION:
        if name in vars(light):
            setattr(light, name, None)
    return light
