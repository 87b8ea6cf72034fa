"""Damaged model files raise ModelFileError or load; they never cause another error, a hang or a crash."""

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
    assert_load_raises,
    make_archive,
    read_members,
    read_parts,
    save_all,
    unpack_old_file,
    write_sealed,
    y,
)

N_MUTATIONS = 70
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


def test_every_flipped_byte_is_detected(files: dict[str, Path], tmp_path: Path) -> None:
    mw.save(mw.AUCSVC(), tmp_path / "small.mw")
    whole = (tmp_path / "small.mw").read_bytes()
    path = tmp_path / "flipped.mw"
    dice = random.Random(0)
    for position in range(len(whole)):
        damaged = bytearray(whole)
        damaged[position] ^= dice.randrange(1, 256)
        path.write_bytes(damaged)
        assert_load_raises(path, "checksum is wrong|beginning is damaged")


def test_every_truncation_is_detected(files: dict[str, Path], tmp_path: Path) -> None:
    whole = files["linear"].read_bytes()
    path = tmp_path / "short.mw"
    for length in [*range(0, 100), *range(100, len(whole), 97), len(whole) - 1]:
        path.write_bytes(whole[:length])
        assert_load_raises(path, "checksum is wrong|no model file of metricwise")
        with pytest.raises(mw.ModelFileError):
            describe(path)


def test_other_files_raise(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("a,b\n1,2\n" * 100)
    assert_load_raises(path, "it is no model file of metricwise")
    np.savez(tmp_path / "samples.npz", samples=X)
    assert_load_raises(tmp_path / "samples.npz", "checksum is wrong")
    assert_load_raises(tmp_path / "absent.mw", "cannot be read .*check the path")
    assert_load_raises(tmp_path, "cannot be read")


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


def _iterate_keys(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield every container of a tree with each of its keys."""
    keys = value.keys() if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        yield value, key
        yield from _iterate_keys(value[key])


def _mutate_tree(tree: dict[str, Any], dice: random.Random) -> None:
    keys = list(_iterate_keys(tree))
    if not keys:
        return
    holder, key = dice.choice(keys)
    kind = dice.randrange(5)
    if kind == 0:
        del holder[key]
    elif kind == 1 and isinstance(holder, dict):
        holder[dice.choice(NAMES)] = holder.pop(key)
    elif kind == 2:
        other, other_key = dice.choice(keys)
        holder[key] = copy.deepcopy(other[other_key])
    elif kind == 3 and isinstance(holder[key], int):
        holder[key] += dice.choice([-1, 1, 1000])
    else:
        holder[key] = copy.deepcopy(dice.choice(JUNK))


def _mutate_arrays(arrays: list[np.ndarray], dice: random.Random) -> None:
    number = dice.randrange(len(arrays))
    array, kind = arrays[number], dice.randrange(5)
    if kind == 0:
        arrays[number] = array[: array.shape[0] // 2] if array.ndim else array
    elif kind == 1:
        arrays[number] = array.reshape(-1)
    elif kind == 2 and array.dtype.names is None and array.dtype.kind in "biuf":
        arrays[number] = array.astype(dice.choice(["f4", "f8", "i8", "u1", "U3", "c16"]))
    elif kind == 3:
        arrays[number] = arrays[dice.randrange(len(arrays))]
    else:
        content = bytearray(np.ascontiguousarray(array).tobytes())
        for _ in range(min(len(content), 8)):
            content[dice.randrange(len(content))] = dice.choice([0, 1, 127, 255])
        arrays[number] = np.frombuffer(bytes(content), dtype=array.dtype).reshape(array.shape)


def _assert_mutants_raise_or_load(original: Path, path: Path, dice: random.Random, samples: Any) -> None:
    header, tree, arrays = read_parts(original)
    n_errors, started = 0, time.perf_counter()
    for _ in range(N_MUTATIONS):
        changed, content = copy.deepcopy(tree), list(arrays)
        for _ in range(dice.randrange(1, 4)):
            _mutate_tree(changed, dice) if dice.random() < 0.6 else _mutate_arrays(content, dice)
        with contextlib.suppress(ValueError):  # numbers that JSON cannot write
            write_container(path, header, changed, content)
        try:
            model = mw.load(path)
        except mw.ModelFileError as error:
            n_errors += 1
            assert str(error).startswith(str(path))
            continue
        with contextlib.suppress(Exception):  # a mutated model may fail to predict, but must not crash the process
            model.predict(samples)
        with contextlib.suppress(Exception):
            model.partial_fit(samples, y)
    assert n_errors > 0
    assert time.perf_counter() - started < 60.0


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.filterwarnings("ignore")
def test_mutated_models_raise_or_load(files: dict[str, Path], tmp_path: Path, name: str) -> None:
    is_sparse = "sparse" in name or name == "kernel"
    samples = LABELS_X if name == "chain" else sparse.csr_matrix(X) if is_sparse else np.abs(X)
    _assert_mutants_raise_or_load(files[name], tmp_path / "changed.mw", random.Random(name), samples)


@pytest.mark.parametrize("name", OLD_FILES)
@pytest.mark.filterwarnings("ignore")
def test_mutated_models_of_format_1_raise_or_load(tmp_path: Path, name: str) -> None:
    with np.load(FIXTURES / f"{name}.npz") as stored:
        samples = stored["X"]
    original = unpack_old_file(name, tmp_path / "original.mw")
    _assert_mutants_raise_or_load(original, tmp_path / "changed.mw", random.Random(name), samples)


@pytest.mark.filterwarnings("ignore")
def test_mutated_texts_raise_or_load(files: dict[str, Path], tmp_path: Path) -> None:
    dice = random.Random(0)
    members = read_members(files["model selection"])
    n_errors = 0
    for _ in range(200):
        changed = list(members)
        number = dice.randrange(len(changed))
        name, content = changed[number]
        mutated = bytearray(content)
        for _ in range(dice.randrange(1, 4)):
            mutated[dice.randrange(len(mutated))] = dice.randrange(256)
        length = dice.choice([len(mutated), len(mutated), dice.randrange(len(mutated))])
        changed[number] = name, bytes(mutated[:length])
        path = write_sealed(tmp_path / "changed.mw", make_archive(changed))
        try:
            mw.load(path)
        except mw.ModelFileError:
            n_errors += 1
    assert n_errors > 100


def test_mutated_archives_raise_or_load(files: dict[str, Path], tmp_path: Path) -> None:
    mw.save(mw.AUCSVC(), tmp_path / "small.mw")
    whole = (tmp_path / "small.mw").read_bytes()[:-64]
    dice, n_errors = random.Random(1), 0
    for _ in range(300):
        mutated = bytearray(whole)
        mutated[dice.randrange(len(mutated))] = dice.randrange(256)
        path = tmp_path / "changed.mw"
        path.write_bytes(bytes(mutated) + hashlib.sha256(mutated).hexdigest().encode())
        try:
            assert isinstance(mw.load(path), mw.AUCSVC)
        except mw.ModelFileError:
            n_errors += 1
    assert n_errors > 30
