"""What the classifiers of several labels share: validation, thresholds out of fold, labels from probabilities."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from scipy.special import expit, logit
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.model_selection import KFold
from sklearn.utils.validation import check_is_fitted, check_random_state

from metricwise import inference as rules
from metricwise._sklearn import HasMethods, Interval, check_sample_weight
from metricwise._state import StoredState
from metricwise._typing import Floats, Indices, LabelMatrix
from metricwise.decisions.binary import ThresholdRule
from metricwise.decisions.decision import ScoredSamples
from metricwise.decisions.label_matrix import restore_sparsity, validate_label_matrix
from metricwise.decisions.multiclass import choose_label_thresholds
from metricwise.decisions.out_of_fold import score_out_of_fold
from metricwise.estimators.inputs import restore_on_error, validate_samples
from metricwise.estimators.multilabel.scores import Average, f_measure
from metricwise.measures import Averaged, FBeta

_FOLDS = 5
_SMALLEST = 1e-15  # of a probability; its log-odds, 35, are beyond all that matters
# Rules that need nothing but the probability of each label.
MARGINAL_RULES: dict[str, Callable[..., Any]] = {
    "hamming": rules.hamming,
    "meuf": rules.meuf,
    "meuf_approx": rules.meuf_approx,
    "lewis": rules.lewis,
}
THRESHOLDS = ("macro_f", "micro_f")
# What a rule aims at, where that is not the F-measure of each sample.
AIMS: dict[str, Average] = {"macro_f": "macro", "micro_f": "micro"}


class MultiLabelClassifier(ClassifierMixin, BaseEstimator):
    """A classifier of several labels; subclasses learn and give the probabilities."""

    estimator: Any
    inference: str
    beta: float
    n_jobs: int | None
    random_state: Any

    __stored_state__: ClassVar[StoredState] = StoredState(
        version=1,
        attributes=(
            "n_features_in_",
            "feature_names_in_",
            "classes_",
            "n_labels_",
            "sparse_labels_",
            "thresholds_",
            "_by_rule",
        ),
    )
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "estimator": [HasMethods(["fit", "predict_proba"]), None],
        "beta": [Interval(Real, 0.0, None, closed="neither")],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }
    _rules: ClassVar[frozenset[str]]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_label = True
        tags.classifier_tags.multi_class = False
        tags.target_tags.two_d_labels = True
        tags.target_tags.single_output = False
        tags.target_tags.multi_output = True
        return tags

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_samples, n_features)
            Samples.
        y : array, data frame or sparse matrix of shape (n_samples, n_labels)
            Ones where a sample has a label, zeros elsewhere. Labels that no sample has, or all samples have, are
            allowed.
        sample_weight : array of shape (n_samples,), optional
            Weights of the samples, passed to the classifiers of the labels.

        Returns
        -------
        self
        """
        self._validate_params()
        self._check_rule()
        with restore_on_error(self):
            X = validate_samples(self, X)
            labels = validate_label_matrix(y)
            if labels.shape[0] != X.shape[0]:
                raise ValueError(f"X has {X.shape[0]} samples but y has {labels.shape[0]}: they must belong together")
            weights = None if sample_weight is None else check_sample_weight(sample_weight, X)
            seed = int(check_random_state(self.random_state).randint(2**31 - 1))
            self._learn(X, labels, weights, seed)
            self._by_rule = self._thresholds(X, labels, weights, seed) if self.inference in THRESHOLDS else {}
            self.thresholds_ = self._by_rule.get(self.inference)
        self.n_labels_, self.sparse_labels_ = labels.shape[1], bool(hasattr(y, "tocsr"))
        self.classes_ = [np.array([0, 1])] * labels.shape[1]
        return self

    def _check_rule(self) -> None:
        if self.inference not in self._rules:
            raise ValueError(f"inference must be one of {', '.join(sorted(self._rules))}, got {self.inference!r}")

    @abstractmethod
    def _learn(self, X: Any, labels: LabelMatrix, weights: Any, seed: int) -> None:
        """Train the classifiers of the labels."""

    @abstractmethod
    def _marginals(self, X: Any) -> Floats:
        """Return the probability of each label for every sample."""

    @abstractmethod
    def _decide(self, X: Any) -> LabelMatrix:
        """Return the labels of a rule that is not one of thresholds."""

    # ------------------------------------------------------------------------------------------------------ prediction

    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of each label.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_samples, n_features)
            New samples.

        Returns
        -------
        array of shape (n_samples, n_labels)
        """
        check_is_fitted(self, "n_labels_")
        return self._marginals(validate_samples(self, X, reset=False))

    def predict(self, X: Any) -> Any:
        """Return labels, chosen by the rule ``inference``.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_samples, n_features)
            New samples.

        Returns
        -------
        array of shape (n_samples, n_labels), or a CSR matrix if the labels of training were sparse
        """
        check_is_fitted(self, "n_labels_")
        self._check_rule()
        X = validate_samples(self, X, reset=False)
        if self.inference in THRESHOLDS:
            if self.inference not in self._by_rule:
                raise ValueError(
                    f"inference={self.inference!r} needs thresholds, which are chosen in training: fit again"
                )
            labels = (self._marginals(X) > self._by_rule[self.inference]).astype(np.int8)
        else:
            labels = self._decide(X)
        return restore_sparsity(labels, self.sparse_labels_)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the F-measure that the rule aims at: mean over samples, over labels ("macro_f") or pooled ("micro_f").

        Samples without labels, rightly left without, count 1.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_samples, n_features)
            Samples.
        y : array or sparse matrix of shape (n_samples, n_labels)
            Their labels.
        sample_weight : array of shape (n_samples,), optional
            Weights of the samples.
        """
        found = validate_label_matrix(self.predict(X))
        return f_measure(
            validate_label_matrix(y), found, AIMS.get(self.inference, "instance"), self.beta, sample_weight
        )

    # ------------------------------------------------------------------------------------------------------ thresholds

    def _thresholds(self, X: Any, labels: LabelMatrix, weights: Any, seed: int) -> dict[str, Floats]:
        """Return thresholds from out-of-fold probabilities: one per label, and one for all of them.

        The folds are what takes time, so that both are found, whichever the rule.
        """
        folds = KFold(min(_FOLDS, len(labels)), shuffle=True, random_state=seed)

        def score_fold(train: Indices, test: Indices, seen: Indices) -> tuple[Floats, Floats]:
            model = clone(self)
            model._learn(X[train], labels[train], None if weights is None else weights[train], seed)
            return model._marginals(X[test]), np.zeros((0, labels.shape[1]))

        found = score_out_of_fold(score_fold, list(folds.split(X)))
        log_odds = np.empty(labels.shape)
        log_odds[found.samples] = logit(np.clip(found.scores, _SMALLEST, 1.0 - _SMALLEST))
        samples = ScoredSamples(labels == 1, log_odds, np.ones(len(labels)) if weights is None else weights)
        averages: dict[str, Literal["macro", "micro"]] = {"macro_f": "macro", "micro_f": "micro"}
        chosen = {
            name: choose_label_thresholds(Averaged(FBeta(self.beta), average), ThresholdRule(seed=seed), samples, True)
            for name, average in averages.items()
        }
        return {name: np.array([expit(label.threshold) for label in found]) for name, found in chosen.items()}
