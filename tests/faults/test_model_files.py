"""Damaged model files: one clear error or a model, and never another error, a hang or a crash."""

from __future__ import annotations

import contextlib
import copy
import hashlib
import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import metricwise as mw
from metricwise.persistence import describe
from metricwise.persistence.container import write_container
from tests.faults.forged_models import (
    FIXTURES,
    LABELS_X,
    MODELS,
    X,
    archive,
    assert_refused,
    members_of,
    parts_of,
    save_all,
    sealed,
    unpack_old_file,
    y,
)

MUTATIONS_OF_ONE = 70
OLD_FILES = [
    "AUCSVC-kernel",
    "MetricClassifier-multilabel",
    "MiniBatchSVC-partial_fit",
    "PlugInClassifier",
    "ProbabilisticClassifierChain",
]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return save_all(tmp_path_factory.mktemp("models"))


# --------------------------------------------------------------------------------------------------------------- damage


def test_every_flipped_byte_is_found(files: dict[str, Path], tmp_path: Path) -> None:
    mw.save(mw.AUCSVC(), tmp_path / "small.mw")
    whole = (tmp_path / "small.mw").read_bytes()
    path = tmp_path / "flipped.mw"
    chance = random.Random(0)
    for position in range(len(whole)):
        damaged = bytearray(whole)
        damaged[position] ^= chance.randrange(1, 256)
        path.write_bytes(damaged)
        assert_refused(path, "checksum is wrong|beginning is damaged")


def test_every_shortened_file_is_found(files: dict[str, Path], tmp_path: Path) -> None:
    whole = files["linear"].read_bytes()
    path = tmp_path / "short.mw"
    for length in [*range(0, 100), *range(100, len(whole), 97), len(whole) - 1]:
        path.write_bytes(whole[:length])
        assert_refused(path, "checksum is wrong|no model file of metricwise")
        with pytest.raises(mw.ModelFileError):
            describe(path)


def test_other_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("a,b\n1,2\n" * 100)
    assert_refused(path, "it is no model file of metricwise")
    np.savez(tmp_path / "rows.npz", rows=X)
    assert_refused(tmp_path / "rows.npz", "checksum is wrong")
    assert_refused(tmp_path / "absent.mw", "cannot be read .*check the path")
    assert_refused(tmp_path, "cannot be read")


# ---------------------------------------------------------------------------------------------------------------- fuzz

