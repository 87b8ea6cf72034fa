"""Classifiers in the conventions of other packages: river's ``learn_one`` and ``predict_one``, MLflow's generic models.

Where river is installed, its adapter is one of its classifiers; without it, it has the same methods. MLflow is not
imported: it imports this module, by its name in the folder of a model, and calls `_load_pyfunc`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.feature_extraction import FeatureHasher

import metricwise
from metricwise.registry import entry_of

__all__ = ["RiverClassifier"]

try:
    _Base: Any = import_module("river.base").MiniBatchClassifier
except ImportError:
    _Base = object


class RiverClassifier(_Base):  # type: ignore[misc]
    """Learn from dictionaries of features one at a time, as classifiers of river do.

    Features are hashed by scikit-learn's ``FeatureHasher``: a number is the value of the feature "key", a text the
    feature "key=text", and None and nan are "key=". New features and texts may appear at any time.

    The first class is the one that is predicted if no other is. Every other class has a copy of the estimator that
    learns this class vs the rest: of two classes, the second is the positive one of the measure. A class that appears
    later gets its copy then, which learns from that sample on.

    Parameters
    ----------
    estimator : classifier with partial_fit
        A streaming classifier of metricwise, or a classifier of scikit-learn that learns from sparse samples. It is
        not changed.
    classes : sequence of labels, optional
        All classes, the negative one first; other labels are then an error. By default False and True if labels are
        booleans, else the labels in the order in which they appear.
    n_features : int, default=16384
        Number of hashed features. The time of a prediction after learning is proportional to it.

    Examples
    --------
    >>> from metricwise import STAMPClassifier
    >>> from metricwise.adapters import RiverClassifier
    >>> model = RiverClassifier(STAMPClassifier("f1"), n_features=64)
    >>> print(model.predict_one({"words": 3, "sender": "bank"}))
    None
    >>> for _ in range(20):
    ...     model.learn_one({"words": 3, "sender": "bank"}, True)
    ...     model.learn_one({"words": 90, "sender": "friend"}, False)
    >>> model.predict_one({"words": 4, "sender": "bank"})
    True
    """

    def __init__(self, estimator: Any, classes: Sequence[Any] | None = None, n_features: int = 2**14) -> None:
        self.estimator = estimator
        self.classes = classes
        self.n_features = n_features
        if not hasattr(estimator, "partial_fit"):
            raise TypeError(f"a {type(estimator).__name__} has no partial_fit: take a classifier that learns in parts")
        self._labels: list[Any] = [] if classes is None else list(classes)
        if classes is not None and (len(self._labels) < 2 or len(set(self._labels)) < len(self._labels)):
            raise ValueError(f"classes={self._labels!r} must be two labels or more, each once")
        self._learners: list[Any] = [clone(estimator) for _ in self._labels[1:]]
        self._n_learnt = 0

    @property
    def _multiclass(self) -> bool:
        return True

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        """Yield the parameters of river's checks."""
        entry = entry_of("STAMPClassifier")
        assert entry is not None
        yield {"estimator": entry.load()("f1"), "n_features": 256}

    # ------------------------------------------------------------------------------------------------------- learning

    def learn_one(self, x: Mapping[Any, Any], y: Any) -> None:
        """Learn from one sample.

        Parameters
        ----------
        x : dict
            Its features: numbers, booleans, texts, or None where missing.
        y : label
            Its class.
        """
        self._learn([x], [y])

    def learn_many(self, X: Any, y: Any) -> None:
        """Learn from the samples in a data frame, in their order.

        Parameters
        ----------
        X : data frame of shape (n_samples, n_columns)
            The samples, as dictionaries from column to value.
        y : series of shape (n_samples,)
            Their classes.
        """
        self._learn(X.to_dict("records"), list(y))

    def _learn(self, samples: Sequence[Mapping[Any, Any]], labels: Sequence[Any]) -> None:
        X, start = self._hash(samples), 0
        self._refuse_unknown(labels)
        for row, label in enumerate(labels):
            if label not in self._labels:
                self._learn_rows(X, labels, start, row)
                self._add_class(label)
                start = row
        self._learn_rows(X, labels, start, len(labels))

    def _refuse_unknown(self, labels: Sequence[Any]) -> None:
        for label in labels:
            if self.classes is not None and label not in self._labels:
                raise ValueError(f"{label!r} is not among classes={self._labels!r}: name all classes, or none")

    def _add_class(self, label: Any) -> None:
        is_first_boolean = not self._labels and isinstance(label, bool | np.bool_)
        self._labels += [False, True] if is_first_boolean else [label]
        if len(self._labels) > 1:
            self._learners.append(clone(self.estimator))

    def _learn_rows(self, X: sparse.csr_matrix, labels: Sequence[Any], start: int, stop: int) -> None:
        if start == stop:
            return
        for label, learner in zip(self._labels[1:], self._learners, strict=True):
            is_label = np.array([one == label for one in labels[start:stop]])
            learner.partial_fit(X[start:stop], is_label, classes=np.array([False, True]))
        self._n_learnt += stop - start

    # ----------------------------------------------------------------------------------------------------- prediction

    def predict_one(self, x: Mapping[Any, Any], **_: Any) -> Any:
        """Return the class of a sample; None before any was learnt from.

        Parameters
        ----------
        x : dict
            Its features: numbers, booleans, texts, or None where missing.
        **_ : dict
            Ignored; other models of river have options.

        Returns
        -------
        label or None
            The class.
        """
        return self._predict([x])[0]

    def predict_many(self, X: Any) -> Any:
        """Return the classes of the samples in a data frame as a series; empty before any was learnt from.

        Parameters
        ----------
        X : data frame of shape (n_samples, n_columns)
            The samples.

        Returns
        -------
        series of shape (n_samples,)
            The classes, with the index of X; empty before any sample was learnt from.
        """
        import pandas as pd

        if not self._n_learnt:
            return pd.Series(index=X.index[:0], dtype="object")
        return pd.Series(self._predict(X.to_dict("records")), index=X.index)

    def predict_proba_one(self, x: Mapping[Any, Any], **_: Any) -> dict[Any, float]:
        """Return the probability of every class seen; nothing before any sample was learnt from.

        Parameters
        ----------
        x : dict
            Its features: numbers, booleans, texts, or None where missing.
        **_ : dict
            Ignored; other models of river have options.

        Returns
        -------
        dict
            The probabilities by class; empty before any sample was learnt from.

        Raises
        ------
        NotImplementedError
            If the estimator has no probabilities, as those that are trained for a measure.
        """
        if not hasattr(self.estimator, "predict_proba"):
            raise NotImplementedError(
                f"a {type(self.estimator).__name__} predicts classes without probabilities: call predict_one"
            )
        if not self._n_learnt:
            return {}
        return dict(zip(self._labels, self._probabilities([x])[0].tolist(), strict=True))

    def predict_proba_many(self, X: Any) -> Any:
        """Return the probabilities of the classes of the samples in a data frame, as a data frame.

        Parameters
        ----------
        X : data frame of shape (n_samples, n_columns)
            The samples.

        Returns
        -------
        data frame of shape (n_samples, n_classes)
            The probabilities, with the index of X and one column per class seen.

        Raises
        ------
        NotImplementedError
            If the estimator has no probabilities, as those that are trained for a measure.
        """
        import pandas as pd

        rows = [self.predict_proba_one(row) for row in X.to_dict("records")]
        return pd.DataFrame(rows, index=X.index, columns=self._labels if self._n_learnt else [])

    def _predict(self, samples: Sequence[Mapping[Any, Any]]) -> list[Any]:
        if not self._n_learnt:
            return [None] * len(samples)
        if not self._learners:
            return [self._labels[0]] * len(samples)
        X = self._hash(samples)
        if len(self._learners) == 1:
            return [self._labels[int(is_second)] for is_second in self._learners[0].predict(X).tolist()]
        scores = np.column_stack([np.zeros(len(samples)), *(_score(learner, X) for learner in self._learners)])
        return [self._labels[best] for best in scores.argmax(axis=1).tolist()]

    def _probabilities(self, samples: Sequence[Mapping[Any, Any]]) -> Any:
        """Return probabilities: of the first class that no other is right, of the others their own, scaled to one."""
        if not self._learners:
            return np.ones((len(samples), 1))
        X = self._hash(samples)
        others = np.column_stack([learner.predict_proba(X)[:, 1] for learner in self._learners])
        every = np.column_stack([np.prod(1.0 - others, axis=1), others])
        return every / every.sum(axis=1, keepdims=True)

    def _hash(self, samples: Iterable[Mapping[Any, Any]]) -> sparse.csr_matrix:
        hasher = FeatureHasher(self.n_features, input_type="pair")
        return sparse.csr_matrix(hasher.transform([[_make_pair(*item) for item in one.items()] for one in samples]))


