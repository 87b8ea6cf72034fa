"""Let learners of river go through a stream: GIVEN FOUND.

Runs in an environment of its own, without metricwise. GIVEN has samples (dense X, or the parts of a CSR matrix), their
targets y (0 and 1, numbers of classes, or a 0/1 matrix of labels), test samples, and a learner with its settings; FOUND
gets the probabilities of every sample before it was learnt from, those of the test samples, and processor seconds.
"""

from __future__ import annotations

import json
import sys
import time
from itertools import pairwise
from typing import Any

import numpy as np
from river import forest, linear_model, optim, preprocessing, tree

TREES = {
    "Hoeffding adaptive tree": tree.HoeffdingAdaptiveTreeClassifier,
    "adaptive random forest": forest.ARFClassifier,
}


def make_learner(name: str, settings: dict[str, Any], is_text: bool, n_classes: int) -> Any:
    """Return a learner of river as its users would put it together."""
    if name in TREES:
        return TREES[name](seed=0, **settings)
    kind = linear_model.LogisticRegression if n_classes == 2 else linear_model.SoftmaxRegression
    learner = kind(optimizer=optim.SGD(settings["rate"]))
    return learner if is_text else preprocessing.StandardScaler() | learner


def read_samples(part: Any, prefix: str) -> list[dict[int, float]]:
    """Return samples as dictionaries; those of a CSR matrix with their entries alone."""
    if prefix in part:
        return [dict(enumerate(row)) for row in part[prefix].tolist()]
    data, indices, indptr = (part[f"{prefix}_{name}"] for name in ("data", "indices", "indptr"))
    rows = (slice(start, stop) for start, stop in pairwise(indptr))
    return [dict(zip(indices[own].tolist(), data[own].tolist(), strict=True)) for own in rows]


def follow(learner: Any, samples: list[dict[int, float]], y: Any, n_classes: int) -> Any:
    """Return the probabilities of all samples, each predicted before it is learnt from."""
    chances = np.zeros((len(samples), n_classes))
    for row, (sample, label) in enumerate(zip(samples, y.tolist(), strict=True)):
        for key, chance in learner.predict_proba_one(sample).items():
            chances[row, int(key)] = chance
        learner.learn_one(sample, bool(label) if n_classes == 2 else label)
    return chances


def predict(learner: Any, samples: list[dict[int, float]], n_classes: int) -> Any:
    """Return probabilities without learning."""
    chances = np.zeros((len(samples), n_classes))
    for row, sample in enumerate(samples):
        for key, chance in learner.predict_proba_one(sample).items():
            chances[row, int(key)] = chance
    return chances


def main(given: str, found: str) -> None:
    """Follow a stream with one learner, or one per label."""
    part = np.load(given)
    name, settings, y = str(part["learner"]), json.loads(str(part["settings"])), part["y"]
    samples, test = read_samples(part, "X"), read_samples(part, "X_test")
    is_text, n_classes = "X" not in part, 2 if y.ndim == 2 else int(part["n_classes"])
    columns, seconds, chances, tested = (y.T if y.ndim == 2 else [y]), 0.0, [], []
    for column in columns:
        learner = make_learner(name, settings, is_text, n_classes)
        start = time.process_time()
        chances.append(follow(learner, samples, column, n_classes))
        seconds += time.process_time() - start
        tested.append(predict(learner, test, n_classes))
    if n_classes == 2:
        chances, tested = [one[:, 1:] for one in chances], [one[:, 1:] for one in tested]
    np.savez(found, chances=np.hstack(chances), tested=np.hstack(tested), cpu_seconds=seconds)


if __name__ == "__main__":
    main(*sys.argv[1:])
