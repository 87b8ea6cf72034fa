"""The command ``report``, and what ``train`` says about a degenerate training."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import f1_score

import metricwise
from tests.cli.invocation import run_command


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a CSV file of customers with cities, salaries and weights."""
    random = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"salary": random.normal(5e4, 1e4, 400).round(), "city": random.choice(["Lyon", "Nice", "Paris"], 400)}
    )
    frame["calls"] = random.normal(size=400).round(3)
    frame["churn"] = (frame["calls"] + (frame["city"] == "Lyon") + 0.5 * random.normal(size=400) > 1.0).astype(int)
    frame["w"] = random.integers(0, 4, 400) / 2.0
    path = tmp_path_factory.mktemp("customers") / "plain.csv"
    frame.to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def model(table: Path) -> Path:
    path = table.with_name("m.mw")
    frame = pd.read_csv(table).drop(columns="w")
    frame.to_csv(table.with_name("features.csv"), index=False)
    run_command(
        "train", table.with_name("features.csv"), "--target", "churn", "--algorithm", "plug-in", "--out", path, "-q"
    )
    return path


def test_a_linear_model_of_categories_is_reported(table: Path, model: Path) -> None:
    page = table.with_name("page.html")
    run_command("report", model, table.with_name("features.csv"), "--out", page, "-q")
    html = page.read_text()
    section = html[html.index('<section id="features"') :]
    names = re.findall(r'<th scope="row">(\w+)</th>', section[: section.index("</section>")])
    assert names == ["calls", "city", "salary"]


def test_weights_of_a_column_count(table: Path, model: Path) -> None:
    page, frame = table.with_name("weighted.html"), pd.read_csv(table)
    result = run_command("report", model, table, "--weight", "w", "--out", page, "--json")
    assert "Warning" not in result.stderr
    labels = metricwise.load(model).predict(frame[["salary", "city", "calls"]])
    expected = f1_score(frame["churn"], labels, sample_weight=frame["w"])
    assert json.loads(result.stdout)["value"] == pytest.approx(expected)
    assert f"with a total weight of {frame['w'].sum():.1f}".removesuffix(".0") in page.read_text()


@pytest.mark.filterwarnings("ignore::metricwise.DegenerateOptimumWarning")
def test_a_degenerate_training_is_reported_with_its_worth(tmp_path: Path) -> None:
    samples = np.repeat(np.random.default_rng(0).normal(size=(40, 2)), 4, axis=0)  # the same for both classes
    frame = pd.DataFrame(samples, columns=["a", "b"]).assign(y=np.tile([1, 0, 0, 0], 40))
    frame.to_csv(tmp_path / "rows.csv", index=False)
    arguments = ("train", tmp_path / "rows.csv", "--target", "y", "--algorithm", "auc-svm", "--measure", "roc_auc")
    result = run_command(*arguments, "--out", tmp_path / "m.mw")
    assert "The surrogate is degenerate on these data" in result.stdout
    assert "On the training samples its roc_auc is 0.500; the best constant prediction has 0.500." in result.stdout
    assert "optimum" not in result.stdout and "Certified" not in result.stdout


@pytest.mark.filterwarnings("ignore::metricwise.DegenerateOptimumWarning")
@pytest.mark.parametrize("where", [(), ("--disk",)])
def test_a_fallback_is_reported_with_its_worth(tmp_path: Path, where: tuple[str, ...]) -> None:
    table, model, page = tmp_path / "rows.csv", tmp_path / "m.mw", tmp_path / "page.html"
    random = np.random.default_rng(0)
    y = (random.random(1000) < 0.03).astype(int)
    pd.DataFrame(random.normal(size=(1000, 3)) + y[:, None], columns=["a", "b", "c"]).assign(y=y).to_csv(
        table, index=False
    )
    options = ("--target", "y", "--algorithm", "multivariate-svm", "--measure", "f1", *where)
    result = run_command("train", table, *options, "--out", model)
    assert "The surrogate of the f1 is degenerate on these data" in result.stdout
    assert "On the training samples its f1 is 0." in result.stdout and "the best constant prediction" in result.stdout
    assert "optimum" not in result.stdout and "Certified" not in result.stdout and "0 %" not in result.stdout
    certified = run_command("certify", model, table)
    assert "times the weight for positives" in certified.stdout and "surrogate of" not in certified.stdout
    run_command("report", model, table, "--out", page)
    html = page.read_text()
    assert "A weighted accuracy was trained for" in html and "On these samples its F1 is 0." in html
    assert "Certified" not in html


@pytest.mark.filterwarnings("ignore::metricwise.DegenerateOptimumWarning")
def test_fallbacks_of_several_classes_are_counted(tmp_path: Path) -> None:
    table, model, page = tmp_path / "rows.csv", tmp_path / "m.mw", tmp_path / "page.html"
    random = np.random.default_rng(0)
    y = random.choice(3, 1500, p=(0.9, 0.05, 0.05))
    means = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    frame = pd.DataFrame(random.normal(size=(1500, 2)) + means[y], columns=["a", "b"]).assign(y=y)
    frame.to_csv(table, index=False)
    options = ("--target", "y", "--algorithm", "multivariate-svm", "--measure", "f1")
    result = run_command("train", table, *options, "--out", model)
    assert "On the training samples its f1" in result.stdout
    assert run_command("certify", model, table).stdout.count("times the weight for positives") == 2
    run_command("report", model, table, "--out", page)
    assert "The surrogate is degenerate in 2 of them" in page.read_text()
