"""The multivariate support vector machine as a scikit-learn classifier."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from numbers import Integral
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

from metricwise._sklearn import Interval, StrOptions
from metricwise._state import StoredState
from metricwise._typing import Floats, Labels
from metricwise.clusters import is_dask, running_client
from metricwise.decisions.targets import classes_of
from metricwise.designs.cluster.blocks import persist_blocks
from metricwise.designs.cluster.labelled import ClusterData
from metricwise.designs.cluster.source import DaskSource
from metricwise.designs.finite import LARGEST
from metricwise.designs.remote_design import LabelledData, LocalData, RemoteDesign
from metricwise.estimators.inputs import data_of_cluster, is_chunked, validate_samples
from metricwise.estimators.svm.base import KERNEL_ATTRIBUTES, BatchClassifier
from metricwise.estimators.svm.binned_training import fit_binned_problems
from metricwise.estimators.svm.joint_training import (
    check_offsets,
    fit_joint_problem,
    make_class_target,
    require_joint_losses,
)
from metricwise.estimators.svm.kernel import Kernel
from metricwise.estimators.svm.training import BinaryFit, BinaryTarget, TrainingData, TrainingPlan
from metricwise.estimators.svm.warm_start import WarmState
from metricwise.measures import Measure
from metricwise.measures.joint import find_joint_losses
from metricwise.registry import check_trainable
from metricwise.solvers.binned_cutting_plane import BinnedCuttingPlane
from metricwise.solvers.loop import Callback


class MultivariateSVC(BatchClassifier):
    r"""Linear classifier trained for a measure of all labels together (Joachims 2005).

    Minimises ``1/2 |w|^2 + C u R(w)``, where R is a convex upper bound of the training loss 1 - measure and u the
    number of mistakes that a full loss stands for; C is therefore the cost of one mistake, whatever the measure. For
    "accuracy" the objective is that of ``LinearSVC(loss="hinge", C=C)``.

    Parameters
    ----------
    measure : str or Measure, default="f1"
        What to train for: a name from `metricwise.measure_names` or a measure such as ``FBeta(2.0)``.
    C : float, default=1.0
        Cost of one mistake; smaller values regularise more.
    kernel : {"linear", "rbf", "poly", "sigmoid", "precomputed"} or callable, default="linear"
        "linear" is ``x'z``, "rbf" ``exp(-gamma |x - z|^2)``, "poly" ``(gamma x'z + coef0)^degree`` and "sigmoid"
        ``tanh(gamma x'z + coef0)``, as in `sklearn.svm.SVC`; with "precomputed", X is the kernel matrix. A callable
        takes two arrays of samples and returns the matrix of their kernel values.
    gamma : {"scale", "auto"} or float, default="scale"
        Coefficient of "rbf", "poly" and "sigmoid"; "scale" is 1 / (n_features * X.var()), "auto" 1 / n_features.
    degree : int, default=3
        Degree of "poly".
    coef0 : float, default=0.0
        Constant term of "poly" and "sigmoid".
    approximation : {"auto", "exact", "cpsp", "nystroem"}, default="auto"
        How a kernel is used. "exact" keeps the whole kernel matrix. The others look for the best function among the
        combinations of ``n_basis`` samples: "nystroem" draws them at random, half of them positives; "cpsp"
        (cutting-plane subspace pursuit) adds those that lower the objective. "auto" is exact up to 5000 samples and
        "cpsp" beyond; ``approximation_`` reports which.
    n_basis : int, optional
        Basis samples of an approximation; by default a tenth of the samples, at least 100 and at most 1000.
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
        Weights of the classes; they multiply the sample weights.
    multi_class : {"ovr", "joint", "off"} or None, default="ovr"
        For more than two classes: "ovr" trains one binary problem per class (one class vs the rest). "joint" trains the
        weights of all classes in one problem, for the measure of all of them: "accuracy" (the machine of Crammer and
        Singer), "balanced_accuracy", "min_rate", "f1_micro" or a `CostMatrix`; C is then the cost of the costliest
        mistake, the threshold one offset per class, and samples are in memory. "off" or None: an error.
    pos_label : label, optional
        The positive class of two; by default 1 of the classes 0 and 1, -1 and 1, or booleans. Of others it has to be
        named, unless the measure treats both alike (accuracy, G-mean, ROC area, ...).
    cv : int, splitter or iterable of splits, optional
        Folds of the out-of-fold scores. By default five that keep equal samples together.
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
    checkpoint : str or Path, optional
        File to which the state of a linear training is written every half minute and if it fails, such as by the loss
        of a cluster; with the same parameters and data, `fit` goes on from it. Removed when training is finished.
    score_bins : int, optional
        For linear models: count the scores of each class in so many bins, instead of sorting them. On a cluster, scores
        and labels then stay with the workers, and the process that calls `fit` needs memory for bins and features only.
        Bounds stay bounds of the exact problem: what bins leave open is part of the upper one, and
        ``result_.score_error`` is how much. Begin with 256; if they are too few, a warning says so. The
        threshold must be "train", the best one between bins, or a number; weights of samples or classes are not taken.
        None: every score is looked at.
    verbose : int or None, default=None
        Progress of training that takes more than two seconds: a bar on terminals and in notebooks (None), also lines
        where standard error is neither (1), or nothing (0).

    Attributes
    ----------
    coef_ : array of shape (1, n_features) or (n_classes, n_features)
        Weights of the features, signed towards ``classes_[1]`` in a binary problem; of linear models only.
    support_, support_vectors_, dual_coef_ : arrays
        With a kernel: indices of the samples that scores depend on, these samples, and their coefficients, one row per
        binary problem. The time of a prediction is proportional to their number.
    approximation_, gamma_
        With a kernel: how it was used, and gamma as a number.
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
    result_ : Result or list of Result
        Certificate, history, status; a list in the order of ``classes_`` for more than two classes, unless they are
        trained jointly: then there is one, whose weights are those of one class after the other. Where the surrogate
        of the measure is degenerate and the threshold is not a number, a weighted accuracy is trained for, with the
        threshold for the measure: ``status`` is then "fallback", and ``fallback`` holds the details.
    n_features_in_, feature_names_in_
        Number and names of the features seen during `fit`.

    See Also
    --------
    metricwise.certify : Recomputes the certificate from data and model.

    Notes
    -----
    With scores :math:`s_i` and labels :math:`y_i = \pm 1`, the objective is

    .. math::

       J(w) = \tfrac12 \lVert w \rVert^2 + C\,u\,R(w), \qquad
       R(w) = \max_{y'} \Bigl[ \Delta(y', y) + \frac{1}{2u} \sum_i (y'_i - y_i)\, s_i \Bigr],

    where :math:`\Delta` is 1 - measure and the maximum runs over all labellings, or over those that the measure allows
    (Optimization Problem 2 of [1]_). Sorted scores give R: for measures of the contingency table by Algorithm 2, for
    the ROC area by Algorithm 3. Cutting planes (Algorithm 1) minimise J until the relative duality gap is ``tol``.

    References
    ----------
    .. [1] T. Joachims (2005). A support vector method for multivariate performance measures. *Proceedings of the 22nd
       International Conference on Machine Learning*, 377-384.
    .. [2] T. Joachims and C.-N. J. Yu (2009). Sparse kernel SVMs via cutting-plane training. *Machine Learning* 76,
       179-193.
    .. [3] K. Crammer and Y. Singer (2001). On the algorithmic implementation of multiclass kernel-based vector
       machines. *Journal of Machine Learning Research* 2, 265-292. ``multi_class="joint"`` for the accuracy.

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

    __stored_state__: ClassVar[StoredState] = BatchClassifier.__stored_state__.extend(*KERNEL_ATTRIBUTES)
    _parameter_constraints: ClassVar[dict[str, Any]] = BatchClassifier._parameter_constraints | {
        "multi_class": [StrOptions({"ovr", "joint", "off"}), None],
        "warm_start": ["boolean"],
        "score_bins": [Interval(Integral, 2, None, closed="left"), None],
    }
    _warm_states: dict[int, WarmState] | None = None  # of the last fit with warm_start
    _degenerate_remedy = (
        "If C is very small, raise it. Otherwise train measure='roc_auc', or measure='accuracy' with "
        "class_weight='balanced', and choose the threshold for {measure!r}; more features also help"
    )

    def __init__(
        self,
        measure: str | Measure = "f1",
        C: float = 1.0,
        *,
        kernel: Kernel = "linear",
        gamma: str | float = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        approximation: str = "auto",
        n_basis: int | None = None,
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
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = 0,
        callback: Callback | None = None,
        checkpoint: str | Path | None = None,
        score_bins: int | None = None,
        verbose: int | None = None,
    ) -> None:
        self.measure = measure
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.approximation = approximation
        self.n_basis = n_basis
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
        self.checkpoint = checkpoint
        self.score_bins = score_bins
        self.verbose = verbose

    def _plan(self, measure: Measure, data: TrainingData) -> TrainingPlan:
        plan = replace(self._plan_cutting_planes(measure, self.C), kernel=self._make_kernel_space(data))
        return replace(plan, warm_states=self._warm_states or {}) if self.warm_start else plan

    def _store(self, plan: TrainingPlan, fits: Sequence[BinaryFit]) -> None:
        super()._store(plan, fits)
        states = {number: fit.warm_state for number, fit in enumerate(fits) if fit.warm_state is not None}
        self._warm_states = states or None

    # ------------------------------------------------------------------------------------------- all classes together

    def _check_measure(self, measure: Measure) -> None:
        if self.multi_class != "joint" or find_joint_losses(measure) is None:
            super()._check_measure(measure)

    def _trains_jointly(self, classes: Labels) -> bool:
        return self.multi_class == "joint" and classes.size > 2

    def _binary_targets(self, y: Labels, classes: Labels, weights: Floats) -> list[BinaryTarget]:
        return [] if self._trains_jointly(classes) else super()._binary_targets(y, classes, weights)

    def _fit_problems(
        self, plan: TrainingPlan, data: TrainingData, y: Labels, classes: Labels, weights: Floats
    ) -> list[BinaryFit]:
        if not self._trains_jointly(classes):
            check_trainable(plan.measure, self)
            return super()._fit_problems(plan, data, y, classes, weights)
        require_joint_losses(plan.measure)
        check_offsets(plan.measure, self.threshold)
        self._check_for_joint(data)
        return [fit_joint_problem(plan, data, make_class_target(y, classes, weights))]

    def _check_for_joint(self, data: TrainingData) -> None:
        """Raise a ValueError if a parameter, or the location of the samples, is for binary problems only."""
        unsupported = {
            "a kernel": self.kernel != "linear",
            "warm_start": self.warm_start,
            "checkpoint": self.checkpoint is not None,
            "samples on disk or on a cluster": is_chunked(data.X),
        }
        for what, is_asked_for in unsupported.items():
            if is_asked_for:
                raise ValueError(
                    f"multi_class='joint' does not take {what}: set multi_class='ovr', or train a linear model on "
                    "samples in memory, without warm_start and checkpoint"
                )

    # ----------------------------------------------------------------------------------------- scores seen through bins

    def _train(
        self, measure: Measure, X: Any, y: Any, sample_weight: Any, groups: Any, client: Any
    ) -> tuple[Labels, TrainingPlan, list[BinaryFit]]:
        if self.score_bins is None:
            return super()._train(measure, X, y, sample_weight, groups, client)
        self._check_for_bins(sample_weight)
        data, classes = self._locate_samples(X, y, client)
        self._check_positive_class(measure, classes, data.class_counts.sum(axis=0).tolist())
        plan = self._plan_cutting_planes(measure, self.C)
        plan = replace(plan, solver=BinnedCuttingPlane(seed=plan.seed))
        if self.checkpoint is not None:
            fingerprint = RemoteDesign(data, 0).fingerprint()
            plan = self._add_checkpoint(plan, self.checkpoint, data.n_samples, data.n_weights, fingerprint)
        labels = [int(np.argmax(positive)) for positive in self._positives(classes, classes)]
        return classes, plan, fit_binned_problems(plan, data, labels, int(self.score_bins))

    def _find_remedy(self) -> str:
        if self._trains_jointly(self.classes_):
            return "If C is very small, raise it. Otherwise train measure='balanced_accuracy'; more features also help"
        if self.score_bins is None:
            return super()._find_remedy()
        remedy = "Set score_bins=None and threshold='cv', which train for a weighted accuracy instead."
        return f"{remedy} {self._degenerate_remedy}"

    def _check_for_bins(self, sample_weight: Any) -> None:
        """Raise a ValueError if a parameter needs scores that histograms do not contain."""
        if self.kernel != "linear":
            raise ValueError("score_bins is for linear models: set kernel='linear', or score_bins=None")
        if self.threshold == "cv":
            raise ValueError(
                "threshold='cv' needs the scores of all samples in one process, which score_bins avoids: set "
                "threshold='train' or a number, or score_bins=None"
            )
        if sample_weight is not None or self.class_weight is not None:
            raise ValueError(
                "score_bins counts samples, and takes no weights: leave out sample_weight and class_weight, or set "
                "score_bins=None"
            )
        if self.warm_start:
            raise ValueError(
                "warm_start needs the scores of the last fit, which score_bins keeps with the samples: set one"
            )

    def _locate_samples(self, X: Any, y: Any, client: Any) -> tuple[LabelledData, Labels]:
        """Return the samples with their labels, where they are, and the classes."""
        if not is_dask(X):
            X, y, _ = data_of_cluster(self, X, y, None, client)
            X, y = validate_samples(self, X, y, least=2, chunks=True, largest=LARGEST)
            classes = classes_of(y, np.ones(len(y)))
            return LocalData(self._make_design(X), np.searchsorted(classes, y)), classes
        blocks = persist_blocks(X, running_client(client))
        data = ClusterData(blocks, X, y, self.intercept_value, self._n_threads)
        validate_samples(self, DaskSource(blocks), chunks=True)
        check_classification_targets(data.classes)
        return data, classes_of(data.classes, np.ones(data.classes.size))
