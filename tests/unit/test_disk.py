"""Samples on disk: blocks, conversion, and errors for every invalid file."""

from __future__ import annotations

import errno
import json
import logging
import os
import pathlib
import subprocess
import sys
import threading
import time

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import metricwise.io
from metricwise import MultivariateSVC
from metricwise.designs import make_design
from metricwise.designs.disk_views import TransformedSamples
from metricwise.io import binary_cache
from metricwise.io.arrays import load_array, locate_npy, locate_npz_member
from metricwise.io.binary_cache import convert_once
from metricwise.io.blocks import DenseLayout, SparseLayout
from metricwise.measures import get_measure
from metricwise.solvers import CuttingPlane, Limits, run
from metricwise.solvers.problem import make_problem
from metricwise.solvers.stream_state import StreamState
from tests.unit.disk_files import NAMES, X, Y, write_npy, write_samples

RNG = np.random.default_rng(1)


@pytest.fixture
def npy(tmp_path):
    return write_npy(tmp_path)


KINDS = ["npy", "single npy", "npz", "compressed npz", "svm", "csv", "parquet"]


def join_blocks(samples):
    """Return all blocks as one dense array."""
    parts = [block.toarray() if samples.is_sparse else block.copy() for _, block in samples.blocks()]
    return np.concatenate(parts)


# ------------------------------------------------------------------------------------------------------------- reading


@pytest.mark.parametrize("kind", KINDS)
def test_every_format_gives_the_same_samples_and_labels(kind, tmp_path):
    path, options = write_samples(tmp_path, kind)
    samples = metricwise.io.open(path, block_rows=700, **options)
    assert samples.shape == X.shape and samples.dtype == (np.float32 if kind == "single npy" else np.float64)
    assert samples.is_sparse == (kind.endswith("npz") or kind == "svm")
    assert np.diff(samples.bounds).max() <= 700 and samples.bounds[0] == 0 and samples.bounds[-1] == 3000
    np.testing.assert_array_equal(join_blocks(samples), X)
    np.testing.assert_array_equal(np.asarray(samples.y).astype(bool), Y)
    assert samples.feature_names == (NAMES if kind in ("csv", "parquet") else None)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_tables_without_labels_are_opened(kind, tmp_path):
    frame = pd.DataFrame(X, columns=NAMES)
    path = tmp_path / f"X.{kind}"
    frame.to_csv(path, index=False) if kind == "csv" else frame.to_parquet(path)
    samples = metricwise.io.open(path, labelled=False)
    assert samples.y is None and samples.shape == X.shape and samples.feature_names == NAMES
    np.testing.assert_array_equal(join_blocks(samples), X)
    labelled = metricwise.io.open(path, target="f")  # a second file in the same folder
    assert labelled.shape == (3000, 5) and labelled.feature_names == NAMES[:5]
    np.testing.assert_array_equal(labelled.y, X[:, 5])
    model = MultivariateSVC("f1", threshold="train").fit(frame, Y)
    np.testing.assert_array_equal(model.predict(samples), model.predict(frame))
    with pytest.raises(ValueError, match="opened without one"):
        MultivariateSVC("f1").fit(samples)
    with pytest.raises(ValueError, match="leave one out"):
        metricwise.io.open(path, labelled=False, target="f")
    np.save(tmp_path / "X.npy", X)
    with pytest.raises(ValueError, match="labelled=False has no meaning for the format"):
        metricwise.io.open(tmp_path / "X.npy", labelled=False)
    (tmp_path / "X.svm").write_text("1 1:2\n")
    assert metricwise.io.open(tmp_path / "X.svm", labelled=False).y is None


