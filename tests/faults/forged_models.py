"""Write model files, take them apart and write damaged ones."""

from __future__ import annotations

import gzip
import hashlib
import io
import struct
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.ensemble import ExtraTreesClassifier, GradientBoostingClassifier, HistGradientBoostingClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import metricwise as mw
from metricwise.persistence.container import open_container

X, y = make_classification(60, 4, random_state=0)

FIXTURES = Path(__file__).parent.parent / "fixtures" / "model_files"

Parts = tuple[dict[str, Any], dict[str, Any], list[np.ndarray]]


def _fit_plug_in(learner: Any) -> Any:
    return mw.PlugInClassifier(learner, cv=2).fit(X, y)


MODELS = {
    "linear": lambda: make_pipeline(StandardScaler(), mw.MultivariateSVC("f1")).fit(X, y),
    "stream": lambda: mw.MiniBatchSVC("f1").partial_fit(X, y, classes=[0, 1]),
    "trees": lambda: _fit_plug_in(ExtraTreesClassifier(3, random_state=0)),
    "boosted trees": lambda: _fit_plug_in(GradientBoostingClassifier(n_estimators=3, random_state=0)),
    "boosted histograms": lambda: _fit_plug_in(HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=5)),
    "machine": lambda: _fit_plug_in(SVC()),
    "model selection": lambda: mw.MetricClassifier("f1", candidates=["logistic"]).fit(X, y),
}


def save_models(folder: Path, names: Iterable[str] = MODELS) -> dict[str, Path]:
    """Save models in a folder; return the path of each."""
    paths = {name: folder / f"{name}.mw" for name in names}
    for name, path in paths.items():
        mw.save(MODELS[name](), path)
    return paths


def unpack_old_file(name: str, path: Path) -> Path:
    """Write a fixture, a model file of format 1, to a path; return the path."""
    path.write_bytes(gzip.decompress((FIXTURES / f"{name}.mw.gz").read_bytes()))
    return path


def read_parts(path: Path) -> Parts:
    """Return the header, the tree and the arrays of a model file."""
    with open_container(path) as file:
        tree = file.read_tree()
        count = sum(entry["kind"] == "array" for entry in tree["entries"])
        return file.read_header(), tree, [file.read_array(number) for number in range(count)]


def write_sealed(path: Path, content: bytes) -> Path:
    """Write an archive with a valid checksum; return the path."""
    body = content[:-22] + content[-22:-2] + struct.pack("<H", 64)
    path.write_bytes(body + hashlib.sha256(body).hexdigest().encode())
    return path


def make_archive(members: list[tuple[str, bytes]], compression: int = zipfile.ZIP_STORED) -> bytes:
    """Return a zip archive of the given members."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as file:
        for name, content in members:
            file.writestr(name, content)
    return buffer.getvalue()


def read_members(path: Path) -> list[tuple[str, bytes]]:
    """Return the names and contents of the members of a zip archive."""
    with zipfile.ZipFile(path) as file:
        return [(name, file.read(name)) for name in file.namelist()]


def assert_load_raises(path: Path, message: str) -> None:
    """Check that loading a file raises a ModelFileError that names the path."""
    with pytest.raises(mw.ModelFileError, match=message) as caught:
        mw.load(path)
    assert str(caught.value).startswith(str(path))