def _score(learner: Any, X: Any) -> Any:
    """Return scores that are above zero for the class of a learner."""
    return (
        learner.decision_function(X) if hasattr(learner, "decision_function") else learner.predict_proba(X)[:, 1] - 0.5
    )


def _make_pair(key: Any, value: Any) -> tuple[str, float]:
    """Return the name and the value of a feature to hash."""
    if value is None or (isinstance(value, float | np.floating) and math.isnan(value)):
        return f"{key}=", 1.0
    if isinstance(value, str):
        return f"{key}={value}", 1.0
    if not isinstance(value, bool | int | float | np.bool_ | np.number):
        raise TypeError(f"the feature {key!r} is a {type(value).__name__}: give a number, a text or None")
    return str(key), float(value)


class _PyfuncModel:
    """A model file with the methods that MLflow expects of a generic model ("pyfunc")."""

    def __init__(self, model: Any, method: str) -> None:
        if not callable(getattr(model, method, None)):
            raise ValueError(f"a {type(model).__name__} has no method {method!r}: give model_config another 'method'")
        self._model = model
        self._method = method

    def predict(self, model_input: Any, params: Mapping[str, Any] | None = None) -> Any:
        """Return what the method of the model returns for samples."""
        return getattr(self._model, self._method)(model_input)

    def get_raw_model(self) -> Any:
        """Return the model itself."""
        return self._model


def _load_pyfunc(path: str, model_config: Mapping[str, Any] | None = None) -> _PyfuncModel:
    """Return a model file for MLflow, whose generic models name a module that has this function.

    Parameters
    ----------
    path : str
        The file.
    model_config : dict, optional
        With "method", the method of the model that predicts: "predict" if none is named.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.datasets import make_classification
    >>> import metricwise
    >>> X, y = make_classification(100, random_state=0)
    >>> path = Path(tempfile.mkdtemp()) / "model.mw"
    >>> metricwise.save(metricwise.MultivariateSVC("f1").fit(X, y), path)
    >>> _load_pyfunc(str(path), {"method": "decision_function"}).predict(X[:2]).shape
    (2,)
    """
    return _PyfuncModel(metricwise.load(path), dict(model_config or {}).get("method", "predict"))
