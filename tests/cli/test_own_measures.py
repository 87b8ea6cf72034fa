"""The command with files of models for measures made of functions, which files do not hold."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import metricwise
from tests.cli.invocation import run_command

OVERLAP = metricwise.contingency_measure(lambda tp, fp, fn, tn: tp / (tp + fp + fn), "overlap")


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    random = np.random.default_rng(0)
    frame = pd.DataFrame(random.normal(size=(60, 2)).round(3), columns=["a", "b"])
    frame["y"] = (frame["a"] + 0.5 * random.normal(size=60) > 0.5).astype(int)
    path = tmp_path_factory.mktemp("table") / "table.csv"
    frame.to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def model(table: Path) -> Path:
    frame, path = pd.read_csv(table), table.with_name("model.mw")
    metricwise.save(metricwise.MultivariateSVC(OVERLAP).fit(frame[["a", "b"]], frame["y"]), path)
    return path


def test_predict_needs_no_function(table: Path, model: Path) -> None:
    found = json.loads(run_command("predict", model, table, "--json").stdout)["columns"]
    expected = metricwise.load(model, measure=OVERLAP).predict(pd.read_csv(table)[["a", "b"]])
    assert next(iter(found.values())) == expected.tolist()


def test_evaluate_shows_other_measures_and_says_where_the_own_one_is_computed(table: Path, model: Path) -> None:
    result = run_command("evaluate", model, table, "--target", "y", "--json")
    assert "the measure of the model, 'overlap', is a function of yours, which its file does not" in result.stderr
    assert "metricwise.load(path, measure=...) takes it in Python" in result.stderr
    values = {record["measure"]: record["value"] for record in json.loads(result.stdout)["measures"]}
    frame = pd.read_csv(table)
    assert values["jaccard"] == metricwise.load(model, measure=OVERLAP).score(frame[["a", "b"]], frame["y"])
    assert "function of yours" not in run_command("evaluate", model, table, "--target", "y", "--measure", "f1").stderr


def test_report_asks_for_another_measure(table: Path, model: Path) -> None:
    page = table.with_name("page.html")
    error = run_command("report", model, table, "--target", "y", "--out", page, code=2).stderr
    assert "'overlap', is a function of yours, which the file does not hold: name another by --measure, or" in error
    run_command("report", model, table, "--target", "y", "--out", page, "--measure", "jaccard")
    assert page.exists()


def test_certify_says_how_to_give_the_function(table: Path, model: Path) -> None:
    error = run_command("certify", model, table, "--target", "y", code=1).stderr
    assert "with the measure 'overlap', a function of yours" in error and "metricwise.load(path, measure=...)" in error
