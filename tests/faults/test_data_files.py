"""Random data files: values equal to those of Python's csv and pandas, and one clear error for damaged ones."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import lzma
import os
import stat
import subprocess
import sys
import zipfile

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import metricwise.io
from fuzzing.data_files import make_damaged, make_table
from metricwise.io import MalformedLineError, read_table, stream
from metricwise.io.tables import read_texts
from tests.unit.data_files import write_file

N_TABLES, N_DAMAGED = 100, 400


def test_tables_hold_what_csv_and_pandas_read(tmp_path):
    random = np.random.default_rng(0)
    for _ in range(N_TABLES):
        case = make_table(tmp_path, random)
        content = case.path.read_bytes()
        content = gzip.decompress(content) if content.startswith(b"\x1f\x8b") else content
        text = content.decode("utf-16" if content.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig")
        delimiter = case.options["delimiter"]
        rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))
        assert dict(zip(rows[0], map(list, zip(*rows[1:], strict=True)), strict=True))["y"] == case.columns["y"]
        frame = pd.read_csv(io.StringIO(text, newline=""), sep=delimiter, keep_default_na=False)
        table = read_table(case.path, **case.options)
        assert table.y.tolist() == frame["y"].tolist() == case.columns["y"]
        assert table.X["some text"].tolist() == frame["some text"].tolist() == case.columns["some text"]
        for name in "ab":
            np.testing.assert_allclose(
                table.X[name], frame[name].astype(float), rtol=1e-14, atol=1e-307
            )  # pandas rounds
            np.testing.assert_array_equal(table.X[name], case.columns[name])


def read_every_way(path):
    yield lambda: read_table(path)
    if path.suffix != ".arff":
        yield lambda: list(stream(path, chunk_rows=3))
        yield lambda: [block.copy() for _, block in metricwise.io.open(path, cache=path.parent / "cache").blocks()]


def test_damaged_files_are_read_or_raise_one_line_that_names_the_file(tmp_path):
    random = np.random.default_rng(1)
    seen = {"read": 0, "raised": 0}
    for _ in range(N_DAMAGED):
        case = make_damaged(tmp_path, random)
        for read in read_every_way(case.path):
            try:
                read()
                seen["read"] += 1
            except (ValueError, OSError) as error:
                assert type(error) in (ValueError, OSError) or type(error).__module__.startswith("metricwise"), repr(
                    error
                )
                assert str(tmp_path) in str(error) and "\n" not in str(error), repr(error)
                seen["raised"] += 1
    assert seen["read"] > 40 and seen["raised"] > 150


# ------------------------------------------------------------------------------------------------------------- arrays


def rewrite_header(path, old, new):
    data = path.read_bytes()
    assert old in data and len(old) == len(new)
    path.write_bytes(data.replace(old, new))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"(6, 3)", b"(6, 3("),
        (b"(6, 3)", b"(-6,3)"),
        (b"(6, 3)", b"(9**9)"),
        (b"'<f8'", b"'<q\xff'"),
        (b"(6, 3)", b"(6, 4)"),
    ],
    ids=["never closed", "negative", "expression", "type", "too long"],
)
def test_damaged_headers_of_arrays_name_the_file(tmp_path, old, new):
    path = tmp_path / "X.npy"
    np.save(path, np.ones((6, 3)))
    rewrite_header(path, old, new)
    with pytest.raises(ValueError, match=r"X\.npy is (damaged|shorter)"):
        metricwise.io.open(path)


def test_sizes_that_overflow_are_refused(tmp_path):
    path = tmp_path / "X.npy"
    np.save(path, np.ones((6, 3)))
    header = path.read_bytes()[:128].replace(b"(6, 3), }", b"(%d, %d), }" % (2**40, 2**30))[:127] + b"\n"
    path.write_bytes(header + path.read_bytes()[128:])
    with pytest.raises(ValueError, match="shorter than its header states"):
        metricwise.io.open(path)


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_damaged_archives_name_the_file(tmp_path, method):
    path, random = tmp_path / "X.npz", np.random.default_rng(0)
    with zipfile.ZipFile(path, "w", method) as archive:
        matrix = sparse.random(200, 5, 0.4, format="csr", rng=random)
        parts = {"data": matrix.data, "indices": matrix.indices, "indptr": matrix.indptr, "shape": matrix.shape}
        for name, values in (parts | {"format": np.array(b"csr")}).items():
            buffer = io.BytesIO()
            np.save(buffer, values)
            archive.writestr(f"{name}.npy", buffer.getvalue())
    whole, raised = path.read_bytes(), 0
    for at in random.integers(0, len(whole), 60).tolist():
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 255]) + whole[at + 1 :])
        try:
            list(metricwise.io.open(path, cache=tmp_path / f"cache {at}").blocks())
        except (ValueError, OSError) as error:
            assert "X.npz" in str(error) or f"cache {at}" in str(error), repr(error)
            raised += 1
    assert raised > 10 if method == zipfile.ZIP_STORED else raised > 40


def test_float_indices_are_refused_and_unsigned_ones_converted(tmp_path):
    matrix = sparse.random(20, 5, 0.4, format="csr", rng=np.random.default_rng(0))
    fine, wrong = tmp_path / "fine.npz", tmp_path / "wrong.npz"
    rest = {"data": matrix.data, "shape": matrix.shape, "format": b"csr"}
    np.savez(fine, indices=matrix.indices.astype(np.uint16), indptr=matrix.indptr.astype(np.uint64), **rest)
    np.savez(wrong, indices=matrix.indices + 0.5, indptr=matrix.indptr, **rest)
    ((_, block),) = metricwise.io.open(fine).blocks()
    np.testing.assert_array_equal(block.toarray(), matrix.toarray())
    with pytest.raises(ValueError, match=r"wrong\.npz is damaged.*not whole numbers"):
        metricwise.io.open(wrong)


def test_damaged_labels_name_their_file(tmp_path):
    np.save(tmp_path / "X.npy", np.ones((6, 3)))
    for content in (b"", b"no array", b"PK\x03\x04 no archive"):
        (tmp_path / "y.npy").write_bytes(content)
        with pytest.raises(ValueError, match=r"y\.npy"):
            metricwise.io.open(tmp_path / "X.npy", target=str(tmp_path / "y.npy"))
    np.save(tmp_path / "y.npy", np.array([0, "a"] * 3, dtype=object))
    with pytest.raises(ValueError, match=r"y\.npy holds object, not numbers or text"):
        metricwise.io.open(tmp_path / "X.npy", target=str(tmp_path / "y.npy"))


# ------------------------------------------------------------------------------------------- labels and their identity


@pytest.mark.parametrize("suffix", [".csv", ".svm", ".parquet", ".arff"])
def test_labels_beyond_exact_numbers_are_refused(tmp_path, suffix):
    path, first = tmp_path / f"data{suffix}", 2**53
    labels = [first, first + 1, first, first + 1]
    if suffix == ".parquet":
        pd.DataFrame({"a": [1.0, 2.0, 3.0, 4.0], "y": labels}).to_parquet(path)
    else:
        head = {".csv": "a,y\n", ".svm": "", ".arff": "@relation r\n@attribute a real\n@attribute y real\n@data\n"}[
            suffix
        ]
        row = "{1} 1:{0}\n" if suffix == ".svm" else "{0},{1}\n"
        path.write_text(head + "".join(row.format(number, label) for number, label in enumerate(labels, 1)))
    for read in read_every_way(path):
        with pytest.raises(ValueError, match=rf"data\{suffix}.*2\*\*53.*as text"):
            read()


def test_groups_and_kept_columns_are_exact_or_refused(tmp_path):
    identifiers = [2**53, 2**53 + 1, 2**53 + 2]
    frame = pd.DataFrame({"id": identifiers, "a": [1.0, 2.0, 3.0], "y": ["no", "yes", "no"]})
    frame.to_csv(tmp_path / "data.csv", index=False)
    frame.to_parquet(tmp_path / "data.parquet")
    for name in ("data.csv", "data.parquet"):
        assert read_texts(tmp_path / name, ["id"]) == {"id": [str(value) for value in identifiers]}
        with pytest.raises(MalformedLineError, match=r"2\*\*53"):
            read_table(tmp_path / name, groups="id", target="y")
    frame.assign(id=[f"p{value}" for value in identifiers]).to_csv(tmp_path / "data.csv", index=False)
    assert len(set(read_table(tmp_path / "data.csv", groups="id", target="y").groups)) == 3


def test_labels_that_end_with_nul_are_refused(tmp_path):
    for name, content in (("d.csv", b"a,y\n1,no\n2,no\0\n3,yes\n"), ("d.svm", b"no 1:1\nno\0 1:2\nyes 1:3\n")):
        path = write_file(tmp_path, content, name)
        for read in read_every_way(path):
            with pytest.raises(MalformedLineError, match=r"line (2|3)|rows"):
                read()


# ------------------------------------------------------------------------------------------------ what is no data file


def test_what_is_no_regular_file_is_refused(tmp_path):
    with pytest.raises(IsADirectoryError, match="is a directory: give the path of a file"):
        metricwise.io.open(tmp_path)
    with pytest.raises(OSError, match="cannot be opened"):
        read_table(tmp_path / ("x" * 5000))
    with pytest.raises(OSError, match=r"cannot be opened.*null byte"):
        read_table("a\0b.csv")
    (tmp_path / "file.csv").write_text("a,y\n1,0\n")
    with pytest.raises(OSError, match="cannot be opened"):
        read_table(tmp_path / "file.csv" / "inside.csv")


def test_pipes_are_read_once_or_refused(tmp_path):
    pipe = tmp_path / "rows.csv"
    os.mkfifo(pipe)
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    for read in (stream, metricwise.io.open):
        with pytest.raises(ValueError, match=r"no regular file.*copy its content"):
            read(pipe)
    writer = subprocess.Popen([sys.executable, "-c", f"open({str(pipe)!r}, 'w').write('a,y\\n1,0\\n2,1\\n')"])
    assert read_table(pipe).y.tolist() == [0, 1]
    assert writer.wait(60) == 0


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="this user may read every file")
def test_files_without_permission_are_refused(tmp_path):
    path = write_file(tmp_path, "a,y\n1,0\n", "secret.csv")
    path.chmod(0)
    with pytest.raises(PermissionError, match=r"secret\.csv may not be read"):
        read_table(path)


AWKWARD = {
    "header alone": (b"a,b,y\n", "no rows"),
    "duplicate names": (b"a,a,y\n1,2,0\n3,4,1\n", "more than one column 'a'"),
    "quote without end": (b'a,t,y\n1,"x,0\n2,z,1\n' + b"3,w,1\n" * 20_000, "never closed"),
    "header without end": (b'a,"b,y\n' + b"1,2,0\n" * 200_000, "never closed"),
    "old line ends": (b"a,y\r1,0\r2,1\r", "carriage returns"),
    "nothing but blanks": (b" \r\n\t\n", "file is empty"),
    "mark alone": (b"\xef\xbb\xbf", "file is empty"),
}


def test_old_line_ends_are_named_whether_or_not_there_is_a_header(tmp_path):
    path = write_file(tmp_path, b"1,2,0\r3,4,1\r" * 20, "data.csv")
    for has_header in (None, True, False):
        with pytest.raises(ValueError, match="carriage returns"):
            read_table(path, has_header=has_header, labelled=False)


@pytest.mark.parametrize("name", list(AWKWARD))
def test_awkward_files_raise_clear_errors(tmp_path, name):
    content, words = AWKWARD[name]
    path = write_file(tmp_path, content, "data.csv")
    with pytest.raises(ValueError, match=words) as caught:
        read_table(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("name", "compress"),
    [("bzip2", bz2.compress), ("xz", lzma.compress), ("gzip twice", lambda data: gzip.compress(gzip.compress(data)))],
)
@pytest.mark.parametrize("file_name", ["rows.csv", "rows.csv.bz2", "rows.svm"])
def test_other_compressions_are_named(tmp_path, name, compress, file_name):
    path = write_file(tmp_path, compress(b"a,b,y\n1,2,0\n3,4,1\n"), file_name)
    for read in read_every_way(path):
        with pytest.raises(ValueError, match=f"is compressed by {name}.* decompress it"):
            read()


def test_long_lines_and_nul_bytes_are_read(tmp_path):
    long = b"x" * 10_000_000
    path = write_file(tmp_path, b"a,t,y\n1," + long + b",0\n2,a\0b,1\n", "data.csv")
    table = read_table(path, target="y")
    assert table.X["t"].tolist() == [long.decode(), "a\0b"]
    digits = write_file(tmp_path, b"a,y\n" + b"9" * 300 + b",0\n2,1\n", "digits.csv")
    assert read_table(digits).X["a"][0] == float("9" * 300)


def test_labels_declared_beyond_the_attributes_are_refused(tmp_path):
    path = write_file(
        tmp_path, "@relation 'r: -C 999999999'\n@attribute y {0,1}\n@attribute a real\n@data\n1,2\n", "d.arff"
    )
    with pytest.raises(ValueError, match="declares 999999999 labels"):
        read_table(path)
