"""Explain in words and in records which candidates were selected and why; both show the same numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from metricwise.decisions.decision import Decision, Threshold
from metricwise.estimators.selection.candidate_run import CandidateRun, Difference
from metricwise.estimators.selection.candidates.candidate import Candidate
from metricwise.estimators.selection.ensemble import Mixture
from metricwise.measures import IsCost, IsTotal, Measure
from metricwise.measures.base import show_interval, show_value

_ADAPTED = "The model was adapted to another prior"
_SET_AFTERWARDS = "The threshold was set to"  # the start of a line


class Expectation(NamedTuple):
    """The measure to expect of the final model on as many new samples, its interval, and that of the fold models."""

    value: float
    interval: tuple[float, float]
    of_fold_models: float


def show_runs(runs: list[CandidateRun], mixture: Mixture, measure: Measure, n_samples: float) -> Mixture:
    """Put values and differences of runs in the units that users see, and return the mixture in them, too.

    A total cost or profit is that of ``n_samples`` samples.
    """
    if not isinstance(measure, IsCost | IsTotal):
        return mixture

    def show_difference(difference: Difference | None) -> Difference | None:
        if difference is None:
            return None
        none = float(show_value(measure, 0.0, n_samples))
        low, high = show_interval(measure, difference.interval, n_samples)
        value = float(show_value(measure, difference.value, n_samples)) - none
        return Difference(difference.rival, value, (low - none, high - none))

    for run in runs:
        run.is_cost = isinstance(measure, IsCost)
        run.value = float(show_value(measure, run.value, n_samples))
        run.interval = show_interval(measure, run.interval, n_samples)
        run.difference = show_difference(run.difference)
    value = float(show_value(measure, mixture.value, n_samples))
    return mixture._replace(value=value, gain=show_difference(mixture.gain))


def explain_selection(
    measure: Measure,
    runs: list[CandidateRun],
    mixture: Mixture,
    expected: Expectation,
    n_samples: int,
    positive: str | None,
) -> str:
    """Describe the selection in sentences, and every candidate by a line with the numbers of its record.

    Parameters
    ----------
    measure : Measure
        The measure.
    runs : list of CandidateRun
        All candidates.
    mixture : Mixture
        The selected ones.
    expected : Expectation
        The measure to expect.
    n_samples : int
        The number of all samples.
    positive : str or None
        A sentence about the positive class, if there is one.
    """
    selected = _name_selected(mixture)
    has_threshold = measure.response == "labels"
    ranked = _rank(runs, mixture)
    usual = next((run for run in ranked if run.n_samples > 0), ranked[0])
    lines = [
        f"Of {len(runs)} candidates, {selected} is chosen.",
        f"Candidates are compared by their {measure.name} of out-of-fold samples, "
        f"{_describe_rung(usual, n_samples)} unless stated otherwise"
        + (", each at the threshold that suits it on these samples" if has_threshold else "")
        + "; differences are of the same samples; intervals are of 90 %.",
    ]
    if positive is not None:
        lines.append(positive)
    if mixture.gain is not None:
        lines.append(f"The ensemble has {mixture.value:.3f}: {_describe_difference(mixture.gain)}.")
    lines.append(_describe_expectation(expected, has_threshold))
    lines += [f"- {run.candidate.title}: {_describe_run(run, usual, mixture, n_samples)}" for run in ranked]
    return "\n".join(lines)


def _name_selected(mixture: Mixture) -> str:
    """Return the selected candidate with its settings, or the learners of an ensemble."""
    if len(mixture.runs) == 1:
        return mixture.runs[0].candidate.title
    counts = Counter(run.candidate.name for run in mixture.runs)
    learners = [name if count == 1 else f"{name} ({count} settings)" for name, count in counts.items()]
    return "an ensemble of " + ", ".join(learners)


def _describe_expectation(expected: Expectation, has_threshold: bool) -> str:
    low, high = expected.interval
    text = f"On as many new samples, expect {expected.value:.3f} ({low:.3f} to {high:.3f}, 90 %)"
    if has_threshold:
        text += ", at a threshold that was not chosen on these samples"
    now, before = f"{expected.value:.3f}", f"{expected.of_fold_models:.3f}"
    if now != before:
        text += f". The fold models have {before}, which grew from rung to rung and is extrapolated to all samples"
    return f"{text}."


def explain_absence(absent: dict[str, str]) -> list[str]:
    """Return a line for every candidate whose package is absent."""
    return [f"- {name}: {reason}" for name, reason in absent.items()]


def explain_guarantee(constraints: Iterable[Any], confidence: float | None, n_tested: int) -> str:
    """Return a line on the constraints that hold on new samples."""
    wanted = " and ".join(map(str, constraints))
    return (
        f"Guaranteed on new samples with confidence {confidence:g}: {wanted}, tested on {n_tested} samples that had no "
        "part in selection and training."
    )


def explain_training(used: int, n_samples: int, n_held_out: int) -> list[str]:
    """Return lines on a training that did not use all samples, and on those held out of it; none if it did."""
    lines = []
    if used < n_samples:
        lines.append(f"There was time to train on {used} of {n_samples} samples: a larger time_budget uses more.")
    if n_held_out:
        lines.append(f"{n_held_out} others choose the threshold and show what to expect.")
    return lines


def mention_new_threshold(explanation: str, threshold: Threshold) -> str:
    """Return an explanation that says which threshold was set after training.

    Examples
    --------
    >>> print(mention_new_threshold("Of 2 candidates, ...", 0.3))
    Of 2 candidates, ...
    The threshold was set to 0.3 after training: what is expected or guaranteed above holds for the chosen one only.
    """
    lines = [line for line in explanation.splitlines() if not line.startswith(_SET_AFTERWARDS)]
    shown = np.array2string(np.asarray(threshold), precision=4, separator=", ").replace("\n", "")
    remark = "after training: what is expected or guaranteed above holds for the chosen one only."
    return "\n".join([*lines, f"{_SET_AFTERWARDS} {shown} {remark}"])


def mention_adaptation(explanation: str, decision: Decision) -> str:
    """Return an explanation that says which class priors a model was adapted to.

    Examples
    --------
    >>> from metricwise.decisions.prior_shift import PriorEstimate
    >>> decision = Decision(0.0, (0.0, 0.0), 0.7, (0.6, 0.8), prior=PriorEstimate(0.3, (0.3, 0.3), 0.1))
    >>> print(mention_adaptation("Of 2 candidates, ...", decision))
    Of 2 candidates, ...
    The model was adapted to another prior, 0.3 (given; 0.1 in training): expected_score_ is for it, the above is not.
    """
    lines = [line for line in explanation.splitlines() if not line.startswith(_ADAPTED)]
    return "\n".join([*lines, f"{_ADAPTED}, {decision.prior}: expected_score_ is for it, the above is not."])


def _rank(runs: list[CandidateRun], mixture: Mixture) -> list[CandidateRun]:
    """Return the selected runs, then those that reached the most samples, the best first."""

    def place(run: CandidateRun) -> tuple[bool, int, float]:
        worse_by = run.value if run.is_cost else -run.value
        return run not in mixture.runs, -run.n_samples, float("inf") if np.isnan(worse_by) else worse_by

    return sorted(runs, key=place)


def _describe_rung(run: CandidateRun, n_samples: int) -> str:
    share = f"all {n_samples}" if run.n_samples == n_samples else f"{run.n_samples}"
    return f"{run.n_folds} folds of {share} samples"


def _describe_run(run: CandidateRun, usual: CandidateRun, mixture: Mixture, n_samples: int) -> str:
    if run.n_samples == 0:
        return "chosen, not compared with others on few samples" if run in mixture.runs else run.why_dropped
    parts = [f"{run.value:.3f}"]
    if not np.isnan(run.interval).any():
        parts.append(f"({run.interval[0]:.3f} to {run.interval[1]:.3f})")
    if run.n_samples != usual.n_samples:
        parts.append(f"in {_describe_rung(run, n_samples)}")
    is_selected = run in mixture.runs
    reason = "chosen" if is_selected else run.why_dropped
    text = f"{' '.join(parts)}, {reason}"
    return text if run.difference is None else f"{text}: {_describe_difference(run.difference)}"


def _describe_difference(difference: Difference) -> str:
    low, high = difference.interval
    return f"{difference.value:+.3f} ({low:+.3f} to {high:+.3f}) against {difference.rival}"


def make_records(
    runs: list[CandidateRun], mixture: Mixture, absent: dict[str, str] | None = None
) -> list[dict[str, Any]]:
    """Return one record per candidate: the selected ones first, those whose packages are absent last.

    Parameters
    ----------
    runs : list of CandidateRun
        All candidates that ran.
    mixture : Mixture
        The selected ones.
    absent : dict of str, optional
        Why others did not run, by name.
    """
    weights = {run: float(weight) for run, weight in zip(mixture.runs, mixture.weights, strict=True)}
    others = [CandidateRun(Candidate(name, None), why_dropped=why) for name, why in (absent or {}).items()]
    return [_make_record(run, weights.get(run, 0.0)) for run in [*_rank(runs, mixture), *others]]


def _make_record(run: CandidateRun, weight: float) -> dict[str, Any]:
    rival, difference, (low, high) = run.difference or Difference("", float("nan"), (float("nan"), float("nan")))
    return {
        "candidate": run.candidate.name,
        "settings": run.candidate.shown_settings,
        "value": run.value,
        "low": run.interval[0],
        "high": run.interval[1],
        "n_samples": run.n_samples,
        "n_folds": run.n_folds,
        "seconds": run.seconds,
        "weight": weight,
        "why_dropped": run.why_dropped,
        "compared_with": rival,
        "difference": difference,
        "difference_low": low,
        "difference_high": high,
        "warnings": run.warnings,
    }
