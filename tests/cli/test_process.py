"""The command in a process of its own, on real files: output, errors and exit codes."""

from __future__ import annotations

import gzip
import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import dump_svmlight_file, load_breast_cancer
from sklearn.metrics import f1_score, roc_auc_score

import metricwise
from metricwise.cli import main
from metricwise.io import MalformedLineError
from tests.cli.invocation import make_runner

SCRIPT = Path(sys.executable).with_name("metricwise")
COMMAND = [str(SCRIPT)] if SCRIPT.exists() else [sys.executable, "-m", "metricwise"]
PACKAGE = Path(metricwise.__file__).resolve().parents[1]
ENVIRONMENT = os.environ | {"PYTHONPATH": os.pathsep.join([str(PACKAGE), os.environ.get("PYTHONPATH", "")])}


def run_process(*arguments, code=0, **options):
    """Return standard output and standard error of the command, which must exit with the given code."""
    done = subprocess.run([*COMMAND, *map(str, arguments)], capture_output=True, env=ENVIRONMENT, **options)
    assert done.returncode == code, done.stderr.decode()
    return done.stdout.decode(), done.stderr.decode()


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Return a folder with training and test files of different layouts, and the frame of the test samples."""
    folder = tmp_path_factory.mktemp("files")
    frame = load_breast_cancer(as_frame=True).frame.iloc[:, [0, 1, 4, 20, 21, 30]].sample(frac=1, random_state=0)
    rng = np.random.default_rng(0)
    frame["clinic"] = rng.choice(["north, upper", "south", 'the "old"'], len(frame))
    frame.loc[rng.random(len(frame)) < 0.1, "mean texture"] = np.nan
    frame.loc[rng.random(len(frame)) < 0.1, "clinic"] = np.nan
    frame["target"] = np.where(frame["target"] == 0, "ill", "well")
    frame[:350].to_csv(folder / "train.csv", index=False, sep=";")
    test = frame[350:]
    (folder / "test.csv.gz").write_bytes(gzip.compress(test[test.columns[::-1]].to_csv(index=False).encode()))
    test.to_parquet(folder / "test.parquet")
    return folder, test


@pytest.fixture(scope="module")
def model(files):
    folder, _ = files
    text, notes = run_process(
        *("train", folder / "train.csv", "--target", "target", "--measure", "f1", "--pos-label", "ill"),
        *("--algorithm", "multivariate-svm", "--out", folder / "model.mw"),
    )
    assert "multivariate-svm for f1: 350 samples, 6 features" in text and "Certified" in text
    assert "CSV, separated by semicolons, with header; 350 rows; features: 5 of numbers" in notes
    return folder / "model.mw"


@pytest.mark.skipif(sys.platform == "win32", reason="processor time is measured by a POSIX module")
def test_help_takes_less_than_a_third_of_a_second():
    import resource

    seconds = []
    for _ in range(2):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        text, _ = run_process("--help")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    assert all(name in text for name in ("train", "predict", "evaluate", "compare", "certify", "report", "Exit codes"))
    assert min(seconds) < 0.3  # processor time, since the machine may be busy
    code = "import sys, metricwise.cli; print([name for name in ('numpy', 'scipy', 'sklearn') if name in sys.modules])"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, env=ENVIRONMENT, check=True)
    assert loaded.stdout.decode().strip() == "[]"


def test_predict_and_evaluate_agree_with_scikit_learn(files, model):
    folder, test = files
    text, _ = run_process("predict", model, folder / "test.csv.gz", "--scores")
    from_csv = pd.read_csv(io.StringIO(text))
    assert list(from_csv.columns) == ["prediction", "score of well"]
    result = make_runner().invoke(
        main, ["predict", str(model), str(folder / "test.parquet"), "--out", str(folder / "f.csv")]
    )
    assert result.exit_code == 0 and "Parquet; 219 rows" in result.stderr
    assert pd.read_csv(folder / "f.csv")["prediction"].tolist() == from_csv["prediction"].tolist()
    result = make_runner().invoke(main, ["evaluate", str(model), str(folder / "test.csv.gz"), "--json", "-q"])
    values = {record["measure"]: record for record in json.loads(result.stdout)["measures"]}
    truth = test["target"].to_numpy() == "ill"
    found = from_csv["prediction"].to_numpy() == "ill"
    assert values["f1"]["value"] == pytest.approx(f1_score(truth, found))
    assert values["roc_auc"]["value"] == pytest.approx(roc_auc_score(truth, -from_csv["score of well"]))
    assert values["f1"]["low"] < values["f1"]["value"] < values["f1"]["high"]


def test_certify_recomputes_the_gap_and_warns_about_other_data(files, model):
    folder, _ = files
    result = make_runner().invoke(main, ["certify", str(model), str(folder / "train.csv"), "--json"])
    (certificate,) = json.loads(result.stdout)["certificates"]
    assert "Warning" not in result.stderr
    other = make_runner().invoke(main, ["certify", str(model), str(folder / "test.csv.gz")])
    assert "is not the file that" in other.stderr
    assert certificate["lower"] <= certificate["upper"]
    assert certificate["gap"] == pytest.approx(certificate["claimed"], rel=1e-3) and certificate["gap"] < 1.01e-3


def test_certify_names_the_algorithms_with_a_certificate(files, tmp_path):
    folder, _ = files
    path = tmp_path / "s.mw"
    options = ["--target", "target", "--pos-label", "ill", "--algorithm", "stamp", "--out", str(path)]
    assert make_runner().invoke(main, ["train", str(folder / "train.csv"), *options]).exit_code == 0
    failed = make_runner().invoke(main, ["certify", str(path), str(folder / "train.csv"), "-q"])
    assert failed.exit_code == 1
    assert "STAMPClassifier has no certificate; models of multivariate-svm, " in failed.stderr


def test_train_and_predict_read_standard_input(tmp_path):
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(200, 5)), 3) * (rng.random((200, 5)) < 0.5)
    y = np.where(X[:, 0] + 0.3 * rng.normal(size=200) > 0.3, 1, -1)
    dump_svmlight_file(X, y, str(tmp_path / "rows.svm"), zero_based=False)
    content = gzip.compress((tmp_path / "rows.svm").read_bytes())
    _, notes = run_process("train", "-", "--algorithm", "plug-in", "--out", "m.mw", input=content, cwd=tmp_path)
    assert "standard input: svmlight, compressed by gzip; 200 rows; 5 features" in notes
    labels = make_runner().invoke(main, ["predict", str(tmp_path / "m.mw"), "-"], input=content).stdout.split()[1:]
    assert set(labels) == {"1", "-1"} and np.mean(np.array(labels, dtype=int) == y) > 0.8


# Runs the command, but waits for a signal before the second checkpoint takes its name, a minute at most. Processes in
# the background inherit that they ignore the signal.
WAITING_COMMAND = """
import runpy, signal, sys, time