@pytest.mark.parametrize("suffix", ["npy", "npz"])
@pytest.mark.parametrize("times", [1, 300], ids=["small", "large"])
def test_blocks_come_in_the_requested_order_and_are_not_overwritten_by_read_ahead(times, suffix, tmp_path):
    """Large blocks are read ahead by a thread."""
    wide = np.tile(X[:300], (1, times)) + np.arange(300)[:, None]
    path = tmp_path / f"X.{suffix}"
    np.save(path, wide) if suffix == "npy" else sparse.save_npz(path, sparse.csr_matrix(wide), compressed=False)
    samples = metricwise.io.open(path, block_rows=20)
    order = [7, 0, 14, 14, 3]
    for number, (first, block) in zip(order, samples.blocks(order), strict=True):
        time.sleep(0.01)  # while the next one is read
        assert first == 20 * number
        found = block.toarray() if samples.is_sparse else block
        np.testing.assert_array_equal(found, wide[first : first + 20])
    np.testing.assert_allclose(make_design(samples).scores(np.ones(6 * times)), wide.sum(axis=1), rtol=1e-12)
    ahead = samples.blocks()
    next(ahead)
    ahead.close()  # closing the iterator ends the reading thread
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("metricwise-reader")]


def test_blocks_of_sparse_samples_are_bounded_by_their_entries(tmp_path):
    """Samples with many entries make short blocks, and those without entries cost almost nothing."""
    lengths = np.array([500, 0, 0, 0, 499, 1, 500, 3, 0, 2])
    indptr = np.append(0, np.cumsum(lengths))
    indices = np.concatenate([np.arange(length) for length in lengths]).astype(np.int32)
    matrix = sparse.csr_matrix((np.ones(indices.size), indices, indptr), shape=(10, 500))
    matrix = sparse.vstack([matrix] * 200, format="csr")
    sparse.save_npz(tmp_path / "X.npz", matrix, compressed=False)
    samples = metricwise.io.open(tmp_path / "X.npz", memory_limit=320_000_000 + 220 * 2000 + 8 * 2**16)
    assert len(samples.bounds) - 1 > 200 * 1505 * 12 // 2**16
    assert max(block.nnz for _, block in samples.blocks()) * 12 <= 2**16
    assert (sparse.vstack([block.copy() for _, block in samples.blocks()]) != matrix).nnz == 0


def test_gather_reads_only_the_blocks_it_needs(npy):
    samples = metricwise.io.open(npy, block_rows=100)
    asked = []

    class Watched:
        def __getattr__(self, name):
            return getattr(samples, name)

        def blocks(self, which=None):
            asked.extend(which)
            return samples.blocks(which)

    design = make_design(Watched(), intercept=1.0)
    wanted = np.array([2999, 150, 5, 199, 150])
    part = design.gather(wanted)
    assert asked == [0, 1, 29]
    w = RNG.normal(size=7)
    np.testing.assert_allclose(part.scores(w), np.column_stack([X, np.ones(3000)])[wanted] @ w, atol=1e-12)
    asked.clear()
    few = np.zeros(3000)
    few[[250, 2999]] = 1.0
    design.combine(few)
    design.take(np.array([1000, 1001])).scores(w)
    assert asked == [29, 2, 10]


@pytest.mark.parametrize("dtype", ["int32", "float16", ">f8", "bool"])
def test_other_dtypes_are_converted_once(dtype, tmp_path):
    numbers = np.round(X).astype(dtype)
    np.save(tmp_path / "X.npy", numbers)
    samples = metricwise.io.open(tmp_path / "X.npy", cache=tmp_path / "cache")
    assert samples.dtype == np.float64 and samples.dtype.isnative
    np.testing.assert_array_equal(join_blocks(samples), numbers.astype(float))
    assert len(list((tmp_path / "cache").iterdir())) == 1


def test_single_precision_can_be_requested(tmp_path):
    path, options = write_samples(tmp_path, "csv")
    samples = metricwise.io.open(path, dtype=np.float32, **options)
    assert samples.dtype == np.float32
    np.testing.assert_array_equal(join_blocks(samples), X)


# ---------------------------------------------------------------------------------------------------- converted files


def list_folders(where):
    return sorted(path for path in where.iterdir() if path.is_dir())


