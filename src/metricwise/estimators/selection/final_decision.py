"""Choose the threshold of the selected models, and the score to expect of it."""

from __future__ import annotations

import numpy as np

from metricwise.decisions.adaptation import note_samples
from metricwise.decisions.calibrating import fit_calibration
from metricwise.decisions.decision import Decision, ScoredSamples
from metricwise.decisions.fitting import account_for_groups, account_for_growth
from metricwise.decisions.group_decision import GroupPlan, GroupRule
from metricwise.decisions.guarantees import UnreachableGuaranteeError
from metricwise.decisions.learning_curve import shows_growth
from metricwise.decisions.training_data import TrainingData
from metricwise.estimators.selection.final_training import FinalModels
from metricwise.estimators.selection.guarantees import decide_by_group
from metricwise.estimators.selection.halving import Outcome, SuccessiveHalving
from metricwise.memory import release_freed_memory


def decide(
    halving: SuccessiveHalving,
    outcome: Outcome,
    final: FinalModels,
    testing: TrainingData | None,
    confidence: float | None,
    by_group: GroupPlan | None,
) -> tuple[Decision, GroupRule | None]:
    """Choose the threshold of the final models, or thresholds under constraints by group.

    Parameters
    ----------
    halving : SuccessiveHalving
        The selection, with its task and data.
    outcome : Outcome
        The finalists and their rung.
    final : FinalModels
        The selected candidates with their models.
    testing : TrainingData or None
        Samples to test a guarantee on; None if there is none.
    confidence : float or None
        The confidence of the guarantee.
    by_group : GroupPlan or None
        The constraints by group; None if there are none.
    """
    if by_group is None:
        return _decide(halving, outcome, final, testing, confidence), None
    decided = decide_by_group(halving, outcome, final, testing, confidence, by_group)
    return decided.decision, decided.rule


def _decide(
    halving: SuccessiveHalving,
    outcome: Outcome,
    final: FinalModels,
    testing: TrainingData | None,
    confidence: float | None,
) -> Decision:
    """Choose the threshold of the final models."""
    task, rule, mixture = halving.task, halving.rule, final.mixture
    release_freed_memory()  # of the final training, before all samples are sorted
    rung, scores = final.held_out or (outcome.rung, mixture.scores)
    samples = halving.data.attach_scores(rung.test_samples, scores)
    if testing is not None:
        assert confidence is not None
        return _guarantee(halving, final, samples, testing, confidence)
    decision = task.judge(task.decide(samples, rule, True), samples, rule, rung.sizes, True)
    chosen = decision.threshold
    decision = account_for_groups(task, decision, samples, halving.data.groups_of(rung.test_samples), rule.seed)
    if not task.is_binary and not task.is_multilabel:  # whose candidates are calibrated one by one
        decision = decision.calibrate(fit_calibration(task, samples))
    if final.held_out is not None:
        return note_samples(task, decision, chosen, samples, rung.sizes)
    found = mixture.out_of_fold_scores(rung)
    if not task.is_binary and not shows_growth([run.curve for run in mixture.runs]):
        decision = account_for_growth(task, halving.data, decision, found, final.n_samples)
    if found.probe.size and decision.calibration.lines:  # class offsets stay
        by_final = final.score_probe(halving)
        decision = decision.shift_to_final(halving.data.probe(found.probe, found.probe_scores, by_final))
    return note_samples(task, decision, chosen, samples, rung.sizes)


def _guarantee(
    halving: SuccessiveHalving, final: FinalModels, ordering: ScoredSamples, testing: TrainingData, confidence: float
) -> Decision:
    """Choose a threshold whose constraints hold on new samples with a confidence."""
    scores = final.ensemble.scores(halving.task, testing.X)
    tested = testing.attach_scores(np.arange(len(testing.y)), scores)
    try:
        return halving.task.guarantee(halving.rule, confidence, ordering, tested, has_probabilities=True)
    except UnreachableGuaranteeError as error:
        if final.n_samples == len(halving.data.y):
            raise
        raise UnreachableGuaranteeError(
            f"{error}. There was time to train on {final.n_samples} of {len(halving.data.y)} samples: a larger "
            "time_budget may reach the guarantee"
        ) from error