names = []

def wait_at_the_second_checkpoint(event, arguments):
    if event == "os.rename" and str(arguments[1]).endswith(".checkpoint"):
        names.append(arguments[1])
        end = time.monotonic() + 60.0
        while len(names) == 2 and time.monotonic() < end:
            time.sleep(0.01)

signal.signal(signal.SIGINT, signal.default_int_handler)
sys.addaudithook(wait_at_the_second_checkpoint)
runpy.run_module("metricwise", run_name="__main__")
"""


def interrupt_at_checkpoint(arguments: list[str], checkpoint: Path) -> tuple[int, str]:
    """Run the command until it has written a checkpoint, then interrupt it; return its exit code and messages."""
    command = [sys.executable, "-c", WAITING_COMMAND, *arguments]
    child = subprocess.Popen(command, cwd=checkpoint.parent, env=ENVIRONMENT, stderr=subprocess.PIPE, text=True)
    while not checkpoint.exists() and child.poll() is None:
        time.sleep(0.01)
    child.send_signal(signal.SIGINT)
    _, errors = child.communicate()
    return child.returncode, errors


def test_interrupted_training_resumes_to_the_same_bits(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(11_000, 5)), 2)
    y = (X[:, 0] + 0.5 * rng.normal(size=11_000) > 1.2).astype(int)
    block = io.StringIO()
    np.savetxt(block, np.column_stack([X, y]), delimiter=",", fmt="%g")
    (tmp_path / "rows.csv").write_text("a,b,c,d,e,y\n" + 20 * block.getvalue())  # two checkpoints
    arguments = ["train", "rows.csv", "--target", "y", "--stream", "--algorithm", "stamp"]
    checkpoint = tmp_path / "model.mw.checkpoint"
    code, errors = interrupt_at_checkpoint([*arguments, "--out", "model.mw"], checkpoint)
    assert code == 1
    assert "Error: stopped; the same command resumes from model.mw.checkpoint" in errors and "Traceback" not in errors
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model.mw.checkpoint", "rows.csv"]
    _, errors = run_process(*arguments, "--out", "model.mw", cwd=tmp_path)
    assert "resuming from model.mw.checkpoint" in errors and not checkpoint.exists()
    monkeypatch.chdir(tmp_path)
    assert make_runner().invoke(main, [*arguments, "--out", "whole.mw"]).exit_code == 0
    resumed, whole = metricwise.load(tmp_path / "model.mw"), metricwise.load(tmp_path / "whole.mw")
    np.testing.assert_array_equal(resumed.coef_, whole.coef_)
    assert resumed.threshold_ == whole.threshold_


def test_errors_are_one_line_and_debug_raises(tmp_path):
    bad = tmp_path / "bad.csv"
    bad.write_text("a,y\n1,0\n2\n")
    arguments = ("train", bad, "--target", "y", "--out", tmp_path / "m.mw")
    failed = make_runner().invoke(main, [*map(str, arguments)])
    assert failed.exit_code == 1 and failed.stdout == ""
    assert failed.stderr == (
        f"Error: {bad}, line 3, column 2: the line has 1 field, not 2: correct it, or name another delimiter\n"
    )
    raised = make_runner().invoke(main, [*map(str, arguments), "--debug"])
    assert raised.exit_code == 1 and isinstance(raised.exception, MalformedLineError)
    assert list(tmp_path.iterdir()) == [bad]
