"""Guarantees of several classes and labels while outcomes arrive, on a report and on the command line."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from scipy.special import log_softmax
from scipy.stats import binom
from sklearn.linear_model import LogisticRegression

import metricwise
from metricwise import GuaranteeMonitor, PlugInClassifier, report
from metricwise.cli import main
from metricwise.decisions.class_outcomes import encode_class_outcomes
from metricwise.decisions.guarantees import Constraint
from metricwise.decisions.monitor import find_constraints
from metricwise.decisions.score_reference import ScoreReference, ScoreWatch
from metricwise.measures import Share
from metricwise.persistence.old import StoredObject, upgrade
from metricwise.persistence.schemas.own import check_decision

NAMES = ["a", "b", "fraud"]
LABELS = ["spam", "urgent"]


def make_classes(n, seed):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 3))
    return X, np.array(NAMES)[np.argmax(2.5 * X + random.gumbel(size=(n, 3)), axis=1)]


def make_labels(n, seed):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 3))
    return X, (X[:, :2] + 0.7 * random.normal(size=(n, 2)) > 0.4).astype(int)


X, Y = make_classes(600, 0)
LABEL_X, LABEL_Y = make_labels(600, 0)
WANTED = ["recall>=0.6 of fraud", "accuracy>=0.4"]


@pytest.fixture(scope="module")
def classes():
    settings = {"subject_to": WANTED, "confidence": 0.9, "cv": 2, "threshold": "max"}
    return PlugInClassifier(LogisticRegression(), "f1_macro", **settings).fit(X, Y)


@pytest.fixture(scope="module")
def labels():
    model = PlugInClassifier(LogisticRegression(), "f1_macro", subject_to=["recall>=0.6", "npv>=0.5 of spam"], cv=2)
    return model.fit(LABEL_X, pd.DataFrame(LABEL_Y, columns=LABELS))


def test_each_class_counts_its_own_outcomes(classes):
    truth, predicted = np.array(["fraud"] * 4 + ["a"] * 3), np.array(["fraud", "a", "fraud", "b", "a", "fraud", "a"])
    recall, accuracy = GuaranteeMonitor(classes).update(truth, predicted).status
    assert (recall.guarantee, recall.n_counted, recall.share) == ("recall >= 0.6 of fraud", 4, 0.5)
    assert (accuracy.guarantee, accuracy.n_counted, accuracy.share) == ("accuracy >= 0.4", 7, 4 / 7)


def test_a_broken_class_raises_an_alarm_and_a_kept_one_does_not(classes):
    fraud = np.full(200, "fraud")
    assert not GuaranteeMonitor(classes).update(fraud, np.where(np.arange(200) % 5, "fraud", "a")).alarm
    assert GuaranteeMonitor(classes).update(fraud, np.where(np.arange(200) % 3, "a", "fraud")).alarm


def test_labels_are_watched_one_by_one(labels):
    truth, predicted = np.tile([[1, 0], [0, 1]], (50, 1)), np.tile([[1, 0], [0, 0]], (50, 1))
    monitor = GuaranteeMonitor(labels)
    status = {one.guarantee: one for one in monitor.update(truth, predicted).status}
    assert [name for name, one in status.items() if one.alarm_at] == ["recall >= 0.6 of urgent"]
    assert status["npv >= 0.5 of spam"].n_counted == 50 and status["recall >= 0.6 of spam"].share == 1.0
    single = GuaranteeMonitor(labels)
    for one, other in zip(truth, predicted, strict=True):
        single.update(one, other)
    assert single.status == monitor.status


@pytest.mark.parametrize("kind", ["classes", "labels"])
def test_changed_scores_of_a_class_are_found_without_labels(kind, request):
    model = request.getfixturevalue(kind)
    new, _ = (make_classes if kind == "classes" else make_labels)(1500, 1)
    scores = model.decision_function(new)
    monitor = GuaranteeMonitor(model).update_scores(scores)
    assert monitor.score_warning is False and monitor.n_scores_seen == 1500
    single = GuaranteeMonitor(model)
    for one in scores[:50]:
        single.update_scores(one)
    assert np.array_equal(single._scores.stakes, GuaranteeMonitor(model).update_scores(scores[:50])._scores.stakes)
    new[:, 1] += 1.5  # of one class or label
    assert monitor.update_scores(model.decision_function(new)).score_warning_at < 1800
    assert not monitor.alarm


def test_score_warnings_of_classes_are_rarely_false():
    """Of references and scores from the same distribution; each run is looked at after every score."""
    random, false = np.random.default_rng(0), 0
    for _ in range(40):
        ordering, testing, new = (log_softmax(2.0 * random.normal(size=(n, 4)), axis=1) for n in (60, 60, 150))
        watch = ScoreWatch.start(ScoreReference.count(ordering, testing), alpha=0.2)
        watch.update(new)
        false += watch.warning_at is not None
    assert false <= binom.ppf(0.99, 40, 0.2)


def test_bad_scores_of_classes_are_named(classes):
    monitor = GuaranteeMonitor(classes)
    for wrong, match in (
        ([0.5, 0.5], r"scores have the shape \(2,\): give 3 for each outcome"),
        ([[0.1, np.nan, 0.2]], "scores are missing for 1 of 1 outcomes"),
        (np.zeros((2, 3)), "there are 2 scores and 1 outcomes"),
    ):
        with pytest.raises(ValueError, match=match):
            monitor.update(["a"], ["a"], wrong)
    assert monitor.n_seen == monitor.n_scores_seen == 0
    reference = classes._decision.reference
    for columns in (None, np.full(reference.cuts.size, 3)):
        with pytest.raises(ValueError, match="a model is damaged"):
            check_decision(classes._task, replace(classes._decision, reference=replace(reference, columns=columns)), 3)


@pytest.mark.parametrize("kind", ["classes", "labels"])
def test_a_stored_watch_continues(kind, request, tmp_path):
    model = request.getfixturevalue(kind)
    samples, truth = (X, Y) if kind == "classes" else (LABEL_X, LABEL_Y)
    outcomes = truth, model.predict(samples), model.decision_function(samples)
    whole = GuaranteeMonitor(model).update(*outcomes)
    half = GuaranteeMonitor(model).update(*(column[:300] for column in outcomes))
    metricwise.save(half, tmp_path / "watch.mw")
    metricwise.save(model, tmp_path / "model.mw")
    resumed = metricwise.load(tmp_path / "watch.mw").update(*(column[300:] for column in outcomes))
    assert resumed.status == whole.status and np.array_equal(resumed._scores.stakes, whole._scores.stakes)
    assert resumed.is_like(GuaranteeMonitor(metricwise.load(tmp_path / "model.mw")))
    assert not resumed.is_like(GuaranteeMonitor("recall>=0.6"))


def test_bad_outcomes_are_named(classes, labels):
    with pytest.raises(ValueError, match="y_pred has the unknown class 'c' at position 1; known: 'a', 'b', 'fraud'"):
        GuaranteeMonitor(classes).update(["a", "b"], ["a", "c"])
    with pytest.raises(ValueError, match="y_true has 2 outcomes and y_pred has 1"):
        GuaranteeMonitor(classes).update(["a", "b"], ["a"])
    with pytest.raises(ValueError, match="y_true has 3 columns, and the model has 2 labels"):
        GuaranteeMonitor(labels).update([[1, 0, 1]], [[1, 0]])
    with pytest.raises(ValueError, match=r"y_pred is no matrix of labels: .* must be 0 or 1"):
        GuaranteeMonitor(labels).update([[1, 0]], [[1, 2]])
    with pytest.raises(ValueError, match=r"'recall >= 0.8 of fraud' is about one of several classes or labels"):
        GuaranteeMonitor("recall>=0.8 of fraud")


def test_outcomes_by_class_are_indicator_columns():
    found = encode_class_outcomes([3, 1], [1, 1], [1, 2, 3], "multiclass")
    assert found.truth.tolist() == [[False, False, True], [True, False, False]]
    assert found.predicted.tolist() == [[True, False, False]] * 2


def test_reports_show_the_guarantee_of_each_class_and_label(classes, labels):
    page = report(classes, X, Y, importance_seconds=0.0).html
    assert "Guarantees on these samples" in page and "recall &gt;= 0.6 of fraud" in page
    page = report(labels, LABEL_X, LABEL_Y, label_names=LABELS, importance_seconds=0.0).html
    assert all(str(one).replace(">", "&gt;") in page for one in find_constraints(labels))


def test_files_of_earlier_versions_are_of_two_classes_and_numbered_labels(classes):
    old = {"alpha": 0.05}
    assert upgrade(StoredObject("metricwise.GuaranteeMonitor", 1, old), 2).values == old | {"_kind": "binary"}
    for name in ("Constraint", "Multilabel", "ScoreReference"):
        assert upgrade(StoredObject(f"metricwise.{name}", 1, {}), 2).values == {}
    constraint = Constraint(Share("recall"), True, 0.5)
    assert constraint.of_class is None


def test_names_that_do_not_fit_the_labels_are_refused(labels):
    check_decision(labels._task, labels._decision, 2)
    for names in (("spam",), ("spam", ["urgent"])):
        with pytest.raises(ValueError, match="a model is damaged"):
            check_decision(replace(labels._task, label_names=names), labels._decision, 2)


def run(*arguments):
    result = CliRunner().invoke(main, [str(one) for one in arguments])
    return result.exit_code, result.stdout if result.exit_code == 0 else result.output


def test_the_command_trains_evaluates_and_watches_targets_and_classes(tmp_path):
    frame = pd.DataFrame(LABEL_X, columns=["u", "v", "w"]).assign(**dict(zip(LABELS, LABEL_Y.T, strict=True)))
    frame.to_csv(tmp_path / "labels.csv", index=False)
    given = [tmp_path / "labels.csv", "--target", "spam", "--target", "urgent", "--measure", "f1_macro"]
    plug_in = ["--algorithm", "plug-in", "--learner", "logistic"]
    code, output = run(
        "train", *given, *plug_in, "--subject-to", "recall>=0.6 of urgent", "--out", tmp_path / "labels.mw"
    )
    assert code == 0, output
    code, output = run("evaluate", tmp_path / "labels.mw", tmp_path / "labels.csv", "--json")
    (record,) = json.loads(output)["guarantees"]
    assert (
        record["guarantee"] == "recall >= 0.6 of urgent" and record["kept"] and record["counted"] == LABEL_Y[:, 1].sum()
    )
    code, output = run("watch", tmp_path / "labels.mw", tmp_path / "labels.csv")
    assert code == 0 and "recall >= 0.6 of urgent" in output
    given += ["--algorithm", "binary-relevance", "--out", tmp_path / "x.mw"]
    code, output = run("train", *given, "--subject-to", "recall>=0.6")
    assert code == 2 and "--subject-to with several --target columns is for" in output
    pd.DataFrame(X, columns=["u", "v", "w"]).assign(kind=Y).to_csv(tmp_path / "classes.csv", index=False)
    given = [tmp_path / "classes.csv", "--target", "kind", "--measure", "f1_macro", *plug_in]
    code, output = run("train", *given, "--subject-to", "recall>=60% of fraud", "--out", tmp_path / "c.mw")
    assert code == 0, output
    code, output = run("evaluate", tmp_path / "c.mw", tmp_path / "classes.csv")
    assert "recall >= 0.6 of fraud" in output and "kept here" in output
    code, output = run("watch", tmp_path / "c.mw", tmp_path / "classes.csv")
    assert code == 0 and "recall >= 0.6 of fraud" in output
