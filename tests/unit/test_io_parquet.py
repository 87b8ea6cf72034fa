"""Streams of Parquet files: agreement with pandas, and the location of every malformed row."""

from __future__ import annotations

import sys
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from metricwise.estimators.selection.columns import Columns
from metricwise.estimators.selection.times import TimeEncoder
from metricwise.io import MalformedLineError, parquet, read_table, stream
from metricwise.io.tables import read_texts

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")


def make_frame(n=537):
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "a": rng.normal(size=n),
            "count": rng.integers(0, 9, n),
            "flag": rng.random(n) < 0.5,
            "w": rng.random(n),
            "single": rng.normal(size=n).astype(np.float32),
            "label": rng.choice(["yes", "no"], n),
        }
    )


def write(folder, table, name="rows.parquet", rows=100):
    path = folder / name
    table = table if isinstance(table, pa.Table) else pa.Table.from_pandas(table, preserve_index=False)
    pq.write_table(table, path, row_group_size=rows)
    return path


@pytest.mark.parametrize("batch", [3, 64, 10_000])
@pytest.mark.parametrize("chunk_rows", [50, 128, 10_000])
def test_streams_equal_the_table(tmp_path, monkeypatch, batch, chunk_rows):
    monkeypatch.setattr(parquet, "_BATCH_ROWS", batch)
    table = make_frame()
    rows = stream(write(tmp_path, table), chunk_rows=chunk_rows, weight="w")
    assert (rows.n_features, rows.n_rows) == (4, 537)
    assert rows.feature_names == ("a", "count", "flag", "single")
    chunks = list(rows)
    assert [chunk.first_row for chunk in chunks] == list(range(0, 537, chunk_rows))
    X = np.concatenate([chunk.X for chunk in chunks])
    assert X.dtype == np.float64 and all(chunk.X.flags.c_contiguous for chunk in chunks)
    np.testing.assert_array_equal(X, table[list(rows.feature_names)].to_numpy(dtype=np.float64))
    np.testing.assert_array_equal(np.concatenate([chunk.y for chunk in chunks]), table["label"])
    np.testing.assert_array_equal(np.concatenate([chunk.sample_weight for chunk in chunks]), table["w"])
    resumed = list(rows.chunks(start=2))
    assert [chunk.first_row for chunk in resumed] == [chunk.first_row for chunk in chunks[2:]]
    for left, right in zip(resumed, chunks[2:], strict=True):
        np.testing.assert_array_equal(left.X, right.X)


@pytest.mark.parametrize("labels", [[1, 0, 1], [True, False, True], [0.5, 1.5, 2.5], list("abb")])
def test_labels_of_every_type_are_read(tmp_path, labels):
    table = pa.table({"y": pa.array(labels), "x": [1, 2, 3], "d": [Decimal("1.5"), Decimal("2.5"), Decimal("3.5")]})
    (chunk,) = stream(write(tmp_path, table, "rows.pq"), target="y", dtype=np.float32)
    assert chunk.y.tolist() == labels
    assert chunk.y.dtype.kind == ("U" if labels == list("abb") else "f")
    np.testing.assert_array_equal(chunk.X, np.array([[1, 1.5], [2, 2.5], [3, 3.5]], dtype=np.float32))
    coded = table.set_column(0, "y", pa.array(map(str, labels)).dictionary_encode())
    (chunk,) = stream(write(tmp_path, coded), target="y")
    assert chunk.y.tolist() == list(map(str, labels))


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("a", None, "found a null or nan in column 'a'"),
        ("a", float("nan"), "found a null or nan in column 'a'"),
        ("a", float("-inf"), "found -inf in column 'a'"),
        ("count", None, "in column 'count'"),
        ("flag", None, "in column 'flag'"),
        ("label", None, "in column 'label'"),
        ("w", -1.0, "found -1.0 in column 'w' where a weight, not negative"),
    ],
)
def test_malformed_rows_are_located(tmp_path, column, value, message):
    table = make_frame(300)
    values = table[column].tolist()
    values[207] = value
    arrays = {name: values if name == column else table[name].tolist() for name in table.columns}
    path = write(tmp_path, pa.table(arrays))
    rows = iter(stream(path, chunk_rows=100, weight="w"))
    assert [next(rows).first_row, next(rows).first_row] == [0, 100]
    with pytest.raises(MalformedLineError) as raised:
        next(rows)
    assert (raised.value.line, raised.value.column) == (208, list(table.columns).index(column) + 1)
    assert str(path) in str(raised.value) and message in str(raised.value)

    skipping = stream(path, chunk_rows=100, weight="w", on_error="skip")
    assert skipping.n_rows is None
    with pytest.warns(UserWarning, match="1 malformed line was left out.*line 208"):
        assert [len(chunk.y) for chunk in skipping] == [100, 100, 99]
    assert (skipping.skipped, skipping.n_rows) == (1, 299)


