"""Commands in this process: every algorithm, the layouts of files, options that do not go together, progress."""

from __future__ import annotations

import json
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_multilabel_classification

import metricwise
from metricwise.cli import console, main
from metricwise.cli.console import Console, Progress
from metricwise.cli.options import Column, Constraint, Seconds
from tests.cli.runner import make_runner


def run(*arguments, code=0, **options):
    result = make_runner().invoke(main, [str(argument) for argument in arguments], **options)
    assert result.exit_code == code, result.output + repr(result.exception)
    return result


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    """Rows with numbers, categories, missing values and weights."""
    folder = tmp_path_factory.mktemp("rows")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(240, 3)).round(3), columns=["a", "b", "c"])
    frame["colour"] = rng.choice(["red", "green", "blue"], 240)
    frame["y"] = (frame["a"] + (frame["colour"] == "red") + 0.4 * rng.normal(size=240) > 0.9).astype(int)
    frame.loc[rng.random(240) < 0.1, "b"] = np.nan
    frame["w"] = rng.integers(1, 3, 240)
    frame.to_csv(folder / "rows.csv", index=False)
    return folder / "rows.csv", frame


@pytest.mark.parametrize(
    ("algorithm", "more"),
    [
        ("multivariate-svm", ["-C", "0.5"]),
        ("smoothed-svm", ["--measure", "prbep"]),
        ("feature-selecting-svm", ["--n-features", "3"]),
        ("auc-svm", ["--measure", "roc_auc"]),
        ("sparse-coding", ["-C", "0.5"]),
        ("amp", []),
        ("stamp", ["--measure", "f-beta:2"]),
        ("spade", ["--measure", "g-mean"]),
        ("mini-batch-svm", ["--measure", "recall@20%"]),
        ("plug-in", ["--measure", "recall@precision:0.8"]),
        ("plug-in", ["--learner", "boosted-trees"]),
        ("plug-in", ["--learner", "extra-trees", "--subject-to", "recall>=50%"]),
        ("multivariate-svm", ["--subject-to", "recall>=0.5"]),
        ("cost-sensitive", []),
        ("adapted-svm", ["-C", "0.5"]),
        ("auto", ["--time-budget", "2s"]),
    ],
)
def test_every_algorithm_trains_saves_and_predicts(rows, tmp_path, algorithm, more):
    path, frame = rows
    model = tmp_path / "model.mw"
    weight = [] if "--subject-to" in more or "recall@precision:0.8" in more else ["--weight", "w"]
    told = run("train", path, "--target", "y", *weight, "--algorithm", algorithm, "--out", model, "--json", "-q", *more)
    facts = json.loads(told.stdout)
    assert facts["algorithm"] == algorithm and facts["rows"] == 240 and facts["model"] == str(model)
    other = tmp_path / "other.csv"  # without labels, in another order, with a category that is new
    shuffled = frame[["colour", "w", "c", "b", "a"]].assign(more=1)
    shuffled.loc[0, "colour"] = "violet"
    shuffled.to_csv(other, index=False)
    found = json.loads(run("predict", model, other, "--json", "-q").stdout)["columns"]["prediction"]
    assert np.mean(np.array(found[1:]) == frame["y"].to_numpy()[1:]) > 0.6
    loaded = metricwise.load(model)
    assert loaded.table_["columns"].get("colour") == "text"


def test_headerless_files_and_positions(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 2))
    y = (X[:, 0] > 0).astype(int)
    np.savetxt(tmp_path / "train.txt", np.column_stack([y, X]), fmt="%.4f")
    np.savetxt(tmp_path / "new.txt", X, fmt="%.4f")
    model = tmp_path / "m.mw"
    run("train", tmp_path / "train.txt", "--target", "1", "--algorithm", "plug-in", "--out", model)
    found = run("predict", model, tmp_path / "new.txt", "-q").stdout.split()[1:]
    assert np.mean(np.array(found, dtype=int) == y) > 0.9
    assert run("predict", model, tmp_path / "train.txt", "--target", "1", "-q").stdout.split()[1:] == found
    assert (
        json.loads(run("evaluate", model, tmp_path / "train.txt", "--measure", "f1", "--json", "-q").stdout)["rows"]
        == 120
    )
    failed = run("predict", model, tmp_path / "train.txt", code=1)
    assert "has 3 columns of features and no header, but 2 are needed" in failed.stderr


