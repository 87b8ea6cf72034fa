"""Select, ensemble and threshold the learners that suit a measure and the data."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.validation import check_is_fitted, check_random_state

from metricwise._sklearn import Interval
from metricwise._state import StoredState
from metricwise._typing import Floats, Labels
from metricwise.clusters import is_dask
from metricwise.decisions.binary import ThresholdRule
from metricwise.decisions.decision import Decision
from metricwise.decisions.group_constraints import separate_constraints
from metricwise.decisions.group_decision import GroupPlan, plan_groups, refuse_other_tasks
from metricwise.decisions.label_matrix import read_label_names
from metricwise.decisions.learning_curve import Extrapolation, extrapolate
from metricwise.decisions.profit_task import weigh_profit
from metricwise.decisions.targets import POSITIVE_CLASS
from metricwise.decisions.task import Task
from metricwise.decisions.tasks import make_task
from metricwise.decisions.training_data import TrainingData, prepare_data, validate_target, validate_weights
from metricwise.estimators.guarded_fit import guard_fit
from metricwise.estimators.inputs import chunks_of_cluster, is_chunked, validate_samples
from metricwise.estimators.lazy_predictions import lazy_probabilities
from metricwise.estimators.numbers import refuse_huge_numbers
from metricwise.estimators.predicting_chunks import ClientOfFit, PredictsChunks
from metricwise.estimators.routing import RoutesGroups
from metricwise.estimators.selection.beyond_memory.fitting import StoredProblem, fit_stored
from metricwise.estimators.selection.beyond_memory.limits import refuse_labels, refuse_multilabel, refuse_options
from metricwise.estimators.selection.beyond_memory.stored import Targets, store
from metricwise.estimators.selection.clock import Clock, run_within
from metricwise.estimators.selection.columns import Columns
from metricwise.estimators.selection.ensemble import AveragedModels, Mixture
from metricwise.estimators.selection.explanation import (
    Expectation,
    explain_absence,
    explain_guarantee,
    explain_selection,
    explain_training,
    make_records,
    mention_adaptation,
    mention_new_threshold,
    show_runs,
)
from metricwise.estimators.selection.final_decision import decide
from metricwise.estimators.selection.guarantees import keep_for_testing, list_constraints
from metricwise.estimators.selection.profile import Profile, recognise_columns, validate_columns
from metricwise.estimators.selection.schedule import Schedule
from metricwise.estimators.selection.selecting import Selected, SelectionPlan, select
from metricwise.measures import Measure, get_measure
from metricwise.measures.base import show_value
from metricwise.progress import Stage, show_progress

_LOG = logging.getLogger("metricwise")


class MetricClassifier(RoutesGroups, PredictsChunks, ClientOfFit):
    r"""Select, ensemble and threshold the learners that suit a measure and the data.

    Candidates are compared by successive halving: on growing subsets of the samples, by the measure of out-of-fold
    predictions. Those that an ensemble needs are trained on all samples; their scores are combined with weights that
    minimise the log loss out of fold (stacking), and thresholded for the measure.

    Parameters
    ----------
    measure : str or Measure, default="f1"
        The measure of the predictions; averages such as "f1_macro" for multiclass and multilabel targets.
    candidates : "auto", list of str or dict, default="auto"
        All that fit the data and are installed ("auto"); some of "logistic", "boosted_trees", "extra_trees",
        "lightgbm", "xgboost", "catboost", "linear_svm", "multivariate_svm", "auc_svm", "streams" and "rbf", and of
        "tabicl" and "tabpfn", which need their weights on disk; or a dictionary of your own classifiers by name, which
        get data frames unchanged.
    subject_to : str, tuple or list of these, optional
        Constraints such as "precision>=0.9" or ``("recall", ">=", 0.5)``, on "precision", "recall", "specificity",
        "negative_predictive_value", "false_positive_rate", "positive_rate" or "accuracy". Multiclass and multilabel: of
        one class or label, "recall>=0.8 of fraud" or ``("recall", ">=", 0.8, "of", "fraud")``, or of each if none is
        named. Of two classes, "recall>=0.8 by region" or ``("recall", ">=", 0.8, "by", "region")`` holds in every group
        of a column, and "recall_difference<=0.05 by region" between any two of its groups; the column is one of X, or
        of ``sensitive_features`` given to `fit`. Candidates are compared by constraints on all samples, and those that
        follow from constraints by group. Measures such as ``RecallAtPrecision(0.9)`` have a constraint in themselves.
    group_thresholds : bool, default=False
        With constraints by group, whether every group has a threshold of its own. All are chosen together, so that the
        measure of all samples is greatest; predictions then need the group of every sample.
    confidence : float or None, default=0.95
        Probability that no broken guarantee is issued: that the constraints hold on new samples, or an error is raised
        since no threshold can guarantee them. Half of the samples are then kept from selection and training, to test it
        on. With None there is no guarantee: constraints hold on out-of-fold samples, and all samples are used for
        training.
    time_budget : float, optional
        Seconds for training. Candidates that would take longer are left out, those that do are stopped, and the final
        models are trained on fewer samples if there is no time for all; others then choose the threshold. Only the
        first candidate, on the fewest samples, is always completed.
    cv : int, splitter, iterable or None, default=None
        Folds of all samples; 5 by default (2 or 3 above 100,000 samples), of which subsets of the samples have 3. A
        splitter is asked for the splits of all samples, and subsets use the parts of these that they contain.
    pos_label : label, optional
        The positive class of two; by default 1 of the classes 0 and 1, -1 and 1, or booleans. Of others it has to be
        named, unless the measure treats both alike (accuracy, G-mean, ROC area, ...). Candidates of metricwise
        that name none are trained for the same class.
    n_jobs : int or None, default=None
        Folds trained in parallel. With None, folds of up to 5000 samples are trained in as many threads as there are
        cores, each on one core, and larger ones one after the other, each on all free cores. 1 trains them one after
        the other, other numbers in processes, unless there are more than 100,000 samples, of which every process would
        hold copies. The model is the same. Joblib's ``parallel_config`` overrides None.
    random_state : int, RandomState instance or None, default=0
        Seeds folds, subsets, resamples and candidates.
    callback : callable, optional
        Called with a line of text after every candidate; model selection ends if it returns True.
    verbose : int or None, default=None
        Progress of training that takes more than two seconds, with the rung, the candidate, the best so far and the
        time left: a bar on terminals and in notebooks (None), also lines where standard error is neither (1), or
        nothing (0).

    Attributes
    ----------
    best_estimator_ : classifier or list
        The selected classifier, trained on all samples, or a list of classifiers whose scores are combined.
    weights_ : array
        Weights of the classifiers: the scores (log-odds or log-probabilities) are those of the class frequencies, plus
        the weighted sum of what the calibrated scores of each classifier add to these. They need not sum to one.
    threshold_ : float or array
        Two classes: the probability (`predict_proba`) above which a sample is positive. More classes: offsets, which
        are subtracted from the log-probabilities before these are compared. Multilabel: one probability per label.
        Assign another, as in ``model.threshold_ = 0.3``, to predict with it; `decision_function` subtracts its
        log-odds.
    group_thresholds_ : dict
        With ``group_thresholds=True``, the threshold of every group; there is no `threshold_` then.
    expected_score_ : float
        The measure to expect on new samples: that of samples which neither models nor the choice of thresholds had
        seen, extrapolated to models of all samples where subsets have shown how it grows.
    expected_score_interval_ : pair of float
        Interval that contains the measure of as many new samples with probability 0.9.
    leaderboard_ : data frame
        One row per candidate, the selected ones first: its measure of the out-of-fold samples of the last rung that it
        reached (`value`, with an interval from `low` to `high`, `n_samples` and `n_folds`), seconds, weight in the
        ensemble, why it was dropped, the difference to a better candidate on the same samples with its interval, and
        the warnings of its training, which are not shown. `explain` shows the same numbers. Candidates of packages
        that are not installed are the last rows.
    calibrated_ : bool
        True: `predict_proba` is calibrated on out-of-fold samples.
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
        Number and names of the features seen during `fit`.

    See Also
    --------
    metricwise.PlugInClassifier : One learner of your own, with the threshold for the measure.

    Notes
    -----
    With :math:`s_0` the log-odds (or log-probabilities) of the class frequencies and :math:`s_k` the calibrated ones of
    the selected classifiers, the scores of a sample are :math:`s_0 + \sum_k w_k (s_k - s_0)`. The weights :math:`w_k
    \ge 0` minimise the log loss of out-of-fold samples, as stacked regressions [2]_ do the squared error, with a
    penalty on their squares.

    Successive halving [1]_ compares all candidates on a small subset of the samples, drops those that are no better
    than others, and repeats this on larger ones, with the same folds for all.

    References
    ----------
    .. [1] K. Jamieson and A. Talwalkar (2016). Non-stochastic best arm identification and hyperparameter optimization.
       *Proceedings of the 19th International Conference on Artificial Intelligence and Statistics*, 240-248.
       Successive halving.
    .. [2] L. Breiman (1996). Stacked regressions. *Machine Learning* 24, 49-64. Non-negative weights.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from metricwise import MetricClassifier
    >>> X, y = make_classification(600, weights=[0.9], random_state=0)
    >>> model = MetricClassifier("f1", candidates=["logistic", "extra_trees"]).fit(X, y)
    >>> low, high = model.expected_score_interval_
    >>> bool(low < model.expected_score_ < high)
    True
    >>> print(model.explain())  # doctest: +ELLIPSIS
    Of ... candidates, ... is chosen...
    """

    __stored_state__: ClassVar[StoredState] = PredictsChunks.__stored_state__.extend(
        "best_estimator_", "weights_", "_ensemble", "_extrapolation", "_records", "_explanation", version=4
    )
    # A client belongs to a call and to no pipeline: it is not routed.
    __metadata_request__fit: ClassVar[dict[str, str]] = {"client": UNUSED}
    calibrate = True  # on out-of-fold scores, always; no parameter
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "measure": "no_validation",
        "candidates": [str, list, tuple, dict],
        "subject_to": [str, list, tuple, None],
        "group_thresholds": ["boolean"],
        "confidence": [Interval(Real, 0.0, 1.0, closed="neither"), None],
        "time_budget": [Interval(Real, 0, None, closed="neither"), None],
        "cv": ["cv_object"],
        "pos_label": POSITIVE_CLASS,
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": [Interval(Integral, 0, None, closed="left"), None],
        "callback": [callable, None],
    }

    def __init__(
        self,
        measure: str | Measure = "f1",
        *,
        candidates: Any = "auto",
        subject_to: Any = None,
        group_thresholds: bool = False,
        confidence: float | None = 0.95,
        time_budget: float | None = None,
        cv: Any = None,
        pos_label: Any = None,
        n_jobs: int | None = None,
        random_state: Any = 0,
        callback: Callable[[str], Any] | None = None,
        verbose: int | None = None,
    ) -> None:
        self.measure = measure
        self.candidates = candidates
        self.subject_to = subject_to
        self.group_thresholds = group_thresholds
        self.confidence = confidence
        self.time_budget = time_budget
        self.cv = cv
        self.pos_label = pos_label
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.callback = callback
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.classifier_tags.multi_label = True
        return tags

    # -------------------------------------------------------------------------------------------------------- training

    def fit(
        self,
        X: Any,
        y: Any = None,
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
        """Select the best candidates and train them on all samples.

        Parameters
        ----------
        X : array, sparse matrix, data frame or chunks of shape (n_samples, n_features)
            Samples. Columns of a data frame may hold numbers, categories, dates (or texts that are dates in one
            format), durations and texts, and values may be missing. Texts of several words become components of their
            words. Other columns with a different value in nearly every sample are left out, with a warning that names
            them. Samples larger than memory are opened by `metricwise.io.open`; those of a Dask array or data frame
            stay with the workers of its cluster. Candidates are then compared on a random sample, and those that can
            be are trained on all samples where these are.
        y : array of shape (n_samples,) or (n_samples, n_labels)
            Classes, or a matrix of zeros and ones for multilabel targets. May be left out if X are chunks that know
            them.
        sample_weight : array of shape (n_samples,), optional
            Weights of the samples.
        groups : array of shape (n_samples,), optional
            Samples that belong together, such as those of one patient, have the same entry. Folds and subsets keep
            whole groups, and a splitter given as ``cv`` gets them; intervals are then for samples of new groups.
        sensitive_features : data frame, dict or array of shape (n_samples,), optional
            Columns that constraints by group name, or the only one; by default they are columns of X.
        client : distributed.Client, optional
            The client of a Dask collection; by default the one started last.
        tp, fp, fn, tn : array of shape (n_samples,), optional
            For a `Profit`: what each sample earns as a true positive, false positive, false negative and true negative.

        Returns
        -------
        self
            The fitted estimator.

        Raises
        ------
        UnreachableGuaranteeError
            If no threshold of the selected model can guarantee the constraints.
        """
        self._validate_params()
        given = {"tp": tp, "fp": fp, "fn": fn, "tn": tn}
        self._check_routing(sample_weight=sample_weight, groups=groups, **given)
        clock, measure = Clock(self.time_budget), get_measure(self.measure)
        X, y, sample_weight = chunks_of_cluster(X, y, sample_weight, client)
        with guard_fit(self), show_progress(type(self).__name__, self.verbose) as stage:
            if is_chunked(X):
                refuse_options(self, X, groups, sensitive_features, given)
                self._fit_chunks(X, y, sample_weight, clock, stage)
                return self
            columns = Columns() if self._has_own_candidates else recognise_columns(X)
            samples, X = X, self._validate_samples(X, reset=True)
            labels = self._validate_target(y, X.shape[0])
            weights = validate_weights(sample_weight, X)
            is_constrained, names = bool(self.subject_to), read_label_names(y)
            task = make_task(labels, weights, measure, self.pos_label, issparse(y), is_constrained, names)
            task, amounts = weigh_profit(task, samples, labels, weights, given)
            measure = task.measure
            wanted = separate_constraints(self.subject_to)
            by_group = plan_groups(wanted, self.group_thresholds, samples, sensitive_features, len(labels))
            refuse_other_tasks(by_group, task.is_binary, amounts)
            codes = None if by_group is None else by_group.codes
            data = prepare_data(task, X, labels, weights, self.cv, groups, codes, amounts)
            seed = int(check_random_state(self.random_state).randint(2**31 - 1))
            rule = ThresholdRule(subject_to=wanted.implied, seed=seed)
            data, testing = keep_for_testing(task, data, rule, self.confidence, self.n_jobs, by_group)
            profile = replace(Profile.of(data.X, columns), is_grouped=not data.has_random_folds)
            prepares_columns = not self._has_own_candidates
            if prepares_columns:
                profile.columns.announce()
            schedule = Schedule(clock, 0 if testing is None else len(testing.y), n_jobs=self.n_jobs)
            selected = select(self._plan, task, data, rule, profile, schedule, stage)
            self._store_final(selected, testing, by_group)
            lines = []
            if testing is not None:
                constraints = list_constraints(task, rule, by_group)
                lines.append(explain_guarantee(constraints, self.confidence, len(testing.y)))
            final = selected.final
            lines += explain_training(final.n_samples, len(data.y), final.n_held_out)
            self._explain(selected, final.mixture, lines + (profile.columns.describe() if prepares_columns else []))
        return self

    def _routed_parts(self) -> Iterable[tuple[str, Any]]:
        own = self.candidates if self._has_own_candidates else {}
        return [(f"candidate {name}", one) for name, one in own.items()]

    @property
    def _has_own_candidates(self) -> bool:
        return isinstance(self.candidates, dict)

    def _validate_samples(self, X: Any, reset: bool) -> Any:
        """Return valid samples; candidates of the user get data frames unchanged and may select columns by name."""
        checked = validate_columns(self, X, reset, missing=True)
        if self._has_own_candidates:
            return X if hasattr(X, "columns") else checked
        refuse_huge_numbers(checked, getattr(self, "feature_names_in_", None))
        return checked

    def _validate_target(self, y: Any, n_samples: int) -> Labels:
        labels: Labels = validate_target(y, "MetricClassifier")
        if len(labels) != n_samples:
            raise ValueError(f"X has {n_samples} samples and y has {len(labels)}: give a label for every sample")
        return labels

    @property
    def _plan(self) -> SelectionPlan:
        return SelectionPlan(self.candidates, self.cv, self._report_progress)

    def _fit_chunks(self, X: Any, y: Any, sample_weight: Any, clock: Clock, stage: Stage) -> None:
        """Select on a sample that fits into memory, and train on all samples where they are."""
        refuse_multilabel(y, type(self).__name__)
        X, labels = validate_samples(self, X, y, chunks=True)
        refuse_labels(self, X, labels)
        weights = validate_weights(sample_weight, X)
        measure, is_constrained = get_measure(self.measure), bool(self.subject_to)
        task = make_task(labels, weights, measure, self.pos_label, is_constrained=is_constrained)
        task, _ = weigh_profit(task, X, labels, weights, {})
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        rule = ThresholdRule(subject_to=separate_constraints(self.subject_to).implied, seed=seed)
        problem = StoredProblem(store(X), Targets(labels, weights), task, rule, self.confidence)
        found = fit_stored(problem, partial(select, self._plan), clock, self.n_jobs, stage)
        self._store_models(found.ensemble)
        self._group_rule, self._extrapolation = None, Extrapolation()  # the final model itself has been judged
        self._store_decision(task, found.decision)
        self._explain(found.selected, found.mixture, found.lines)

    def _store_final(self, selected: Selected, testing: TrainingData | None, by_group: GroupPlan | None) -> None:
        """Store the selected models and choose the threshold."""
        halving, outcome, final = selected.halving, selected.outcome, selected.final
        self._store_models(final.ensemble)
        n_threads = halving.schedule.n_threads(outcome.rung.samples.size)
        choose = partial(decide, halving, outcome, final, testing, self.confidence, by_group)
        decision, self._group_rule = run_within(math.inf, choose, n_threads)
        self._extrapolation = Extrapolation()  # the final model itself has been judged or tested
        if testing is None and final.held_out is None:
            # Intervals of table measures are wide enough; those of areas near one are not.
            curves, guessed = [run.curve for run in final.mixture.runs], halving.task.measure.response == "scores"
            self._extrapolation = extrapolate(curves, final.n_samples, guessed=guessed)
        self._store_decision(halving.task, decision)

    def _store_models(self, ensemble: AveragedModels) -> None:
        self._ensemble, self.weights_ = ensemble, ensemble.weights
        self.best_estimator_ = ensemble.models[0] if len(ensemble.models) == 1 else ensemble.models

    def _explain(self, selected: Selected, mixture: Mixture, lines: list[str]) -> None:
        """Store which candidates were selected and why, followed by further lines."""
        measure, data, runs = self.measure_, selected.halving.data, selected.outcome.runs
        shown = show_runs(runs, mixture, measure, self._n_judged)
        self._records = make_records(runs, shown, selected.absent)
        of_fold_models = float(show_value(measure, self._decision.expected_score, self._n_judged))
        expected = Expectation(self.expected_score_, self.expected_score_interval_, of_fold_models)
        positive = selected.halving.task.describe_positive_class(data.target)
        reasons = explain_selection(measure, runs, shown, expected, len(data.y), positive)
        self._explanation = "\n".join([reasons, *explain_absence(selected.absent), *lines])

    def _store_decision(self, task: Task, decision: Decision) -> None:
        super()._store_decision(task, decision)
        self._store_expectation(
            self._extrapolation(decision.expected_score), self._extrapolation.interval(*decision.expected_interval)
        )

    def _report_progress(self, text: str) -> bool:
        _LOG.info(text)
        return bool(self.callback is not None and self.callback(text))

    # ------------------------------------------------------------------------------------------------------ prediction

    def _scores(self, X: Any) -> Floats:
        if is_chunked(X):
            valid = store(validate_samples(self, X, reset=False, chunks=True))
            return valid.score(partial(self._ensemble.scores, self._task), np.arange(X.shape[0]))
        return self._ensemble.scores(self._task, self._validate_samples(X, reset=False))

    def predict_proba(self, X: Any) -> Any:
        """Return probabilities, calibrated out of fold; they do not depend on the threshold.

        Parameters
        ----------
        X : samples
            New samples; also a Dask collection.

        Returns
        -------
        array of shape (n_samples, n_classes) or (n_samples, n_labels)
            For a Dask collection, a lazy one with the same chunks.
        """
        check_is_fitted(self, "measure_")
        if is_dask(X):
            return lazy_probabilities(self._for_chunks(), X)
        return self._calibrated_probabilities(X)

    # --------------------------------------------------------------------------------------------------------- reasons

    @property
    def leaderboard_(self) -> Any:
        """A data frame with one row per candidate (needs pandas)."""
        check_is_fitted(self, "measure_")
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError("leaderboard_ is a pandas data frame: pip install pandas, or read explain()") from error
        return pd.DataFrame(self._records)

    def _extrapolate_interval(self, interval: tuple[float, float]) -> tuple[float, float]:
        return self._extrapolation.interval(*interval)

    def _copy_with(self, decision: Decision) -> Self:
        adapted = super()._copy_with(decision)
        adapted._explanation = mention_adaptation(self._explanation, decision)
        return adapted

    def _note_new_threshold(self) -> None:
        self._explanation = mention_new_threshold(self._explanation, self.threshold_)

    def explain(self) -> str:
        """Return which candidates were selected and why, as text.

        Returns
        -------
        str
            Several lines: data, candidates, what was selected and what it is expected to reach.
        """
        check_is_fitted(self, "measure_")
        return self._explanation
