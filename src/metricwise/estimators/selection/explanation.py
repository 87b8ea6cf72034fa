"""Explain in words which candidates were selected and why."""

from __future__ import annotations

from typing import Any

from metricwise.estimators.selection.candidate_run import CandidateRun
from metricwise.estimators.selection.ensemble import Mixture
from metricwise.measures import IsCost, Measure
from metricwise.measures.base import show_interval, show_value


def title_of(run: CandidateRun) -> str:
    """Return the name of a run with its settings.

    Examples
    --------
    >>> from metricwise.estimators.selection.candidates import Candidate
    >>> title_of(CandidateRun(Candidate("logistic regression", None, {"C": 0.1})))
    'logistic regression (C=0.1)'
    """
    settings = ", ".join(f"{name}={value}" for name, value in run.candidate.settings.items())
    return f"{run.candidate.name} ({settings})" if settings else run.candidate.name


def show_runs(runs: list[CandidateRun], measure: Measure, n_samples: float) -> None:
    """Put the values of runs in the units that users see; a total cost is that of ``n_samples`` samples."""
    if isinstance(measure, IsCost):
        for run in runs:
            run.is_cost = True
            run.value = float(show_value(measure, run.value, n_samples))
            run.interval = show_interval(measure, run.interval, n_samples)


def explain_selection(
    measure: str,
    runs: list[CandidateRun],
    mixture: Mixture,
    expected: float,
    interval: tuple[float, float],
    n_samples: int,
    positive: str | None,
) -> str:
    """Describe the selection in sentences, among them the one about the positive class if there is one."""
    names = [title_of(run) for run in mixture.runs]
    selected = names[0] if len(names) == 1 else "the mean of the scores of " + ", ".join(names)
    lines = [
        f"Of {len(runs)} candidates, {selected} is chosen.",
        f"Its {measure} is {expected:.3f} on samples that its models had not seen; on as many new samples, expect "
        f"{interval[0]:.3f} to {interval[1]:.3f} (90 %).",
    ]
    if positive is not None:
        lines.append(positive)
    if len(names) > 1:
        best = mixture.runs[0]
        lines.append(f"The best single one, {title_of(best)}, has {best.value:.3f}.")
    others = [run for run in runs if run not in mixture.runs]
    lines += [f"- {title_of(run)}: {_describe_run(run, n_samples)}" for run in sorted(others, key=_last_first)]
    return "\n".join(lines)


def _last_first(run: CandidateRun) -> tuple[int, float]:
    worse_by = run.value if run.is_cost else -run.value
    return -run.n_samples, worse_by if worse_by == worse_by else float("inf")


def _describe_run(run: CandidateRun, n_samples: int) -> str:
    if run.n_samples == 0:
        return run.why_dropped
    reached = f"{run.value:.3f} ({run.interval[0]:.3f} to {run.interval[1]:.3f})"
    where = "" if run.n_samples == n_samples else f" on {run.n_samples} samples"
    return f"{reached}{where}, {run.why_dropped or 'no gain when added'}"


def make_records(runs: list[CandidateRun], mixture: Mixture) -> list[dict[str, Any]]:
    """Return one record per candidate, the selected ones first."""
    selected = {id(run): weight for run, weight in zip(mixture.runs, mixture.weights, strict=True)}
    ranked = sorted(runs, key=lambda run: (id(run) not in selected, *_last_first(run)))
    return [
        {
            "candidate": run.candidate.name,
            "settings": run.candidate.settings,
            "value": run.value,
            "low": run.interval[0],
            "high": run.interval[1],
            "n_samples": run.n_samples,
            "seconds": run.seconds,
            "weight": float(selected.get(id(run), 0.0)),
            "why_dropped": run.why_dropped,
        }
        for run in ranked
    ]
