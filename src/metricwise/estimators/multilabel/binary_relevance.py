"""One classifier per label, and labels by a rule for the F-measure."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np

from metricwise._state import StoredState
from metricwise._typing import Floats, Integers, LabelMatrix
from metricwise.decisions.parallel import run_in_parallel
from metricwise.estimators.multilabel.base import MARGINAL_RULES, THRESHOLD_RULES, MultiLabelClassifier
from metricwise.estimators.multilabel.learners import fit_classifier, probability


class BinaryRelevance(MultiLabelClassifier):
    r"""One probabilistic classifier for each label, as if labels were independent given the sample.

    Parameters
    ----------
    estimator : classifier, optional
        With ``predict_proba``. By default logistic regression, its C the best of five in three folds.
    inference : str, default="meuf"
        How labels are chosen from the probabilities. For the F-measure of each sample: "meuf" (exact for independent
        labels), "meuf_approx", "lewis". "hamming" takes the labels that are more probable than not, for the share of
        wrong labels. "macro_f" (the mean of the labels' F) and "micro_f" (the F of all labels together) choose
        thresholds on out-of-fold scores, one per label or one for all.
    beta : float, default=1.0
        How many times recall counts as much as precision.
    n_jobs : int, optional
        Labels trained in parallel (joblib).
    random_state : int, RandomState instance or None, default=0
        Seeds the folds.
    verbose : int or None, default=None
        Progress of training that takes more than two seconds: a bar on terminals and in notebooks (None), also lines
        where standard error is neither (1), or nothing (0).

    Attributes
    ----------
    estimators_ : list
        The classifier of each label.
    threshold_ : array of shape (n_labels,) or None
        The probabilities above which labels are predicted, if the rule is "macro_f" or "micro_f"; ``inference`` may be
        set to the other of the two after training. Assign others, one per label or a number for all, to predict with
        them.
    calibrated_ : bool
        False: `predict_proba` is that of the classifiers.
    n_labels_ : int
        Columns of y.
    classes_ : list of array
        The values of each label, 0 and 1.
    sparse_labels_ : bool
        Whether the labels of training were a sparse matrix; `predict` then returns a CSR matrix.
    n_features_in_, feature_names_in_
        Number and names of the features seen during `fit`.

    See Also
    --------
    metricwise.ProbabilisticClassifierChain : Learns how labels depend on each other.
    metricwise.PlugInClassifier : Chooses one threshold per label for other measures of multilabel targets.

    Notes
    -----
    The F-measure of a sample with labels y and predicted labels h is :math:`(1 + \beta^2) \sum_i h_i y_i / (\beta^2
    \sum_i y_i + \sum_i h_i)`, and 1 if both are empty. Given the probabilities of independent labels, its expectation
    is largest for the k most probable labels, for some k: "meuf" compares all k.

    References
    ----------
    .. [1] K. Dembczyński, W. Waegeman, W. Cheng and E. Hüllermeier (2011). An exact algorithm for F-measure
       maximization. *Advances in Neural Information Processing Systems* 24, 1404-1412. Section 2: MEUF.
    .. [2] D. D. Lewis (1995). Evaluating and optimizing autonomous text classification systems. *Proceedings of the
       18th Annual International ACM SIGIR Conference on Research and Development in Information Retrieval*, 246-254.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from metricwise import BinaryRelevance
    >>> X, Y = make_multilabel_classification(n_samples=300, n_classes=5, random_state=0)
    >>> model = BinaryRelevance().fit(X, Y)
    >>> model.predict(X).shape
    (300, 5)
    >>> model.score(X, Y) > 0.7  # the mean F1 of the samples
    True
    """

    __stored_state__: ClassVar[StoredState] = MultiLabelClassifier.__stored_state__.extend("estimators_")
    _rules: ClassVar[frozenset[str]] = frozenset({*MARGINAL_RULES, *THRESHOLD_RULES})

    def __init__(
        self,
        estimator: Any = None,
        inference: str = "meuf",
        *,
        beta: float = 1.0,
        n_jobs: int | None = None,
        random_state: Any = 0,
        verbose: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.inference = inference
        self.beta = beta
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _learn(
        self, X: Any, labels: LabelMatrix, weights: Floats | None, seed: int, groups: Integers | None = None
    ) -> Self:
        jobs = [(self.estimator, X, column, weights, groups) for column in labels.T]
        self.estimators_ = run_in_parallel(fit_classifier, jobs, self.n_jobs, "label")
        return self

    def _marginals(self, X: Any) -> Floats:
        return np.column_stack([probability(model, X) for model in self.estimators_])

    def _choose_labels(self, X: Any) -> LabelMatrix:
        labels: LabelMatrix = MARGINAL_RULES[self.inference](self._marginals(X), beta=self.beta)
        return labels