def test_a_converted_file_is_reused_until_it_changes(tmp_path):
    path, options = write_samples(tmp_path, "csv")
    metricwise.io.open(path, **options)
    (first,) = list_folders(tmp_path)
    assert first.name.startswith("X.csv.metricwise-")
    before = (first / "X.npy").stat().st_mtime_ns
    metricwise.io.open(path, **options)
    assert list_folders(tmp_path) == [first] and (first / "X.npy").stat().st_mtime_ns == before
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines, lines[1]]) + "\n")
    samples = metricwise.io.open(path, **options)
    assert samples.shape == (3001, 6)
    (second,) = list_folders(tmp_path)
    assert second != first


def test_other_options_have_a_folder_of_their_own(tmp_path):
    path, options = write_samples(tmp_path, "csv")
    metricwise.io.open(path, **options)
    other = metricwise.io.open(path, target="a")
    assert other.feature_names == (*NAMES[1:], "label")
    assert len(list_folders(tmp_path)) == 2


def test_a_malformed_line_is_named_and_no_files_are_left(tmp_path):
    path, options = write_samples(tmp_path, "csv")
    lines = path.read_text().splitlines()
    lines[2500] = lines[2500].replace(",", ",x", 1)
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(metricwise.io.MalformedLineError, match=r"X\.csv, line 2501, column"):
        metricwise.io.open(path, **options)
    assert list_folders(tmp_path) == []


def test_a_killed_conversion_is_never_used(tmp_path):
    path, _ = write_samples(tmp_path, "svm")
    script = """
import os, signal, sys
import metricwise.io, metricwise.io.binary_cache as cache
finished = cache._publish
cache._publish = lambda *names: os.kill(os.getpid(), signal.SIGKILL)
metricwise.io.open(sys.argv[1])
"""
    done = subprocess.run([sys.executable, "-c", script, str(path)], capture_output=True, check=False)
    assert done.returncode == -9, done.stderr
    (deserted,) = list_folders(tmp_path)
    assert deserted.name.endswith(".partial")
    np.testing.assert_array_equal(join_blocks(metricwise.io.open(path)), X)
    assert deserted in list_folders(tmp_path)  # another process may still be writing it
    long_ago = time.time() - 7200
    for each in [*deserted.iterdir(), deserted]:
        os.utime(each, (long_ago, long_ago))
    metricwise.io.open(path, dtype=np.float32)
    assert deserted not in list_folders(tmp_path)


def test_a_conversion_finished_by_another_process_is_used(tmp_path):
    path, _ = write_samples(tmp_path, "csv")
    faster = []

    def write(folder, value):
        np.save(folder / "X.npy", np.full((2, 2), value))
        return {}

    def write_slowly(folder):
        faster.append(convert_once(str(path), {}, None, ["X"], lambda folder: write(folder, 1.0)))
        return write(folder, 2.0)

    found = convert_once(str(path), {}, None, ["X"], write_slowly)
    assert found.arrays == faster[0].arrays and list_folders(tmp_path) == [found.folder]
    assert load_array(found.arrays["X"])[0, 0] == 1.0


def test_a_folder_that_another_process_publishes_at_the_same_moment_stays(tmp_path, monkeypatch):
    path, options = write_samples(tmp_path, "csv")
    check, faster = binary_cache._open_folder, []

    def check_too_early(folder, *rest):
        try:
            return check(folder, *rest)
        except FileNotFoundError:
            monkeypatch.setattr(binary_cache, "_open_folder", check)
            faster.append(metricwise.io.open(path, **options))
            raise

    monkeypatch.setattr(binary_cache, "_open_folder", check_too_early)
    samples = metricwise.io.open(path, **options)
    for each in [samples, *faster]:
        np.testing.assert_array_equal(join_blocks(each), X)
    assert len(list_folders(tmp_path)) == 1


