"""Decisions for a measure around any learner that learns from a stream."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.utils import get_tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_random_state

from metricwise._sklearn import HasMethods, Interval, StrOptions, check_sample_weight
from metricwise._state import StoredState
from metricwise._typing import Floats, Labels
from metricwise.decisions.label_matrix import read_label_names, validate_label_matrix
from metricwise.decisions.online import OnlineDecision
from metricwise.decisions.running_counts import Forgetting
from metricwise.decisions.targets import POSITIVE_CLASS, count_classes
from metricwise.decisions.task import Task
from metricwise.decisions.tasks import make_task, task_of_classes
from metricwise.designs.finite import LARGEST, are_surely_within
from metricwise.estimators.guarded_fit import guard_fit, restore_on_error
from metricwise.estimators.inputs import refuse_dask_in_order, set_feature_names, validate_samples
from metricwise.estimators.streaming.chunks import check_chunk_labels, check_n_passes, first_classes
from metricwise.estimators.streaming.online_learning import (
    OnlineModel,
    OnlinePlan,
    Samples,
    check_learner,
    learn_samples,
    make_learners,
)
from metricwise.estimators.streaming.online_predictor import OnlinePredictor
from metricwise.io.chunk_reader import ChunkReader
from metricwise.measures import Measure, get_measure
from metricwise.measures.base import NeedsConstraint
from metricwise.progress import add_stage, show_progress
from metricwise.raw_inputs import check_sparse
from metricwise.registry import check_trainable
from metricwise.results import Status, StreamEntry

_CSR = (sparse.csr_matrix, sparse.csr_array)
_KINDS_OF_LABELS = "biuU"  # arrays of booleans, integers and strings, which need no search for fractions


class OnlineMetricClassifier(OnlinePredictor):
    r"""Any learner with ``partial_fit`` and probabilities, decided for a measure while samples keep coming.

    Every sample is predicted before it is learnt from, as what raises the measure most in expectation along its
    gradient at the table of all predictions so far [1]_. For two classes, more of them, and multilabel targets; for
    measures of the contingency tables, their averages, and `CostMatrix`.

    Parameters
    ----------
    estimator : classifier, optional
        Has ``partial_fit`` and ``predict_proba``; by default ``SGDClassifier(loss="log_loss", average=True)``, whose
        probabilities are less extreme than without averages. For multilabel targets there is a copy per label.
    measure : str or Measure, default="f1"
        A measure of the contingency table, such as "f1", "g_mean" or "matthews_corrcoef", an average of one over
        classes or labels, such as "f1_macro", or a `CostMatrix`.
    half_life : float, optional
        For streams that drift: a sample counts half as much after so many others. By default all count alike.
    window : int, optional
        For streams that drift: only about so many recent samples count. Not together with ``half_life``. Both concern
        the decisions and `running_score_`; how fast the learner forgets is up to its own settings.
    calibrate : bool, default=True
        Whether probabilities are calibrated by those of the samples before that came true: their log-odds by a line for
        each class or label. Learners of streams are often too certain.
    batch_size : int or "auto", default="auto"
        Samples that are predicted before the learner learns from them; "auto" is a quarter of those seen so far,
        between 16 and 1000. With 1, the model depends on the samples and their order, and not on their division among
        calls, if that holds for the learner.
    n_passes : int, default=1
        Passes of `fit` over its samples, which are shuffled. After the first, samples are predicted that the learner
        knows, and `running_score_` is too high.
    pos_label : label, optional
        The positive class of two; by default 1 of the classes 0 and 1, -1 and 1, or booleans. Of others it has to be
        named, unless the measure treats both alike.
    random_state : int, RandomState instance or None, default=0
        Seeds the default learner and the order of samples in `fit`.
    listener : callable, optional
        Called with the true and the predicted labels of every batch that was predicted before it was learnt from, such
        as ``GuaranteeMonitor("precision>=0.8").update``.
    callback : callable, optional
        Called with every entry of `history_`; training of `fit` and `fit_stream` stops if it returns something true.
    max_seconds : float, optional
        Time limit of `fit` and `fit_stream`.
    verbose : int or None, default=None
        Progress of training that takes more than two seconds: a bar on terminals and in notebooks (None), also lines
        where standard error is neither (1), or nothing (0).

    Attributes
    ----------
    estimator_ : classifier
        The trained learner; a list with one per label for multilabel targets.
    running_score_ : float
        The measure of the samples that count, each predicted before it was learnt from; nan before there is one.
    running_score_interval_ : pair of float
        Interval that contains the measure of samples like these with probability 0.9, for classes.
    threshold_ : float or array
        The probability above which a sample is positive, or has each label; not for more than two classes.
    confusion_ : array of shape (n_classes, n_classes) or (n_labels, 2, 2)
        Weights of the samples that count, by true class (rows) and the one predicted before it was learnt from; of two
        classes the positive one is last.
    history_ : History
        `running_score_` while the stream grew.
    result_ : StreamResult
        Samples seen, passes, seconds and the same history.
    classes_ : array
        Labels.
    measure_ : Measure
        The measure.
    n_features_in_, feature_names_in_
        Number and names of the features.

    See Also
    --------
    metricwise.STAMPClassifier : Trains linear scores for the measure itself.
    metricwise.PlugInClassifier : The same for samples in memory, with the best threshold instead of a running one.

    Notes
    -----
    With probabilities :math:`\eta` of a sample and the gradient of the measure at the running tables, predicting class
    k changes the measure by :math:`\eta_k (a_k - c_k) + (1 - \eta_k)(b_k - d_k)`, where a, b, c and d are the
    derivatives for true positives, false positives, false negatives and true negatives of k. For the F-measure of two
    classes, this is a threshold at half of its running value [2]_. The gradient is renewed whenever the samples that
    count have grown by 1/8, and averaged over the last renewals, so that a measure with a kink, such as "min_rate",
    does not alternate between its sides. Given the probabilities, predictions do not depend on the division of the
    stream among calls. Tables start with one sample in every cell.

    References
    ----------
    .. [1] W. Kotłowski, M. Wydmuch, E. Schultheis, R. Babbar and K. Dembczyński (2024). A general online algorithm for
       optimizing complex performance metrics. *International Conference on Machine Learning*, 25396-25425.
    .. [2] R. Busa-Fekete, B. Szörényi, K. Dembczyński and E. Hüllermeier (2015). Online F-measure optimization.
       *Advances in Neural Information Processing Systems* 28, 595-603.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from metricwise import OnlineMetricClassifier
    >>> X, y = make_classification(4000, weights=[0.95], class_sep=1.5, random_state=0)
    >>> model = OnlineMetricClassifier(measure="f1")
    >>> for start in range(0, 4000, 500):
    ...     _ = model.partial_fit(X[start : start + 500], y[start : start + 500], classes=[0, 1])
    >>> low, high = model.running_score_interval_
    >>> low < model.running_score_ < high
    True
    >>> bool(0.2 < model.threshold_ < 0.5)
    True
    """

    __stored_state__: ClassVar[StoredState] = StoredState(
        version=1,
        attributes=("n_features_in_", "feature_names_in_", "_model"),
        training_parameters=("callback", "listener", "verbose"),
    )
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "estimator": [HasMethods(["fit", "partial_fit"]), None],
        "measure": "no_validation",
        "half_life": [Interval(Real, 1.0, 1e15, closed="both"), None],
        "window": [Interval(Integral, 2, None, closed="left"), None],
        "calibrate": ["boolean"],
        "batch_size": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        "n_passes": [Interval(Integral, 1, None, closed="left")],
        "pos_label": POSITIVE_CLASS,
        "random_state": ["random_state"],
        "listener": [callable, None],
        "callback": [callable, None],
        "max_seconds": [Interval(Real, 0.0, None, closed="neither"), None],
        "verbose": [Interval(Integral, 0, None, closed="left"), None],
    }

    def __init__(
        self,
        estimator: Any = None,
        measure: str | Measure = "f1",
        *,
        half_life: float | None = None,
        window: int | None = None,
        calibrate: bool = True,
        batch_size: int | str = "auto",
        n_passes: int = 1,
        pos_label: Any = None,
        random_state: Any = 0,
        listener: Callable[[Any, Any], Any] | None = None,
        callback: Callable[[StreamEntry], Any] | None = None,
        max_seconds: float | None = None,
        verbose: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.measure = measure
        self.half_life = half_life
        self.window = window
        self.calibrate = calibrate
        self.batch_size = batch_size
        self.n_passes = n_passes
        self.pos_label = pos_label
        self.random_state = random_state
        self.listener = listener
        self.callback = callback
        self.max_seconds = max_seconds
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.estimator is None or get_tags(self.estimator).input_tags.sparse
        return tags

    # -------------------------------------------------------------------------------------------------------- training

    def _check_measure(self) -> Measure:
        """Return the measure; raise if it or another parameter is not valid."""
        self._validate_params()
        if self.half_life is not None and self.window is not None:
            raise ValueError("half_life and window are two ways to forget: leave one of them out")
        check_learner(self.estimator)
        measure = get_measure(self.measure)
        check_trainable(measure, self)
        if isinstance(measure, NeedsConstraint):
            raise ValueError(measure.why_not_alone)
        return measure

    def _plan(self) -> OnlinePlan:
        size = None if isinstance(self.batch_size, str) else int(self.batch_size)
        return OnlinePlan(size, self.listener, self.callback, self.max_seconds)

    def _start(self, task: Task, seed: int) -> OnlineModel:
        decision = OnlineDecision.start(task, Forgetting(self.half_life, self.window), self.calibrate)
        return OnlineModel(make_learners(self.estimator, task, seed), decision)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train on samples in memory, which are shuffled and then taken as a stream.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_samples, n_features)
            Samples.
        y : array of shape (n_samples,) or (n_samples, n_labels)
            Classes, or a matrix of zeros and ones for multilabel targets.
        sample_weight : array of shape (n_samples,), optional
            Weights of the samples.

        Returns
        -------
        self
            The fitted estimator.
        """
        measure = self._check_measure()
        with guard_fit(self), show_progress(type(self).__name__, self.verbose):
            X, labels = self._validate(X, y, reset=True)
            weights = check_sample_weight(sample_weight, X)
            task = make_task(labels, weights, measure, self.pos_label, sparse.issparse(y), False, read_label_names(y))
            random = check_random_state(self.random_state)
            model = self._start(task, int(random.randint(2**31 - 1)))
            counted, weights = np.flatnonzero(weights > 0.0), weights / np.mean(weights)
            samples = Samples(X, labels, None if sample_weight is None else weights)
            passes = (samples.take(random.permutation(counted)) for _ in range(self.n_passes))
            self._model = self._learn(model, passes, self.n_passes)
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Predict more samples, any number of them, and learn from them.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_samples, n_features)
            Samples.
        y : array of shape (n_samples,) or (n_samples, n_labels)
            Their classes, or a matrix of zeros and ones for multilabel targets.
        classes : array, optional
            All classes; needed in the first call only, and not for multilabel targets.
        sample_weight : array of shape (n_samples,), optional
            Weights of the samples.

        Returns
        -------
        self
            The fitted estimator.
        """
        model = vars(self).get("_model")
        if model is None or classes is not None or not self._is_plain(X, y):
            refuse_dask_in_order("partial_fit", X)
            if len(getattr(y, "shape", ())) < 2:
                classes = check_chunk_labels(y, classes, None if model is None else model.task.classes)
        with restore_on_error(self):
            if model is None:
                measure = self._check_measure()
                valid, labels = self._validate(X, y, reset=True)
                model = self._start(self._make_task(measure, y, labels, classes), self._draw_seed())
            else:
                valid, labels = self._validate(X, y, reset=False)
            model.check_targets(labels)
            self._model = learn_samples(self._plan(), model, Samples(valid, labels, _weigh(sample_weight, valid)))
        return self

    def _make_task(self, measure: Measure, y: Any, labels: Labels, classes: Any) -> Task:
        """Return the task of a stream with these first targets."""
        if labels.ndim == 2:
            return make_task(labels, None, measure, self.pos_label, sparse.issparse(y), False, read_label_names(y))
        return task_of_classes(classes, measure, self.pos_label, count_classes(labels, classes))

    def _draw_seed(self) -> int:
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def fit_stream(self, source: Any, *, classes: Any = None, n_passes: int = 1, **options: Any) -> Self:
        """Train on chunks of samples that need not fit into memory.

        Parameters
        ----------
        source : path, `metricwise.io.Stream`, or iterable of chunks
            A path is opened by `metricwise.io.stream`. Chunks are pairs (X, y) or triples (X, y, sample_weight); an
            iterable that can be read only once (a generator) allows one pass. The column names of a file become
            ``feature_names_in_``, and its labels are integers if those of the first chunk are whole numbers.
        classes : array, optional
            All classes. By default those of the first chunk.
        n_passes : int, default=1
            Passes over the source. After the first, `running_score_` is of samples that the learner knows.
        **options
            Passed to `metricwise.io.stream` with a path: ``format``, ``target``, ``chunk_rows``, ``on_error``, ...

        Returns
        -------
        self
            The fitted estimator.
        """
        refuse_dask_in_order("fit_stream", source)
        measure = self._check_measure()
        reader = ChunkReader(source, options)
        n_passes = check_n_passes(n_passes, reader)
        with guard_fit(self), show_progress(type(self).__name__, self.verbose):
            X, y, _ = reader.first()
            labels = None if np.ndim(y) == 2 else first_classes(reader, reader.first_labels(), classes)
            X, found = self._validate(X, y, reset=True)
            model = self._start(self._make_task(measure, y, found, labels), self._draw_seed())
            del X, y, found  # chunks are not kept
            self._model = self._learn(model, self._read(reader, n_passes), n_passes)
            if reader.feature_names is not None:  # chunks of a file are arrays, which would lack them
                set_feature_names(self, reader.feature_names)
        return self

    def _read(self, reader: ChunkReader, n_passes: int) -> Iterator[Samples]:
        for _ in range(n_passes):
            for X, y, sample_weight in reader.read():
                valid, labels = self._validate(X, y, reset=False)
                yield Samples(valid, labels, _weigh(sample_weight, valid))

    def _learn(self, model: OnlineModel, parts: Iterator[Samples], n_passes: int) -> OnlineModel:
        """Return the model after parts of a stream, or those until the time limit or the callback ends it."""
        plan, started = self._plan(), time.perf_counter()
        with add_stage() as stage:
            for samples in parts:
                model.check_targets(samples.y)
                model = learn_samples(plan, model, samples, started, stage)
                if model.status is not Status.STREAMING:
                    break
        return replace(model, n_passes=n_passes)

    def _validate(self, X: Any, y: Any, reset: bool) -> tuple[Any, Labels]:
        """Return valid samples and targets of the same length."""
        if not reset and self._is_plain(X, y):
            return check_sparse(X), y
        if len(getattr(y, "shape", ())) == 2 and y.shape[1] > 1:
            labels: Labels = validate_label_matrix(y)
            valid = validate_samples(self, X, reset=reset, order="C", largest=LARGEST)
            if len(labels) != valid.shape[0]:
                raise ValueError(f"X has {valid.shape[0]} samples and y has {len(labels)} rows: they must be the same")
            return valid, labels
        valid, labels = validate_samples(self, X, y, reset=reset, order="C", largest=LARGEST)
        if labels.dtype.kind not in _KINDS_OF_LABELS:
            check_classification_targets(labels)
        return valid, labels

    def _is_plain(self, X: Any, y: Any) -> bool:
        """Return whether further samples and classes are surely valid: checks of all kinds of input take their time."""
        is_dense = type(X) is np.ndarray
        return (
            (is_dense or type(X) in _CSR)
            and X.ndim == 2
            and X.shape[0] > 0
            and X.shape[1] == self.n_features_in_
            and X.dtype.char in "fd"
            and (not is_dense or X.flags.c_contiguous)
            and not hasattr(self, "feature_names_in_")
            and type(y) is np.ndarray
            and y.shape == (X.shape[0],)
            and y.dtype.kind in _KINDS_OF_LABELS
            and are_surely_within(X if is_dense else X.data, LARGEST)
        )


def _weigh(sample_weight: Any, X: Any) -> Floats | None:
    """Return valid weights of samples; None if there are none."""
    return None if sample_weight is None else check_sample_weight(sample_weight, X, allow_all_zero_weights=True)
