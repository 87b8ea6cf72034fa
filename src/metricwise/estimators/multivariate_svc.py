"""The multivariate support vector machine as a scikit-learn classifier."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, Options, StrOptions
from sklearn.utils.validation import check_is_fitted, check_random_state, validate_data

from metricwise.designs import Design, make_design
from metricwise.estimators.catalog import check_trainable
from metricwise.estimators.folds import merge_copies, split_rows
from metricwise.estimators.targets import classes_of, positive_class, row_weights
from metricwise.inference import best_threshold, fraction_threshold
from metricwise.measures import BalancedAccuracy, HasMulticlassValue, HasViolatedLabelling, Measure, get_measure
from metricwise.measures.base import CountsTable, CountsTopRows, RanksPairs, RestrictsLabellings
from metricwise.results import DegenerateOptimumWarning, Result, Status
from metricwise.solvers import CuttingPlane, Limits, MultivariateProblem, make_problem, run
from metricwise.solvers.cutting_plane import CuttingPlaneState
from metricwise.threads import available_threads

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

# Copies of rows are merged into weights where that costs nothing, so that a row of weight two and the same row twice
# give the same numbers to the last digit. On large data both end within the tolerance, and unit weights are faster.
_MOST_ROWS_TO_MERGE = 2000


class MultivariateSVC(ClassifierMixin, BaseEstimator):
    """Linear classifier trained for a measure of all labels together (Joachims 2005).

    Minimises ``1/2 |w|^2 + C u R(w)``, where R is a convex upper bound of the training loss 1 - measure and u the
    number of mistakes that a full loss stands for; C is therefore the price of one mistake, whatever the measure. For
    "accuracy" the objective is that of ``LinearSVC(loss="hinge", C=C)``.

    Parameters
    ----------
    measure : str or Measure, default="f1"
        What to train for: a name from `metricwise.measure_names` or a measure such as ``FBeta(2.0)``.
    C : float, default=1.0
        The price of one mistake; smaller values regularise more.
    kernel : {"linear"}, default="linear"
        Only linear classifiers so far.
    threshold : {"cv", "train"} or float, default="cv"
        Where scores are cut into labels. "cv" finds the best threshold for the measure on out-of-fold scores, exact
        over all of them; "train" on the training scores; a number is used as it is (0.0 reproduces the paper). For
        measures that fix the number of predicted positives, the threshold selects the same fraction of the rows; for
        ROC area, which does not depend on it, the one with the best balanced accuracy.
    tol : float, default=1e-3
        Relative duality gap at which training stops.
    max_iter : int, default=10000
        Most iterations.
    max_seconds : float, optional
        About how long `fit` may take, out-of-fold scores included.
    fit_intercept : bool, default=True
        Whether scores have a constant term.
    intercept_scaling : float, default=1.0
        Size of the constant feature whose weight is the intercept; the larger, the less it is regularised.
    class_weight : dict or "balanced", optional
        Weights of the classes; they multiply the sample weights.
    multi_class : {"ovr", "off"} or None, default="ovr"
        One binary problem a class against the rest; "off" or None: an error for more than two classes.
    pos_label : label, optional
        The positive class of a binary problem; the greater label by default.
    cv : int, splitter or iterable of splits, optional
        Folds of the out-of-fold scores. By default five that keep equal rows together.
    warm_start : bool, default=False
        Go on from the last fit: from its cuts if the data are the same (whatever C, tol and the limits are now), else
        from the points at which they were found.
    n_jobs : int, optional
        Threads for the products with the data. None and -1 mean all cores this process may use. Results do not
        depend on it.
    random_state : int, RandomState instance or None, default=0
        Seeds the sample that large problems start from and the folds.
    callback : callable, optional
        Called with a `HistoryEntry` after every iteration of the final training; a true answer stops it.

    Attributes
    ----------
    coef_ : array of shape (1, n_features) or (n_classes, n_features)
        Weights of the features, signed towards ``classes_[1]`` in a binary problem.
    intercept_ : array of shape (1,) or (n_classes,)
        Constant terms of the scores.
    threshold_ : float or array of shape (n_classes,)
        What `decision_function` subtracts from the scores.
    classes_ : array
        Labels.
    measure_ : Measure
        What was trained for.
    n_iter_ : int
        Iterations, the most over the binary problems.
    result_ : Result or list of Result
        Certificate, history, status; a list in the order of ``classes_`` for more than two classes.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    See Also
    --------
    metricwise.certify : Recomputes the certificate from data and model.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from metricwise import MultivariateSVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), MultivariateSVC("f1", C=0.1)).fit(X, y)
    >>> model.score(X, y) > 0.98
    True
    >>> model[-1].result_.status.value
    'optimal'
    """

    needs = HasViolatedLabelling

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "measure": "no_validation",
        "C": [Interval(Real, 0.0, None, closed="neither")],
        "kernel": [StrOptions({"linear"})],
        "threshold": [StrOptions({"cv", "train"}), Interval(Real, None, None, closed="neither")],
        "tol": [Interval(Real, 0.0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "max_seconds": [Interval(Real, 0.0, None, closed="neither"), None],
        "fit_intercept": ["boolean"],
        "intercept_scaling": [Interval(Real, 0.0, None, closed="neither")],
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "multi_class": [StrOptions({"ovr", "off"}), None],
        "pos_label": "no_validation",
        "cv": ["cv_object"],
        "warm_start": ["boolean"],
        "n_jobs": [Interval(Integral, 1, None, closed="left"), Options(Integral, {-1}), None],
        "random_state": ["random_state"],
        "callback": [callable, None],
    }

    def __init__(
        self,
        measure: str | Measure = "f1",
        C: float = 1.0,
        *,
        kernel: str = "linear",
        threshold: str | float = "cv",
        tol: float = 1e-3,
        max_iter: int = 10_000,
        max_seconds: float | None = None,
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        class_weight: Any = None,
        multi_class: str | None = "ovr",
        pos_label: Any = None,
        cv: Any = None,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: Any = 0,
        callback: Any = None,
    ) -> None:
        self.measure = measure
        self.C = C
        self.kernel = kernel
        self.threshold = threshold
        self.tol = tol
        self.max_iter = max_iter
        self.max_seconds = max_seconds
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.multi_class = multi_class
        self.pos_label = pos_label
        self.cv = cv
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.callback = callback

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_class = self.multi_class == "ovr"
        return tags

    # ------------------------------------------------------------------------------------------------------- training

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_rows, n_features)
            Dense and CSR input is used as it is, in single or double precision, and never copied.
        y : array of shape (n_rows,)
            Labels.
        sample_weight : array of shape (n_rows,), optional
            A row of weight 2 counts as two such rows, one of weight 0 as absent.

        Returns
        -------
        self
        """
        self._validate_params()
        measure = get_measure(self.measure)
        check_trainable(measure, type(self).__name__)
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_min_samples=2)
        weights = row_weights(X, y, sample_weight, self.class_weight)
        classes = classes_of(y, weights)
        problems = [(positive, weights) for positive in self._positives(y, classes)]
        random = check_random_state(self.random_state)
        seed = int(random.randint(2**31 - 1))
        training = _Training(self, measure, X, self._design(X), seed=seed, n_problems=len(problems))
        fits = [training.fit(k, *problem) for k, problem in enumerate(problems)]
        # Only now, so that a failed fit leaves the model as it was.
        self.measure_, self.classes_ = measure, classes
        self._warm_states = training.states if self.warm_start else None
        self._store(fits)
        self._warn([result for result, _ in fits], training.too_few_for_folds)
        return self

    def binary_problems(self, y: Any, sample_weight: Any = None) -> list[tuple[Mask, Floats]]:
        """Return the positives and the weights of the rows for each binary problem that training consists of."""
        check_is_fitted(self, "result_")
        y = np.asarray(y)
        weights = row_weights(y, y, sample_weight, self.class_weight)
        return [(positive, weights) for positive in self._positives(y, self.classes_)]

    def _positives(self, y: NDArray[Any], classes: NDArray[Any]) -> list[Mask]:
        if classes.size == 2:
            return [y == positive_class(classes, self.pos_label)]
        if self.multi_class != "ovr":
            raise ValueError(
                f"Only binary classification is supported with multi_class={self.multi_class!r}, but y has "
                f"{classes.size} classes: set multi_class='ovr' to train one classifier a class"
            )
        return [y == label for label in classes]

    @property
    def intercept_value(self) -> float:
        """Size of the constant feature; 0 if there is none, as for ROC area, which does not see it."""
        sees_it = not isinstance(get_measure(self.measure), RanksPairs)
        return float(self.intercept_scaling) if self.fit_intercept and sees_it else 0.0

    def _design(self, X: Any) -> Design:
        threads = available_threads() if self.n_jobs in (None, -1) else int(self.n_jobs)
        return make_design(X, intercept=self.intercept_value, threads=threads)

    @property
    def _sign(self) -> float:
        """-1 if the positives of a binary problem are classes_[0], since scores must point to classes_[1]."""
        binary = self.classes_.size == 2
        return -1.0 if binary and positive_class(self.classes_, self.pos_label) == self.classes_[0] else 1.0

    def _store(self, fits: list[tuple[Result, float]]) -> None:
        weights = self._sign * np.array([result.weights for result, _ in fits])
        constant = self.intercept_value
        self.coef_ = weights[:, :-1] if constant else weights
        self.intercept_ = constant * weights[:, -1] if constant else np.zeros(len(fits))
        thresholds = self._sign * np.array([threshold for _, threshold in fits])
        self.threshold_ = float(thresholds[0]) if len(fits) == 1 else thresholds
        self.n_iter_ = max(result.n_iter for result, _ in fits)
        self.result_ = fits[0][0] if len(fits) == 1 else [result for result, _ in fits]

    def _warn(self, results: list[Result], too_few_for_folds: bool) -> None:
        """Say once what a user should know of the training."""
        if too_few_for_folds:
            warnings.warn(
                "threshold='cv' needs at least two distinct rows of each class in training and rows held out: the "
                "threshold was chosen on the training scores instead. Collect more rows of the rare class, or set "
                "threshold='train' or a number",
                UserWarning,
                stacklevel=3,
            )
        statuses = [result.status for result in results]
        unfinished = {
            Status.MAX_ITER: "increase max_iter",
            Status.MAX_SECONDS: "increase max_seconds",
            Status.STALLED: "scale the features to comparable size (StandardScaler) or lower C",
        }
        for status, remedy in unfinished.items():
            if status in statuses:
                worst = max(result.certificate.relative for result in results)
                warnings.warn(
                    f"training stopped ({status.value}) at a relative duality gap of {worst:.2g}, above "
                    f"tol={self.tol:g}: {remedy}, or accept the gap by a larger tol",
                    ConvergenceWarning,
                    stacklevel=3,
                )
        if Status.DEGENERATE in statuses:
            warnings.warn(
                f"the surrogate of {self.measure_.name!r} is degenerate on these data: no weights are better than "
                "w = 0, so the scores carry little information. If C is very small, raise it. Otherwise train "
                "measure='roc_auc', or measure='accuracy' with class_weight='balanced', and choose the threshold for "
                f"{self.measure_.name!r}; more features also help",
                DegenerateOptimumWarning,
                stacklevel=3,
            )

    # ----------------------------------------------------------------------------------------------------- prediction

    def decision_function(self, X: Any) -> Floats:
        """Return scores minus `threshold_`: above zero means ``classes_[1]`` in a binary problem.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_rows, n_features)
            New rows.

        Returns
        -------
        array of shape (n_rows,) or (n_rows, n_classes)
        """
        check_is_fitted(self, "result_")
        X = validate_data(self, X, reset=False, accept_sparse="csr", dtype=[np.float64, np.float32])
        design = make_design(X, threads=available_threads())
        scores = np.column_stack([design.scores(w) for w in self.coef_]) + self.intercept_ - self.threshold_
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X: Any) -> NDArray[Any]:
        """Return labels.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_rows, n_features)
            New rows.

        Returns
        -------
        array of shape (n_rows,)
        """
        scores = self.decision_function(X)
        labels: NDArray[Any] = self.classes_[(scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)]
        return labels

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the measure the model was trained for.

        For more than two classes it is the measure's own multi-class value where there is one (accuracy, balanced
        accuracy, Matthews' and Cohen's coefficients), else the mean over one-versus-rest problems.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_rows, n_features)
            Rows.
        y : array of shape (n_rows,)
            Their labels.
        sample_weight : array of shape (n_rows,), optional
            Weights of the rows.
        """
        scores = self.decision_function(X)
        y = np.asarray(y)
        if scores.ndim == 1:
            positive = positive_class(self.classes_, self.pos_label)
            scores = self._sign * scores
            response = scores if self.measure_.response == "scores" else self.predict(X) == positive
            return float(self.measure_.score(y == positive, response, sample_weight))
        labels = self.classes_[scores.argmax(axis=1)]
        if isinstance(self.measure_, HasMulticlassValue):
            return float(self.measure_.multiclass_score(y, labels, sample_weight))
        by_scores = self.measure_.response == "scores"
        values = [
            self.measure_.score(y == label, scores[:, k] if by_scores else labels == label, sample_weight)
            for k, label in enumerate(self.classes_)
        ]
        return float(np.mean(values))


class _Training:
    """The binary trainings of one call of `fit`."""

    def __init__(
        self, model: MultivariateSVC, measure: Measure, X: Any, design: Design, seed: int, n_problems: int
    ) -> None:
        self.model, self.measure, self.X, self.design, self.seed = model, measure, X, design, seed
        self.solver = CuttingPlane(seed=seed)
        self.n_problems = n_problems
        self.too_few_for_folds = False
        states = getattr(model, "_warm_states", None) if model.warm_start else None
        self.states: dict[int, tuple[int, CuttingPlaneState]] = dict(states or {})

    def fit(self, k: int, positive: Mask, weights: Floats) -> tuple[Result, float]:
        """Solve one binary problem and choose its threshold."""
        rows = np.flatnonzero(weights > 0.0)
        splits = self._splits(positive, weights) if self.model.threshold == "cv" else []
        limits = self._limits(n_runs=len(splits) + 1)
        problem = self._problem(rows, positive, weights, self.measure)
        result, state = run(
            self.solver, problem, limits, self._start(k, rows, positive, weights, problem), self.model.callback
        )
        if self.model.warm_start:
            self.states[k] = (self._fingerprint(rows, positive, weights), state)
        return result, self._threshold(result.weights, rows, positive, weights, splits, limits)

    def _problem(
        self, rows: NDArray[np.int64], positive: Mask, weights: Floats, measure: Measure
    ) -> MultivariateProblem:
        whole = bool(np.all(weights[rows] == np.floor(weights[rows])))
        if whole and rows.size <= _MOST_ROWS_TO_MERGE:
            rows, merged = merge_copies(self.design.take(rows), rows, positive[rows], weights[rows])
        else:
            merged = weights[rows]
        return make_problem(self.design.take(rows), positive[rows], measure, self.model.C, merged)

    def _limits(self, n_runs: int) -> Limits:
        seconds = self.model.max_seconds
        share = None if seconds is None else seconds / (n_runs * self.n_problems)
        return Limits(tol=self.model.tol, max_iter=self.model.max_iter, max_seconds=share)

    def _fingerprint(self, rows: NDArray[np.int64], positive: Mask, weights: Floats) -> int:
        content = self.design.take(rows).fingerprints().tobytes() + positive[rows].tobytes() + weights[rows].tobytes()
        return hash((content, self.measure, self.design.shape, self.model.intercept_value))

    def _start(
        self, k: int, rows: NDArray[np.int64], positive: Mask, weights: Floats, problem: Any
    ) -> CuttingPlaneState | None:
        if k not in self.states:
            return None
        fingerprint, state = self.states[k]
        if fingerprint == self._fingerprint(rows, positive, weights):
            return self.solver.init(problem, warm=state)
        if state.w.size != problem.design.shape[1]:
            return None
        return self.solver.init_at(problem, state.cuts.witness().points)

    def _splits(self, positive: Mask, weights: Floats) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Return training and held-out rows of every fold, rows without weight left out."""
        with_weight = weights > 0.0
        rows = np.flatnonzero(with_weight)
        if self.model.cv is None or isinstance(self.model.cv, Integral):
            found = split_rows(self.model.cv, self.design.take(rows), None, positive[rows], self.seed)
            pairs = [(rows[train], rows[test]) for train, test in found or ()]
        else:
            found = split_rows(self.model.cv, self.design, self.X, positive, self.seed)
            pairs = [(train[with_weight[train]], test[with_weight[test]]) for train, test in found or ()]
        both_classes = all(0 < np.count_nonzero(positive[train]) < train.size for train, _ in pairs)
        if both_classes and any(test.size for _, test in pairs):
            return pairs
        self.too_few_for_folds = True
        return []

    def _threshold(
        self,
        w: Floats,
        rows: NDArray[np.int64],
        positive: Mask,
        weights: Floats,
        splits: list[tuple[NDArray[np.int64], NDArray[np.int64]]],
        limits: Limits,
    ) -> float:
        if not isinstance(self.model.threshold, str):
            return float(self.model.threshold)
        fraction = None
        if isinstance(self.measure, RestrictsLabellings):  # of all rows: fewer may be held out
            total = float(weights.sum())
            fraction = self.measure.predicted_positives(float(weights[positive].sum()), total) / total
        if splits:
            scores = np.concatenate([self._held_out_scores(*split, positive, weights, limits) for split in splits])
            rows = np.concatenate([test for _, test in splits])
        else:
            scores = self.design.take(rows).scores(w)
        return self._choose(positive[rows], scores, weights[rows], fraction)

    def _held_out_scores(
        self, train: NDArray[np.int64], test: NDArray[np.int64], positive: Mask, weights: Floats, limits: Limits
    ) -> Floats:
        n_pos = float(weights[positive].sum())
        measure = self.measure.relative_to(n_pos) if isinstance(self.measure, CountsTopRows) else self.measure
        result, _ = run(self.solver, self._problem(train, positive, weights, measure), limits)
        return self.design.take(test).scores(result.weights)

    def _choose(self, positive: Mask, scores: Floats, weights: Floats, fraction: float | None) -> float:
        """Return the threshold that suits the measure, or the wanted fraction of rows, on given scores."""
        if fraction is not None:
            return fraction_threshold(scores, fraction, weights)
        measure = self.measure if isinstance(self.measure, CountsTable) else BalancedAccuracy()
        return best_threshold(measure, positive, scores, weights).threshold
