"""Commands inside the test process: every algorithm, file layouts, contradicting options, progress."""

from __future__ import annotations

import json
import sys

import click
import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_multilabel_classification

import metricwise
from metricwise import progress
from metricwise.cli import main
from metricwise.cli.algorithms import Settings, build_estimator
from metricwise.cli.console import Console
from metricwise.cli.options import Column, Constraint, Seconds
from tests.cli.invocation import run_command


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """Return a CSV file with numbers, categories, missing values and weights, and its frame."""
    folder = tmp_path_factory.mktemp("table")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(240, 3)).round(3), columns=["a", "b", "c"])
    frame["colour"] = rng.choice(["red", "green", "blue"], 240)
    frame["y"] = (frame["a"] + (frame["colour"] == "red") + 0.4 * rng.normal(size=240) > 0.9).astype(int)
    frame.loc[rng.random(240) < 0.1, "b"] = np.nan
    frame["w"] = rng.integers(1, 3, 240)
    frame.to_csv(folder / "rows.csv", index=False)
    return folder / "rows.csv", frame


@pytest.mark.parametrize(
    "command", [(), ("train",), ("predict",), ("evaluate",), ("compare",), ("certify",), ("report",), ("watch",)]
)
def test_help_shows_no_control_characters(command):
    text = run_command(*command, "--help").stdout
    assert "\\b" not in text and "\b" not in text
    if not command:
        assert "  metricwise evaluate model.mw test.csv\n" in text


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_get_a_completion_script(shell):
    completion = {"_METRICWISE_COMPLETE": f"{shell}_source"}
    result = run_command(prog_name="metricwise", env=completion, complete_var="_METRICWISE_COMPLETE")
    assert "_METRICWISE_COMPLETE" in result.stdout and "_complete" in result.stdout


@pytest.mark.parametrize(
    ("algorithm", "more"),
    [
        ("multivariate-svm", ["-C", "0.5"]),
        ("smoothed-svm", ["--measure", "prbep"]),
        ("feature-selecting-svm", ["--n-features", "3"]),
        ("auc-svm", ["--measure", "two-way-partial-auc:0.5,0.4"]),
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
        ("auto", ["--time-budget", "2s", "--subject-to", "recall>=0.5", "--confidence", "0.9"]),
    ],
)
def test_every_algorithm_trains_saves_and_predicts(table, tmp_path, algorithm, more):
    path, frame = table
    model = tmp_path / "model.mw"
    weight = [] if "--subject-to" in more or "recall@precision:0.8" in more else ["--weight", "w"]
    result = run_command(
        "train", path, "--target", "y", *weight, "--algorithm", algorithm, "--out", model, "--json", "-q", *more
    )
    facts = json.loads(result.stdout)
    assert facts["algorithm"] == algorithm and facts["rows"] == 240 and facts["model"] == str(model)
    other = tmp_path / "other.csv"  # without labels, columns in another order, with an unknown category
    shuffled = frame[["colour", "w", "c", "b", "a"]].assign(more=1)
    shuffled.loc[0, "colour"] = "violet"
    shuffled.to_csv(other, index=False)
    found = json.loads(run_command("predict", model, other, "--json", "-q").stdout)["columns"]["prediction"]
    assert np.mean(np.array(found[1:]) == frame["y"].to_numpy()[1:]) > 0.6
    loaded = metricwise.load(model)
    assert loaded.table_["columns"].get("colour") == "text"


@pytest.mark.parametrize("algorithm", ["auto", "plug-in"])
def test_constraints_reach_the_estimator(algorithm):
    settings = Settings("recall@precision:0.8", subject_to=("recall>=0.5",), confidence=0.8, time_budget=3.0)
    model = build_estimator(algorithm, settings, np.zeros((4, 2)))
    assert model.get_params()["subject_to"] == ["recall>=0.5"] and model.confidence == 0.8
    assert (
        build_estimator(algorithm, Settings("recall@precision:0.8", confidence=0.7), np.zeros((4, 2))).confidence == 0.7
    )
    assert build_estimator(algorithm, Settings("f1"), np.zeros((4, 2))).subject_to is None


