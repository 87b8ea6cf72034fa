"""Any classifier that takes sample weights made measure-aware by class weights."""

from __future__ import annotations

from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, Self

from sklearn.utils.validation import check_random_state

from metricwise._sklearn import HasMethods, Interval, StrOptions
from metricwise._state import StoredState
from metricwise.decisions.binary import ThresholdRule, make_aim
from metricwise.decisions.confusion_choice import refuse_gains
from metricwise.decisions.executors import LocalExecutor
from metricwise.decisions.fitting import FittedModel
from metricwise.decisions.profit_task import weigh_profit
from metricwise.decisions.scoring import gives_probabilities
from metricwise.decisions.targets import POSITIVE_CLASS, count_classes
from metricwise.decisions.tasks import Multiclass, task_of_classes
from metricwise.decisions.training_data import prepare_data, validate_classes
from metricwise.estimators.guarded_fit import guard_fit
from metricwise.estimators.inputs import refuse_dask
from metricwise.estimators.wrappers.cost_sensitive.iterations import (
    WeightingPlan,
    decide_for_final,
    describe_iteration,
    fit_final,
    fit_iterations,
    select_iteration,
    warm_start_path,
    weigh_two_classes,
)
from metricwise.estimators.wrappers.cost_sensitive.learners import require_weights
from metricwise.estimators.wrappers.cost_sensitive.multiclass_weights import select_class_iteration, weigh_classes
from metricwise.estimators.wrappers.cost_sensitive.sample_costs import (
    describe_costs,
    fit_sample_costs,
    mean_class_weights,
)
from metricwise.estimators.wrappers.plug_in import PlugInClassifier
from metricwise.measures import Measure, get_measure, registered_names
from metricwise.measures.base import CountsTable
from metricwise.measures.multiclass_capabilities import CountsConfusion
from metricwise.progress import show_progress
from metricwise.solvers.class_costs import NEEDS


