"""Probabilistic classifier chains, and labels by exact inference for the F-measure."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from metricwise._sklearn import Interval, StrOptions
from metricwise._state import StoredState
from metricwise._typing import Floats, Indices, Integers, LabelMatrix
from metricwise.estimators.inputs import validate_samples
from metricwise.estimators.multilabel.base import MARGINAL_RULES, THRESHOLD_RULES, MultiLabelClassifier
from metricwise.estimators.multilabel.chain import Chain
from metricwise.inference import gfm, gfm_from_samples, gfm_threshold
from metricwise.inference.f_measure import summarize_joint

_SAMPLE_RULES = ("gfm", "gfm_threshold")
_JOINT_MODE = "joint_mode"
_PATTERNS_PER_SAMPLE = 4  # all label vectors are listed if they are at most so many times the samples
_ENTRIES_OF_A_BLOCK = 20_000_000


class ProbabilisticClassifierChain(MultiLabelClassifier):
    r"""A chain of classifiers, each of which sees the labels before its own (Dembczyński et al. 2011).

    The chain gives the joint distribution of the labels of a sample, of which label vectors are drawn, or all listed if
    labels are few. From these, "gfm" finds the labels with the largest expected F-measure exactly, however labels
    depend on each other.

    Parameters
    ----------
    estimator : classifier, optional
        With ``predict_proba``. By default logistic regression, its C the best of five in three folds. Logistic
        regressions are sampled from by compiled code.
    order : {"given", "random"} or array of int, default="given"
        The order of the labels in the chain: that of the columns, a random one, or the numbers of the columns.
    n_chains : int, default=1
        Chains with random orders of their own, whose distributions are averaged; above 1 needs ``order="random"``.
    n_samples : int, default=200
        Label vectors drawn for a sample, from all chains together.
    inference : str, default="gfm"
        How labels are chosen. For the F-measure of each sample: "gfm" (exact), "gfm_threshold" (in the order of the
        marginal probabilities), "meuf", "meuf_approx" and "lewis" (as if labels were independent). "hamming" for the
        share of wrong labels, "joint_mode" for the share of samples without any. "macro_f" and "micro_f" choose
        thresholds on out-of-fold scores, one per label or one for all.
    beta : float, default=1.0
        How many times recall counts as much as precision.
    n_jobs : int, optional
        Labels trained in parallel (joblib).
    random_state : int, RandomState instance or None, default=0
        Seeds orders, samples and folds.
    verbose : int or None, default=None
        Progress of training that takes more than two seconds: a bar on terminals and in notebooks (None), also lines
        where standard error is neither (1), or nothing (0).

    Attributes
    ----------
    chains_ : list
        The chains with their classifiers.
    orders_ : list of array
        Their orders.
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
    metricwise.BinaryRelevance : One classifier for each label, as if labels were independent.
    metricwise.inference.gfm : Finds the labels from a joint distribution.

    Notes
    -----
    By the chain rule, :math:`P(y \mid x) = \prod_i P(y_i \mid x, y_1, \dots, y_{i-1})`, with one classifier per factor.
    The expected F-measure of a set of labels depends on this distribution through the probabilities :math:`P(y_i = 1,
    \sum_j y_j = s)` and :math:`P(y = 0)` alone, from which "gfm" finds the best set (Algorithm 1 of [1]_).

    References
    ----------
    .. [1] K. Dembczyński, W. Waegeman, W. Cheng and E. Hüllermeier (2011). An exact algorithm for F-measure
       maximization. *Advances in Neural Information Processing Systems* 24, 1404-1412. Algorithm 1: GFM.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from metricwise import ProbabilisticClassifierChain
    >>> X, Y = make_multilabel_classification(n_samples=300, n_classes=5, random_state=0)
    >>> model = ProbabilisticClassifierChain().fit(X, Y)
    >>> model.score(X, Y) > 0.7  # the mean F1 of the samples
    True
    >>> model.sample(X[:2], n_samples=10).shape
    (2, 10, 5)
    """

    __stored_state__: ClassVar[StoredState] = MultiLabelClassifier.__stored_state__.extend(
        "chains_", "orders_", "_seed"
    )
    _parameter_constraints: ClassVar[dict[str, Any]] = MultiLabelClassifier._parameter_constraints | {
        "order": [StrOptions({"given", "random"}), "array-like"],
        "n_chains": [Interval(Integral, 1, None, closed="left")],
        "n_samples": [Interval(Integral, 1, None, closed="left")],
    }
    _rules: ClassVar[frozenset[str]] = frozenset({*_SAMPLE_RULES, _JOINT_MODE, *MARGINAL_RULES, *THRESHOLD_RULES})

    def __init__(
        self,
        estimator: Any = None,
        order: str | ArrayLike = "given",
        *,
        n_chains: int = 1,
        n_samples: int = 200,
        inference: str = "gfm",
        beta: float = 1.0,
        n_jobs: int | None = None,
        random_state: Any = 0,
        verbose: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.order = order
        self.n_chains = n_chains
        self.n_samples = n_samples
        self.inference = inference
        self.beta = beta
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    # -------------------------------------------------------------------------------------------------------- training

    def _learn(
        self, X: Any, labels: LabelMatrix, weights: Floats | None, seed: int, groups: Integers | None = None
    ) -> Self:
        self._seed = seed
        self.orders_ = self._orders(labels.shape[1], seed)
        self.chains_ = [
            Chain.learn(self.estimator, X, labels, order, weights, self.n_jobs, groups) for order in self.orders_
        ]
        return self

    def _orders(self, n_labels: int, seed: int) -> list[Indices]:
        if isinstance(self.order, str):
            if self.order == "random":
                random = np.random.default_rng(seed)
                return [random.permutation(n_labels) for _ in range(self.n_chains)]
            order = np.arange(n_labels)
        else:
            order = np.asarray(self.order)
            if order.shape != (n_labels,) or not np.array_equal(np.sort(order), np.arange(n_labels)):
                raise ValueError(
                    f"order must have every number from 0 to {n_labels - 1} once, one for each column of y, got "
                    f"{order.tolist()}"
                )
        if self.n_chains > 1:
            raise ValueError(f"n_chains={self.n_chains} chains of one order are all alike: set order='random'")
        return [order.astype(np.int64)]

    # ------------------------------------------------------------------------------------------------ the distribution

    def _lists_all(self) -> bool:
        """Whether all label vectors are listed instead of some drawn."""
        n_labels = len(self.orders_[0])
        return n_labels < 30 and 2**n_labels <= _PATTERNS_PER_SAMPLE * self.n_samples

    def _map_blocks(
        self, X: Any, of_joint: Callable[[LabelMatrix, Floats], Any], of_block: Callable[[Any, int], Any], width: int
    ) -> Any:
        """Return what a function finds for all samples, as many at a time as label vectors of them fit into memory.

        If all label vectors are listed, that is ``of_joint`` of the vectors and their probabilities. Otherwise it is
        ``of_block`` of the samples and the number of the first, which takes ``width`` label vectors for each sample.
        """
        n_labels, lists_all = len(self.orders_[0]), self._lists_all()
        size = max(_ENTRIES_OF_A_BLOCK // ((2**n_labels if lists_all else width) * n_labels), 1)
        blocks = ((start, X[start : start + size]) for start in range(0, X.shape[0], size))
        if lists_all:
            return np.concatenate([of_joint(*self._joint(block)) for _, block in blocks])
        return np.concatenate([of_block(block, start) for start, block in blocks])

    def _joint(self, X: Any) -> tuple[LabelMatrix, Floats]:
        """Return all label vectors with their probabilities, the mean over chains."""
        vectors, total = self.chains_[0].joint(X)
        places = vectors @ (1 << np.arange(vectors.shape[1]))
        ordered = np.argsort(places)
        vectors, total = vectors[ordered], total[:, ordered]
        for chain in self.chains_[1:]:
            others, joint = chain.joint(X)
            total = total + joint[:, np.argsort(others @ (1 << np.arange(others.shape[1])))]
        return vectors, total / len(self.chains_)

    def _draw(self, X: Any, first: int, n_samples: int, seed: int) -> LabelMatrix:
        shares = np.diff(np.linspace(0, n_samples, len(self.chains_) + 1).round().astype(int))
        parts = [
            chain.sample(X, int(share), seed + number, first)
            for number, (chain, share) in enumerate(zip(self.chains_, shares, strict=True))
            if share > 0
        ]
        return np.concatenate(parts, axis=1)

    def sample(self, X: Any, n_samples: int | None = None, random_state: int | None = None) -> LabelMatrix:
        """Draw label vectors from the distribution of each sample.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_instances, n_features)
            Samples.
        n_samples : int, optional
            How many of each; by default the ``n_samples`` of the model.
        random_state : int, optional
            Seed; by default that of the model. What a sample gets depends on the seed and the sample's place in X.

        Returns
        -------
        array of int8, of shape (n_instances, n_samples, n_labels)
            The label vectors: zeros and ones.
        """
        check_is_fitted(self, "n_labels_")
        X = validate_samples(self, X, reset=False)
        seed = self._seed if random_state is None else int(random_state)
        return self._draw(X, 0, self.n_samples if n_samples is None else n_samples, seed)

    def _marginals(self, X: Any) -> Floats:
        marginals: Floats = self._map_blocks(
            X,
            lambda vectors, joint: joint @ vectors,
            lambda block, first: self._draw(block, first, self.n_samples, self._seed).mean(axis=1),
            self.n_samples,
        )
        return marginals

    # --------------------------------------------------------------------------------------------------------- labels

    def predict_joint_mode(self, X: Any) -> Any:
        """Return the most probable label vector of each sample.

        All are compared if labels are few; else those that a beam search finds in every chain.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_instances, n_features)
            Samples.

        Returns
        -------
        array or CSR matrix of shape (n_instances, n_labels)
            Zeros and ones; a CSR matrix if the labels of training were sparse.
        """
        return self._task.labels(self._joint_mode(validate_samples(self, X, reset=False)))

    def _joint_mode(self, X: Any) -> LabelMatrix:
        labels: LabelMatrix = self._map_blocks(
            X, lambda vectors, joint: vectors[joint.argmax(axis=1)], self._search_mode, 2 * self.n_samples
        )
        return labels

    def _search_mode(self, X: Any, first: int) -> LabelMatrix:
        """Return the most probable label vector that a beam search finds in any chain."""
        found = [chain.likely(X, self.n_samples) for chain in self.chains_]
        best = np.argmax([score for _, score in found], axis=0)
        labels: LabelMatrix = np.stack([labels for labels, _ in found])[best, np.arange(X.shape[0])]
        return labels

    def _choose_labels(self, X: Any) -> LabelMatrix:
        if self.inference == _JOINT_MODE:
            return self._joint_mode(X)
        chosen: LabelMatrix
        if self.inference in MARGINAL_RULES:
            chosen = MARGINAL_RULES[self.inference](self._marginals(X), beta=self.beta)
            return chosen
        only_marginal_order = self.inference == "gfm_threshold"
        rule = gfm_threshold if only_marginal_order else gfm

        def choose_from_samples(block: Any, first: int) -> Any:
            samples = self._draw(block, first, self.n_samples, self._seed)
            return gfm_from_samples(samples, beta=self.beta, ordered=only_marginal_order)

        def choose_from_joint(vectors: LabelMatrix, joint: Floats) -> Any:
            return rule(*summarize_joint(vectors, joint), beta=self.beta)

        chosen = self._map_blocks(X, choose_from_joint, choose_from_samples, self.n_samples)
        return chosen
