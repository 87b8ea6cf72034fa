"""The multivariate support vector machine as a scikit-learn classifier."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, Options, StrOptions
from sklearn.utils.validation import check_is_fitted, check_random_state, validate_data

from metricwise.designs import Design, make_design
from metricwise.estimators.catalog import check_trainable
from metricwise.estimators.linear import LinearClassifier
from metricwise.estimators.multivariate_training import Training
from metricwise.estimators.targets import classes_of, row_weights
from metricwise.measures import HasViolatedLabelling, Measure, get_measure
from metricwise.measures.base import RanksPairs
from metricwise.results import DegenerateOptimumWarning, Result, Status
from metricwise.threads import available_threads

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


class MultivariateSVC(LinearClassifier):
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
        training = Training(self, measure, X, self._design(X), seed=seed, n_problems=len(problems))
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

    @property
    def intercept_value(self) -> float:
        """Size of the constant feature; 0 if there is none, as for ROC area, which does not see it."""
        sees_it = not isinstance(get_measure(self.measure), RanksPairs)
        return float(self.intercept_scaling) if self.fit_intercept and sees_it else 0.0

    def _design(self, X: Any) -> Design:
        threads = available_threads() if self.n_jobs in (None, -1) else int(self.n_jobs)
        return make_design(X, intercept=self.intercept_value, threads=threads)

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
