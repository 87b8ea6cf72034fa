"""Any classifier that sends the samples it is unsure of to a person."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from numbers import Integral, Real
from typing import Any, ClassVar, NoReturn, Self

import numpy as np
from sklearn.base import MetaEstimatorMixin
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, check_random_state

from metricwise._sklearn import HasMethods, Interval, take_samples
from metricwise._state import StoredState
from metricwise._typing import Floats, Labels, Mask
from metricwise.decisions.executors import LocalExecutor
from metricwise.decisions.guarantees import Constraint
from metricwise.decisions.review_label import choose_review_label, label_codes
from metricwise.decisions.scoring import check_known_classes
from metricwise.decisions.targets import POSITIVE_CLASS, count_classes, refuse_unknown_labels
from metricwise.decisions.task import Task
from metricwise.decisions.tasks import Binary, task_of_classes
from metricwise.decisions.training_data import prepare_data, validate_two_classes
from metricwise.decisions.triage import TriageDecision, parse_review_constraints
from metricwise.decisions.triage_fitting import TriagePlan, fit_triage
from metricwise.decisions.weighting import takes_weights
from metricwise.estimators.guarded_fit import guard_fit
from metricwise.estimators.inputs import copy_feature_names, refuse_dask
from metricwise.estimators.routing import RoutesGroups
from metricwise.estimators.thresholded import ThresholdedClassifier
from metricwise.estimators.wrappers.inner_constraints import refuse_inner_constraints
from metricwise.measures import Measure, NeedsConstraint, RestrictsLabellings, get_measure
from metricwise.measures.base import CountsTable
from metricwise.progress import show_progress
from metricwise.raw_inputs import check_samples

_DEFAULT_CAPACITY = 0.1


def _learner_has(name: str) -> Callable[[Any], bool]:
    """Return a check whether the wrapped classifier has a method."""
    return lambda self: hasattr(self.estimator, name)


class TriageClassifier(RoutesGroups, MetaEstimatorMixin, ThresholdedClassifier):
    """Any classifier that decides clear samples and sends the others to a person for review.

    There are two thresholds: samples above the upper are predicted positive, those up to the lower negative, and those
    between get the label `review_label_`. Either the predicted labels have guarantees, with as few reviews as possible
    (``subject_to``), or there is a share of samples that a person can review, and the measure of all others is as good
    as possible (``capacity``).

    Parameters
    ----------
    estimator : classifier
        With ``predict_proba`` (thresholds are chosen on log-odds) or ``decision_function``; also a `PlugInClassifier`
        or `MetricClassifier`, whose own threshold is then not used; it must have no constraints.
    measure : str or Measure, default="f1"
        The measure of the samples that are not reviewed: a function of the contingency table.
    subject_to : str, tuple or list of these, optional
        Guarantees of the predicted labels: ``("precision", ">=", 0.9)``, the share of positives among the samples that
        are predicted positive; ``("npv", ">=", 0.98)`` (negative predictive value), the share of negatives among those
        that are predicted negative; or both. A label without a guarantee is never predicted: with a precision alone,
        all samples that are not predicted positive are reviewed.
    capacity : float, optional
        Share of the samples that a person can review, from 0 (no reviews) to below 1; 0.1 if there is no
        ``subject_to`` either. Only one of both may be given.
    confidence : float, default=0.95
        Probability that no broken guarantee is issued: that all guarantees together hold on new samples, or an error
        is raised since no thresholds can guarantee them. Half of the samples are kept from training, to
        test them on; of a classifier that is trained already, two thirds.
    cv : int, splitter, iterable or None, default=None
        Folds; None and numbers make folds in which groups, or else equal samples, stay together, 5 by default.
    review_label : label, default="auto"
        The label of samples to review. By default "review" if the classes are texts, and -1 if they are numbers (0 if
        -1 is a class, -2 if 0 is one, too). Booleans are then predicted as the numbers 0, 1 and -1.
    pos_label : label, optional
        The positive class; by default 1 of the classes 0 and 1, -1 and 1, or booleans. Of others it has to be named,
        unless the measure treats both alike and there are no guarantees.
    n_jobs : int, optional
        Folds trained in parallel.
    random_state : int, RandomState instance or None, default=0
        Seeds folds and the choice of the samples for the test.
    prefit : bool, default=False
        Whether ``estimator`` is trained already, on other samples: those given to `fit` are then used for the
        thresholds only.
    verbose : int or None, default=None
        Progress of training that takes more than two seconds: a bar on terminals and in notebooks (None), also lines
        where standard error is neither (1), or nothing (0).

    Attributes
    ----------
    estimator_ : classifier
        The trained classifier.
    thresholds_ : pair of float
        The lower and the upper threshold: probabilities of the positive class, or decision values. Infinite, or 0 and
        1, if one of the labels is never predicted.
    review_label_ : label
        What `predict` returns for samples to review.
    review_share_ : float
        Share of out-of-fold samples (with guarantees, of those they were tested on) that are reviewed.
    review_share_interval_ : pair of float
        Interval that contains the share of as many new samples with probability 0.9.
    expected_score_ : float
        The measure of the samples that are not reviewed.
    expected_score_interval_ : pair of float
        Interval that contains the measure of as many new samples with probability 0.9.
    guarantees_ : list of str
        The guarantees, such as "precision >= 0.9"; none with a capacity.
    calibrated_ : bool
        False: `predict_proba` is that of the classifier.
    classes_ : array of two labels
        The classes, without the label of reviews.
    measure_ : Measure
        The measure.
    n_features_in_, feature_names_in_
        Number and names of the features seen during `fit`, as far as the classifier knows them.

    See Also
    --------
    metricwise.PlugInClassifier : Decides every sample, with one threshold and guarantees of other kinds.
    metricwise.GuaranteeMonitor : Watches whether the guarantees are kept; reviewed samples do not count.

    Notes
    -----
    The thresholds are fixed, so that the label of a sample does not depend on others. The share of reviews in a batch
    therefore varies: it is the capacity on average, as long as new samples are like those of training, and
    `review_share_interval_` shows how far it may be from it. Where reviewers have no slack, choose a smaller capacity.

    Guarantees are tested on samples that the model has not been trained with, by exact binomial tests of a sequence of
    thresholds that other samples have put in order: the safest thresholds at the level of 1 - confidence, all others at
    half of it for each guarantee, each up to the first failure [1]_, [2]_. If the guarantees need no reviews, one
    threshold is used, among those that have passed both tests, chosen by the measure.

    References
    ----------
    .. [1] A. N. Angelopoulos, S. Bates, E. J. Candès, M. I. Jordan and L. Lei (2025). Learn then test: calibrating
       predictive algorithms to achieve risk control. *The Annals of Applied Statistics* 19, 1641-1662.
    .. [2] F. Bretz, W. Maurer, W. Brannath and M. Posch (2009). A graphical approach to sequentially rejective multiple
       test procedures. *Statistics in Medicine* 28, 586-604.
    .. [3] C. K. Chow (1970). On optimum recognition error and reject tradeoff. *IEEE Transactions on Information
       Theory* 16, 41-46.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from metricwise import PlugInClassifier, TriageClassifier
    >>> X, y = make_classification(4000, weights=[0.8], class_sep=1.5, random_state=0)
    >>> model = TriageClassifier(LogisticRegression(), capacity=0.1).fit(X[:2000], y[:2000])
    >>> alone = PlugInClassifier(LogisticRegression()).fit(X[:2000], y[:2000])
    >>> model.score(X[2000:], y[2000:]) > alone.score(X[2000:], y[2000:]) + 0.05
    True
    >>> 0.07 < model.review_share(X[2000:]) < 0.13
    True
    >>> wanted = [("precision", ">=", 0.9), ("npv", ">=", 0.95)]
    >>> careful = TriageClassifier(LogisticRegression(), subject_to=wanted).fit(X[:2000], y[:2000])
    >>> sorted(set(careful.predict(X[2000:]).tolist()))
    [-1, 0, 1]
    """

    __stored_state__: ClassVar[StoredState] = ThresholdedClassifier.__stored_state__.extend(
        "estimator_", "review_label_", version=1
    )
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "estimator": [HasMethods(["fit"])],
        "measure": "no_validation",
        "subject_to": [str, list, tuple, None],
        "capacity": [Interval(Real, 0.0, 1.0, closed="left"), None],
        "confidence": [Interval(Real, 0.0, 1.0, closed="neither")],
        "cv": ["cv_object"],
        "review_label": POSITIVE_CLASS,
        "pos_label": POSITIVE_CLASS,
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "prefit": ["boolean"],
        "verbose": [Interval(Integral, 0, None, closed="left"), None],
    }
    _task: Binary
    _decision: TriageDecision  # type: ignore[assignment]  # two thresholds
    review_label_: Any

    def __init__(
        self,
        estimator: Any,
        measure: str | Measure = "f1",
        *,
        subject_to: Any = None,
        capacity: float | None = None,
        confidence: float = 0.95,
        cv: Any = None,
        review_label: Any = "auto",
        pos_label: Any = None,
        n_jobs: int | None = None,
        random_state: Any = 0,
        prefit: bool = False,
        verbose: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.measure = measure
        self.subject_to = subject_to
        self.capacity = capacity
        self.confidence = confidence
        self.cv = cv
        self.review_label = review_label
        self.pos_label = pos_label
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.prefit = prefit
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        of_learner = get_tags(self.estimator)
        tags.input_tags.sparse = of_learner.input_tags.sparse
        tags.input_tags.allow_nan = of_learner.input_tags.allow_nan
        tags.classifier_tags.multi_class = False
        return tags

    # -------------------------------------------------------------------------------------------------------- training

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None) -> Self:
        """Train the classifier and choose its two thresholds.

        Parameters
        ----------
        X : array, data frame, sparse matrix or other input of the classifier, of n_samples samples
            Samples.
        y : array of shape (n_samples,)
            Two classes.
        sample_weight : array of shape (n_samples,), optional
            A sample of weight 2 counts as two such samples, one of weight 0 as absent. Guarantees count samples, so
            that they need equal weights.
        groups : array of shape (n_samples,), optional
            Samples that belong together, such as those of one patient, have the same entry. Folds keep whole groups,
            and a splitter given as ``cv`` gets them; intervals are then for samples of new groups, and so are
            guarantees, all groups being equally likely.

        Returns
        -------
        self
            The fitted estimator.

        Raises
        ------
        UnreachableGuaranteeError
            If no two thresholds can guarantee the constraints.
        """
        self._validate_params()
        measure, constraints = get_measure(self.measure), self._parse_constraints()
        table = _require_table(measure)
        refuse_inner_constraints(type(self).__name__, self.estimator)
        self._check_routing(sample_weight=sample_weight, groups=groups)
        refuse_dask(self, X)
        with guard_fit(self), show_progress(type(self).__name__, self.verbose):
            task, X, y, weights = validate_two_classes(
                X, y, sample_weight, measure, self.pos_label, type(self).__name__, is_constrained=bool(constraints)
            )
            task = self._use_known_classes(task, y, constraints)
            label = choose_review_label(self.review_label, task.classes)
            self._warn_about_weights(weights)
            executor = LocalExecutor(task, prepare_data(task, X, y, weights, self.cv, groups), self.n_jobs)
            seed = int(check_random_state(self.random_state).randint(2**31 - 1))
            learner = self.estimator if self.prefit else task.share_positive_class(self.estimator)
            capacity = _DEFAULT_CAPACITY if self.capacity is None else float(self.capacity)
            fitted = fit_triage(
                executor,
                TriagePlan(learner, table, constraints, capacity, self.confidence, self.cv, seed, self.prefit),
            )
            self._store_decision(task, fitted.decision)  # type: ignore[arg-type]
            self.estimator_, self.review_label_ = fitted.model, label
            copy_feature_names(self, [fitted.model])
        return self

    def _parse_constraints(self) -> tuple[Constraint, ...]:
        constraints = parse_review_constraints(self.subject_to)
        if constraints and self.capacity is not None:
            raise ValueError(
                f"capacity={self.capacity!r} and subject_to are given: with guarantees, the share of reviews follows "
                "from them, so leave one of both out"
            )
        return constraints

    def _use_known_classes(self, task: Task, y: Labels, constraints: tuple[Constraint, ...]) -> Binary:
        """Return the task with the classes of a classifier that is trained already."""
        assert isinstance(task, Binary)
        if not self.prefit:
            return task
        known = check_known_classes(self.estimator, task.classes)
        own = task_of_classes(known, task.measure, self.pos_label, count_classes(y, known), bool(constraints))
        if not isinstance(own, Binary):
            raise ValueError(
                f"the trained {type(self.estimator).__name__} knows {len(known)} classes: reviews are for two"
            )
        return own

    def _warn_about_weights(self, weights: Floats | None) -> None:
        if weights is not None and not self.prefit and not takes_weights(self.estimator):
            warnings.warn(
                f"{type(self.estimator).__name__} takes no sample_weight: the weights count for the thresholds only",
                UserWarning,
                stacklevel=3,
            )

    def _routed_parts(self) -> Iterable[tuple[str, Any]]:
        return [("estimator", self.estimator)]

    # ------------------------------------------------------------------------------------------------ what was learned

    @property
    def threshold_(self) -> NoReturn:
        """There are two: see `thresholds_`."""
        raise AttributeError("a TriageClassifier has two thresholds: read thresholds_")

    @threshold_.setter
    def threshold_(self, value: Any) -> NoReturn:
        raise AttributeError(
            "a TriageClassifier has two thresholds, which follow from capacity or subject_to: fit again"
        )

    @property
    def thresholds_(self) -> tuple[float, float]:
        """The lower and the upper threshold."""
        return self._decision.shown_thresholds

    @property
    def review_share_(self) -> float:
        """Share of the samples that are reviewed."""
        return self._decision.review_share

    @property
    def review_share_interval_(self) -> tuple[float, float]:
        """Interval of the share of reviews of as many new samples."""
        return self._decision.review_interval

    @property
    def guarantees_(self) -> list[str]:
        """The guarantees of the predicted labels."""
        return [str(constraint) for constraint in self._decision.constraints]

    # ------------------------------------------------------------------------------------------------------ prediction

    def _scores(self, X: Any) -> Floats:
        return self._task.scores(self.estimator_, check_samples(X))

    def decision_function(self, X: Any) -> Floats:
        """Return how far scores are outside the thresholds.

        Parameters
        ----------
        X : samples
            New samples.

        Returns
        -------
        array of shape (n_samples,)
            Above zero if ``classes_[1]`` is predicted, below zero if ``classes_[0]`` is, zero for samples to review.
        """
        check_is_fitted(self, "measure_")
        return self._task.orient(self._decision.margins(self._scores(X)))

    def predict(self, X: Any) -> Labels:
        """Return labels, that of reviews for samples between the thresholds.

        Parameters
        ----------
        X : samples
            New samples.

        Returns
        -------
        array of shape (n_samples,)
            ``classes_[0]``, ``classes_[1]`` or ``review_label_``.
        """
        check_is_fitted(self, "measure_")
        return label_codes(np.sign(self.decision_function(X)), self.classes_, self.review_label_)

    @available_if(_learner_has("predict_proba"))
    def predict_proba(self, X: Any) -> Floats:
        """Return the learner's probabilities, also of samples to review.

        Parameters
        ----------
        X : samples
            New samples.

        Returns
        -------
        array of shape (n_samples, 2)
            Probabilities of the negative and the positive class, in the order of ``classes_``.
        """
        check_is_fitted(self, "measure_")
        return self._task.learner_probabilities(self.estimator_, check_samples(X))

    def needs_review(self, X: Any) -> Mask:
        """Return which samples a person has to review.

        Parameters
        ----------
        X : samples
            New samples.

        Returns
        -------
        array of bool, of shape (n_samples,)
            Whether the score of a sample lies between the two thresholds.
        """
        check_is_fitted(self, "measure_")
        return self._decision.window.holds(self._scores(X))

    def review_share(self, X: Any, sample_weight: Any = None) -> float:
        """Return the share of samples that a person has to review.

        Parameters
        ----------
        X : samples
            New samples.
        sample_weight : array of shape (n_samples,), optional
            Weights of the samples.

        Returns
        -------
        float
            The share, by weight.
        """
        return float(np.average(self.needs_review(X), weights=sample_weight))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the measure of the samples that are not reviewed.

        Parameters
        ----------
        X : samples
            Samples.
        y : array
            Their labels.
        sample_weight : array of shape (n_samples,), optional
            Weights of the samples.

        Returns
        -------
        float
            The measure of the other samples.

        Raises
        ------
        ValueError
            If all samples are sent to review.
        """
        check_is_fitted(self, "measure_")
        labels = np.asarray(y)
        refuse_unknown_labels(labels, self.classes_)
        margins = self._task.orient(self.decision_function(X))
        is_decided = np.flatnonzero(margins != 0.0)
        if not is_decided.size:
            raise ValueError(
                f"all {labels.size} samples are sent to review, so that there is nothing to score: see review_share"
            )
        weights = None if sample_weight is None else np.asarray(sample_weight)[is_decided]
        truth = self._task.encode(take_samples(labels, is_decided))
        return float(self.measure_.score(truth, margins[is_decided] > 0.0, weights))


def _require_table(measure: Measure) -> CountsTable:
    """Return the measure as a function of the contingency table; an error that says what to do if it is none."""
    if isinstance(measure, NeedsConstraint):
        raise ValueError(measure.why_not_alone)
    if isinstance(measure, CountsTable) and not isinstance(measure, RestrictsLabellings):
        return measure
    raise TypeError(
        f"measure {measure.name!r} is no function of the contingency table, and reviews leave out samples by their "
        "labels: use 'f1', 'accuracy' or another measure of the table, with subject_to for a least precision"
    )
