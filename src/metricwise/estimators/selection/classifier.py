"""The front door: what fits the measure and the data is tried, the best is kept."""

from __future__ import annotations

import logging
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from scipy.special import expit, softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, check_random_state, column_or_1d, validate_data

from metricwise._sklearn import Interval, check_sample_weight, take_samples
from metricwise._typing import Floats
from metricwise.decisions.label_matrix import returned, validate_label_matrix
from metricwise.decisions.multiclass import averaged
from metricwise.decisions.out_of_fold import without_rows
from metricwise.decisions.targets import classes_of, positive_class
from metricwise.decisions.tasks import SeveralClasses, SeveralLabels, Task, TwoClasses
from metricwise.estimators.inputs import refuse_empty_frame, restore_on_error, validate_samples
from metricwise.estimators.selection.candidates import candidates_for
from metricwise.estimators.selection.clock import Clock
from metricwise.estimators.selection.ensemble import Averaging, Mixture, best_mixture
from metricwise.estimators.selection.explanation import explained, records
from metricwise.estimators.selection.halving import MARGIN, Heat, Race, Runner
from metricwise.estimators.selection.learning_curve import carried_on
from metricwise.estimators.selection.profile import Profile
from metricwise.measures import Measure, get_measure

_LOG = logging.getLogger("metricwise")


