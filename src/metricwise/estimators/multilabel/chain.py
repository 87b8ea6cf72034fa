"""A chain of classifiers, each of which sees the labels before its own."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy.special import expit

from metricwise._state import StoredState
from metricwise._typing import Floats, Indices, Integers, LabelMatrix
from metricwise.decisions.parallel import run_in_parallel
from metricwise.designs.matrix import append_columns
from metricwise.estimators.multilabel.learners import as_logistic, fit_classifier, probability
from metricwise.kernels import chains
from metricwise.threads import available_threads, block_bounds, run_blocks

_FARTHEST = 1e4  # stands for the logit of a label that is certain


class Chain:
    """p(y | x) as a product of p(y_k | x, y_1 ... y_k-1), in an order of the labels.

    Parameters
    ----------
    order : array of int
        The labels, first to last.
    models : list
        The classifier of each label in that order; its features are those of a sample and the labels before.
    n_features : int
        Features of a sample.
    """

    __stored_state__: ClassVar[StoredState] = StoredState(1, ("order", "models", "n_features", "_linear"))

    def __init__(self, order: Indices, models: list[Any], n_features: int) -> None:
        self.order, self.models, self.n_features = order, models, n_features
        self._linear: tuple[Floats, Floats, Floats] | None = None

    @classmethod
    def learn(
        cls,
        estimator: Any,
        X: Any,
        labels: LabelMatrix,
        order: Indices,
        weights: Floats | None,
        n_jobs: int | None,
        groups: Integers | None = None,
    ) -> Chain:
        """Train the classifiers; each sees the true labels before its own."""
        sorted_labels = labels[:, order]
        jobs = (  # one at a time: each has a copy of the samples
            (estimator, _add_labels(X, sorted_labels[:, :k]), sorted_labels[:, k], weights, groups)
            for k in range(len(order))
        )
        chain = cls(order, run_in_parallel(fit_classifier, jobs, n_jobs, "label", len(order)), int(X.shape[1]))
        chain._note_logistic(X, sorted_labels)
        return chain

    def _note_logistic(self, X: Any, sorted_labels: LabelMatrix) -> None:
        """Keep the weights if all classifiers are logistic: what a sample adds to the scores is then computed once."""
        some, known = X[:20], sorted_labels[:20]
        found = [as_logistic(model, _add_labels(some, known[:, :k])) for k, model in enumerate(self.models)]
        if any(one is None for one in found):
            return
        size = len(self.models)
        of_samples, of_labels, constants = np.zeros((size, self.n_features)), np.zeros((size, size)), np.zeros(size)
        for k, one in enumerate(found):
            assert one is not None
            of_samples[k], of_labels[:k, k] = one[0][: self.n_features], one[0][self.n_features :]
            constants[k] = np.clip(one[1], -_FARTHEST, _FARTHEST)
        self._linear = of_samples, of_labels, constants

    @property
    def is_logistic(self) -> bool:
        """Whether samples can be drawn by compiled code."""
        return self._linear is not None

    def logits(self, X: Any) -> Floats:
        """Return what samples alone add to the score of each label, in the order of the chain."""
        assert self._linear is not None
        of_samples, _, constants = self._linear
        return np.ascontiguousarray(np.asarray(X @ of_samples.T) + constants)

    def step(self, k: int, X: Any, logits: Floats | None, prefixes: LabelMatrix) -> Floats:
        """Return the probability of the k-th label for every sample and every one of its ``prefixes``.

        ``prefixes`` has the shape (n_prefixes, k) if all samples have the same ones, else (n_instances, n_prefixes, k).
        """
        if logits is not None:
            assert self._linear is not None
            values: Floats = expit(logits[:, k, None] + prefixes @ self._linear[1][:k, k])
            return values
        n_instances, n_prefixes = X.shape[0], prefixes.shape[-2]
        shared = np.broadcast_to(prefixes, (n_instances, n_prefixes, k)).reshape(n_instances * n_prefixes, k)
        instances = np.repeat(np.arange(n_instances), n_prefixes)
        # Many prefixes of a sample are alike: each is asked for once.
        keys = np.column_stack([instances, shared])
        distinct, inverse = np.unique(keys, axis=0, return_inverse=True)
        found = probability(self.models[k], _add_labels(X[distinct[:, 0]], distinct[:, 1:].astype(np.int8)))
        return found[np.ravel(inverse)].reshape(n_instances, n_prefixes)

    def sample(self, X: Any, n_samples: int, seed: int, first: int) -> LabelMatrix:
        """Return drawn label vectors, of shape (n_instances, n_samples, n_labels), seeded by the instance's number."""
        n_instances, n_labels = X.shape[0], len(self.order)
        samples = np.zeros((n_instances, n_samples, n_labels), dtype=np.int8)
        if self._linear is not None:
            logits, weights, order = self.logits(X), self._linear[1], self.order.astype(np.int64)
            run_blocks(
                lambda _, start, stop: chains.sample_chain(logits, weights, order, seed, first, samples, start, stop),
                block_bounds(n_instances, float(n_instances) * n_samples * n_labels),
                available_threads(),
            )
            return samples
        drawn = np.zeros((n_instances, n_samples, n_labels), dtype=np.int8)
        uniform = np.stack(
            [np.random.default_rng((seed, first + i)).random((n_samples, n_labels)) for i in range(n_instances)]
        )
        for k in range(n_labels):
            drawn[:, :, k] = uniform[:, :, k] < self.step(k, X, None, drawn[:, :, :k])
        samples[:, :, self.order] = drawn
        return samples

    def joint(self, X: Any) -> tuple[LabelMatrix, Floats]:
        """Return all label vectors, and the probability of each, of shape (n_instances, 2^n_labels)."""
        logits = self.logits(X) if self.is_logistic else None
        patterns, joint = np.zeros((1, 0), dtype=np.int8), np.ones((X.shape[0], 1))
        for k in range(len(self.order)):
            on = self.step(k, X, logits, patterns)
            joint = np.concatenate([joint * (1.0 - on), joint * on], axis=1)
            zero, one = np.zeros((len(patterns), 1), np.int8), np.ones((len(patterns), 1), np.int8)
            patterns = np.concatenate([np.hstack([patterns, zero]), np.hstack([patterns, one])])
        labels = np.empty_like(patterns)
        labels[:, self.order] = patterns
        return labels, joint

    def likely(self, X: Any, width: int) -> tuple[LabelMatrix, Floats]:
        """Return the most probable label vector that a beam of some width finds, and its log-probability."""
        logits = self.logits(X) if self.is_logistic else None
        n_instances = X.shape[0]
        prefixes, scores = np.zeros((n_instances, 1, 0), dtype=np.int8), np.zeros((n_instances, 1))
        for k in range(len(self.order)):
            on = np.clip(self.step(k, X, logits, prefixes), 1e-300, 1.0 - 1e-16)
            both = np.concatenate([scores + np.log1p(-on), scores + np.log(on)], axis=1)
            longer = np.concatenate([_with(prefixes, 0), _with(prefixes, 1)], axis=1)
            best = np.argsort(-both, axis=1, kind="stable")[:, :width]
            scores = np.take_along_axis(both, best, axis=1)
            prefixes = np.take_along_axis(longer, best[:, :, None], axis=1)
        labels = np.empty((n_instances, len(self.order)), dtype=np.int8)
        labels[:, self.order] = prefixes[:, 0]
        return labels, scores[:, 0]


def _with(prefixes: LabelMatrix, label: int) -> LabelMatrix:
    return np.concatenate([prefixes, np.full((*prefixes.shape[:2], 1), label, dtype=np.int8)], axis=2)


def _add_labels(X: Any, labels: LabelMatrix) -> Any:
    """Return samples with labels as further features."""
    return append_columns(X, labels.astype(X.dtype)) if labels.shape[1] else X