def test_fits_for_a_guarantee_share_the_time_budget():
    settings = Settings("f1", subject_to=("recall>=0.5",), time_budget=3.0)
    assert build_estimator("auto", settings, np.zeros((4, 2))).time_budget == 3.0  # one fit
    wrapped = build_estimator("amp", settings, np.zeros((4, 2)))
    assert wrapped.estimator.learner.max_seconds == 0.5


@pytest.mark.parametrize("algorithm", ["plug-in", "multivariate-svm"])
def test_a_threshold_replaces_that_of_the_model(table, tmp_path, algorithm):
    path, frame = table
    model = tmp_path / "model.mw"
    run_command("train", path, "--target", "y", "--algorithm", algorithm, "--out", model, "-q")
    named = ["--scores"] if algorithm == "multivariate-svm" else ["--probabilities"]
    found = json.loads(run_command("predict", model, path, "--threshold", "0.8", "--json", "-q", *named).stdout)
    columns = found["columns"]
    above = (
        np.array(columns["score of 1"]) > 0 if named == ["--scores"] else np.array(columns["probability of 1"]) > 0.8
    )
    np.testing.assert_array_equal(columns["prediction"], above)
    usual = json.loads(run_command("predict", model, path, "--json", "-q").stdout)["columns"]["prediction"]
    assert sum(columns["prediction"]) < sum(usual)
    asked = ["--measure", "accuracy", "--threshold", "0.8", "--json", "-q"]
    (accuracy,) = json.loads(run_command("evaluate", model, path, *asked).stdout)["measures"]
    assert accuracy["value"] == pytest.approx(np.mean(above == frame["y"]))


def test_a_threshold_that_does_not_fit_is_refused(table, tmp_path):
    path, frame = table
    model = tmp_path / "model.mw"
    run_command("train", path, "--target", "y", "--algorithm", "plug-in", "--out", model, "-q")
    refused = run_command("predict", model, path, "--threshold", "80", code=1).stderr
    assert "threshold_ is a probability, a number from 0 to 1, got 80.0" in refused
    frame.assign(y=np.arange(len(frame)) % 3).to_csv(tmp_path / "classes.csv", index=False)
    classes = ["--target", "y", "--measure", "f1_macro", "--algorithm", "plug-in", "--out", model, "-q"]
    run_command("train", tmp_path / "classes.csv", *classes)
    refused = run_command("predict", model, path, "--threshold", "0.5", code=1).stderr
    assert "with one per class or label, got 0.5" in refused


def test_files_without_header_use_column_positions(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 2))
    y = (X[:, 0] > 0).astype(int)
    np.savetxt(tmp_path / "train.txt", np.column_stack([y, X]), fmt="%.4f")
    np.savetxt(tmp_path / "new.txt", X, fmt="%.4f")
    model = tmp_path / "m.mw"
    run_command("train", tmp_path / "train.txt", "--target", "1", "--algorithm", "plug-in", "--out", model)
    found = run_command("predict", model, tmp_path / "new.txt", "-q").stdout.split()[1:]
    assert np.mean(np.array(found, dtype=int) == y) > 0.9
    assert run_command("predict", model, tmp_path / "train.txt", "--target", "1", "-q").stdout.split()[1:] == found
    assert (
        json.loads(run_command("evaluate", model, tmp_path / "train.txt", "--measure", "f1", "--json", "-q").stdout)[
            "rows"
        ]
        == 120
    )
    failed = run_command("predict", model, tmp_path / "train.txt", code=1)
    assert "has 3 columns of features and no header, but 2 are needed" in failed.stderr


