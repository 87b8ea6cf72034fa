"""Draw the samples that candidates are trained on, and score samples by their models, block by block."""

from __future__ import annotations

from typing import Any

import numpy as np

from metricwise._sklearn import count_samples, take_samples
from metricwise._typing import Floats, Indices
from metricwise.decisions.task import Task
from metricwise.decisions.training_data import TrainingData
from metricwise.estimators.selection.subsets import draw_part

_BLOCK = 2500  # samples that are scored at a time: some learners need many times their memory


def draw_to_train(task: Task, data: TrainingData, most_samples: int | None, seed: int, samples: Indices) -> Indices:
    """Return the samples that a learner is trained on: all that it is given, or a random part that is enough for it.

    Parameters
    ----------
    task, data
        Task and samples.
    most_samples : int or None
        So many samples are enough; None for all.
    seed : int
        Seeds the draw.
    samples : array of int
        The samples that it is given.
    """
    if most_samples is None or samples.size <= most_samples:
        return samples
    strata = task.strata(data.target)[samples]
    return samples[draw_part(strata, data.groups_of(samples), most_samples, seed)]


def limit_scores(task: Task, prior: Any, model: Any, X: Any) -> Floats:
    """Return the scores of a model, those from probabilities clipped to a distance from the prior.

    Parameters
    ----------
    task : Task
        The task.
    prior : float or array
        Scores of samples of which nothing is known.
    model : classifier
        The trained model.
    X : samples
        The samples to score.
    """
    n_samples = count_samples(X)
    if n_samples <= _BLOCK:
        return task.limit_certainty(model, task.scores(model, X), prior)
    blocks = (
        take_samples(X, np.arange(start, min(start + _BLOCK, n_samples))) for start in range(0, n_samples, _BLOCK)
    )
    return np.concatenate([task.limit_certainty(model, task.scores(model, block), prior) for block in blocks])
