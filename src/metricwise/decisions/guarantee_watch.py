"""The bets against one guarantee, and what they show."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from metricwise._state import stored_fields
from metricwise._typing import Floats, Mask
from metricwise.decisions.betting import N_BETS, interval, new_stake, payoffs, settle, wealth
from metricwise.decisions.guarantees import Constraint

MOST_POINTS = 256  # that the history of a guarantee keeps


class GuaranteeStatus(NamedTuple):
    """What is known about a guarantee that is watched.

    Attributes
    ----------
    guarantee : str
        The guarantee, such as "precision >= 0.9".
    n_counted : int
        Outcomes that count for it: those predicted positive for a precision, those positive for a recall.
    share : float
        The share observed among them; NaN if there are none.
    interval : pair of float
        Confidence sequence of the average share.
    wealth : float
        Evidence against the guarantee: it exceeds 1 / alpha with probability at most alpha if the guarantee is kept.
    alarm_at : int or None
        How many outcomes had been seen, those that do not count included, when the alarm was raised.
    """

    guarantee: str
    n_counted: int
    share: float
    interval: tuple[float, float]
    wealth: float
    alarm_at: int | None


class History(NamedTuple):
    """The course of a guarantee, thinned out: outcomes seen, outcomes that count, those of the share, log of wealth."""

    n_seen: Floats
    n_counted: Floats
    n_of_kind: Floats
    log_wealth: Floats


@stored_fields(version=1)
@dataclass
class GuaranteeWatch:
    """The bets against one guarantee.

    Attributes
    ----------
    constraint : Constraint
        The guarantee.
    alpha : float
        Probability of a false alarm.
    n_counted, n_of_kind : int
        Outcomes that count, and how many of them are of the kind whose share is guaranteed.
    alarm_at : int or None
        Outcomes seen when the alarm was raised.
    stride : int
        A point of the history is kept whenever so many more outcomes have been counted.
    stakes : array
        Stakes of the bets.
    points : array
        Rows of the history.
    """

    constraint: Constraint
    alpha: float
    n_counted: int = 0
    n_of_kind: int = 0
    alarm_at: int | None = None
    stride: int = 1
    stakes: Floats = field(default_factory=lambda: np.zeros(N_BETS))
    points: Floats = field(default_factory=lambda: np.empty((0, 4)))

    @cached_property
    def _payoffs(self) -> Floats:
        bound = self.constraint.bound
        return payoffs(bound if self.constraint.is_lower_bound else 1.0 - bound)

    def update(self, truth: Mask, predicted: Mask, n_before: int) -> None:
        """Bet on outcomes in their order; ``n_before`` outcomes have been seen before."""
        of_kind, among = self.constraint.share.outcomes(truth, predicted)
        factors = self._payoffs
        for position in np.flatnonzero(among).tolist():
            is_of_kind = bool(of_kind[position])
            is_kept = is_of_kind == self.constraint.is_lower_bound
            self.stakes = settle(self.stakes, new_stake(self.n_counted), factors[int(is_kept)])
            self.n_counted += 1
            self.n_of_kind += is_of_kind
            self._note(n_before + position + 1)

    def _note(self, n_seen: int) -> None:
        if self.alarm_at is None and self.wealth >= 1.0 / self.alpha:
            self.alarm_at = n_seen
        if self.n_counted % self.stride:
            return
        point = [n_seen, self.n_counted, self.n_of_kind, math.log(self.wealth)]
        self.points = np.vstack([self.points, point])
        if len(self.points) > MOST_POINTS:
            self.points, self.stride = self.points[1::2], 2 * self.stride

    @property
    def wealth(self) -> float:
        """The evidence against the guarantee."""
        return float(wealth(self.stakes, self.n_counted))

    @property
    def history(self) -> History:
        """The course of the guarantee, thinned out."""
        return History(*self.points.T)

    @property
    def status(self) -> GuaranteeStatus:
        """What is known about the guarantee."""
        low, high = interval(self.n_of_kind, self.n_counted, self.alpha)
        share = self.n_of_kind / self.n_counted if self.n_counted else math.nan
        ends = (float(low), float(high)) if self.n_counted else (0.0, 1.0)
        return GuaranteeStatus(str(self.constraint), self.n_counted, share, ends, self.wealth, self.alarm_at)
