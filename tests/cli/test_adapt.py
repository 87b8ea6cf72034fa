"""``metricwise adapt``."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import metricwise
from tests.cli.invocation import run_command


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder, random = tmp_path_factory.mktemp("adapt"), np.random.default_rng(0)
    for name, share in (("train", 0.1), ("new", 0.4)):
        y = random.random(800) < share
        frame = pd.DataFrame({"a": random.normal(size=800) + 2.5 * y, "b": random.normal(size=800)})
        if name == "train":
            frame["y"] = np.where(y, "sick", "well")
        frame.to_csv(folder / f"{name}.csv", index=False)
    command = ("train", folder / "train.csv", "--target", "y", "--measure", "f1", "--pos-label", "sick")
    run_command(*command, "--algorithm", "plug-in", "--out", folder / "model.mw", "-q")
    return folder


def test_a_model_is_adapted_to_samples(files):
    out = files / "adapted.mw"
    facts = json.loads(run_command("adapt", files / "model.mw", files / "new.csv", "--out", out, "--json").stdout)
    (record,) = facts["classes"]
    assert record["class"] == "sick" and facts["n_samples"] == 800
    assert record["low"] < 0.4 < record["high"] and record["old_prior"] == pytest.approx(0.1, abs=0.03)
    loaded = metricwise.load(out)
    assert loaded.threshold_ == record["threshold"] and loaded.prior_.estimate == record["prior"]
    printed = run_command("adapt", files / "model.mw", files / "new.csv", "--out", out).stdout
    assert "new prior" in printed and "new threshold" in printed and f"written to {out}" in printed
    assert run_command("predict", out, files / "new.csv").stdout.count("sick") > 250


def test_a_model_is_adapted_to_a_given_prior(files):
    out = files / "given.mw"
    for text in ("0.3", "sick=0.3,well=0.7"):
        run_command("adapt", files / "model.mw", "--prior", text, "--out", out)
        assert metricwise.load(out).prior_.estimate == pytest.approx(0.3)


@pytest.mark.parametrize(
    ("arguments", "code", "problem"),
    [
        ((), 2, "adapt needs either DATA"),
        (("new.csv", "--prior", "0.2"), 2, "adapt needs either DATA"),
        (("--prior", "many"), 2, "--prior is a number such as 0.1"),
        (("--prior", "1.5"), 1, "between 0 and 1"),
        (("--prior", "sick=0.3,ill=0.7"), 1, "lacks ['well']"),
    ],
)
def test_bad_usage(files, arguments, code, problem):
    given = [files / one if one.endswith(".csv") else one for one in arguments]
    result = run_command("adapt", files / "model.mw", *given, "--out", files / "bad.mw", code=code)
    assert problem in result.stderr
