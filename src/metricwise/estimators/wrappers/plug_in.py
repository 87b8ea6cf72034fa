"""Any classifier made measure-aware by its threshold."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.utils import get_tags, indexable
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.validation import check_random_state, column_or_1d

from metricwise._sklearn import HasMethods, Interval, StrOptions, check_sample_weight, take_samples
from metricwise._typing import Floats
from metricwise.clusters import is_dask
from metricwise.decisions.binary import aim_of, shown
from metricwise.decisions.dask_learners import refuse_rows_in_memory
from metricwise.decisions.fitting import Binary, Fitting
from metricwise.decisions.label_matrix import validate_label_matrix
from metricwise.decisions.multiclass import averaged
from metricwise.decisions.on_cluster import ClusterFitting, refuse_learner
from metricwise.decisions.out_of_fold import known_classes, without_rows
from metricwise.decisions.targets import classes_of, positive_class
from metricwise.decisions.weighting import takes_weights
from metricwise.designs.cluster.source import DaskSource
from metricwise.estimators.dask_inputs import chunks_of_cluster
from metricwise.estimators.inputs import restore_on_error, validate_samples
from metricwise.estimators.wrappers.plug_in_prediction import PlugInPrediction
from metricwise.measures import Measure, get_measure


class _ClientOfFit:
    # UNUSED, below, only removes what is there, and a subclass (CostSensitiveClassifier) has a fit without a client.
    __metadata_request__fit: ClassVar[dict[str, None]] = {"client": None}


class PlugInClassifier(PlugInPrediction, _ClientOfFit):
    """Any classifier with the threshold that serves a measure best on new samples.

    Samples are scored by models that have not seen them, and the threshold is estimated from these scores. The
    classifier itself is then trained on all samples.

    Parameters
    ----------
    estimator : classifier
        With ``predict_proba`` (thresholds are chosen on log-odds) or ``decision_function``.
    measure : str or Measure, default="f1"
        What predictions are judged by: a name, a measure such as ``RecallAtPrecision(0.9)``, or an average such as
        "f1_macro" for several classes or labels, where the macro average is the default.
    threshold : {"auto", "max", "bagged", "expected", "batch"}, default="auto"
        How the threshold is estimated. "max" is the best on held-out samples; "bagged" averages over resamples of them;
        "expected" believes the probabilities; "auto" combines them. "batch" also looks at the samples that are
        predicted together: better on large batches, but the label of a sample then depends on the others.
    subject_to : list of tuples, optional
        Constraints such as ``[("precision", ">=", 0.9)]``, on "precision", "recall", "specificity",
        "negative_predictive_value", "false_positive_rate", "positive_rate" or "accuracy".
    confidence : float or None, default=0.95
        Probability that the constraints hold on new samples. Half of the samples are then kept from training, to test
        it on. With None there is no promise: constraints hold on held-out samples, and all samples are used for
        training.
    cv : int, splitter, iterable or None, default=None
        Folds; None and numbers make folds in which equal samples stay together, 5 by default.
    pos_label : label, optional
        The positive class of two; by default the last in order.
    n_jobs : int, optional
        Folds (and labels) trained side by side.
    random_state : int, RandomState instance or None, default=0
        Seeds folds and resamples.
    prefit : bool, default=False
        Whether ``estimator`` is trained already, on other samples: those given to `fit` then serve the threshold alone.
    transductive : bool, default=False
        True is another way to write ``threshold="batch"``.
    n_passes : int, default=1
        On Dask collections, with a classifier that is trained by ``partial_fit``: passes over the chunks.

    Attributes
    ----------
    estimator_ : classifier
        The trained classifier; ``estimators_``, a list, for several labels. One that LightGBM or XGBoost has trained on
        a Dask collection is the same classifier for samples in memory.
    threshold_ : float or array
        Two classes: the probability (or decision value) above which a sample is positive. More classes: offsets, which
        the log-probabilities (or decision values) are compared after subtracting. Several labels: one threshold each.
    threshold_interval_ : pair
        Where 90 % of thresholds of resampled samples lie; with a promise, the thresholds known to keep it.
    expected_score_ : float
        The measure of held-out samples.
    expected_score_interval_ : pair of float
        Where the measure of as many new samples as were held out lies with probability 0.9; see `score_interval`.
    classes_ : array
        Labels.
    measure_ : Measure
        The measure.

    See Also
    --------
    metricwise.AMPClassifier : Trains for the measure, instead of choosing a threshold afterwards.

    Notes
    -----
    `predict_proba` is the learner's own: its largest entry is not always the predicted class. `decision_function` is:
    the scores minus the threshold.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from metricwise import PlugInClassifier
    >>> X, y = make_classification(2000, weights=[0.95], random_state=0)
    >>> model = PlugInClassifier(LogisticRegression(), measure="f1").fit(X, y)
    >>> 0.1 < model.threshold_ < 0.5
    True
    >>> low, high = model.expected_score_interval_
    >>> bool(low < model.expected_score_ < high)
    True
    >>> careful = PlugInClassifier(LogisticRegression(), subject_to=[("recall", ">=", 0.5)]).fit(X, y)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "estimator": [HasMethods(["fit"])],
        "measure": "no_validation",
        "threshold": [StrOptions({"auto", "max", "bagged", "expected", "batch"})],
        "subject_to": [list, tuple, None],
        "confidence": [Interval(Real, 0.0, 1.0, closed="neither"), None],
        "cv": ["cv_object"],
        "pos_label": "no_validation",
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "prefit": ["boolean"],
        "transductive": ["boolean"],
        "n_passes": [Interval(Integral, 1, None, closed="left")],
    }
    # A client belongs to a call and to no pipeline: it is not routed.
    __metadata_request__fit: ClassVar[dict[str, str]] = {"client": UNUSED}

    def __init__(
        self,
        estimator: Any,
        measure: str | Measure = "f1",
        *,
        threshold: str = "auto",
        subject_to: Any = None,
        confidence: float | None = 0.95,
        cv: Any = None,
        pos_label: Any = None,
        n_jobs: int | None = None,
        random_state: Any = 0,
        prefit: bool = False,
        transductive: bool = False,
        n_passes: int = 1,
    ) -> None:
        self.estimator = estimator
        self.measure = measure
        self.threshold = threshold
        self.subject_to = subject_to
        self.confidence = confidence
        self.cv = cv
        self.pos_label = pos_label
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.prefit = prefit
        self.transductive = transductive
        self.n_passes = n_passes

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        of_learner = get_tags(self.estimator)
        tags.input_tags.sparse = of_learner.input_tags.sparse
        tags.input_tags.allow_nan = of_learner.input_tags.allow_nan
        return tags

    # -------------------------------------------------------------------------------------------------------- training

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, client: Any = None) -> Self:
        """Train the classifier and choose its threshold.

        Parameters
        ----------
        X : array, data frame, sparse matrix, Dask collection or whatever the classifier takes, of n_samples samples
            Samples. Those of a Dask array or data frame stay with the workers of its cluster, and folds are whole
            chunks. The classifier must be one of metricwise that trains on a cluster, one that another package has made
            for Dask (of LightGBM, XGBoost or dask-ml), or have ``partial_fit``, by which it then learns from the chunks
            in their order.
        y : array of shape (n_samples,) or (n_samples, n_labels)
            Classes, or zeros and ones for several labels.
        sample_weight : array of shape (n_samples,), optional
            A sample of weight 2 counts as two such samples, one of weight 0 as absent.
        client : distributed.Client, optional
            Of the cluster that a Dask collection is for; by default the one started last.

        Returns
        -------
        self
        """
        self._validate_params()
        measure = get_measure(self.measure)
        if not self.prefit:
            if is_dask(X):
                refuse_learner(self.estimator)
            else:
                refuse_rows_in_memory(self.estimator, X)
        X, y, sample_weight = chunks_of_cluster(X, y, sample_weight, client)
        with restore_on_error(self):
            if y is None:
                raise ValueError("PlugInClassifier requires y to be passed, but the target y is None")
            X, target = self._rows_and_target(X, y)
            weights = self._weights(X, sample_weight)
            if target.ndim == 2 and target.shape[1] > 1:
                self._fit_labels(X, target, weights, measure)
            else:
                self._fit_classes(X, column_or_1d(target, warn=True), weights, measure)
        self.measure_ = measure
        return self

    def _rows_and_target(self, X: Any, y: Any) -> tuple[Any, Any]:
        if not isinstance(X, DaskSource):
            return tuple(indexable(X, y if issparse(y) else np.asarray(y)))
        if np.ndim(y) == 2 and np.shape(y)[1] > 1:
            raise ValueError(
                f"y has {np.shape(y)[1]} columns, and several labels need all samples in memory: use X.compute(), or a "
                "PlugInClassifier for each label"
            )
        return tuple(validate_samples(self, X, y, chunks=True))

    def _strategy(self) -> str:
        if not self.transductive:
            return self.threshold
        if self.threshold not in ("auto", "batch"):
            raise ValueError(
                f"transductive=True means threshold='batch', but threshold is {self.threshold!r}: leave one of them out"
            )
        return "batch"

    def _weights(self, X: Any, sample_weight: Any) -> Floats | None:
        if sample_weight is None:
            return None
        weights = check_sample_weight(sample_weight, X)
        if not self.prefit and not takes_weights(self.estimator):
            warnings.warn(
                f"{type(self.estimator).__name__} takes no sample_weight: the weights count for the threshold only",
                UserWarning,
                stacklevel=3,
            )
        return weights

    def _fitting(self, X: Any, y: NDArray[Any], weights: Floats | None) -> tuple[Fitting, NDArray[Any]]:
        cv = self.cv
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        settings = seed, self.n_jobs, self.prefit, self._strategy()
        if isinstance(X, DaskSource):
            return ClusterFitting(self.estimator, X, weights, cv, *settings, n_passes=self.n_passes), y
        if weights is not None and np.any(weights == 0.0):
            rows = np.flatnonzero(weights > 0.0)
            cv = without_rows(cv, X, y, weights > 0.0)
            X, y, weights = take_samples(X, rows), y[rows], weights[rows]
        return Fitting(self.estimator, X, weights, cv, *settings), y

    def _fit_classes(self, X: Any, y: NDArray[Any], weights: Floats | None, measure: Measure) -> None:
        classes = classes_of(y, np.ones(len(y)) if weights is None else weights)
        classes = known_classes(self.estimator, classes) if self.prefit else classes
        fitting, y = self._fitting(X, y, weights)
        if classes.size == 2:
            positive = positive_class(classes, self.pos_label)
            found = fitting.binary(aim_of(measure, self.subject_to), y, positive, self.confidence)
            self._store_binary(found, fitting.probabilities)
            self.estimator_, self.classes_ = found.model, classes
        else:
            self._refuse_constraints("classes")
            model, chosen = fitting.classes(averaged(measure, "classes"), y, classes)
            self._store_set(chosen)
            self.estimator_, self.classes_ = model, classes
        self.__dict__.pop("estimators_", None)
        if not isinstance(X, DaskSource):  # whose features were noted with its samples
            self._note_features(self.estimator_)

    def _fit_labels(self, X: Any, y: Any, weights: Floats | None, measure: Measure) -> None:
        self._refuse_constraints("labels")
        labels = validate_label_matrix(y)
        fitting, labels = self._fitting(X, labels, weights)
        found = fitting.labels(averaged(measure, "labels"), labels)
        self._store_set(found.chosen)
        self.estimators_, self.sparse_labels_ = found.model, bool(hasattr(y, "tocsr"))
        self.classes_ = np.arange(labels.shape[1])
        self.__dict__.pop("estimator_", None)
        self._note_features(next((m for m in self.estimators_ if hasattr(m, "n_features_in_")), None))

    def _refuse_constraints(self, what: str) -> None:
        if self.subject_to:
            raise ValueError(
                f"subject_to is for two classes, but y has several {what}: choose thresholds for each with a "
                "PlugInClassifier of its own (OneVsRestClassifier makes them)"
            )

    def _store_binary(self, found: Binary, probabilities: bool) -> None:
        chosen = found.chosen
        self._batch, self._sigmoid, self._held_out = chosen.batch, chosen.sigmoid, found.held
        self.threshold_ = shown(chosen.threshold, probabilities)
        self.threshold_interval_: Any = tuple(shown(end, probabilities) for end in chosen.interval)
        self.expected_score_, self.expected_score_interval_ = chosen.expected, chosen.expected_interval

    def _store_set(self, chosen: Any) -> None:
        self.threshold_, self.threshold_interval_ = chosen.thresholds, chosen.interval
        self.expected_score_, self.expected_score_interval_ = chosen.expected, chosen.expected_interval
        self._held_out = None

    def _note_features(self, model: Any) -> None:
        for name in ("n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)
            if hasattr(model, name):
                setattr(self, name, getattr(model, name))
