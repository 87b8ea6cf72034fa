"""The multivariate support vector machine trained through smooth objectives."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, cast

import numpy as np

from metricwise._sklearn import StrOptions
from metricwise.estimators.svm.base import BatchClassifier
from metricwise.estimators.svm.fallback import plan_accuracy_by_cutting_planes
from metricwise.estimators.svm.training import TrainingData, TrainingPlan
from metricwise.measures import Measure
from metricwise.results import Result
from metricwise.solvers import Smoothing
from metricwise.solvers.loop import Callback
from metricwise.solvers.smoothing import Method


class SmoothedSVC(BatchClassifier):
    r"""Linear classifier for a measure of all labels together, trained by smoothing (Zhang et al. 2012).

    Minimises the objective of `MultivariateSVC`, ``1/2 |w|^2 + C u R(w)`` with the same scale of C, to the same
    tolerance, by other means: R is replaced by a function with a gradient, which is minimised and brought nearer to R
    until the duality gap is small enough.

    Parameters
    ----------
    measure : str or Measure, default="prbep"
        What to train for: "accuracy", "balanced_accuracy", "prbep", "recall_at_k" (for k not below the number of
        positives) or "roc_auc". The losses of other measures, such as "f1" and "average_precision", are not linear in
        the shares of mislabelled samples or pairs and have no smooth version that is as cheap; `MultivariateSVC` takes
        them.
    C : float, default=1.0
        Cost of one mistake; smaller values regularise more.
    method : {"lbfgs", "accelerated"}, default="lbfgs"
        How smooth objectives are minimised: L-BFGS, or Nesterov's accelerated gradients.
    threshold : {"cv", "train"} or float, default="cv"
        Where scores are cut into labels. "cv" selects the best threshold for the measure on out-of-fold scores, exact
        over all of them; "train" on the training scores; a number is used as it is (0.0 reproduces the paper). For
        measures that fix the number of predicted positives, the threshold selects the same fraction of the samples; for
        areas under ROC curves, which do not depend on it, the one with the best balanced accuracy.
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
        Weights of the classes; they multiply the sample weights. In the area under the ROC curve they cancel.
    multi_class : {"ovr", "off"} or None, default="ovr"
        One binary problem per class (one class vs the rest); "off" or None: an error for more than two classes.
    pos_label : label, optional
        The positive class of two; by default 1 of the classes 0 and 1, -1 and 1, or booleans. Of others it has to be
        named, unless the measure treats both alike (accuracy, G-mean, ROC area, ...).
    cv : int, splitter or iterable of splits, optional
        Folds of the out-of-fold scores. By default five that keep equal samples together.
    n_jobs : int, optional
        Threads for the products with the data. None and -1 mean all cores this process may use. Results do not
        depend on it.
    random_state : int, RandomState instance or None, default=0
        Seeds the folds.
    callback : callable, optional
        Called with a `HistoryEntry` after every iteration of the final training; a true answer stops it.
    verbose : int or None, default=None
        Progress of training that takes more than two seconds: a bar on terminals and in notebooks (None), also lines
        where standard error is neither (1), or nothing (0).

    Attributes
    ----------
    coef_ : array of shape (1, n_features) or (n_classes, n_features)
        Weights of the features, signed towards ``classes_[1]`` in a binary problem.
    intercept_ : array of shape (1,) or (n_classes,)
        Constant terms of the scores.
    threshold_ : float or array of shape (n_classes,)
        What `decision_function` subtracts from the scores; assign another to predict with it.
    classes_ : array
        Labels.
    measure_ : Measure
        What the model was trained for.
    n_iter_ : int
        Iterations, the most over the binary problems.
    result_ : SmoothedResult or list of SmoothedResult
        Certificate, history, status; a list in the order of ``classes_`` for more than two classes. ``smoothing`` is
        how far corners were rounded, in units of scores, where the lower bound was proved. Where no weights are better
        than w = 0 and the threshold is not a number, a weighted accuracy is trained for, with the threshold for the
        measure: a `Result` with a ``fallback``.
    n_features_in_, feature_names_in_
        Number and names of the features seen during `fit`.

    See Also
    --------
    MultivariateSVC : The same problem by cutting planes, for more measures and with kernels.
    metricwise.certify : Recomputes the certificate from data and model.

    Notes
    -----
    The objective is :math:`\tfrac12 \lVert w \rVert^2 + C\,u\,R(w)` with :math:`R(w) = \max_{y'} [\Delta(y', y) +
    \frac{1}{2u} \sum_i (y'_i - y_i) s_i]`, where :math:`\Delta` is 1 - measure, u the number of mistakes of a full
    loss, :math:`s_i` are scores and :math:`y_i = \pm 1` labels. The maximum over convex combinations of labellings,
    less m times a quadratic function of their shares, has a gradient [1]_; m falls with the gap.

    References
    ----------
    .. [1] X. Zhang, A. Saha and S. V. N. Vishwanathan (2012). Smoothing multivariate performance measures. *Journal
       of Machine Learning Research* 13, 3623-3680.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from metricwise import MultivariateSVC, SmoothedSVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> smoothed = SmoothedSVC("prbep", C=0.1).fit(scale(X), y)
    >>> planes = MultivariateSVC("prbep", C=0.1).fit(scale(X), y)
    >>> bool(abs(smoothed.result_.certificate.upper / planes.result_.certificate.upper - 1.0) < 1e-3)
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = BatchClassifier._parameter_constraints | {
        "method": [StrOptions({"lbfgs", "accelerated"})]
    }
    _degenerate_remedy = (
        "If C is very small, raise it. Otherwise train measure='roc_auc', or measure='accuracy' with "
        "class_weight='balanced', and choose the threshold for {measure!r}; more features also help"
    )

    def __init__(
        self,
        measure: str | Measure = "prbep",
        C: float = 1.0,
        *,
        method: str = "lbfgs",
        threshold: str | float = "cv",
        tol: float = 1e-3,
        max_iter: int = 10_000,
        max_seconds: float | None = None,
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        class_weight: dict[Any, float] | str | None = None,
        multi_class: str | None = "ovr",
        pos_label: Any = None,
        cv: Any = None,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = 0,
        callback: Callback | None = None,
        verbose: int | None = None,
    ) -> None:
        self.measure = measure
        self.C = C
        self.method = method
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
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.callback = callback
        self.verbose = verbose

    def _plan(self, measure: Measure, data: TrainingData) -> TrainingPlan:
        return replace(self._plan_cutting_planes(measure, self.C), solver=Smoothing(cast(Method, self.method)))

    @staticmethod
    def _plan_accuracy(plan: TrainingPlan, degenerate: Result) -> TrainingPlan:
        return plan_accuracy_by_cutting_planes(plan, degenerate)
