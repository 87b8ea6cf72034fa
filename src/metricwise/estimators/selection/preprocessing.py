"""Preprocessing for learners: scales, categories, dates, missing values."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClassifierMixin, OneToOneFeatureMixin, TransformerMixin, clone
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import has_fit_parameter, validate_data

from metricwise._state import StoredState
from metricwise._typing import Floats
from metricwise.decisions.weighting import fit_settings
from metricwise.estimators.selection.profile import Profile
from metricwise.estimators.selection.texts import TextEncoder
from metricwise.estimators.selection.times import TimeEncoder

_MOST_CATEGORIES = 100  # of one column; rarer ones are merged
_MOST_CATEGORIES_OF_TREES = 200  # boosted trees can separate 255
_DENSE_ENOUGH = (
    0.05  # share of stored values from which extra trees grow sooner on dense samples; twice as soon at 15 %
)


def _learner_has(name: str) -> Any:
    def check(self: Prepared) -> bool:
        return hasattr(getattr(self, "learner_", self.learner), name)

    return check


class Prepared(ClassifierMixin, BaseEstimator):
    """A learner behind a transformer; unlike in a pipeline, both get the sample weights.

    Parameters
    ----------
    transformer : transformer
        Converts samples to numbers.
    learner : classifier
        The classifier of the converted samples.
    """

    __stored_state__: ClassVar[StoredState] = StoredState(1, ("transformer_", "learner_", "classes_"))

    def __init__(self, transformer: Any, learner: Any) -> None:
        self.transformer = transformer
        self.learner = learner

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None) -> Self:
        """Fit transformer and learner; the learner gets groups if it takes them."""
        weighted = {} if sample_weight is None else {"sample_weight": sample_weight}
        self.transformer_ = clone(self.transformer)
        takes = has_fit_parameter(self.transformer_, "sample_weight")
        samples = self.transformer_.fit(X, **(weighted if takes else {})).transform(X)
        self.learner_ = clone(self.learner).fit(samples, y, **weighted, **fit_settings(self.learner, None, groups))
        if hasattr(self.learner_, "classes_"):  # a ranker has none
            self.classes_ = self.learner_.classes_
        return self

    def predict(self, X: Any) -> Any:
        """Return the learner's labels."""
        return self.learner_.predict(transform_as_fitted(self.transformer_, X))

    @available_if(_learner_has("predict_proba"))
    def predict_proba(self, X: Any) -> Any:
        """Return the learner's probabilities."""
        return self.learner_.predict_proba(transform_as_fitted(self.transformer_, X))

    @available_if(_learner_has("decision_function"))
    def decision_function(self, X: Any) -> Any:
        """Return the learner's scores."""
        return self.learner_.decision_function(transform_as_fitted(self.transformer_, X))


class Dense(TransformerMixin, BaseEstimator):
    """Converts sparse samples to dense ones in single precision."""

    __stored_state__: ClassVar[StoredState] = StoredState(1)

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn nothing."""
        return self

    def transform(self, X: Any) -> Any:
        """Return dense samples."""
        return X.toarray().astype(np.float32) if issparse(X) else np.asarray(X, dtype=np.float32)

    def __sklearn_is_fitted__(self) -> bool:
        return True


class Categories(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Converts categories to objects, NaN where one is missing.

    Encoders compare new categories with those of training by type. Without this, they would fail on samples that are
    all without a category, whose column holds numbers (NaN).

    Examples
    --------
    >>> Categories().fit_transform(np.array([["Lyon"], [None]], dtype=object))
    array([['Lyon'],
           [nan]], dtype=object)
    """

    __stored_state__: ClassVar[StoredState] = StoredState(1, ("n_features_in_", "feature_names_in_"))

    def fit(self, X: Any, y: Any = None) -> Self:
        """Note the names of the columns."""
        validate_data(self, X, skip_check_array=True)
        return self

    def transform(self, X: Any) -> Any:
        """Return an array of objects."""
        import pandas as pd

        values = np.array(X, dtype=object)
        values[pd.isna(values)] = np.nan
        return values


