"""Commands name the positive class and its share, and ask for it where the labels do not show it."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import f1_score

from tests.cli.invocation import run_command

RNG = np.random.default_rng(0)
IS_FRAUD = RNG.random(300) < 0.2
N_FRAUD = int(IS_FRAUD.sum())
ASKED = (
    f"'fraud' ({N_FRAUD} samples, the rarer) and 'legit' ({300 - N_FRAUD} samples). Name the positive class, usually"
)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    found = tmp_path_factory.mktemp("positive") / "payments.csv"
    frame = pd.DataFrame(RNG.normal(size=(300, 2)) + 1.5 * IS_FRAUD[:, None], columns=["a", "b"])
    frame.assign(kind=np.where(IS_FRAUD, "fraud", "legit")).to_csv(found, index=False)
    return found


def find_error(*arguments):
    return " ".join(run_command(*arguments, code=1).stderr.split())


@pytest.mark.parametrize("how", [["--algorithm", "plug-in"], ["--stream"], ["--disk", "--algorithm", "amp"]])
def test_training_asks_for_the_positive_class_by_its_option(path, tmp_path, how):
    model = tmp_path / "model.mw"
    arguments = ["train", path, "--target", "kind", "--out", model, *how]
    error = find_error(*arguments)
    assert ASKED in error and error.endswith("--pos-label fraud")
    trained = run_command(*arguments, "--pos-label", "fraud", "-q").stdout
    share = "about" if how == ["--stream"] else f"{100 * N_FRAUD / 300:.3g} % of the samples)."
    assert f"The positive class is 'fraud' ({share}" in trained
    evaluate = ["evaluate", model, path, "--measure", "f1", "-q", *(["--disk"] if "--disk" in how else [])]
    facts = json.loads(run_command(*evaluate, "--json").stdout)
    run_command("predict", model, path, "--out", tmp_path / "labels.csv", "-q")
    predicted = pd.read_csv(tmp_path / "labels.csv")["prediction"]
    truth = np.where(IS_FRAUD, "fraud", "legit")
    assert facts["measures"][0]["value"] == pytest.approx(f1_score(truth, predicted, pos_label="fraud"))
    assert facts["positive"] == {"label": "fraud", "share": pytest.approx(N_FRAUD / 300)}
    assert "The positive class is 'fraud'" in run_command(*evaluate).stdout


def test_a_model_that_needs_no_positive_class_is_evaluated_by_measures_that_do_not_either(path, tmp_path):
    model = tmp_path / "model.mw"
    train = ["train", path, "--target", "kind", "--out", model, "--algorithm", "plug-in", "--measure", "accuracy"]
    assert "; accuracy does not depend on it." in run_command(*train, "-q").stdout
    result = run_command("evaluate", model, path)
    assert "balanced_accuracy" in result.stdout and "jaccard" not in result.stdout
    assert "jaccard" in result.stderr and "name it by --pos-label" in result.stderr
    assert "jaccard" in run_command("evaluate", model, path, "--pos-label", "fraud", "-q").stdout
    for command in (["evaluate", model, path], ["report", model, path, "--out", tmp_path / "page.html"]):
        error = find_error(*command, "--measure", "f1")
        assert ASKED in error and error.endswith("--pos-label fraud")
    run_command("report", model, path, "--out", tmp_path / "page.html", "--measure", "f1", "--pos-label", "fraud")
    assert f"{N_FRAUD} of them of the positive class “fraud”" in (tmp_path / "page.html").read_text("utf-8")


def test_comparisons_ask_for_the_positive_class(path):
    arguments = ["compare", path, "--target", "kind", "--algorithm", "plug-in", "--folds", "2"]
    assert find_error(*arguments).endswith("--pos-label fraud")
    assert run_command(*arguments, "--pos-label", "fraud", "-q").stdout.startswith("The positive class is 'fraud' (")


def test_a_positive_class_among_several_is_refused(tmp_path):
    frame = pd.DataFrame({"a": RNG.normal(size=60), "y": np.arange(60) % 3, "z": np.arange(60) % 2, "w": 0})
    frame.to_csv(tmp_path / "rows.csv", index=False)
    train = ["train", tmp_path / "rows.csv", "--out", tmp_path / "m.mw", "--algorithm", "plug-in", "--pos-label", "1"]
    assert "--pos-label 1 is for two classes, but y has 3 classes" in find_error(*train, "--target", "y")
    result = run_command(*train, "--target", "z", "--target", "w", code=2)
    assert "--pos-label is for one --target of two classes" in result.stderr
