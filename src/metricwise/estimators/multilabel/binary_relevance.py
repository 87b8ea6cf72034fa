"""One classifier a label, and labels by a rule for the F-measure."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from joblib import Parallel, delayed

from metricwise._state import StoredState
from metricwise._typing import Floats, LabelMatrix
from metricwise.estimators.multilabel.base import MARGINAL_RULES, THRESHOLDS, MultiLabelClassifier
from metricwise.estimators.multilabel.learners import fitted, probability


class BinaryRelevance(MultiLabelClassifier):
    """One probabilistic classifier for each label, as if labels were independent given the sample.

    Parameters
    ----------
    estimator : classifier, optional
        With ``predict_proba``. By default logistic regression, its C the best of five in three folds.
    inference : str, default="meuf"
        How labels are chosen from the probabilities. For the F-measure of each sample: "meuf" (exact for independent
        labels), "meuf_approx", "lewis". "hamming" takes the labels that are more probable than not, for the share of
        wrong labels. "macro_f" (the mean of the labels' F) and "micro_f" (the F of all labels together) choose
        thresholds out of fold, one a label or one for all.
    beta : float, default=1.0
        How many times recall counts as much as precision.
    n_jobs : int, optional
        Labels learnt side by side (joblib).
    random_state : int, RandomState instance or None, default=0
        Seeds the folds.

    Attributes
    ----------
    estimators_ : list
        The classifier of each label.
    thresholds_ : array of shape (n_labels,) or None
        Of the rule in training, if that is "macro_f" or "micro_f"; both may be set afterwards.
    n_labels_ : int
        Columns of y.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    See Also
    --------
    ProbabilisticClassifierChain : Learns how labels depend on each other.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from metricwise import BinaryRelevance
    >>> X, Y = make_multilabel_classification(n_samples=300, n_classes=5, random_state=0)
    >>> model = BinaryRelevance().fit(X, Y)
    >>> model.predict(X).shape
    (300, 5)
    >>> model.score(X, Y) > 0.7  # the mean F1 of the rows
    True
    """

    __stored_state__: ClassVar[StoredState] = MultiLabelClassifier.__stored_state__.extend("estimators_")
    _rules: ClassVar[frozenset[str]] = frozenset({*MARGINAL_RULES, *THRESHOLDS})

    def __init__(
        self,
        estimator: Any = None,
        inference: str = "meuf",
        *,
        beta: float = 1.0,
        n_jobs: int | None = None,
        random_state: Any = 0,
    ) -> None:
        self.estimator = estimator
        self.inference = inference
        self.beta = beta
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _learn(self, X: Any, labels: LabelMatrix, weights: Any, seed: int) -> None:
        tasks = (delayed(fitted)(self.estimator, X, column, weights) for column in labels.T)
        self.estimators_ = Parallel(n_jobs=self.n_jobs)(tasks)

    def _marginals(self, X: Any) -> Floats:
        return np.column_stack([probability(model, X) for model in self.estimators_])

    def _decide(self, X: Any) -> LabelMatrix:
        labels: LabelMatrix = MARGINAL_RULES[self.inference](self._marginals(X), beta=self.beta)
        return labels