class FilledColumns(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Fills columns without any value in training with zeros, since boosted trees fail on them in some versions.

    No tree splits such a column, so that it does not matter what new samples have in it.

    Attributes
    ----------
    is_empty_ : array of bool of shape (n_features,)
        Whether all values of a column were missing in training.

    Examples
    --------
    >>> FilledColumns().fit_transform(np.array([[1.0, np.nan], [np.nan, np.nan]]))
    array([[ 1.,  0.],
           [nan,  0.]])
    """

    __stored_state__: ClassVar[StoredState] = StoredState(1, ("is_empty_", "n_features_in_", "feature_names_in_"))

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the columns without any value."""
        validate_data(self, X, skip_check_array=True)
        self.is_empty_ = np.isnan(_to_floats(X)).all(axis=0)
        return self

    def transform(self, X: Any) -> Floats:
        """Return numbers, zeros in these columns."""
        return np.where(self.is_empty_, 0.0, _to_floats(X))


def _to_floats(X: Any) -> Floats:
    return np.asarray(X, dtype=np.float64)


def transform_as_fitted(transformer: Any, X: Any) -> Any:
    """Transform samples, an array as a data frame if the transformer was fitted to one.

    Samples whose categories and dates are all missing hold nothing but numbers, and are validated to an array.
    """
    names = getattr(transformer, "feature_names_in_", None)
    if names is not None and isinstance(X, np.ndarray):
        import pandas as pd

        X = pd.DataFrame(X, columns=names)
    return transformer.transform(X)


def number_maker(profile: Profile) -> Any:
    """Return a transformer of the samples to scaled numbers; None if they are used unchanged."""
    if profile.has_counts:
        return TfidfTransformer(sublinear_tf=True)
    if profile.is_sparse:
        # Scales of sparse columns carry information, such as that of a rare term, unless they differ widely.
        return MaxAbsScaler() if profile.is_uneven else None
    fill = SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True)
    steps: list[Any] = [fill] if profile.has_missing else []
    scaled = make_pipeline(*steps, StandardScaler()) if steps else StandardScaler()
    if not profile.has_columns:
        return scaled
    columns = profile.columns
    # Dates that cannot be read are missing, in training or later.
    times = make_pipeline(TimeEncoder(columns.formats, one_hot=True), clone(fill), StandardScaler())
    parts = [
        ("numbers", scaled, list(columns.numbers)),
        ("categories", make_pipeline(Categories(), _one_hot_encoder()), list(columns.categories)),
        ("times", times, list(columns.times)),
        ("texts", make_pipeline(TextEncoder(), StandardScaler()), list(columns.texts)),
    ]
    return ColumnTransformer([part for part in parts if part[2]])


def _one_hot_encoder() -> OneHotEncoder:
    return OneHotEncoder(
        handle_unknown="infrequent_if_exist", max_categories=_MOST_CATEGORIES, sparse_output=False, dtype=np.float64
    )


def _code_encoder() -> OrdinalEncoder:
    return OrdinalEncoder(
        handle_unknown="use_encoded_value",
        unknown_value=np.nan,
        encoded_missing_value=np.nan,
        max_categories=_MOST_CATEGORIES_OF_TREES,
    )


def for_numbers(profile: Profile, learner: Any) -> Any:
    """Return a learner of scaled numbers with the preprocessing that the samples need."""
    maker = number_maker(profile)
    return learner if maker is None else Prepared(maker, learner)


def for_trees(profile: Profile, learner: Any, *, is_one_hot: bool = False) -> Any:
    """Return a learner of trees, which need no scaling and accept missing values; all else becomes numbers.

    Sparse samples are made dense if they are few enough, unless nearly all entries are zero and the learner can skip
    zeros: the trees are the same, and grow faster.

    Parameters
    ----------
    profile : Profile
        The kind of the samples.
    learner : classifier
        A learner of trees.
    is_one_hot : bool
        Whether categories become one column each instead of codes.
    """
    if profile.is_sparse and profile.fits_dense:
        leaves_out = get_tags(learner).input_tags.sparse and not profile.has_missing
        return learner if leaves_out and profile.density < _DENSE_ENOUGH else Prepared(Dense(), learner)
    if not profile.has_columns:
        return Prepared(FilledColumns(), learner) if profile.has_missing else learner
    columns = profile.columns
    encoder = _one_hot_encoder() if is_one_hot else _code_encoder()
    parts = [
        # First, where learners look for them.
        ("categories", make_pipeline(Categories(), encoder), list(columns.categories)),
        ("numbers", FilledColumns() if profile.has_missing else "passthrough", list(columns.numbers)),
        ("times", make_pipeline(TimeEncoder(columns.formats), FilledColumns()), list(columns.times)),
        ("texts", TextEncoder(), list(columns.texts)),
    ]
    return Prepared(ColumnTransformer([part for part in parts if part[2]]), learner)
