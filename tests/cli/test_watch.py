"""``metricwise watch``: outcomes in files, states that go on, pages, alarms."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import metricwise
from tests.cli.invocation import run_command


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a model that guarantees precision, and outcomes that keep it and that do not."""
    folder = tmp_path_factory.mktemp("watch")
    random = np.random.default_rng(0)
    positive = random.random(3000) < 0.4
    frame = pd.DataFrame(random.normal(size=(3000, 2)) + 1.7 * positive[:, None], columns=["a", "b"]).round(3)
    labels = np.where(positive, "bad", "good")
    model = metricwise.PlugInClassifier(LogisticRegression(), "f1", subject_to="precision>=0.8", pos_label="bad")
    metricwise.save(model.fit(frame[:1500], labels[:1500]), folder / "model.mw")
    metricwise.save(LogisticRegression().fit(frame[:500], labels[:500]), folder / "plain.mw")
    frame["y"], frame["day"] = labels, np.arange(3000)
    frame["predicted"], frame["s"] = model.predict(frame[["a", "b"]]), model.decision_function(frame[["a", "b"]])
    frame[1500:2200].to_csv(folder / "first.csv", index=False)
    later = frame[2200:].copy()
    later.loc[later.index[::2], "y"] = "good"
    later.to_csv(folder / "later.csv", index=False)
    return folder


def _watch(files: Path, name: str, *more: object, code: int = 0) -> Any:
    result = run_command("watch", files / "model.mw", files / name, "--target", "y", "--json", *more, code=code)
    return json.loads(result.stdout)


def test_predictions_of_the_model_and_of_a_column_agree(files: Path) -> None:
    by_model = _watch(files, "first.csv")
    by_column = _watch(files, "first.csv", "--prediction", "predicted", "--score", "s")
    assert by_model["guarantees"] == by_column["guarantees"] and by_model["outcomes"] == 700
    assert by_model["score_warning"] is by_column["score_warning"] is False
    (one,) = by_model["guarantees"]
    assert one["guarantee"] == "precision >= 0.8" and one["interval"][0] < one["share"] < one["interval"][1]
    text = run_command("watch", files / "model.mw", files / "first.csv", "--target", "y").stdout
    assert "No alarm in 700 outcomes" in text and "No change of the scores" in text and "95 % interval" in text


def test_an_alarm_names_the_row_and_exits_with_its_code(files: Path, tmp_path: Path) -> None:
    state, page = tmp_path / "state.mw", tmp_path / "page.html"
    _watch(files, "first.csv", "--state", state, "--order", "day")
    found = _watch(files, "later.csv", "--state", state, "--order", "day", "--html", page, code=3)
    (one,) = found["guarantees"]
    assert found["alarm"] and found["outcomes"] == 1500 and one["alarm_row"] == one["alarm_at"] - 700 > 0
    assert page.read_text().count("<svg") == 2 and "does not hold" in page.read_text()
    direct = metricwise.GuaranteeMonitor(metricwise.load(files / "model.mw"))
    for name in ("first.csv", "later.csv"):
        part = pd.read_csv(files / name)
        direct.update(part["y"], part["predicted"], part["s"])
    assert metricwise.load(state).status == direct.status
    # An alarm stays, whatever follows.
    text = run_command("watch", files / "model.mw", files / "first.csv", "--target", "y", "--state", state, code=3)
    assert "Alarm: precision >= 0.8" in text.stdout and "row" not in text.stdout.splitlines()[2]


def test_what_was_counted_is_refused(files: Path, tmp_path: Path) -> None:
    state = tmp_path / "state.mw"
    arguments = ("watch", files / "model.mw", files / "first.csv", "--target", "y", "--state", state)
    run_command(*arguments, "--order", "day")
    before = state.read_bytes()
    assert "has been counted already" in run_command(*arguments, code=1).stderr
    other = tmp_path / "other.csv"
    other.write_text((files / "first.csv").read_text() + "\n")
    error = run_command("watch", files / "model.mw", other, *arguments[3:], "--order", "day", code=1).stderr
    assert "outcomes up to 2199.0 have been seen, and this batch starts at 1500.0" in error
    assert "state of another watch" in run_command(*arguments, "--alpha", "0.1", code=1).stderr
    assert state.read_bytes() == before
    assert "is the state of a watch and no model" in run_command("evaluate", state, files / "first.csv", code=1).stderr
    taken = ("--state", files / "plain.mw")
    assert "is a model and no state" in run_command(*arguments[:-2], *taken, code=1).stderr


