"""One small trained model of every kind that model files hold: ``python -m fuzzing.models`` writes them to the corpus.

The models are those of the tests of model files, on fewer samples, the three boosters, and some of scikit-learn alone.
"""

from __future__ import annotations

import gzip
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from sklearn.ensemble import (
    AdaBoostClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

import metricwise
from fuzzing.campaign import write
from fuzzing.cases import CORPUS
from tests.unit import saved_models

MODELS = CORPUS / "seeds" / "models"
FORMAT_1 = "format-1"  # begins the names of old files, which the tests of old versions keep
_FIXTURES = Path(saved_models.__file__).parents[1] / "fixtures" / "model_files"
_OLD_MODELS = (
    "AUCSVC-kernel",
    "MetricClassifier-multilabel",
    "MiniBatchSVC-partial_fit",
    "PlugInClassifier",
    "ProbabilisticClassifierChain",
)
_N_SAMPLES = 48
_N_PREDICTED = 12
_MOST_BYTES = 16_000  # of a file, compressed: the repository keeps it for ever
_SHORTENED = (
    *("X", "y", "THREE_X", "THREE_Y", "LABELS_X", "LABELS_Y", "SPARSE", "WORDS", "FRAME", "NOTES", "DATED"),
    *("MONEY", "PAIRS"),
)


def list_samples() -> dict[str, Any]:
    """Return the samples that models are trained on, by the name that ends the name of a model's file."""
    data = saved_models
    codes = OrdinalEncoder().fit_transform(data.FRAME[["colour"]])
    return {
        "dense": data.X[:_N_SAMPLES],
        "sparse": data.SPARSE[:_N_SAMPLES],
        "three": data.THREE_X[:_N_SAMPLES],
        "labels": data.LABELS_X[:_N_SAMPLES],
        "frame": data.FRAME[:_N_SAMPLES],
        "dated": data.DATED[:_N_SAMPLES],
        "money": data.MONEY[:_N_SAMPLES],
        "rare": data.RARE_X,
        "gram": data.X[:_N_SAMPLES] @ data.X[:_N_SAMPLES].T,
        "codes": np.hstack([data.X, codes])[:_N_SAMPLES],
        "integers": np.round(3.0 * data.X).astype(np.int64)[:_N_SAMPLES],
        "texts": np.array(data.NOTES[:_N_SAMPLES]),
        "colours": _list_colours(),
    }


def _list_colours() -> Any:
    """Return a column of text with gaps."""
    colours = saved_models.FRAME[["colour"]][:_N_SAMPLES].astype(object)
    return colours.where(colours.index.to_numpy()[:, None] % 7 > 0, None)


def list_predicted() -> dict[str, Any]:
    """Return a few of these samples, to predict."""
    samples = list_samples()
    for name in _OLD_MODELS:
        with np.load(_FIXTURES / f"{name}.npz") as stored:
            samples[name] = stored["X"]
    return {name: part[:_N_PREDICTED] for name, part in samples.items()}


def write_models(folder: Path = MODELS) -> None:
    """Train and write all models that the folder lacks; those that it has stay as an earlier version wrote them."""
    folder.mkdir(parents=True, exist_ok=True)
    samples = list_samples()
    for name in _SHORTENED:
        setattr(saved_models, name, getattr(saved_models, name)[:_N_SAMPLES])
    makers = saved_models.MODELS | _list_boosters() | _list_bare_models(samples)
    del makers["plug-in, groups"]  # its groups are those of more samples; its file is like that of "plug-in"
    for name, make in makers.items():
        stem = name.replace(",", "").replace(" ", "-")
        if any(folder.glob(f"{stem}.*")):
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model, own = make()
        kind = next(kind for kind, known in samples.items() if _is_same(own, known))
        path = folder / f"{stem}.{kind}.mw.gz"
        content = gzip.compress(_save(model), mtime=0)
        if len(content) > _MOST_BYTES:
            write(f"{path.name}: left out, {len(content)} bytes")
            continue
        path.write_bytes(content)
        write(f"{path.name}: {len(content)} bytes")


def _save(model: Any) -> bytes:
    with TemporaryDirectory() as folder:
        path = Path(folder, "model.mw")
        metricwise.save(model, path)
        return path.read_bytes()


def extract_models(folder: Path) -> list[Path]:
    """Write the model files of the corpus to a folder, and return them in a fixed order."""
    files = {packed.stem: packed for packed in sorted(MODELS.glob("*.mw.gz"))}
    files |= {f"{FORMAT_1}.{name}.mw": _FIXTURES / f"{name}.mw.gz" for name in _OLD_MODELS}
    for name, packed in files.items():
        (folder / name).write_bytes(gzip.decompress(packed.read_bytes()))
    return [folder / name for name in files]


def _list_boosters() -> dict[str, Callable[[], tuple[Any, Any]]]:
    from catboost import CatBoostClassifier
    from lightgbm import LGBMClassifier
    from xgboost import XGBClassifier

    learners = {
        "LightGBM": LGBMClassifier(n_estimators=3, num_leaves=4, min_child_samples=3, verbose=-1),
        "XGBoost": XGBClassifier(n_estimators=3, max_depth=2),
        "CatBoost": CatBoostClassifier(iterations=3, depth=2, verbose=False, allow_writing_files=False),
    }
    return {name: partial(_fit_plug_in, learner) for name, learner in learners.items()}


def _list_bare_models(samples: dict[str, Any]) -> dict[str, Callable[[], tuple[Any, Any]]]:
    """Return models of scikit-learn with methods that no wrapper has, and with settings that are stored otherwise."""
    terms = make_pipeline(TfidfVectorizer(max_features=12), LogisticRegression())
    filled = make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder(), LogisticRegression())
    found = {
        "bare tree": (DecisionTreeClassifier(random_state=0), "dense"),
        "bare forest": (RandomForestClassifier(3, random_state=0), "three"),
        "bare boosting": (GradientBoostingClassifier(n_estimators=3, random_state=0), "dense"),
        "bare histograms": (HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=5), "dense"),
        "bare stumps": (AdaBoostClassifier(n_estimators=3, random_state=0), "dense"),
        "bare gradient steps": (SGDClassifier(average=True, random_state=0), "sparse"),
        "bare network": (MLPClassifier((4,), max_iter=5, random_state=0), "dense"),
        "bare Bayes": (GaussianNB(), "three"),
        "sparse machine with probabilities": (SVC(probability=True, random_state=0), "sparse"),
        "wrapper of TF-IDF": (metricwise.PlugInClassifier(terms, cv=2), "texts"),
        "neighbours cubic": (KNeighborsClassifier(p=3), "dense"),
        "neighbours of integers": (KNeighborsClassifier(), "integers"),
        "sparse neighbours": (KNeighborsClassifier(), "sparse"),
        "imputer of text": (filled, "colours"),
    }
    bare = {name: partial(_fit_bare, model, samples[kind], kind) for name, (model, kind) in found.items()}
    return bare | {"monitor": _fit_monitor}


def _fit_bare(model: Any, samples: Any, kind: str) -> tuple[Any, Any]:
    return model.fit(samples, saved_models.THREE_Y if kind == "three" else saved_models.y), samples


def _fit_monitor() -> tuple[Any, Any]:
    """Return a monitor of a model's guarantee that has seen some outcomes and scores."""
    data = saved_models
    model = metricwise.PlugInClassifier(GaussianNB(), subject_to="recall>=0.2").fit(data.X, data.y)
    monitor = metricwise.GuaranteeMonitor(model)
    return monitor.update(data.y, model.predict(data.X), model.decision_function(data.X)), data.X


def _fit_plug_in(learner: Any) -> tuple[Any, Any]:
    data = saved_models
    return metricwise.PlugInClassifier(learner, cv=2).fit(data.X, data.y), data.X


def _is_same(own: Any, known: Any) -> bool:
    if type(own) is not type(known) or own.shape != known.shape:
        return False
    if hasattr(own, "equals"):
        return bool(own.equals(known))
    different = own != known
    return not (different.nnz if hasattr(different, "nnz") else different.any())


if __name__ == "__main__":
    write_models()