@pytest.mark.parametrize("code", [errno.EMFILE, errno.EACCES, errno.EIO])
def test_an_error_of_the_system_is_no_damage_of_a_converted_folder(code, tmp_path, monkeypatch):
    path, options = write_samples(tmp_path, "csv")
    samples = metricwise.io.open(path, **options)

    def fail(name, kinds):
        if ".partial" in name:
            return locate_npy(name, kinds)
        raise OSError(code, os.strerror(code), name)

    with monkeypatch.context() as patch:
        patch.setattr(binary_cache, "locate_npy", fail)
        with pytest.raises(OSError, match=os.strerror(code)):
            metricwise.io.open(path, **options)
    np.testing.assert_array_equal(join_blocks(samples), X)


def damage_text(file, before, after):
    file.write_text(file.read_text().replace(before, after))


DAMAGED = {
    "no facts": ("csv", "about.json", lambda file: file.write_text("")),
    "other facts": ("csv", "about.json", lambda file: file.write_text("{}")),
    "a list": ("csv", "about.json", lambda file: file.write_text("[]")),
    "deep facts": ("csv", "about.json", lambda file: file.write_text("[" * 10**5)),
    "facts that are no text": ("csv", "about.json", lambda file: file.write_bytes(b"\xff\xfe")),
    "another width": ("svm", "about.json", lambda file: damage_text(file, '"n_features": 6', '"n_features": false')),
    "another array": ("csv", "about.json", lambda file: damage_text(file, '"X"', '"../../X"')),
    "no labels": ("csv", "y.npy", lambda file: file.unlink()),
    "empty labels": ("csv", "y.npy", lambda file: file.write_bytes(b"")),
    "short labels": ("csv", "y.npy", lambda file: file.write_bytes(file.read_bytes()[:-20])),
    "byte order": ("csv", "X.npy", lambda file: np.save(file, X.astype(">f8"))),
    "half precision": ("csv", "X.npy", lambda file: np.save(file, X.astype(np.float16))),
    "integers": ("csv", "X.npy", lambda file: np.save(file, X.astype(np.int64))),
    "one axis": ("csv", "X.npy", lambda file: np.save(file, X.ravel())),
    "three axes": ("csv", "X.npy", lambda file: np.save(file, X[:, :, None])),
    "wide": ("csv", "X.npy", lambda file: np.save(file, np.hstack([X, X]))),
    "entries that are bool": ("svm", "data.npy", lambda file: np.save(file, np.load(file) > 0)),
    "byte order of entries": ("svm", "data.npy", lambda file: np.save(file, np.load(file).astype(">f8"))),
    "emptied": ("csv", "X.npy", lambda file: [each.unlink() for each in file.parent.iterdir()]),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_converted_folder_is_converted_anew(name, tmp_path, caplog):
    kind, part, damage = DAMAGED[name]
    path, options = write_samples(tmp_path, kind)
    metricwise.io.open(path, **options)
    (folder,) = list_folders(tmp_path)
    damage(folder / part)
    with caplog.at_level(logging.WARNING, "metricwise"):
        samples = metricwise.io.open(path, **options)
    assert [record.message for record in caplog.records if "is converted anew" in record.message]
    np.testing.assert_array_equal(join_blocks(samples), X)
    np.testing.assert_array_equal(np.asarray(samples.y).astype(bool), Y)
    caplog.clear()
    metricwise.io.open(path, **options)
    assert not caplog.records and list_folders(tmp_path) == [folder]


def write_about(about):
    """Return a file of facts whose checksum fits."""
    return json.dumps({"about": about, "checksum": binary_cache._compute_checksum(about)})


STRANGE = [{}, [], "x", None, {"source": [], "arrays": {}, "facts": {}}, {"source": 1, "arrays": [], "facts": 2}]


@pytest.mark.parametrize("content", ["", "{}", "[]", "[" * 10**5, *map(write_about, STRANGE)])
def test_damaged_folders_do_not_matter(content, tmp_path):
    path, options = write_samples(tmp_path, "csv")
    metricwise.io.open(path, **options)
    (folder,) = list_folders(tmp_path)
    (folder / "about.json").write_text(content)
    assert metricwise.io.open(path, target="a").shape == X.shape
    np.testing.assert_array_equal(join_blocks(metricwise.io.open(path, **options)), X)


def test_folders_of_the_first_version_are_removed(tmp_path):
    path, options = write_samples(tmp_path, "csv")
    first = tmp_path / "X.csv.metricwise-0123456789ab"
    first.mkdir()
    (first / "about.json").write_text(json.dumps({"source": [str(path), 1, 2], "skipped": ""}))
    samples = metricwise.io.open(path, **options)
    assert not first.exists()
    np.testing.assert_array_equal(join_blocks(samples), X)


def test_a_folder_that_another_process_has_mended_stays(tmp_path):
    path, options = write_samples(tmp_path, "csv")
    samples = metricwise.io.open(path, **options)
    (folder,) = list_folders(tmp_path)
    source = json.loads((folder / "about.json").read_text())["about"]["source"]
    partial = tmp_path / "partial"
    partial.mkdir()
    binary_cache._replace_damaged(partial, folder, source, ["X", "y"])
    assert list_folders(tmp_path) == [folder] and not partial.exists()
    np.testing.assert_array_equal(join_blocks(samples), X)


def test_folders_that_vanish_while_old_ones_are_removed_do_not_matter(tmp_path):
    """Other processes convert files of the same name into the same folder, and rename and remove theirs."""
    path, options = write_samples(tmp_path, "csv")
    for name in ("X.csv.metricwise-0", ".X.csv.metricwise-0.0.partial"):
        (tmp_path / name).symlink_to(tmp_path / "vanished")
    assert metricwise.io.open(path, **options).shape == X.shape


@pytest.mark.parametrize("dtype", ["nonsense", "f2", 5])
def test_a_wrong_type_of_the_numbers_is_named(dtype, npy):
    with pytest.raises(ValueError, match="dtype must be float64 or float32, got"):
        metricwise.io.open(npy, dtype=dtype)


def test_labels_of_another_kind_are_not_told_to_become_features(npy, tmp_path):
    np.save(tmp_path / "y.npy", np.zeros(3000, complex))
    with pytest.raises(ValueError, match=r"not numbers or text: convert the labels, for example with y\.astype"):
        metricwise.io.open(npy, target=str(tmp_path / "y.npy"))


@pytest.mark.parametrize(
    ("cache", "message"), [("a\0b", "cache='a.*NUL byte"), (5, "cache must be the path of a folder, got 5")]
)
def test_a_cache_that_is_no_path_raises(cache, message, tmp_path):
    path, options = write_samples(tmp_path, "csv")
    with pytest.raises((ValueError, TypeError), match=message):
        metricwise.io.open(path, cache=cache, **options)


def test_an_unwritable_folder_raises(tmp_path):
    path, options = write_samples(tmp_path, "csv")
    (tmp_path / "file").write_text("")
    with pytest.raises(ValueError, match=r"cannot be written to .*choose another folder with cache="):
        metricwise.io.open(path, cache=tmp_path / "file" / "cache", **options)


# ------------------------------------------------------------------------------------------------------------ bad input


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.asfortranarray(X), r"Fortran order.*ascontiguousarray"),
        (X[:, 0], "has 1 axes; samples and features make two"),
        (X[:0], "has 0 rows and 6 columns"),
        (X[:, :0], "has 3000 rows and 0 columns"),
        (X.astype(str), "not numbers"),
        (X.astype(complex), "not numbers"),
    ],
    ids=["columns", "one axis", "no samples", "no columns", "text", "complex"],
)
def test_arrays_of_invalid_shape_or_type_raise(array, message, tmp_path):
    np.save(tmp_path / "X.npy", array)
    with pytest.raises(ValueError, match=message):
        metricwise.io.open(tmp_path / "X.npy")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"memory_limit": "much"}, "memory_limit must be a number of bytes or text"),
        ({"memory_limit": -1}, "memory_limit must be a number of bytes or text"),
        ({"memory_limit": "50MB"}, r"memory_limit=50MB is too little for the 3000 rows.*at least memory_limit='32"),
        ({"block_rows": 0}, "block_rows must be a whole number, 1 or more"),
        ({"dtype": np.int32}, "dtype must be float64 or float32"),
        ({"format": "hdf5"}, "format must be one of 'npy', 'npz', 'svmlight'"),
        ({"delimiter": ";"}, "delimiter=';' has no meaning for the format 'npy'"),
        ({"target": Y[:-1]}, r"target has the shape \(2999,\), but .* has 3000 rows"),
        ({"target": "y.csv"}, "does not exist"),
        ({"target": [[1], [2, 3], 1]}, "target holds lists of different lengths: give one label per row"),
        ({"target": {"a": 1}}, "target must be an array with one label per row.*not dict"),
        ({"target": sparse.csr_matrix(Y).T}, "target must be an array with one label per row.*not csc_matrix"),
    ],
)
def test_invalid_options_raise(options, message, npy):
    with pytest.raises((ValueError, FileNotFoundError), match=message):
        metricwise.io.open(npy, **options)


