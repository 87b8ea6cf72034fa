"""Base class of streaming classifiers: parameters, `fit`, `partial_fit`, `fit_stream` and fitted attributes."""

from __future__ import annotations

import logging
import time
import warnings
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from numbers import Integral, Real
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.validation import check_is_fitted, check_random_state

from metricwise._sklearn import Interval, Options, StrOptions, check_sample_weight
from metricwise._state import StoredState
from metricwise._typing import Floats, Integers, Labels, Mask
from metricwise.decisions.decision import check_threshold
from metricwise.decisions.groups import validate_groups
from metricwise.decisions.targets import POSITIVE_CLASS, classes_of, count_classes, sample_weights_of
from metricwise.designs import make_design
from metricwise.designs.cluster.source import DaskSource
from metricwise.estimators.checkpoints import Checkpoint, check_writable
from metricwise.estimators.guarded_fit import guard_fit
from metricwise.estimators.hashed_inputs import forget_hashing, hash_frame
from metricwise.estimators.inputs import (
    data_of_cluster,
    refuse_dask_in_order,
    set_feature_names,
    validate_samples,
)
from metricwise.estimators.linear import LinearClassifier
from metricwise.estimators.streaming.chunks import (
    Chunk,
    ChunkSource,
    check_chunk_labels,
    check_n_passes,
    evaluate_stream,
    first_classes,
    learn_chunk,
    thin_history,
)
from metricwise.estimators.streaming.cluster import make_shard_sources
from metricwise.estimators.streaming.memory import make_memory_sources
from metricwise.estimators.streaming.training import StreamModel, StreamPlan, train
from metricwise.estimators.training_identity import identify_training
from metricwise.io.chunk_reader import ChunkReader
from metricwise.io.hashing import HashedColumns
from metricwise.measures import Measure, get_measure
from metricwise.progress import show_progress
from metricwise.registry import check_trainable
from metricwise.results import History, StreamEntry, StreamResult
from metricwise.solvers.point_updates import PointSettings, Schedule, StreamLearner
from metricwise.solvers.stream_state import StreamState

_LOG = logging.getLogger("metricwise")
_LARGEST = 1e300  # of the features: sums of some remain finite


def report_progress(callback: Callable[[StreamEntry], Any] | None, entry: StreamEntry) -> bool:
    """Log an evaluation and pass it to the callback, if there is one; return whether to stop."""
    left = "" if entry.seconds_left is None else f", at most {entry.seconds_left:.0f} s left"
    speed = entry.samples_per_second
    _LOG.info("%d samples, %.0f samples/s, measure %.4f%s", entry.n_samples, speed, entry.measure, left)
    return bool(callback is not None and callback(entry))


