"""Models that send samples to review, from the command line and in the report."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import metricwise
from metricwise.measures import FBeta, RocAuc
from metricwise.reporting.reviews import describe_reviews, review_section, set_reviews_aside
from tests.cli.invocation import run_command

GUARANTEES = ("--subject-to", "precision>=0.85", "--subject-to", "npv>=0.9")


def _draw() -> tuple[pd.DataFrame, np.ndarray]:
    random = np.random.default_rng(0)
    positive = random.random(2400) < 0.35
    frame = pd.DataFrame(random.normal(size=(2400, 2)) + 1.5 * positive[:, None], columns=["a", "b"]).round(3)
    return frame, np.where(positive, "bad", "good")


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with samples, and two models that send some of them to review."""
    folder = tmp_path_factory.mktemp("triage")
    frame, labels = _draw()
    frame["y"] = labels
    frame[:1400].to_csv(folder / "train.csv", index=False)
    frame[1400:].to_csv(folder / "test.csv", index=False)
    common = ("train", folder / "train.csv", "--target", "y", "--pos-label", "bad")
    share = run_command(*common, "--algorithm", "plug-in", "--review-share", 0.2, "--out", folder / "share.mw")
    assert "sent to review, labelled 'review': 20 % of new samples" in share.stdout
    abstain = run_command(
        *common, "--algorithm", "cost-sensitive", "--abstain", *GUARANTEES, "--out", folder / "sure.mw", "--json"
    )
    found = json.loads(abstain.stdout)["review"]
    assert found["guarantees"] == ["precision >= 0.85", "npv >= 0.9"] and found["low"] < found["share"] < found["high"]
    return folder


def test_models_wrap_the_algorithm_that_is_named(files: Path) -> None:
    share, sure = (metricwise.load(files / f"{name}.mw") for name in ("share", "sure"))
    assert isinstance(share.estimator, metricwise.PlugInClassifier) and share.capacity == 0.2
    assert isinstance(sure, metricwise.TriageClassifier) and sure.thresholds_[0] < sure.thresholds_[1]


def test_predictions_have_the_label_of_reviews(files: Path, tmp_path: Path) -> None:
    run_command("predict", files / "share.mw", files / "test.csv", "--out", tmp_path / "labels.csv")
    found = pd.read_csv(tmp_path / "labels.csv")["prediction"]
    assert set(found) == {"bad", "good", "review"} and 0.15 < np.mean(found == "review") < 0.25


def test_measures_are_those_of_the_samples_that_are_decided(files: Path) -> None:
    model, test = metricwise.load(files / "share.mw"), pd.read_csv(files / "test.csv")
    labels = model.predict(test[["a", "b"]])
    kept = labels != "review"
    found = json.loads(run_command("evaluate", files / "share.mw", files / "test.csv", "--json").stdout)
    assert found["review"] == {"rows": int(np.sum(~kept)), "share": np.mean(~kept)}
    expected = f1_score(test["y"][kept], labels[kept], pos_label="bad")
    assert found["measures"][0]["value"] == pytest.approx(expected)
    assert sum(found["counts"].values()) == kept.sum()
    text = run_command("evaluate", files / "share.mw", files / "test.csv", "--measure", "f1").stdout
    first = text.splitlines()[0]
    assert first.startswith(f"{np.sum(~kept)} of 1,000 samples") and f"F1 is {expected:.3f} of the others" in first