@pytest.mark.parametrize("kind", ["csv", "svm"])
@pytest.mark.parametrize("target", [Y, Y.tolist(), pathlib.Path("y.npy")], ids=["array", "list", "path"])
def test_labels_beside_a_file_that_has_labels_raise(kind, target, tmp_path):
    """They were left out without a word, and the last column of the file was taken."""
    path, _ = write_samples(tmp_path, kind)
    with pytest.raises(
        ValueError, match=rf"whose labels are in the file: give target as .* got {type(target).__name__}"
    ):
        metricwise.io.open(path, target=target)


def test_a_position_of_numpy_names_the_target(tmp_path):
    path, _ = write_samples(tmp_path, "csv")
    np.testing.assert_array_equal(metricwise.io.open(path, target=np.int64(0)).y, X[:, 0])
    chunk = next(iter(metricwise.io.stream(path, target=np.int64(0))))
    np.testing.assert_array_equal(chunk.y, X[: len(chunk.y), 0])
    np.testing.assert_array_equal(metricwise.io.read_table(path, target=np.int64(0)).y, X[:, 0])


def test_the_smallest_memory_limit_suffices(npy):
    with pytest.raises(ValueError, match="too little") as raised:
        metricwise.io.open(npy, memory_limit=1)
    least = str(raised.value).rpartition("=")[2].strip("'")
    samples = metricwise.io.open(npy, target=Y, memory_limit=least)
    assert samples.most_gathered < 3000
    assert metricwise.io.open(npy, memory_limit="1 GiB").memory_limit == 2**30


