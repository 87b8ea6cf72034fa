"""One small trained model of every kind that model files hold: ``python -m fuzzing.models`` writes them to the corpus.

The models are those of the tests of model files, on fewer samples, and the three boosters.
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
from sklearn.preprocessing import OrdinalEncoder

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
_SHORTENED = ("X", "y", "THREE_X", "THREE_Y", "LABELS_X", "LABELS_Y", "SPARSE", "WORDS", "FRAME", "NOTES", "DATED")


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
        "rare": data.RARE_X,
        "gram": data.X[:_N_SAMPLES] @ data.X[:_N_SAMPLES].T,
        "codes": np.hstack([data.X, codes])[:_N_SAMPLES],
    }


def list_predicted() -> dict[str, Any]:
    """Return a few of these samples, to predict."""
    samples = list_samples()
    for name in _OLD_MODELS:
        with np.load(_FIXTURES / f"{name}.npz") as stored:
            samples[name] = stored["X"]
    return {name: part[:_N_PREDICTED] for name, part in samples.items()}


def write_models(folder: Path = MODELS) -> None:
    """Train all models and write them."""
    folder.mkdir(parents=True, exist_ok=True)
    samples = list_samples()
    for name in _SHORTENED:
        setattr(saved_models, name, getattr(saved_models, name)[:_N_SAMPLES])
    makers = saved_models.MODELS | _list_boosters()
    del makers["plug-in, groups"]  # its groups are those of more samples; its file is like that of "plug-in"
    for name, make in makers.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model, own = make()
        kind = next(kind for kind, known in samples.items() if _is_same(own, known))
        path = folder / f"{name.replace(',', '').replace(' ', '-')}.{kind}.mw.gz"
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
