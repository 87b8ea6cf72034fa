"""Joint sparse coding and prediction as a scikit-learn classifier."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from metricwise._sklearn import StrOptions
from metricwise._state import StoredState
from metricwise._typing import Floats
from metricwise.designs import Design, make_design
from metricwise.estimators.inputs import validate_samples
from metricwise.estimators.svm.base import AT_LEAST_ONE, COST, BatchClassifier
from metricwise.estimators.svm.sparse_training import (
    SparseCodingSettings,
    encode,
    plan_accuracy_of_codes,
    plan_sparse_coding,
)
from metricwise.estimators.svm.training import BinaryFit, TrainingData, TrainingPlan
from metricwise.measures import Measure
from metricwise.results import Result
from metricwise.solvers.loop import Callback
from metricwise.solvers.sparse_coding import SparseCodingResult
from metricwise.threads import available_threads


class SparseCodingClassifier(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BatchClassifier):
    """Sparse codes, their dictionary and a classifier of them, learnt together (JSCHP, Yang et al. 2015).

    A sample x is coded by few atoms of a dictionary, and the codes are classified. Dictionary, codes and weights of the
    atoms are learnt together, so that labels have a part in all of them: with s_i the codes, D the atoms (none longer
    than 1), w the weights, and u R the multivariate surrogate of `MultivariateSVC`, training lowers

    ``sum_i |x_i - D' s_i|^2 + C1 |s_i|_1  +  C2 / 2 |w|^2 + C3 u R(w)``

    step by step; it is not convex, and where it ends depends on where it started: from a dictionary that was learnt
    without labels. New samples are coded by the lasso (the first two terms) and then scored.

    Parameters
    ----------
    measure : str or Measure, default="f1"
        What to train for: a name from ``measure_names("SparseCodingClassifier")`` or a measure.
    n_atoms : int, optional
        Atoms of the dictionary, at most as many as there are distinct samples; by default twice the number of features,
        at most 100.
    C1 : float, default=1.0
        Cost of the size of the codes. An atom has a part in a sample's code where it explains more than C1 / 2 of it,
        in units of the features: scale these first.
    C2 : float, default=1.0
        Cost of the size of the weights.
    C3 : float, default=1.0
        Cost of one mistake. With given codes, the weights are those of ``MultivariateSVC(C=C3 / C2)``.
    variant : {"joint", "fixed", "reconstruct", "paper"}, default="joint"
        What is learnt. "joint": all three. "fixed": the dictionary stays the one that was learnt without labels, codes
        and weights are learnt together. "reconstruct": dictionary and codes are learnt without labels (the objective
        at w = 0), then the weights. "paper": the update rules of the paper, as far as they can be used; see the guide.
    refit : bool, default=True
        Whether the weights are trained once more at the end, on codes of the training samples that labels had no part
        in, as those of new samples have none. False: the weights that were learnt together with the codes, as in the
        paper.
    threshold : {"cv", "train"} or float, default="cv"
        Where scores are cut into labels. "cv" selects the best threshold for the measure on out-of-fold scores, exact
        over all of them; "train" on the training scores; a number is used as it is (0.0 reproduces the paper). For
        measures that fix the number of predicted positives, the threshold selects the same fraction of the samples; for
        areas under ROC curves, which do not depend on it, the one with the best balanced accuracy. Every fold
        learns its own dictionary, codes and weights; all start from one dictionary learnt without labels.
    tol : float, default=1e-4
        Training ends when an iteration lowers the objective by less than this share of it.
    max_iter : int, default=100
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
        One binary problem per class (one class vs the rest), each with its own dictionary; "off" or None: an error for
        more than two classes.
    pos_label : label, optional
        The positive class of two; by default 1 of the classes 0 and 1, -1 and 1, or booleans. Of others it has to be
        named, unless the measure treats both alike (accuracy, G-mean, ROC area, ...).
    cv : int, splitter or iterable of splits, optional
        Folds of the out-of-fold scores. By default five that keep equal samples together.
    n_jobs : int, optional
        Threads. None and -1 mean all cores this process may use. Results do not depend on it.
    random_state : int, RandomState instance or None, default=0
        Seeds the first atoms and the folds.
    callback : callable, optional
        Called with a `HistoryEntry` after every iteration of the final training; a true answer stops it.
    verbose : int or None, default=None
        Progress of training that takes more than two seconds: a bar on terminals and in notebooks (None), also lines
        where standard error is neither (1), or nothing (0).

    Attributes
    ----------
    dictionary_ : array of shape (n_atoms, n_features) or (n_classes, n_atoms, n_features)
        The atoms.
    coef_ : array of shape (1, n_atoms) or (n_classes, n_atoms)
        Weights of the atoms, signed towards ``classes_[1]`` in a binary problem.
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
    n_features_in_, feature_names_in_
        Number and names of the features seen during `fit`.
    result_ : SparseCodingResult or list of SparseCodingResult
        History of the objective, and status. The certificate's ``upper`` is the objective that training reached, before
        weights were trained once more; there is no lower bound, and ``lower`` is minus infinity. Where the surrogate of
        the measure is degenerate and the threshold is not a number, the weights of the atoms are trained for a weighted
        accuracy, with the threshold for the measure: ``status`` is then "fallback", and ``fallback`` holds the details.

    See Also
    --------
    MultivariateSVC : The same classifier on features as they are.

    Notes
    -----
    A sample of weight 2 counts as two such samples in all terms, and is coded once: the objective is convex in the
    codes, so equal samples of a class may have equal ones.

    References
    ----------
    .. [1] J. Yang, Z. Ding, F. Guo, H. Wang and N. Hughes (2015). A novel multivariate performance optimization method
       based on sparse coding and hyper-predictor learning. *Neural Networks* 71, 45-54.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from metricwise import SparseCodingClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), SparseCodingClassifier("f1", n_atoms=20)).fit(X, y)
    >>> model.score(X, y) > 0.95
    True
    >>> model.transform(X).shape, model[-1].dictionary_.shape
    ((569, 20), (20, 30))
    """

    __stored_state__: ClassVar[StoredState] = BatchClassifier.__stored_state__.extend("dictionary_")
    _parameter_constraints: ClassVar[dict[str, Any]] = BatchClassifier._parameter_constraints | {
        "n_atoms": [AT_LEAST_ONE, None],
        "C1": [COST],
        "C2": [COST],
        "C3": [COST],
        "variant": [StrOptions({"joint", "fixed", "reconstruct", "paper"})],
        "refit": ["boolean"],
    }
    _degenerate_remedy = (
        "If C3 is very small, raise it; lower C1, or add atoms. Otherwise train measure='roc_auc' and choose the "
        "threshold for {measure!r}"
    )

    def __init__(
        self,
        measure: str | Measure = "f1",
        n_atoms: int | None = None,
        C1: float = 1.0,
        C2: float = 1.0,
        C3: float = 1.0,
        *,
        variant: str = "joint",
        refit: bool = True,
        threshold: str | float = "cv",
        tol: float = 1e-4,
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
        verbose: int | None = None,
    ) -> None:
        self.measure = measure
        self.n_atoms = n_atoms
        self.C1 = C1
        self.C2 = C2
        self.C3 = C3
        self.variant = variant
        self.refit = refit
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

    def _make_design(self, X: Any) -> Design:
        return make_design(X, threads=self._n_threads)  # the constant belongs to the codes

    def _plan(self, measure: Measure, data: TrainingData) -> TrainingPlan:
        settings = SparseCodingSettings(self.n_atoms, self.C1, self.C2, self.variant, self.refit)
        return plan_sparse_coding(self._plan_cutting_planes(measure, self.C3), settings, data)

    @staticmethod
    def _plan_accuracy(plan: TrainingPlan, degenerate: Result) -> TrainingPlan:
        return plan_accuracy_of_codes(plan, degenerate)

    def _store(self, plan: TrainingPlan, fits: Sequence[BinaryFit]) -> None:
        super()._store(plan, fits)
        atoms = np.array([fit.result.dictionary for fit in fits if isinstance(fit.result, SparseCodingResult)])
        self.dictionary_: Floats = atoms[0] if len(atoms) == 1 else atoms

    def _describe_gap(self, results: Sequence[Result]) -> str:
        return f"while the objective still fell by more than tol={self.tol:g} of it in an iteration"

    @property
    def _n_features_out(self) -> int:
        return int(self.coef_.size)

    def transform(self, X: Any) -> Floats:
        """Return the codes of samples; with more than two classes, those of every class side by side.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        array of shape (n_samples, n_atoms) or (n_samples, n_classes * n_atoms)
            The codes; most of their entries are zero.
        """
        check_is_fitted(self, "result_")
        design = make_design(validate_samples(self, X, reset=False), threads=available_threads())
        return np.hstack([encode(design, atoms, self.C1) for atoms in self._dictionaries])

    @property
    def _dictionaries(self) -> Floats:
        return self.dictionary_ if self.dictionary_.ndim == 3 else self.dictionary_[None]

    def _raw_scores(self, X: Any) -> Floats:
        design = make_design(validate_samples(self, X, reset=False), threads=available_threads())
        pairs = zip(self._dictionaries, self.coef_, strict=True)
        columns = [make_design(encode(design, atoms, self.C1)).scores(w) for atoms, w in pairs]
        return np.column_stack(columns) + self.intercept_
