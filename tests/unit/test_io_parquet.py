"""Streams of Parquet files: agreement with pandas, and the location of every malformed row."""

from __future__ import annotations

import sys
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from metricwise.estimators.selection.columns import Columns
from metricwise.estimators.selection.times import TimeEncoder
from metricwise.io import MalformedLineError, parquet, read_table, stream

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
