"""What the classifiers for streams share: samples in chunks, samples in memory, samples in files, and checkpoints."""

from __future__ import annotations

import logging
import time
from abc import abstractmethod
from collections.abc import Callable
from numbers import Integral, Real
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.validation import check_random_state

from metricwise._sklearn import Interval, Options, StrOptions
from metricwise._state import StoredState
from metricwise._typing import Floats, Mask
from metricwise.decisions.targets import classes_of, sample_weights_of
from metricwise.designs.cluster.source import DaskSource
from metricwise.estimators.dask_inputs import data_of_cluster
from metricwise.estimators.inputs import refuse_dask_in_order, restore_on_error, validate_samples
from metricwise.estimators.linear import LinearClassifier
from metricwise.estimators.streaming.chunks import ChunkReader, check_chunk_labels, chunk_weights
from metricwise.estimators.streaming.passes import Evaluation, evaluate
from metricwise.measures import Measure, get_measure
from metricwise.registry import check_trainable
from metricwise.results import History, Status, StreamEntry, StreamResult
from metricwise.solvers.point_updates import PointSettings, Schedule, StreamLearner, learn_around
from metricwise.solvers.stream_data import StreamData
from metricwise.solvers.stream_state import StreamState
from metricwise.threads import available_threads

_LOG = logging.getLogger("metricwise")
_NOTHING_REMEMBERED = Evaluation(0.0, float("nan"))
_MOST_ENTRIES = 1000
_ROWS_BETWEEN_ENTRIES = 131_072


class _Model:
    """One binary model: weights, intercept and threshold, pointing to its positives."""

    __stored_state__: ClassVar[StoredState] = StoredState(1, ("weights", "bias", "threshold"))

    def __init__(self, weights: Floats, bias: float, threshold: float) -> None:
        self.weights, self.bias, self.threshold = weights, bias, threshold


