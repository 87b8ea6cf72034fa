"""Hostile model files raise a clear error; nothing is executed, unpacked or allocated beyond the file's size."""

from __future__ import annotations

import json
import struct
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from metricwise.persistence.container import write_container
from tests.faults.forged_models import (
    assert_load_raises,
    make_archive,
    read_members,
    read_parts,
    save_models,
    unpack_old_file,
    write_sealed,
)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return save_models(tmp_path_factory.mktemp("models"))


def _write_hostile(path: Path, entries: list[Any], original: Path) -> Path:
    header, _, _ = read_parts(original)
    write_container(path, header, {"entries": entries}, [np.zeros(2)])
    return path


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ([{"kind": "object", "class": "os.system", "fields": {}}], "not among the classes of model files"),
        ([{"kind": "object", "class": "subprocess.Popen", "fields": {"args": "true"}}], "not among the classes"),
        ([{"kind": "object", "class": "metricwise.persistence.allowed.import_module", "fields": {}}], "not among"),
        ([{"kind": "object", "class": ["sklearn.svm", "SVC"], "fields": {}}], "not among the classes"),
        ([{"kind": "object", "class": "metricwise.load", "version": 1, "fields": {}}], "not among the classes"),
        (
            [{"kind": "object", "class": "metricwise.results.Result", "version": 1, "fields": {}}],
            "not among the classes",
        ),
        ([{"kind": "object", "class": "metricwise.FBeta", "fields": {}}], "'None' where its version belongs"),
        ([{"kind": "object", "class": "metricwise.FBeta", "version": 1, "fields": {"score": 1}}], "does not store"),
        ([{"kind": "object", "class": "metricwise.AUCSVC", "version": 1, "fields": {"callback": 1}}], "does not store"),
        ([{"kind": "object", "class": "metricwise.AUCSVC", "version": 1, "fields": {"_x": 1}}], "does not store"),
        ([{"kind": "name", "name": "builtins.eval"}], "not among the classes"),
        ([{"kind": "name", "name": "numpy.load"}], "not among the classes"),
        ([{"kind": "loss", "name": "os.system", "n_classes": 2}], "not among the classes"),
        ([{"kind": "reduce", "function": "os.system"}], "unknown kind 'reduce'"),
        ([{"kind": "object", "class": "sklearn.svm.SVC", "fields": {}}], "a SVC lacks its parameter"),
        (
            [
                {
                    "kind": "object",
                    "class": "sklearn.preprocessing.Normalizer",
                    "fields": {"norm": "l2", "copy": True, "transform": 1},
                }
            ],
            "'transform', which a Normalizer does not store",
        ),
        ([{"kind": "object", "class": "sklearn.svm.SVC", "fields": {"__class__": 1}}], "a SVC lacks its parameter"),
        ([{"kind": "items", "shape": [10**9, 10**9], "items": []}], "cannot reshape"),
        ([{"kind": "scalar", "dtype": "<U400000000", "value": "x"}], "type of something else"),
        ([{"kind": "dtype", "dtype": "O"}], "no type of numbers"),
        ([{"kind": "array", "number": 5}], "array_5"),
        ([{"kind": "array", "number": 0}], "its content is no estimator"),
        ([], "list index out of range"),
    ],
)
def test_hostile_trees_raise(files: dict[str, Path], tmp_path: Path, entries: list[Any], message: str) -> None:
    assert_load_raises(_write_hostile(tmp_path / "hostile.mw", entries, files["linear"]), message)


def test_functions_that_are_not_listed_raise_in_partial(files: dict[str, Path], tmp_path: Path) -> None:
    types = [{"kind": "name", "name": "builtins.object"}]
    named = {"is": "dict", "items": []}
    entry = {"kind": "partial", "function": {"is": "entry", "at": 0}, "settings": [], "named": named}
    assert_load_raises(
        _write_hostile(tmp_path / "hostile.mw", [*types, entry], files["linear"]), "a function is not allowed"
    )


@pytest.mark.parametrize(
    "change",
    [
        {"function": {"is": "entry", "at": 0}},
        {"name": "other"},
        {"unit": 0.0},
        {"unit": "1"},
        {"costs": {"is": "tuple", "items": [1.0]}},
        {"elementwise": 1},
    ],
    ids=lambda change: "-".join(map(str, change.items())),
)
def test_forged_measures_made_of_functions_raise(
    files: dict[str, Path], tmp_path: Path, change: dict[str, Any]
) -> None:
    listed = {"kind": "name", "name": "numpy.exp"}
    values = {"measure_name": "cost", "values": {"is": "tuple", "items": [1.0]}}
    missing = {"kind": "object", "class": "metricwise.MissingFunction", "version": 1, "fields": values}
    costs = {"is": "tuple", "items": [0.0, 1.0, 5.0, 0.0]}
    fields = {"name": "cost", "elementwise": False, "is_total": True, "unit": 5.0, "costs": costs}
    fields |= {"function": {"is": "entry", "at": 1}} | change
    measure = {"kind": "object", "class": "metricwise.LinearContingencyCost", "version": 1, "fields": fields}
    hostile = _write_hostile(tmp_path / "hostile.mw", [listed, missing, measure], files["linear"])
    assert_load_raises(hostile, "a measure made of a function is damaged|Cost is damaged")