def test_invalid_tables_raise(tmp_path):
    path = write(tmp_path, make_frame(10))
    with pytest.raises(ValueError, match="did you mean 'label'"):
        stream(path, target="lable")
    with pytest.raises(ValueError, match=r"column 'label' is of type .*: encode the column as numbers or drop it"):
        stream(path, target="a")
    with pytest.raises(ValueError, match="no meaning for the format 'parquet'"):
        stream(path, delimiter=",")
    with pytest.raises(ValueError, match="has no rows"):
        list(stream(write(tmp_path, pa.Table.from_pandas(make_frame(10)).slice(0, 0))))
    lists = write(tmp_path, pa.table({"x": [1], "y": [[1, 2]]}))
    with pytest.raises(ValueError, match="name another target"):
        stream(lists)
    path.write_bytes(b"PAR1 this is no table")
    with pytest.raises(ValueError, match="is damaged, or no Parquet file"):
        stream(path)


def test_a_missing_library_raises_with_the_command_to_install_it(tmp_path, monkeypatch):
    path = write(tmp_path, make_frame(10))
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(ImportError, match=r"pip install metricwise\[parquet\]"):
        stream(path)


def test_dates_are_texts_and_durations_are_seconds(tmp_path):
    times = pd.to_datetime(["2024-05-01 10:30:00", None, "2024-12-24 00:00:00"])
    frame = pd.DataFrame({"at": times, "zoned": times.tz_localize("UTC"), "day": times.date, "y": [0, 1, 0]})
    frame["lasted"] = pd.to_timedelta([90, 0, None], unit="s")
    frame.to_parquet(tmp_path / "rows.parquet")
    table = read_table(tmp_path / "rows.parquet", target="y")
    assert table.kinds == {"at": "text", "zoned": "text", "day": "text", "lasted": "number"}
    assert np.array_equal(table.X["lasted"], [90.0, 0.0, np.nan], equal_nan=True)
    columns = Columns.of(table.X)
    assert columns.times == (0, 1, 2)
    days = TimeEncoder(columns.formats).fit_transform(table.X[["at", "zoned", "day"]])
    assert days[0, 0] == 19844 + 10.5 / 24 and days[2, -3] == 20081.0
    with pytest.raises(
        ValueError, match=r"column 'at' is of type timestamp.*: encode the column as numbers or drop it"
    ):
        stream(tmp_path / "rows.parquet", target="y")


SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
TIMES = [("ms", None), ("us", None), ("ns", None), ("ms", "UTC"), ("us", "Europe/Berlin"), ("ns", "-02:30")]


def make_times(unit, zone=None):
    """Return times at midnight, at a second, at the finest fraction of a second, and none."""
    day = 86400 * SECOND[unit]
    return pa.array([day, 20_000 * day + 3723 * SECOND[unit], -day + 1, None] * 3, pa.timestamp(unit, zone))


