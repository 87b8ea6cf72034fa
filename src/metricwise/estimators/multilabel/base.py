"""What multilabel classifiers share: validation, thresholds out of fold, labels from probabilities."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from scipy.sparse import issparse
from sklearn.base import ClassifierMixin, clone
from sklearn.model_selection import KFold
from sklearn.utils.validation import check_is_fitted, check_random_state

from metricwise import inference as rules
from metricwise._sklearn import HasMethods, Interval
from metricwise._state import StoredState
from metricwise._typing import Floats, Integers, LabelMatrix
from metricwise.decisions.binary import ThresholdRule
from metricwise.decisions.decision import Decision
from metricwise.decisions.executors import LocalExecutor
from metricwise.decisions.groups import validate_groups
from metricwise.decisions.label_matrix import validate_label_matrix
from metricwise.decisions.multilabel_task import Multilabel
from metricwise.decisions.out_of_fold import DEFAULT_FOLDS, NO_SAMPLES
from metricwise.decisions.scoring import log_odds
from metricwise.decisions.training_data import TrainingData, validate_weights
from metricwise.estimators.guarded_fit import guard_fit
from metricwise.estimators.inputs import validate_samples
from metricwise.estimators.parameters import NumericParameters
from metricwise.estimators.routing import RoutesGroups
from metricwise.estimators.summary import ShowsSummary
from metricwise.measures import Averaged
from metricwise.measures.averages import Average
from metricwise.measures.contingency import LabelSetFBeta
from metricwise.progress import show_progress

# Rules that need nothing but the probability of each label.
MARGINAL_RULES: dict[str, Callable[..., Any]] = {
    "hamming": rules.hamming,
    "meuf": rules.meuf,
    "meuf_approx": rules.meuf_approx,
    "lewis": rules.lewis,
}
# Rules that choose thresholds, with the average of the F-measure they aim at. All others aim at that of each sample.
THRESHOLD_RULES: dict[str, Average] = {"macro_f": "macro", "micro_f": "micro"}


class MultiLabelClassifier(RoutesGroups, ShowsSummary, ClassifierMixin, NumericParameters):
    """A multilabel classifier; subclasses learn and give the probabilities."""

    estimator: Any
    inference: str
    beta: float
    n_jobs: int | None
    random_state: Any
    verbose: int | None

    __stored_state__: ClassVar[StoredState] = StoredState(
        version=2,
        attributes=(
            "n_features_in_",
            "feature_names_in_",
            "classes_",
            "n_labels_",
            "sparse_labels_",
            "_decisions",
        ),
        training_parameters=("verbose",),
    )
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "estimator": [HasMethods(["fit", "predict_proba"]), None],
        "inference": [str],
        "beta": [Interval(Real, 0.0, None, closed="neither")],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": [Interval(Integral, 0, None, closed="left"), None],
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

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None) -> Self:
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
        groups : array of shape (n_samples,), optional
            Samples that belong together, such as those of one patient, have the same entry. Folds, for thresholds and
            for C, keep whole groups.

        Returns
        -------
        self
            The fitted estimator.
        """
        self._validate_params()
        self._check_rule()
        self._check_routing(sample_weight=sample_weight, groups=groups)
        with guard_fit(self), show_progress(type(self).__name__, self.verbose):
            X = validate_samples(self, X)
            labels = validate_label_matrix(y)
            if labels.shape[0] != X.shape[0]:
                raise ValueError(f"X has {X.shape[0]} samples but y has {labels.shape[0]}: they must belong together")
            weights = validate_weights(sample_weight, X)
            seed = int(check_random_state(self.random_state).randint(2**31 - 1))
            codes = validate_groups(groups, len(labels))
            self._learn(X, labels, weights, seed, codes)
            self.n_labels_, self.sparse_labels_ = labels.shape[1], issparse(y)
            self.classes_ = [np.array([0, 1])] * labels.shape[1]
            self._decisions = (
                self._decide_rules(X, labels, weights, codes, seed) if self.inference in THRESHOLD_RULES else {}
            )
        return self

    def _routed_parts(self) -> Iterable[tuple[str, Any]]:
        return [] if self.estimator is None else [("estimator", self.estimator)]

    @property
    def threshold_(self) -> Any:
        """Probabilities above which labels are predicted, None without a rule of thresholds; assign others to use them.

        New thresholds, one per label or one number for all, are used by `predict` and `score` until the next `fit`.
        """
        decision = self._decisions.get(self.inference)
        return None if decision is None else decision.shown_threshold

    @threshold_.setter
    def threshold_(self, value: Any) -> None:
        check_is_fitted(self, "n_labels_")
        if self.inference not in self._decisions:
            raise ValueError(
                f"inference={self.inference!r} chooses labels without thresholds: train with inference='macro_f' or "
                "'micro_f' to set them"
            )
        self._decisions[self.inference] = self._decisions[self.inference].replace_threshold(value)

    def _check_rule(self) -> None:
        if self.inference not in self._rules:
            raise ValueError(f"inference must be one of {', '.join(sorted(self._rules))}, got {self.inference!r}")

    @property
    def _task(self) -> Multilabel:
        """The task of the present rule and ``beta``, which may have changed since training."""
        check_is_fitted(self, "n_labels_")
        return self._make_task(THRESHOLD_RULES.get(self.inference, "samples"))

    def _make_task(self, average: Average) -> Multilabel:
        measure = Averaged(LabelSetFBeta(self.beta), average)
        return Multilabel(np.arange(self.n_labels_), measure, self.sparse_labels_)

    @abstractmethod
    def _learn(
        self, X: Any, labels: LabelMatrix, weights: Floats | None, seed: int, groups: Integers | None = None
    ) -> Self:
        """Train the classifiers of the labels; return self."""

    @abstractmethod
    def _marginals(self, X: Any) -> Floats:
        """Return the probability of each label for every sample."""

    @abstractmethod
    def _choose_labels(self, X: Any) -> LabelMatrix:
        """Return the labels of a rule that is not one of thresholds."""

    def _scores(self, X: Any) -> Floats:
        """Return the log-odds of each label for every sample."""
        return log_odds(self._marginals(X))

    # ------------------------------------------------------------------------------------------------------ prediction

    @property
    def calibrated_(self) -> bool:
        """Whether `predict_proba` is calibrated on out-of-fold samples: never, it is that of the learners."""
        check_is_fitted(self, "n_labels_")
        return False

    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of each label, as calibrated as the learners are.

        Where these are not, use ``CalibratedClassifierCV`` of scikit-learn as the estimator.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_samples, n_features)
            New samples.

        Returns
        -------
        array of shape (n_samples, n_labels)
            Marginal probabilities of the labels.
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
        array or CSR matrix of shape (n_samples, n_labels)
            Zeros and ones; a CSR matrix if the labels of training were sparse.
        """
        return self._task.labels(self._margins(X))

    def _margins(self, X: Any) -> Floats | LabelMatrix:
        """Return numbers that are above zero where the rule predicts a label."""
        self._check_rule()
        X = validate_samples(self, X, reset=False)
        if self.inference not in THRESHOLD_RULES:
            return self._choose_labels(X)
        if self.inference not in self._decisions:
            raise ValueError(f"inference={self.inference!r} needs thresholds, which are chosen in training: fit again")
        return self._decisions[self.inference].margins(self._scores(X))

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

        Returns
        -------
        float
            The F-measure, 1 at best.
        """
        return self._task.score(y, self._margins(X), sample_weight)

    # ------------------------------------------------------------------------------------------------------ thresholds

    def _decide_rules(
        self, X: Any, labels: LabelMatrix, weights: Floats | None, groups: Integers | None, seed: int
    ) -> dict[str, Decision]:
        """Choose thresholds on out-of-fold scores: one per label, and one for all of them.

        Training the fold models takes most of the time, so the thresholds of both rules are chosen, whichever is set.
        """
        tasks = {rule: self._make_task(average) for rule, average in THRESHOLD_RULES.items()}
        task = tasks["macro_f"]
        data = TrainingData(X, labels, task.encode(labels), weights, groups)
        if groups is None:
            splits = list(KFold(min(DEFAULT_FOLDS, len(labels)), shuffle=True, random_state=seed).split(X))
        else:
            splits = data.split(None, task.strata(data.target), seed)
        found = LocalExecutor(task, data).score_folds(
            lambda X, y, weights, *, groups=None: clone(self)._learn(X, y, weights, seed, groups),
            lambda model, X: model._scores(X),
            splits,
            NO_SAMPLES,
        )
        order = np.argsort(found.samples)  # resamples follow the order of the samples, not that of the folds
        samples = data.attach_scores(found.samples[order], found.scores[order])
        decisions = {rule: task.decide(samples, ThresholdRule(seed=seed), True) for rule, task in tasks.items()}
        return {rule: replace(decision, posterior=None) for rule, decision in decisions.items()}  # nobody asks for it
