"""Transformers that were trained on generated tables, TabICL and TabPFN, as classifiers with the same parameters."""

from __future__ import annotations

import re
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from metricwise._typing import Floats
from metricwise.estimators.selection.packages import AbsentPackageError, import_package


class Limits(NamedTuple):
    """The most samples, features and classes that a transformer is for, and the most samples without a GPU."""

    n_samples: int
    n_features: int
    n_classes: int
    n_samples_without_gpu: int | None = None  # None for no limit of its own


# Earlier versions keep their weights elsewhere (TabICL), or do not state their limit without a GPU (TabPFN).
_OLDEST = {"tabicl": (2, 0), "tabpfn": (8, 2)}

# TabICL has no limits of its own. Its authors report good results up to so many samples and features.
_TABICL_LIMITS = Limits(100_000, 2000, 1000)


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
        FileNotFoundError
            If the weights are not on disk.
        """
        if sample_weight is not None:
            raise ValueError(
                f"{self.package} takes no sample weights: leave it out of candidates, or leave out weights"
            )
        _require_file(self.package, self.weights)
        self.classes_, codes = np.unique(y, return_inverse=True)
        try:
            self.learner_ = make_learner(self.package, self.weights, self.n_categorical, self.random_state).fit(
                np.asarray(X), codes
            )
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


def make_learner(package: str, weights: str, n_categorical: int = 0, random_state: int = 0) -> Any:
    """Return the untrained classifier of a package.

    Parameters
    ----------
    package : {"tabicl", "tabpfn"}
        The package.
    weights : str
        The file with the weights of the transformer.
    n_categorical : int, default=0
        So many first columns hold codes of categories.
    random_state : int, default=0
        Seeds the permutations of columns and classes.
    """
    module = _import(package)
    if package == "tabicl":
        # Threads of torch wait for each other: on a busy machine, two took nine times as long (small network).
        return module.TabICLClassifier(
            model_path=weights, random_state=random_state, allow_auto_download=False, n_jobs=1
        )
    return module.TabPFNClassifier(
        model_path=weights, random_state=random_state, categorical_features_indices=list(range(n_categorical))
    )


def read_limits(package: str, weights: str) -> Limits:
    """Return what a transformer is for. The weights of TabPFN hold its limits, which differ between versions.

    Parameters
    ----------
    package : {"tabicl", "tabpfn"}
        The package.
    weights : str
        The file with the weights of the transformer.

    Raises
    ------
    ValueError
        If the weights cannot be read.
    """
    if package == "tabicl":
        return _TABICL_LIMITS
    _require_file(package, weights)
    learner = make_learner(package, weights)
    try:
        config = learner.get_inference_config()
    except Exception as error:  # formats of files have errors of their own
        raise ValueError(
            f"tabpfn cannot read its weights {weights} ({type(error).__name__}: {' '.join(str(error).split())}): "
            "download them again"
        ) from error
    return Limits(
        config.MAX_NUMBER_OF_SAMPLES,
        config.MAX_NUMBER_OF_FEATURES,
        config.MAX_NUMBER_OF_CLASSES,
        _limit_without_gpu(learner, config),
    )


def _limit_without_gpu(learner: Any, config: Any) -> int | None:
    """Return the most samples that TabPFN accepts on this machine; None if it has a GPU or the user allows more."""
    allows_more = _import("tabpfn").settings.settings.tabpfn.allow_cpu_large_dataset
    if allows_more or all(device.type != "cpu" for device in learner.devices_):
        return None
    limit: int = config.MAX_CPU_SAMPLES
    return limit


def find_weights(package: str) -> str:
    """Return the file with the weights of a package, without downloading them.

    Parameters
    ----------
    package : {"tabicl", "tabpfn"}
        TabICL keeps its weights in the cache of Hugging Face, TabPFN in a folder of its own, or in that of the
        environment variable ``TABPFN_MODEL_CACHE_DIR``. Of several versions, that which the package uses by default
        is found; ``TABPFN_MODEL_VERSION`` selects another.

    Raises
    ------
    AbsentPackageError
        If the package is not installed, or too old.
    FileNotFoundError
        If the weights are not on disk.
    """
    module = _import(package)
    return _find_tabicl(module) if package == "tabicl" else _find_tabpfn(module)


def _import(package: str) -> Any:
    oldest = _OLDEST[package]
    module = import_package(package, f"pip install {package}")
    if tuple(map(int, re.findall(r"\d+", version(package))[:2])) < oldest:
        raise AbsentPackageError(f"too old: pip install --upgrade {package} (version {'.'.join(map(str, oldest))} on)")
    return module


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
    """Return the file that TabPFN itself would use: other files in its folder are variants, or for regression."""
    loading = module.model_loading
    default = loading.resolve_model_version(None).value
    file = Path(loading.resolve_model_path(None, "classifier", default)[0][0])
    if file.is_file():
        return str(file)
    raise FileNotFoundError(
        f"TabPFN needs its weights {file.name} in {file.parent}: accept their licence and download them as its "
        "documentation describes, set TABPFN_MODEL_CACHE_DIR (their folder) or TABPFN_MODEL_VERSION (another version, "
        f"such as v2.5; now {default}) before Python starts, or give your own file by "
        "candidates={'tabpfn': TabPFNClassifier(model_path=...)}"
    )


def _require_file(package: str, weights: str) -> None:
    # TabPFN would ask for its licence in a browser, and download what is missing.
    if not Path(weights).is_file():
        raise FileNotFoundError(f"the weights of {package} are no longer at {weights}: restore them, or train again")