JUNK: list[Any] = [
    None, True, -1, 0, 7, 2**31, 2**63, 10**400, 0.5, 1e308, "", "x", "nan", "rbf", "precomputed", [], [1, 2], {},
    {"is": "entry", "at": 0}, {"is": "entry", "at": 10**9}, {"is": "entry", "at": -1}, {"is": "tuple", "items": []},
    {"is": "float", "value": "nan"}, {"is": "dict", "items": [[[], 1]]}, {"is": "set", "items": [[]]}, {"is": "?"},
    {"is": "slice", "items": [1, 2, 3, 4]}, {"kind": "object", "class": "os.system", "fields": {}},
]  # fmt: skip
NAMES = [
    "predict",
    "fit",
    "__class__",
    "__dict__",
    "coef_",
    "classes_",
    "x",
    "n_features_in_",
    "nodes",
    "class",
    "kind",
]


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield every container with every key of it."""
    keys = value.keys() if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        yield value, key
        yield from _places(value[key])


def _mutate_tree(tree: dict[str, Any], chance: random.Random) -> None:
    places = list(_places(tree))
    if not places:
        return
    holder, key = chance.choice(places)
    way = chance.randrange(5)
    if way == 0:
        del holder[key]
    elif way == 1 and isinstance(holder, dict):
        holder[chance.choice(NAMES)] = holder.pop(key)
    elif way == 2:
        other, other_key = chance.choice(places)
        holder[key] = copy.deepcopy(other[other_key])
    elif way == 3 and isinstance(holder[key], int):
        holder[key] += chance.choice([-1, 1, 1000])
    else:
        holder[key] = copy.deepcopy(chance.choice(JUNK))


def _mutate_arrays(arrays: list[np.ndarray], chance: random.Random) -> None:
    number = chance.randrange(len(arrays))
    array, way = arrays[number], chance.randrange(5)
    if way == 0:
        arrays[number] = array[: array.shape[0] // 2] if array.ndim else array
    elif way == 1:
        arrays[number] = array.reshape(-1)
    elif way == 2 and array.dtype.names is None and array.dtype.kind in "biuf":
        arrays[number] = array.astype(chance.choice(["f4", "f8", "i8", "u1", "U3", "c16"]))
    elif way == 3:
        arrays[number] = arrays[chance.randrange(len(arrays))]
    else:
        content = bytearray(np.ascontiguousarray(array).tobytes())
        for _ in range(min(len(content), 8)):
            content[chance.randrange(len(content))] = chance.choice([0, 1, 127, 255])
        arrays[number] = np.frombuffer(bytes(content), dtype=array.dtype).reshape(array.shape)


def _expect_refusals_or_models(original: Path, path: Path, chance: random.Random, samples: Any) -> None:
    header, tree, arrays = parts_of(original)
    refused, started = 0, time.perf_counter()
    for _ in range(MUTATIONS_OF_ONE):
        changed, content = copy.deepcopy(tree), list(arrays)
        for _ in range(chance.randrange(1, 4)):
            _mutate_tree(changed, chance) if chance.random() < 0.6 else _mutate_arrays(content, chance)
        with contextlib.suppress(ValueError):  # numbers that JSON cannot write
            write_container(path, header, changed, content)
        try:
            model = mw.load(path)
        except mw.ModelFileError as error:
            refused += 1
            assert str(error).startswith(str(path))
            continue
        with contextlib.suppress(Exception):  # a model of nonsense may fail to predict, but not take the process along
            model.predict(samples)
        with contextlib.suppress(Exception):
            model.partial_fit(samples, y)
    assert refused > 0
    assert time.perf_counter() - started < 60.0


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.filterwarnings("ignore")
def test_changed_models_are_refused_or_models(files: dict[str, Path], tmp_path: Path, name: str) -> None:
    is_sparse = "sparse" in name or name == "kernel"
    samples = LABELS_X if name == "chain" else sparse.csr_matrix(X) if is_sparse else np.abs(X)
    _expect_refusals_or_models(files[name], tmp_path / "changed.mw", random.Random(name), samples)


@pytest.mark.parametrize("name", OLD_FILES)
@pytest.mark.filterwarnings("ignore")
def test_changed_models_of_format_1_are_refused_or_models(tmp_path: Path, name: str) -> None:
    with np.load(FIXTURES / f"{name}.npz") as stored:
        samples = stored["X"]
    original = unpack_old_file(name, tmp_path / "original.mw")
    _expect_refusals_or_models(original, tmp_path / "changed.mw", random.Random(name), samples)


@pytest.mark.filterwarnings("ignore")
def test_changed_texts_are_refused_or_models(files: dict[str, Path], tmp_path: Path) -> None:
    chance = random.Random(0)
    members = members_of(files["model selection"])
    refused = 0
    for _ in range(200):
        changed = list(members)
        number = chance.randrange(len(changed))
        name, content = changed[number]
        bent = bytearray(content)
        for _ in range(chance.randrange(1, 4)):
            bent[chance.randrange(len(bent))] = chance.randrange(256)
        changed[number] = name, bytes(bent[: chance.choice([len(bent), len(bent), chance.randrange(len(bent))])])
        path = sealed(tmp_path / "changed.mw", archive(changed))
        try:
            mw.load(path)
        except mw.ModelFileError:
            refused += 1
    assert refused > 100


def test_every_change_of_the_archive_itself_is_refused_or_a_model(files: dict[str, Path], tmp_path: Path) -> None:
    mw.save(mw.AUCSVC(), tmp_path / "small.mw")
    whole = (tmp_path / "small.mw").read_bytes()[:-64]
    chance, refused = random.Random(1), 0
    for _ in range(300):
        bent = bytearray(whole)
        bent[chance.randrange(len(bent))] = chance.randrange(256)
        path = tmp_path / "changed.mw"
        path.write_bytes(bytes(bent) + hashlib.sha256(bent).hexdigest().encode())
        try:
            assert isinstance(mw.load(path), mw.AUCSVC)
        except mw.ModelFileError:
            refused += 1
    assert refused > 30