def test_errors_name_missing_and_nonnumeric_columns(table, tmp_path):
    path, frame = table
    model = tmp_path / "m.mw"
    run_command("train", path, "--target", "y", "--algorithm", "plug-in", "--out", model)
    frame[["a", "colour"]].to_csv(tmp_path / "short.csv", index=False)
    failed = run_command("predict", model, tmp_path / "short.csv", code=1)
    assert "short.csv lacks 3 of the columns that are needed: 'b', 'c', 'w'" in failed.stderr
    frame.assign(a="text").to_csv(tmp_path / "text.csv", index=False)
    failed = run_command("predict", model, tmp_path / "text.csv", code=1)
    assert "line 2, column 1: found 'text' in column 'a' where a number belongs" in failed.stderr


@pytest.mark.parametrize(
    ("algorithm", "measure"),
    [("binary-relevance", "f1_samples"), ("classifier-chain", "f1_samples"), ("plug-in", "f1_macro")],
)
def test_multilabel_targets_are_trained_and_predicted(tmp_path, algorithm, measure):
    X, Y = make_multilabel_classification(150, n_features=6, n_classes=3, random_state=0)
    names = [*(f"f{number}" for number in range(6)), "l1", "l2", "l3"]
    path, model = tmp_path / "rows", tmp_path / "m.mw"
    text = pd.DataFrame(np.column_stack([X, Y]).astype(int), columns=names).to_csv(index=False)
    targets = [option for name in ("l1", "l2", "l3") for option in ("--target", name)]
    if algorithm == "plug-in":  # the same table in MEKA's ARFF dialect, which counts the labels in the relation's name
        types = "".join(f"@attribute {name} {'{0,1}' if name[0] == 'l' else 'numeric'}\n" for name in names)
        text, targets = f"@relation 'rows: -C -3'\n{types}@data\n{text.partition(chr(10))[2]}", []
    path.write_text(text)
    run_command("train", path, *targets, "--algorithm", algorithm, "--measure", measure, "--out", model)
    found = json.loads(run_command("predict", model, path, "--json", "-q").stdout)["columns"]
    assert list(found) == ["l1", "l2", "l3"]
    assert np.mean(np.column_stack(list(found.values())) == Y) > 0.7
    measured = json.loads(run_command("evaluate", model, path, "--json", "-q").stdout)["measures"]
    assert measured[0]["measure"] == measure
    assert {"f1_macro", "f1_micro", "f1_samples"} <= {record["measure"] for record in measured}


def test_evaluate_prints_counts_shares_and_k(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    y = (X[:, 0] + 0.5 * rng.normal(size=200) > 0.8).astype(int)
    path, model = tmp_path / "rows.csv", tmp_path / "m.mw"
    pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": y}).to_csv(path, index=False)
    run_command("train", path, "--target", "y", "--algorithm", "plug-in", "--out", model, "-q")
    predicted = json.loads(run_command("predict", model, path, "--json", "-q").stdout)["columns"]["prediction"]
    found = np.array(predicted)
    tp, fp, fn, tn = (
        int(np.sum(cell)) for cell in (found & y, found & (1 - y), (1 - found) & y, (1 - found) & (1 - y))
    )
    printed = run_command("evaluate", model, path, "-q").stdout
    assert f"tp {tp}, fp {fp}, fn {fn}, tn {tn}" in printed
    assert f"precision_at_k (k={round(0.5 * y.sum())})" in printed
    rates = ("(min_fpr=0, max_fpr=0.1)", "(max_fpr=0.5, min_tpr=0.5)")
    for name in ("recall_at_precision (precision=0.", "precision_at_recall (recall=0.", *rates):
        assert name in printed
    facts = json.loads(run_command("evaluate", model, path, "--measure", "precision", "--json", "-q").stdout)
    assert facts["counts"] == {"tp": tp, "fp": fp, "fn": fn, "tn": tn}
    (record,) = facts["measures"]
    assert record["value"] == pytest.approx(tp / (tp + fp)) and record["low"] < record["value"] < record["high"]


def test_a_multiclass_stream_is_trained_evaluated_and_reported(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 3)).round(2)
    names = np.array(["low", "middle", "top"])[np.digitize(X[:, 0], [-0.5, 0.5])]
    lines = [";".join([*map(str, row), name]) for row, name in zip(X.tolist(), names, strict=True)]
    (tmp_path / "rows.csv").write_text("a;b;c;kind\n" + "\n".join(lines))
    model, page = tmp_path / "m.mw", tmp_path / "page.html"
    result = run_command(
        "train", tmp_path / "rows.csv", "--target", "kind", "--stream", "--passes", "3", "--out", model
    )
    assert "auto: stamp trains on streams for f1" in result.stderr
    assert "separated by semicolons, with header, read in chunks" in result.stderr
    assert not (tmp_path / "m.mw.checkpoint").exists()
    evaluated = run_command("evaluate", model, tmp_path / "rows.csv", "--json")
    measured = json.loads(evaluated.stdout)
    assert "Warning" not in evaluated.stderr and "target 'kind'" in evaluated.stderr
    assert {record["measure"] for record in measured["measures"]} >= {"f1_macro", "accuracy_macro"}
    run_command("report", model, tmp_path / "rows.csv", "--out", page)
    assert page.read_text().startswith("<!DOCTYPE html>")