COLUMNS = {
    "string": pa.array(["red", "", "a, b", None] * 3),
    "large_string": pa.array(["red", "blue", "2020-01-01 00:00:00.000", None] * 3, pa.large_string()),
    "dictionary": pa.array(["red", "", "red", None] * 3).dictionary_encode(),
    **{f"int{size}": pa.array([1, -7, 2 ** (size - 1) - 1, None] * 3, f"int{size}") for size in (8, 16, 32, 64)},
    **{f"uint{size}": pa.array([1, 7, 2**size - 1, None] * 3, f"uint{size}") for size in (8, 16, 32, 64)},
    "date32": pa.array([0, 19844, -719162, None] * 3, pa.date32()),
    "date64": pa.array([0, 86400000, 10 * 86400000, None] * 3, pa.date64()),
    **{f"timestamp {unit} {zone}": make_times(unit, zone) for unit, zone in TIMES},
    "coded timestamp": make_times("us").dictionary_encode(),
}
NUMBERS = {
    "float": pa.array([0.1, -1e30, 3.0, None] * 3, pa.float32()),
    "double": pa.array([0.1, -1e300, 3.0, None] * 3),
    "half": pa.array(np.array([0.1, -7.0, 3.0, 4.0] * 3, np.float16)),
    "bool": pa.array([True, False, True, None] * 3),
    "decimal128": pa.array(
        [Decimal("0.000000000000009000"), Decimal("1.5"), Decimal(0), None] * 3, pa.decimal128(30, 18)
    ),
    "decimal256": pa.array(
        [Decimal("0.000000000000009000"), Decimal("1.5"), Decimal(0), None] * 3, pa.decimal256(60, 18)
    ),
    **{f"duration {unit}": pa.array([1, 90 * SECOND[unit], -3, None] * 3, pa.duration(unit)) for unit in SECOND},
}
UNKNOWN = {
    "binary": pa.array([b"a", b"b", b"c", None] * 3),
    "time32": pa.array([1, 2, 3, None] * 3, pa.time32("s")),
    "time64": pa.array([1, 2, 3, None] * 3, pa.time64("ns")),
    "list": pa.array([[1], [2], [], None] * 3),
    "struct": pa.array([{"b": 1}, {"b": 2}, {"b": 3}, None] * 3),
    "null": pa.nulls(12),
}


def write_column(folder, column):
    return write(folder, pa.table({"c": column, "a": np.arange(12.0), "y": [0, 1] * 6}), rows=5)


@pytest.mark.parametrize("column", {**COLUMNS, **NUMBERS}.values(), ids=[*COLUMNS, *NUMBERS])
def test_streams_and_whole_files_hash_the_same_features(tmp_path, column):
    path = write_column(tmp_path, column)
    is_hashed = any(column is one for one in COLUMNS.values())
    rows = stream(path, target="y", chunk_rows=4, hash_features=64, categories=["c"] if is_hashed else ())
    expected = sparse.vstack([chunk.X for chunk in rows]).toarray()
    rule = rows.hashed_columns
    table = read_table(path, target="y", columns=rule.file_kinds)
    np.testing.assert_array_equal(rule.transform(table.X).toarray(), expected)
    resumed = [chunk.X.toarray() for chunk in rows.chunks(start=2)]
    np.testing.assert_array_equal(np.concatenate(resumed), expected[8:])
    if pa.types.is_timestamp(column.type):
        np.testing.assert_array_equal(rule.transform(pd.read_parquet(path)).toarray(), expected)


@pytest.mark.parametrize("column", UNKNOWN.values(), ids=UNKNOWN)
def test_columns_without_a_meaning_as_features_are_refused(tmp_path, column):
    path = write_column(tmp_path, column)
    for read in (read_table, stream):
        with pytest.raises(ValueError, match="column 'c' is of type"):
            read(path, target="y")


@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
def test_labels_of_times_are_those_of_python(tmp_path, unit):
    column = make_times(unit).drop_null()
    path = write(tmp_path, pa.table({"a": np.arange(9.0), "c": column}))
    expected = [str(time) for time in column.to_pylist()]
    assert read_table(path).y.tolist() == expected
    assert [label for chunk in stream(path) for label in chunk.y.tolist()] == expected


@pytest.mark.parametrize("type_", [pa.timestamp("us"), pa.date32()])
def test_dates_out_of_range_are_refused_with_their_row(tmp_path, type_):
    far = {pa.date32(): 2**30, pa.timestamp("us"): 2**61}[type_]
    path = write(tmp_path, pa.table({"a": np.arange(7.0), "c": pa.array([0] * 6 + [far], type_)}), rows=3)
    with pytest.raises(ValueError, match=r"rows.parquet, row 7: the date in column 'c' is out of"):
        read_table(path)
    with pytest.raises(ValueError, match=r"rows.parquet, row 7: the date in column 'c' is out of"):
        list(stream(path))


