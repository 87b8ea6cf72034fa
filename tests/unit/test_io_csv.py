"""Streams of CSV files: agreement with pandas, quotes, headers, and the location of every malformed line."""

from __future__ import annotations

import csv
import gzip

import numpy as np
import pandas as pd
import pytest

import metricwise.io
from metricwise.io import MalformedLineError, read_table, stream, text
from metricwise.io.errors import SkippedLinesWarning
from tests.unit.data_files import assert_line_5_is_malformed, join_chunks, write_file


def write(folder, content, name="rows.csv"):
    return write_file(folder, content, name)


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        rng.normal(size=(537, 5)) * 10.0 ** rng.integers(-40, 40, size=(537, 5)), columns=list("abcde")
    )
    return frame.assign(weight=rng.random(537), label=rng.choice(["yes", "no", "don't, know", 'a "b"'], 537))


@pytest.mark.parametrize("chunk_rows", [1, 100, 10_000])
@pytest.mark.parametrize("block", [7, 1000, 1 << 22])
@pytest.mark.parametrize("quoting", [csv.QUOTE_MINIMAL, csv.QUOTE_NONNUMERIC, csv.QUOTE_ALL])
def test_streams_equal_pandas_for_any_block_size(frame, tmp_path, monkeypatch, chunk_rows, block, quoting):
    monkeypatch.setattr(text, "BLOCK_BYTES", block)
    path = tmp_path / "rows.csv"
    frame.to_csv(path, index=False, quoting=quoting)
    rows = stream(path, chunk_rows=chunk_rows, target="label", weight="weight")
    assert rows.feature_names == tuple("abcde")
    chunks = list(rows)
    assert [len(chunk.y) for chunk in chunks[:-1]] == [chunk_rows] * (len(chunks) - 1)
    np.testing.assert_array_equal(np.concatenate([chunk.X for chunk in chunks]), frame[list("abcde")])
    np.testing.assert_array_equal(np.concatenate([chunk.y for chunk in chunks]), frame["label"])
    np.testing.assert_array_equal(np.concatenate([chunk.sample_weight for chunk in chunks]), frame["weight"])


def test_chunks_are_contiguous_arrays_of_the_requested_dtype(tmp_path):
    path = write(tmp_path, "a,b,y\n1,2,0\n0.1,4,1\n")
    for dtype in (np.float64, np.float32):
        (chunk,) = stream(path, dtype=dtype)
        assert chunk.X.flags.c_contiguous and chunk.X.dtype == dtype
        np.testing.assert_array_equal(chunk.X, np.array([[1, 2], [0.1, 4]], dtype=dtype))
        assert chunk.y.dtype == np.float64


@pytest.mark.parametrize(
    ("content", "options"),
    [
        ("1,2,0\n3,4,1\n", {}),
        ("1,2,0\n3,4,1", {}),
        ("a,b,y\r\n1,2,0\r\n\r\n3,4,1\r\n", {}),
        ("\n\na,b,y\n1,2,0\n\n  \n3,4,1\n", {}),
        ('"a","b, c","y"\n"1",2,0\n3," 4 ",1\n', {}),
        ("\ufeffa,b,y\n 1 , 2 ,0 \n3,4,\t1\n", {}),
        ("\ufeff1,2,0\n3,4,1\n", {}),
        ("0,1,2\n1,2,0\n3,4,1\n", {"has_header": True}),
        ("y,a,b\n0,1,2\n1,3,4\n", {"target": "y"}),
        ("1,0,2\n3,1,4\n", {"target": 1}),
        ("1,0,2\n3,1,4\n", {"target": -2}),
        ("a;b;y\n1;2;0\n3;4;1\n", {"delimiter": ";"}),
        ("a;b;y\n1;2;0\n3;4;1\n", {}),
        ("y,b,c,a\n0,2,red,1\n1,4,,3\n", {"target": "y", "columns": ["a", "b"]}),
        ("a b y\n1 2 0\n3 4 1\n", {"delimiter": " "}),
    ],
)
def test_every_layout_gives_the_same_table(tmp_path, content, options):
    X, y = join_chunks(stream(write(tmp_path, content), **options))
    np.testing.assert_array_equal(X, [[1.0, 2.0], [3.0, 4.0]])
    np.testing.assert_array_equal(y, [0.0, 1.0])


def test_tsv_and_gzip_are_recognised_by_suffix(tmp_path):
    content = b"a\tb\ty\n1\t2\t0\n3\t4\t1\n"
    for path in (write(tmp_path, content, "rows.tsv"), write(tmp_path, gzip.compress(content), "rows.TSV.gz")):
        X, y = join_chunks(stream(path))
        np.testing.assert_array_equal(X, [[1.0, 2.0], [3.0, 4.0]])
        np.testing.assert_array_equal(y, [0.0, 1.0])


def test_labels_are_text_if_one_of_the_first_chunk_is_text(tmp_path):
    path = write(tmp_path, "a,y\n1,0\n2,no\n3,1\n4,\tyes \n")
    for chunk_rows in (2, 10):
        _, y = join_chunks(stream(path, chunk_rows=chunk_rows))
        assert y.tolist() == ["0", "no", "1", "yes"]
    with pytest.raises(MalformedLineError, match=r"line 3, column 3: found 'no' in column 'y'.*labels are numbers"):
        join_chunks(stream(path, chunk_rows=1))


@pytest.mark.parametrize(
    ("line", "column", "message"),
    [
        ("1,red,3,0", 3, "'red' in column 'b', which takes numbers: encode the column as numbers or drop it"),
        ("1,nan,3,0", 3, "in column 'b': found 'nan' where a finite number"),
        ("1,-Infinity,3,0", 3, "finite number"),
        ("1,,3,0", 3, "in column 'b': found ''"),
        ("1, ,3,0", 4, "in column 'b': found ''"),
        ("1,1e999,3,0", 3, "too large"),
        ("1,2,0", 6, "3 fields, not 4"),
        ("1,2,3,0,5", 8, "5 fields, not 4"),
        ("1,2,-3,0", 5, "must not be negative"),
        ("1,2,3,", 7, "found '' in column 'y'"),
        ("1,2,3,nan", 7, "found 'nan' in column 'y'"),
        ('1,2,3,"nan"', 8, "found 'nan' in column 'y'"),
        ('1,"2""",3,0', 4, "encode the column as numbers or drop it"),
        ('1,2,3,"a"",', 7, "quotes do not match"),
        ('1,"2,3,0', 3, "quotes do not match"),
        ('1,"2"x,3,0', 4, "behind the closing quote"),
        ('1,2,3,"a""b",4', 13, "5 fields, not 4"),
        ('1,2,"-3 ",0', 6, "must not be negative"),
    ],
)
def test_malformed_lines_are_located(tmp_path, line, column, message):
    path = write(tmp_path, f'a,b,"w",y\n1,2,3,yes\n\n1,2,3,no\n{line}\n4,5,6,yes\n')
    assert_line_5_is_malformed(path, column, message, weight="w")


def test_columns_are_counted_in_characters(tmp_path):
    path = write(tmp_path, "y,a\nä,1\nöö,x\n")
    with pytest.raises(MalformedLineError, match=r"line 3, column 4: found 'x' in column 'a'"):
        list(stream(path, target="y"))


def test_escaped_quotes_in_numeric_fields_are_malformed(tmp_path):
    path = write(tmp_path, 'a,y\n1,2\n"1""",2\n"1" ,"3"\n')
    rows = stream(path, on_error="skip")
    with pytest.warns(UserWarning, match="line 3, column 2"):
        X, y = join_chunks(rows)
    np.testing.assert_array_equal(X, [[1.0], [1.0]])
    np.testing.assert_array_equal(y, [2.0, 3.0])


def test_long_numbers_are_read_exactly_in_every_field(tmp_path):
    digits = "0.1234567890123456789012345678901234567890"
    path = write(tmp_path, f"a,w,y\n1,2,3\n{digits},{digits},{digits}\n1,-{digits},1\n1e-320,1,1\n")
    rows = stream(path, weight="w", on_error="skip")
    with pytest.warns(UserWarning, match=r"line 4, column 3: .*negative"):
        (chunk,) = rows
    np.testing.assert_array_equal(chunk.X[:, 0], [1.0, float(digits), 1e-320])
    np.testing.assert_array_equal(chunk.sample_weight, [2.0, float(digits), 1.0])
    np.testing.assert_array_equal(chunk.y, [3.0, float(digits), 1.0])


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        ("a,b,label\n1,2,3\n", {"target": "lable"}, "no column 'lable' for target: did you mean 'label'"),
        ("a,b,label\n1,2,3\n", {"target": "zzz"}, "its columns are 'a', 'b', 'label'"),
        ("a,b,a\n1,2,3\n", {"target": "a"}, "more than one column 'a'"),
        ("a,b,c\n1,2,3\n", {"target": 3}, "3 columns, so target=3 is none"),
        ("1,2,3\n", {"target": "a", "has_header": False}, "give target by position"),
        ("a,b,c\n1,2,3\n", {"weight": "c"}, "same column"),
        ("a,b\n1,2\n", {"weight": "a"}, "no columns left for features"),
        ("a,b,c\n1,2,3\n", {"n_features": 5}, "2 columns of features, not n_features=5"),
        ("abc\n1\n", {}, "a label and at least one feature"),
        ("a,b,c\n", {}, "has no rows"),
        ("\n\n", {}, "has no rows"),
        ("a,b\n1,2\n", {"delimiter": ",,"}, "single ASCII character"),
        ("a,b\n1,2\n", {"zero_based": True}, "no meaning for the format 'csv'"),
    ],
)
def test_invalid_tables_raise(tmp_path, content, options, message):
    with pytest.raises(ValueError, match=message):
        list(stream(write(tmp_path, content), **options))