def _make_npy(text: str, content: bytes = b"") -> bytes:
    head = text.encode().ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + content


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (
            _make_npy("{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000,)}", bytes(16)),
            "but has other content",
        ),
        (_make_npy("{'descr': '<f8', 'fortran_order': False, 'shape': (-2,)}", bytes(16)), "but has other content"),
        (_make_npy("{'descr': '|O', 'fortran_order': False, 'shape': (2,)}", bytes(16)), "not numbers or text"),
        (_make_npy("{'descr': '<M8[s]', 'fortran_order': False, 'shape': (2,)}", bytes(16)), "not numbers or text"),
        (_make_npy("__import__('os').system('true')", bytes(16)), "malformed node or string|Cannot parse header"),
        (_make_npy("[" * 117, bytes(16)), "cannot be loaded"),
        (b"\x93NUMPY\x03\x00" + bytes(20), "unknown format"),
        (b"cos\nsystem\n(S'true'\ntR.", "magic string is not correct"),
    ],
)
def test_hostile_arrays_raise_without_allocating_memory(
    files: dict[str, Path], tmp_path: Path, array: bytes, message: str
) -> None:
    members = [(name, array if name == "array_0.npy" else content) for name, content in read_members(files["linear"])]
    tracemalloc.start()
    assert_load_raises(write_sealed(tmp_path / "hostile.mw", make_archive(members)), message)
    assert tracemalloc.get_traced_memory()[1] < 20e6
    tracemalloc.stop()


def test_compressed_and_unknown_members_raise_and_are_not_unpacked(files: dict[str, Path], tmp_path: Path) -> None:
    members = read_members(files["linear"])
    bomb = [*members, ("array_900.npy", bytes(50_000_000))]
    tracemalloc.start()
    path = tmp_path / "hostile.mw"
    assert_load_raises(
        write_sealed(path, make_archive(bomb, zipfile.ZIP_DEFLATED)), "is compressed, which no part of a model file is"
    )
    assert path.stat().st_size < 1e6
    for name in ("../../evil.npy", "/etc/evil", "array_01.npy", "array_-1.npy", "model.json/x", "array_0.npy.exe"):
        assert_load_raises(write_sealed(path, make_archive([*members, (name, b"")])), "that no model file has")
    tracemalloc.stop()
    assert sorted(tmp_path.iterdir()) == [path]


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_archives_with_duplicated_or_missing_members_raise(files: dict[str, Path], tmp_path: Path) -> None:
    members, path = read_members(files["linear"]), tmp_path / "hostile.mw"
    assert_load_raises(write_sealed(path, make_archive([*members, members[0]])), "no model file")
    assert_load_raises(write_sealed(path, make_archive(members[1:])), "no model file")
    # Ten names of the same bytes.
    one = make_archive([("array_0.npy", bytes(1000))])
    start = one.index(b"PK\x01\x02")
    directory = one[start:-22]
    copies = b"".join(directory.replace(b"array_0", b"array_%d" % k) for k in range(10))
    end = struct.pack("<4sHHHHIIH", b"PK\x05\x06", 0, 0, 10, 10, len(copies), start, 0)
    assert_load_raises(write_sealed(path, one[:start] + copies + end), "no model file")


def test_deep_and_long_texts_raise(files: dict[str, Path], tmp_path: Path) -> None:
    members, path = dict(read_members(files["linear"])), tmp_path / "hostile.mw"

    def write_text(name: str, text: bytes) -> Path:
        return write_sealed(path, make_archive(list((members | {name: text}).items())))

    assert_load_raises(
        write_text("model.json", b'{"entries":' + b"[" * 500_000 + b"]" * 500_000 + b"}"), "Recursion|recursion"
    )
    deep: Any = 0
    for _ in range(300):
        deep = [deep]
    entry = {"kind": "items", "shape": [1], "items": deep}
    assert_load_raises(write_text("model.json", json.dumps({"entries": [entry]}).encode()), "nested too deeply")
    assert_load_raises(write_text("model.json", b'{"entries": [NaN]}'), "NaN where a number belongs")
    assert_load_raises(write_text("model.json", b"9" * 10_000), "cannot be loaded")
    assert_load_raises(write_text("model.json", b"[]"), "cannot be loaded")
    assert_load_raises(write_text("model.json", b"\xff\xfe\x00"), "cannot be loaded")
    assert_load_raises(write_text("header.json", b'"' + b"x" * 2_000_000 + b'"'), "header is too long")
    assert_load_raises(write_text("header.json", b"{}"), "it is no model file of metricwise")


