"""What was chosen and why, in words."""

from __future__ import annotations

from typing import Any

from metricwise.estimators.selection.ensemble import Mixture
from metricwise.estimators.selection.halving import Runner


def titled(runner: Runner) -> str:
    """Return the name of a runner with what is special about it.

    Examples
    --------
    >>> from metricwise.estimators.selection.candidates import Candidate
    >>> titled(Runner(Candidate("logistic regression", None, {"C": 0.1})))
    'logistic regression (C=0.1)'
    """
    settings = ", ".join(f"{name}={value}" for name, value in runner.candidate.settings.items())
    return f"{runner.candidate.name} ({settings})" if settings else runner.candidate.name


def explained(
    measure: str, runners: list[Runner], mixture: Mixture, expected: float, interval: tuple[float, float], rows: int
) -> str:
    """Return sentences about a race."""
    names = [titled(runner) for runner in mixture.runners]
    chosen = names[0] if len(names) == 1 else "the mean of the scores of " + ", ".join(names)
    lines = [
        f"Of {len(runners)} candidates, {chosen} is chosen.",
        f"Its {measure} is {expected:.3f} on samples that its models had not seen; on as many new samples, expect "
        f"{interval[0]:.3f} to {interval[1]:.3f} (90 %).",
    ]
    if len(names) > 1:
        best = mixture.runners[0]
        lines.append(f"The best single one, {titled(best)}, has {best.value:.3f}.")
    others = [runner for runner in runners if runner not in mixture.runners]
    lines += [f"- {titled(runner)}: {_fate(runner, rows)}" for runner in sorted(others, key=_last_first)]
    return "\n".join(lines)


def _last_first(runner: Runner) -> tuple[int, float]:
    return -runner.n_samples, -runner.value if runner.value == runner.value else float("inf")


def _fate(runner: Runner, rows: int) -> str:
    if runner.n_samples == 0:
        return runner.why_dropped
    reached = f"{runner.value:.3f} ({runner.interval[0]:.3f} to {runner.interval[1]:.3f})"
    where = "" if runner.n_samples == rows else f" on {runner.n_samples} samples"
    return f"{reached}{where}, {runner.why_dropped or 'no gain when added'}"


def records(runners: list[Runner], mixture: Mixture) -> list[dict[str, Any]]:
    """Return a line for every candidate, the chosen ones first."""
    chosen = {id(runner): weight for runner, weight in zip(mixture.runners, mixture.weights, strict=True)}
    ranked = sorted(runners, key=lambda runner: (id(runner) not in chosen, *_last_first(runner)))
    return [
        {
            "candidate": runner.candidate.name,
            "settings": runner.candidate.settings,
            "value": runner.value,
            "low": runner.interval[0],
            "high": runner.interval[1],
            "rows": runner.n_samples,
            "seconds": runner.seconds,
            "weight": float(chosen.get(id(runner), 0.0)),
            "why_dropped": runner.why_dropped,
        }
        for runner in ranked
    ]
