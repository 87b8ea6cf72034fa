"""Groups and weights of the samples in files, in every command."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import confusion_matrix, f1_score, roc_auc_score

import metricwise
from metricwise.cli.algorithms import Settings, build_estimator
from tests.cli.invocation import run_command


def test_groups_of_a_column_stay_together_and_are_no_feature(tmp_path):
    random = np.random.default_rng(0)
    patients = np.repeat(np.arange(40), 6)
    frame = pd.DataFrame(
        random.normal(size=(40, 3))[patients] + 0.01 * random.normal(size=(240, 3)), columns=["a", "b", "c"]
    )
    frame["patient"] = np.char.add("p", patients.astype(str))
    frame["y"] = random.permutation(np.arange(40) % 2)[patients]
    path, model = tmp_path / "patients.csv", tmp_path / "model.mw"
    frame.to_csv(path, index=False)
    common = (
        path,
        "--target",
        "y",
        "--measure",
        "accuracy",
        "--algorithm",
        "plug-in",
        "--learner",
        "extra-trees",
        "--json",
    )
    for arguments in (("train", "--out", model), ("compare", "--folds", "2")):
        outputs = [run_command(*arguments, *common, "-q", *groups).stdout for groups in ((), ("--groups", "patient"))]
        values = [
            facts["expected"] if "expected" in facts else facts["measures"]["accuracy"]["results"][0]["value"]
            for facts in map(json.loads, outputs)
        ]
        assert values[0] > 0.95 and values[1] < 0.75
    assert list(metricwise.load(model).table_["columns"]) == ["a", "b", "c"]


def test_groups_of_files_without_column_names_are_no_feature(tmp_path):
    random = np.random.default_rng(0)
    table = np.column_stack([np.repeat(np.arange(20), 4), random.normal(size=(80, 2)), np.arange(80) % 2])
    path, model = tmp_path / "patients.csv", tmp_path / "model.mw"
    np.savetxt(path, table, "%g", delimiter=",")
    common = ("--no-header", "--target", "4", "-q")
    run_command("train", path, *common, "--groups", "1", "--algorithm", "plug-in", "--out", model)
    assert run_command("predict", model, path, *common).stdout.count("\n") == 81
    evaluated = run_command("evaluate", model, path, *common, "--groups", "1", "--measure", "accuracy")
    assert "intervals are for new groups like these 20" in evaluated.stdout


@pytest.fixture(scope="module")
def patients(tmp_path_factory):
    """Return a CSV file of patients with weights, the frame, and a model of other patients."""
    random = np.random.default_rng(1)
    patient = np.repeat(np.arange(60), 10)
    frame = pd.DataFrame({"a": random.normal(size=60)[patient] + 0.1 * random.normal(size=600)})
    frame["y"] = (frame["a"] + random.normal(size=60)[patient] > 0.8).astype(int)
    frame["patient"], frame["w"] = patient, random.integers(0, 4, 600) / 2.0
    folder = tmp_path_factory.mktemp("patients")
    frame[frame["patient"] >= 20].to_csv(folder / "train.csv", index=False)
    test = frame[frame["patient"] < 20]
    test.to_csv(folder / "test.csv", index=False)
    columns = ("--target", "y", "--groups", "patient", "--weight", "w")
    run_command("train", folder / "train.csv", *columns, "--algorithm", "plug-in", "--out", folder / "m.mw", "-q")
    return folder / "test.csv", test, folder / "m.mw"


def test_boosted_trees_of_groups_do_not_stop_early():
    settings = Settings("f1", "boosted-trees")
    for is_grouped, expected in ((False, "auto"), (True, False)):
        built = build_estimator("plug-in", replace(settings, is_grouped=is_grouped), np.zeros((4, 2)))
        assert built.get_params()["estimator__early_stopping"] == expected


def test_evaluate_sums_weights(patients):
    path, frame, model = patients
    predicted = metricwise.load(model).predict(frame[["a"]])
    result = run_command("evaluate", model, path, "--weight", "w", "--json")
    facts = json.loads(result.stdout)
    values = {record["measure"]: record["value"] for record in facts["measures"]}
    weighted = {"sample_weight": frame["w"]}
    assert values["f1"] == pytest.approx(f1_score(frame["y"], predicted, **weighted))
    assert values["roc_auc"] == pytest.approx(
        roc_auc_score(frame["y"], metricwise.load(model).decision_function(frame[["a"]]), **weighted)
    )
    tn, fp, fn, tp = confusion_matrix(frame["y"], predicted, **weighted).ravel()
    assert facts["counts"] == pytest.approx({"tp": tp, "fp": fp, "fn": fn, "tn": tn})
    assert facts["positive"]["share"] == pytest.approx(np.average(frame["y"], weights=frame["w"]))
    assert facts["weight"] == frame["w"].sum() and "Warning" not in result.stderr
    printed = run_command("evaluate", model, path, "--weight", "w", "-q").stdout
    assert f"tp {tp:g}, fp {fp:g}, fn {fn:g}, tn {tn:g}" in printed
    assert f"samples count by their weights, {frame['w'].sum():g} in total" in printed


@pytest.mark.parametrize("command", ["evaluate", "report"])
def test_intervals_are_for_new_groups(patients, command, tmp_path):
    path, _, model = patients
    arguments = (command, model, path, "--measure", "f1", "--json", "-q")
    arguments += ("--out", tmp_path / "page.html") if command == "report" else ()
    found = []
    for given in ((), ("--groups", "patient")):
        facts = json.loads(run_command(*arguments, *given).stdout)
        found.append(facts["measures"][0] if command == "evaluate" else facts)
    alone, grouped = found
    assert grouped["value"] == alone["value"]
    assert grouped["high"] - grouped["low"] > 1.5 * (alone["high"] - alone["low"])
    if command == "evaluate":
        assert (
            "intervals are for new groups like these 20" in run_command(*arguments[:-2], "--groups", "patient").stdout
        )


def test_groups_of_an_evaluation_need_samples_in_memory(patients):
    path, _, model = patients
    failed = run_command("evaluate", model, path, "--groups", "patient", "--disk", code=2)
    assert "--groups is for samples in memory" in failed.stderr


def test_compare_sums_weights_and_draws_groups(patients):
    path, frame, _ = patients
    options = ("--target", "y", "--algorithm", "plug-in", "--measure", "accuracy", "--folds", "4")
    given = (*options, "--weight", "w", "--groups", "patient")
    kept, equal = path.with_name("kept.csv"), path.with_name("equal.csv")
    frame[frame["w"] > 0.0].to_csv(kept, index=False)
    frame[frame["w"] > 0.0].assign(w=2.0).to_csv(equal, index=False)
    facts = [json.loads(run_command("compare", one, *given, "--json", "-q").stdout) for one in (path, kept, equal)]
    all_samples, without_weightless, equally = (one["measures"]["accuracy"]["results"][0] for one in facts)
    assert all_samples["value"] == without_weightless["value"] != equally["value"]
    assert all_samples["low"] <= all_samples["value"] <= all_samples["high"]
    assert facts[0]["weight"] == frame["w"].sum() and facts[0]["groups"] == 20
    result = run_command("compare", path, *given)
    assert "not in evaluation" not in result.stderr
    assert "samples count by their weights" in result.stdout
    assert "intervals are for new groups like these 20" in result.stdout