def test_columns_that_are_missing_are_named(rows, tmp_path):
    path, frame = rows
    model = tmp_path / "m.mw"
    run("train", path, "--target", "y", "--algorithm", "plug-in", "--out", model)
    frame[["a", "colour"]].to_csv(tmp_path / "short.csv", index=False)
    failed = run("predict", model, tmp_path / "short.csv", code=1)
    assert "short.csv lacks 3 of the columns that are needed: 'b', 'c', 'w'" in failed.stderr
    frame.assign(a="text").to_csv(tmp_path / "text.csv", index=False)
    failed = run("predict", model, tmp_path / "text.csv", code=1)
    assert "line 2, column 1: found 'text' in column 'a' where a number belongs" in failed.stderr


@pytest.mark.parametrize(
    ("algorithm", "measure"),
    [("binary-relevance", "f1_samples"), ("classifier-chain", "f1_samples"), ("plug-in", "f1_macro")],
)
def test_several_targets(tmp_path, algorithm, measure):
    X, Y = make_multilabel_classification(150, n_features=6, n_classes=3, random_state=0)
    names = [*(f"f{number}" for number in range(6)), "l1", "l2", "l3"]
    path, model = tmp_path / "rows", tmp_path / "m.mw"
    text = pd.DataFrame(np.column_stack([X, Y]).astype(int), columns=names).to_csv(index=False)
    targets = [option for name in ("l1", "l2", "l3") for option in ("--target", name)]
    if algorithm == "plug-in":  # the same rows as MEKA has them, with the number of the labels at the end
        types = "".join(f"@attribute {name} {'{0,1}' if name[0] == 'l' else 'numeric'}\n" for name in names)
        text, targets = f"@relation 'rows: -C -3'\n{types}@data\n{text.partition(chr(10))[2]}", []
    path.write_text(text)
    run("train", path, *targets, "--algorithm", algorithm, "--measure", measure, "--out", model)
    found = json.loads(run("predict", model, path, "--json", "-q").stdout)["columns"]
    assert list(found) == ["l1", "l2", "l3"]
    assert np.mean(np.column_stack(list(found.values())) == Y) > 0.7
    judged = json.loads(run("evaluate", model, path, "--json", "-q").stdout)["measures"]
    assert judged[0]["measure"] == measure
    assert {"f1_macro", "f1_micro", "f1_samples"} <= {record["measure"] for record in judged}


def test_several_classes_stream_and_page(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 3)).round(2)
    names = np.array(["low", "middle", "top"])[np.digitize(X[:, 0], [-0.5, 0.5])]
    lines = [";".join([*map(str, row), name]) for row, name in zip(X.tolist(), names, strict=True)]
    (tmp_path / "rows.csv").write_text("a;b;c;kind\n" + "\n".join(lines))
    model, page = tmp_path / "m.mw", tmp_path / "page.html"
    told = run("train", tmp_path / "rows.csv", "--target", "kind", "--stream", "--passes", "3", "--out", model)
    assert "auto: stamp learns from streams for f1" in told.stderr
    assert "separated by semicolons, with header, read in chunks" in told.stderr
    assert not (tmp_path / "m.mw.checkpoint").exists()
    said = run("evaluate", model, tmp_path / "rows.csv", "--json")
    judged = json.loads(said.stdout)
    assert "Warning" not in said.stderr and "target 'kind'" in said.stderr
    assert {record["measure"] for record in judged["measures"]} >= {"f1_macro", "accuracy_macro"}
    run("report", model, tmp_path / "rows.csv", "--out", page)
    assert page.read_text().startswith("<!DOCTYPE html>")


def test_malformed_lines_of_a_stream(tmp_path):
    """Errors speak of the command's own option, and it does what they say."""
    lines = [f"{k % 7},{k % 2}" for k in range(60)]
    lines[30] = "x,1"
    (tmp_path / "rows.csv").write_text("a,y\n" + "\n".join(lines))
    arguments = ("train", tmp_path / "rows.csv", "--target", "y", "--stream", "--out", tmp_path / "m.mw")
    refused = run(*arguments, code=1)
    assert "rows.csv, line 32, column 1: found 'x'" in refused.stderr
    assert "--on-error skip leaves out such lines" in refused.stderr
    told = run(*arguments, "--on-error", "skip")
    assert "1 malformed line was left out" in told.stderr and "59 rows" in told.stdout