class StreamingClassifier(LinearClassifier):
    """A linear classifier that learns from samples as they come."""

    __stored_state__: ClassVar[StoredState] = LinearClassifier.__stored_state__.extend("_model", "hashed_columns_")

    # A client belongs to a call and to no pipeline: it is not routed.
    __metadata_request__fit: ClassVar[dict[str, Any]] = {"client": UNUSED, "groups": True}

    _model: StreamModel
    hashed_columns_: HashedColumns

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "measure": "no_validation",
        "eta0": [Interval(Real, 1e-100, 1e100, closed="both")],
        "alpha": [Interval(Real, 0.0, 1e100, closed="both")],
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
        "pos_label": POSITIVE_CLASS,
        "n_jobs": [Interval(Integral, 1, None, closed="left"), Options(Integral, {-1}), None],
        "random_state": ["random_state"],
        "checkpoint": [str, Path, None],
        "every": [Interval(Integral, 1, None, closed="left")],
        "callback": [callable, None],
        "n_shards": [Interval(Integral, 1, None, closed="left")],
        "verbose": [Interval(Integral, 0, None, closed="left"), None],
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
        verbose: int | None = None,
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
        self.verbose = verbose

    @abstractmethod
    def _make_learner(self, measure: Any) -> StreamLearner:
        """Return the solver of one binary problem."""

    def _settings(self) -> PointSettings:
        return PointSettings(self.schedule, self.eta0, self.alpha, self.prior, self.fit_intercept)

    def _check_measure(self) -> Measure:
        """Return the measure; raise if it or another parameter is not valid."""
        self._validate_params()
        measure = get_measure(self.measure)
        check_trainable(measure, self)
        return measure

    def _plan(self, measure: Measure, seed: int = 0) -> StreamPlan:
        """Return everything that training needs beside the samples."""
        return StreamPlan(
            measure,
            self._make_learner(measure),
            None if isinstance(self.threshold, str) else float(self.threshold),
            self.n_passes,
            self.tol,
            self.patience,
            self.validation_fraction,
            self.max_seconds,
            self.n_jobs,
            self.n_shards,
            self.every,
            seed,
            partial(report_progress, self.callback),
        )

    def _add_checkpoint(self, plan: StreamPlan, identify: Callable[[], list[Any]]) -> StreamPlan:
        """Return the plan with the file from which training on the identified samples resumes, if one is wanted."""
        if self.checkpoint is None:  # to identify samples, all of them may be read
            return plan
        path = Path(self.checkpoint)
        check_writable(path)
        return replace(plan, checkpoint=Checkpoint(path, identify_training(self, identify())))

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None, client: Any = None) -> Self:
        """Train in shuffled passes until the measure on held-out samples stops improving.

        Parameters
        ----------
        X : array, data frame, sparse matrix or Dask collection of shape (n_samples, n_features)
            Dense and CSR input is used in single or double precision and never copied. Samples of a Dask
            array or data frame stay with the workers of its cluster (`SPADEClassifier` and `STAMPClassifier`).
        y : array of shape (n_samples,)
            Labels.
        sample_weight : array of shape (n_samples,), optional
            A sample of weight 2 counts twice as much, one of weight 0 as absent.
        groups : array of shape (n_samples,), optional
            Samples that belong together, such as those of one patient, have the same entry. They are held out as a
            whole. For samples in memory.
        client : distributed.Client, optional
            The client of a Dask collection; by default the one started last.

        Returns
        -------
        self
            The fitted estimator.
        """
        measure = self._check_measure()
        X, y, sample_weight = data_of_cluster(self, X, y, sample_weight, client)
        on_cluster = isinstance(X, DaskSource)
        with guard_fit(self), show_progress(type(self).__name__, self.verbose):
            forget_hashing(self)
            # Contiguous samples: in random order, every entry of a sample that is spread over memory has to be waited
            # for.
            X, y = validate_samples(self, X, y, least=2, order="C", chunks=on_cluster, largest=_LARGEST)
            weights = sample_weights_of(X, y, sample_weight, None)
            classes = classes_of(y, weights)
            self._check_positive_class(measure, classes, count_classes(y, classes))
            positives = self._positives(y, classes)
            seed = int(check_random_state(self.random_state).randint(2**31 - 1))
            known = self._validate_groups(groups, len(y), on_cluster)
            identify = partial(_identify_samples, X, positives, weights, seed, known)
            plan = replace(self._add_checkpoint(self._plan(measure, seed), identify), groups=known)
            make_sources = make_shard_sources if on_cluster else make_memory_sources
            model = train(plan, make_sources(plan, X, positives, weights), classes)
            self._model = replace(model, bytes_moved=X.bytes_moved) if on_cluster else model
        self._warn()
        return self

    def _validate_groups(self, groups: Any, n_samples: int, on_cluster: bool) -> Integers | None:
        if groups is not None and on_cluster:
            raise ValueError("groups is for samples in memory, and X is a Dask collection: use X.compute()")
        return validate_groups(groups, n_samples)

    def _warn(self) -> None:
        """Warn if the threshold was chosen on training scores."""
        if any(model.lacks_folds for model in self._model.selected):
            warnings.warn(
                "too few samples of one class to hold some out: the threshold was chosen on the training scores. "
                "Collect more samples of the rare class, or give the threshold as a number",
                UserWarning,
                stacklevel=3,
            )

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from more samples: any number of them, one included.

        The model depends on the samples and their order, not on their division among calls.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_samples, n_features)
            Samples; sparse if and only if those of the first call were.
        y : array of shape (n_samples,)
            Their labels.
        classes : array, optional
            All labels; needed in the first call only.
        sample_weight : array of shape (n_samples,), optional
            Weights of the samples.

        Returns
        -------
        self
            The fitted estimator.
        """
        refuse_dask_in_order("partial_fit", X)
        started = time.perf_counter()
        measure = self._check_measure()
        model = vars(self).get("_model")
        X = hash_frame(self, X)
        classes = check_chunk_labels(y, classes, None if model is None else model.classes)
        with guard_fit(self):
            X, y = validate_samples(self, X, y, reset=model is None, order="C", largest=_LARGEST)
            if model is None:
                model = StreamModel(measure, classes, self._start(self._plan(measure), X, y, classes))
            for state in model.states:
                state.check_countable(X.shape[0])
            plan = self._plan(model.measure)
            learn_chunk(plan.learner, model.states, self._make_chunk(classes, X, y, sample_weight))
        seconds = model.seconds + time.perf_counter() - started
        entry = evaluate_stream(plan, model.states, model.entries, seconds)
        entries = model.entries if entry is None else (*thin_history(model.entries), entry)
        self._model = replace(model, threshold=plan.threshold, selected=(), entries=entries, seconds=seconds)
        if entry is not None:
            report_progress(self.callback, entry)
        return self

    def _start(self, plan: StreamPlan, X: Any, y: Any, classes: Labels) -> tuple[StreamState, ...]:
        """Return the states before the first sample of a stream whose first chunk, already validated, is given."""
        self._check_positive_class(plan.measure, classes, count_classes(y, classes), where="the first chunk")
        n_problems = len(self._positives(classes[:0], classes))
        return tuple(plan.learner.start(X.shape[1], bool(sparse.issparse(X))) for _ in range(n_problems))

    def _check_chunk(self, classes: Labels, X: Any, y: Any, sample_weight: Any) -> Chunk:
        """Return valid samples, positives and weights; raise before anything is learnt from them otherwise."""
        # Contiguous samples, as sums in another order would make a difference between one way to cut a stream and
        # another.
        X, y = validate_samples(self, X, y, reset=False, order="C", largest=_LARGEST)
        check_chunk_labels(y, None, classes)
        return self._make_chunk(classes, X, y, sample_weight)

    def _make_chunk(self, classes: Labels, X: Any, y: Labels, sample_weight: Any) -> Chunk:
        return Chunk(X, self._positives(y, classes), check_sample_weight(sample_weight, X, allow_all_zero_weights=True))

    def fit_stream(self, source: Any, *, classes: Any = None, n_passes: int = 1, **options: Any) -> Self:
        """Train on chunks of samples that need not fit into memory.

        Parameters
        ----------
        source : path, `metricwise.io.Stream`, or iterable of chunks
            A path is opened by `metricwise.io.stream`. Chunks are pairs (X, y) or triples (X, y, sample_weight); an
            iterable that can be read only once (a generator) allows one pass. The column names of a file become
            ``feature_names_in_``, and its labels are integers if those of the first chunk are whole numbers.
        classes : array, optional
            All labels. By default those of the first chunk.
        n_passes : int, default=1
            Largest number of passes. With one, every sample is scored before it is learnt from, which gives the
            threshold. With more, one sample in ten is never learnt from; passes end when the measure on these stops
            improving.
        **options
            Passed to `metricwise.io.stream` with a path: ``format``, ``target``, ``chunk_rows``, ``on_error``, ... With
            ``categories``, ``texts`` or ``hash_features``, words and categories are hashed, the rule is stored as
            ``hashed_columns_``, and `predict` takes data frames with the columns of the file.

        Returns
        -------
        self
            The fitted estimator.
        """
        refuse_dask_in_order("fit_stream", source)
        measure = self._check_measure()
        reader = ChunkReader(source, options)
        plan = replace(self._plan(measure), n_passes=check_n_passes(n_passes, reader))
        with guard_fit(self), show_progress(type(self).__name__, self.verbose):
            plan = self._add_checkpoint(plan, lambda: [plan.n_passes, np.array(classes).tolist(), *reader.identity()])
            X, y, _ = reader.first()
            labels = first_classes(reader, reader.first_labels(), classes)
            forget_hashing(self)
            X, y = validate_samples(self, X, y)
            states = self._start(plan, X, y, labels)
            del X, y  # chunks are not kept
            self._model = train(plan, [ChunkSource(plan, reader, partial(self._check_chunk, labels), states)], labels)
            if reader.hashed_columns is not None:
                self.hashed_columns_ = reader.hashed_columns
            elif reader.feature_names is not None:  # chunks of a file are arrays, which would lack them
                set_feature_names(self, reader.feature_names)
        return self

    def _raw_scores(self, X: Any) -> Floats:
        return super()._raw_scores(hash_frame(self, X))

    # --------------------------------------------------------------------------------------------------- the model

    @property
    def measure_(self) -> Measure:  # type: ignore[override]
        """The measure that the model was trained for."""
        return self._model.measure

    @property
    def classes_(self) -> Labels:  # type: ignore[override]
        """The labels, sorted."""
        return self._model.classes

    @property
    def coef_(self) -> Floats:  # type: ignore[override]
        """Weights of the features, signed towards ``classes_[1]`` in a binary problem."""
        return self._sign * np.array([model.weights for model in self._model.binary_models])

    @property
    def intercept_(self) -> Floats:  # type: ignore[override]
        """Constant terms of the scores."""
        return self._sign * np.array([model.intercept for model in self._model.binary_models])

    @property
    def threshold_(self) -> float | Floats:
        """The threshold, which `decision_function` subtracts from the scores; assign another to predict with it.

        A new threshold is used until the next `fit` or `partial_fit`, which choose one again; the parameter
        ``threshold`` fixes it.
        """
        thresholds = self._sign * np.array([model.threshold for model in self._model.binary_models])
        return float(thresholds[0]) if thresholds.size == 1 else thresholds

    @threshold_.setter
    def threshold_(self, value: Any) -> None:
        check_is_fitted(self, "_model")
        thresholds = self._sign * np.atleast_1d(check_threshold(value, self.threshold_))
        models = zip(self._model.binary_models, thresholds.tolist(), strict=True)
        self._model = replace(self._model, selected=tuple(replace(one, threshold=cut) for one, cut in models))

    @property
    def n_iter_(self) -> int:
        """Passes over the data."""
        return self._model.n_passes

    @property
    def result_(self) -> StreamResult:
        """Status, samples seen and history; of the first class for more than two, the history a mean over them."""
        model, weights = self._model, np.append(self.coef_[0], self.intercept_[0])
        facts = model.status, model.n_samples, model.n_passes, model.seconds, History(model.entries)
        share = model.states[0].positive_share
        return StreamResult(weights, *facts, bytes_moved=model.bytes_moved, positive_share=share)


def _identify_samples(X: Any, positives: list[Mask], weights: Floats, seed: int, groups: Integers | None) -> list[Any]:
    """Return a hash that identifies the training on these samples, the same for every kind of matrix."""
    design = make_design(X)
    kind = X.bounds.tolist() if isinstance(X, DaskSource) else str(X.dtype)
    content = [X.shape, kind, design.is_sparse, design.fingerprints(), weights, np.array(positives), seed]
    return content if groups is None else [*content, groups]
