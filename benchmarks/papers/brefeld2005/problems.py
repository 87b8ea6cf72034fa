"""Random draws of training and holdout samples: topics of Reuters-21578, and pairs of digits of MNIST."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.metrics.pairwise import polynomial_kernel
from sklearn.preprocessing import normalize

from benchmarks.data import load
from benchmarks.papers.datasets import collection

Mask = NDArray[np.bool_]
Indices = NDArray[np.int64]

SEED = 0
TOPICS = ("acq", "crude", "earn", "grain", "interest", "money-fx")
TIMED_TOPIC = "earn"
DIGITS = ((3, 8), (4, 9))
DEGREES = (2, 3, 5)
TEXT_HOLDOUT = 3000
DIGIT_HOLDOUT = 1000
FEWEST = 2  # training samples of either class


class Case(NamedTuple):
    """One binary problem: samples as features (None where only the kernel is used) and as kernel values."""

    X: Any
    X_test: Any
    K: Any
    K_test: Any
    y: Mask
    y_test: Mask

    @property
    def paper_scale(self) -> float:
        """The factor from C to the paper's C, which weights the sum over pairs: n / (n_pos n_neg)."""
        n_pos = int(np.count_nonzero(self.y))
        return self.y.size / (n_pos * (self.y.size - n_pos))


class Text:
    """Samples of both parts of Reuters-21578, tf-idf of unit length; every draw serves all topics."""

    def __init__(self) -> None:
        data = collection("reuters")
        self.X = sparse.vstack([data.X, data.X_test]).tocsr()
        columns = [data.classes.index(topic) for topic in TOPICS if topic in data.classes]
        self.topics = tuple(data.classes[column] for column in columns)
        self.labels: Mask = np.concatenate([data.labels, data.test_labels])[:, columns]

    def cases(self, n_samples: int, number: int, kernel: bool = True) -> dict[str, Case]:
        """Return a draw of ``n_samples`` training samples for every topic.

        Features that are zero in all training samples are dropped: no model has a weight for them.
        """
        indices = self._draw_indices(n_samples, number)
        X, X_test = self.X[indices[:n_samples]], self.X[indices[n_samples:]]
        used = np.unique(X.indices)
        X, X_test = X[:, used], X_test[:, used]
        K, K_test = ((X @ X.T).toarray(), (X_test @ X.T).toarray()) if kernel else (None, None)
        labels, test_labels = self.labels[indices[:n_samples]], self.labels[indices[n_samples:]]
        return {
            topic: Case(X, X_test, K, K_test, labels[:, column], test_labels[:, column])
            for column, topic in enumerate(self.topics)
        }

    def _draw_indices(self, n_samples: int, number: int) -> Indices:
        """Return random indices, first those for training; drawn again until every topic is among these."""
        random = np.random.default_rng([SEED, n_samples, number])
        while True:
            indices: Indices = random.permutation(self.X.shape[0])[: n_samples + TEXT_HOLDOUT]
            if self.labels[indices[:n_samples]].sum(axis=0).min() >= FEWEST:
                return indices


class Digits:
    """Images of two digits, of unit length: training samples of the training part, holdout samples of the test part."""

    def __init__(self, pair: tuple[int, int]) -> None:
        self.pair = pair

    @property
    def title(self) -> str:
        return f"{self.pair[0]} or {self.pair[1]}"

    @cached_property
    def _parts(self) -> list[tuple[Any, Mask]]:
        data = load("mnist")
        parts = []
        for part in ("train", "test"):
            chosen = np.isin(data[f"y_{part}"], self.pair)
            images = data[f"X_{part}"][chosen].astype(np.float64)
            parts.append((normalize(images), data[f"y_{part}"][chosen] == self.pair[1]))
        return parts

    def cases(self, n_samples: int, number: int) -> dict[str, Case]:
        """Return a draw of ``n_samples`` training samples with the kernel (1 + x'z)^degree of every degree."""
        (images, truth), (test_images, test_truth) = self._parts
        random = np.random.default_rng([SEED, n_samples, number])
        indices = random.permutation(len(truth))[:n_samples]
        held = random.permutation(len(test_truth))[:DIGIT_HOLDOUT]
        return dict(self._kernels(images[indices], truth[indices], test_images[held], test_truth[held]))

    def _kernels(self, X: Any, y: Mask, X_test: Any, y_test: Mask) -> Iterator[tuple[str, Case]]:
        for degree in DEGREES:
            K = polynomial_kernel(X, degree=degree, gamma=1.0, coef0=1.0)
            K_test = polynomial_kernel(X_test, X, degree=degree, gamma=1.0, coef0=1.0)
            yield str(degree), Case(None, None, K, K_test, y, y_test)