def test_labels_in_a_file_of_another_format_raise(npy):
    """numpy.load guesses the format from the content."""
    labels = npy.parent / "labels.npy"
    with labels.open("wb") as file:
        np.savez(file, Y)
    with pytest.raises(ValueError, match=r"labels\.npy is damaged, or no \.npy file"):
        metricwise.io.open(npy, target=labels)
    np.save(labels, np.where(Y, "yes", "no").astype(">U3"))
    np.testing.assert_array_equal(metricwise.io.open(npy, target=labels).y, np.where(Y, "yes", "no"))


def test_arrays_that_compiled_code_cannot_read_are_no_layout(tmp_path):
    np.save(tmp_path / "X.npy", X.astype(">f8"))
    np.save(tmp_path / "indices.npy", np.zeros(3, np.int64))
    with pytest.raises(ValueError, match=r"holds >f8 in 2 axes, where float32 or float64 in two belong"):
        DenseLayout(locate_npy(str(tmp_path / "X.npy")), 10)
    indices = locate_npy(str(tmp_path / "indices.npy"))
    with pytest.raises(ValueError, match="its arrays do not fit together"):
        SparseLayout(indices, indices, indices, (2, 1), block_bytes=10, block_rows=1)


def write_svmlight(path, largest):
    path.write_text("".join(f"{row % 2} 1:{row % 2} 2:{row} {largest}:2\n" for row in range(20)))
    return path