class CostSensitiveClassifier(PlugInClassifier):
    """Any classifier that takes sample weights, trained with the class weights that a measure sets.

    The first iteration is `PlugInClassifier`: the classifier without class weights, with the best threshold. Each
    further iteration trains the classifier with the class weights that the measure sets at the contingency table of the
    last one, and chooses the threshold again. The best iteration is selected if out-of-fold samples make it better than
    the first with probability 3/4; otherwise the first is.

    Class weights help a classifier that cannot follow the data everywhere (linear, shallow, strongly regularised): they
    move the boundary to where the measure needs it. A classifier that estimates probabilities well does not need them.

    Parameters
    ----------
    estimator : classifier
        Its ``fit``, or that of the last step of a pipeline, takes ``sample_weight``; it has ``predict_proba`` or
        ``decision_function``.
    measure : str or Measure, default="f1"
        The measure of the predictions: a ratio of the rates ("f1", "jaccard", "cohen_kappa", ...) or a concave function
        of them ("g_mean", "h_mean", "q_mean", "min_rate"). A linear cost, such as 5 fn + fp made by
        `contingency_measure`, sets one weighting.
    max_iter : int, default=3
        Largest number of iterations with class weights. Each trains the classifier once per fold. With 0 this is
        `PlugInClassifier`.
    tol : float, default=0.05
        Iterations end when no class weight changes by more than this share.
    threshold : {"auto", "max", "bagged", "expected", "gains", "batch"}, default="auto"
        How thresholds are estimated. "max" is the best on out-of-fold samples; "bagged" averages over resamples of
        them; "expected" trusts the probabilities; "auto" combines them. "batch" also uses the samples that are
        predicted together: better on large batches, but the label of a sample then depends on the others. "gains" is
        for more than two classes: a matrix of gains decides.
    calibrate : bool, default=False
        Whether `predict_proba` is calibrated on out-of-fold scores (by a line), which also gives probabilities to a
        classifier that has none. Labels stay the same; `threshold_` is then a calibrated probability.
    cv : int, splitter, iterable or None, default=None
        Folds, the same in all iterations; None and numbers make folds in which equal samples stay together, 5 by
        default.
    pos_label : label, optional
        The positive class of two; by default 1 of the classes 0 and 1, -1 and 1, or booleans. Of others it has to be
        named, unless the measure treats both alike (accuracy, G-mean, ROC area, ...).
    n_jobs : int, optional
        Folds trained in parallel.
    random_state : int, RandomState instance or None, default=0
        Seeds folds and resamples.
    verbose : int or None, default=None
        Progress of training that takes more than two seconds: a bar on terminals and in notebooks (None), also lines
        where standard error is neither (1), or nothing (0).

    Attributes
    ----------
    estimator_ : classifier
        The classifier, trained on all samples with the selected class weights.
    class_weights_ : ClassCosts or array of shape (n_classes,)
        The weights of a positive (``pos``) and a negative (``neg``) sample in training; of more than two classes, those
        of the samples of each. Their mean over the samples is 1, and all are 1 if the first iteration is selected.
    threshold_ : float
        The probability (`predict_proba`), or else the decision value of ``estimator_``, above which a sample is
        positive; of more than two classes, the offsets that are subtracted from their scores. Assign another, as in
        ``model.threshold_ = 0.3``, to predict with it.
    threshold_interval_ : pair of float
        Interval of 90 % of the thresholds from resamples.
    expected_score_ : float
        The measure of out-of-fold samples, never less than that of the first iteration.
    expected_score_interval_ : pair of float
        Interval that contains the measure of as many new samples with probability 0.9.
    history_ : tuple of Iteration
        Class weights, measure of out-of-fold samples and threshold of every iteration.
    n_iter_ : int
        Iterations, the first one without class weights included.
    best_iter_ : int
        The selected iteration.
    n_refits_ : int
        Number of classifiers trained.
    calibrated_ : bool
        Whether `predict_proba` is calibrated on out-of-fold samples: if ``calibrate`` is set, or `adapt_prior` has made
        the model.
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
    metricwise.PlugInClassifier : The threshold alone, for any classifier and measure.
    metricwise.AMPClassifier : The same for linear models, to a certified optimum.

    Notes
    -----
    Linear models and networks with a parameter ``warm_start`` start from their last iteration; trees are grown anew.

    `predict_proba` is the learner's own, from whose odds the ratio of the class weights is divided out. It is as well
    calibrated for the prior of training as the learner is for weighted samples, unless ``calibrate`` is set.

    For more than two classes, measures are functions of the confusion matrix: "f1" is then the macro average, and
    averages ("f1_micro", "f1_weighted"), means of recalls ("g_mean", "h_mean", "q_mean", "min_rate") and "cohen_kappa"
    are others. The weight of a class is what a right prediction of its samples gains over a wrong one, the mean over
    the wrong classes, by the gradient at the confusion matrix of the last iteration. Offsets or gains of the classes
    are chosen as by `PlugInClassifier`.

    For a `Profit` with amounts per sample there are two iterations: without weights, where the decision about a sample
    follows from its probability and its amounts, and with samples weighted by what a wrong decision about them loses.
    `class_weights_` has the mean weights of both classes. If the second is selected, `predict_proba` is calibrated on
    out-of-fold scores.

    References
    ----------
    .. [1] S. A. Puthiya Parambath, N. Usunier and Y. Grandvalet (2014). Optimizing F-measures by cost-sensitive
       classification. *Advances in Neural Information Processing Systems* 27, 2123-2131.
    .. [2] H. Narasimhan, H. G. Ramaswamy, A. Saha and S. Agarwal (2015). Consistent multiclass algorithms for complex
       performance measures. *Proceedings of the 32nd International Conference on Machine Learning*, 2398-2407.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from metricwise import CostSensitiveClassifier
    >>> X, y = make_classification(2000, weights=[0.9], class_sep=1.5, random_state=0)
    >>> model = CostSensitiveClassifier(DecisionTreeClassifier(max_depth=3), "g_mean").fit(X, y)
    >>> model.expected_score_ >= model.history_[0].score
    True
    >>> len(model.history_) <= 4
    True
    """

    __stored_state__: ClassVar[StoredState] = PlugInClassifier.__stored_state__.extend(
        "class_weights_", "best_iter_", "history_", "n_iter_", "n_refits_", version=3
    )
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "estimator": [HasMethods(["fit"])],
        "measure": "no_validation",
        "max_iter": [Interval(Integral, 0, None, closed="left")],
        "tol": [Interval(Real, 0.0, None, closed="left")],
        "threshold": [StrOptions({"auto", "max", "bagged", "expected", "gains", "batch"})],
        "calibrate": ["boolean"],
        "cv": ["cv_object"],
        "pos_label": POSITIVE_CLASS,
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": [Interval(Integral, 0, None, closed="left"), None],
    }

    # Options of PlugInClassifier that do not apply.
    prefit = False
    transductive = False
    randomised = False
    group_thresholds = False
    __metadata_request__fit: ClassVar[dict[str, str]] = {}

    def __init__(
        self,
        estimator: Any,
        measure: str | Measure = "f1",
        *,
        max_iter: int = 3,
        tol: float = 0.05,
        threshold: str = "auto",
        calibrate: bool = False,
        cv: Any = None,
        pos_label: Any = None,
        n_jobs: int | None = None,
        random_state: Any = 0,
        verbose: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.measure = measure
        self.max_iter = max_iter
        self.tol = tol
        self.threshold = threshold
        self.calibrate = calibrate
        self.cv = cv
        self.pos_label = pos_label
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(  # type: ignore[override]  # not on a cluster
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        groups: Any = None,
        tp: Any = None,
        fp: Any = None,
        fn: Any = None,
        tn: Any = None,
    ) -> Self:
        """Train the classifier with class weights, iteration by iteration, and select the best.

        Parameters
        ----------
        X : array, data frame, sparse matrix or other input of the classifier, of n_samples samples
            Samples.
        y : array of shape (n_samples,)
            Two or more classes.
        sample_weight : array of shape (n_samples,), optional
            A sample of weight 2 counts as two such samples, one of weight 0 as absent. Multiplied by class weights.
        groups : array of shape (n_samples,), optional
            Samples that belong together, such as those of one patient, have the same entry. Folds keep whole groups,
            and a splitter given as ``cv`` gets them; intervals are then for samples of new groups.
        tp, fp, fn, tn : array of shape (n_samples,), optional
            For a `Profit`: what each sample earns as a true positive, false positive, false negative and true negative.

        Returns
        -------
        self
            The fitted estimator.
        """
        self._validate_params()
        measure = get_measure(self.measure)
        given = {"tp": tp, "fp": fp, "fn": fn, "tn": tn}
        self._check_routing(sample_weight=sample_weight, groups=groups, **given)
        require_weights(self.estimator)
        has_probabilities = gives_probabilities(self.estimator)
        refuse_dask(self, X)
        with guard_fit(self), show_progress(type(self).__name__, self.verbose):
            X, y, weights, classes = validate_classes(X, y, sample_weight, "CostSensitiveClassifier")
            task: Any = task_of_classes(classes, measure, self.pos_label, count_classes(y, classes))
            weigh, select = _weighting_of(task)
            task, amounts = weigh_profit(task, X, y, weights, given)
            data = prepare_data(task, X, y, weights, self.cv, groups, amounts=amounts)
            rule = ThresholdRule(self.threshold, seed=int(check_random_state(self.random_state).randint(2**31 - 1)))
            refuse_gains(rule, task.is_binary, task.is_multilabel, measure)
            executor = LocalExecutor(task, data, self.n_jobs)
            learner = task.share_positive_class(self.estimator)
            settings = (self.cv, self.max_iter, self.tol, self.calibrate)
            plan = WeightingPlan(executor, learner, rule, has_probabilities, *settings)
            if amounts is not None:
                return self._fit_sample_costs(plan)
            iterations = fit_iterations(plan, weigh)
            best = select(iterations, data.groups_of(iterations[0].found.samples))
            path = warm_start_path(iterations[: best + 1])
            model = fit_final(plan, path)
            self._store(task, FittedModel(model, decide_for_final(plan, iterations[best], model)))
            self.class_weights_, self.best_iter_ = iterations[best].class_weights, best
            self.history_ = tuple(describe_iteration(plan, one) for one in iterations)
            self.n_iter_ = len(iterations)
            self.n_refits_ = len(iterations) * len(plan.splits) + len(path)
        return self

    @property
    def calibrated_(self) -> bool:
        """Whether probabilities are calibrated on out-of-fold samples; otherwise they are as good as the learner."""
        return super().calibrated_ or getattr(self._decision, "is_weighted", False)  # see `fit_sample_costs`

    def _fit_sample_costs(self, plan: WeightingPlan) -> Self:
        """Train without and with the costs of the samples, and select the better."""
        found = fit_sample_costs(plan)
        self._store(plan.executor.task, found.fitted)
        self.best_iter_, self.n_iter_ = found.best, len(found.judged)
        self.class_weights_ = mean_class_weights(plan, found.judged[found.best])
        self.history_ = tuple(describe_costs(plan, one) for one in found.judged)
        self.n_refits_ = len(found.judged) * len(plan.splits) + 1
        return self


def _weighting_of(task: Any) -> tuple[Any, Any]:
    """Return what computes the class weights after an iteration, and what selects an iteration."""
    if task.is_binary:
        return partial(weigh_two_classes, task.measure), partial(select_iteration, _require_table(task.measure))
    if isinstance(task, Multiclass) and isinstance(task.average, CountsConfusion):
        return partial(weigh_classes, task.average), partial(select_class_iteration, task.average)
    raise TypeError(
        f"measure {task.measure.name!r} of {task.classes.size} classes has no gradient by the confusion matrix, so "
        "that it sets no class weights: use PlugInClassifier for it, or a measure such as 'f1_macro' or 'g_mean'"
    )


def _require_table(measure: Measure) -> CountsTable:
    """Return the measure as a function of the contingency table; TypeError unless it sets class weights."""
    table = make_aim(measure, None).table
    if isinstance(measure, NEEDS) and table is not None:
        return table
    raise TypeError(
        f"measure {measure.name!r} is neither a ratio of the rates nor a concave function of them, so that it sets no "
        f"class weights: use PlugInClassifier for it, or one of the measures {', '.join(registered_names(NEEDS))}"
    )
