"""Decimal commas: recognised, named, or told apart from other commas."""

import numpy as np
import pytest

from metricwise.io import MalformedLineError, open, read_table, stream
from metricwise.io.tables import read_texts

GERMAN = "preis;menge;ort;kauf\n1,5;3;Ulm;ja\n1.234,5;4;Bonn;nein\n-0,25;;Ulm;ja\n;7;Bonn;nein\n"


def read(tmp_path, text, **options):
    path = tmp_path / "rows.csv"
    path.write_text(text)
    return read_table(path, **options)


def test_decimal_commas_and_points_between_thousands_become_numbers(tmp_path):
    table = read(tmp_path, GERMAN, target="kauf")
    assert table.kinds == {"preis": "number", "menge": "number", "ort": "text"} and table.decimal == ","
    assert np.array_equal(table.X["preis"], [1.5, 1234.5, -0.25, np.nan], equal_nan=True)
    assert np.array_equal(table.X["menge"], [3, 4, np.nan, 7], equal_nan=True)
    assert "with header, with decimal commas" in table.recognised


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (["1,5", "2"], [1.5, 2.0]),
        (["12.000", "1.234"], [12000.0, 1234.0]),
        (["52.5200", "13.4050"], [52.52, 13.405]),
        (["1.234.567,89", "+1,5e2"], [1234567.89, 150.0]),
        (["0,12345678901234567890", "123456789012345678901,5"], [0.12345678901234567890, 123456789012345678901.5]),
        ([",5", "1,"], [0.5, 1.0]),
    ],
)
def test_columns_of_a_file_with_decimal_commas(column, expected, tmp_path):
    text = "x;z;y\n" + "".join(f"{value};0,5;{label}\n" for value, label in zip(column, (0, 1), strict=True))
    assert read(tmp_path, text).X["x"].tolist() == expected
    (chunk,) = stream(tmp_path / "rows.csv")
    assert chunk.X[:, 0].tolist() == expected and chunk.X[:, 1].tolist() == [0.5, 0.5]


def test_numbers_are_those_of_python_to_the_last_bit(tmp_path):
    rng = np.random.default_rng(0)
    values = rng.normal(size=2000) * 10.0 ** rng.integers(-8, 12, 2000)
    texts = [f"{value:,.{digits}f}" for value, digits in zip(values, rng.integers(1, 15, 2000), strict=True)]
    text = "x;y\n" + "".join(f"{one.translate(str.maketrans(',.', '.,'))};1\n" for one in texts)
    assert read(tmp_path, text).X["x"].tolist() == [float(one.replace(",", "")) for one in texts]


def test_a_comma_far_down_the_file_is_found(tmp_path):
    rows = [f"{number};1.500;{number % 2}\n" for number in range(200)]
    rows[150] = "1,25;1.500;1\n"
    table = read(tmp_path, "x;z;y\n" + "".join(rows))
    assert table.X["x"][150] == 1.25 and set(table.X["z"]) == {1500.0}
    with pytest.raises(MalformedLineError, match=r"line 152.*'1,25' in column 'x'.*decimal=','"):
        list(stream(tmp_path / "rows.csv"))
    (chunk,) = stream(tmp_path / "rows.csv", decimal=",")
    assert chunk.X[150].tolist() == [1.25, 1500.0]


def test_mistakes_are_reported_in_either_notation(tmp_path):
    for good, bad in (("1,5", "1,5x"), ("1.5", "1.5x"), ("1.5", "1,5"), ("1,5", "1.55")):
        rows = "".join(f"{bad if number == 60 else good};{number % 2}\n" for number in range(100))
        with pytest.raises(MalformedLineError, match=f"line 62.*{bad}"):
            read(tmp_path, "x;y\n" + rows)


def test_quoted_commas_are_decimal_points_only_if_they_cannot_be_between_thousands(tmp_path):
    decimals = read(tmp_path, 'x,y\n"1,5",0\n"1,234",1\n7,1\n1.234,0\n')
    assert decimals.X["x"].tolist() == [1.5, 1.234, 7.0, 1234.0]
    assert read(tmp_path, 'x,y\n"1,500",0\n"1,234",1\n').kinds == {"x": "text"}
    assert read(tmp_path, 'x,y\n"1,500",0\n"1,234",1\n', decimal=",").X["x"].tolist() == [1.5, 1.234]


def test_the_decimal_point_can_be_given(tmp_path):
    assert read(tmp_path, GERMAN, decimal=".").kinds["preis"] == "text"
    assert read(tmp_path, "x;y\n1.234;0\n2.345;1\n", decimal=",").X["x"].tolist() == [1234.0, 2345.0]
    assert read(tmp_path, "x;y\n1.234;0\n2.345;1\n").X["x"].tolist() == [1.234, 2.345]
    with pytest.raises(ValueError, match=r"decimal must be '\.' or ','"):
        read(tmp_path, GERMAN, decimal=";")
    (tmp_path / "rows.svm").write_text("1 1:2\n")
    with pytest.raises(ValueError, match="decimal=',' has no meaning"):
        read_table(tmp_path / "rows.svm", decimal=",")


def test_files_without_a_header_and_on_disk(tmp_path):
    text = "1,5;2,25;0\n2,5;1.000,5;1\n"
    table = read(tmp_path, text)
    assert table.X.to_numpy().tolist() == [[1.5, 2.25], [2.5, 1000.5]]
    data = open(tmp_path / "rows.csv", cache=tmp_path / "cache")
    assert next(iter(data.blocks()))[1].tolist() == table.X.to_numpy().tolist()


def test_columns_are_dropped_by_name_or_position(tmp_path):
    assert list(read(tmp_path, GERMAN, drop=["menge", 2]).X) == ["preis"]
    (tmp_path / "plain.csv").write_text("7,1.5,0\n8,2.5,1\n")
    (chunk,) = stream(tmp_path / "plain.csv", drop=[0])
    assert chunk.X.tolist() == [[1.5], [2.5]]
    with pytest.raises(ValueError, match="no column 'prise' for drop: did you mean 'preis'"):
        read(tmp_path, GERMAN, drop=["prise"])
    with pytest.raises(
        ValueError, match="column 'kauf' holds labels, weights or groups, and is named among those to drop"
    ):
        read(tmp_path, GERMAN, drop=["kauf"])
    with pytest.raises(ValueError, match="column 'ort' is named among the features and among those to drop"):
        read(tmp_path, GERMAN, columns=["ort"], drop=["ort"])


@pytest.mark.parametrize("suffix", ["csv", "parquet", "arff"])
def test_keys_are_read_as_they_are_written(suffix, tmp_path):
    import pandas as pd

    frame = pd.DataFrame({"key": ["007", None, "a;b"], "n": [1.0, 2.5, np.nan]})
    path = tmp_path / f"rows.{suffix}"
    if suffix == "csv":
        frame.to_csv(path, index=False)
    elif suffix == "parquet":
        frame.to_parquet(path)
    else:
        path.write_text("@relation r\n@attribute key string\n@attribute n real\n@data\n'007',1\n?,2.5\n'a;b',?\n")
    found = read_texts(path, ["n", 0])
    assert found == {"n": ["1.0" if suffix == "csv" else "1", "2.5", ""], "key": ["007", "", "a;b"]}
    with pytest.raises(ValueError, match="no column 'kez' for columns: did you mean 'key'"):
        read_texts(path, ["kez"])
