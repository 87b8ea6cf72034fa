"""Any classifier made measure-aware by its threshold."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from scipy.sparse import issparse
from sklearn.base import MetaEstimatorMixin
from sklearn.utils import get_tags, indexable
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.validation import check_random_state

from metricwise._sklearn import HasMethods, Interval, StrOptions
from metricwise._state import StoredState
from metricwise._typing import Floats, Integers, Labels
from metricwise.clusters import is_dask
from metricwise.decisions.binary import ThresholdRule
from metricwise.decisions.chunk_learners import refuse_groups, refuse_learner
from metricwise.decisions.confusion_choice import refuse_gains
from metricwise.decisions.dask_learners import refuse_samples_in_memory
from metricwise.decisions.decision import Decision
from metricwise.decisions.executors import ClusterExecutor, Executor, LocalExecutor
from metricwise.decisions.fitting import FitPlan, FittedModel, fit_and_decide
from metricwise.decisions.group_constraints import separate_constraints
from metricwise.decisions.group_decision import plan_groups, refuse_other_tasks
from metricwise.decisions.group_fitting import fit_by_group
from metricwise.decisions.label_matrix import read_label_names
from metricwise.decisions.profit_task import weigh_profit
from metricwise.decisions.scoring import check_known_classes
from metricwise.decisions.targets import POSITIVE_CLASS, count_classes
from metricwise.decisions.task import Task
from metricwise.decisions.tasks import make_task, task_of_classes
from metricwise.decisions.training_data import TrainingData, prepare_data, validate_target, validate_weights
from metricwise.decisions.weighting import takes_weights, warn_of_ignored_weights
from metricwise.designs.cluster.source import DaskSource
from metricwise.estimators.guarded_fit import guard_fit
from metricwise.estimators.inputs import chunks_of_cluster, copy_feature_names, validate_samples
from metricwise.estimators.predicting_chunks import ClientOfFit
from metricwise.estimators.routing import RoutesGroups
from metricwise.estimators.wrappers.group_columns import explain_refused_texts, refuse_unknown_columns
from metricwise.estimators.wrappers.inner_constraints import refuse_inner_constraints
from metricwise.estimators.wrappers.predicting import PredictsByLearner
from metricwise.measures import Measure, get_measure
from metricwise.measures.profit import Amounts
from metricwise.progress import show_progress
from metricwise.raw_inputs import check_samples


class PlugInClassifier(RoutesGroups, MetaEstimatorMixin, PredictsByLearner, ClientOfFit):
    """Any classifier with the threshold that serves a measure best on new samples.

    The threshold is estimated from out-of-fold scores. The classifier itself is trained on all samples.

    Parameters
    ----------
    estimator : classifier
        With ``predict_proba`` (thresholds are chosen on log-odds) or ``decision_function``.
    measure : str or Measure, default="f1"
        The measure of the predictions: a name, a measure such as ``RecallAtPrecision(0.9)``, or an average such as
        "f1_macro" for multiclass and multilabel targets, where the macro average is the default.
    threshold : {"auto", "max", "bagged", "expected", "gains", "batch"}, default="auto"
        How the threshold is estimated. "max" is the best on out-of-fold samples; "bagged" averages over resamples of
        them; "expected" trusts the probabilities; "auto" combines them. "gains", for more than two classes, predicts
        the class of greatest expected gain, by calibrated probabilities and a matrix of gains that Frank-Wolfe or
        bisection finds for the measure [3]_; measures of the whole confusion matrix always do. "batch" also uses the
        samples that are predicted together: better on large batches, but the label of a sample then depends on the
        others.
    subject_to : str, tuple or list of these, optional
        Constraints such as "precision>=0.9" or ``("recall", ">=", 0.5)``, on "precision", "recall", "specificity",
        "npv", "false_positive_rate", "positive_rate" or "accuracy". Multiclass and multilabel: of one class or label,
        "recall>=0.8 of fraud" or ``("recall", ">=", 0.8, "of", "fraud")``, or of each if none is named. Of two classes,
        "recall>=0.8 by region" or ``("recall", ">=", 0.8, "by", "region")`` holds in every group of a column, and
        "recall_difference<=0.05 by region" between any two of its groups; the column is one of X, or of
        ``sensitive_features`` given to `fit`.
    group_thresholds : bool, default=False
        With constraints by group, whether every group has a threshold of its own. All are chosen together, so that the
        measure of all samples is greatest; predictions then need the group of every sample.
    confidence : float or None, default=0.95
        Probability that no broken guarantee is issued: that the constraints hold on new samples, or an error is raised
        since no threshold can guarantee them. Half of the samples are then kept from training, to test it on; of a
        classifier that is trained already, two thirds test. With None there is no guarantee: constraints hold on
        out-of-fold samples, and all samples are used for training.
    cv : int, splitter, iterable or None, default=None
        Folds; None and numbers make folds in which groups, or else equal samples, stay together, 5 by default.
    pos_label : label, optional
        The positive class of two; by default 1 of the classes 0 and 1, -1 and 1, or booleans. Of others it has to be
        named, unless the measure treats both alike (accuracy, G-mean, ROC area, ...). A classifier of metricwise
        inside that names none is trained for the same class.
    randomised : bool, default=False
        With a matrix of gains ("gains"), whether samples may be decided by a mixture of matrices, each with a
        probability. By default the best single one decides, with a warning where it is expected to lose more than 0.02
        of the measure. Which matrix decides a sample follows from its scores and ``random_state``: equal samples get
        equal labels.
    n_jobs : int, optional
        Folds (and labels) trained in parallel.
    random_state : int, RandomState instance or None, default=0
        Seeds folds, resamples and mixtures.
    prefit : bool, default=False
        Whether ``estimator`` is trained already, on other samples: those given to `fit` are then used for the threshold
        only.
    transductive : bool, default=False
        The same as ``threshold="batch"``.
    calibrate : bool, default=False
        Whether `predict_proba` is calibrated on out-of-fold scores (a line each), which also gives probabilities to a
        classifier that has none. Labels stay the same; `threshold_` is then a calibrated probability.
    n_passes : int, default=1
        On Dask collections, with a classifier that is trained by ``partial_fit``: passes over the chunks.
    verbose : int or None, default=None
        Progress of training that takes more than two seconds: a bar on terminals and in notebooks (None), also lines
        where standard error is neither (1), or nothing (0).

    Attributes
    ----------
    estimator_ : classifier
        The trained classifier; a list with one per label for multilabel targets. One that LightGBM or XGBoost
        has trained on a Dask collection is the same classifier for samples in memory.
    threshold_ : float or array
        Two classes: the probability (or decision value) above which a sample is positive. More classes: offsets, which
        the log-probabilities (or decision values) are compared after subtracting; with a matrix of gains, zeros, which
        are subtracted from calibrated log-probabilities. Multilabel: one threshold per label.
        Assign another, as in ``model.threshold_ = 0.3``, to predict with it.
    group_thresholds_ : dict
        With ``group_thresholds=True``, the threshold of every group; there is no `threshold_` then.
    threshold_interval_ : pair
        Interval of 90 % of the thresholds from resamples; with a guarantee, the thresholds known to keep it; with
        thresholds per group, the least and the greatest of them.
    expected_score_ : float
        The measure of out-of-fold samples; for multiclass and multilabel targets, each fold at the offsets or
        thresholds that the other folds choose.
    expected_score_interval_ : pair of float
        Interval that contains the measure of as many new samples with probability 0.9.
    calibrated_ : bool
        Whether `predict_proba` is calibrated on out-of-fold samples, by ``calibrate`` or by `adapt_prior`.
    expected_savings_ : float
        With a `Profit` or a `CostMatrix`: the savings of out-of-fold samples, 1 - cost / cost of the better constant
        decision.
    expected_savings_interval_ : pair of float
        Interval that contains the savings on as many new samples with probability 0.9.
    prior_ : PriorEstimate
        The class priors that the model was adapted to; only of models that `adapt_prior` returns.
    classes_ : array
        Labels.
    measure_ : Measure
        The measure.
    n_features_in_, feature_names_in_
        Number and names of the features seen during `fit`, as far as the classifier knows them.

    See Also
    --------
    metricwise.adapt_prior : Adapts a trained model to other class priors.
    metricwise.AMPClassifier : Trains for the measure, instead of choosing a threshold afterwards.

    Notes
    -----
    `predict_proba` is the learner's own, calibrated no better, unless ``calibrate`` is set. Its largest entry is not
    always the predicted class; that of `decision_function`, the scores minus the threshold, is.

    References
    ----------
    .. [1] O. O. Koyejo, N. Natarajan, P. K. Ravikumar and I. S. Dhillon (2014). Consistent binary classification with
       generalized performance metrics. *Advances in Neural Information Processing Systems* 27, 2744-2752.
    .. [2] A. N. Angelopoulos, S. Bates, E. J. Candès, M. I. Jordan and L. Lei (2025). Learn then test: calibrating
       predictive algorithms to achieve risk control. *The Annals of Applied Statistics* 19, 1641-1662.
    .. [3] H. Narasimhan, H. G. Ramaswamy, A. Saha and S. Agarwal (2015). Consistent multiclass algorithms for complex
       performance measures. *Proceedings of the 32nd International Conference on Machine Learning*, 2398-2407.

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
    >>> careful = PlugInClassifier(LogisticRegression(), subject_to="recall>=0.5").fit(X, y)
    """

    __stored_state__: ClassVar[StoredState] = PredictsByLearner.__stored_state__.extend(
        "estimator_", "threshold_interval_", version=4
    )
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "estimator": [HasMethods(["fit"])],
        "measure": "no_validation",
        "threshold": [StrOptions({"auto", "max", "bagged", "expected", "gains", "batch"})],
        "randomised": ["boolean"],
        "subject_to": [str, list, tuple, None],
        "group_thresholds": ["boolean"],
        "confidence": [Interval(Real, 0.0, 1.0, closed="neither"), None],
        "cv": ["cv_object"],
        "pos_label": POSITIVE_CLASS,
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": [Interval(Integral, 0, None, closed="left"), None],
        "prefit": ["boolean"],
        "transductive": ["boolean"],
        "calibrate": ["boolean"],
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
        group_thresholds: bool = False,
        confidence: float | None = 0.95,
        cv: Any = None,
        pos_label: Any = None,
        randomised: bool = False,
        n_jobs: int | None = None,
        random_state: Any = 0,
        prefit: bool = False,
        transductive: bool = False,
        calibrate: bool = False,
        n_passes: int = 1,
        verbose: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.measure = measure
        self.threshold = threshold
        self.subject_to = subject_to
        self.group_thresholds = group_thresholds
        self.confidence = confidence
        self.cv = cv
        self.pos_label = pos_label
        self.randomised = randomised
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.prefit = prefit
        self.transductive = transductive
        self.calibrate = calibrate
        self.n_passes = n_passes
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        of_learner = get_tags(self.estimator)
        tags.input_tags.sparse = of_learner.input_tags.sparse
        tags.input_tags.allow_nan = of_learner.input_tags.allow_nan
        return tags

    # -------------------------------------------------------------------------------------------------------- training

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        groups: Any = None,
        sensitive_features: Any = None,
        client: Any = None,
        tp: Any = None,
        fp: Any = None,
        fn: Any = None,
        tn: Any = None,
    ) -> Self:
        """Train the classifier and choose its threshold.

        Parameters
        ----------
        X : array, data frame, sparse matrix, Dask collection or other input of the classifier, of n_samples samples
            Samples. Those of a Dask array or data frame stay with the workers of its cluster, and folds are whole
            chunks. The classifier must be one of metricwise that trains on a cluster, one that another package has made
            for Dask (of LightGBM, XGBoost or dask-ml), or have ``partial_fit``, by which it then learns from the chunks
            in their order.
        y : array of shape (n_samples,) or (n_samples, n_labels)
            Classes, or a matrix of zeros and ones for multilabel targets.
        sample_weight : array of shape (n_samples,), optional
            A sample of weight 2 counts as two such samples, one of weight 0 as absent.
        groups : array of shape (n_samples,), optional
            Samples that belong together, such as those of one patient, have the same entry. Folds keep whole groups,
            and a splitter given as ``cv`` gets them; intervals are then for samples of new groups.
            A guarantee is then for a sample of a new group, all groups being equally likely. Not for Dask collections.
        sensitive_features : data frame, dict or array of shape (n_samples,), optional
            Columns that constraints by group name, or the only one; by default they are columns of X.
        client : distributed.Client, optional
            The client of a Dask collection; by default the one started last.
        tp, fp, fn, tn : array of shape (n_samples,), optional
            For a `Profit`: what each sample earns as a true positive, false positive, false negative and true negative.

        Returns
        -------
        self

        Raises
        ------
        UnreachableGuaranteeError
            If no threshold can guarantee the constraints.
        """
        self._validate_params()
        measure, strategy = get_measure(self.measure), self._strategy()
        given = {"tp": tp, "fp": fp, "fn": fn, "tn": tn}
        refuse_inner_constraints(type(self).__name__, self.estimator)
        self._check_routing(sample_weight=sample_weight, groups=groups, **given)
        self._refuse_learner(X)
        X, y, sample_weight = chunks_of_cluster(X, y, sample_weight, client)
        with guard_fit(self), show_progress(type(self).__name__, self.verbose):
            X, labels = self._validate(X, y)
            weights = self._validate_weights(sample_weight, X)
            task = self._make_task(labels, weights, measure, y)
            task, amounts = weigh_profit(task, X, labels, weights, given)
            seed = int(check_random_state(self.random_state).randint(2**31 - 1))
            wanted = separate_constraints(self.subject_to)
            if wanted.by_group and isinstance(X, DaskSource):
                raise ValueError("constraints by group are for samples in memory: use X.compute(), or leave them out")
            by_group = plan_groups(wanted, self.group_thresholds, X, sensitive_features, len(labels))
            refuse_other_tasks(by_group, task.is_binary, amounts)
            if self.prefit:
                refuse_unknown_columns(by_group, self.estimator, sensitive_features)
            codes = None if by_group is None else by_group.codes
            executor = self._executor(task, X, labels, weights, groups, codes, amounts)
            rule = ThresholdRule(strategy, wanted.implied, seed, self.randomised)
            refuse_gains(rule, task.is_binary, task.is_multilabel, task.measure)
            learner = self.estimator if self.prefit else task.share_positive_class(self.estimator)
            plan = FitPlan(learner, rule, self.confidence, self.cv, self.prefit, self.calibrate)
            with explain_refused_texts(by_group, learner, X, labels, sensitive_features):
                fitted = fit_and_decide(executor, plan) if by_group is None else fit_by_group(executor, plan, by_group)
            self._store(task, fitted, has_noted_features=isinstance(X, DaskSource))
        return self

    def _strategy(self) -> str:
        if not self.transductive:
            return self.threshold
        if self.threshold not in ("auto", "batch"):
            raise ValueError(
                f"transductive=True means threshold='batch', but threshold is {self.threshold!r}: leave one of them out"
            )
        return "batch"

    def _refuse_learner(self, X: Any) -> None:
        """Raise if the classifier cannot be trained where the samples are."""
        if not self.prefit:
            if is_dask(X):
                refuse_learner(self.estimator)
            else:
                refuse_samples_in_memory(self.estimator, X)

    def _validate(self, X: Any, y: Any) -> tuple[Any, Labels]:
        if not isinstance(X, DaskSource):
            labels = validate_target(y, type(self).__name__)
            return tuple(indexable(check_samples(X), labels))
        if np.ndim(y) == 2 and np.shape(y)[1] > 1:
            raise ValueError(
                f"y has {np.shape(y)[1]} columns, and several labels need all samples in memory: use X.compute(), or a "
                "PlugInClassifier for each label"
            )
        X, labels = validate_samples(self, X, y, chunks=True)
        return X, validate_target(labels, type(self).__name__)

    def _validate_weights(self, sample_weight: Any, X: Any) -> Floats | None:
        weights = validate_weights(sample_weight, X)
        if weights is not None and not self.prefit and not takes_weights(self.estimator):
            warn_of_ignored_weights(self.estimator)
        return weights

    def _make_task(self, y: Labels, weights: Floats | None, measure: Measure, given: Any) -> Task:
        is_constrained, names = bool(self.subject_to), read_label_names(given)
        task = make_task(y, weights, measure, self.pos_label, issparse(given), is_constrained, names)
        if not self.prefit:
            return task
        if y.ndim == 2:
            raise ValueError(
                "prefit=True is for one classifier of two or more classes; for several labels a classifier is "
                "trained for each, so set prefit=False"
            )
        known = check_known_classes(self.estimator, task.classes)
        return task_of_classes(known, measure, self.pos_label, count_classes(y, known), is_constrained)

    def _executor(
        self,
        task: Task,
        X: Any,
        y: Labels,
        weights: Floats | None,
        groups: Any,
        subgroups: Integers | None,
        amounts: Amounts | None,
    ) -> Executor:
        """Return the executor for the location of the samples."""
        if not isinstance(X, DaskSource):
            data = prepare_data(task, X, y, weights, self.cv, groups, subgroups, amounts)
            return LocalExecutor(task, data, self.n_jobs)
        refuse_groups(groups)
        return ClusterExecutor(task, TrainingData(X, y, task.encode(y), weights), self.n_passes)

    def _routed_parts(self) -> Iterable[tuple[str, Any]]:
        return [("estimator", self.estimator)]

    def _store(self, task: Task, fitted: FittedModel, has_noted_features: bool = False) -> None:
        self._store_decision(task, fitted.decision)
        self._group_rule = fitted.group_rule
        self.estimator_ = fitted.model
        if not has_noted_features:
            copy_feature_names(self, fitted.model if isinstance(fitted.model, list) else [fitted.model])

    def _store_decision(self, task: Task, decision: Decision) -> None:
        super()._store_decision(task, decision)
        self.threshold_interval_ = decision.shown_interval
