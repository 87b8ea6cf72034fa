"""``--disk``: train, certify, evaluate and predict with samples that stay on disk."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import dump_svmlight_file
from sklearn.metrics import f1_score

import metricwise
from metricwise import AMPClassifier, MultivariateSVC
from tests.cli.invocation import run_command
from tests.unit.disk_files import NAMES, X, Y, write_wide_samples

LABELS = Y.astype(int)
LINEAR = ("--algorithm", "multivariate-svm")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with the same samples in files of every format."""
    folder = tmp_path_factory.mktemp("samples")
    np.save(folder / "X.npy", X)
    np.save(folder / "y.npy", LABELS)
    sparse.save_npz(folder / "X.npz", sparse.csr_matrix(X), compressed=False)
    dump_svmlight_file(X, LABELS, str(folder / "rows.svm"), zero_based=False)
    frame = pd.DataFrame(X, columns=list(NAMES)).assign(label=LABELS)
    frame.to_csv(folder / "rows.csv", index=False, sep=";")
    frame.to_parquet(folder / "rows.parquet")
    return folder


FILES = {
    "X.npy": ["--target", "{folder}/y.npy"],
    "X.npz": ["--target", "{folder}/y.npy"],
    "rows.svm": [],
    "rows.csv": ["--target", "label"],
    "rows.parquet": ["--target", "7"],
}


@pytest.mark.parametrize("name", FILES)
def test_every_file_format_gives_the_model_of_the_library(name, folder, tmp_path):
    target = [text.format(folder=folder) for text in FILES[name]]
    model, out = tmp_path / "m.mw", tmp_path / "labels.csv"
    result = run_command("train", folder / name, *target, *LINEAR, "--disk", "--memory-limit", "800MB", "--out", model)
    assert "3,000 rows; 6 features; on disk" in result.stderr and "scale the features" in result.stderr
    assert "Certified" in result.stdout
    expected = MultivariateSVC("f1", random_state=0).fit(X, LABELS)
    found = metricwise.load(model)
    assert found.result_.certificate.upper == pytest.approx(expected.result_.certificate.upper, rel=found.tol)
    assert found.checkpoint is None and found.callback is None
    assert [path.name for path in tmp_path.iterdir()] == ["m.mw"]  # no checkpoint is left
    bounds = json.loads(run_command("certify", model, folder / name, *target, "--disk", "--json", "-q").stdout)
    assert bounds["certificates"][0]["gap"] == pytest.approx(found.result_.certificate.relative, rel=1e-3)
    measured = json.loads(
        run_command("evaluate", model, folder / name, *target, "--disk", "--json", "-q", "--measure", "f1").stdout
    )
    assert measured["measures"][0]["value"] == pytest.approx(f1_score(LABELS, expected.predict(X)))
    run_command("predict", model, folder / name, "--disk", "--scores", "--out", out)
    written = pd.read_csv(out)
    assert written["prediction"].astype(int).tolist() == expected.predict(X).tolist()
    np.testing.assert_allclose(written["score of 1"], found.decision_function(X), atol=1e-9)


def test_auto_selects_on_samples_on_disk(folder, tmp_path):
    """Model selection trains, predicts and evaluates with samples on disk, under a guarantee and a time budget."""
    model, roles = tmp_path / "m.mw", ["--target", "label", "--disk"]
    options = ["--subject-to", "recall>=0.6", "--time-budget", "4s"]
    result = run_command("train", folder / "rows.csv", *roles, *options, "--out", model)
    assert "Guaranteed on new samples with confidence 0.95: recall >= 0.6" in result.stdout
    assert "The 3,000 samples are on disk" in result.stdout and "scale the features" not in result.stderr
    found = metricwise.load(model)
    low, high = found.expected_score_interval_
    frame = pd.DataFrame(X, columns=list(NAMES))
    printed = run_command("evaluate", model, folder / "rows.csv", *roles, "--measure", "f1", "--json", "-q").stdout
    assert json.loads(printed)["measures"][0]["value"] == pytest.approx(f1_score(LABELS, found.predict(frame)))
    assert low < high
    labels = json.loads(run_command("predict", model, folder / "rows.csv", "--disk", "--json", "-q").stdout)["columns"]
    assert labels["prediction"] == found.predict(frame).tolist()


