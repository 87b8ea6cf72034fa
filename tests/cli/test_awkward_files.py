"""Awkward data files: every command exits with a code and one line of error, never with a traceback."""

from __future__ import annotations

import gzip
import io
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from metricwise.io import read_table
from tests.cli.invocation import run_command

ROWS = "a,b,y\n" + "".join(f"{k % 7},{(k * k) % 5},{'yes' if k % 3 else 'no'}\n" for k in range(60))
TRAIN = ["--measure", "f1", "--algorithm", "multivariate-svm", "--pos-label", "yes"]
FILES = {
    "empty.csv": b"",
    "header.csv": b"a,b,y\n",
    "nul.csv": b"\0" * 1000,
    "quote.csv": b'a,b,y\n1,"2,yes\n3,4,no\n',
    "twice.csv": b"a,a,y\n1,2,yes\n3,4,no\n",
    "mark.csv": b"\xef\xbb\xbf",
    "latin.csv": "a,b,naïve,y\n1,2,3,yes\n3,4,5,no\n".encode("latin-1"),
    "returns.csv": b"a,b,y\r1,2,yes\r3,4,no\r",
    "digits.csv": b"a,b,y\n" + b"9" * 20_000 + b"x,2,yes\n" + b"3,4,no\n5,6,yes\n" * 20,
    "cut.csv.gz": gzip.compress(ROWS.encode())[:-20],
    "cut.parquet": b"PAR1 and nothing more",
    "cut.npz": b"PK\x03\x04 and nothing more",
    "cut.npy": b"\x93NUMPY\x01\x00v\x00{'descr': (",
    "cut.arff": b"@relation r\n@attribute a real\n@attribute y {yes,no}\n",
    "cut.svm": b"yes 1:1 2:\nno 1:2\n",
}


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    (folder / "train.csv").write_text(ROWS)
    run_command("train", folder / "train.csv", *TRAIN, "--out", folder / "model.mw")
    return folder / "model.mw"


def expect_one_line(result, path):
    """Nothing but notes and one line of error, which names the file."""
    assert isinstance(result.exception, SystemExit), result.exception
    errors = [line for line in result.stderr.splitlines() if line.startswith("Error")]
    assert len(errors) == 1 and path.name in errors[0], result.stderr
    assert "Traceback" not in result.stderr and "unexpected" not in result.stderr


@pytest.mark.parametrize("name", list(FILES))
def test_commands_report_awkward_files_in_one_line(tmp_path, model, name):
    path = tmp_path / name
    path.write_bytes(FILES[name])
    for arguments in (["predict", model, path], ["evaluate", model, path], ["certify", model, path]):
        expect_one_line(run_command(*arguments, code=1), path)
    out = tmp_path / "new.mw"
    for more in ([], ["--stream"], ["--disk"]):
        algorithm = ["--algorithm", "stamp"] if more == ["--stream"] else ["--algorithm", "multivariate-svm"]
        expect_one_line(run_command("train", path, *TRAIN, *algorithm, *more, "--out", out, code=1), path)
    assert not out.exists()


def test_directories_and_files_that_do_not_exist_are_reported(tmp_path, model):
    for path in (tmp_path, tmp_path / "none.csv", tmp_path / "none.csv" / "below", tmp_path / ("x" * 300)):
        expect_one_line(run_command("predict", model, path, code=1), path)


def test_certify_refuses_labels_that_the_model_does_not_know(tmp_path, model):
    path = tmp_path / "other.csv"
    path.write_text(ROWS.replace("yes", "maybe", 3))
    result = run_command("certify", model, path, code=1)
    assert "has the label 'maybe' (first in row 2), and the model was trained on 'no', 'yes'" in result.stderr
    weighted = tmp_path / "numbers.csv"
    weighted.write_text("a,b,y\n1,2,0\n3,4,1\n")
    assert "has the label 0 (first in row 1)" in run_command("certify", model, weighted, code=1).stderr


def test_predictions_keep_blanks_and_words_for_missing_values(tmp_path):
    """Without quotes, "yes " would be read as "yes", and "NA" as no label at all."""
    frame = pd.read_csv(io.StringIO(ROWS)).assign(key=[f"key {k} " for k in range(60)])
    frame["y"] = np.where(frame["y"] == "yes", "yes ", "NA")
    frame.to_csv(tmp_path / "train.csv", index=False, quoting=2)
    data, out = tmp_path / "train.csv", tmp_path / "predictions.csv"
    columns = ["--target", "y", "--drop", "key"]
    algorithm = ["--measure", "f1", "--algorithm", "multivariate-svm", "--pos-label", "yes "]
    run_command("train", data, *columns, *algorithm, "--out", tmp_path / "model.mw")
    run_command("predict", tmp_path / "model.mw", data, "--keep-columns", "key", "--out", out)
    found = pd.read_csv(out, keep_default_na=False, skipinitialspace=False, quoting=2)
    assert set(found["prediction"]) <= {"yes ", "NA"}
    table = read_table(out, target="prediction")
    assert table.y.tolist() == found["prediction"].tolist()
    assert table.X["key"].tolist() == frame["key"].tolist()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names")
def test_train_and_predict_read_pipes_once(tmp_path, model):
    pipe = tmp_path / "rows.csv"
    os.mkfifo(pipe)
    for arguments in (
        ["train", pipe, *TRAIN, "--out", tmp_path / "new.mw"],
        ["predict", model, pipe, "--keep-columns", "b"],
        ["certify", model, pipe],
    ):
        writer = subprocess.Popen([sys.executable, "-c", f"open({str(pipe)!r}, 'w').write({ROWS!r})"])
        run_command(*arguments)
        assert writer.wait(60) == 0


def test_positions_of_columns_may_be_long(tmp_path, model):
    path = tmp_path / "rows.csv"
    path.write_text(ROWS)
    result = run_command("predict", model, path, "--target", "1" * 5000, code=1)
    assert "no column" in result.stderr
