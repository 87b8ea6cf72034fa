"""A monitor of guarantees as a table for notebooks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from metricwise.markup import Markup, number, percent, spread
from metricwise.notebook.curves import SECOND, Line, draw_interval, draw_lines
from metricwise.notebook.tables import join_parts, keep_together, note, show_table

if TYPE_CHECKING:
    from metricwise.decisions.guarantee_watch import GuaranteeWatch
    from metricwise.decisions.monitor import GuaranteeMonitor

_MOST_DRAWN = 2  # of the guarantees, those with most evidence against them


def show_monitor(monitor: GuaranteeMonitor) -> Markup:
    """Return what is known about each guarantee, and the evidence against those that are most in doubt.

    Parameters
    ----------
    monitor : GuaranteeMonitor
        The monitor.
    """
    head = ("guarantee", "outcomes that count", "share", f"average share, {percent(1.0 - monitor.alpha)}", "", "alarm")
    rows = [
        (
            one.guarantee,
            f"{one.n_counted:,}",
            number(one.share),
            keep_together(spread(one.interval)),
            draw_interval(one.share, one.interval, bound=watch.constraint.bound),
            "no" if one.alarm_at is None else f"at outcome {one.alarm_at:,}",
        )
        for one, watch in zip(monitor.status, monitor.watches, strict=True)
    ]
    caption = f"{'Alarm' if monitor.alarm else 'No alarm'} in {monitor.n_seen:,} outcomes"
    parts = [show_table(caption, head, rows, (1, 2))]
    if monitor.score_warning is not None and monitor.n_scores_seen:
        changed = "have changed" if monitor.score_warning else "show no change"
        parts.append(note(f"The scores {changed} ({monitor.n_scores_seen:,} seen)."))
    watches = sorted(monitor.watches, key=lambda watch: -watch.wealth)[:_MOST_DRAWN]
    return join_parts(*parts, *(_draw_evidence(watch) for watch in watches if len(watch.points) > 1))


def _draw_evidence(watch: GuaranteeWatch) -> Markup:
    course = watch.history
    evidence, limit = course.log_wealth / np.log(10.0), -np.log10(watch.alpha)
    lines = [
        Line(evidence, f"evidence against {watch.constraint}, power of ten"),
        Line(np.full(evidence.size, limit), "alarm above", SECOND, is_dashed=True),
    ]
    ends = min(float(evidence.min()), 0.0), 1.1 * max(float(evidence.max()), float(limit))
    return draw_lines(course.n_seen, lines, "outcomes", ends)