def test_errors_on_malformed_lines_name_an_option_that_skips_them(tmp_path):
    lines = [f"{k % 7},{k % 2}" for k in range(60)]
    lines[30] = "x,1"
    (tmp_path / "rows.csv").write_text("a,y\n" + "\n".join(lines))
    arguments = ("train", tmp_path / "rows.csv", "--target", "y", "--stream", "--out", tmp_path / "m.mw")
    failed = run_command(*arguments, code=1)
    assert "rows.csv, line 32, column 1: found 'x'" in failed.stderr
    assert "--on-error skip leaves out such lines" in failed.stderr
    result = run_command(*arguments, "--on-error", "skip")
    assert "1 malformed line was left out" in result.stderr and "59 samples" in result.stdout


@pytest.mark.parametrize(
    ("column", "more", "code", "message"),
    [
        ("colour", ["--stream"], 2, "--groups is for samples in memory"),
        ("b", [], 1, "the group is missing"),
        ("y", [], 1, "the column of groups is the target"),
    ],
)
def test_groups_need_samples_in_memory_and_a_value_in_every_row(table, tmp_path, column, more, code, message):
    out = ("--out", tmp_path / "model.mw")
    result = run_command("train", table[0], "--target", "y", "--groups", column, *out, *more, code=code)
    assert message in result.stderr


def test_compare_ranks_algorithms_with_paired_differences(table):
    path, _ = table
    arguments = ("compare", path, "--target", "y", "--measure", "f1", "--measure", "roc_auc", "--folds", "3")
    chosen = ("--algorithm", "multivariate-svm", "--algorithm", "plug-in", "--algorithm", "amp")
    found = json.loads(run_command(*arguments, *chosen, "--json", "-q").stdout)["measures"]
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
        (["--algorithm", "plug-in", "--time-budget", "5m"], "--time-budget has no effect on plug-in"),
        (["--algorithm", "smoothed-svm", "--checkpoint", "c"], "--checkpoint is for"),
        (["--algorithm", "amp", "--checkpoint", "c", "--subject-to", "recall>=0.5"], "leave one out"),
        (["--algorithm", "amp", "--stream"], "--stream is for"),
        (["--stream", "--subject-to", "recall>=0.5"], "leave --stream out"),
        (["--target", "y", "--target", "w", "--algorithm", "amp"], "takes one --target"),
        (["--algorithm", "binary-relevance"], "two or more --target"),
        (["--algorithm", "amp", "--n-features", "2"], "--n-features is for feature-selecting-svm"),
        (["--algorithm", "stamp", "-C", "2"], "-C has no effect on stamp"),
        (["--subject-to", "precision>2"], "write 'precision>=0.9'"),
        (["--confidence", "0.9"], "--confidence is for --subject-to"),
        (["--algorithm", "amp", "--confidence", "0.9"], "--confidence is for --subject-to"),
        (["--subject-to", "beauty>=0.5"], "a constraint is on one of"),
        (["--time-budget", "soon"], "write 90s, 5m or 1h30m"),
        (["--target", "0"], "counted from 1"),
        (["--measure", "f-beta:x"], "does not fit"),
        (["--nonsense"], "No such option"),
    ],
)
def test_wrong_usage_exits_with_2_and_writes_nothing(table, tmp_path, arguments, message):
    path, _ = table
    failed = run_command("train", path, "--out", tmp_path / "m.mw", *arguments, code=2)
    assert message in failed.stderr and "Traceback" not in failed.output
    assert not list(tmp_path.iterdir())


