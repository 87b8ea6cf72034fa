"""Files as users have them: decimal commas, dates, identifiers, columns to leave out, and keys to keep."""

from __future__ import annotations

import csv

import numpy as np
import pandas as pd
import pytest

import metricwise
from tests.cli.invocation import run_command


@pytest.fixture(scope="module")
def german(tmp_path_factory):
    """Return a German file of purchases, and its frame."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"nr": [f"K-{number:05d}" for number in range(300)]})
    frame["betrag"] = (1000.0 * rng.lognormal(size=300)).round(2)
    frame["datum"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 365, 300), unit="D")
    odds = (frame["datum"] > pd.Timestamp("2024-09-01")) * 3.0 + frame["betrag"] / 2000.0 - 2.0
    frame["betrug"] = np.where(rng.random(300) < 1.0 / (1.0 + np.exp(-odds)), "ja", "nein")
    texts = frame.assign(
        betrag=[f"{value:,.2f}".translate(str.maketrans(",.", ".,")) for value in frame["betrag"]],
        datum=frame["datum"].dt.strftime("%d.%m.%Y"),
    )
    path = tmp_path_factory.mktemp("german") / "rows.csv"
    texts.to_csv(path, index=False, sep=";")
    return path, texts


@pytest.mark.parametrize("algorithm", ["plug-in", "multivariate-svm"])
def test_a_german_file_trains_and_predicts(german, tmp_path, algorithm):
    path, _ = german
    model = tmp_path / "model.mw"
    options = ("--target", "betrug", "--pos-label", "ja", "--algorithm", algorithm)
    notes = run_command("train", path, *options, "--out", model).stderr
    assert "with decimal commas" in notes
    assert "Dates, used as days since 1970, and month, weekday and hour where these vary: 'datum'." in notes
    assert "Warning: columns with a different value in nearly every sample are left out" in notes and "'nr'" in notes
    # A single row shows no comma: the model knows the notation, and columns come in any order.
    few = tmp_path / "few.csv"
    few.write_text("datum;betrag;nr\n24.12.2024;9.876;a\n")
    same = tmp_path / "same.csv"
    same.write_text("datum;betrag;nr\n24.12.2024;9876,00;a\n")
    score = ["--scores", "-q"] if algorithm != "plug-in" else ["--probabilities", "-q"]
    assert run_command("predict", model, few, *score).stdout == run_command("predict", model, same, *score).stdout
    other = tmp_path / "unknown.csv"
    other.write_text("datum;betrag;nr\nirgendwann;9876,00;a\n;9876,00;b\n")
    lines = run_command("predict", model, other, *score).stdout.splitlines()
    assert lines[1] == lines[2]


def test_keys_are_kept_and_columns_are_dropped(german, tmp_path):
    path, texts = german
    model, out = tmp_path / "model.mw", tmp_path / "out.csv"
    options = ("--target", "betrug", "--pos-label", "ja", "--algorithm", "plug-in")
    notes = run_command("train", path, *options, "--drop", "nr", "--drop", "datum", "--out", model).stderr
    assert "Identifiers" not in notes and "Dates" not in notes
    assert list(metricwise.load(model).table_["columns"]) == ["betrag"]
    run_command("predict", model, path, "--keep-columns", "nr,datum", "--keep-columns", "betrag", "--out", out)
    with out.open() as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["nr", "datum", "betrag", "prediction"]
    for name in ("nr", "datum", "betrag"):
        assert [row[name] for row in rows] == texts[name].tolist()
    piped = run_command("predict", model, "-", "--keep-columns", "nr", "-q", input=path.read_bytes()).stdout
    assert piped.splitlines()[1] == f"K-00000,{rows[0]['prediction']}"
    error = run_command("predict", model, path, "--keep-columns", "number", code=1).stderr
    assert "has no column 'number'" in error


def test_dropped_columns_of_a_file_without_names(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 2))
    rows = [f"{number};{a:.4f};{b:.4f};{int(a > b)}" for number, (a, b) in enumerate(X)]
    (tmp_path / "rows.csv").write_text("\n".join(rows).replace(".", ","))
    (tmp_path / "new.csv").write_text("7;1,5;-2,0\n8;-1,5;2,0\n")
    for how in ([], ["--stream"], ["--disk"]):
        model = tmp_path / "model.mw"
        algorithm = "stamp" if "--stream" in how else "multivariate-svm"
        run_command("train", tmp_path / "rows.csv", "--drop", "1", "--algorithm", algorithm, "--out", model, *how)
        disk = how if "--disk" in how else []
        found = run_command("predict", model, tmp_path / "new.csv", "--keep-columns", "1", "-q", *disk).stdout
        assert found == "column 1,prediction\n7,1\n8,0\n"


def test_the_decimal_point_can_be_named(german, tmp_path):
    path, _ = german
    options = ("--target", "betrug", "--pos-label", "ja", "--algorithm", "plug-in", "--out", tmp_path / "model.mw")
    assert "decimal commas" not in run_command("train", path, *options, "--decimal", "point").stderr
    assert metricwise.load(tmp_path / "model.mw").table_["columns"]["betrag"] == "text"
    run_command("train", path, *options, "--decimal", "comma")
    assert metricwise.load(tmp_path / "model.mw").table_["decimal"] == ","
    assert "write point or comma" in run_command("train", path, *options, "--decimal", ";", code=2).stderr
    rows = "".join(f"{number};{number % 2}\n" for number in range(60)) + "1,5;0\n"
    (tmp_path / "late.csv").write_text("x;y\n" + rows)
    late = ("train", tmp_path / "late.csv", "--stream", "--out", tmp_path / "m.mw")
    assert "--decimal comma" in run_command(*late, code=1).stderr
    run_command(*late, "--decimal", "comma")
