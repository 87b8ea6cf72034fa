"""Transformers that were trained on generated tables, TabICL and TabPFN, as classifiers with the same parameters."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from metricwise._typing import Floats
from metricwise.estimators.selection.packages import import_package

_CHECKPOINTS = "tabpfn-*classifier*.ckpt"


class PretrainedClassifier(ClassifierMixin, BaseEstimator):
    """Predict by a transformer that reads the training samples, with weights that are on disk.

    Nothing is downloaded. The weights are found where their package keeps them; see `find_weights`.

    Parameters
    ----------
    package : {"tabicl", "tabpfn"}
        The package, imported when the classifier is trained.
    weights : str
        The file with the weights of the transformer.
    n_categorical : int, default=0
        So many first columns hold codes of categories.
    random_state : int, default=0
        Seeds the permutations of columns and classes over which predictions are averaged.

    Attributes
    ----------
    learner_ : classifier
        The classifier of the package.
    classes_ : array
        Labels.

    References
    ----------
    .. [1] J. Qu, D. Holzmüller, G. Varoquaux and M. Le Morvan (2025). TabICL: a tabular foundation model for in-context
       learning on large data. *Proceedings of the 42nd International Conference on Machine Learning*.
    .. [2] N. Hollmann et al. (2025). Accurate predictions on small data with a tabular foundation model. *Nature* 637,
       319-326.
    """

    def __init__(self, package: str, weights: str, *, n_categorical: int = 0, random_state: int = 0) -> None:
        self.package = package
        self.weights = weights
        self.n_categorical = n_categorical
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Store the training samples as the transformer reads them.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Samples; NaN where a value is missing.
        y : array of shape (n_samples,)
            Labels.
        sample_weight : None
            Weights of samples are refused: the transformer has no use for them.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If samples have weights, or the package refuses the samples.
        """
        if sample_weight is not None:
            raise ValueError(
                f"{self.package} takes no sample weights: leave it out of candidates, or leave out weights"
            )
        self.classes_, codes = np.unique(y, return_inverse=True)
        try:
            self.learner_ = self._make_learner().fit(np.asarray(X), codes)
        except RuntimeError as error:  # too many samples for this machine, for example
            raise ValueError(f"{self.package} failed: {error}") from error
        return self

    def predict_proba(self, X: Any) -> Floats:
        """Return the probabilities of the classes."""
        return np.asarray(self.learner_.predict_proba(np.asarray(X)), dtype=np.float64)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable labels."""
        labels: NDArray[Any] = self.classes_[np.argmax(self.predict_proba(X), axis=1)]
        return labels

    def _make_learner(self) -> Any:
        module = import_package(self.package, f"pip install {self.package}")
        common = {"model_path": self.weights, "random_state": self.random_state}
        if self.package == "tabicl":
            return module.TabICLClassifier(allow_auto_download=False, n_jobs=1, **common)
        return module.TabPFNClassifier(categorical_features_indices=list(range(self.n_categorical)), **common)


def find_weights(package: str) -> str:
    """Return the file with the weights of a package, without downloading them.

    Parameters
    ----------
    package : {"tabicl", "tabpfn"}
        TabICL keeps its weights in the cache of Hugging Face, TabPFN in a folder of its own, or in that of the
        environment variable ``TABPFN_MODEL_CACHE_DIR``.

    Raises
    ------
    AbsentPackageError
        If the package is not installed.
    FileNotFoundError
        If the weights are not on disk.
    """
    module = import_package(package, f"pip install {package}")
    return _find_tabicl(module) if package == "tabicl" else _find_tabpfn(module)


def _find_tabicl(module: Any) -> str:
    from huggingface_hub import try_to_load_from_cache

    file = module.TabICLClassifier().checkpoint_version
    found = try_to_load_from_cache("jingang/TabICL", file)
    if isinstance(found, str):
        return found
    raise FileNotFoundError(
        f"TabICL needs its weights {file} in the cache of Hugging Face: run `hf download jingang/TabICL {file}`, or "
        "give your own file by candidates={'tabicl': TabICLClassifier(model_path=...)}"
    )


def _find_tabpfn(module: Any) -> str:
    folder = Path(module.model_loading.get_cache_dir())
    found = sorted(folder.glob(_CHECKPOINTS))
    if found:
        return str(found[-1])  # the latest version
    raise FileNotFoundError(
        f"TabPFN needs its weights in {folder}, or in the folder of the environment variable TABPFN_MODEL_CACHE_DIR: "
        "accept their licence and download them as its documentation describes, or give your own file by "
        "candidates={'tabpfn': TabPFNClassifier(model_path=...)}"
    )
