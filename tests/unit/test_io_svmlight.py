"""Streams of svmlight files: agreement with scikit-learn, and the location of every malformed line."""

from __future__ import annotations

import gzip
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from metricwise.io import MalformedLineError, read_table, stream, text
from tests.unit.data_files import assert_line_5_is_malformed, join_chunks, write_file


def write(folder, content, name="rows.svm"):
    return write_file(folder, content, name)


@pytest.fixture(scope="module")
def example(tmp_path_factory):
    rng = np.random.default_rng(0)
    X = sparse.random(537, 40, density=0.2, random_state=0, format="csr", data_rvs=lambda n: rng.normal(size=n))
    y = rng.choice([-1.0, 1.0], size=537)
    path = tmp_path_factory.mktemp("svmlight") / "example.svm"
    dump_svmlight_file(X, y, str(path), zero_based=False, comment="two\nlines", query_id=np.arange(537))
    return path


@pytest.mark.parametrize("chunk_rows", [1, 100, 537, 10_000])
@pytest.mark.parametrize("block", [7, 1000, 1 << 22])
def test_streams_equal_scikit_learn_for_any_block_size(example, monkeypatch, chunk_rows, block):
    monkeypatch.setattr(text, "BLOCK_BYTES", block)
    rows = stream(example, chunk_rows=chunk_rows, n_features=40)
    X, y = join_chunks(rows)
    expected, labels = load_svmlight_file(str(example), n_features=40, zero_based=False)
    assert abs(X - expected).nnz == 0
    np.testing.assert_array_equal(y, labels)
    sizes = [len(chunk.y) for chunk in rows]
    assert sizes[:-1] == [chunk_rows] * (len(sizes) - 1)
    assert [chunk.first_row for chunk in rows] == list(range(0, 537, chunk_rows))


def test_chunks_are_canonical_csr_with_equal_numbers_of_features(example):
    for dtype in (np.float64, np.float32):
        for chunk in stream(example, chunk_rows=100, dtype=dtype):
            assert sparse.issparse(chunk.X) and chunk.X.format == "csr"
            assert chunk.X.shape == (len(chunk.y), 40)
            assert chunk.X.dtype == dtype
            assert chunk.X.indices.dtype == chunk.X.indptr.dtype == np.int32
            chunk.X.check_format(full_check=True)
            assert chunk.y.dtype == np.float64
            assert chunk.sample_weight is None


def test_the_number_of_features_is_detected_once(example):
    rows = stream(example)
    assert "n_features" not in repr(rows)
    assert rows.n_features == 40
    assert "n_features=40" in repr(rows)
    assert rows.feature_names is None


def test_gzip_is_recognised_by_content(example, tmp_path):
    packed = write(tmp_path, gzip.compress(example.read_bytes()), "packed.svm.gz")
    misnamed = write(tmp_path, gzip.compress(example.read_bytes()), "packed.svm")
    X, y = join_chunks(stream(example))
    for path in (packed, misnamed):
        X_packed, y_packed = join_chunks(stream(path))
        assert abs(X - X_packed).nnz == 0
        np.testing.assert_array_equal(y, y_packed)


@pytest.mark.parametrize(
    "content",
    [
        "+1 1:2 3:4\n-1 2:1\n",
        "+1 1:2 3:4\n-1 2:1",
        "+1 1:2 3:4\r\n-1 2:1\r\n",
        "# comment\n\n  \n+1 1:2 3:4 # more\n#\n-1 2:1#x\n\n",
        "+1 qid:3 1:2 3:4\n-1 qid:4 2:1\n",
        "\t+1  1:2.0\t3:+4e0  \n -1 2:.1e1 \n",
        "\ufeff+1 1:2 3:4\n-1 2:1.\n",
    ],
    ids=["plain", "no end", "crlf", "comments", "queries", "blanks", "byte order mark"],
)
def test_every_form_of_a_line_is_read(tmp_path, content):
    X, y = join_chunks(stream(write(tmp_path, content)))
    np.testing.assert_array_equal(X.toarray(), [[2.0, 0.0, 4.0], [0.0, 1.0, 0.0]])
    np.testing.assert_array_equal(y, [1.0, -1.0])


