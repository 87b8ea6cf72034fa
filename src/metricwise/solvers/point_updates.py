"""Base of SPADE and STAMP: one update per sample, between landmarks of the stream."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Literal, Protocol, Self

import numpy as np

from metricwise._typing import Floats, Indices
from metricwise.kernels import streaming
from metricwise.solvers.stream_data import StreamData
from metricwise.solvers.stream_state import StreamState

Schedule = Literal["adaptive", "paper"]

# Steps begin to shrink after this many samples per feature, within these bounds: with more features, a model is farther
# from the optimum after the same number of samples.
_FULL_STEP_SAMPLES_PER_FEATURE = 10.0
_FEWEST_FULL_STEP_SAMPLES, _MOST_FULL_STEP_SAMPLES = 1000.0, 4000.0
_DUAL_STEP = 0.5


@dataclass(frozen=True)
class PointSettings:
    """Settings of the steps.

    Parameters
    ----------
    schedule : {"adaptive", "paper"}
        "adaptive": features are standardised as they come (only scaled, if sparse), a step never goes beyond the margin
        of its sample, and later models have a larger share in the average. "paper": raw features, steps
        ``eta0 / sqrt(t)`` at sample t, plain average.
    eta0 : float
        The first step. For "adaptive" a step of 1 would, on average, change a sample's own score by one.
    alpha : float
        Strength of the regulariser, alpha/2 times the squared norm of the (scaled) weights.
    prior : float, optional
        Share of positives, if it is known; else it is estimated as samples come.
    intercept : bool
        Whether the model has a constant term.
    """

    schedule: Schedule = "adaptive"
    eta0: float = 1.0
    alpha: float = 1e-4
    prior: float | None = None
    intercept: bool = True

    @property
    def plain(self) -> bool:
        return self.schedule == "paper"

    def numbers(self, state: StreamState) -> Floats:
        """Return the settings as the kernels take them."""
        settings = np.zeros(streaming.N_SETTINGS)
        settings[streaming.STEP] = self.eta0 if self.plain else self.eta0 / state.square
        settings[streaming.STEP_SAMPLES] = min(
            max(_FULL_STEP_SAMPLES_PER_FEATURE * state.v.size, _FEWEST_FULL_STEP_SAMPLES), _MOST_FULL_STEP_SAMPLES
        )
        settings[streaming.DUAL_STEP] = _DUAL_STEP
        settings[streaming.SHRINKING] = self.alpha
        settings[streaming.PRIOR] = self.prior or 0.0
        return settings


class StreamLearner(Protocol):
    """A streaming solver: settings in its fields, progress in a state."""

    settings: PointSettings

    def adapt_to(self, n_samples: int) -> StreamLearner:
        """Return the learner for a known number of samples per pass."""
        ...

    def start(self, n_features: int, is_sparse: bool) -> StreamState: ...

    def prepare(self, state: StreamState, data: StreamData, samples: Indices) -> None: ...

    def learn(self, state: StreamState, data: StreamData, samples: Indices, *, remember: bool = True) -> None: ...

    def duals(self, state: StreamState) -> tuple[float, ...]: ...

    def until_boundary(self, state: StreamState) -> int:
        """Return the number of samples until the next landmark or stage."""
        ...


def learn_around(learner: StreamLearner, state: StreamState, data: StreamData, samples: Indices, held: Indices) -> None:
    """Learn from samples; score held-out samples among them, each with the snapshot at its position."""
    before = np.searchsorted(samples, held)
    done = scored = 0
    while True:
        part = samples[done : done + learner.until_boundary(state)]
        # Held-out samples after the last one of a part follow the landmark that may be due there.
        stop = np.searchsorted(before, done + part.size) if part.size else held.size
        state.remember(data, held[scored:stop], state.position + before[scored:stop] - done)
        if part.size == 0:
            return
        learner.learn(state, data, part, remember=False)
        done, scored = done + part.size, int(stop)


class PointLearner(ABC):
    """Learns from samples one by one; subclasses set the costs of the two classes."""

    def __init__(self, settings: PointSettings) -> None:
        self.settings = settings

    def adapt_to(self, n_samples: int) -> Self:
        """Return the learner itself: learning sample by sample needs no adaptation."""
        return self

    def start(self, n_features: int, is_sparse: bool) -> StreamState:
        """Return the state before the first sample."""
        return StreamState.fresh(n_features, is_sparse, scaling=not self.settings.plain)

    def learn(self, state: StreamState, data: StreamData, samples: Indices, *, remember: bool = True) -> None:
        """Learn from samples in the given order.

        ``remember`` keeps scores of samples before they are learnt from, for the choice of a threshold.
        """
        first = 0
        while first < samples.size:
            part = samples[first : first + self.until_boundary(state)]
            if remember or state.estimating:
                state.remember(data, part)
            if not self.settings.plain:
                state.observe(data, part)
            self._train(state, data, part)
            state.position += part.size
            first += part.size
            if state.position >= state.next_landmark:
                state.pass_landmark(scaling=not self.settings.plain)
            self._after(state)

    def prepare(self, state: StreamState, data: StreamData, samples: Indices) -> None:
        """Estimate the scale of the features from some samples before the first update."""
        state.observe_ahead(data, samples, scaling=not self.settings.plain)

    def until_boundary(self, state: StreamState) -> int:
        return state.next_landmark - state.position

    @abstractmethod
    def _train(self, state: StreamState, data: StreamData, samples: Indices) -> None: ...

    def _after(self, state: StreamState) -> None:  # noqa: B027 (nothing is due in SPADE)
        """Handle the landmarks and stages due at this position."""

    @abstractmethod
    def duals(self, state: StreamState) -> tuple[float, ...]:
        """Return the dual variables, or the challenge level, that set the class costs."""

    def _update(self, state: StreamState, data: StreamData, samples: Indices, region: int | None) -> None:
        settings = self.settings.numbers(state)
        data.learn(samples, state, settings, region, self.settings.plain, float(self.settings.intercept))
