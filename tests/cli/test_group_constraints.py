"""Constraints by group, and tables per group, from the shell and in reports."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

import metricwise
from metricwise.reporting.group_tables import find_columns_by, summarize_groups
from metricwise.reporting.guarantees import evaluate_guarantees
from metricwise.reporting.predictions import collect_predictions
from tests.cli.invocation import run_command


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder, random = tmp_path_factory.mktemp("regions"), np.random.default_rng(0)
    region = random.choice(["north", "south"], 1200, p=[0.6, 0.4])
    frame = pd.DataFrame(random.normal(size=(1200, 2)), columns=["a", "b"]).assign(region=region)
    chance = expit(2.0 * frame["a"] - 0.5 - (region == "south"))
    frame["y"] = np.where(random.random(1200) < chance, "yes", "no")
    frame[:800].to_csv(folder / "train.csv", index=False)
    frame[800:].to_csv(folder / "test.csv", index=False)
    return folder


def train(folder, *options, code=0):
    common = ("--target", "y", "--pos-label", "yes", "--algorithm", "plug-in", "--out", folder / "model.mw")
    return run_command("train", folder / "train.csv", *common, *options, code=code)


def test_constraints_by_group_from_the_shell(files):
    train(files, "--subject-to", "recall>=0.7 by region", "--group-thresholds")
    model = metricwise.load(files / "model.mw")
    assert set(model.group_thresholds_) == {"north", "south"}
    result = run_command("evaluate", files / "model.mw", files / "test.csv", "--measure", "f1", "--json")
    found = {one["group"]: one for one in json.loads(result.stdout)["groups_of"]["region"]}
    new = pd.read_csv(files / "test.csv")
    predicted = model.predict(new[["a", "b", "region"]])
    for name, one in found.items():
        own = new["region"] == name
        assert one["samples"] == own.sum()
        assert one["share"] == pytest.approx(own.mean())
        positive = own & (new["y"] == "yes")
        assert one["positives"] == positive.sum()
        recall = (predicted[positive] == "yes").mean()
        assert one["recall"]["value"] == pytest.approx(recall)
        assert one["recall"]["low"] <= recall <= one["recall"]["high"]
        chosen = own & (predicted == "yes")
        assert one["positive_rate"]["value"] == pytest.approx(chosen.sum() / own.sum())
        assert one["precision"]["value"] == pytest.approx((new["y"][chosen] == "yes").mean())
    text = run_command("evaluate", files / "model.mw", files / "test.csv", "--measure", "f1").stdout
    assert "by region, with 90 % intervals" in text
    page = metricwise.report(model, new[["a", "b", "region"]], new["y"], importance_seconds=0.1).html
    assert "Groups of region" in page


def test_evaluation_names_constraints_by_group_with_the_worst(files):
    wanted = ["precision>=0.3", "recall>=0.7 by region", "recall_difference<=0.2 by region"]
    train(files, "--confidence", "0.8", *(word for one in wanted for word in ("--subject-to", one)))
    new = pd.read_csv(files / "test.csv")
    X = new[["a", "b", "region"]]
    model = metricwise.load(files / "model.mw")
    is_found = pd.Series(model.predict(X) == "yes")[new["y"] == "yes"]
    recalls = is_found.groupby(new["region"]).mean()
    given = files / "model.mw", files / "test.csv", "--measure", "f1"
    facts = json.loads(run_command("evaluate", *given, "--json").stdout)
    assert [one["guarantee"] for one in facts["guarantees"]] == [
        "precision >= 0.3",
        "recall >= 0.7 by region",
        "recall_difference <= 0.2 by region",
    ]
    _, least, difference = facts["guarantees"]
    assert least["group"] == recalls.idxmin() and least["share"] == pytest.approx(recalls.min())
    assert least["kept"] == (recalls.min() >= 0.7)
    assert least["counted"] == ((new["y"] == "yes") & (new["region"] == recalls.idxmin())).sum()
    assert difference["group"] == [recalls.idxmin(), recalls.idxmax()]
    assert difference["share"] == pytest.approx(recalls.max() - recalls.min())
    text = run_command("evaluate", *given).stdout
    assert "recall >= 0.7 by region" in text and "worst group" in text
    assert "recall >= 0.7 " not in text.replace("recall >= 0.7 by", "")
    page = metricwise.report(model, X, new["y"], importance_seconds=0.1).html
    assert "recall &gt;= 0.7 by region" in page or "recall >= 0.7 by region" in page
    without = evaluate_guarantees(model, collect_predictions(model, X, new["y"], "yes"))
    assert [one["kept"] for one in without[1:]] == [None, None]


def test_wrong_use_is_an_error(files):
    assert "--group-thresholds is for" in train(files, "--group-thresholds", code=2).stderr
    wrong = train(files, "--subject-to", "recall>=0.7 by country", code=1).stderr
    assert "X has no column 'country'" in wrong
    assert "'<='" in train(files, "--subject-to", "recall_difference>=0.7 by region", code=2).stderr
    train(files)
    wrong = run_command(
        "evaluate", files / "model.mw", files / "test.csv", "--measure", "f1", "--by", "a", code=1
    ).stderr
    assert "at most 100 groups" in wrong


def test_groups_without_positives_have_no_recall(files):
    train(files)
    new = pd.read_csv(files / "test.csv")
    new["y"] = new["y"].where(new["region"] == "north", "no")
    X = new[["a", "b", "region"]]
    found = collect_predictions(metricwise.load(files / "model.mw"), X, new["y"], "yes")
    columns = find_columns_by(None, X, "region", len(new))
    north, south = summarize_groups(found, columns["region"])
    assert not np.isnan(north.values["recall"])
    assert np.isnan(south.values["recall"])
    assert np.isnan(south.intervals["recall"]).all()
    assert list(find_columns_by(None, X, {"half": new["a"] > 0}, len(new))) == ["half"]
