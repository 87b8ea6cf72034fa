"""The classifier that a booster becomes in a model file."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from metricwise._state import StoredState, stored_fields
from metricwise._typing import Labels
from metricwise.persistence.boosters.links import compute_probabilities
from metricwise.persistence.boosters.samples import CatBoostSamples, LightGBMSamples, XGBoostSamples
from metricwise.persistence.boosters.trees import NodeTrees, ObliviousTrees
from metricwise.raw_inputs import check_sparse

_SAMPLES_AT_ONCE = 8192  # converted to dense arrays


@stored_fields(version=1)
@dataclass(frozen=True)
class BoostedTrees:
    """Trees with all that turns samples into probabilities.

    Parameters
    ----------
    samples : LightGBMSamples, XGBoostSamples or CatBoostSamples
        Converts samples to numbers.
    trees : NodeTrees or ObliviousTrees
        The trees.
    base_scores : array of shape (n_columns,)
        The scores without trees, in the precision of the sums.
    link : {"sigmoid", "softmax", "one_vs_rest"}
        Turns scores into probabilities.
    """

    samples: LightGBMSamples | XGBoostSamples | CatBoostSamples
    trees: NodeTrees | ObliviousTrees
    base_scores: NDArray[Any]
    link: str

    def predict_proba(self, X: Any) -> NDArray[Any]:
        """Return one column of probabilities per class."""
        numbers = self.samples.convert(X)
        scores = np.tile(self.base_scores, (len(numbers), 1))
        self.trees.add_scores(numbers, scores)
        return compute_probabilities(scores, self.link)


class StoredBooster(ClassifierMixin, BaseEstimator):
    """A classifier of LightGBM, XGBoost or CatBoost as model files hold it: trees as arrays, settings as plain values.

    `metricwise.save` makes it. It predicts without the library, as the original does; `fit` trains anew with the
    library.

    Parameters
    ----------
    learner : {"lightgbm.LGBMClassifier", "xgboost.XGBClassifier", "xgboost.XGBRFClassifier", \
"catboost.CatBoostClassifier"}
        The class of the original.
    settings : dict, optional
        The parameters of the original that are not its defaults.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The labels.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : array of shape (n_features_in_,)
        Names of the features, if the samples of training were a data frame.
    feature_importances_ : array of shape (n_features_in_,)
        The importances that the library states.
    boosted_trees_ : BoostedTrees
        The trees of the training.

    References
    ----------
    .. [1] G. Ke et al., *LightGBM: A Highly Efficient Gradient Boosting Decision Tree*, NIPS 2017.
    .. [2] T. Chen and C. Guestrin, *XGBoost: A Scalable Tree Boosting System*, KDD 2016.
    .. [3] L. Prokhorenkova et al., *CatBoost: Unbiased Boosting with Categorical Features*, NeurIPS 2018.
    """

    __stored_state__: ClassVar[StoredState] = StoredState(
        1, ("classes_", "n_features_in_", "feature_names_in_", "feature_importances_", "boosted_trees_")
    )

    classes_: Labels
    n_features_in_: int
    feature_importances_: NDArray[Any]
    boosted_trees_: BoostedTrees

    def __init__(self, learner: str, settings: dict[str, Any] | None = None) -> None:
        self.learner = learner
        self.settings = settings

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train with the library of the original, which must be installed.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            Training samples.
        y : array of shape (n_samples,)
            Their labels.
        sample_weight : array of shape (n_samples,), optional
            Their weights.

        Returns
        -------
        self
        """
        from metricwise.persistence.boosters.conversion import LEARNERS, extract_attributes

        if self.learner not in LEARNERS:
            raise ValueError(f"learner must be one of {', '.join(LEARNERS)}, got {self.learner!r}")
        module, _, name = self.learner.partition(".")
        try:
            library = import_module(module)
        except ImportError as error:
            raise ImportError(f"training a {name} needs {module}: pip install {module}") from error
        trained = getattr(library, name)(**(self.settings or {})).fit(X, y, sample_weight=sample_weight)
        for attribute in set(vars(self)).intersection(self.__stored_state__.attributes):
            delattr(self, attribute)
        for attribute, value in extract_attributes(trained, self.learner).items():
            setattr(self, attribute, value)
        return self

    def predict_proba(self, X: Any) -> NDArray[Any]:
        """Return the probabilities of the classes.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            Samples; NaN where a value is missing.

        Returns
        -------
        array of shape (n_samples, n_classes)
            One column per class, in the order of ``classes_``.
        """
        check_is_fitted(self)
        validate_data(self, X, reset=False, skip_check_array=True)
        if not sparse.issparse(X):
            return self.boosted_trees_.predict_proba(X)
        samples, starts = check_sparse(X).tocsr(), range(0, max(X.shape[0], 1), _SAMPLES_AT_ONCE)
        return np.vstack([self.boosted_trees_.predict_proba(samples[k : k + _SAMPLES_AT_ONCE]) for k in starts])

    def predict(self, X: Any) -> Labels:
        """Return the most probable class of each sample.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            Samples; NaN where a value is missing.

        Returns
        -------
        array of shape (n_samples,)
            Labels.
        """
        return np.asarray(self.classes_[np.argmax(self.predict_proba(X), axis=1)])

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "boosted_trees_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags
