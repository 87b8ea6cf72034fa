"""Whole files: agreement with pandas, scikit-learn and scipy, recognised formats, and located errors."""

from __future__ import annotations

import csv
import gzip
import io
import subprocess
import sys
import time
import tracemalloc

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.io import arff as scipy_arff
from sklearn.datasets import dump_svmlight_file, load_svmlight_file
from sklearn.externals import _arff as liac_arff

from metricwise.io import MalformedLineError, read_table
from metricwise.io.tables import read_texts
from tests.unit.data_files import write_file


def write(folder, content, name="data.csv"):
    return write_file(folder, content, name)


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=(300, 3)) * 10.0 ** rng.integers(-40, 40, size=(300, 3))
    frame = pd.DataFrame(numbers, columns=["a", "b b", "c"])
    frame.loc[rng.random(300) < 0.2, "a"] = np.nan
    texts = np.array(["clerk", 'a "cook"', "pilot, retired", "two\nlines", "ünï"], dtype=object)
    frame["job"] = rng.choice(texts, 300)
    frame.loc[rng.random(300) < 0.1, "job"] = np.nan
    return frame.assign(w=rng.random(300).round(3), y=rng.integers(0, 2, 300))


def assert_equal_to_frame(table, frame):
    assert list(table.X.columns) == ["a", "b b", "c", "job"]
    for name in ("a", "b b", "c"):
        np.testing.assert_array_equal(table.X[name], frame[name])
    found, expected = table.X["job"].astype(object), frame["job"].astype(object)
    assert found.where(found.notna(), None).tolist() == expected.where(expected.notna(), None).tolist()
    np.testing.assert_array_equal(table.y, frame["y"])
    np.testing.assert_array_equal(table.sample_weight, frame["w"])


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("quoting", [csv.QUOTE_MINIMAL, csv.QUOTE_NONNUMERIC])
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_csv_files_equal_the_frame_that_pandas_wrote(frame, tmp_path, separator, quoting, ending):
    path = tmp_path / "data.csv"
    frame.to_csv(path, index=False, sep=separator, quoting=quoting, lineterminator=ending)
    table = read_table(path, target="y", weight="w")
    assert_equal_to_frame(table, frame)
    missing = int(frame["a"].isna().sum()), int(frame["job"].isna().sum())
    assert f"3 of numbers ({missing[0]} values missing), 1 of categories ({missing[1]} values missing)" in (
        table.recognised
    )
    assert "with header; 300 rows" in table.recognised


def test_numbers_separated_by_blanks_without_header_are_read(tmp_path):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(40, 3))
    path = tmp_path / "data.txt"
    np.savetxt(path, np.column_stack([X, np.arange(40) % 2]), fmt="%12.5f")
    table = read_table(path)
    assert "separated by blanks, without header" in table.recognised
    assert table.feature_names == ("x1", "x2", "x3")
    np.testing.assert_array_equal(table.X, np.loadtxt(path)[:, :3])
    np.testing.assert_array_equal(table.y, np.arange(40) % 2)


@pytest.mark.parametrize(
    ("first_line", "target", "header"),
    [
        ("a,b,y", None, True),
        ("1,2,0", None, False),
        ("5,6,y", "y", True),  # the target is a name
        ("5,6,y", None, True),  # text above numbers: a header
        ("?,2,0", None, False),
        ("NA,,1", None, False),
    ],
)
def test_header_is_recognised(tmp_path, first_line, target, header):
    table = read_table(write(tmp_path, f"{first_line}\n1,2,0\n3,4,1\n"), target=target)
    assert table.n_rows == (2 if header else 3)
    assert (table.feature_names[0] != "x1") == header


def test_text_columns_have_a_header_if_names_are_distinct(tmp_path):
    assert read_table(write(tmp_path, "colour,taste\nred,sweet\nred,sour\n")).n_rows == 2
    assert read_table(write(tmp_path, "red,red\nred,sweet\nred,sour\n")).n_rows == 3


def test_every_missing_value_marker_is_recognised(tmp_path):
    rows = "".join(f"{word},{word},{number % 2}\n" for number, word in enumerate(["", "NA", "n/a", "?", "NaN", "null"]))
    table = read_table(write(tmp_path, f"a,b,y\n1,red,0\n{rows}2,'NA',1\n"), target="y")
    np.testing.assert_array_equal(table.X["a"], [1.0, *[np.nan] * 6, 2.0])
    assert table.X["b"].isna().tolist() == [False, *[True] * 6, False]
    quoted = read_table(write(tmp_path, 'a,b,y\n"1","NA",0\n"NA","red",1\n'), target="y")
    assert quoted.X["b"].tolist() == ["NA", "red"]  # quoted markers are text
    np.testing.assert_array_equal(quoted.X["a"], [1.0, np.nan])