def test_no_option_takes_nan_as_a_number():
    options = [option for command in main.commands.values() for option in command.params]
    numbers = [option for option in options if isinstance(option.type, click.types.FloatParamType)]
    assert len(numbers) >= 7
    for option in numbers:
        with pytest.raises(click.BadParameter, match="'nan' is not a valid number"):
            option.type.convert("nan", option, None)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train", "absent.csv", "--out", "m.mw"], "absent.csv does not exist"),
        (["train", "{table}", "--target", "nothing", "--out", "m.mw"], "no column 'nothing'"),
        (
            ["train", "{table}", "--target", "y", "--out", "/absent/m.mw"],
            "the model file /absent/m.mw cannot be written",
        ),
        (["train", "{table}", "--target", "y", "--pos-label", "7", "--out", "m.mw"], "none of the labels: 0, 1"),
        (["predict", "{table}", "{table}"], "no model file"),
        (["evaluate", "absent.mw", "{table}"], "absent.mw"),
        (["train", "{table}", "--target", "y", "--stream", "--out", "m.mw"], "column 'colour'"),
    ],
)
def test_failed_runs_exit_with_1_and_write_nothing(table, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    failed = run_command(*(argument.format(table=table[0]) for argument in arguments), code=1)
    lines = failed.stderr.strip().splitlines()
    assert message in lines[-1] and lines[-1].startswith("Error: ")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("text", "seconds"), [("90", 90.0), ("30s", 30.0), ("5m", 300.0), ("1h30m", 5400.0), ("0.5h", 1800.0)]
)
def test_times_are_parsed_to_seconds(text, seconds):
    assert Seconds().convert(text, None, None) == seconds


def test_columns_and_constraints_are_parsed():
    assert [Column().convert(text, None, None) for text in ("age", "1", "-1")] == ["age", 0, -1]
    assert Constraint().convert("Precision >= 90%", None, None) == "Precision >= 90%"


def test_progress_is_shown_only_on_a_terminal_and_unless_quiet(monkeypatch):
    for terminal, quiet in ((True, False), (False, False), (True, True)):
        monkeypatch.setattr(sys.stderr, "isatty", lambda terminal=terminal: terminal)
        with Console(quiet).progress("reading data"):
            shown = progress._current.get()._display
        assert shown == ("bar" if terminal and not quiet else "none")


@pytest.mark.parametrize(
    ("command", "option", "meant"),
    [
        ("train", "--separator", "--delimiter"),
        ("train", "--sep", "--delimiter"),
        ("train", "--labels", "--target"),
        ("evaluate", "--label", "--target"),
        ("train", "--metric", "--measure"),
        ("train", "--algoritm", "--algorithm"),
    ],
)
def test_an_unknown_option_suggests_the_one_that_is_meant(command, option, meant):
    message = run_command(command, "data.csv", option, ";", code=2).stderr
    assert option in message
    assert meant in message.split("Did you mean")[-1]
    assert "--learner" not in message