def test_new_samples_without_labels_are_predicted(folder, tmp_path):
    """Columns must be in the order of training; a table of the features alone has no labels."""
    model = tmp_path / "m.mw"
    run_command("train", folder / "rows.csv", "--target", "label", *LINEAR, "--disk", "--out", model)
    expected = metricwise.load(model).predict(X).tolist()
    frame = pd.DataFrame(X, columns=NAMES)
    frame.to_csv(tmp_path / "new.csv", index=False)
    frame.to_csv(tmp_path / "plain.csv", index=False, header=False)
    frame.to_parquet(tmp_path / "new.parquet")
    frame.assign(label=np.where(LABELS, "yes", "no")).to_parquet(tmp_path / "text.parquet")
    for name in ("new.csv", "plain.csv", "new.parquet", "text.parquet"):
        found = json.loads(run_command("predict", model, tmp_path / name, "--disk", "--json", "-q").stdout)["columns"]
        assert found["prediction"] == expected, name
    frame.drop(columns="a").to_csv(tmp_path / "fewer.csv", index=False)
    failed = run_command("predict", model, tmp_path / "fewer.csv", "--disk", code=1)
    assert "has 5 columns, and the model takes 6 features" in failed.stderr
    frame[list(reversed(NAMES))].to_csv(tmp_path / "turned.csv", index=False)
    assert "'f' stands where 'a' did" in run_command("predict", model, tmp_path / "turned.csv", "--disk", code=1).stderr
    failed = run_command("evaluate", model, tmp_path / "new.csv", "--disk", code=1)
    assert "has no column 'label' for target" in failed.stderr


def test_malformed_lines_may_be_skipped(folder, tmp_path):
    """Every run warns of them, though the file is converted once; certify skips the same lines."""
    lines = (folder / "rows.csv").read_text().splitlines(keepends=True)
    path, model = tmp_path / "malformed.csv", tmp_path / "m.mw"
    path.write_text("".join([*lines[:100], "a,b\n", *lines[100:], "1,2,3,4,5,x,0\n"]))
    arguments = ("train", path, "--target", "label", *LINEAR, "--disk", "--out", model)
    failed = run_command(*arguments, code=1)
    assert "malformed.csv, line 101" in failed.stderr and "--on-error skip leaves out such lines" in failed.stderr
    for _ in range(2):
        result = run_command(*arguments, "--on-error", "skip")
        assert "2 malformed lines were left out; the first: " in result.stderr and "3,000 rows" in result.stderr
    expected = MultivariateSVC("f1", random_state=0).fit(X, LABELS)
    np.testing.assert_array_equal(metricwise.load(model).predict(X), expected.predict(X))
    assert "2 malformed lines were left out" in run_command("certify", model, path, "--disk").stderr
    assert "malformed.csv, line 101" in run_command("predict", model, path, "--disk", code=1).stderr


def test_a_model_trained_on_disk_predicts_files_in_memory(folder, tmp_path):
    model = tmp_path / "m.mw"
    arguments = ("--target", "label", "--algorithm", "amp", "--pos-label", "0", "--disk", "--out", model)
    run_command("train", folder / "rows.csv", *arguments)
    expected = AMPClassifier("f1", pos_label=0, random_state=0).fit(X, LABELS)
    found = json.loads(run_command("predict", model, folder / "rows.parquet", "--json", "-q").stdout)["columns"]
    assert found["prediction"] == expected.predict(X).tolist()


@pytest.mark.parametrize("failing", [1, 4])
def test_interrupted_training_resumes_from_its_checkpoint(folder, tmp_path, monkeypatch, failing):
    """Training fails at some step; the same command then resumes."""
    from metricwise.solvers import CuttingPlane

    arguments = ("train", folder / "X.npy", "--target", folder / "y.npy", *LINEAR, "--disk", "--out", tmp_path / "m.mw")
    step, states = CuttingPlane.step, []

    def step_and_fail(self, problem, state, limits):
        states.append(state)
        if len(states) == failing:
            raise OSError("the disk was removed")
        step(self, problem, state, limits)

    monkeypatch.setattr(CuttingPlane, "step", step_and_fail)
    assert "the disk was removed" in run_command(*arguments, code=1).stderr
    assert (tmp_path / "m.mw.checkpoint").exists()
    monkeypatch.undo()
    result = run_command(*arguments)
    assert f"resuming from {tmp_path / 'm.mw.checkpoint'}" in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["m.mw"]
    expected = MultivariateSVC("f1", random_state=0).fit(X, LABELS).result_.certificate
    assert metricwise.load(tmp_path / "m.mw").result_.certificate.upper == pytest.approx(expected.upper, rel=1e-3)


