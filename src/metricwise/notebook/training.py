"""Results of training as tables and curves for notebooks."""

from __future__ import annotations

from typing import Any

import numpy as np

from metricwise.markup import Markup, number, percent
from metricwise.notebook.curves import SECOND, Line, draw_lines
from metricwise.notebook.tables import join_parts, list_values

_LEAST_GAP = 1e-4  # smaller relative gaps are shown as this one, which bounds them as well


def show_certificate(certificate: Any) -> Markup:
    """Return the bounds of an objective as a table.

    Parameters
    ----------
    certificate : Certificate
        The bounds.
    """
    values = {"upper": f"{certificate.upper:.6g}"}
    if certificate.is_bounded:
        values |= {
            "lower": f"{certificate.lower:.6g}",
            "gap": f"{certificate.gap:.6g}",
            "relative gap": f"{certificate.relative:.6g}",
        }
    else:
        values["lower"] = "no bound is known"
    return join_parts(list_values("Certificate", values))


def show_result(result: Any) -> Markup:
    """Return the result of a batch training: a table and the bounds during training.

    Parameters
    ----------
    result : Result
        The result.
    """
    bounds = result.certificate
    values = {
        "status": result.status.value,
        "iterations": f"{result.n_iter:,}",
        "seconds": f"{result.seconds:.3g}",
        "objective": f"{bounds.upper:.6g}",
        "no weights have less": f"{bounds.lower:.6g}" if bounds.is_bounded else "no bound is known",
        "relative gap": f"{bounds.relative:.3g}" if bounds.is_bounded else "not known",
        "weights": f"{result.weights.size:,}",
    }
    if result.fallback is not None:
        values["trained for"] = f"accuracy, positives weigh {result.fallback.positive_weight:.3g} times as much"
    return join_parts(list_values("Result", values), draw_history(result.history))


def show_stream(result: Any) -> Markup:
    """Return the result of a stream: a table and the measure during training.

    Parameters
    ----------
    result : StreamResult
        The result.
    """
    values = {
        "status": result.status.value,
        "samples": f"{result.n_samples:,}",
        "passes": f"{result.n_passes:,}",
        "seconds": f"{result.seconds:.3g}",
        "weights": f"{result.weights.size:,}",
    }
    measured = last_measure(result.history)
    if measured is not None:
        values["measure on samples not learnt from"] = number(measured)
    return join_parts(list_values("Result of a stream", values), draw_history(result.history))


def show_history(history: Any) -> Markup:
    """Return the last state of a training and its course.

    Parameters
    ----------
    history : History
        Iterations, or evaluations of a stream.
    """
    if not len(history):
        return join_parts(list_values("History", {"entries": "0"}))
    last = history[-1]
    values = {"entries": f"{len(history):,}", "seconds": f"{last.seconds:.3g}"}
    if hasattr(last, "measure"):
        values |= {"samples": f"{last.n_samples:,}", "measure": number(last.measure)}
    else:
        values |= {"objective": f"{last.objective:.6g}", "gap": f"{last.gap:.3g}"}
    return join_parts(list_values("History", values), draw_history(history))


def draw_history(history: Any) -> Markup:
    """Return both bounds of the objective, or the measure of a stream; nothing if there is no course to be drawn.

    Parameters
    ----------
    history : History
        Iterations, or evaluations of a stream.
    """
    if len(history) and hasattr(history[0], "measure"):
        return _draw_stream(history)
    entries = [entry for entry in history if np.isfinite(entry.objective)]
    if len(entries) < 2:
        return Markup("")
    upper = np.array([entry.objective for entry in entries])
    lower = np.array([max(entry.lower, 0.0) for entry in entries])
    # The first objectives may be many times as large as the rest, which would be flat beside them.
    top = float(np.quantile(upper, 0.9)) * 1.15 if upper.size > 5 else float(upper.max())
    lines = [Line(upper, "objective of the model")]
    if np.isfinite(entries[-1].lower):
        lines.append(Line(lower, "no weights are better", SECOND, is_dashed=True))
    return draw_lines([entry.iteration for entry in entries], lines, "iteration", (0.0, top))


def _draw_stream(history: Any) -> Markup:
    entries = [entry for entry in history if np.isfinite(entry.measure)]
    if len(entries) < 2:
        return Markup("")
    values = np.array([entry.measure for entry in entries])
    ends = min(0.0, float(values.min())), max(1.0, float(values.max()))
    line = Line(values, "measure on samples not learnt from")
    return draw_lines([entry.n_samples for entry in entries], [line], "samples", ends)


def describe_gap(certificate: Any) -> str:
    """Return how much smaller than this objective another may be, in words.

    Parameters
    ----------
    certificate : Certificate
        The bounds.

    Examples
    --------
    >>> from metricwise import Certificate
    >>> describe_gap(Certificate(10.0, 9.99)), describe_gap(Certificate(10.0, float("-inf")))
    ('no weights have an objective more than 0.1 % below', 'no bound is known')
    """
    if not certificate.is_bounded:
        return "no bound is known"
    return f"no weights have an objective more than {percent(max(certificate.relative, _LEAST_GAP))} below"


def last_measure(history: Any) -> float | None:
    """Return the last measure of a stream that is defined; None if there is none.

    Parameters
    ----------
    history : History
        Evaluations of a stream.
    """
    measured = [entry.measure for entry in history if np.isfinite(entry.measure)]
    return float(measured[-1]) if measured else None