class MetricClassifier(ClassifierMixin, BaseEstimator):
    """Trains what fits the measure and the data, and keeps the best.

    Candidates race on growing parts of the samples, judged by the measure on samples that their models have not seen.
    The best of them, or the mean of the scores of several if that is better, is trained on all samples, with the
    threshold that serves the measure.

    Parameters
    ----------
    measure : str or Measure, default="f1"
        What predictions are judged by; averages such as "f1_macro" for several classes or labels.
    candidates : "auto", list of str or dict, default="auto"
        Who takes part: what fits; some of "logistic", "boosted_trees", "extra_trees", "linear_svm",
        "multivariate_svm", "auc_svm", "streams" and "rbf"; or a dictionary of your own classifiers by name.
    time_budget : float, optional
        Seconds for training; what would take longer is left out.
    cv : int, splitter or None, default=None
        Folds of all samples; 5 by default. Parts of the samples have 3.
    pos_label : label, optional
        The positive class of two; by default the last in order.
    n_jobs : int, optional
        Folds trained side by side.
    random_state : int, RandomState instance or None, default=0
        Seeds everything that is drawn.
    callback : callable, optional
        Called with a line of text after every candidate; the race ends if it returns True.

    Attributes
    ----------
    best_estimator_ : classifier or list
        What was chosen, trained on all samples; a list of classifiers whose scores are averaged if several were.
    weights_ : array
        Of the classifiers.
    threshold_ : float or array
        Above which scores are positive; see `decision_function`.
    expected_score_ : float
        The measure to expect on new samples: that of samples which neither models nor, for two classes, the threshold
        had seen, carried on to models of all samples where parts of the samples have shown how it grows.
    expected_score_interval_ : pair of float
        Where the measure of as many new samples lies with probability 0.9.
    leaderboard_ : data frame
        A line for every candidate: settings, measure out of fold with an interval, samples, seconds, weight in the
        result, and why it was dropped.
    classes_ : array
        Labels.
    measure_ : Measure
        The measure.

    See Also
    --------
    metricwise.PlugInClassifier : One learner of your own, with the threshold for the measure.

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
    Of 5 candidates, ... is chosen...
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "measure": "no_validation",
        "candidates": [str, list, tuple, dict],
        "time_budget": [Interval(Real, 0, None, closed="neither"), None],
        "cv": "no_validation",
        "pos_label": "no_validation",
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "callback": [callable, None],
    }

    def __init__(
        self,
        measure: str | Measure = "f1",
        *,
        candidates: Any = "auto",
        time_budget: float | None = None,
        cv: Any = None,
        pos_label: Any = None,
        n_jobs: int | None = None,
        random_state: Any = 0,
        callback: Callable[[str], Any] | None = None,
    ) -> None:
        self.measure = measure
        self.candidates = candidates
        self.time_budget = time_budget
        self.cv = cv
        self.pos_label = pos_label
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.callback = callback

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.classifier_tags.multi_label = True
        return tags

    # -------------------------------------------------------------------------------------------------------- training

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Let the candidates race and train the best.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            Samples; columns of a data frame may be categories, and numbers may be missing.
        y : array of shape (n_samples,) or (n_samples, n_labels)
            Classes, or zeros and ones for several labels.
        sample_weight : array of shape (n_samples,), optional
            Weights of the samples.

        Returns
        -------
        self
        """
        self._validate_params()
        clock, measure = Clock(self.time_budget), get_measure(self.measure)
        with restore_on_error(self):
            rows, target = self._checked(X, y)
            weights = check_sample_weight(sample_weight, target)
            kept = weights > 0.0
            cv = self.cv if kept.all() else without_rows(self.cv, rows, target, kept)
            some, uneven = np.flatnonzero(kept), None if sample_weight is None else weights[kept]
            self._task = self._make_task(take_samples(rows, some), target[some], uneven, measure)
            self._race(clock, cv)
            self._task.forget_rows()
        self.measure_ = measure
        return self

    def _checked(self, X: Any, y: Any) -> tuple[Any, Any]:
        rows = self._checked_rows(X, reset=True)
        if y is None:
            raise ValueError("MetricClassifier requires y to be passed, but the target y is None")
        self.sparse_labels_ = bool(issparse(y))
        given = y if self.sparse_labels_ else np.asarray(y)
        several = given.ndim == 2 and given.shape[1] > 1
        target = validate_label_matrix(given) if several else column_or_1d(given, warn=True)
        if len(target) != rows.shape[0]:
            raise ValueError(f"X has {rows.shape[0]} samples and y has {len(target)}: give a label for every sample")
        return rows, target

    def _checked_rows(self, X: Any, reset: bool) -> Any:
        refuse_empty_frame(X)
        if hasattr(X, "columns") and Profile.of(X).categorical:
            return validate_data(self, X, reset=reset, skip_check_array=True)
        return validate_samples(self, X, reset=reset, least=2 if reset else 1, missing=True)

    def _make_task(self, X: Any, y: NDArray[Any], weights: Floats | None, measure: Measure) -> Task:
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        if y.ndim == 2:
            averaged(measure, "labels")
            self.classes_ = np.arange(y.shape[1])
            return SeveralLabels(X, y, weights, measure, seed)
        self.classes_ = classes_of(y, np.ones(len(y)))
        if self.classes_.size == 2:
            return TwoClasses(X, y, weights, measure, seed, positive_class(self.classes_, self.pos_label))
        averaged(measure, "classes")
        return SeveralClasses(X, y, weights, measure, seed, self.classes_)

    def _race(self, clock: Clock, cv: Any) -> None:
        task = self._task
        two_classes = isinstance(task, TwoClasses)
        candidates = candidates_for(self.candidates, Profile.of(task.X), task.measure, two_classes, task.seed)
        race = Race(task, cv, self.n_jobs, clock, self._tell)
        runners, finalists, heat = race.run(candidates)
        mixture = best_mixture(task, heat, finalists)
        self._settle(mixture, finalists, heat, clock)
        self._records = records(runners, mixture)
        decision = self._decision
        self._explanation = explained(
            task.measure.name, runners, mixture, decision.expected, self.expected_score_interval_, len(task.y)
        )

    def _settle(self, mixture: Mixture, finalists: list[Runner], heat: Heat, clock: Clock) -> None:
        """Train what was chosen, on all samples if there is time for it, and choose its threshold."""
        task = self._task
        rows = np.arange(len(task.y))
        if sum(runner.last_seconds(rows.size) for runner in mixture.runners) * MARGIN > clock.left():
            rows = heat.rows
        models = [task.learn(runner.candidate.kept, rows) for runner in mixture.runners]
        calibrations = [runner.calibration for runner in mixture.runners]
        self._averaging = Averaging(models, calibrations, mixture.weights)
        self.best_estimator_ = models[0] if len(models) == 1 else models
        self.weights_ = mixture.weights
        probe = mixture.runners[0].probe
        by_folds = self._averaging.mean([runner.seen for runner in mixture.runners])
        by_whole = self._averaging.scores(task, take_samples(task.X, probe))
        decision = task.judged(task.decide(heat.held, mixture.scores), heat.held, mixture.scores, heat.sizes)
        self._decision = task.for_whole(decision, probe, by_folds, by_whole)
        self.threshold_ = self._decision.thresholds
        # Intervals of tables are wide enough; those of areas near one are not.
        self._carried = carried_on(finalists, rows.size, guessed=task.measure.response == "scores")
        self.expected_score_ = self._carried(self._decision.expected)
        self.expected_score_interval_ = self._carried.interval(*self._decision.expected_interval)

    def _tell(self, text: str) -> bool:
        _LOG.info(text)
        return bool(self.callback is not None and self.callback(text))

    # ------------------------------------------------------------------------------------------------------ prediction

    def decision_function(self, X: Any) -> Floats:
        """Return calibrated scores minus `threshold_`: log-odds, or log-probabilities of several classes.

        Parameters
        ----------
        X : samples
            New samples.

        Returns
        -------
        array of shape (n_samples,), (n_samples, n_classes) or (n_samples, n_labels)
        """
        margin: Floats = self._scores(X) - self.threshold_
        return margin if self._points_up else -margin

    def predict(self, X: Any) -> Any:
        """Return labels.

        Parameters
        ----------
        X : samples
            New samples.

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_labels)
        """
        scores = self._scores(X)
        found = self._task.predicted(scores, self._decision)
        if isinstance(self._task, TwoClasses):
            at = list(self.classes_).index(self._task.positive)
            return self.classes_[np.where(found, at, 1 - at)]
        return returned(found, self.sparse_labels_) if isinstance(self._task, SeveralLabels) else found

    def predict_proba(self, X: Any) -> Floats:
        """Return probabilities by calibrated scores; the threshold has no part in them.

        Parameters
        ----------
        X : samples
            New samples.

        Returns
        -------
        array of shape (n_samples, n_classes) or (n_samples, n_labels)
        """
        scores = self._scores(X)
        if isinstance(self._task, SeveralClasses):
            return np.asarray(softmax(scores, axis=1))
        chance = np.asarray(expit(scores))
        if isinstance(self._task, SeveralLabels):
            return chance
        columns = [1.0 - chance, chance]
        return np.column_stack(columns if self._points_up else columns[::-1])

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the measure of the predictions.

        Parameters
        ----------
        X : samples
            Samples.
        y : array
            Their labels.
        sample_weight : array of shape (n_samples,), optional
            Weights of the samples.
        """
        scores = self._scores(X)
        return self._task.score(y, scores, self._decision, sample_weight)

    @property
    def _points_up(self) -> bool:
        """Whether larger scores speak for the last class, as scikit-learn has it."""
        return not isinstance(self._task, TwoClasses) or bool(self._task.positive == self.classes_[1])

    def _scores(self, X: Any) -> Floats:
        check_is_fitted(self, "measure_")
        return self._averaging.scores(self._task, self._checked_rows(X, reset=False))

    # --------------------------------------------------------------------------------------------------------- reasons

    @property
    def leaderboard_(self) -> Any:
        """A data frame with a line for every candidate (needs pandas)."""
        check_is_fitted(self, "measure_")
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError("leaderboard_ is a pandas data frame: pip install pandas, or read explain()") from error
        return pd.DataFrame(self._records)

    def score_interval(self, n_samples: int | None = None, confidence: float = 0.9) -> tuple[float, float]:
        """Return where the measure of new samples lies with the given probability.

        Parameters
        ----------
        n_samples : int, optional
            How many new samples; by default so many that chance has no part in their measure.
        confidence : float, default=0.9
            The probability.
        """
        check_is_fitted(self, "measure_")
        if self._decision.evidence is None:
            raise ValueError(
                f"score_interval is for two classes and not for {self.measure_.name!r}; see expected_score_interval_"
            )
        return self._carried.interval(*self._decision.evidence.interval(confidence, n_samples))

    def explain(self) -> str:
        """Return what was chosen and why, in words."""
        check_is_fitted(self, "measure_")
        return self._explanation
