"""Train a classifier and choose which samples a person reviews: the steps of one call of `fit`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from metricwise.decisions.binary import ThresholdRule
from metricwise.decisions.decision import ScoredSamples, Sigmoid
from metricwise.decisions.executors import LocalExecutor
from metricwise.decisions.fitting import FitPlan, train_and_score
from metricwise.decisions.guarantees import Constraint, refuse_too_few
from metricwise.decisions.out_of_fold import OutOfFoldScores
from metricwise.decisions.scoring import gives_probabilities
from metricwise.decisions.triage import TriageDecision, choose_by_capacity, choose_by_guarantees, shift_window
from metricwise.measures.base import CountsTable


@dataclass(frozen=True)
class TriagePlan:
    """What training needs beside the samples.

    Attributes
    ----------
    estimator : classifier
        To be trained, or trained already (``prefit``).
    measure : CountsTable
        The measure of the samples that are not reviewed.
    constraints : tuple of Constraint
        Guarantees; none with a capacity.
    capacity : float
        Share of the samples to review; it has no effect with guarantees.
    confidence : float
        Confidence of the guarantees.
    cv : int, splitter, iterable or None
        Folds.
    seed : int
        Of folds and parts of the samples.
    prefit : bool
        Whether the classifier is trained already, so that the samples are used for the thresholds only.
    """

    estimator: Any
    measure: CountsTable
    constraints: tuple[Constraint, ...]
    capacity: float
    confidence: float
    cv: Any
    seed: int
    prefit: bool = False

    @property
    def fit_plan(self) -> FitPlan:
        """How the classifier is trained and scored."""
        return FitPlan(self.estimator, ThresholdRule(seed=self.seed), self.confidence, self.cv, self.prefit)


class FittedTriage(NamedTuple):
    """A model and the decision which samples are reviewed."""

    model: Any
    decision: TriageDecision


def fit_triage(executor: LocalExecutor, plan: TriagePlan) -> FittedTriage:
    """Train a model and choose the two thresholds of its scores.

    Parameters
    ----------
    executor : LocalExecutor
        Trains and scores; it has the samples.
    plan : TriagePlan
        What to train, and how to choose.
    """
    return _fit_with_guarantees(executor, plan) if plan.constraints else _fit_with_capacity(executor, plan)


def _fit_with_guarantees(executor: LocalExecutor, plan: TriagePlan) -> FittedTriage:
    """Train, and order thresholds, on one part of the samples; test them on the other."""
    first, second = executor.halve(plan.seed, tests_most=plan.prefit)
    refuse_too_few(plan.constraints, plan.confidence, second.data.target)
    model, found = train_and_score(first, plan.fit_plan)
    ordering = first.data.attach_scores(found.samples, found.scores)
    held_out = np.arange(len(second.data.y))
    testing = second.data.attach_scores(held_out, second.score(model, held_out))
    is_probability = gives_probabilities(plan.estimator)
    decision = choose_by_guarantees(plan.measure, plan.constraints, plan.confidence, ordering, testing, is_probability)
    return FittedTriage(model, decision)


def _fit_with_capacity(executor: LocalExecutor, plan: TriagePlan) -> FittedTriage:
    """Train on all samples, and choose a window of their out-of-fold scores."""
    is_probability = gives_probabilities(plan.estimator)
    model, found = train_and_score(executor, plan.fit_plan)
    samples = executor.data.attach_scores(found.samples, found.scores)
    groups = executor.data.groups_of(found.samples)
    decision = choose_by_capacity(plan.measure, plan.capacity, samples, groups, plan.seed, is_probability)
    return FittedTriage(model, _shift_to_final(executor, decision, model, found, samples))


def _shift_to_final(
    executor: LocalExecutor, decision: TriageDecision, model: Any, found: OutOfFoldScores, samples: ScoredSamples
) -> TriageDecision:
    """Return the decision shifted from the fold models to the final model, by the probe that all have seen."""
    if not found.probe.size:
        return decision
    by_final = executor.score(model, found.probe)
    probe = executor.data.probe(found.probe, found.probe_scores, by_final)
    line = Sigmoid() if decision.is_probability else Sigmoid.fit(samples)
    return replace(decision, window=shift_window(decision.window, probe, line))