def test_a_checkpoint_of_training_in_memory_is_read_and_removed(folder, tmp_path):
    result = run_command(
        *("train", folder / "rows.csv", "--target", "label", "--algorithm", "multivariate-svm"),
        *("--checkpoint", tmp_path / "run.npz", "--out", tmp_path / "m.mw"),
    )
    assert "Certified" in result.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["m.mw"]
    (tmp_path / "run.npz").write_text("something else")
    failed = run_command(
        *("train", folder / "rows.csv", "--target", "label", "--algorithm", "multivariate-svm"),
        *("--checkpoint", tmp_path / "run.npz", "--out", tmp_path / "m.mw"),
        code=1,
    )
    assert "cannot be read" in failed.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["X.npy", "--disk"], "name the .npy file that has them by --target"),
        (["X.npy", "--disk", "--target", "1"], "name the .npy file that has them by --target"),
        (["rows.csv", "--memory-limit", "1GB"], "--memory-limit is for --disk"),
        (["rows.csv", "--disk", "--memory-limit", "much"], "write 800MB or 2GiB"),
        (["rows.csv", "--disk", "--stream"], "leave one out"),
        (["rows.csv", "--disk", "--algorithm", "plug-in"], "--disk is for auto, multivariate-svm, smoothed-svm"),
        (["rows.csv", *LINEAR, "--disk", "--subject-to", "recall>=0.5"], "leave --disk out, or use --algorithm auto"),
        (["rows.csv", "--disk", "--checkpoint", "run.npz"], "--checkpoint is for multivariate-svm"),
        (["rows.csv", "--disk", "--target", "a", "--target", "b"], "--disk takes one --target"),
        (["-", "--disk"], "name a file"),
        (["rows.csv", "--on-error", "skip"], "--on-error is for --stream and --disk"),
        (["rows.csv", "--passes", "2"], "--passes is for --stream"),
        (["rows.csv", "--disk", "--classes", "0,1"], "--classes is for --stream"),
    ],
)
def test_wrong_usage_exits_with_2_and_writes_nothing(folder, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(folder)
    assert message in run_command("train", *arguments, "--out", tmp_path / "m.mw", code=2).stderr
    assert not list(tmp_path.iterdir())


def test_weights_of_a_table_give_the_model_of_the_library(folder, tmp_path):
    weights = np.arange(len(X)) % 3 + 0.5
    frame = pd.DataFrame(X, columns=list(NAMES)).assign(w=weights, label=LABELS)
    frame.to_csv(tmp_path / "rows.csv", index=False)
    model, roles = tmp_path / "m.mw", ["--target", "label", "--disk"]
    run_command("train", tmp_path / "rows.csv", *roles, *LINEAR, "--weight", "w", "--out", model)
    expected = MultivariateSVC("f1", random_state=0).fit(X, LABELS, sample_weight=weights)
    found = metricwise.load(model)
    assert found.result_.certificate.upper == pytest.approx(expected.result_.certificate.upper, rel=found.tol)
    certified = json.loads(run_command("certify", model, tmp_path / "rows.csv", "--disk", "--json", "-q").stdout)
    assert certified["certificates"][0]["upper"] == pytest.approx(found.result_.certificate.upper, rel=1e-6)
    printed = run_command(
        "evaluate", model, tmp_path / "rows.csv", "--disk", "--weight", "w", "--measure", "f1", "--json"
    )
    assert json.loads(printed.stdout)["measures"][0]["value"] == pytest.approx(found.score(X, LABELS, weights))
    labels = run_command("predict", model, tmp_path / "rows.csv", "--disk", "--weight", "w", "-q").stdout
    assert labels == run_command("predict", model, folder / "rows.csv", "--disk", "-q").stdout


def test_errors_name_the_remedy(folder, tmp_path):
    model = tmp_path / "m.mw"
    arguments = ("train", folder / "X.npy", "--target", folder / "y.npy", "--out", model)
    failed = run_command(*arguments, "--disk", "--memory-limit", "100MB", code=1)
    assert re.search(r"Give at least --memory-limit \d+MB$", failed.stderr.strip())
    np.save(tmp_path / "few.npy", LABELS[:-1])
    failed = run_command("train", folder / "X.npy", "--target", tmp_path / "few.npy", "--disk", "--out", model, code=1)
    assert "give one label per row" in failed.stderr
    run_command("train", folder / "rows.csv", "--target", "label", "--algorithm", "multivariate-svm", "--out", model)
    failed = run_command("predict", model, folder / "X.npy", "--disk", code=1)
    assert "preprocesses its samples in memory: leave --disk out" in failed.stderr


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="peak memory is read from /proc")
def test_a_process_stays_within_its_memory_limit(tmp_path):
    """Train, certify and predict on 80 MB of samples, with 50 MB beside the libraries and the vectors of samples."""
    n_samples = 20_000
    write_wide_samples(tmp_path, n_samples, 1000)
    script = r"""
import re
from metricwise.cli import main
common = ["--disk", "--memory-limit", "375MB"]
for line in (
    "train X.npy --target y.npy --out m.mw --algorithm multivariate-svm -C 1e-4 --time-budget 2s",
    "certify m.mw X.npy --target y.npy",
    "predict m.mw X.npy --out labels.csv",
):
    main([*line.split(), *common], standalone_mode=False)
print("peak", float(re.search(r"VmHWM:\s+(\d+) kB", open("/proc/self/status").read())[1]) * 1024 / 1e6)
"""
    environment = os.environ | {"PYTHONPATH": str(Path(metricwise.__file__).resolve().parents[1])}
    command = [sys.executable, "-W", "ignore", "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment)
    (tmp_path / "X.npy").unlink()
    assert done.returncode == 0, done.stderr
    assert float(re.search(r"peak (\S+)", done.stdout)[1]) < 375
    assert len((tmp_path / "labels.csv").read_text().splitlines()) == n_samples + 1


@pytest.mark.parametrize("name", ["X.npy", "rows.csv"])
def test_compare_evaluates_on_samples_on_disk(folder, name):
    target = [text.format(folder=folder) for text in FILES[name]]
    algorithms = LINEAR if name == "rows.csv" else ()  # by default also auto
    options = [*algorithms, "--disk", "--memory-limit", "800MB", "--folds", "2", "--time-budget", "3s"]
    result = run_command("compare", folder / name, *target, *options, "--json")
    assert "3,000 rows; 6 features; on disk" in result.stderr
    facts = json.loads(result.stdout)
    found = {one["algorithm"]: one for one in facts["measures"]["f1"]["results"]}
    assert set(found) == {"multivariate-svm", *([] if algorithms else ["auto"])} and facts["folds"] == 2
    in_memory = json.loads(run_command("compare", folder / "rows.csv", *LINEAR, "--folds", "2", "--json", "-q").stdout)
    expected = in_memory["measures"]["f1"]["results"][0]["value"]
    assert found["multivariate-svm"]["value"] == pytest.approx(expected, abs=0.02)
    assert found["multivariate-svm"]["low"] < expected < found["multivariate-svm"]["high"]
    assert all(one["low"] < one["value"] < one["high"] and one["value"] > 0.5 for one in found.values())


def test_compare_leaves_out_samples_on_disk_without_weight(folder, tmp_path):
    """Samples of weight zero, whose labels are wrong, change nothing."""
    weights, labels = np.append(np.ones(3000), np.zeros(1000)), np.append(LABELS, 1 - LABELS[:1000])
    frame = pd.DataFrame(np.vstack([X, X[:1000]]), columns=list(NAMES)).assign(w=weights, label=labels)
    frame.to_csv(tmp_path / "rows.csv", index=False)
    options = ["--target", "label", *LINEAR, "--disk", "--folds", "2", "--json", "-q"]
    values = [
        json.loads(run_command("compare", path, *options, *more).stdout)["measures"]["f1"]["results"][0]["value"]
        for path, more in ((folder / "rows.csv", []), (tmp_path / "rows.csv", ["--weight", "w"]))
    ]
    assert values[0] == pytest.approx(values[1], abs=0.02)


@pytest.mark.parametrize(
    ("arguments", "message", "code"),
    [
        (["rows.csv", "--target", "label", "--disk", "--groups", "a"], "--groups is for samples in memory", 2),
        (["rows.csv", "--target", "label", "--disk", "--algorithm", "plug-in"], "--disk is for auto, multivariate", 2),
        (["X.npy", "--disk"], "name the .npy file that has them by --target", 2),
        (["rows.csv", "--target", "nothing", "--disk"], "has no column 'nothing' for target", 1),
        (["X.npy", "--target", "y.npy", "--disk", "--memory-limit", "100MB"], "Give at least --memory-limit", 1),
    ],
)
def test_compare_on_disk_refuses_what_it_cannot_do(folder, monkeypatch, arguments, message, code):
    monkeypatch.chdir(folder)
    assert message in run_command("compare", *arguments, code=code).stderr


def test_compare_on_disk_leaves_out_malformed_lines(folder, tmp_path):
    """The error names the option, and the option helps."""
    path = tmp_path / "rows.csv"
    path.write_text((folder / "rows.csv").read_text() + "1;2;3;4;5;red;0\n")
    arguments = ("compare", path, "--target", "label", *LINEAR, "--folds", "2", "--disk", "--json")
    failed = run_command(*arguments, code=1)
    assert "rows.csv, line 3002" in failed.stderr and "--on-error skip leaves out such lines" in failed.stderr
    assert json.loads(run_command(*arguments, "--on-error", "skip").stdout)["rows"] == 3000
    failed = run_command("compare", path, "--target", "label", "--on-error", "skip", code=2)
    assert "--on-error is for --disk" in failed.stderr
