"""Results of training: the solution, the certificate of its quality, and the history."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, TypeVar, overload

import numpy as np

from metricwise._state import stored_fields
from metricwise._typing import Floats
from metricwise.notebook.training import show_certificate, show_history, show_result, show_stream


class DegenerateOptimumWarning(UserWarning):
    """The surrogate is least at w = 0, whatever the cost of mistakes.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> from metricwise import DegenerateOptimumWarning, MultivariateSVC
    >>> y = np.arange(400) % 40 == 0
    >>> X = np.random.default_rng(0).normal(size=(400, 2))  # the same for both classes
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     model = MultivariateSVC("f1", threshold=0.0).fit(X, y)
    >>> any(issubclass(one.category, DegenerateOptimumWarning) for one in caught)
    True
    """


@stored_fields(version=1)
class Status(Enum):
    """Why training ended.

    Examples
    --------
    >>> from metricwise import Status
    >>> Status("optimal").reached_tolerance, Status.MAX_ITER.reached_tolerance
    (True, False)
    """

    OPTIMAL = "optimal"
    """The duality gap reached the tolerance."""
    DEGENERATE = "degenerate"
    """The gap reached the tolerance, and w = 0 is as good: the surrogate does not see the features."""
    FALLBACK = "fallback"
    """The surrogate of the measure is degenerate; training went on for a weighted accuracy, to its tolerance."""
    MAX_ITER = "max_iter"
    MAX_SECONDS = "max_seconds"
    SETTLED = "settled"
    """The measure on held-out samples stopped improving."""
    STREAMING = "streaming"
    """All samples so far were learnt from; more may come."""
    STOPPED = "stopped"
    """The callback asked to stop."""
    STATIONARY = "stationary"
    """A step lowered the objective by less than the tolerance; it is not convex, and no bound is known."""
    STALLED = "stalled"
    """Rounding errors forbid further progress."""
    COARSE = "coarse"
    """Bins of scores are too wide for the tolerance."""

    @property
    def reached_tolerance(self) -> bool:
        """Whether training ended because the duality gap was small enough."""
        return self in (Status.OPTIMAL, Status.DEGENERATE, Status.FALLBACK)


@stored_fields(version=1)
@dataclass(frozen=True)
class Certificate:
    """Bounds of the smallest objective that any weights could reach.

    Parameters
    ----------
    upper : float
        Objective of the returned weights.
    lower : float
        Value of a dual solution: no weights have a smaller objective.
    loss_bound : float
        Slack of the returned weights, an upper bound of their training loss at the threshold 0.
    score_error : float
        By how much the objective of the returned weights may be smaller than ``upper``, since scores were counted in
        bins (``score_bins``); 0 where every score was used.

    Examples
    --------
    >>> certificate = Certificate(upper=10.0, lower=9.9, loss_bound=0.3)
    >>> round(certificate.gap, 6), round(certificate.relative, 6)
    (0.1, 0.01)
    """

    upper: float
    lower: float
    loss_bound: float = float("nan")
    score_error: float = 0.0

    @property
    def is_bounded(self) -> bool:
        """Whether a lower bound is known; there is none for objectives that are not convex."""
        return self.lower > -np.inf

    @property
    def gap(self) -> float:
        """Upper minus lower bound."""
        return self.upper - self.lower

    @property
    def relative(self) -> float:
        """The gap as a fraction of the upper bound."""
        if np.isinf(self.upper):
            return np.inf
        return self.gap / abs(self.upper) if self.upper else 0.0

    def _repr_html_(self) -> str:
        return show_certificate(self)


@stored_fields(version=1)
@dataclass(frozen=True)
class HistoryEntry:
    """The state of training after one iteration.

    Parameters
    ----------
    iteration : int
        Number of the iteration, from 1.
    seconds : float
        Time spent so far.
    objective, lower : float
        Upper and lower bound of the smallest objective.
    cuts : int
        Cutting planes in use.
    bytes_moved : int
        Bytes of arrays that were exchanged with the workers of a cluster so far; 0 for samples in memory.
    """

    iteration: int
    seconds: float
    objective: float
    lower: float
    cuts: int
    bytes_moved: int = 0

    @property
    def gap(self) -> float:
        """Upper minus lower bound."""
        return self.objective - self.lower


@stored_fields(version=1)
@dataclass(frozen=True)
class StreamEntry:
    """The state of a stream when its model was evaluated.

    Parameters
    ----------
    n_samples : int
        Samples seen so far, those of earlier passes included.
    seconds : float
        Time spent so far.
    measure : float
        The measure on samples that were not learnt from; nan if there were none.
    duals : tuple of float
        The dual variables alpha and beta (SPADE), or the challenge level (STAMP).
    seconds_left : float, optional
        How long the passes still allowed would take, where the number of samples is known.

    Examples
    --------
    >>> from metricwise import StreamEntry
    >>> entry = StreamEntry(n_samples=5000, seconds=2.0, measure=0.75)
    >>> entry.samples_per_second, entry.objective
    (2500.0, 0.25)
    """

    n_samples: int
    seconds: float
    measure: float
    duals: tuple[float, ...] = ()
    seconds_left: float | None = None

    @property
    def objective(self) -> float:
        """The loss, 1 - measure."""
        return 1.0 - self.measure

    @property
    def samples_per_second(self) -> float:
        """Samples seen per second, evaluation included."""
        return self.n_samples / self.seconds if self.seconds > 0.0 else 0.0


Entry = TypeVar("Entry", HistoryEntry, StreamEntry)


@stored_fields(version=1)
@dataclass(frozen=True)
class History(Sequence[Entry]):
    """The iterations, or the evaluations of a stream, in order.

    Parameters
    ----------
    entries : tuple of HistoryEntry or StreamEntry, default=()
        The iterations or evaluations, oldest first.

    Examples
    --------
    >>> from metricwise import History, StreamEntry
    >>> history = History((StreamEntry(100, 0.1, 0.5), StreamEntry(200, 0.2, 0.75)))
    >>> history[-1].measure, [entry.n_samples for entry in history]
    (0.75, [100, 200])
    """

    entries: tuple[Entry, ...] = ()

    @overload
    def __getitem__(self, index: int) -> Entry: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Entry, ...]: ...
    def __getitem__(self, index: int | slice) -> Entry | tuple[Entry, ...]:
        return self.entries[index]

    def __len__(self) -> int:
        return len(self.entries)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries)

    def __repr__(self) -> str:
        if not self.entries:
            return "History()"
        last = self.entries[-1]
        return f"History({len(self)} entries, {last.seconds:.3g} s, objective {last.objective:.6g})"

    def _repr_html_(self) -> str:
        return show_history(self)


@stored_fields(version=1)
@dataclass(frozen=True)
class Witness:
    """The proof of the lower bound: a convex combination of labellings.

    Each labelling is identified by the weights ``points[k]`` at which it was found and the weights of its true and
    false positives: it predicts the best-scored samples of either class positive, so data and witness determine it.

    Parameters
    ----------
    shares : array of shape (k,)
        Coefficients of the labellings: not negative, with a sum of at most one. The rest is that of the true labels.
    points : array or sparse array of shape (k, n_columns)
        Weights, the last column belonging to the intercept if there is one.
    tables : array of shape (k, 2)
        True and false positives of each labelling; nan for measures that label pairs.
    """

    shares: Floats
    points: Any
    tables: Floats


class Objective(Enum):
    """What a training minimises."""

    SLACK = "slack of the multivariate surrogate"
    """1/2 |w|^2 + C u R(w), with the slack R of a measure and the mistakes u that a full loss stands for."""
    SQUARED_PAIRS = "mean squared loss of pairs"
    """1/2 |w|^2 + C n times the mean over pairs of max(0, 1 - (s_i - s_j))^2."""
    RATIO_LEVEL = "level of a ratio of rewards"
    """1 minus the regularised ratio of rewards."""
    SPARSE_CODING = "joint sparse coding"
    """Codes, dictionary and weights together, which is not convex."""


@dataclass(frozen=True)
class ProblemDescription:
    """The problem whose smallest objective a certificate bounds.

    Parameters
    ----------
    objective : Objective
        The objective that is bounded.
    smoothing : float, optional
        How far the labellings of the witness are smoothed, in units of scores; None if they are not.
    level : float, optional
        For a ratio of rates, the challenge level that the witness belongs to.
    columns : tuple of int, optional
        The features that the weights are restricted to, ascending; None for all.
    positive_weight : float, optional
        The weight of a positive sample in the accuracy that is trained for instead of the measure, relative to that of
        a negative one; None if the measure itself is trained for.
    """

    objective: Objective = Objective.SLACK
    smoothing: float | None = None
    level: float | None = None
    columns: tuple[int, ...] | None = None
    positive_weight: float | None = None


@stored_fields(version=1)
@dataclass(frozen=True)
class Fallback:
    """Why and how a weighted accuracy was trained for instead of the measure.

    Parameters
    ----------
    positive_weight : float
        The weight of a positive sample relative to that of a negative one.
    degenerate : Result
        The result for the measure itself, whose certificate shows that no weights are better than w = 0.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> from metricwise import MultivariateSVC
    >>> random = np.random.default_rng(0)
    >>> X, y = random.normal(size=(400, 5)), np.arange(400) % 40 == 0
    >>> X[:, 0] += 0.5 * y
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")  # a DegenerateOptimumWarning
    ...     result = MultivariateSVC("f1").fit(X, y).result_
    >>> result.status.value, result.fallback.positive_weight > 1.0
    ('fallback', True)
    """

    positive_weight: float
    degenerate: Result = field(repr=False)


@stored_fields(version=2)
@dataclass(frozen=True)
class Result:
    """A solution with its certificate and history.

    Where the surrogate of the measure is degenerate, they belong to a weighted accuracy: see ``fallback``.

    Parameters
    ----------
    weights : array
        Weights of the features, then the intercept if there is one; with a kernel, coefficients of samples.
    certificate : Certificate
        Bounds of the smallest objective.
    status : Status
        Why training ended.
    n_iter : int
        Number of iterations.
    seconds : float
        Time spent.
    history : History
        The bounds after every iteration.
    witness : Witness
        The labellings whose convex combination proves the lower bound.
    fallback : Fallback or None, default=None
        How a weighted accuracy was trained for, if the surrogate of the measure is degenerate.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from metricwise import MultivariateSVC
    >>> result = MultivariateSVC("f1").fit(*make_classification(random_state=0)).result_
    >>> result.status.value, result.certificate.relative <= 1e-3, result.fallback
    ('optimal', True, None)
    """

    weights: Floats = field(repr=False)
    certificate: Certificate
    status: Status
    n_iter: int
    seconds: float
    history: History[HistoryEntry]
    witness: Witness = field(repr=False)
    fallback: Fallback | None = field(default=None, kw_only=True)

    @property
    def positive_weight(self) -> float | None:
        """The weight of a positive sample in the accuracy trained for; None without a fallback."""
        return None if self.fallback is None else self.fallback.positive_weight

    @property
    def is_degenerate(self) -> bool:
        """Whether the surrogate of the measure is degenerate; what was trained for instead is in ``fallback``."""
        return self.status is Status.DEGENERATE or self.fallback is not None

    @property
    def problem(self) -> ProblemDescription:
        """The problem whose objective the certificate bounds."""
        return ProblemDescription(positive_weight=self.positive_weight)

    @property
    def bytes_moved(self) -> int:
        """Bytes of arrays that training exchanged with the workers of a cluster; 0 for samples in memory.

        Those of single iterations are the differences between entries of the history.
        """
        return self.history[-1].bytes_moved if len(self.history) else 0

    @property
    def score_error(self) -> float:
        """By how much the objective may be smaller than the upper bound, since scores were counted in bins."""
        return self.certificate.score_error

    def _repr_html_(self) -> str:
        return show_result(self)


@dataclass(frozen=True)
class StreamResult:
    """The result of training on a stream. Point updates give no bound, so there is no certificate.

    Parameters
    ----------
    weights : array
        Weights of the features, the intercept last.
    status : Status
        Why training ended.
    n_samples : int
        Samples seen, those of all passes together.
    n_passes : int
        Passes over the data; the last one may be incomplete.
    seconds : float
        Time spent.
    history : History
        The measure on samples not learnt from, and the dual variables, at every evaluation.
    certificate : None
        Always None.
    bytes_moved : int
        Bytes of arrays that were exchanged with the workers of a cluster; 0 for samples in memory.
    positive_share : float
        Weight of the positives, as a share of the samples by which weights were updated: about that of the stream. For
        more than two classes, that of the first.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from metricwise import SPADEClassifier
    >>> result = SPADEClassifier("g_mean").fit(*make_classification(random_state=0)).result_
    >>> result.certificate is None, result.n_passes >= 1
    (True, True)
    """

    weights: Floats = field(repr=False)
    status: Status
    n_samples: int
    n_passes: int
    seconds: float
    history: History[StreamEntry]
    certificate: None = None
    bytes_moved: int = 0
    positive_share: float = float("nan")

    @property
    def is_degenerate(self) -> bool:
        """Whether the surrogate is known to be degenerate: never, since there is no certificate."""
        return False

    def _repr_html_(self) -> str:
        return show_stream(self)
