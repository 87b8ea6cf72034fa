"""Compare candidates on samples in memory, and train those that the best ensemble needs."""

from __future__ import annotations

from typing import Any, NamedTuple

from metricwise.decisions.binary import ThresholdRule
from metricwise.decisions.profit_task import learner_measure
from metricwise.decisions.task import Task
from metricwise.decisions.training_data import TrainingData
from metricwise.estimators.guarded_fit import warn_once_per_cause
from metricwise.estimators.routing import pass_to_own_learners
from metricwise.estimators.selection.candidate_warnings import record_warnings
from metricwise.estimators.selection.candidates.candidate import Problem
from metricwise.estimators.selection.candidates.portfolio import make_portfolio
from metricwise.estimators.selection.ensemble import best_mixture
from metricwise.estimators.selection.final_training import FinalModels, fit_final, keep_affordable
from metricwise.estimators.selection.halving import Outcome, ReportProgress, SuccessiveHalving
from metricwise.estimators.selection.profile import Profile
from metricwise.estimators.selection.schedule import Schedule
from metricwise.progress import Stage
from metricwise.results import DegenerateOptimumWarning


class SelectionPlan(NamedTuple):
    """What a user decides of a selection.

    Attributes
    ----------
    candidates : "auto", list of str or dict
        The candidates.
    cv : int, splitter, iterable or None
        Folds of all samples.
    report_progress : callable
        Called with a line of text; returns True to end the selection.
    """

    candidates: Any
    cv: Any
    report_progress: ReportProgress


class Selected(NamedTuple):
    """The selection, its finalists and their models, and why other candidates are absent, by name."""

    halving: SuccessiveHalving
    outcome: Outcome
    final: FinalModels
    absent: dict[str, str]


def select(
    plan: SelectionPlan,
    task: Task,
    data: TrainingData,
    rule: ThresholdRule,
    profile: Profile,
    schedule: Schedule,
    stage: Stage,
) -> Selected:
    """Return the selected candidates, trained on all samples or as many as there is time for.

    Parameters
    ----------
    plan : SelectionPlan
        What the user decides.
    task, data, rule
        Task, samples, and how thresholds are chosen.
    profile : Profile
        The shape and the kind of the samples.
    schedule : Schedule
        What the time budget allows.
    stage : Stage
        Shows which candidate is trained.
    """
    has_own = isinstance(plan.candidates, dict)
    n_outputs = 1 if task.is_binary else task.classes.size
    problem = Problem(profile, learner_measure(task), n_outputs, task.is_multilabel, rule.seed)
    portfolio = make_portfolio(plan.candidates, problem)
    candidates = [one.change_estimators(task.share_positive_class) for one in portfolio.candidates]
    halving = SuccessiveHalving(task, data, rule, plan.cv, schedule, plan.report_progress, stage)
    with pass_to_own_learners(not has_own):
        outcome = halving.run(candidates)
        with record_warnings():  # what concerns the selected model is reported when it is trained
            mixture = best_mixture(halving, outcome.rung, outcome.finalists)
            mixture = keep_affordable(halving, outcome.rung, mixture)
        halving.progress.show_final(outcome.runs, mixture.runs)
        # A candidate of ours is selected by its scores, whatever its surrogate is: the leaderboard has the warning.
        with warn_once_per_cause(() if has_own else (DegenerateOptimumWarning,)):
            final = fit_final(halving, outcome, mixture)
    return Selected(halving, outcome, final, portfolio.absent)
