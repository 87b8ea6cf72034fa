"""Samples of a stream counted by true and predicted value, all of them or the recent ones."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from metricwise._sklearn import LARGEST_TOTAL_WEIGHT
from metricwise._state import stored_fields
from metricwise._typing import Floats, Integers

_RENEWALS = 8  # the rule is never older than 1/8 of the samples that count
_PRIOR = 1.0  # samples in every cell of a class's own table before the first one
MOST_SAMPLES = int(LARGEST_TOTAL_WEIGHT)  # of a stream
# That a table stores: weights, samples without weights, and by how much newer samples weigh more with a half-life.
LARGEST_SUM = 4.0 * LARGEST_TOTAL_WEIGHT


@stored_fields(version=1)
@dataclass(frozen=True)
class Forgetting:
    """Which samples count.

    Attributes
    ----------
    half_life : float, optional
        A sample counts half as much after so many others.
    window : int, optional
        Only about so many recent samples count.

    Examples
    --------
    >>> Forgetting().renewal_after(6400), Forgetting(half_life=128).renewal_after(6400), Forgetting().renewal_after(10)
    (7200, 6416, 11)
    """

    half_life: float | None = None
    window: int | None = None

    @property
    def factor(self) -> float:
        """By which the weight of all earlier samples falls with every sample."""
        return 1.0 if self.half_life is None else 0.5 ** (1.0 / self.half_life)

    def kept_after(self, n_samples: int) -> float:
        """Return the share of earlier samples that still counts after so many others, about half in half a window."""
        half_life = self.half_life if self.window is None else self.window / 2.0
        return 1.0 if half_life is None else float(0.5 ** (n_samples / half_life))

    def renewal_after(self, position: int) -> int:
        """Return the position at which the rule is renewed next; it depends on no division of the stream."""
        most = min(self.half_life or np.inf, self.window or np.inf)
        return position + max(int(min(position, most)) // _RENEWALS, 1)


@stored_fields(version=1)
@dataclass(frozen=True)
class RunningCounts:
    """Samples by true and predicted value, up to a position of a stream.

    Samples since the last renewal are kept apart, each relative to the first of them, so that all numbers depend on the
    samples and their order alone. Adding samples changes ``pending`` in place.

    Attributes
    ----------
    forgetting : Forgetting
        Which samples count.
    counts : array of shape (n_parts, n_values, n_values)
        Weights of the samples before the last renewal: see `metricwise.decisions.online_rule.make_rule`.
    pending : array of the same shape
        Weights of the samples since.
    squares, pending_squares : float
        Sums of the squared weights, for the number of samples that weights are worth.
    position, renewed_at, renewal : int
        Samples seen, those seen at the last renewal, and those to see before the next.
    block_sizes, blocks : arrays
        With a window: numbers of samples between renewals, and their counts.
    """

    forgetting: Forgetting
    counts: Floats
    pending: Floats
    squares: float = 0.0
    pending_squares: float = 0.0
    position: int = 0
    renewed_at: int = 0
    renewal: int = 1
    block_sizes: tuple[int, ...] = ()
    blocks: tuple[Floats, ...] = ()

    @classmethod
    def start(cls, n_parts: int, n_values: int, forgetting: Forgetting) -> RunningCounts:
        """Return the counts before the first sample."""
        shape = (n_parts, n_values, n_values)
        return cls(forgetting, np.zeros(shape), np.zeros(shape))

    @property
    def until_renewal(self) -> int:
        """Samples until the rule is renewed."""
        return self.renewal - self.position

    @property
    def totals(self) -> Floats:
        """Weights of all samples that count, the newest of weight one."""
        if self.forgetting.half_life is None:
            return np.asarray(self.counts + self.pending)
        return np.asarray(self._age * self.counts + self._freshness * self.pending)

    @property
    def regularised(self) -> Floats:
        """The weights with a prior: one sample in every cell of the table of each class vs the rest."""
        n_values = self.counts.shape[1]
        return np.asarray(self.totals + _make_prior(n_values))

    @property
    def effective_size(self) -> float:
        """The number of samples of equal weight that would vary as much as these."""
        total = float(self.totals[0].sum())
        squares = self._age**2 * self.squares + self._freshness**2 * self.pending_squares
        return total**2 / squares if squares > 0.0 else 0.0

    @property
    def _age(self) -> float:
        """What samples before the last renewal have lost since."""
        return float(self.forgetting.factor ** (self.position - self.renewed_at))

    @property
    def _freshness(self) -> float:
        """What brings samples since the last renewal, whose weights grow from one, to weights that end at one."""
        return float(self.forgetting.factor ** max(self.position - self.renewed_at - 1, 0))

    def check_countable(self, n_samples: int, weights: Floats | None) -> None:
        """Raise a ValueError if more samples, of weights if they have any, are too many to be counted with these."""
        if self.position + n_samples > MOST_SAMPLES:
            raise ValueError(
                f"{n_samples} more samples after {self.position} exceed the {MOST_SAMPLES:g} that a stream may have: "
                "train a new model"
            )
        if weights is None:
            return
        before, more = float(self.totals[0].sum()), float(weights.sum())
        if before + more > LARGEST_TOTAL_WEIGHT:
            raise ValueError(
                f"sample_weight adds up to {more:g} after {before:g} in the stream so far, and one sample is lost by "
                f"rounding in totals above {LARGEST_TOTAL_WEIGHT:g}: divide the weights of all samples by the same "
                "number, and train a new model"
            )

    def add(self, truth: Integers, predicted: Integers, weights: Floats) -> RunningCounts:
        """Return the counts after samples with known values, of shape (n_samples, n_parts)."""
        parts, n_values = np.arange(self.counts.shape[0]), self.counts.shape[1]
        grown = self._grow(weights)
        cells = (parts * n_values + truth) * n_values + predicted
        # One by one in their order: sums do not depend on the division of the stream.
        each = grown if parts.size == 1 else np.repeat(grown, parts.size)
        np.add.at(self.pending.reshape(-1), cells.ravel(), each)
        return self._move(weights.size, grown)

    def add_expected(self, probabilities: Floats, predicted: Integers, weights: Floats) -> RunningCounts:
        """Return the counts after samples of which only the probabilities of the values are known.

        Parameters
        ----------
        probabilities : array of shape (n_samples, n_parts, n_values)
            Probabilities of the true values.
        predicted : array of shape (n_samples, n_parts)
            Predicted values.
        weights : array of shape (n_samples,)
            Weights of the samples.
        """
        grown = self._grow(weights)
        columns = predicted[:, :, None] == np.arange(self.counts.shape[1])
        self.pending[:] += np.einsum("i,ipt,ipv->ptv", grown, probabilities, columns)
        return self._move(weights.size, grown)

    def _grow(self, weights: Floats) -> Floats:
        factor = self.forgetting.factor
        if factor == 1.0:
            return weights
        steps = self.position - self.renewed_at + np.arange(weights.size)
        return np.asarray(weights * factor ** (-steps.astype(np.float64)))

    def _move(self, n_samples: int, grown: Floats) -> RunningCounts:
        position = self.position + n_samples
        squares = self.pending_squares + float(grown @ grown)
        return self._with(position=position, pending_squares=squares)

    def renew(self) -> RunningCounts:
        """Return the counts with the samples since the last renewal among the others; those out of the window left."""
        renewal = self.forgetting.renewal_after(self.position)
        moved = {"position": self.position, "renewed_at": self.position, "renewal": renewal, "pending_squares": 0.0}
        fresh, squares = np.zeros_like(self.pending), self._age**2 * self.squares
        squares += self._freshness**2 * self.pending_squares
        if self.forgetting.window is None:
            return self._with(counts=self.totals, pending=fresh, squares=squares, **moved)
        sizes = [*self.block_sizes, self.position - self.renewed_at]
        blocks = [*self.blocks, self.pending]
        while sum(sizes) - sizes[0] >= self.forgetting.window:
            del sizes[0], blocks[0]
        counts: Floats = np.sum(blocks, axis=0)
        # Blocks do not keep squares: those of weights that are all one equal the weights.
        kept = {"block_sizes": tuple(sizes), "blocks": tuple(blocks)}
        return self._with(counts=counts, pending=fresh, squares=float(counts[0].sum()), **kept, **moved)

    def _with(self, **changes: Any) -> RunningCounts:
        # dataclasses.replace takes several times as long, which counts for single samples.
        made = object.__new__(RunningCounts)
        vars(made).update(vars(self), **changes)
        return made

    def copy(self) -> RunningCounts:
        """Return counts that can change without these."""
        return self._with(pending=self.pending.copy())


@cache
def _make_prior(n_values: int) -> Floats:
    prior = np.full((n_values, n_values), _PRIOR / (n_values - 1))
    np.fill_diagonal(prior, _PRIOR)
    return prior
