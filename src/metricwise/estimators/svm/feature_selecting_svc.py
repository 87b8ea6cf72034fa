"""The multivariate support vector machine on few features, which it chooses itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted

from metricwise._state import StoredState
from metricwise._typing import Labels, Mask
from metricwise.estimators.svm.base import AT_LEAST_ONE, BatchClassifier
from metricwise.estimators.svm.training import BinaryFit, TrainingData, TrainingPlan
from metricwise.measures import Measure
from metricwise.raw_inputs import check_samples
from metricwise.solvers import CuttingPlane
from metricwise.solvers.feature_selection import FeatureSelection, SelectionResult
from metricwise.solvers.loop import Callback

_MOST_BY_DEFAULT = 100


class FeatureSelectingSVC(SelectorMixin, BatchClassifier):
    r"""Linear classifier for a measure of all labels together on at most so many features (Mao and Tsang 2013).

    Minimises the objective of `MultivariateSVC`, ``1/2 |w|^2 + C u R(w)``, over weights that are zero but for
    ``n_features`` of them. Which ones is chosen by two layers of cutting planes, that find the best choice of a convex
    relaxation; it also bounds what any other choice could reach. A classifier of two classes, and a transformer that
    keeps the chosen features.

    Parameters
    ----------
    measure : str or Measure, default="f1"
        What to train for: a name from `metricwise.measure_names` or a measure such as ``FBeta(2.0)``.
    n_features : int, optional
        The most features (B); by default half of them, but no more than 100.
    C : float, default=1.0
        Cost of one mistake; smaller values regularise more.
    threshold : {"cv", "train"} or float, default="cv"
        Where scores are cut into labels. "cv" selects the best threshold for the measure on out-of-fold scores, exact
        over all of them; "train" on the training scores; a number is used as it is (0.0 reproduces the paper). For
        measures that fix the number of predicted positives, the threshold selects the same fraction of the samples; for
        areas under ROC curves, which do not depend on it, the one with the best balanced accuracy. Every fold
        selects its own features.
    tol : float, default=1e-3
        Relative duality gap to which the weights of the chosen features are trained.
    max_iter : int, default=10000
        Most iterations of each training.
    max_seconds : float, optional
        About how long `fit` may take, out-of-fold scores included.
    fit_intercept : bool, default=True
        Whether scores have a constant term; it is not counted as a feature.
    intercept_scaling : float, default=1.0
        Size of the constant feature whose weight is the intercept; the larger, the less it is regularised.
    class_weight : dict or "balanced", optional
        Weights of the classes; they multiply the sample weights.
    pos_label : label, optional
        The positive class of two; by default 1 of the classes 0 and 1, -1 and 1, or booleans. Of others it has to be
        named, unless the measure treats both alike (accuracy, G-mean, ROC area, ...).
    cv : int, splitter or iterable of splits, optional
        Folds of the out-of-fold scores. By default five that keep equal samples together.
    n_jobs : int, optional
        Threads for the products with the data. None and -1 mean all cores this process may use. Results do not
        depend on it.
    random_state : int, RandomState instance or None, default=0
        Seeds the sample that large problems start from and the folds.
    callback : callable, optional
        Called with a `HistoryEntry` after every iteration of feature selection; a true answer stops it.
    verbose : int or None, default=None
        Progress of training that takes more than two seconds: a bar on terminals and in notebooks (None), also lines
        where standard error is neither (1), or nothing (0).

    Attributes
    ----------
    coef_ : array of shape (1, n_features)
        Weights of all features, zero for those not chosen, signed towards ``classes_[1]``.
    support_ : array of bool of shape (n_features,)
        Which features are selected.
    intercept_ : array of shape (1,)
        Constant term of the scores.
    threshold_ : float
        What `decision_function` subtracts from the scores; assign another to predict with it.
    classes_ : array
        Labels.
    measure_ : Measure
        What the model was trained for.
    n_iter_ : int
        Iterations of feature selection.
    result_ : SelectionResult
        ``certificate`` bounds the objective on the chosen features, ``selection`` that of every choice of as many;
        ``history`` has the objective of the best choice so far and the bound of all choices. ``columns`` are the
        numbers of the chosen features. Where the surrogate of the measure is degenerate and the threshold is not a
        number, features and weights are trained for a weighted accuracy, with the threshold for the measure: ``status``
        is then "fallback", and ``fallback`` holds the details.
    n_features_in_, feature_names_in_
        Number and names of the features seen during `fit`.

    See Also
    --------
    MultivariateSVC : The same on all features.
    metricwise.certify : Recomputes the certificate on the chosen features.

    Notes
    -----
    Over choices d of at most B features and weights of these, the objective is

    .. math::

       \min_{d \in \{0, 1\}^m,\; \sum_j d_j \le B} \; \min_w \; \tfrac12 \sum_j w_j^2 / d_j + C\,u\,R(w),

    where R is the surrogate of `MultivariateSVC` and u the number of mistakes of a full loss. The relaxation allows
    :math:`0 \le d_j \le 1`; its dual value is the lower bound for all choices.

    References
    ----------
    .. [1] Q. Mao and I. W. Tsang (2013). A feature selection method for multivariate performance measures. *IEEE
       Transactions on Pattern Analysis and Machine Intelligence* 35, 2051-2063.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from metricwise import FeatureSelectingSVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = FeatureSelectingSVC("f1", n_features=5, C=0.1).fit(scale(X), y)
    >>> model.transform(X).shape
    (569, 5)
    >>> model.score(scale(X), y) > 0.97
    True
    """

    multi_class: str | None = None  # one choice of features belongs to one problem

    __stored_state__: ClassVar[StoredState] = BatchClassifier.__stored_state__.extend("support_")
    _parameter_constraints: ClassVar[dict[str, Any]] = BatchClassifier._parameter_constraints | {
        "n_features": [AT_LEAST_ONE, None]
    }
    _degenerate_remedy = "If C is very small, raise it; otherwise raise n_features, or train measure='roc_auc'"

    def __init__(
        self,
        measure: str | Measure = "f1",
        n_features: int | None = None,
        C: float = 1.0,
        *,
        threshold: str | float = "cv",
        tol: float = 1e-3,
        max_iter: int = 10_000,
        max_seconds: float | None = None,
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        class_weight: dict[Any, float] | str | None = None,
        pos_label: Any = None,
        cv: Any = None,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = 0,
        callback: Callback | None = None,
        verbose: int | None = None,
    ) -> None:
        self.measure = measure
        self.n_features = n_features
        self.C = C
        self.threshold = threshold
        self.tol = tol
        self.max_iter = max_iter
        self.max_seconds = max_seconds
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.pos_label = pos_label
        self.cv = cv
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.callback = callback
        self.verbose = verbose

    def _positives(self, y: Labels, classes: Labels) -> list[Mask]:
        if classes.size > 2:
            raise ValueError(
                f"Only binary classification is supported by FeatureSelectingSVC, but y has {classes.size} classes: "
                "wrap it in sklearn.multiclass.OneVsRestClassifier, which chooses features for each class"
            )
        return super()._positives(y, classes)

    def _plan(self, measure: Measure, data: TrainingData) -> TrainingPlan:
        available = data.X.shape[1]
        most = min(max(available // 2, 1), _MOST_BY_DEFAULT) if self.n_features is None else int(self.n_features)
        if most > available:
            raise ValueError(f"n_features={most} exceeds the {available} features of X: choose at most {available}")
        plan = self._plan_cutting_planes(measure, self.C)
        return replace(plan, solver=FeatureSelection(most, CuttingPlane(seed=plan.seed)))

    def _store(self, plan: TrainingPlan, fits: Sequence[BinaryFit]) -> None:
        super()._store(plan, fits)
        result = fits[0].result
        assert isinstance(result, SelectionResult)
        self.support_ = np.zeros(self.n_features_in_, dtype=bool)
        self.support_[result.columns] = True

    def _get_support_mask(self) -> Mask:
        check_is_fitted(self, "result_")
        return self.support_

    def transform(self, X: Any) -> Any:
        """Return the selected features of samples.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        array, data frame or CSR matrix of shape (n_samples, n_selected_features)
            Their selected features.
        """
        return super().transform(check_samples(X))

    def inverse_transform(self, X: Any) -> Any:
        """Return samples with zeros in place of the features that were not selected.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_selected_features)
            The selected features of samples.

        Returns
        -------
        array or CSC matrix of shape (n_samples, n_features)
            Samples with all features.
        """
        return super().inverse_transform(check_samples(X))