@pytest.mark.parametrize("compressed", [False, True])
def test_parquet_files_equal_the_frame(frame, tmp_path, compressed):
    path = tmp_path / "data.bin"
    frame.astype({"job": "category"}).to_parquet(path)
    if compressed:
        path.write_bytes(gzip.compress(path.read_bytes()))
    table = read_table(path, target="y", weight="w")
    assert_equal_to_frame(table, frame)
    assert f"Parquet{', compressed by gzip' * compressed}; 300 rows" in table.recognised


@pytest.mark.parametrize("labels", ["numbers", "texts"])
@pytest.mark.parametrize("compressed", [False, True])
def test_svmlight_equals_scikit_learn(tmp_path, labels, compressed):
    X = sparse.random(2000, 50, 0.1, format="csr", random_state=0)
    y = np.arange(2000) % 3
    buffer = io.BytesIO()
    dump_svmlight_file(X, y, buffer, zero_based=False)
    content = buffer.getvalue()
    expected, _ = load_svmlight_file(io.BytesIO(content), n_features=50)
    if labels == "texts":
        content = b"\n".join(b"class-" + line for line in content.splitlines())
    path = write(tmp_path, gzip.compress(content) if compressed else content, "data")
    table = read_table(path)
    assert "svmlight" in table.recognised
    assert (expected != table.X).nnz == 0
    assert table.X.has_canonical_format
    assert table.y.tolist() == (y.tolist() if labels == "numbers" else [f"class-{label}" for label in y])
    assert read_table(path, n_features=60).X.shape == (2000, 60)


ARFF = """% a comment
@relation 'people'
@ATTRIBUTE 'the age' REAL
@attribute job {clerk, 'head cook', "it's"}
@attribute note string
@attribute paid {0,1}
@attribute y {no,yes}
@data
31, clerk, 'one, two', 0, yes
% between rows
?, 'head cook', plain, 1, no

40.5, "it's", 'it\\'s', ?, no
"""


def test_dense_arff_files_are_read(tmp_path):
    table = read_table(write(tmp_path, ARFF, "data"), target="y")
    assert "ARFF; 3 rows" in table.recognised
    np.testing.assert_array_equal(table.X["the age"], [31.0, np.nan, 40.5])
    assert table.X["job"].tolist() == ["clerk", "head cook", "it's"]
    assert table.X["note"].tolist() == ["one, two", "plain", "it's"]
    np.testing.assert_array_equal(table.X["paid"], [0.0, 1.0, np.nan])
    assert table.y.tolist() == ["yes", "no", "no"]


def test_arff_equals_scipy(tmp_path):
    rng = np.random.default_rng(0)
    samples = rng.normal(size=(200, 4))
    head = "@relation r\n" + "".join(f"@attribute a{k} numeric\n" for k in range(4)) + "@attribute c {x,y,z}\n@data\n"
    classes = rng.choice(["x", "y", "z"], 200)
    lines = [",".join([*map(repr, sample.tolist()), label]) for sample, label in zip(samples, classes, strict=True)]
    path = write(tmp_path, head + "\n".join(lines), "data.arff")
    table = read_table(path)
    expected, _ = scipy_arff.loadarff(path)
    for name in table.feature_names:
        np.testing.assert_array_equal(table.X[name], expected[name])
    assert table.y.tolist() == [label.decode() for label in expected["c"]]


@pytest.mark.parametrize("labels", ["-C 2", "-C -2", ""])
def test_sparse_multilabel_arff_files_are_read(tmp_path, labels):
    names = ["l1", "l2", "f1", "f2", "f3"] if labels != "-C -2" else ["f1", "f2", "f3", "l1", "l2"]
    types = {"l1": "{0,1}", "l2": "{0,1}", "f1": "numeric", "f2": "{0,1}", "f3": "numeric"}
    head = f"@relation 'r: {labels}'\n" + "".join(f"@attribute {name} {types[name]}\n" for name in names) + "@data\n"
    truth = np.array([[1, 0, 0.5, 1, 0], [0, 1, 0, 0, -2e-3], [0, 0, 0, 0, 0]])
    order = [["l1", "l2", "f1", "f2", "f3"].index(name) for name in names]
    rows = [{at: value for at, value in enumerate(row[order]) if value} for row in truth]
    text = "".join("{" + ", ".join(f"{at} {value:g}" for at, value in row.items()) + "}\n" for row in rows)
    target = None if labels else ("l1", "l2")
    table = read_table(write(tmp_path, head + text, "data.arff"), target=target)
    assert "sparse ARFF" in table.recognised and table.target_names == ("l1", "l2")
    np.testing.assert_array_equal(table.y, truth[:, :2])
    assert sparse.issparse(table.X)
    np.testing.assert_array_equal(table.X.toarray(), truth[:, 2:])