@pytest.mark.parametrize("versions", [{}, {"metricwise": "0.1"}, {"metricwise": "0.1", "scikit-learn": 1}], ids=str)
def test_headers_without_versions_raise(files: dict[str, Path], tmp_path: Path, versions: dict[str, Any]) -> None:
    header, tree, arrays = read_parts(files["linear"])
    write_container(tmp_path / "x.mw", header | {"versions": versions}, tree, arrays)
    assert_load_raises(tmp_path / "x.mw", "its header is damaged")


def test_repeated_references_take_no_memory(files: dict[str, Path], tmp_path: Path) -> None:
    first = {"kind": "items", "shape": [1], "items": ["ha"]}
    again = [{"kind": "items", "shape": [2], "items": [{"is": "entry", "at": k}] * 2} for k in range(200)]
    tracemalloc.start()
    assert_load_raises(
        _write_hostile(tmp_path / "hostile.mw", [first, *again], files["linear"]), "parts are repeated too often"
    )
    assert tracemalloc.get_traced_memory()[1] < 20e6
    tracemalloc.stop()


# Arrays that would make compiled code read outside its memory.


def _write_changed_arrays(path: Path, original: Path, is_selected: Any, change: Any) -> Path:
    header, tree, arrays = read_parts(original)
    changed = 0
    for number, array in enumerate(arrays):
        if is_selected(array):
            arrays[number] = change(array.copy())
            changed += 1
    assert changed
    write_container(path, header, tree, arrays)
    return path


@pytest.mark.parametrize("field", ["left_child", "right_child", "feature"])
@pytest.mark.parametrize("value", [-5, 0, 10**9])
def test_trees_with_invalid_indices_raise(files: dict[str, Path], tmp_path: Path, field: str, value: int) -> None:
    if (field, value) == ("feature", 0):
        value = 4  # there are features 0 to 3

    def change(nodes: np.ndarray) -> np.ndarray:
        nodes[field][0] = value
        return nodes

    for name in ("trees", "boosted trees"):
        path = _write_changed_arrays(
            tmp_path / "x.mw", files[name], lambda array: array.dtype.names is not None, change
        )
        assert_load_raises(path, "decision tree is damaged")


@pytest.mark.parametrize(("field", "value"), [("left", 0), ("right", 10**9), ("feature_idx", 4), ("feature_idx", -1)])
def test_histogram_trees_with_invalid_indices_raise(
    files: dict[str, Path], tmp_path: Path, field: str, value: int
) -> None:
    def change(nodes: np.ndarray) -> np.ndarray:
        nodes[field][0] = value
        return nodes

    path = _write_changed_arrays(
        tmp_path / "x.mw", files["boosted histograms"], lambda array: "left" in (array.dtype.names or ()), change
    )
    assert_load_raises(path, "decision tree is damaged|boosted trees are damaged")


def test_kernel_machines_and_streams_of_wrong_sizes_raise(files: dict[str, Path], tmp_path: Path) -> None:
    def increase(array: np.ndarray) -> np.ndarray:
        return array + 10_000

    def decrease(array: np.ndarray) -> np.ndarray:
        return array - 10_000

    path = _write_changed_arrays(tmp_path / "x.mw", files["machine"], lambda array: array.dtype == np.int32, increase)
    assert_load_raises(path, "kernel machine is damaged")
    path = _write_changed_arrays(tmp_path / "x.mw", files["stream"], lambda array: array.dtype == np.int64, decrease)
    assert_load_raises(path, "state of a stream is damaged")
    path = _write_changed_arrays(
        tmp_path / "x.mw", files["stream"], lambda array: array.shape == (4,), lambda array: array[:3]
    )
    assert_load_raises(path, "state of a stream is damaged|wrong number of features")


# The content of files of format 1 is checked after its migration.


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ([{"kind": "object", "class": "metricwise.persistence.allowed.import_module", "fields": {}}], "not among"),
        ([{"kind": "object", "class": "metricwise.AUCSVC", "fields": {}}], "not among"),
        (
            [{"kind": "object", "class": "metricwise.estimators.front_door.tasks.TwoClasses", "fields": {}}],
            "its content is no estimator",
        ),
        (
            [{"kind": "object", "class": "metricwise.estimators.amp.AMPClassifier", "fields": {"callback": 1}}],
            "it sets 'callback', which a AMPClassifier does not store",
        ),
    ],
)
def test_hostile_trees_of_format_1_raise(tmp_path: Path, entries: list[Any], message: str) -> None:
    original = unpack_old_file("AUCSVC", tmp_path / "original.mw")
    assert_load_raises(_write_hostile(tmp_path / "hostile.mw", entries, original), message)


def test_streams_of_format_1_of_wrong_sizes_raise(tmp_path: Path) -> None:
    original, path = unpack_old_file("MiniBatchSVC-partial_fit", tmp_path / "original.mw"), tmp_path / "x.mw"
    _write_changed_arrays(path, original, lambda array: array.dtype == np.int64, lambda array: array - 10_000)
    assert_load_raises(path, "state of a stream is damaged")
    _write_changed_arrays(path, original, lambda array: array.dtype == float, lambda array: array[:-1])
    assert_load_raises(path, "state of a stream is damaged|wrong number of features")