@pytest.mark.parametrize(
    ("column", "texts"),
    [
        (pa.array([2**63 + 1, None], pa.uint64()), ["9223372036854775809", ""]),
        (pa.array([Decimal(12345678901234567891), Decimal(12345678901234567892)]), None),
        (pa.array([b"007", b"1e3"]), ["007", "1e3"]),
        (pa.array([0.1, 2.0, float("nan")], pa.float32()), ["0.1", "2", ""]),
        (pa.array([123456789012.0, -0.0, None]), ["123456789012", "0", ""]),  # whole numbers with gaps, from pandas
        (pa.array([1e300, 2.5e-7, float("inf")]), ["1e+300", "2.5e-07", "inf"]),
        (pa.array([True, False]), ["1", "0"]),
        (pa.array([1, 1_500_000_000, -100 * 10**9], pa.duration("ns")), ["0.000000001", "1.5", "-100"]),
        (pa.array([1, 2], pa.time64("ns")), ["00:00:00.000000001", "00:00:00.000000002"]),
    ],
    ids=lambda value: str(value.type) if isinstance(value, pa.Array) else "",
)
def test_keys_are_written_to_the_last_digit(tmp_path, column, texts):
    path = write(tmp_path, pa.table({"c": column}))
    assert read_texts(path, ["c"]) == {"c": texts or [str(value) for value in column.to_pylist()]}


@pytest.mark.parametrize("column", [pa.array([[1], [2]]), pa.array([{"b": 1}]), pa.array([b"\xff"])], ids=str)
def test_keys_that_are_no_texts_are_refused_by_name(tmp_path, column):
    with pytest.raises(ValueError, match=r"column 'c' is of type .* cannot be written as text: convert it"):
        read_texts(write(tmp_path, pa.table({"c": column})), ["c"])


def test_decimals_are_the_nearest_numbers(tmp_path):
    rng = np.random.default_rng(0)
    digits = rng.integers(0, 10**17, 2000).tolist()
    values = [Decimal(number).scaleb(-18) for number in digits]
    path = write(tmp_path, pa.table({"d": pa.array(values, pa.decimal128(38, 18)), "y": [0, 1] * 1000}))
    expected = [float(value) for value in values]
    assert read_table(path).X["d"].tolist() == expected
    assert np.concatenate([chunk.X[:, 0] for chunk in stream(path)]).tolist() == expected


@pytest.mark.parametrize(
    ("column", "row"),
    [
        (pa.array([1, 2, 3], pa.duration("ns")), None),
        (pa.array([8_000_000 * 10**9, 9_000_000 * 10**9], pa.duration("ns")), None),
        (pa.array([0, 9_007_199_254_740_993_001], pa.duration("ns")), 2),
        (pa.array([Decimal("0.1"), Decimal("0.12345678901234567891")], pa.decimal128(30, 20)), 2),
        (pa.array([Decimal("0.1"), Decimal("-7.25")], pa.decimal128(30, 20)), None),
    ],
)
def test_labels_and_groups_stay_different(tmp_path, column, row):
    path = write(tmp_path, pa.table({"a": np.arange(len(column)), "b": np.arange(len(column)), "c": column}))
    readers = {
        "labels": lambda: read_table(path).y,
        "groups": lambda: read_table(path, target="b", groups="c").groups,
        "stream": lambda: np.concatenate([chunk.y for chunk in stream(path, chunk_rows=1)]),
    }
    for read in readers.values():
        if row is None:
            assert len(np.unique(read())) == len(column)
            continue
        with pytest.raises(ValueError, match=rf"row {row}: found .* in column 'c', which double precision merges"):
            read()


def test_the_schema_of_wide_files_is_converted_a_few_times(tmp_path, monkeypatch):
    names = [f"c{number}" for number in range(200)]
    path = write(tmp_path, pa.table({**{name: [1, 2] for name in names}, "y": [0, 1]}))
    convert, conversions = pq.ParquetFile.schema_arrow.fget, []

    def count(file):
        conversions.append(file)
        return convert(file)

    monkeypatch.setattr(pq.ParquetFile, "schema_arrow", property(count))
    table = read_table(path, target="y", columns=dict.fromkeys(names, "text"))
    (chunk,) = stream(path, target="y", categories=names, hash_features=8)
    assert table.X.shape == (2, 200) and chunk.X.shape == (2, 8)
    assert 0 < len(conversions) < 10