def test_sparse_arff_files_with_categories_are_read(tmp_path):
    head = "@relation r\n@attribute a numeric\n@attribute c {red,green}\n@attribute y {no,yes}\n@data\n"
    table = read_table(write(tmp_path, head + "{0 1.5, 2 yes}\n{1 green}\n{0 ?, 1 ?}\n", "data.arff"))
    np.testing.assert_array_equal(table.X["a"], [1.5, 0.0, np.nan])
    assert table.X["c"].astype(object).where(table.X["c"].notna(), None).tolist() == ["red", "green", None]
    assert table.y.tolist() == ["yes", "no", "no"]


@pytest.mark.parametrize("seed", range(5))
def test_sparse_arff_equals_liac_arff(tmp_path, seed):
    rng = np.random.default_rng(seed)
    types = {"real": "0.5 -2e3 0 ?", "{1,0}": "1 0 ?", "{0,1}": "0 1", "{'b b',a}": "'b b' a ?", "{2.5,x}": "2.5 x"}
    names = [str(name) for name in rng.choice(list(types), 5)]
    lines = []
    for _ in range(30):
        chosen = np.flatnonzero(rng.random(6) < 0.5)
        values = [rng.choice(types[names[at]].replace("b b", "b_b").split() if at < 5 else ["1", "0"]) for at in chosen]
        entries = [f"{at} {value}".replace("b_b", "b b") for at, value in zip(chosen, values, strict=True)]
        lines.append("{" + ", ".join(entries) + "}\n")
    head = "@relation r\n" + "".join(f"@attribute a{at} {name}\n" for at, name in enumerate([*names, "{1,0}"]))
    text = head + "@data\n" + "".join(lines)
    table = read_table(write(tmp_path, text, "data.arff"))
    expected = pd.DataFrame(liac_arff.loads(text, return_type=liac_arff.DENSE)["data"])
    X = table.X if isinstance(table.X, pd.DataFrame) else pd.DataFrame(table.X.toarray(), columns=table.feature_names)
    for at, (name, kind) in enumerate(table.kinds.items()):
        found = X[name].astype(object).where(X[name].notna(), None).tolist()
        reference = expected[at].astype(object).where(expected[at].notna(), None).tolist()
        assert found == (reference if kind == "text" else [None if one is None else float(one) for one in reference])
    assert table.y.tolist() == expected[5].astype(int).tolist()


def test_sparse_arff_omits_the_first_declared_value(tmp_path):
    head = "@relation r\n@attribute a real\n@attribute b {1,0}\n@attribute c {NA,x}\n@attribute y {1,0}\n@data\n"
    path = write(tmp_path, head + "{0 5}\n{1 0, 2 x, 3 0}\n{1 1}\n", "data.arff")
    table = read_table(path, drop=["c"])
    assert sparse.issparse(table.X) and table.y.tolist() == [1, 0, 1]
    np.testing.assert_array_equal(table.X.toarray(), [[5.0, 1.0], [0.0, 0.0], [0.0, 1.0]])
    assert read_texts(path, ["b", "c"]) == {"b": ["1", "0", "1"], "c": ["", "x", ""]}


@pytest.mark.parametrize(
    "value", ["1_000", "\u0661\u0662", "' 3 '", "nan", "'?'", "NA", "0x1", "1e400", "-inf", "+3.", "' '"]
)
def test_sparse_and_dense_arff_take_the_same_numbers(tmp_path, value):
    head = "@relation r\n@attribute a real\n@attribute y {0,1}\n@data\n"
    dense = write(tmp_path, f"{head}{value},1\n2,0\n", "dense.arff")
    rows = write(tmp_path, f"{head}{{0 {value}, 1 1}}\n{{0 2}}\n", "sparse.arff")
    try:
        expected = read_table(dense).X["a"].tolist()
    except MalformedLineError:
        with pytest.raises(MalformedLineError, match=r"sparse\.arff, line 5, column 4: found"):
            read_table(rows)
    else:
        np.testing.assert_array_equal(read_table(rows).X.toarray()[:, 0], expected)


