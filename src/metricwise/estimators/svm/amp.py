"""The alternate maximisation procedure as a scikit-learn classifier."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from metricwise._state import StoredState
from metricwise._typing import Floats
from metricwise.estimators.svm.base import BatchClassifier
from metricwise.estimators.svm.fallback import plan_accuracy_by_cutting_planes
from metricwise.estimators.svm.training import BinaryFit, TrainingData, TrainingPlan
from metricwise.measures import Measure
from metricwise.results import Result
from metricwise.solvers.amp import AMP, AmpResult
from metricwise.solvers.amp_problem import make_amp_problem
from metricwise.solvers.cutting_plane import CuttingPlane
from metricwise.solvers.loop import Callback


class AMPClassifier(BatchClassifier):
    r"""Linear classifier trained for a ratio of rates by alternate maximisation (Narasimhan, Kar and Jain 2015).

    F-beta, Jaccard, Gower-Legendre, Cohen's kappa and others are ratios of affine functions of the true positive and
    the true negative rate. With rewards min(1, score) in place of right labels, the ratio less ``1/2 |w|^2 / (C u)``
    in its numerator is maximised: the level that a classifier reaches is the challenge for the next one, which is a
    support vector machine with a cost for each class. The levels rise to the best one, fast and without a search
    over costs. For "accuracy" the result is that of ``LinearSVC(loss="hinge", C=C)``.

    Parameters
    ----------
    measure : str or Measure, default="f1"
        What to train for: a name from ``measure_names("AMPClassifier")``, a measure such as ``FBeta(2.0)``, or one of
        your own from ``contingency_measure(..., ratio=...)``. More right labels must never lower it.
    C : float, default=1.0
        Cost of one mistake, near perfect labels; smaller values regularise more. It is the C of
        `MultivariateSVC`: u is the number of mistakes that a full loss stands for.
    threshold : {"cv", "train"} or float, default="cv"
        Where scores are cut into labels. "cv" finds the best threshold for the measure on out-of-fold scores, exact
        over all of them; "train" on the training scores; a number is used as it is (0.0 reproduces the paper).
    tol : float, default=1e-3
        Training stops when the level is certified to be this near to the best one, as a share of the loss (1 minus the
        level) and of what was gained over w = 0.
    max_iter : int, default=100
        Most challenges.
    max_seconds : float, optional
        About how long `fit` may take, out-of-fold scores included.
    fit_intercept : bool, default=True
        Whether scores have a constant term.
    intercept_scaling : float, default=1.0
        Size of the constant feature whose weight is the intercept; the larger, the less it is regularised.
    class_weight : dict or "balanced", optional
        Weights of the classes; they multiply the sample weights, and change the rates' share in the measure.
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
        Seeds the sample that large problems start from and the folds.
    callback : callable, optional
        Called with a `HistoryEntry` after every challenge of the final training; a true answer stops it.
    checkpoint : str or Path, optional
        File to which the state of a linear training is written every half minute and if it fails, such as by the loss
        of a cluster; with the same parameters and data, `fit` goes on from it. Removed when training is finished.
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
    challenge_levels_ : array or list of array
        The regularised ratio of w = 0, then of the weights after every challenge; they never fall. A list in the order
        of ``classes_`` for more than two classes.
    n_iter_ : int
        Challenges, the most over the binary problems.
    result_ : Result or list of Result
        Certificate (bounds of 1 minus the best level that any weights reach), history, status; a list in the order of
        ``classes_`` for more than two classes. Where no weights are better than w = 0 and the threshold is not a
        number, a weighted accuracy is trained for, with the threshold for the measure: see its ``fallback``.
    n_features_in_, feature_names_in_
        Number and names of the features seen during `fit`.

    See Also
    --------
    MultivariateSVC : Takes other measures, too, and bounds the loss of all labels together.
    metricwise.certify : Recomputes the certificate from data and model.

    Notes
    -----
    With P the mean of :math:`\min(1, s_i)` over the positives and N that of :math:`\min(1, -s_i)` over the negatives,
    Algorithm 2 of [1]_ maximises

    .. math::

       M(w) = \frac{a_0 + a_1 P + a_2 N - \tfrac{1}{2 C u} \lVert w \rVert^2}{b_0 + b_1 P + b_2 N}.

    At the challenge level v, the next weights solve a support vector machine in which a positive costs :math:`C u (a_1
    - v b_1) / n_+` and a negative :math:`C u (a_2 - v b_2) / n_-`.

    References
    ----------
    .. [1] H. Narasimhan, P. Kar and P. Jain (2015). Optimizing non-decomposable performance measures: a tale of two
       classes. *Proceedings of the 32nd International Conference on Machine Learning*, 199-208.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from metricwise import AMPClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), AMPClassifier("f1", C=0.1)).fit(X, y)
    >>> model.score(X, y) > 0.98
    True
    >>> model[-1].challenge_levels_[:3].round(2)
    array([0.  , 0.82, 0.94])
    """

    __stored_state__: ClassVar[StoredState] = BatchClassifier.__stored_state__.extend("challenge_levels_")
    _degenerate_remedy = (
        "If C is very small, raise it. Otherwise fit an intercept, or train MultivariateSVC with measure='roc_auc' and "
        "choose the threshold for {measure!r}"
    )

    def __init__(
        self,
        measure: str | Measure = "f1",
        C: float = 1.0,
        *,
        threshold: str | float = "cv",
        tol: float = 1e-3,
        max_iter: int = 100,
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
        checkpoint: str | Path | None = None,
        verbose: int | None = None,
    ) -> None:
        self.measure = measure
        self.C = C
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
        self.checkpoint = checkpoint
        self.verbose = verbose

    def _plan(self, measure: Measure, data: TrainingData) -> TrainingPlan:
        plan = self._plan_cutting_planes(measure, self.C)
        return replace(plan, solver=AMP(inner=CuttingPlane(seed=plan.seed)), make_problem=make_amp_problem)

    @staticmethod
    def _plan_accuracy(plan: TrainingPlan, degenerate: Result) -> TrainingPlan:
        return plan_accuracy_by_cutting_planes(plan, degenerate)

    def _store(self, plan: TrainingPlan, fits: Sequence[BinaryFit]) -> None:
        super()._store(plan, fits)
        fallbacks = [fit.result.fallback for fit in fits]
        results = [fit.result if one is None else one.degenerate for fit, one in zip(fits, fallbacks, strict=True)]
        levels = [np.array(result.levels) for result in results if isinstance(result, AmpResult)]
        self.challenge_levels_: Floats | list[Floats] = levels[0] if len(levels) == 1 else levels