def test_the_watch_takes_predictions_of_a_column(files: Path, tmp_path: Path) -> None:
    model, test = metricwise.load(files / "sure.mw"), pd.read_csv(files / "test.csv")
    test["p"] = model.predict(test[["a", "b"]])
    test.to_csv(tmp_path / "outcomes.csv", index=False)
    runs = [
        json.loads(run_command("watch", files / "sure.mw", tmp_path / "outcomes.csv", "--json", *more).stdout)
        for more in ((), ("--prediction", "p"))
    ]
    assert runs[0]["guarantees"] == runs[1]["guarantees"]
    assert runs[0]["outcomes"] == np.sum(test["p"] != "review")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--abstain",), "--abstain is for guarantees"),
        (("--review-share", "0.1", *GUARANTEES), "leave --review-share out"),
        (("--review-share", "0.1", "--stream", "--algorithm", "stamp"), "leave --stream and --disk out"),
        (("--review-share", "0.1", "--algorithm", "ranking-svm"), "reviews are for classifiers"),
        (("--review-share", "0.1", "--target", "a"), "one --target of two classes"),
        (("--review-share", "0.1", "--algorithm", "amp", "--checkpoint", "c"), "one fit per fold"),
    ],
)
def test_options_that_contradict_each_other_are_refused(files: Path, options: tuple[str, ...], message: str) -> None:
    out = ("--out", files / "none.mw")
    result = run_command("train", files / "train.csv", "--target", "y", *options, *out, code=2)
    assert message in " ".join(result.stderr.split())


def test_commands_that_do_not_fit_are_refused(files: Path) -> None:
    result = run_command("predict", files / "share.mw", files / "test.csv", "--threshold", 0.3, code=1)
    assert "two thresholds" in result.stderr
    data = ("compare", files / "train.csv", "--target", "y", "--pos-label", "bad")
    assert "leaves some open" in run_command(*data, "--algorithm", "triage", code=2).stderr


# -------------------------------------------------------------------------------------------------------------- report


def test_the_page_shows_who_is_sent_to_review(files: Path) -> None:
    model, test = metricwise.load(files / "share.mw"), pd.read_csv(files / "test.csv")
    X, y = test[["a", "b"]], test["y"].to_numpy()
    page = metricwise.report(model, X, y)
    assert page.value == pytest.approx(model.score(X, y))
    assert "Samples sent to review" in page.html and "What reviews buy" in page.html
    alone = metricwise.PlugInClassifier(LogisticRegression(), pos_label="bad").fit(X, y)
    assert "Samples sent to review" not in metricwise.report(alone, X, y, importance_seconds=0.1).html
    with pytest.raises(ValueError, match="sends samples to review"):
        metricwise.report(alone, X, y, compare={"other": model})


def test_shares_of_reviews_follow_from_the_samples() -> None:
    X, labels = _draw()
    triage = metricwise.TriageClassifier(LogisticRegression(), capacity=0.2, pos_label="bad")
    model = make_pipeline(StandardScaler(), triage).fit(X[:1400], labels[:1400])
    found = set_reviews_aside(model, X, labels, np.ones(2400), np.arange(2400))
    reviews, decided = found.reviews, np.flatnonzero(model.predict(X) != "review")
    assert reviews is not None and np.array_equal(found.groups, decided) and len(found.X) == decided.size
    # The window of the model is one of those that are shown, and a window without samples decides all of them.
    tables = reviews.tables_at(np.array([reviews.share, 0.0]))
    table = model[-1]._decision.window.table(reviews.truth, reviews.scores, reviews.weights)
    assert [float(cell[0]) for cell in tables] == pytest.approx(list(table), abs=1e-6)
    assert sum(float(cell[1]) for cell in tables) == pytest.approx(2400)
    assert reviews.value(FBeta()) == pytest.approx(float(FBeta().value(*table)))
    assert reviews.value(RocAuc()) is None and "others" not in describe_reviews(reviews, RocAuc())
    assert review_section(None, FBeta()) is None


def test_samples_that_are_all_sent_to_review_cannot_be_evaluated() -> None:
    X, labels = _draw()
    model = metricwise.TriageClassifier(LogisticRegression(), capacity=0.2, pos_label="bad").fit(X, labels)
    chosen = model.needs_review(X)
    with pytest.raises(ValueError, match="sends all"):
        metricwise.report(model, X[chosen], labels[chosen])
