"""Streams of every format: repeated and resumed iteration, memory, invalid arguments and damaged files."""

from __future__ import annotations

import gc
import gzip
import pickle
import subprocess
import sys
import tracemalloc

import numpy as np
import pytest

from metricwise.io import MalformedLineError, read_table, stream, text


def format_svmlight(n):
    return "".join(f"{i % 2} 1:{i} {i % 7 + 2}:0.25 # row\n" for i in range(n))


def format_csv(n):
    return "a,b,y\n" + "".join(f"{i},{i % 7 + 0.25},{i % 2}\n" for i in range(n))


CONTENT = {"rows.svm": format_svmlight, "rows.csv": format_csv}
each_text_format = pytest.mark.parametrize("name", CONTENT)


def write_rows(folder, name, n):
    path = folder / name
    path.write_text(CONTENT[name](n))
    return path


def to_dense(X):
    return X if isinstance(X, np.ndarray) else X.toarray()


@each_text_format
@pytest.mark.parametrize("on_error", ["raise", "skip"])
def test_resumed_streams_continue_the_same_chunks(tmp_path, monkeypatch, name, on_error):
    monkeypatch.setattr(text, "BLOCK_BYTES", 100)
    path = write_rows(tmp_path, name, 95)
    chunks = list(stream(path, chunk_rows=10))
    for start in range(12):
        resumed = list(stream(path, chunk_rows=10, on_error=on_error).chunks(start=start))
        assert [chunk.first_row for chunk in resumed] == [chunk.first_row for chunk in chunks[start:]]
        for left, right in zip(resumed, chunks[start:], strict=True):
            np.testing.assert_array_equal(to_dense(left.X), to_dense(right.X))
            np.testing.assert_array_equal(left.y, right.y)


@each_text_format
def test_streams_can_be_iterated_repeatedly_and_concurrently(tmp_path, name):
    rows = stream(write_rows(tmp_path, name, 30), chunk_rows=10)
    assert rows.n_rows is None
    for first, second in zip(rows, rows, strict=True):
        assert first.first_row == second.first_row
        np.testing.assert_array_equal(to_dense(first.X), to_dense(second.X))
    assert rows.n_rows == 30
    assert "n_rows=30" in repr(rows) and name in repr(rows)
    assert len(list(pickle.loads(pickle.dumps(rows)))) == 3


@each_text_format
def test_labels_of_a_resumed_stream_are_those_of_the_first_chunk(tmp_path, name):
    path = write_rows(tmp_path, name, 30)
    path.write_text(path.read_text().replace("\n0 1:0 ", "\nno 1:0 ").replace("0,0.25,0\n", "0,0.25,no\n", 1))
    if name == "rows.svm":
        path.write_text("no" + path.read_text()[1:])
    chunk = next(stream(path, chunk_rows=10).chunks(start=1))
    assert chunk.y[:2].tolist() == ["0", "1"]


@each_text_format
@pytest.mark.parametrize("compressed", [False, True])
def test_memory_does_not_grow_with_the_file(tmp_path, monkeypatch, name, compressed):
    monkeypatch.setattr(text, "BLOCK_BYTES", 1 << 16)
    peaks = []
    for n in (20_000, 200_000):
        path = write_rows(tmp_path, name, n)
        if compressed:
            path.write_bytes(gzip.compress(path.read_bytes(), 1))
        next(iter(stream(path)))  # the first call loads compiled code
        gc.collect()
        tracemalloc.start()
        rows = stream(path, chunk_rows=1000)
        assert sum(len(chunk.y) for chunk in rows) == n
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    # A block that is read ahead may or may not be there at the peak.
    assert peaks[1] < 1.5 * peaks[0] + 100_000
    assert peaks[1] < 3_000_000


def test_tables_without_labels_are_streamed(tmp_path):
    """One column and quoted fields are read by different code."""
    path = tmp_path / "rows.csv"
    path.write_text('a,b\n1,2\n"3",4\n"5""",6\n"7" ,8\n')
    rows = stream(path, labelled=False, on_error="skip", chunk_rows=2)
    with pytest.warns(UserWarning, match="line 4"):
        chunks = list(rows)
    assert rows.n_features == 2 and rows.feature_names == ("a", "b")
    np.testing.assert_array_equal(np.concatenate([chunk.X for chunk in chunks]), [[1, 2], [3, 4], [7, 8]])
    assert [chunk.y.tolist() for chunk in chunks] == [[0.0, 0.0], [0.0]]
    path.write_text("3\n4\n")
    (chunk,) = stream(path, labelled=False)
    np.testing.assert_array_equal(chunk.X, [[3], [4]])
    path.write_text("3;2\n4;1\n")
    (chunk,) = stream(path, labelled=False)
    np.testing.assert_array_equal(chunk.X, [[3, 2], [4, 1]])