class StreamingClassifier(LinearClassifier):
    """A linear classifier that learns from samples as they come."""

    __stored_state__: ClassVar[StoredState] = LinearClassifier.__stored_state__.extend(
        "_states", "_cache", "_entries", "_seconds", "_passes", "_status", "_rows_of_others", "_bytes_moved"
    )

    # A client belongs to a call and to no pipeline: it is not routed.
    __metadata_request__fit: ClassVar[dict[str, str]] = {"client": UNUSED}

    _states: list[StreamState]
    _cache: list[_Model] | None
    _entries: list[StreamEntry]
    _seconds: float
    _passes: int
    _status: str
    _rows_of_others: int  # seen by shards other than the one whose position the states have
    _bytes_moved: int

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "measure": "no_validation",
        "eta0": [Interval(Real, 0.0, None, closed="neither")],
        "alpha": [Interval(Real, 0.0, None, closed="left")],
        "schedule": [StrOptions({"adaptive", "paper"})],
        "prior": [Interval(Real, 0.0, 1.0, closed="neither"), None],
        "threshold": [StrOptions({"stream"}), Interval(Real, None, None, closed="neither")],
        "n_passes": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, None, None, closed="neither")],
        "patience": [Interval(Integral, 1, None, closed="left")],
        "validation_fraction": [Interval(Real, 0.0, 0.5, closed="neither")],
        "max_seconds": [Interval(Real, 0.0, None, closed="neither"), None],
        "fit_intercept": ["boolean"],
        "multi_class": [StrOptions({"ovr", "off"}), None],
        "pos_label": "no_validation",
        "n_jobs": [Interval(Integral, 1, None, closed="left"), Options(Integral, {-1}), None],
        "random_state": ["random_state"],
        "checkpoint": [str, Path, None],
        "every": [Interval(Integral, 1, None, closed="left")],
        "callback": [callable, None],
        "n_shards": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        measure: str | Measure = "f1",
        *,
        eta0: float = 1.0,
        alpha: float = 1e-4,
        schedule: Schedule = "adaptive",
        prior: float | None = None,
        threshold: str | float = "stream",
        n_passes: int = 25,
        tol: float = 1e-3,
        patience: int = 5,
        validation_fraction: float = 0.1,
        max_seconds: float | None = None,
        fit_intercept: bool = True,
        multi_class: str | None = "ovr",
        pos_label: Any = None,
        n_jobs: int | None = None,
        random_state: Any = 0,
        checkpoint: str | Path | None = None,
        every: int = 1_000_000,
        callback: Callable[[StreamEntry], Any] | None = None,
        n_shards: int = 8,
    ) -> None:
        self.measure = measure
        self.eta0 = eta0
        self.alpha = alpha
        self.schedule = schedule
        self.prior = prior
        self.threshold = threshold
        self.n_passes = n_passes
        self.tol = tol
        self.patience = patience
        self.validation_fraction = validation_fraction
        self.max_seconds = max_seconds
        self.fit_intercept = fit_intercept
        self.multi_class = multi_class
        self.pos_label = pos_label
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.checkpoint = checkpoint
        self.every = every
        self.callback = callback
        self.n_shards = n_shards

    @abstractmethod
    def _learner(self, measure: Any) -> StreamLearner:
        """Return the solver of one binary problem."""

    def _settings(self) -> PointSettings:
        return PointSettings(self.schedule, self.eta0, self.alpha, self.prior, self.fit_intercept)

    def _checked_measure(self) -> Measure:
        self._validate_params()
        measure = get_measure(self.measure)
        check_trainable(measure, self)
        return measure

    @property
    def _threads(self) -> int:
        return available_threads() if self.n_jobs in (None, -1) else int(self.n_jobs or 1)

    # ------------------------------------------------------------------------------------------------- samples in
    # memory

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, client: Any = None) -> Self:
        """Train in shuffled passes until the measure on samples held out stops improving.

        Parameters
        ----------
        X : array, data frame, sparse matrix or Dask collection of shape (n_samples, n_features)
            Dense and CSR input is used as it is, in single or double precision, and never copied. Samples of a Dask
            array or data frame stay with the workers of its cluster (`SPADEClassifier` and `STAMPClassifier`).
        y : array of shape (n_samples,)
            Labels.
        sample_weight : array of shape (n_samples,), optional
            A sample of weight 2 counts twice as much, one of weight 0 as absent.
        client : distributed.Client, optional
            Of the cluster that a Dask collection is for; by default the one started last.

        Returns
        -------
        self
        """
        from metricwise.estimators.streaming.cluster import ClusterJob
        from metricwise.estimators.streaming.memory import MemoryJob, mean_entries

        measure = self._checked_measure()
        X, y, sample_weight = data_of_cluster(self, X, y, sample_weight, client)
        on_cluster = isinstance(X, DaskSource)
        with restore_on_error(self):
            # Contiguous samples: in random order, every entry of a sample that is spread over memory has to be waited
            # for.
            X, y = validate_samples(self, X, y, least=2, order="C", chunks=on_cluster)
            weights = sample_weights_of(X, y, sample_weight, None)
            classes = classes_of(y, weights)
            seed = int(check_random_state(self.random_state).randint(2**31 - 1))
            job = (ClusterJob if on_cluster else MemoryJob)(self, measure, X, weights, seed)
            done = job.run(self._positives(y, classes))
            self.measure_, self.classes_ = measure, classes
            self._states = [progress.state for progress, _ in done]
            self._entries = mean_entries([progress.entries for progress, _ in done])
            self._seconds = sum(progress.seconds for progress, _ in done)
            self._rows_of_others = done[0][0].entries[-1].n_samples - self._states[0].position
            self._bytes_moved = job.bytes_moved
            self._passes, self._status = max(p.passes + (p.offset > 0) for p, _ in done), done[0][0].status
            self._cache = [_Model(p.best_weights, p.best_bias, threshold) for p, threshold in done]
        job.warn()
        return self

    def _take_features(self, other: StreamingClassifier) -> None:
        """Know as many features as another model, by the same names."""
        for name in ("n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)
            if hasattr(other, name):
                setattr(self, name, getattr(other, name))

    # ------------------------------------------------------------------------------------------------- samples in
    # chunks

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from more samples: any number of them, one included.

        What is learnt depends on the samples and their order, not on how they are divided among calls.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_samples, n_features)
            Samples; sparse if and only if those of the first call were.
        y : array of shape (n_samples,)
            Their labels.
        classes : array, optional
            All labels there are; needed in the first call only.
        sample_weight : array of shape (n_samples,), optional
            Weights of the samples.

        Returns
        -------
        self
        """
        refuse_dask_in_order("partial_fit", X)
        started = time.perf_counter()
        measure = self._checked_measure()
        first = not hasattr(self, "classes_")
        labels = check_chunk_labels(y, classes, None if first else self.classes_)
        with restore_on_error(self):
            if first:
                self._begin(measure, X, y, labels)
            checked = self._checked_chunk(X, y, sample_weight)
        self._learn_chunk(*checked)
        self._seconds += time.perf_counter() - started
        self._cache = None
        self._note_progress()
        return self

    def _begin(self, measure: Measure, X: Any, y: Any, classes: NDArray[Any]) -> None:
        """Make a model of the first chunk's kind that has not learnt anything."""
        X, _ = validate_samples(self, X, y)
        count = len(self._positives(classes[:0], classes))
        data = StreamData(X, np.zeros(0, dtype=bool), np.zeros(0))
        states = [self._learner(measure).start(data.n_features, data.is_sparse) for _ in range(count)]
        self._restore(measure, classes, states, {})

    def _restore(
        self, measure: Measure, classes: NDArray[Any], states: list[StreamState], notes: dict[str, Any]
    ) -> None:
        """Put states in place, new ones or those of a checkpoint with its notes."""
        self.measure_, self.classes_, self._states = measure, classes, states
        self._entries = list(notes.get("entries", ()))
        self._seconds, self._passes, self._status = notes.get("seconds", 0.0), 1, Status.STREAMING.value
        self._rows_of_others = self._bytes_moved = 0
        self._cache = None
        if "features" in notes:
            self.n_features_in_ = notes["features"]
        if notes.get("names"):
            self.feature_names_in_ = np.array(notes["names"], dtype=object)

    def _checked_chunk(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, NDArray[Any], Floats]:
        """Return samples, labels and weights, all valid; raise before anything is learnt from them otherwise."""
        # Contiguous samples, as sums in another order would make a difference between one way to cut a stream and
        # another.
        X, y = validate_samples(self, X, y, reset=False, order="C")
        check_chunk_labels(y, None, self.classes_)
        if StreamData(X, np.zeros(0, dtype=bool), np.zeros(0)).is_sparse != self._states[0].is_sparse:
            before = "sparse" if self._states[0].is_sparse else "dense"
            raise ValueError(f"the samples learnt from before were {before}, these are not: convert X")
        return X, y, chunk_weights(X, sample_weight)

    def _learn_chunk(self, X: Any, y: NDArray[Any], weights: Floats, held: Mask | None = None) -> None:
        """Learn from valid samples; those ``held`` out are only scored, and then no others are."""
        rows = np.flatnonzero(weights > 0.0)
        for positive, state in zip(self._positives(y, self.classes_), self._states, strict=True):
            data = StreamData(X, positive, weights)
            learner = self._learner(self.measure_)
            if held is None:
                learner.learn(state, data, rows)
            else:
                learn_around(learner, state, data, rows[~held[rows]], rows[held[rows]])

    def _note_progress(self, seconds_left: float | None = None) -> bool:
        """Add to the history, ever more rarely; say whether the callback wants to stop."""
        position = self._states[0].position
        last = self._entries[-1].n_samples if self._entries else 0
        if position < max(last + min(last, _ROWS_BETWEEN_ENTRIES), 1):
            return False
        values = [self._recent(state).value for state in self._states]
        duals = self._learner(self.measure_).duals(self._states[0])
        entry = StreamEntry(position, self._seconds, float(np.mean(values)), duals, seconds_left)
        if len(self._entries) >= _MOST_ENTRIES:
            self._entries = self._entries[::2]
        self._entries.append(entry)
        return self._tell(entry)

    def _tell(self, entry: StreamEntry) -> bool:
        """Log an evaluation and hand it to the callback; say whether that wants to stop."""
        left = "" if entry.seconds_left is None else f", at most {entry.seconds_left:.0f} s left"
        _LOG.info(
            "%d samples, %.0f samples/s, measure %.4f%s", entry.n_samples, entry.samples_per_second, entry.measure, left
        )
        return bool(self.callback is not None and self.callback(entry))

    def _recent(self, state: StreamState) -> Evaluation:
        """Return threshold and measure on the scores of recent samples, taken before they were learnt from."""
        recent = state.recent_scores()
        return evaluate(self.measure_, *recent) if recent is not None else _NOTHING_REMEMBERED

    # -------------------------------------------------------------------------------------------------- samples in
    # files

    def fit_stream(self, source: Any, *, classes: Any = None, n_passes: int = 1, **options: Any) -> Self:
        """Train on chunks of samples that need not fit into memory.

        Parameters
        ----------
        source : path, `metricwise.io.Stream`, or iterable of chunks
            A path is opened by `metricwise.io.stream`. Chunks are pairs (X, y) or triples (X, y, sample_weight); an
            iterable that can be read once only (a generator) serves one pass.
        classes : array, optional
            All labels there are. By default those of the first chunk.
        n_passes : int, default=1
            Most passes. With one, every sample is scored before it is learnt from, which gives the threshold. With
            more, one sample in ten is never learnt from; passes end when the measure on these stops improving.
        **options
            Passed to `metricwise.io.stream` with a path: ``format``, ``target``, ``chunk_rows``, ``on_error``, ...

        Returns
        -------
        self
        """
        from metricwise.estimators.streaming.files import FileJob

        refuse_dask_in_order("fit_stream", source)
        measure = self._checked_measure()
        FileJob(self, measure, ChunkReader(source, options), classes, n_passes).run()
        return self

    # ----------------------------------------------------------------------------------------------------- the model

    def _models(self) -> list[_Model]:
        """Return the models, formed on demand so that learning from a sample costs no more than the sample."""
        if not hasattr(self, "_states"):
            raise AttributeError("not fitted")  # what hasattr expects of a model without samples
        if self._cache is None:
            self._cache = [_Model(*state.average(), self._threshold(state)) for state in self._states]
        return self._cache

    def _threshold(self, state: StreamState) -> float:
        return float(self._recent(state).threshold if isinstance(self.threshold, str) else self.threshold)

    @property
    def coef_(self) -> Floats:  # type: ignore[override]
        """Weights of the features, signed towards ``classes_[1]`` in a binary problem."""
        return self._sign * np.array([model.weights for model in self._models()])

    @property
    def intercept_(self) -> Floats:  # type: ignore[override]
        """Constant terms of the scores."""
        return self._sign * np.array([model.bias for model in self._models()])

    @property
    def threshold_(self) -> float | Floats:  # type: ignore[override]
        """What `decision_function` subtracts from the scores."""
        thresholds = self._sign * np.array([model.threshold for model in self._models()])
        return float(thresholds[0]) if thresholds.size == 1 else thresholds

    @property
    def n_iter_(self) -> int:
        """Passes over the data."""
        self._models()
        return self._passes

    @property
    def result_(self) -> StreamResult:
        """Status, samples seen and history; of the first class for more than two, the history a mean over them."""
        weights = np.append(self.coef_[0], self.intercept_[0])
        n_samples = self._states[0].position + self._rows_of_others
        told = Status(self._status), n_samples, self._passes, self._seconds, History(tuple(self._entries))
        return StreamResult(weights, *told, bytes_moved=self._bytes_moved)
