"""``--profit``: amounts over columns of a file, from training to the report."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import metricwise
from metricwise.cli.profit import is_per_sample
from metricwise.measures.profit import Profit, parse_profit
from tests.cli.invocation import run_command

AMOUNTS = "tp=0.1*amount - 5, fp=-5, fn=-max(amount, 0), tn=0"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a table for training, one for testing, and a model trained for profit."""
    folder = tmp_path_factory.mktemp("profit")
    random = np.random.default_rng(0)
    frame = pd.DataFrame(random.normal(size=(600, 2)), columns=["a", "b"]).round(3)
    frame["amount"] = np.exp(random.normal(3.0, 1.0, 600)).round(2)
    frame["shop"] = np.arange(600) // 20
    frame["bad"] = (random.random(600) < 1 / (1 + np.exp(1.0 - 2 * frame["a"]))).astype(int)
    frame[:400].to_csv(folder / "train.csv", index=False)
    frame[400:].to_csv(folder / "test.csv", index=False)
    options = ("--algorithm", "plug-in", "--drop", "shop", "--out", folder / "model.mw")
    run_command("train", folder / "train.csv", "--profit", AMOUNTS, *options)
    return folder


def test_training_shows_profit_and_savings_and_stores_the_expressions(files: Path, tmp_path: Path) -> None:
    text = run_command(
        "train", files / "train.csv", "--profit", AMOUNTS, "--algorithm", "cost-sensitive", "--out", tmp_path / "m.mw"
    ).stdout
    assert f"profit:{AMOUNTS} expected on new samples" in text and "savings expected on new samples: 0." in text
    model = metricwise.load(files / "model.mw")
    assert model.measure_.fn == "-max(amount, 0)" and model.measure_.columns == ("amount",)


def test_evaluate_and_predict_read_the_columns(files: Path, tmp_path: Path) -> None:
    found = json.loads(run_command("evaluate", files / "model.mw", files / "test.csv", "--json").stdout)
    by_name = {record["measure"]: record for record in found["measures"]}
    model, test = metricwise.load(files / "model.mw"), pd.read_csv(files / "test.csv")
    assert by_name["profit"]["value"] == pytest.approx(model.score(test, test["bad"]))
    assert by_name["savings"]["value"] == pytest.approx(model.savings(test, test["bad"]))
    for name in ("profit", "savings"):
        assert by_name[name]["low"] < by_name[name]["value"] < by_name[name]["high"]
    assert "f1" in by_name
    grouped = json.loads(
        run_command("evaluate", files / "model.mw", files / "test.csv", "--json", "--groups", "shop").stdout
    )
    assert grouped["measures"][0]["low"] != by_name["profit"]["low"]
    out = tmp_path / "labels.csv"
    run_command("predict", files / "model.mw", files / "test.csv", "--out", out)
    np.testing.assert_array_equal(pd.read_csv(out)["prediction"], model.predict(test))


def test_the_report_has_profit_and_savings(files: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    run_command("report", files / "model.mw", files / "test.csv", "--out", page)
    html = page.read_text()
    assert "profit of these samples" in html and "savings" in html


def test_missing_columns_and_wrong_texts_are_named(files: Path, tmp_path: Path) -> None:
    train, out = files / "train.csv", tmp_path / "x.mw"
    unknown = run_command("train", train, "--profit", "tp=amuont", "--out", out, "--algorithm", "plug-in", code=1)
    assert "did you mean 'amount'" in unknown.stderr
    for text, message in (
        ("tp=open('x')", "no function 'open'"),
        ("gain=5", "names none of the outcomes"),
        ("tp=1, tp=2", "is there twice"),
    ):
        assert message in run_command("train", train, "--profit", text, "--out", out, code=2).stderr
    both = run_command("train", train, "--profit", AMOUNTS, "--measure", "f1", "--out", out, code=2)
    assert "leave --measure out" in both.stderr
    machine = run_command("train", train, "--profit", AMOUNTS, "--algorithm", "amp", "--out", out, code=2)
    assert "amounts of single samples are for auto, plug-in, cost-sensitive" in machine.stderr
    stream = run_command("train", train, "--profit", AMOUNTS, "--stream", "--out", out, code=2)
    assert "samples in memory" in stream.stderr
    table = pd.read_csv(files / "test.csv").drop(columns="amount")
    table.to_csv(tmp_path / "less.csv", index=False)
    assert "amount" in run_command("predict", files / "model.mw", tmp_path / "less.csv", code=1).stderr


def test_numbers_train_any_algorithm_for_costs(files: Path, tmp_path: Path) -> None:
    text = run_command(
        "train", files / "train.csv", "--profit", "fp=-1, fn=-5", "--algorithm", "amp", "--out", tmp_path / "m.mw"
    ).stdout
    assert "amp for profit:fp=-1, fn=-5" in text


def test_texts_of_profits() -> None:
    assert parse_profit("TP = min(a, 2) , fn=-`b, c`") == Profit(tp="min(a, 2)", fn="-`b, c`")
    assert metricwise.get_measure("profit:fp=-1, fn=f1_macro") == Profit(fp=-1.0, fn="f1_macro")
    assert is_per_sample("profit:tp=a") and not is_per_sample("profit:tp=1") and not is_per_sample(None)