def test_wrong_input(files: Path, tmp_path: Path) -> None:
    model, rows = files / "model.mw", files / "first.csv"
    assert "makes no guarantee" in run_command("watch", files / "plain.mw", rows, "--target", "y", code=1).stderr
    assert "--score is for predictions" in run_command("watch", model, rows, "--score", "s", code=2).stderr
    assert (
        "name the column of the true labels"
        in run_command("watch", model, rows, "--prediction", "predicted", code=2).stderr
    )
    frame = pd.read_csv(rows)
    for change, message in (
        ({"y": "ugly"}, "column 'y' has the unknown label 'ugly' in row 3; labels of the model are bad, good"),
        ({"predicted": None}, "column 'predicted' has no label in row 3"),
        ({"s": "high"}, "the score in row 3 is no number: 'high'"),
        ({"day": None}, "column 'day' of --order has no value in row 3"),
    ):
        changed = frame.astype(object)
        for name, value in change.items():
            changed.loc[2, name] = value
        path = tmp_path / "rows.csv"
        changed.to_csv(path, index=False)
        options = ("--target", "y", "--prediction", "predicted", "--score", "s", "--order", "day")
        assert message in run_command("watch", model, path, *options, code=1).stderr
    assert (
        "unknown label 'ugly'" in run_command("watch", model, _rename(frame, tmp_path), "--target", "y", code=1).stderr
    )


def _rename(frame: pd.DataFrame, folder: Path) -> Path:
    path = folder / "renamed.csv"
    frame.assign(y=frame["y"].replace("bad", "ugly")).to_csv(path, index=False)
    return path


def test_the_report_has_a_section_for_guarantees(files: Path) -> None:
    later = pd.read_csv(files / "later.csv")
    model = metricwise.load(files / "model.mw")
    page = metricwise.report(model, later[["a", "b"]], later["y"], importance_seconds=0.01).html
    assert "Guarantees on these samples" in page and "Alarm: precision &gt;= 0.8" in page
    weighted = metricwise.report(
        model, later[["a", "b"]], later["y"], sample_weight=np.arange(len(later)) + 1.0, importance_seconds=0.01
    )
    assert "Guarantees on these samples" not in weighted.html


def test_unknown_numbers_and_scores_of_classes_are_named(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    frame = pd.DataFrame(random.normal(size=(300, 2)), columns=["a", "b"]).assign(y=np.arange(300) % 3)
    frame.loc[frame["y"] > 0, "a"] += 3.0
    model = metricwise.PlugInClassifier(LogisticRegression(), "f1_macro", subject_to="recall>=0.5 of 0", cv=2)
    metricwise.save(model.fit(frame[["a", "b"]], frame["y"]), tmp_path / "model.mw")
    frame.loc[3, "y"] = 7
    frame.to_csv(tmp_path / "new.csv", index=False)
    command = ("watch", tmp_path / "model.mw", tmp_path / "new.csv", "--target", "y")
    assert "the label of row 4 is 7, and labels of the model are 0, 1, 2" in run_command(*command, code=1).stderr
    given = ("--prediction", "y", "--score", "a")
    assert "a score for each of 3 classes" in run_command(*command, *given, code=1).stderr


def test_labels_may_be_written_as_other_numbers(tmp_path: Path) -> None:
    """Databases export decimals with a fixed number of digits."""
    random = np.random.default_rng(0)
    X = pd.DataFrame(random.normal(size=(300, 2)), columns=["a", "b"])
    y = (X["a"] + random.normal(size=300) > 0).astype(int)
    model = metricwise.PlugInClassifier(LogisticRegression(), "f1", subject_to="precision>=0.5").fit(X, y)
    metricwise.save(model, tmp_path / "model.mw")
    counts = []
    for labels in (y, y.map(lambda label: f"{label}.00")):
        X.assign(y=labels, p=model.predict(X)).to_csv(tmp_path / "rows.csv", index=False)
        given = ("watch", tmp_path / "model.mw", tmp_path / "rows.csv", "--target", "y", "--prediction", "p", "--json")
        counts.append(json.loads(run_command(*given).stdout)["guarantees"])
    assert counts[0] == counts[1]
    X.assign(y="2.00", p=0).to_csv(tmp_path / "rows.csv", index=False)
    assert "column 'y' has the unknown label '2.00' in row 1" in run_command(*given, code=1).stderr
