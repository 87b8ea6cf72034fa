"""The command on a stream of words, categories and gaps: train, predict, evaluate, report."""

import numpy as np
import pytest

from tests.cli.invocation import run_command as run

COLUMNS = ["--stream", "--target", "y", "--texts", "note", "--categories", "zip", "--hash-features", "256"]


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder, rng = tmp_path_factory.mktemp("hashing"), np.random.default_rng(0)
    for name in ("train", "test"):
        lines = ["age,job,zip,note,y"]
        for _ in range(400):
            y = int(rng.random() < 0.3)
            age = "" if rng.random() < 0.2 else f"{rng.normal(40 + 5 * y, 5):.1f}"
            job = rng.choice(["cook", "clerk", "NA"] if y else ["smith", "clerk", f"{name}er"])
            lines.append(f"{age},{job},0{rng.integers(9)},{'good' if y else 'poor'} {rng.choice(['food', 'wine'])},{y}")
        (folder / f"{name}.csv").write_text("\n".join(lines) + "\n")
    run("train", str(folder / "train.csv"), *COLUMNS, "--out", str(folder / "model.mw"))
    return folder


def test_predictions_and_evaluation_of_raw_tables(trained):
    out = trained / "predictions.csv"
    run("predict", str(trained / "model.mw"), str(trained / "test.csv"), "--out", str(out))
    truth = [line.rpartition(",")[2] for line in (trained / "test.csv").read_text().splitlines()[1:]]
    predicted = [line.split(",")[0] for line in out.read_text().splitlines()[1:]]
    assert np.mean(np.array(truth) == np.array(predicted)) > 0.95
    shown = run("evaluate", str(trained / "model.mw"), str(trained / "test.csv"))
    assert "f1" in shown.stdout
    run("report", str(trained / "model.mw"), str(trained / "test.csv"), "--out", str(trained / "report.html"))


def test_disk_and_training_in_memory_are_refused(trained):
    shown = run("predict", str(trained / "model.mw"), str(trained / "test.csv"), "--disk", code=1)
    assert "leave --disk out" in shown.stderr
    shown = run("train", str(trained / "train.csv"), "--texts", "note", "--out", str(trained / "x.mw"), code=2)
    assert "--texts is for --stream" in shown.stderr
