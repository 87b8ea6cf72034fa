"""Boosters of other packages, LightGBM, CatBoost and XGBoost, as classifiers with the same parameters."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from metricwise._state import StoredState
from metricwise._typing import Floats, Integers
from metricwise.estimators.selection.packages import import_package
from metricwise.estimators.selection.profile import MANY_SAMPLES

_FEW_SAMPLES = 20_000  # whose copies need little memory
_MANY_SAMPLES = MANY_SAMPLES // 2  # many samples are trained on in halves
INSTALL_BOOSTERS = "pip install 'metricwise[boosters]'"


@dataclass(frozen=True)
class Package:
    """How a package names its classifier and what all three have.

    Attributes
    ----------
    name, classifier : str
        The package and its classifier.
    n_jobs, random_state : str
        The names of these parameters.
    fixed : dict
        Settings for training that writes nothing, neither to the screen nor to files, and gives the same model again.
    fixed_of_many : dict
        Further settings for many samples, which save memory.
    errors : str
        The module of its exceptions.
    """

    name: str
    classifier: str
    n_jobs: str = "n_jobs"
    random_state: str = "random_state"
    fixed: dict[str, Any] = field(default_factory=dict)
    fixed_of_many: dict[str, Any] = field(default_factory=dict)
    errors: str = ""


PACKAGES = {
    package.name: package
    for package in (
        Package(
            "lightgbm",
            "LGBMClassifier",
            fixed={"verbosity": -1, "deterministic": True, "force_row_wise": True},
            # Otherwise bins are made of 200,000 samples, which are copied, and are stored twice, by column and by row.
            fixed_of_many={"subsample_for_bin": 50_000, "force_row_wise": False, "force_col_wise": True},
            errors="lightgbm.basic",
        ),
        Package(
            "catboost",
            "CatBoostClassifier",
            n_jobs="thread_count",
            random_state="random_seed",
            fixed={"verbose": False, "allow_writing_files": False},
            errors="_catboost",
        ),
        Package("xgboost", "XGBClassifier", fixed={"verbosity": 0}, errors="xgboost.core"),
    )
}


class BoosterClassifier(ClassifierMixin, BaseEstimator):
    """Train a booster of another package on numbers, category codes and any labels.

    The packages differ in the labels that they accept, in the names of parameters and in their exceptions; these
    differences end here. Class weights are left to the threshold unless they are among the settings.

    Parameters
    ----------
    package : {"lightgbm", "catboost", "xgboost"}
        The package, imported when the classifier is trained.
    settings : dict, default=None
        Parameters of its classifier, as it names them.
    n_categorical : int, default=0
        So many first columns hold codes of categories: 0, 1, ..., NaN where one is missing. CatBoost takes none,
        since its statistics of categories cannot be stored as trees.
    n_jobs : int, default=1
        Threads of the training. On few samples, more take longer.
    random_state : int, default=0
        Seeds the training.

    Attributes
    ----------
    learner_ : classifier
        The trained classifier of the package; its classes are the positions in ``classes_``.
    classes_ : array
        Labels.

    References
    ----------
    .. [1] G. Ke et al. (2017). LightGBM: a highly efficient gradient boosting decision tree. *Advances in Neural
       Information Processing Systems* 30.
    .. [2] L. Prokhorenkova et al. (2018). CatBoost: unbiased boosting with categorical features. *Advances in Neural
       Information Processing Systems* 31.
    .. [3] T. Chen and C. Guestrin (2016). XGBoost: a scalable tree boosting system. *Proceedings of the 22nd ACM
       SIGKDD International Conference on Knowledge Discovery and Data Mining*, 785-794.

    Examples
    --------
    >>> X, y = np.arange(100.0)[:, None], np.repeat(["low", "high"], 50)
    >>> model = BoosterClassifier("lightgbm", {"n_estimators": 5}).fit(X, y)
    >>> model.predict(X[[0, -1]]).tolist()
    ['low', 'high']
    """

    __stored_state__: ClassVar[StoredState] = StoredState(1, ("learner_", "classes_"))

    def __init__(
        self,
        package: str,
        settings: dict[str, Any] | None = None,
        *,
        n_categorical: int = 0,
        n_jobs: int = 1,
        random_state: int = 0,
    ) -> None:
        self.package = package
        self.settings = settings
        self.n_categorical = n_categorical
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train the booster.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Samples; NaN where a value is missing.
        y : array of shape (n_samples,)
            Labels.
        sample_weight : array of shape (n_samples,), optional
            Weights of the samples.

        Returns
        -------
        self

        Raises
        ------
        AbsentPackageError
            If the package is not installed, or its installation is broken.
        ValueError
            If the package refuses the samples or the settings.
        """
        package = PACKAGES[self.package]
        X = np.asarray(X)
        self.classes_, codes = np.unique(y, return_inverse=True)
        learner = self._make_learner(package, *X.shape)
        passed = {"categorical_feature": list(range(self.n_categorical))} if self._names_categories_in_fit else {}
        try:
            if package.name == "catboost" and codes.size > _FEW_SAMPLES:
                # The trained classifier holds more than half the memory of the samples, and its copy the trees alone.
                self.learner_ = learner.fit(self._quantise(X, codes, sample_weight)).copy()
            else:
                self.learner_ = learner.fit(X, codes, sample_weight=sample_weight, **passed)
        except Exception as error:
            if type(error).__module__ != package.errors:
                raise
            raise ValueError(f"{package.classifier} failed: {error}") from error
        return self

    def predict_proba(self, X: Any) -> Floats:
        """Return the probabilities of the classes."""
        return np.asarray(self.learner_.predict_proba(self._name_columns(np.asarray(X))), dtype=np.float64)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable labels."""
        labels: NDArray[Any] = self.classes_[np.argmax(self.predict_proba(X), axis=1)]
        return labels

    def _name_columns(self, X: NDArray[Any]) -> Any:
        """Return samples with the names of columns that LightGBM 4.6 gives an array, and then misses in arrays."""
        names = getattr(self.learner_, "feature_names_in_", None)
        if names is None:
            return X
        import pandas as pd

        return pd.DataFrame(X, columns=names, copy=False)

    def _quantise(self, X: NDArray[Any], codes: Integers, sample_weight: Any) -> Any:
        """Return the samples as the bins that CatBoost makes of them anyway, and keeps beside a copy of the samples."""
        pool = import_package("catboost", INSTALL_BOOSTERS).Pool(
            X, codes, weight=sample_weight, thread_count=self.n_jobs
        )
        pool.quantize(random_seed=self.random_state)
        return pool

    @property
    def _names_categories_in_fit(self) -> bool:
        return self.package == "lightgbm" and self.n_categorical > 0

    def _make_learner(self, package: Package, n_samples: int, n_features: int) -> Any:
        module = import_package(package.name, INSTALL_BOOSTERS)
        settings = {
            **package.fixed,
            **(package.fixed_of_many if n_samples >= _MANY_SAMPLES else {}),
            **(self.settings or {}),
            package.n_jobs: self.n_jobs,
            package.random_state: self.random_state,
        }
        if self.n_categorical and package.name == "catboost":
            raise ValueError("CatBoost takes no codes of categories here: use one column per category (one-hot)")
        if self.n_categorical and package.name == "xgboost":
            kinds = ["c"] * self.n_categorical + ["q"] * (n_features - self.n_categorical)
            settings |= {"enable_categorical": True, "feature_types": kinds}
        return getattr(module, package.classifier)(**settings)