def test_zero_based_indices_and_empty_rows_are_read(tmp_path):
    path = write(tmp_path, "1 0:5 2:6\n0\n")
    X, _ = join_chunks(stream(path, zero_based=True))
    np.testing.assert_array_equal(X.toarray(), [[5.0, 0.0, 6.0], [0.0, 0.0, 0.0]])


def test_text_labels_are_read(tmp_path):
    path = write(tmp_path, "spam 1:1\n1 1:2\nhäm 1:3\n")
    for chunk_rows in (2, 10):
        _, y = join_chunks(stream(path, chunk_rows=chunk_rows))
        assert y.tolist() == ["spam", "1", "häm"]


@pytest.mark.parametrize(
    ("line", "column", "message"),
    [
        ("1 1:abc", 5, "'abc' where a finite number"),
        ("1 1:nan", 5, "'nan' where a finite number"),
        ("1 1:-inf", 5, "'-inf' where a finite number"),
        ("1 1:1e999", 5, "too large"),
        ("1 1:", 5, "where a finite number"),
        ("1 1:1_0", 5, "'1_0'"),
        ("1 1:1 2:0x1", 9, "'0x1'"),
        ("1 1:1e", 5, "'1e'"),
        ("1 0:3", 3, "zero_based=True"),
        ("1 2:3 1:3", 7, "must increase"),
        ("1 2:3 2:3", 7, "must increase"),
        ("1 9:3", 3, "beyond n_features=3"),
        ("1 1:1 99999999999999999999:3", 7, "index:value"),
        ("1 x:3", 3, "index:value"),
        ("1 3", 3, "index:value"),
        ("1 1:3 qid:3", 7, "index:value"),
        ("1:3", 1, "label first"),
        ("1,2 1:3", 1, "one label"),
        ("late 1:3", 1, "first chunk are numbers"),
        ("nan 1:3", 1, "where a number belongs"),
    ],
)
def test_malformed_lines_are_located(tmp_path, line, column, message):
    path = write(tmp_path, f"1 1:1\n# comment\n\n1 2:1\n{line}\n-1 1:1\n")
    skipping = assert_line_5_is_malformed(path, column, message, n_features=3)
    assert (skipping.skipped, skipping.n_rows) == (1, 3)


def test_values_beyond_single_precision_are_malformed(tmp_path):
    path = write(tmp_path, "1 1:1e39\n")
    assert next(iter(stream(path))).X[0, 0] == 1e39
    with pytest.raises(MalformedLineError, match="too large"):
        list(stream(path, dtype=np.float32))


def test_labels_that_are_not_utf8_are_malformed(tmp_path):
    path = write(tmp_path, b"a 1:1\n\xff 1:1\n")
    with pytest.raises(MalformedLineError, match=r"line 2, column 1: .*UTF-8"):
        list(stream(path))


def test_skipped_lines_do_not_add_features(tmp_path):
    path = write(tmp_path, "1 1:1\n1 7:1 8:x\n" + "1 2:1\n" * 5)
    rows = stream(path, on_error="skip", chunk_rows=2)
    assert rows.n_features == 2
    with pytest.warns(UserWarning, match="line 2"):
        assert [len(chunk.y) for chunk in rows] == [2, 2, 2]


def test_long_numbers_are_read_exactly(tmp_path):
    digits = "0.1234567890123456789012345678901234567890"
    path = write(tmp_path, f"1 1:{digits} 2:1e-320\n1 1:5e-324 2:{'9' * 400}\n{digits} 1:1\n")
    rows = stream(path, on_error="skip", n_features=2)
    with pytest.warns(UserWarning, match="line 2, column 14"):
        X, y = join_chunks(rows)
    np.testing.assert_array_equal(X.toarray(), [[float(digits), 1e-320], [1.0, 0.0]])
    np.testing.assert_array_equal(y, [1.0, float(digits)])


def test_files_without_features_raise(tmp_path):
    with pytest.raises(ValueError, match="no features: give their number as n_features"):
        list(stream(write(tmp_path, "1\n0\n")))


# ------------------------------------------------------------------------------------------------------------- queries