@pytest.mark.parametrize("row", ["1,yes", "{0 1, 1 yes}"])
def test_declared_texts_are_not_read_as_numbers(tmp_path, row):
    text = "@relation r\n@attribute y {0,1}\n@attribute a {0,1,yes}\n@data\n" + row + "\n"
    path = write(tmp_path, text, "data.arff")
    with pytest.raises(ValueError, match=r"data\.arff: the attribute 'a' declares the value 'yes', .* as numbers"):
        read_table(path, target="y", columns={"a": "number"})
    assert read_table(path, target="y", columns={"a": "text"}).X["a"].tolist() == ["yes"]


def test_unknown_kinds_of_sparse_columns_are_refused(tmp_path):
    text = "@relation r\n@attribute a real\n@attribute y {0,1}\n@data\n{0 1, 1 1}\n"
    with pytest.raises(ValueError, match="'a' the kind 'float'"):
        read_table(write(tmp_path, text, "data.arff"), columns={"a": "float"})


def test_sparse_arff_stays_sparse_in_memory(tmp_path):
    n = 3000
    head = "@relation r\n" + "".join(f"@attribute a{at} real\n" for at in range(n)) + "@attribute y {0,1}\n@data\n"
    path = write(tmp_path, head + f"{{0 1}}\n{{1 ?, {n} 1}}\n" * (n // 2), "data.arff")
    tracemalloc.start()
    table = read_table(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * n * n // 4  # bytes; as one dense matrix, 8 n^2
    assert (
        table.X.shape == (n, n) and table.X.nnz == n and "3,000 of numbers (1,500 values missing)" in table.recognised
    )


def test_many_declared_values_take_no_longer_than_texts(tmp_path):
    names = [f"v{at}" for at in range(40_000)]
    rows = "".join(f"{name},{at % 2}\n" for at, name in enumerate(names))
    seconds = {}
    for kind in ("string", f"{{{','.join(names)}}}"):
        head = f"@relation r\n@attribute a {kind}\n@attribute y {{0,1}}\n@data\n"
        path = write(tmp_path, head + rows, "data.arff")
        started = time.process_time()
        assert read_table(path).X["a"].tolist() == names
        seconds[kind[0]] = time.process_time() - started
    assert seconds["{"] < 8 * seconds["s"]  # if each value is compared with each, 40 times


def test_columns_are_found_by_name_in_any_order(tmp_path):
    path = write(tmp_path, "y,b,extra,a\n1,2,x,3\n0,5,z,6\n")
    table = read_table(path, target=(), columns=["a", "b"])
    assert table.y is None
    np.testing.assert_array_equal(table.X, [[3.0, 2.0], [6.0, 5.0]])
    as_text = read_table(path, target="y", columns={"b": "text"})
    assert as_text.X["b"].tolist() == ["2", "5"]
    with pytest.raises(ValueError, match=r"lacks 1 of the columns that are needed: 'c'"):
        read_table(path, target=(), columns=["a", "c"])
    with pytest.raises(MalformedLineError, match=r"line 2, column 5: found 'x' in column 'extra' where a number"):
        read_table(path, target="y", columns={"extra": "number"})
    with pytest.raises(
        ValueError, match=r"column 'y' holds labels, weights or groups, and is named among the features, too"
    ):
        read_table(path, target="y", columns=["a", "y"])
    bare = write(tmp_path, "1,2\n3,4\n", "bare.csv")
    np.testing.assert_array_equal(read_table(bare, target=(), columns=["p", "q"]).X["q"], [2.0, 4.0])
    with pytest.raises(ValueError, match=r"has 2 columns of features and no header, but 3 are needed: p, q, r"):
        read_table(bare, target=(), columns=["p", "q", "r"])


def test_standard_input_is_read():
    code = (
        "from metricwise.io import read_table\n"
        "table = read_table('-', target='y')\n"
        "print(table.y.tolist(), table.recognised)"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], input=gzip.compress(b"a\ty\n1\t0\n2\t1\n"), capture_output=True, check=True
    )
    assert run.stdout.decode().startswith("[0, 1] standard input: CSV, separated by tabs, with header, compressed")


INVALID = "a,y\n" + "".join(f"{number},{number % 2}\n" for number in range(40)) + "4x1,1\n"


@pytest.mark.parametrize(
    ("content", "options", "line", "column", "message"),
    [
        ("a,b,y\n1,2,0\n1\n", {}, 3, 2, "1 field, not 3"),
        ("a,b,y\n1,2,0\n1,2\n", {}, 3, 4, "2 fields, not 3"),
        ("a,b,y\n1,2,0\n1,2,3,4\n", {}, 3, 6, "4 fields, not 3"),
        ('a,b,y\n1,"2,0\n1,2,3\n', {}, 2, 3, "never closed"),
        ('a,b,y\n1,"2"x,0\n', {}, 2, 4, "behind the closing quote"),
        ("a,b,y\n1,2,\n", {"target": "y"}, 2, 5, "target 'y' is missing"),
        ('a,b,y\n1,"2\n2",0\n1,3,\n', {"target": "y"}, 4, 5, "target 'y' is missing"),
        ("a,b,y\n1,2,0\n1,-2,1\n", {"weight": "b", "target": "y"}, 3, 3, "not negative"),
        ("a,b,y\n1,2,0\n1,1,1\n", {"target": ["b", "y"]}, 2, 3, "found 2.0 for 'b': several"),
        ("a,b,y\n1e999,2,0\n", {}, 2, 1, "too large"),
        (INVALID, {"target": "y"}, 42, 1, "found '4x1' in column 'a' where a number belongs"),
        (b"a,y\nr\xff,0\nblue,1\n", {}, 2, 1, "not UTF-8"),
        ("@relation r\n@attribute a numeric\n@attribute y {0,1}\n@data\n1,2\n", {}, 5, 3, "found '2' for 'y'"),
        ("@relation r\n@attribute a numeric\n@attribute y {0,1}\n@data\nx,1\n", {}, 5, 1, "where a number belongs"),
        ("@relation r\n@attribute a date\n@data\n1\n", {}, 2, 14, "type 'date'"),
        ("@relation r\n@attribute a\n@data\n1\n", {}, 2, 1, "a name and a type"),
        ("@relation r\n@attribute a real\n@attribute y real\n@data\n{0 1, 7 2}\n", {}, 5, 6, "attribute"),
        ("@relation r\n@attribute a real\n@attribute y real\n@data\n{0 b, 1 2}\n", {}, 5, 4, "finite number"),
        ("1 1:2\n0 1:x\n", {}, 2, 5, "found 'x'"),
    ],
)
def test_errors_name_line_and_column(tmp_path, content, options, line, column, message):
    path = write(tmp_path, content, "data")
    with pytest.raises(MalformedLineError, match=message) as caught:
        read_table(path, **options)
    assert (caught.value.line, caught.value.column) == (line, column)
    assert str(caught.value).startswith(f"{path}, line {line}, column {column}: ")


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        ("", {}, "has no rows: the file is empty"),
        ("a,b,y\n", {}, "has no rows"),
        ("a,y\n1,0\n", {"target": "z"}, "no column 'z' for target"),
        ("a,y\n1,0\n", {"target": ["y", "y"]}, "twice"),
        ("a,a,y\n1,2,0\n", {"target": "y"}, "more than one column 'a'"),
        ("y\n1\n", {}, "no columns left for features"),
        ("1 1:2\n", {"weight": "w"}, "no meaning for the format 'svmlight'"),
        ("1 1:2\n", {"columns": ["a", "b"]}, "names no columns, but 2 named columns are needed: convert it"),
        ("1 1:2\n", {"target": "y"}, "start with their label"),
        ("a,y\n1,0\n", {"delimiter": "ab"}, "single ASCII character"),
        ("a,y\n1,0\n", {"format": "xls"}, "format must be one of"),
        (b"PAR1 nothing", {}, "is damaged, or no Parquet file"),
    ],
)
def test_errors_about_the_whole_file_name_it(tmp_path, content, options, message):
    with pytest.raises(ValueError, match=message):
        read_table(write(tmp_path, content, "data"), **options)


def test_missing_and_damaged_files_raise(tmp_path):
    with pytest.raises(FileNotFoundError, match="does not exist"):
        read_table(tmp_path / "absent.csv")
    with pytest.raises(IsADirectoryError, match="is a directory"):
        read_table(tmp_path)
    with pytest.raises(OSError, match="damaged or ends too early"):
        read_table(write(tmp_path, gzip.compress(b"a,y\n1,0\n" * 100)[:-9]))
