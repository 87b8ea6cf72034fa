"""Any classifier that takes sample weights made measure-aware by the prices of the classes."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils import indexable
from sklearn.utils.validation import column_or_1d

from metricwise._sklearn import HasMethods, Interval, StrOptions, count_samples
from metricwise.decisions.binary import Aim, aim_of
from metricwise.decisions.fitting import Binary
from metricwise.decisions.intervals import TableEvidence
from metricwise.decisions.out_of_fold import gives_probabilities
from metricwise.decisions.targets import positive_class, sample_weights_of, two_classes
from metricwise.estimators.inputs import refuse_dask, restore_on_error
from metricwise.estimators.wrappers.cost_sensitive.learners import WeightedLearner
from metricwise.estimators.wrappers.cost_sensitive.rounds import Rounds, best_trial
from metricwise.estimators.wrappers.plug_in import PlugInClassifier
from metricwise.measures import Measure, get_measure, registered_names
from metricwise.solvers.class_costs import NEEDS


class CostSensitiveClassifier(PlugInClassifier):
    """Any classifier that takes sample weights, trained with the class weights that a measure asks for.

    It begins as `PlugInClassifier`: the classifier as it is, with the best threshold. Each round then trains the
    classifier again with a price for the samples of each class, which the measure sets where the last round has come
    to, and chooses the threshold again. The best round is kept if held-out samples make it likely, by three in four,
    that it is better than the plug-in; otherwise this is the plug-in.

    Prices help a classifier that cannot follow the data everywhere (linear, shallow, strongly regularised): they move
    its attention to where the measure needs the boundary. One that estimates probabilities well does not need them.

    Parameters
    ----------
    estimator : classifier
        Its ``fit``, or that of the last step of a pipeline, takes ``sample_weight``; it has ``predict_proba`` or
        ``decision_function``.
    measure : str or Measure, default="f1"
        What predictions are judged by: a ratio of the rates ("f1", "jaccard", "cohen_kappa", ...) or a concave function
        of them ("g_mean", "h_mean", "q_mean", "min_rate").
    max_rounds : int, default=3
        Most rounds with prices. Each trains the classifier once a fold. With 0 this is `PlugInClassifier`.
    tol : float, default=0.05
        Rounds end when no price changes by more than this share.
    threshold : {"auto", "max", "bagged", "expected", "batch"}, default="auto"
        How thresholds are estimated; see `PlugInClassifier`.
    cv : int, splitter, iterable or None, default=None
        Folds, the same in all rounds; None and numbers make folds in which equal samples stay together, 5 by default.
    pos_label : label, optional
        The positive class; by default the last in order.
    n_jobs : int, optional
        Folds trained side by side.
    random_state : int, RandomState instance or None, default=0
        Seeds folds and resamples.

    Attributes
    ----------
    estimator_ : classifier
        The classifier, trained on all samples with the prices that were kept.
    prices_ : ClassCosts
        The weights of a positive (``pos``) and a negative (``neg``) sample in training; their mean over the samples is
        1, and both are 1 if the plug-in was kept.
    threshold_ : float
        The probability (or decision value) of ``estimator_`` above which a sample is positive.
    threshold_interval_ : pair of float
        Where 90 % of thresholds of resampled samples lie.
    expected_score_ : float
        The measure of held-out samples, never less than that of the plug-in.
    expected_score_interval_ : pair of float
        Where the measure of as many new samples as were held out lies with probability 0.9; see `score_interval`.
    history_ : tuple of Round
        Prices, measure of held-out samples and threshold of every round; the first is the plug-in.
    best_round_ : int
        The round that was kept, 0 for the plug-in.
    n_refits_ : int
        How often a classifier was trained.
    classes_ : array
        Labels.
    measure_ : Measure
        The measure.

    See Also
    --------
    metricwise.PlugInClassifier : The threshold alone, for any classifier and measure.
    metricwise.AMPClassifier : The same for linear models, to a certified optimum.

    Notes
    -----
    Linear models and networks with a parameter ``warm_start`` go on from their last round; trees are grown anew.

    `predict_proba` is the learner's own, of samples weighted by their prices.

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

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "estimator": [HasMethods(["fit"])],
        "measure": "no_validation",
        "max_rounds": [Interval(Integral, 0, None, closed="left")],
        "tol": [Interval(Real, 0.0, None, closed="left")],
        "threshold": [StrOptions({"auto", "max", "bagged", "expected", "batch"})],
        "cv": ["cv_object"],
        "pos_label": "no_validation",
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }

    # What a plug-in may also be, and this is not.
    prefit = False
    transductive = False
    __metadata_request__fit: ClassVar[dict[str, str]] = {}

    def __init__(
        self,
        estimator: Any,
        measure: str | Measure = "f1",
        *,
        max_rounds: int = 3,
        tol: float = 0.05,
        threshold: str = "auto",
        cv: Any = None,
        pos_label: Any = None,
        n_jobs: int | None = None,
        random_state: Any = 0,
    ) -> None:
        self.estimator = estimator
        self.measure = measure
        self.max_rounds = max_rounds
        self.tol = tol
        self.threshold = threshold
        self.cv = cv
        self.pos_label = pos_label
        self.n_jobs = n_jobs
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:  # type: ignore[override]  # not on a cluster
        """Train the classifier in rounds and keep the best.

        Parameters
        ----------
        X : array, data frame, sparse matrix or whatever the classifier takes, of n_samples samples
            Samples.
        y : array of shape (n_samples,)
            Two classes.
        sample_weight : array of shape (n_samples,), optional
            A sample of weight 2 counts as two such samples, one of weight 0 as absent. Prices multiply the weights.

        Returns
        -------
        self
        """
        self._validate_params()
        measure = get_measure(self.measure)
        aim = _checked_aim(measure)
        learner = WeightedLearner.of(self.estimator)
        gives_probabilities(self.estimator)
        refuse_dask(self, X)
        with restore_on_error(self):
            if y is None:
                raise ValueError("CostSensitiveClassifier requires y to be passed, but the target y is None")
            X, y = indexable(X, np.asarray(y))
            weights = None
            if sample_weight is not None:
                weights = sample_weights_of(np.empty((count_samples(X), 0)), y, sample_weight, None)
            classes = two_classes(y, weights, "CostSensitiveClassifier")
            fitting, y = self._fitting(X, column_or_1d(y, warn=True), weights)
            positive = positive_class(classes, self.pos_label)
            self._keep_best(Rounds(fitting, learner, aim, y, positive, self.max_rounds, self.tol))
            self.classes_, self.measure_ = classes, measure
        return self

    def _keep_best(self, rounds: Rounds) -> None:
        measure = rounds.aim.table
        assert measure is not None
        trials = rounds.run()
        best = best_trial(measure, trials)
        kept = trials[best]
        model = rounds.final_model(trials[: best + 1])
        found = Binary(model, rounds.of_model(kept, model), TableEvidence(measure, (kept.table,)))
        self._store_binary(found, rounds.fitting.probabilities)
        self.estimator_, self.prices_, self.best_round_ = model, kept.prices, best
        self.history_, self.n_refits_ = tuple(map(rounds.described, trials)), rounds.n_fits
        self._note_features(model)


def _checked_aim(measure: Measure) -> Aim:
    """Return what thresholds are chosen for; TypeError unless there are prices for the measure."""
    aim = aim_of(measure, None)
    if isinstance(measure, NEEDS) and aim.table is not None:
        return aim
    raise TypeError(
        f"measure {measure.name!r} is neither a ratio of the rates nor a concave function of them, so that it sets no "
        f"prices: use PlugInClassifier for it, or one of the measures {', '.join(registered_names(NEEDS))}"
    )