def test_features_count_against_the_memory_limit(tmp_path):
    """A short file may name a large index, and the vectors of the solver are as long."""
    path = write_svmlight(tmp_path / "X.svm", 2_000_000)
    message = (
        r"20 rows and 2000000 features of .*X\.svm: .* 120MB for the features.*correct the largest index.*'44\dMB'"
    )
    with pytest.raises(ValueError, match=message):
        metricwise.io.open(path, memory_limit="400MB")
    np.save(tmp_path / "X.npy", np.zeros((5, 200_000), dtype=np.float32))
    samples = metricwise.io.open(tmp_path / "X.npy", target=np.arange(5) % 2, memory_limit="400MB")
    with pytest.raises(ValueError, match=r"training takes 220 bytes per row and 144MB for the features.*Give at least"):
        MultivariateSVC("f1").fit(samples)


@pytest.mark.parametrize("n_columns", [10**10, 2**62, 2**64 - 1])
def test_columns_that_a_matrix_claims_are_bounded(n_columns, tmp_path):
    path = tmp_path / "X.npz"
    sparse.save_npz(path, sparse.csr_matrix(X), compressed=False)
    members = dict(np.load(path)) | {"shape": np.array([3000, n_columns], dtype=np.uint64)}
    np.savez(path, **members)
    with pytest.raises(ValueError, match=r"X\.npz( is damaged|: Python)"):
        metricwise.io.open(path)


def test_features_whose_vectors_exceed_the_available_memory_raise():
    message = r"the vectors of training take \d+MB for 1000000000000 features.*largest index"
    with pytest.raises(MemoryError, match=message):
        StreamState.fresh(10**12, is_sparse=True, scaling=True)
    design = make_design(sparse.csr_matrix((2, 10**12)))
    problem = make_problem(design, np.array([True, False]), get_measure("f1"), 1.0)
    with pytest.raises(MemoryError, match=message):
        run(CuttingPlane(), problem, Limits())


def test_files_of_another_format_than_their_suffix_raise(tmp_path):
    for name in ("X.npy", "X.npz"):
        (tmp_path / name).write_bytes(b"no array at all")
        with pytest.raises(ValueError, match=rf"{name} is damaged, or no \.{name[2:]} file"):
            metricwise.io.open(tmp_path / name)
    (tmp_path / "X.hdf").write_bytes(b"\x89HDF\0")
    with pytest.raises(ValueError, match=r"the suffix '\.hdf' does not tell the format"):
        metricwise.io.open(tmp_path / "X.hdf")
    np.savez(tmp_path / "two.npz", a=X)
    with pytest.raises(ValueError, match="holds no CSR matrix"):
        metricwise.io.open(tmp_path / "two.npz")
    sparse.save_npz(tmp_path / "csc.npz", sparse.csc_matrix(X))
    with pytest.raises(ValueError, match=r"CSC format.*X\.tocsr\(\)"):
        metricwise.io.open(tmp_path / "csc.npz")


def test_damaged_files_raise(npy, tmp_path):
    content = npy.read_bytes()
    npy.write_bytes(content[:-8])
    with pytest.raises(ValueError, match="shorter than its header states"):
        metricwise.io.open(npy)
    matrix = sparse.csr_matrix(X)
    for name, change, message in (
        ("indices", lambda a: a.__setitem__(100, 6), r"indices must be from 0 to 5"),
        ("indptr", lambda a: a.__setitem__(5, 10**6), r"a row ends before it begins"),
        ("indptr", lambda a: a.__setitem__(0, 1), r"does not begin with the first entry"),
    ):
        broken = matrix.copy()
        change(getattr(broken, name))
        path = tmp_path / "broken.npz"
        sparse.save_npz(path, broken, compressed=False)
        with pytest.raises(ValueError, match=message):
            make_design(metricwise.io.open(path)).scores(np.ones(6))


