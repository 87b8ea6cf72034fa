"""Commands with queries: svmlight files with qid, columns of queries, and options that are for classifiers."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from sklearn.datasets import dump_svmlight_file

import metricwise
from metricwise.cli import main

RNG = np.random.default_rng(0)
X = np.round(RNG.normal(size=(200, 4)), 3)
QUERIES = np.repeat(np.arange(1, 21), 10)
GRADES = np.clip(np.round(X @ [1.0, 0.5, 0.0, -1.0] + RNG.normal(size=200)), 0, 3).astype(int)
TRAIN = ["--algorithm", "ranking-svm", "-C", "0.1"]  # for NDCG, the default of rankers


def invoke(*arguments, stdin=None):
    return CliRunner().invoke(main, [str(argument) for argument in arguments], input=stdin)


def expect(*arguments):
    done = invoke(*arguments)
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("queries")
    dump_svmlight_file(X, GRADES, str(folder / "train.svm"), query_id=QUERIES, zero_based=False)
    frame = pd.DataFrame(X, columns=list("abcd")).assign(query=[f"q{number}" for number in QUERIES], grade=GRADES)
    frame.to_csv(folder / "train.csv", index=False)
    frame.assign(grade=(GRADES > 1).astype(int)).to_csv(folder / "binary.csv", index=False, header=False)
    expect("train", folder / "train.svm", *TRAIN, "--out", folder / "svm.mw")
    expect("train", folder / "train.csv", *TRAIN, "--target", "grade", "--groups", "query", "--out", folder / "csv.mw")
    return folder


def test_queries_of_svmlight_files_are_trained_on(folder):
    model = metricwise.load(folder / "svm.mw")
    expected = metricwise.RankingSVC(C=0.1).fit(X, GRADES, groups=QUERIES)
    assert type(model).__name__ == "RankingSVC" and model.n_queries_ == expected.n_queries_ == 20
    np.testing.assert_allclose(model.predict(X), expected.predict(X), atol=1e-9)
    arguments = ["train", "-", "--format", "svmlight", *TRAIN, "--out", folder / "piped.mw"]
    piped = invoke(*arguments, stdin=(folder / "train.svm").read_bytes())
    assert piped.exit_code == 0, piped.output
    assert np.array_equal(metricwise.load(folder / "piped.mw").coef_, model.coef_)


@pytest.mark.parametrize("kind", ["svm", "csv"])
def test_rankers_are_evaluated_by_query(folder, kind):
    data, model = folder / f"train.{kind}", folder / f"{kind}.mw"
    facts = json.loads(expect("evaluate", model, data, "--json"))
    scores = pd.read_csv(pd.io.common.StringIO(expect("predict", model, data)))["score"].to_numpy()
    values = {record["measure"]: record for record in facts["measures"]}
    assert list(values) == ["ndcg", "ndcg@5", "ndcg@10"] and facts["queries"] == 20
    for name, record in values.items():
        assert record["value"] == pytest.approx(metricwise.score_queries(name, GRADES, scores, QUERIES), abs=1e-9)
        assert record["low"] < record["value"] < record["high"]
    assert "means over 20 queries" in expect("evaluate", model, data, "--measure", "ndcg@3")


@pytest.mark.parametrize("kind", ["svm", "csv"])
def test_certificates_of_rankers_are_recomputed(folder, kind):
    facts = json.loads(expect("certify", folder / f"{kind}.mw", folder / f"train.{kind}", "--json"))
    (record,) = facts["certificates"]
    assert record["gap"] == pytest.approx(record["claimed"], rel=1e-6) and record["gap"] <= 1.01e-3


def test_files_without_column_names_have_their_queries_by_position(folder):
    data, model = folder / "binary.csv", folder / "binary.mw"
    columns = ["--target", "6", "--groups", "5", "--no-header"]
    expect("train", data, *TRAIN, "--measure", "average_precision", *columns, "--out", model)
    facts = json.loads(expect("evaluate", model, data, "--no-header", "--json"))
    names = [record["measure"] for record in facts["measures"]]
    assert names == ["average_precision", "ndcg", "ndcg@5", "ndcg@10", "reciprocal_rank"]
    assert len(expect("predict", model, data, "--target", "6", "--no-header").splitlines()) == 201
    assert "0." in expect("certify", model, data, "--no-header")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["train", "train.csv", *TRAIN, "--target", "grade", "--out", "x.mw"],
            "name the column of the queries by --groups",
        ),
        (["train", "train.svm", *TRAIN, "--pos-label", "1", "--out", "x.mw"], "--pos-label is for classifiers"),
        (
            ["train", "train.svm", *TRAIN, "--subject-to", "recall>=0.5", "--out", "x.mw"],
            "--subject-to is for classifiers",
        ),
        (["train", "train.svm", *TRAIN, "--disk", "--out", "x.mw"], "--disk is for"),
        (["train", "train.svm", *TRAIN, "--measure", "f1", "--out", "x.mw"], "RankingSVC takes: average_precision"),
        (
            ["train", "train.svm", *TRAIN, "--measure", "average_precision", "--out", "x.mw"],
            "y has 0, 1, 2, 3: choose 'ndcg'",
        ),
        (["train", "train.svm", *TRAIN, "--groups", "patient", "--out", "x.mw"], "pass groups='qid'"),
        (["evaluate", "svm.mw", "train.svm", "--measure", "average_precision"], "takes the relevances 0 and 1"),
        (["evaluate", "svm.mw", "train.svm", "--pos-label", "1"], "--pos-label is for classifiers"),
        (["evaluate", "svm.mw", "train.svm", "--threshold", "0.5"], "predicts without a threshold"),
        (["evaluate", "svm.mw", "train.svm", "--disk"], "ranks queries in memory"),
        (["predict", "svm.mw", "train.svm", "--probabilities"], "no probabilities"),
        (["report", "svm.mw", "train.svm"], "report describes classifiers"),
        (["compare", "train.svm", "--algorithm", "ranking-svm", "--measure", "ndcg"], "compare is for classifiers"),
    ],
)
def test_what_does_not_fit_rankers_is_refused(folder, monkeypatch, arguments, message):
    monkeypatch.chdir(folder)
    done = invoke(*arguments)
    assert done.exit_code != 0 and message in " ".join(done.output.split())


@pytest.mark.parametrize(
    ("line", "place"), [("1 1:2", "line 2, column 3"), ("1 qid:x 1:2", "line 2, column 3"), ("1 qid:3 1:2", "line 4")]
)
def test_bad_queries_are_located(tmp_path, line, place):
    rows = ["0 qid:3 1:1", line, "1 qid:4 1:1", "1 qid:3 1:3"]
    path = tmp_path / "bad.svm"
    path.write_text("\n".join(rows) + "\n")
    done = invoke("train", path, *TRAIN, "--out", tmp_path / "x.mw")
    assert done.exit_code != 0 and f"bad.svm, {place}" in done.output


def test_classifiers_ignore_queries_as_before(folder):
    done = expect(
        "train",
        folder / "train.svm",
        "--algorithm",
        "multivariate-svm",
        "--measure",
        "accuracy",
        "--out",
        folder / "c.mw",
    )
    assert "multivariate-svm for accuracy: 200 samples" in done
