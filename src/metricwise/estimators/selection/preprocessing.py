"""What stands between the samples and a learner: scales, categories, missing values."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin, clone
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import has_fit_parameter

from metricwise._state import StoredState
from metricwise.estimators.selection.profile import Profile

_MOST_CATEGORIES = 100  # of one column; rarer ones are put together
_MOST_CATEGORIES_OF_TREES = 200  # what boosted trees can tell apart is 255
_DENSE_ENOUGH = (
    0.05  # share of stored values from which extra trees grow sooner on dense samples; twice as soon at 15 %
)


def _learner_has(name: str) -> Any:
    def check(self: Prepared) -> bool:
        return hasattr(getattr(self, "learner_", self.learner), name)

    return check


class Prepared(ClassifierMixin, BaseEstimator):
    """A learner behind a transformer; unlike in a pipeline, weights of samples reach both as they are.

    Parameters
    ----------
    transformer : transformer
        What makes numbers of the samples.
    learner : classifier
        What learns from them.
    """

    __stored_state__: ClassVar[StoredState] = StoredState(1, ("transformer_", "learner_", "classes_"))

    def __init__(self, transformer: Any, learner: Any) -> None:
        self.transformer = transformer
        self.learner = learner

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit both."""
        weighted = {} if sample_weight is None else {"sample_weight": sample_weight}
        self.transformer_ = clone(self.transformer)
        takes = has_fit_parameter(self.transformer_, "sample_weight")
        rows = self.transformer_.fit(X, **(weighted if takes else {})).transform(X)
        self.learner_ = clone(self.learner).fit(rows, y, **weighted)
        self.classes_ = self.learner_.classes_
        return self

    def predict(self, X: Any) -> Any:
        """Return the learner's labels."""
        return self.learner_.predict(self.transformer_.transform(X))

    @available_if(_learner_has("predict_proba"))
    def predict_proba(self, X: Any) -> Any:
        """Return the learner's probabilities."""
        return self.learner_.predict_proba(self.transformer_.transform(X))

    @available_if(_learner_has("decision_function"))
    def decision_function(self, X: Any) -> Any:
        """Return the learner's scores."""
        return self.learner_.decision_function(self.transformer_.transform(X))


class Dense(TransformerMixin, BaseEstimator):
    """Makes dense samples, in single precision, of sparse ones."""

    __stored_state__: ClassVar[StoredState] = StoredState(1)

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn nothing."""
        return self

    def transform(self, X: Any) -> Any:
        """Return dense samples."""
        return X.toarray().astype(np.float32) if issparse(X) else np.asarray(X, dtype=np.float32)

    def __sklearn_is_fitted__(self) -> bool:
        return True


def number_maker(profile: Profile) -> Any:
    """Return what makes scaled numbers of the samples; None if they are taken as they are."""
    if profile.counts:
        return TfidfTransformer(sublinear_tf=True)
    if profile.is_sparse:
        # Scales of sparse columns mean something, such as that of a rare term, unless they are altogether different.
        return MaxAbsScaler() if profile.uneven else None
    steps: list[Any] = [SimpleImputer(strategy="median", add_indicator=True)] if profile.has_missing else []
    scaled = make_pipeline(*steps, StandardScaler()) if steps else StandardScaler()
    if not profile.is_frame:
        return scaled
    encoder = OneHotEncoder(
        handle_unknown="infrequent_if_exist", max_categories=_MOST_CATEGORIES, sparse_output=False, dtype=np.float64
    )
    parts = [("numbers", scaled, list(profile.numeric)), ("categories", encoder, list(profile.categorical))]
    return ColumnTransformer([part for part in parts if part[2]])


def for_numbers(profile: Profile, learner: Any) -> Any:
    """Return a learner that wants scaled numbers, behind what makes such numbers of the samples."""
    maker = number_maker(profile)
    return learner if maker is None else Prepared(maker, learner)


def for_trees(profile: Profile, learner: Any) -> Any:
    """Return a learner of trees, which need no scale and can do without some numbers; categories become codes.

    Sparse samples are made dense if they are few enough, unless nearly all is zero and the learner can leave zeros out:
    the trees are the same, and grow sooner.
    """
    if profile.is_sparse and profile.fits_dense:
        leaves_out = get_tags(learner).input_tags.sparse and not profile.has_missing
        return learner if leaves_out and profile.density < _DENSE_ENOUGH else Prepared(Dense(), learner)
    if not profile.is_frame:
        return learner
    encoder = OrdinalEncoder(
        handle_unknown="use_encoded_value",
        unknown_value=np.nan,
        encoded_missing_value=np.nan,
        max_categories=_MOST_CATEGORIES_OF_TREES,
    )
    parts = [("categories", encoder, list(profile.categorical)), ("numbers", "passthrough", list(profile.numeric))]
    return Prepared(ColumnTransformer([part for part in parts if part[2]]), learner)
