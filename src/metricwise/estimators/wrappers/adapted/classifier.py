"""Trained classifiers adapted to a measure by a multivariate support vector machine."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import MetaEstimatorMixin
from sklearn.utils import get_tags
from sklearn.utils.validation import check_random_state

from metricwise._sklearn import Interval, NamedEstimatorsMixin, StrOptions, take_samples
from metricwise._state import StoredState
from metricwise._typing import Floats, Labels
from metricwise.decisions.executors import LocalExecutor
from metricwise.decisions.targets import POSITIVE_CLASS
from metricwise.decisions.training_data import TrainingData, prepare_data, validate_two_classes
from metricwise.decisions.weighting import takes_weights, weight_setting
from metricwise.estimators.guarded_fit import guard_fit
from metricwise.estimators.inputs import copy_feature_names
from metricwise.estimators.numbers import refuse_huge_numbers
from metricwise.estimators.routing import RoutesGroups, pass_to_own_learners
from metricwise.estimators.selection.columns import Columns
from metricwise.estimators.selection.preprocessing import number_maker, transform_as_fitted
from metricwise.estimators.selection.profile import Profile, recognise_columns, validate_columns
from metricwise.estimators.svm.base import COST
from metricwise.estimators.svm.multivariate_svc import MultivariateSVC
from metricwise.estimators.thresholded import ThresholdedClassifier
from metricwise.estimators.wrappers.adapted.adaptation import Adaptation, AdaptationPlan, adapt
from metricwise.estimators.wrappers.adapted.adapter import Adapter
from metricwise.estimators.wrappers.adapted.inputs import ADAPTED, Inputs, check_inputs, check_trained, default_inputs
from metricwise.measures import Measure, get_measure
from metricwise.measures.base import show_value
from metricwise.progress import show_progress
from metricwise.raw_inputs import check_samples
from metricwise.registry import check_trainable
from metricwise.results import Result


class AdaptedSVC(RoutesGroups, MetaEstimatorMixin, ThresholdedClassifier, NamedEstimatorsMixin):
    """Classifiers adapted to a measure: their outputs are features of a multivariate SVM (Li, Tsang and Zhou 2013).

    The score of a sample is ``w'x + sum_k b_k f_k(x)``, where f_k are the outputs of other classifiers, the inputs, as
    calibrated log-odds; w and b are trained for the measure as by `MultivariateSVC`. The adapted machine is selected if
    out-of-fold samples make it better, with probability 3/4, than the best of its inputs with the threshold that serves
    the measure; otherwise that input is. On out-of-fold samples the result is therefore never worse than the best
    input.

    Parameters
    ----------
    measure : str or Measure, default="f1"
        The measure of the predictions: a name from ``metricwise.measure_names("AdaptedSVC")`` or a measure.
    estimators : "default" or list of (str, classifier), default="default"
        The inputs, each with ``predict_proba`` or ``decision_function``. By default boosted trees, a machine with an
        rbf kernel and logistic regression, with the preprocessing that the samples need; for sparse samples too wide
        for a dense matrix, logistic regression only.
    C : float, default=1.0
        The cost of a mistake: the larger, the weaker the regularisation of the machine.
    use_features : bool, default=True
        Whether the features of the samples enter the machine, too: standardised, sparse ones unchanged or by their
        largest value, categories of a data frame as zeros and ones. Without them, the machine weighs only the inputs,
        and X may be anything that these accept.
    feature_scaling : float, default=0.3
        Size of the features beside the inputs, which have that of log-odds; the smaller, the more their weights are
        regularised.
    prefit : bool, default=False
        Whether the inputs are trained already, on other samples: those given to `fit` are then used for the machine and
        the thresholds only. Inputs that were trained on these samples would be overrated.
    tol : float, default=1e-3
        Relative duality gap at which the training of the machine stops.
    max_iter : int, default=10000
        Largest number of iterations of the machine.
    cv : int, splitter, iterable or None, default=None
        Folds, which test every sample once; None and numbers make folds in which equal samples stay together, 5 by
        default. With two, the machine of untrained inputs cannot be judged, and the best input is selected.
    pos_label : label, optional
        The positive class of two; by default 1 of the classes 0 and 1, -1 and 1, or booleans. Of others it has to be
        named, unless the measure treats both alike (accuracy, G-mean, ROC area, ...).
    n_jobs : int, optional
        Folds of inputs trained in parallel. Results do not depend on it.
    random_state : int, RandomState instance or None, default=0
        Seeds folds, resamples and the default inputs.
    verbose : int or None, default=None
        Progress of training that takes more than two seconds: a bar on terminals and in notebooks (None), also lines
        where standard error is neither (1), or nothing (0).

    Attributes
    ----------
    estimators_ : dict of str to classifier
        The inputs, trained on all samples (or prefitted).
    svc_ : MultivariateSVC
        The machine, trained on all samples; its features are those of the samples, then the inputs. It is
        stored whether it is selected or not.
    input_weights_ : dict of str to float
        Its weights of the inputs' log-odds.
    adapted_ : bool
        Whether the machine is selected.
    selected_ : str
        "adapted" or the name of the selected input.
    out_of_fold_scores_ : dict of str to float
        The measure of out-of-fold samples by the machine ("adapted") and by each input, each with its own threshold.
    threshold_ : float
        What `decision_function` subtracts from the scores: of the machine, or the log-odds (decision values, if there
        are no probabilities) of the selected input. Assign another, as in ``model.threshold_ = 0.5``, to predict with
        it.
    threshold_interval_ : pair of float
        Interval of 90 % of the thresholds from resamples.
    expected_score_ : float
        The measure of out-of-fold samples by the selected candidate.
    expected_score_interval_ : pair of float
        Interval that contains the measure of as many new samples with probability 0.9.
    calibrated_ : bool
        False: the scores are no probabilities.
    n_iter_ : int
        Iterations of the machine.
    result_ : Result
        Certificate, history and status of the machine.
    classes_ : array
        Labels.
    measure_ : Measure
        The measure.
    n_features_in_, feature_names_in_
        Number and names of the features seen during `fit`, as far as the inputs know them.

    See Also
    --------
    metricwise.MultivariateSVC : The machine without inputs.
    metricwise.PlugInClassifier : One classifier with the threshold for the measure.
    metricwise.MetricClassifier : Tries learners of many kinds and averages the best.

    Notes
    -----
    The machine is trained with out-of-fold outputs, and judged on samples that neither it nor any of the models behind
    these outputs was trained with. Each input is therefore trained on all samples, without every fold, and
    without every pair of folds: 16 times with five folds. Trained inputs (``prefit``) are not trained at all.

    Sample weights reach the inputs that take them, the machine, the thresholds and the comparison.

    There is no ``predict_proba``; ``PlugInClassifier(AdaptedSVC(...), calibrate=True)`` has one.

    References
    ----------
    .. [1] N. Li, I. W. Tsang and Z.-H. Zhou (2013). Efficient optimization of performance measures by classifier
       adaptation. *IEEE Transactions on Pattern Analysis and Machine Intelligence* 35, 1370-1382.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from metricwise import AdaptedSVC
    >>> X, y = make_classification(600, weights=[0.8], random_state=0)
    >>> inputs = [("bayes", GaussianNB()), ("line", LogisticRegression())]
    >>> model = AdaptedSVC("f1", inputs).fit(X, y)
    >>> sorted(model.out_of_fold_scores_)
    ['adapted', 'bayes', 'line']
    >>> model.expected_score_ >= max(model.out_of_fold_scores_[name] for name in model.estimators_)
    True
    """

    __stored_state__: ClassVar[StoredState] = ThresholdedClassifier.__stored_state__.extend(
        "threshold_interval_",
        "estimators_",
        "svc_",
        "result_",
        "input_weights_",
        "n_iter_",
        "selected_",
        "adapted_",
        "out_of_fold_scores_",
        "_adapter",
        "_number_maker",
    )
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "measure": "no_validation",
        "estimators": [StrOptions({"default"}), list, tuple],
        "C": [COST],
        "use_features": ["boolean"],
        "feature_scaling": [COST],
        "prefit": ["boolean"],
        "tol": [Interval(Real, 0.0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "cv": ["cv_object"],
        "pos_label": POSITIVE_CLASS,
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": [Interval(Integral, 0, None, closed="left"), None],
    }

    estimators_: Inputs
    svc_: MultivariateSVC
    input_weights_: dict[str, float]
    out_of_fold_scores_: dict[str, float]
    selected_: str
    adapted_: bool
    result_: Result
    _adapter: Adapter
    _number_maker: Any

    def __init__(
        self,
        measure: str | Measure = "f1",
        estimators: Any = "default",
        *,
        C: float = 1.0,
        use_features: bool = True,
        feature_scaling: float = 0.3,
        prefit: bool = False,
        tol: float = 1e-3,
        max_iter: int = 10_000,
        cv: Any = None,
        pos_label: Any = None,
        n_jobs: int | None = None,
        random_state: Any = 0,
        verbose: int | None = None,
    ) -> None:
        self.measure = measure
        self.estimators = estimators
        self.C = C
        self.use_features = use_features
        self.feature_scaling = feature_scaling
        self.prefit = prefit
        self.tol = tol
        self.max_iter = max_iter
        self.cv = cv
        self.pos_label = pos_label
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters, with ``deep`` also the inputs by name and their own.

        Parameters
        ----------
        deep : bool
            Whether to look into the inputs.

        Returns
        -------
        dict
            Values by name.
        """
        params: dict[str, Any] = self._get_params("estimators", deep=deep)
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters, also those of inputs, as in ``set_params(line__C=0.1)``.

        Parameters
        ----------
        **params : dict
            Parameters by name.

        Returns
        -------
        self
            The estimator, so that calls can be chained.
        """
        self._set_params("estimators", **params)
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        of_inputs = [] if self._uses_default_inputs else [get_tags(model).input_tags for _, model in self.estimators]
        tags.input_tags.sparse = all(of_input.sparse for of_input in of_inputs)
        tags.input_tags.allow_nan = all(of_input.allow_nan for of_input in of_inputs)
        tags.classifier_tags.multi_class = False
        return tags

    @property
    def _uses_default_inputs(self) -> bool:
        return isinstance(self.estimators, str)

    # -------------------------------------------------------------------------------------------------------- training

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None) -> Self:
        """Train inputs and machine, and select the best.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_samples, n_features)
            Samples; without ``use_features``, anything that the given inputs accept.
        y : array of shape (n_samples,)
            Two classes.
        sample_weight : array of shape (n_samples,), optional
            A sample of weight 2 counts as two such samples, one of weight 0 as absent.
        groups : array of shape (n_samples,), optional
            Samples that belong together, such as those of one patient, have the same entry. Folds keep whole groups,
            and a splitter given as ``cv`` gets them; intervals are then for samples of new groups.

        Returns
        -------
        self
            The fitted estimator.
        """
        self._validate_params()
        measure = get_measure(self.measure)
        check_trainable(measure, "AdaptedSVC")
        given = self._check_given_inputs()
        self._check_routing(sample_weight=sample_weight, groups=groups)
        with guard_fit(self), show_progress(type(self).__name__, self.verbose):
            task, X, y, weights = validate_two_classes(X, y, sample_weight, measure, self.pos_label, "AdaptedSVC")
            if given is not None:
                self._check_given(given, task.classes, weights)
            columns = self._recognise_columns(X)
            samples, raw = self._validate_samples(X, reset=True)
            data = prepare_data(task, samples, y, weights, self.cv, groups)
            if raw is not None and weights is not None:
                raw = take_samples(raw, np.flatnonzero(weights > 0.0))
            seed = int(check_random_state(self.random_state).randint(2**31 - 1))
            inputs = _make_default_inputs(data, columns, measure, seed) if given is None else given
            if not self.prefit:
                inputs = {name: task.share_positive_class(learner) for name, learner in inputs.items()}
            features = self._fit_features(raw, columns, data.weights)
            executor = LocalExecutor(task, data, self.n_jobs)
            plan = AdaptationPlan(executor, features, inputs, self._machine(measure, seed), self.cv, seed, self.prefit)
            with pass_to_own_learners(given is None):
                found = adapt(plan)
            self._store_decision(task, replace(found.decision, is_probability=False))
            self._store(found)
        return self

    def _routed_parts(self) -> Iterable[tuple[str, Any]]:
        return [] if self._uses_default_inputs else self.estimators

    def _machine(self, measure: Measure, seed: int) -> MultivariateSVC:
        return MultivariateSVC(measure, self.C, threshold=0.0, tol=self.tol, max_iter=self.max_iter, random_state=seed)

    def _check_given_inputs(self) -> Inputs | None:
        """Return the user's inputs; None for the default."""
        if not self._uses_default_inputs:
            return check_inputs(self.estimators)
        if self.prefit:
            raise ValueError("prefit=True needs trained classifiers: give them as estimators=[(name, classifier), ...]")
        return None

    def _check_given(self, given: Inputs, classes: Labels, weights: Floats | None) -> None:
        """Raise unless prefitted inputs know the classes; warn about inputs to train that take no weights."""
        if self.prefit:
            check_trained(given, classes)
        elif weights is not None:
            _warn_of_weightless(given)

    def _recognise_columns(self, X: Any) -> Columns:
        """Return what the columns hold that are preprocessed here, and log or warn about it."""
        columns = recognise_columns(X) if self.use_features or self._uses_default_inputs else Columns()
        columns.announce()
        return columns

    def _validate_samples(self, X: Any, reset: bool) -> tuple[Any, Any]:
        """Return the samples for the inputs, and the raw features of the machine, None if it has none."""
        if not (self.use_features or self._uses_default_inputs):
            return check_samples(X), None
        checked = validate_columns(self, X, reset, missing=bool(get_tags(self).input_tags.allow_nan))
        refuse_huge_numbers(checked, getattr(self, "feature_names_in_", None))
        # The user's inputs may select the columns of a data frame by name.
        return checked if self._uses_default_inputs else X, checked if self.use_features else None

    def _fit_features(self, raw: Any, columns: Columns, weights: Floats | None) -> Any:
        """Fit the preprocessing of raw features, and return the features."""
        self._number_maker = None if raw is None else number_maker(Profile.of(raw, columns))
        if self._number_maker is not None:
            with pass_to_own_learners():
                self._number_maker.fit(raw, **weight_setting(self._number_maker, weights))
        return self._features(raw)

    def _features(self, raw: Any) -> Any:
        """Return the machine's features of samples; None if there are none but the inputs."""
        if raw is None:
            return None
        features = raw if self._number_maker is None else transform_as_fitted(self._number_maker, raw)
        return self.feature_scaling * features

    def _store(self, found: Adaptation) -> None:
        adapter, self.threshold_interval_ = found.adapter, found.decision.interval
        self.estimators_, self._adapter = found.models, adapter
        self.svc_, self.result_, self.input_weights_ = adapter.machine, adapter.result, adapter.input_weights
        self.n_iter_ = adapter.machine.n_iter_
        self.selected_, self.adapted_ = found.selected, found.selected == ADAPTED
        self.out_of_fold_scores_ = {
            one.name: float(show_value(self.measure_, one.expected_score, self._n_judged)) for one in found.candidates
        }
        if not (self.use_features or self._uses_default_inputs):
            copy_feature_names(self, found.models.values())

    def _scores(self, X: Any) -> Floats:
        samples, raw = self._validate_samples(X, reset=False)
        if not self.adapted_:
            return self._task.scores(self.estimators_[self.selected_], samples)
        outputs = {name: self._task.scores(model, samples) for name, model in self.estimators_.items()}
        return self._adapter.scores(self._features(raw), outputs)


def _warn_of_weightless(inputs: Inputs) -> None:
    """Warn about inputs that take no sample weights."""
    names = [name for name, model in inputs.items() if not takes_weights(model)]
    if names:
        warnings.warn(
            f"no sample_weight is taken by {', '.join(map(repr, names))}: for them the weights count in the machine, "
            "the thresholds and the comparison only",
            UserWarning,
            stacklevel=3,
        )


def _make_default_inputs(data: TrainingData, columns: Columns, measure: Measure, seed: int) -> Inputs:
    profile = replace(Profile.of(data.X, columns), is_grouped=not data.has_random_folds)
    return default_inputs(profile, measure, seed)