def test_skipped_lines_are_counted_and_the_first_is_reported(tmp_path):
    path = tmp_path / "rows.svm"
    path.write_text("1 1:1\n1 1:x\n" * 25)
    rows = stream(path, on_error="skip")
    for _ in range(2):
        with pytest.warns(
            UserWarning, match="^25 malformed lines were left out; the first: .*line 2, column 5"
        ) as caught:
            (chunk,) = rows
        assert len(caught) == 1 and caught[0].filename == __file__
        assert len(chunk.y) == 25
        assert rows.skipped == 25
        assert len(rows.skipped_lines) == 10
        assert all(f", line {2 * k + 2}, " in message for k, message in enumerate(rows.skipped_lines))


def test_files_with_malformed_lines_only_raise(tmp_path):
    path = tmp_path / "rows.svm"
    path.write_text("1 1:x\n")
    with pytest.raises(ValueError, match=r"has no rows; .*line 1, column 5"):
        list(stream(path, on_error="skip"))


def test_errors_can_be_pickled():
    error = MalformedLineError("rows.svm", 3, 7, "found nothing")
    copy = pickle.loads(pickle.dumps(error))
    assert isinstance(copy, ValueError)
    assert (str(copy), copy.path, copy.line, copy.column) == (str(error), "rows.svm", 3, 7)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"chunk_rows": 0}, "chunk_rows must be a whole number, 1 or more, got 0"),
        ({"chunk_rows": 2.5}, "chunk_rows must be a whole number"),
        ({"chunk_rows": True}, "chunk_rows must be a whole number"),
        ({"n_features": 0}, "n_features must be a whole number"),
        ({"dtype": np.int64}, "dtype must be float64 or float32"),
        ({"on_error": "ignore"}, "on_error must be 'raise' or 'skip'"),
        ({"format": "xlsx"}, "format must be one of 'svmlight', 'csv', 'parquet', got 'xlsx'"),
        ({"target": "y"}, "target='y' has no meaning for the format 'svmlight'"),
        ({"weight": "w"}, "weight='w' has no meaning"),
        ({"has_header": False}, "has_header=False has no meaning"),
    ],
)
def test_invalid_arguments_raise(tmp_path, options, message):
    with pytest.raises(ValueError, match=message):
        stream(write_rows(tmp_path, "rows.svm", 3), **options)


def test_a_negative_start_raises(tmp_path):
    with pytest.raises(ValueError, match="start must be a whole number, 0 or more, got -1"):
        stream(write_rows(tmp_path, "rows.svm", 3)).chunks(start=-1)


def test_missing_and_empty_files_raise(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"missing\.svm does not exist"):
        stream(tmp_path / "missing.svm")
    with pytest.raises(IsADirectoryError, match="is a directory"):
        stream(tmp_path)
    for name in ("empty.svm", "empty.csv", "empty.parquet"):
        (tmp_path / name).touch()
        with pytest.raises(ValueError, match="has no rows"):
            stream(tmp_path / name)
    (tmp_path / "comments.svm").write_text("# nothing\n\n")
    with pytest.raises(ValueError, match="has no rows"):
        list(stream(tmp_path / "comments.svm"))


@pytest.mark.parametrize("content", ["", "1\n"])
def test_unknown_suffixes_are_recognised_by_content(tmp_path, content):
    path = tmp_path / "rows.data"
    path.write_text(content + format_svmlight(3))
    assert stream(path).format == "svmlight"
    path.write_bytes(b"\x89HDF\0")
    with pytest.raises(ValueError, match=r"suffix '\.data' does not tell the format.*pass format="):
        stream(path)


@pytest.mark.parametrize("name", ["rows.data", "rows.csv"])
def test_a_given_format_overrides_the_suffix(tmp_path, name):
    path = tmp_path / name
    path.write_text(format_svmlight(3))
    (chunk,) = stream(path, format="svmlight")
    np.testing.assert_array_equal(chunk.y, [0, 1, 0])
    np.testing.assert_array_equal(read_table(path, format="svmlight").y, [0, 1, 0])


@each_text_format
@pytest.mark.parametrize("on_error", ["raise", "skip"])
def test_damaged_gzip_files_raise(tmp_path, name, on_error):
    whole = gzip.compress(CONTENT[name](20_000).encode())
    flipped = bytearray(whole)
    flipped[len(whole) // 2] ^= 0xFF
    path = tmp_path / name
    for content in (whole[: len(whole) // 2], whole[:-3], bytes(flipped)):
        path.write_bytes(content)
        with pytest.raises((OSError, MalformedLineError), match=rf"{name}"):
            list(stream(path, on_error=on_error))
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(OSError, match="damaged or ends too early"):
        list(stream(path, on_error=on_error))


def test_lines_longer_than_a_block_are_read(tmp_path, monkeypatch):
    monkeypatch.setattr(text, "BLOCK_BYTES", 64)
    path = tmp_path / "rows.svm"
    entries = " ".join(f"{j}:{j}.5" for j in range(1, 5001))
    path.write_text(f"1 1:1\n-1 {entries}\n1 2:1\n")
    (chunk,) = stream(path)
    assert chunk.X.shape == (3, 5000)
    np.testing.assert_array_equal(chunk.X[1].toarray()[0], np.arange(1, 5001) + 0.5)


def test_importing_io_loads_neither_numba_nor_table_libraries():
    code = "import sys, metricwise.io; print({'numba', 'pyarrow', 'polars', 'pandas'} & set(sys.modules))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "set()"