def test_headers_are_recognised(tmp_path):
    X, y = join_chunks(stream(write(tmp_path, "1,2,yes\n3,4,no\n")))
    assert X.tolist() == [[1.0, 2.0], [3.0, 4.0]] and y.tolist() == ["yes", "no"]
    names = [f"a_rather_long_name_of_column_{number}" for number in range(5000)]  # longer than the first block
    path = write(tmp_path, ",".join(names) + "\n" + ",".join(["1"] * 5000) + "\n")
    assert stream(path).n_features == 4999 and read_table(path).feature_names == tuple(names[:-1])


def test_headers_that_are_not_utf8_raise(tmp_path):
    with pytest.raises(MalformedLineError, match=r"line 1, column 3: .*UTF-8"):
        stream(write(tmp_path, b"a,\xff\n1,2\n"))


@pytest.mark.parametrize(
    ("content", "place"),
    [
        ("a,y\r1,2\r3,4\r", "line 1, column 1"),
        ('"a","y"\r1,2\r', "line 1, column 1"),
        ('a,"y\n1,2\n', "line 1, column 3"),
        ('\n"a"b,y\n1,2\n', "line 2, column 4"),
    ],
)
def test_first_lines_that_cannot_be_parsed_raise(tmp_path, content, place):
    with pytest.raises(MalformedLineError, match=f"{place}: the line cannot be divided"):
        stream(write(tmp_path, content))


@pytest.mark.parametrize("first", [b'1,"a"b,0', b"1,\xff,0"])
def test_a_malformed_first_row_without_a_header_is_skipped_as_any_other(tmp_path, first):
    path = write(tmp_path, first + b"\n2,3,1\n4,5,0\n")
    with pytest.raises(MalformedLineError, match="line 1"):
        join_chunks(stream(path))
    with pytest.warns(SkippedLinesWarning, match="line 1"):
        X, y = join_chunks(stream(path, on_error="skip"))
    assert X.tolist() == [[2.0, 3.0], [4.0, 5.0]] and y.tolist() == [1, 0]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("lead", ["", "\ufeff", "{end}", ",,{end}", "\ufeff , ,{end}  {end}"])
@pytest.mark.parametrize("names", ['size 5",b', 'a"b,"c"', '"a,b","c ""d"""', '"two{end}lines",b"', 'a"", "b"'])
def test_every_header_ends_where_the_rows_start(tmp_path, names, lead, end):
    content = f"{lead}{names},y{end}1,2,0{end}3,4,1{end}".replace("{end}", end)
    path = write(tmp_path, content)
    expected = next(csv.reader([names.replace("{end}", end)], skipinitialspace=True))
    X, y = join_chunks(stream(path))
    table, memory_map = read_table(path), metricwise.io.open(path)
    assert table.feature_names == stream(path).feature_names == tuple(expected)
    for samples, labels in (
        (X, y),
        (table.X, table.y),
        (np.concatenate([b for _, b in memory_map.blocks()]), memory_map.y),
    ):
        np.testing.assert_array_equal(samples, [[1.0, 2.0], [3.0, 4.0]])
        np.testing.assert_array_equal(labels, [0.0, 1.0])


def test_quotes_within_a_name_swallow_no_rows(tmp_path):
    path = write(tmp_path, 'size 5",t,y\n1,ab",0\n3,cd,1\n5,ef,1\n')
    table = read_table(path)
    assert table.X.to_dict("list") == {'size 5"': [1.0, 3.0, 5.0], "t": ['ab"', "cd", "ef"]}
    assert sum(len(chunk.y) for chunk in stream(path, hash_features=8)) == 3


@pytest.mark.parametrize("has_header", [None, True, False])
def test_files_whose_fields_are_all_empty_have_no_rows(tmp_path, has_header):
    with pytest.raises(ValueError, match=r"has no rows: all fields of its first 6 bytes are empty"):
        read_table(write(tmp_path, ",,\n,,\n"), has_header=has_header)


@pytest.mark.parametrize("delimiter", ["\t", ";", ",", "|", " "])
@pytest.mark.parametrize("other", [";", ",", "|", "\t"])
def test_quoted_names_above_texts_with_other_delimiters_are_divided(tmp_path, delimiter, other):
    """A delimiter that cannot divide the header is none, however often it divides the texts below."""
    path = tmp_path / "rows.csv"
    frame = pd.DataFrame({"id": range(60), "tags": f"a{other}b", "y": [0, 1] * 30})
    frame.to_csv(path, sep=delimiter, index=False, quoting=csv.QUOTE_NONNUMERIC)
    table = read_table(path)
    assert (table.X["tags"] == f"a{other}b").all() and table.y.tolist() == [0, 1] * 30