def test_compare(rows):
    path, _ = rows
    arguments = ("compare", path, "--target", "y", "--measure", "f1", "--measure", "roc_auc", "--folds", "3")
    chosen = ("--algorithm", "multivariate-svm", "--algorithm", "plug-in", "--algorithm", "amp")
    found = json.loads(run(*arguments, *chosen, "--json", "-q").stdout)["measures"]
    values = [result["value"] for result in found["f1"]["results"]]
    assert values == sorted(values, reverse=True) and len(values) == 3
    for pair in found["f1"]["differences"]:
        assert pair["difference"] >= 0.0 and pair["low"] <= pair["difference"] <= pair["high"]
    assert len(found["f1"]["differences"]) == 3
    assert list(found["roc_auc"]["left_out"]) == ["amp"]
    assert len(found["roc_auc"]["results"]) == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--algorithm", "plug-in", "--time-budget", "5m"], "--time-budget has no meaning for plug-in"),
        (["--algorithm", "smoothed-svm", "--checkpoint", "c"], "--checkpoint is for"),
        (["--algorithm", "amp", "--checkpoint", "c", "--subject-to", "recall>=0.5"], "leave one out"),
        (["--algorithm", "amp", "--stream"], "--stream is for"),
        (["--stream", "--subject-to", "recall>=0.5"], "leave --stream out"),
        (["--target", "y", "--target", "w", "--algorithm", "amp"], "takes one --target"),
        (["--algorithm", "binary-relevance"], "several --target"),
        (["--algorithm", "amp", "--n-features", "2"], "--n-features is for feature-selecting-svm"),
        (["--algorithm", "stamp", "-C", "2"], "-C has no meaning for stamp"),
        (["--subject-to", "precision>2"], "write precision>=0.9"),
        (["--subject-to", "beauty>=0.5"], "a constraint is on one of"),
        (["--time-budget", "soon"], "write 90s, 5m or 1h30m"),
        (["--target", "0"], "counted from 1"),
        (["--measure", "f-beta:x"], "does not fit"),
        (["--nonsense"], "No such option"),
    ],
)
def test_wrong_usage(rows, tmp_path, arguments, message):
    path, _ = rows
    failed = run("train", path, "--out", tmp_path / "m.mw", *arguments, code=2)
    assert message in failed.stderr and "Traceback" not in failed.output
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train", "absent.csv", "--out", "m.mw"], "absent.csv does not exist"),
        (["train", "{rows}", "--target", "nothing", "--out", "m.mw"], "no column 'nothing'"),
        (
            ["train", "{rows}", "--target", "y", "--out", "/absent/m.mw"],
            "the model file /absent/m.mw cannot be written",
        ),
        (["train", "{rows}", "--target", "y", "--pos-label", "7", "--out", "m.mw"], "none of the labels: 0, 1"),
        (["predict", "{rows}", "{rows}"], "no model file"),
        (["evaluate", "absent.mw", "{rows}"], "absent.mw"),
        (["train", "{rows}", "--target", "y", "--stream", "--out", "m.mw"], "column 'colour'"),
    ],
)
def test_failed_runs(rows, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    failed = run(*(argument.format(rows=rows[0]) for argument in arguments), code=1)
    lines = failed.stderr.strip().splitlines()
    assert message in lines[-1] and lines[-1].startswith("Error: ")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("text", "seconds"), [("90", 90.0), ("30s", 30.0), ("5m", 300.0), ("1h30m", 5400.0), ("0.5h", 1800.0)]
)
def test_times(text, seconds):
    assert Seconds().convert(text, None, None) == seconds


def test_columns_and_constraints():
    assert [Column().convert(text, None, None) for text in ("age", "1", "-1")] == ["age", 0, -1]
    assert Constraint().convert("Precision >= 90%", None, None) == ("precision", ">=", 0.9)


def test_progress_is_shown_on_a_terminal_after_a_while(monkeypatch, capsys):
    monkeypatch.setattr(console, "_PATIENCE", 0.05)
    for terminal, quiet in ((True, False), (False, False), (True, True)):
        monkeypatch.setattr(sys.stderr, "isatty", lambda terminal=terminal: terminal)
        with Console(quiet).progress("reading rows") as shown:
            shown.share = 0.5
            shown.over.wait(0.5)
        said = capsys.readouterr().err
        assert ("reading rows" in said and "50 %" in said) == (terminal and not quiet)
    quick = Progress("nothing")
    quick.over.set()
    quick.run()
    assert capsys.readouterr().err == ""
