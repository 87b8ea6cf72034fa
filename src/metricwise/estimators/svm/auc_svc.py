"""The AUC-maximising support vector machine as a scikit-learn classifier."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from numbers import Integral
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from metricwise._sklearn import Options, StrOptions, votes_of_pairs
from metricwise._state import StoredState
from metricwise._typing import Floats, Labels
from metricwise.clusters import is_dask
from metricwise.estimators.inputs import is_chunked, refuse_chunks
from metricwise.estimators.svm.base import AT_LEAST_ONE, KERNEL_ATTRIBUTES, BatchClassifier
from metricwise.estimators.svm.kernel import Kernel
from metricwise.estimators.svm.training import BinaryTarget, TrainingData, TrainingPlan
from metricwise.measures import Measure, RocAuc
from metricwise.solvers.loop import Callback
from metricwise.solvers.newton import TruncatedNewton, make_squared_problem
from metricwise.solvers.pair_clusters import PairClusters

# Minority samples per feature from which training scores give as good a threshold as out-of-fold scores: on two splits
# of each of six data sets that have as many, balanced accuracy on test samples changed by -0.004 to +0.009 with norm=2.
# With norm=1, on two splits of each of five data sets, it changed by -0.004 to +0.006 (mean +0.0003), accuracy
# by -0.003 to +0.033, F1 by -0.002 to +0.009.
_ENOUGH_SAMPLES_PER_FEATURE = 20


class AUCSVC(BatchClassifier):
    r"""Support vector machine that ranks positives above negatives (Brefeld and Scheffer 2005).

    Minimises ``1/2 |w|^2 + C n mean over pairs of max(0, 1 - (s_i - s_j))^norm`` over all pairs of a positive i and a
    negative j, with n the number of samples; the pairs are never listed. There is no constant term: a ranking does not
    see it. ``threshold_`` is chosen apart.

    Parameters
    ----------
    C : float, default=1.0
        Cost of the losses; smaller values regularise more. It keeps its meaning as samples are added. The paper
        has the sum over pairs instead of n times the mean: its C is ``C n / (n_pos n_neg)`` here.
    norm : {1, 2}, default=1
        Whether the losses of pairs are added up as they are or squared.
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
    pairs : {"exact", "kmeans"}, default="exact"
        "kmeans" replaces the pairs by the centres of clusters of their differences, the paper's approximation for
        linear classifiers. It is there for comparison: "exact" is faster and has the better objective. Of more than a
        million pairs a random sample of a million is clustered. The certificate is that of the clustered problem.
    n_clusters : int, default=300
        Clusters of "kmeans".
    measure : str or Measure, default="roc_auc"
        What to rank for. With ``norm=1`` also a part of the ROC curve, ``PartialAuc(0.0, 0.1)`` or
        ``TwoWayPartialAuc(max_fpr=0.3, min_tpr=0.7)``, or gains by rank: "average_precision", "ndcg" or
        "reciprocal_rank", which need sample weights that are whole numbers.
    threshold : {"cv", "train"} or float, default="cv"
        Where scores are cut into labels: where the balanced accuracy of out-of-fold ("cv") or training scores ("train")
        is best, or a number. The ranking does not depend on it. "cv" uses training scores, too, which differ little
        then, if a linear model has at least 20 samples of either class per feature and neither ``cv`` nor groups are
        given: the model is trained once instead of once more per fold.
    tol : float, default=1e-3
        Relative duality gap at which training stops.
    max_iter : int, default=10000
        Most iterations.
    max_seconds : float, optional
        About how long `fit` may take, out-of-fold scores included.
    multi_class : {"ovr", "ovo", "off"} or None, default="ovr"
        One binary problem per class (one class vs the rest), or one per pair of classes; "off" or None: an error for
        more than two classes.
    pos_label : label, optional
        The positive class of two; by default 1 of the classes 0 and 1, -1 and 1, or booleans. Of others it has to be
        named, unless the measure treats both alike (accuracy, G-mean, ROC area, ...).
    cv : int, splitter or iterable of splits, optional
        Folds of the out-of-fold scores. By default five that keep equal samples together.
    n_jobs : int, optional
        Threads for the products with the data. None and -1 mean all cores this process may use. Results do not
        depend on it.
    random_state : int, RandomState instance or None, default=0
        Seeds the sample that large problems start from, the folds, the basis of an approximation and the clusters.
    callback : callable, optional
        Called with a `HistoryEntry` after every iteration of the final training; a true answer stops it.
    checkpoint : str or Path, optional
        File to which the state of a linear training is written every half minute and if it fails, such as by the loss
        of a cluster; with the same parameters and data, `fit` goes on from it. Removed when training is finished.
    verbose : int or None, default=None
        Progress of training that takes more than two seconds: a bar on terminals and in notebooks (None), also lines
        where standard error is neither (1), or nothing (0).

    Attributes
    ----------
    coef_ : array of shape (1, n_features) or (n_problems, n_features)
        Weights of the features, signed towards ``classes_[1]`` in a binary problem; of linear models only.
    support_, support_vectors_, dual_coef_ : arrays
        With a kernel: indices of the samples that scores depend on, these samples, and their coefficients, one row per
        binary problem.
    approximation_, gamma_
        With a kernel: how it was used, and gamma as a number.
    intercept_ : array
        Zeros.
    threshold_ : float or array
        What `decision_function` subtracts from the scores; assign another to predict with it.
    classes_ : array
        Labels.
    measure_ : Measure
        What the model was trained for.
    n_iter_ : int
        Iterations, the most over the binary problems.
    result_ : Result or list of Result
        Certificate, history, status; a list with an entry for every binary problem for more than two classes.
    n_features_in_, feature_names_in_
        Number and names of the features seen during `fit`.

    See Also
    --------
    MultivariateSVC : The same for other measures.
    metricwise.certify : Recomputes the certificate from data and model.

    Notes
    -----
    With scores :math:`s`, :math:`n_+` positives i and :math:`n_-` negatives j, of n samples, the objective for the
    whole ROC area is

    .. math::

       \tfrac12 \lVert w \rVert^2 + C\,n \cdot \frac{1}{n_+ n_-} \sum_{i, j} \max(0, 1 - (s_i - s_j))^{\mathrm{norm}}.

    The 1-norm is minimised by cutting planes, whose violated pairs a sort of the scores finds; the 2-norm by Newton
    steps.

    References
    ----------
    .. [1] U. Brefeld and T. Scheffer (2005). AUC maximizing support vector learning. *Proceedings of the ICML 2005
       workshop on ROC analysis in machine learning*.
    .. [2] T. Joachims and C.-N. J. Yu (2009). Sparse kernel SVMs via cutting-plane training. *Machine Learning* 76,
       179-193.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from metricwise import AUCSVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), AUCSVC(C=0.1, norm=2)).fit(X, y)
    >>> model.score(X, y) > 0.99
    True
    """

    __stored_state__: ClassVar[StoredState] = BatchClassifier.__stored_state__.extend(*KERNEL_ATTRIBUTES)
    _parameter_constraints: ClassVar[dict[str, Any]] = BatchClassifier._parameter_constraints | {
        "norm": [Options(Integral, {1, 2})],
        "pairs": [StrOptions({"exact", "kmeans"})],
        "n_clusters": [AT_LEAST_ONE],
        "multi_class": [StrOptions({"ovr", "ovo", "off"}), None],
    }
    class_weight = None  # class weights cancel in the mean over pairs
    fit_intercept = False  # a ranking has no constant term
    _degenerate_remedy = "If C is very small, raise it; more features also help"

    def __init__(
        self,
        C: float = 1.0,
        norm: int = 1,
        *,
        kernel: Kernel = "linear",
        gamma: str | float = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        approximation: str = "auto",
        n_basis: int | None = None,
        pairs: str = "exact",
        n_clusters: int = 300,
        measure: str | Measure = "roc_auc",
        threshold: str | float = "cv",
        tol: float = 1e-3,
        max_iter: int = 10_000,
        max_seconds: float | None = None,
        multi_class: str | None = "ovr",
        pos_label: Any = None,
        cv: Any = None,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = 0,
        callback: Callback | None = None,
        checkpoint: str | Path | None = None,
        verbose: int | None = None,
    ) -> None:
        self.C = C
        self.norm = norm
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.approximation = approximation
        self.n_basis = n_basis
        self.pairs = pairs
        self.n_clusters = n_clusters
        self.measure = measure
        self.threshold = threshold
        self.tol = tol
        self.max_iter = max_iter
        self.max_seconds = max_seconds
        self.multi_class = multi_class
        self.pos_label = pos_label
        self.cv = cv
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.callback = callback
        self.checkpoint = checkpoint
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = self.multi_class in ("ovr", "ovo")
        return tags

    def _plan(self, measure: Measure, data: TrainingData) -> TrainingPlan:
        self._check_combination(measure)
        plan = self._plan_cutting_planes(measure, self.C)
        if self.norm == 2:
            plan = replace(plan, solver=TruncatedNewton(seed=plan.seed), make_problem=make_squared_problem)
        if self.pairs == "kmeans":
            if is_chunked(data.X):
                refuse_chunks("pairs='kmeans'")
            clusters = PairClusters(int(self.n_clusters), int(self.norm), plan.seed)
            plan = replace(plan, make_problem=clusters.make_problem)
        if self.threshold == "cv" and self.cv is None and self.kernel == "linear" and _has_many_samples(data):
            plan = replace(plan, threshold="train")
        return replace(plan, kernel=self._make_kernel_space(data))

    def _check_combination(self, measure: Measure) -> None:
        if not isinstance(measure, RocAuc) and (self.norm == 2 or self.pairs == "kmeans"):
            raise ValueError(
                f"norm={self.norm} and pairs={self.pairs!r} are for the whole area under the ROC curve, but measure is "
                f"{measure!r}: set norm=1 and pairs='exact' to train for it"
            )
        if self.pairs == "kmeans" and self.kernel != "linear":
            raise ValueError(
                f"pairs='kmeans' clusters differences of features, which kernel={self.kernel!r} does not give: set "
                "pairs='exact', or kernel='linear' with features of your own (Nystroem, PolynomialFeatures)"
            )

    # ------------------------------------------------------------------------------------------- one class vs another

    def _is_one_vs_one(self, classes: Labels) -> bool:
        return self.multi_class == "ovo" and classes.size > 2

    def _binary_targets(self, y: Labels, classes: Labels, weights: Floats) -> list[BinaryTarget]:
        if not self._is_one_vs_one(classes):
            return super()._binary_targets(y, classes, weights)
        # The first of the two classes is the positive one, as in scikit-learn's votes.
        return [
            BinaryTarget(y == one, np.where((y == one) | (y == other), weights, 0.0))
            for one, other in combinations(classes, 2)
        ]

    def decision_function(self, X: Any) -> Any:
        """Return scores minus `threshold_`: above zero means ``classes_[1]`` in a binary problem.

        Parameters
        ----------
        X : array, data frame, sparse matrix or Dask collection of shape (n_samples, n_features)
            New samples.

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_classes)
            With one problem for every two classes: votes, and within equal votes the sum of the scores.
        """
        scores = super().decision_function(X)
        if is_dask(X) or not self._is_one_vs_one(self.classes_):
            return scores  # of Dask collections, chunk by chunk, by this function
        votes: Floats = votes_of_pairs(scores < 0.0, -scores, self.classes_.size)
        return votes


def _has_many_samples(data: TrainingData) -> bool:
    """Return whether weights fit so many samples that their training scores are hardly better than out-of-fold scores.

    Samples that belong together count as fewer, by an unknown factor.
    """
    if data.groups is not None:
        return False
    least = _ENOUGH_SAMPLES_PER_FEATURE * data.design.shape[1]
    counts = (np.bincount(target.positive[target.samples], minlength=2) for target in data.targets)
    return all(count.min() >= least for count in counts)
