"""The time budget of model selection."""

from __future__ import annotations

import time
from dataclasses import dataclass, field


@dataclass
class Clock:
    """Seconds since a start, and those of a budget that are left.

    Parameters
    ----------
    budget : float or None
        Seconds that may be used; None for as many as it takes.

    Examples
    --------
    >>> Clock(None).left()
    inf
    """

    budget: float | None
    _started: float = field(default_factory=time.perf_counter)

    def seconds(self) -> float:
        """Return the seconds since the start."""
        return time.perf_counter() - self._started

    def left(self) -> float:
        """Return the seconds that are left, infinitely many without a budget."""
        return float("inf") if self.budget is None else self.budget - self.seconds()