QUERIES = "2 qid:7 1:0.5 3:1\n0 qid:7 2:1 # first\n# note\n\n1 qid:8 1:2\n0 qid:8 # nothing\n"


@pytest.mark.parametrize("block", [7, 1000, 1 << 22])
def test_queries_equal_those_of_scikit_learn(example, monkeypatch, block):
    monkeypatch.setattr(text, "BLOCK_BYTES", block)
    table = read_table(example, groups="qid")
    X, y, queries = load_svmlight_file(str(example), query_id=True, zero_based=False)
    assert abs(table.X - X).nnz == 0
    np.testing.assert_array_equal(table.y, y)
    np.testing.assert_array_equal(table.groups, queries)
    assert table.recognised.endswith("537 queries")


def test_queries_are_read_if_asked_for_and_ignored_otherwise(tmp_path):
    path = write(tmp_path, QUERIES)
    table = read_table(path, groups="qid")
    assert table.groups.tolist() == [7, 7, 8, 8] and table.y.tolist() == [2, 0, 1, 0]
    assert read_table(path).groups is None
    broken = write(tmp_path, QUERIES.replace("qid:8", "qid:x", 1), "broken.svm")
    np.testing.assert_array_equal(read_table(broken).X.toarray(), table.X.toarray())


@pytest.mark.parametrize(
    ("old", "new", "place", "message"),
    [
        ("qid:8 1:2", "1:2", "line 5, column 3", "found '1:2' where the query belongs"),
        ("qid:8 #", "#", "line 6, column 3", "found the end where the query belongs"),
        ("qid:8 1:2", "qid:x 1:2", "line 5, column 3", "found 'qid:x' where qid: and a whole number"),
        ("qid:8 1:2", "qid:8.5 1:2", "line 5, column 3", "'qid:8.5' where qid: and a whole number"),
        ("qid:8 1:2", "qid:-8 1:2", "line 5, column 3", "'qid:-8' where qid: and a whole number"),
        ("qid:8 1:2", f"qid:{10**18} 1:2", "line 5, column 3", "at most 18 digits"),
        ("qid:8 1:2", "qid:8 qid:9 1:2", "line 5, column 9", "'qid:9' where index:value belongs"),
        ("0 qid:8", "0 qid:9 1:1\n1 qid:8", "line 7, column 1", "'qid:8' has ended before, at a row of another query"),
        (
            "0 qid:8",
            "0 qid:7",
            "line 6, column 1",
            "'qid:7' has ended before.*must follow each other. Sort",
        ),
    ],
)
@pytest.mark.parametrize("block", [7, 1 << 22])
def test_bad_queries_are_located(tmp_path, monkeypatch, block, old, new, place, message):
    monkeypatch.setattr(text, "BLOCK_BYTES", block)
    path = write(tmp_path, QUERIES.replace(old, new))
    with pytest.raises(MalformedLineError, match=f"{place}: .*{message}"):
        read_table(path, groups="qid")


def test_other_groups_of_svmlight_files_are_refused(tmp_path):
    with pytest.raises(ValueError, match="no groups but their queries, qid:number: pass groups='qid', got 'patient'"):
        read_table(write(tmp_path, QUERIES), groups="patient")


@given(
    at=st.integers(0, len(QUERIES) - 1),
    cut=st.integers(0, 3),
    put=st.text("qid:0127 \t\n#.-", max_size=6),
    block=st.integers(3, 60),
)
@settings(max_examples=150, deadline=None)
def test_damaged_queries_are_refused_or_those_that_are_written(tmp_path_factory, at, cut, put, block):
    content = QUERIES[:at] + put + QUERIES[at + cut :]
    path = write(tmp_path_factory.mktemp("damaged"), content)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text, "BLOCK_BYTES", block)
        try:
            table = read_table(path, groups="qid", format="svmlight")
        except ValueError as error:
            assert "rows.svm" in str(error)
            return
    rows = [line.split("#")[0] for line in content.split("\n")]
    written = [re.match(r"\s*\S+\s+qid:(\d+)(\s|$)", row) for row in rows if row.strip()]
    assert table.groups.tolist() == [int(found[1]) for found in written]
    assert np.count_nonzero(np.diff(table.groups)) == np.unique(table.groups).size - 1
