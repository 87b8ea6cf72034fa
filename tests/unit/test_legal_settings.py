"""Models with less common, legal settings and data predict the same after loading; unfitted ones load, too."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.feature_selection import SelectFromModel, SelectKBest, mutual_info_classif
from sklearn.impute import SimpleImputer
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression, RidgeClassifier, SGDClassifier
from sklearn.model_selection import RepeatedKFold, RepeatedStratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC

import metricwise as mw
from metricwise.persistence.schemas import SCHEMAS
from tests.unit.saved_models import predict_all
from tests.unit.sklearn_models import COLOURS, COUNTS, FRAME, GAPS, LABELS_X, LABELS_Y, SPARSE, TEXTS, X, y

_INTEGERS = COUNTS.astype(np.int64)
_MIXED = FRAME.assign(colour=FRAME["colour"].where(FRAME.index % 7 > 0))
_EMPTY = np.column_stack([GAPS, np.full(len(GAPS), np.nan)])


def _fit(model: Any, samples: Any = X, labels: Any = y) -> tuple[Any, Any]:
    return model.fit(samples, labels), samples


def _fit_neighbors(samples: Any = X, **settings: Any) -> tuple[Any, Any]:
    return _fit(KNeighborsClassifier(3, **settings), samples)


def _fit_texts(vectorizer: Any, learner: Any = None) -> tuple[Any, Any]:
    return _fit(make_pipeline(vectorizer, learner or LogisticRegression()), TEXTS)


def _fit_encoder(**settings: Any) -> tuple[Any, Any]:
    return _fit(make_pipeline(OneHotEncoder(**settings), LogisticRegression()), COLOURS)


def _fit_mixed_pipeline() -> tuple[Any, Any]:
    text = make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore"))
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    columns = ColumnTransformer([("text", text, ["colour"]), ("numbers", numbers, ["a", "b"])])
    return _fit(mw.PlugInClassifier(make_pipeline(columns, LogisticRegression()), "f1", cv=2), _MIXED)


def _select_inside() -> Any:
    scaled = make_pipeline(StandardScaler(), LogisticRegression())
    return SelectFromModel(scaled, importance_getter="named_steps.logisticregression.coef_")


LEGAL: dict[str, Callable[[], tuple[Any, Any]]] = {
    "wrapped TF-IDF": lambda: _fit(
        mw.PlugInClassifier(make_pipeline(TfidfVectorizer(), LogisticRegression()), "f1", cv=2), np.array(TEXTS)
    ),
    "calibrated TF-IDF": lambda: _fit(
        CalibratedClassifierCV(make_pipeline(TfidfVectorizer(), LogisticRegression()), cv=2), TEXTS
    ),
    "large whole numbers": lambda: _fit(LogisticRegression(C=10**12, random_state=2**32 - 1)),
    "neighbours, p=3": lambda: _fit_neighbors(p=3),
    "neighbours, p=0.5": lambda: _fit_neighbors(p=0.5, algorithm="brute"),
    "neighbours, weights": lambda: _fit_neighbors(metric_params={"w": np.arange(1.0, 6.0)}),
    "neighbours, integers": lambda: _fit_neighbors(_INTEGERS),
    "neighbours, sparse integers": lambda: _fit_neighbors(sparse.csr_matrix(_INTEGERS)),
    "neighbours, unsigned": lambda: _fit_neighbors(_INTEGERS.astype(np.uint16)),
    "neighbours, half": lambda: _fit_neighbors(X.astype(np.float16)),
    "neighbours, counts": lambda: _fit_texts(CountVectorizer(), KNeighborsClassifier()),
    "neighbours, jaccard": lambda: _fit_neighbors(X > 0.0, metric="jaccard"),
    "neighbours, jaccard, brute": lambda: _fit_neighbors(X > 0.0, metric="jaccard", algorithm="brute"),
    "neighbours, hamming": lambda: _fit_neighbors(_INTEGERS, metric="hamming"),
    "neighbours, correlation": lambda: _fit_neighbors(metric="correlation"),
    "neighbours, haversine": lambda: _fit_neighbors(X[:, :2], metric="haversine"),
    "neighbours, mahalanobis": lambda: _fit_neighbors(metric="mahalanobis", metric_params={"V": np.cov(X.T)}),
    "neighbours, inverse": lambda: _fit_neighbors(metric="mahalanobis", metric_params={"VI": np.eye(5)}),
    "neighbours, variances": lambda: _fit_neighbors(metric="seuclidean", metric_params={"V": X.var(axis=0)}),
    "imputed text": _fit_mixed_pipeline,
    "imputed text, constant": lambda: _fit(
        make_pipeline(SimpleImputer(strategy="constant", fill_value="?"), OneHotEncoder(), LogisticRegression()),
        _MIXED[["colour"]],
    ),
    "imputed, empty column": lambda: _fit(
        make_pipeline(SimpleImputer(strategy="constant", fill_value=1.0), LogisticRegression()), _EMPTY
    ),
    "averaged SGD, float32": lambda: _fit(SGDClassifier(average=True, random_state=0), X.astype(np.float32)),
    "one-hot, bool": lambda: _fit_encoder(dtype=np.bool_),
    "one-hot, name of a type": lambda: _fit_encoder(dtype="float32"),
    "one-hot, dropped": lambda: _fit_encoder(drop=np.array(["red", "blue"])),
    "Nystroem, integers": lambda: _fit(make_pipeline(Nystroem(n_components=4), LogisticRegression()), _INTEGERS),
    "ridge, two labels": lambda: _fit(RidgeClassifier(), LABELS_X, LABELS_Y[:, :2]),
    "ridge, three labels": lambda: _fit(RidgeClassifier(), LABELS_X, LABELS_Y),
    "histograms, stopped by F1": lambda: _fit(
        HistGradientBoostingClassifier(max_iter=3, early_stopping=True, scoring="f1", random_state=0)
    ),
    "count, UTF-8": lambda: _fit_texts(CountVectorizer(encoding="UTF-8")),
    "count, signature": lambda: _fit_texts(TfidfVectorizer(encoding="utf-8-sig")),
    "count, array of terms": lambda: _fit_texts(CountVectorizer(vocabulary=np.array(["red", "blue"]))),
    "constant, sparse labels": lambda: _fit(DummyClassifier(), LABELS_X, sparse.csr_matrix(LABELS_Y)),
    "half labels": lambda: _fit(LogisticRegression(), X, y.astype(np.float16)),
    "mutual information": lambda: _fit(
        make_pipeline(SelectKBest(partial(mutual_info_classif, random_state=0), k=2), LogisticRegression())
    ),
    "importance inside": lambda: _fit(make_pipeline(_select_inside(), LogisticRegression())),
    "repeated folds": lambda: _fit(
        mw.PlugInClassifier(LogisticRegression(), "f1", cv=RepeatedStratifiedKFold(n_splits=2, n_repeats=2))
    ),
    "calibrated, repeated folds": lambda: _fit(
        CalibratedClassifierCV(LogisticRegression(), cv=RepeatedKFold(n_splits=2, n_repeats=2, random_state=0))
    ),
}


@pytest.mark.parametrize("name", LEGAL)
@pytest.mark.filterwarnings("ignore")
def test_legal_models_predict_the_same_after_loading(name: str, tmp_path: Path) -> None:
    model, samples = LEGAL[name]()
    mw.save(model, tmp_path / "model.mw")
    expected, found = predict_all(model, samples), predict_all(mw.load(tmp_path / "model.mw"), samples)
    assert expected.keys() == found.keys() != set()
    for method, values in expected.items():
        np.testing.assert_array_equal(found[method], values)


_PARTS = [("scale", StandardScaler()), ("learn", LogisticRegression())]
_ARGUMENTS: dict[str, Any] = {
    "ColumnTransformer": [("scale", StandardScaler(), [0])],
    "FeatureUnion": _PARTS[:1],
    "Pipeline": _PARTS,
    "StackingClassifier": _PARTS[1:],
    "VotingClassifier": _PARTS[1:],
}


def _make_unfitted(cls: Any) -> Any:
    if cls.__name__ in _ARGUMENTS:
        return cls(_ARGUMENTS[cls.__name__])
    return cls(estimator=LogisticRegression()) if "estimator" in cls._get_param_names() else cls()


@pytest.mark.parametrize("name", [name for name in SCHEMAS if "._" not in name])
def test_unfitted_models_load_as_they_were(name: str, tmp_path: Path) -> None:
    module, _, last = name.rpartition(".")
    cls = getattr(import_module(module), last)
    if not issubclass(cls, BaseEstimator):
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = _make_unfitted(cls)
    mw.save(model, tmp_path / "model.mw")
    assert repr(mw.load(tmp_path / "model.mw")) == repr(model)


@pytest.mark.parametrize(
    ("columns", "kind"),
    [(pd.Index(["a", "c"]), "Index"), (make_column_selector(dtype_include=np.number), "make_column_selector")],
    ids=["index", "selector"],
)
def test_other_lists_of_columns_name_the_remedy(tmp_path: Path, columns: Any, kind: str) -> None:
    chosen = ColumnTransformer([("numbers", StandardScaler(), columns)])
    with pytest.raises(mw.ModelFileError, match=rf"transformers\[0\]\[2\] is of the type {kind}: give a list of names"):
        mw.save(make_pipeline(chosen, LogisticRegression()).fit(FRAME[["a", "c"]], y), tmp_path / "model.mw")


def test_metrics_that_cannot_be_stored_name_those_that_can(tmp_path: Path) -> None:
    def measure(a: Any, b: Any) -> float:
        return float(np.abs(a - b).sum())

    model = KNeighborsClassifier(metric="yule", algorithm="brute").fit(X > 0.0, y)
    with pytest.raises(mw.ModelFileError, match=r"metric='yule' cannot be stored: use one of braycurtis, .*jaccard"):
        mw.save(model, tmp_path / "model.mw")
    with pytest.raises(mw.ModelFileError, match=r"model.metric is 'measure', and a model file holds no code"):
        mw.save(KNeighborsClassifier(metric=measure).fit(X, y), tmp_path / "model.mw")


def test_refused_parts_are_named_with_what_was_found(tmp_path: Path) -> None:
    model = make_pipeline(StandardScaler(), KNeighborsClassifier(metric="yule", algorithm="brute")).fit(X > 0.0, y)
    with pytest.raises(mw.ModelFileError, match=r"saved: model.steps\[1\]\[1\]: metric='yule' cannot be stored"):
        mw.save(model, tmp_path / "model.mw")
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
    model[1].coef_ = model[1].coef_.astype(np.float16)
    with pytest.raises(mw.ModelFileError, match=r"\[1\]: coef_=ndarray of float16 of shape \(1, 5\) cannot be stored"):
        mw.save(model, tmp_path / "model.mw")
    model[1].coef_ = model[1].coef_.astype(np.float64)
    model[1].set_params(max_iter=-1)
    with pytest.raises(mw.ModelFileError, match=r"\[1\]: max_iter=-1 cannot be stored: choose another value"):
        mw.save(model, tmp_path / "model.mw")
    machine = SVC().fit(X, y)
    machine._n_support = machine._n_support[::-1] + np.int32(1)
    with pytest.raises(mw.ModelFileError, match=r"saved: model: its attributes do not fit together: train it again"):
        mw.save(machine, tmp_path / "model.mw")


def test_sparse_samples_stay_sparse(tmp_path: Path) -> None:
    mw.save(KNeighborsClassifier().fit(SPARSE.astype(np.int64), y), tmp_path / "model.mw")
    assert sparse.issparse(mw.load(tmp_path / "model.mw")._fit_X)