def test_a_file_changed_after_opening_raises(npy):
    samples = metricwise.io.open(npy, target=Y)
    time.sleep(0.01)
    np.save(npy, 2 * X)
    with pytest.raises(ValueError, match=r"has changed since it was opened: call metricwise\.io\.open again"):
        MultivariateSVC("f1").fit(samples)


@pytest.mark.parametrize("is_replaced", [False, True])
def test_a_file_changed_during_the_last_pass_raises(is_replaced, npy):
    samples = metricwise.io.open(npy, block_rows=1000)
    blocks = samples.blocks()
    next(blocks)
    time.sleep(0.01)
    if is_replaced:
        np.save(npy.parent / "new.npy", 2 * X)
        os.replace(npy.parent / "new.npy", npy)
    else:
        np.save(npy, 2 * X)
    with pytest.raises(ValueError, match=r"X\.npy has changed since it was opened: call metricwise\.io\.open again"):
        list(blocks)


def test_a_file_removed_during_a_pass_is_read_to_its_end(npy):
    samples = metricwise.io.open(npy, block_rows=1000)
    blocks = samples.blocks()
    next(blocks)
    os.remove(npy)
    assert len(list(blocks)) == 2


@pytest.mark.parametrize("part", ["indices", "indptr"])
def test_every_block_that_is_read_is_checked(part, tmp_path):
    """Compiled code follows the indices of every read, whatever an earlier one has found."""
    path = tmp_path / "X.npz"
    sparse.save_npz(path, sparse.csr_matrix(X), compressed=False)
    samples = metricwise.io.open(path, block_rows=1000)
    list(samples.blocks())
    array, before = locate_npz_member(str(path), part), path.stat()
    with path.open("r+b") as file:
        file.seek(array.offset + 100 * array.dtype.itemsize)
        file.write(np.full(20, 2**30, array.dtype).tobytes())
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))  # as if written within the resolution of the clock
    with pytest.raises(ValueError, match=r"X\.npz is damaged: in rows 0 to 999, ind.*Write it again"):
        list(samples.blocks())


def test_matrices_that_a_transform_returns_are_checked(npy):
    def transform(block):
        found = sparse.csr_matrix(block)
        if len(block) > 1:
            found.indices[7] = 6
        return found

    with pytest.raises(ValueError, match="not a valid CSR matrix"):
        list(TransformedSamples(metricwise.io.open(npy), transform).blocks())


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("suffix", ["npy", "npz"])
def test_nan_and_infinity_are_located(value, suffix, tmp_path):
    damaged = X.astype(np.float32)
    damaged[2345, 4] = value
    path = tmp_path / f"X.{suffix}"
    np.save(path, damaged) if suffix == "npy" else sparse.save_npz(path, sparse.csr_matrix(damaged), compressed=False)
    samples = metricwise.io.open(path, target=Y, block_rows=1000)
    words = rf"X\.{suffix} holds {value} in sample 2345, column 4"
    with pytest.raises(ValueError, match=words):
        MultivariateSVC("f1", threshold="train").fit(samples)
    design = make_design(samples)
    for work in (
        lambda: design.scores(np.zeros(6)),
        lambda: design.combine(np.ones(3000)),
        lambda: gather_two_samples(design),
    ):
        with pytest.raises(ValueError, match=words):
            work()


def gather_two_samples(design):
    return design.gather(np.array([0, 2345]))


def test_overflowing_scores_are_not_blamed_on_the_data(npy):
    design = make_design(metricwise.io.open(npy))
    assert not np.isfinite(design.scores(np.full(6, 1e308))).all()
