"""Train candidates, on no more samples than they can use, and score samples by their models, block by block."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from metricwise._sklearn import count_samples, take_samples
from metricwise._typing import Floats, Integers, Labels
from metricwise.decisions.task import Task
from metricwise.decisions.training_data import Fit
from metricwise.estimators.selection.learner_threads import fit_on_threads
from metricwise.estimators.selection.subsets import draw_part

_BLOCK = 5000  # samples that are scored at a time: some learners need many times their memory


def make_fit(task: Task, estimator: Any, most_samples: int | None, seed: int) -> Fit:
    """Return a function that trains copies of an estimator.

    Parameters
    ----------
    task : Task
        The task.
    estimator : classifier
        The learner.
    most_samples : int or None
        So many samples, drawn at random, are enough for the learner; None if it is trained on all that it is given.
    seed : int
        Seeds the draw.
    """
    fit: Fit = partial(fit_on_threads, task, estimator)
    return fit if most_samples is None else partial(_fit_on_some, fit, task, most_samples, seed)


def _fit_on_some(
    fit: Fit,
    task: Task,
    most_samples: int,
    seed: int,
    X: Any,
    y: Labels,
    weights: Floats | None,
    groups: Integers | None = None,
) -> Any:
    """Train on a random part of the samples if there are more than enough."""
    if len(y) <= most_samples:
        return fit(X, y, weights, groups=groups)
    some = draw_part(task.strata(task.encode(y)), groups, most_samples, seed)
    part = take_samples(X, some), y[some], None if weights is None else weights[some]
    return fit(*part, groups=None if groups is None else groups[some])


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
