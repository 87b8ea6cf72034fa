"""The model card: what its author writes, and what follows from the model and the samples."""

from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_classification, make_multilabel_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, precision_score, recall_score
from sklearn.svm import LinearSVC

from metricwise import BinaryRelevance, MultivariateSVC, PlugInClassifier, TriageClassifier, adapt_prior, report
from tests.cli.invocation import run_command

X, Y = make_classification(900, 6, n_informative=4, weights=[0.8], class_sep=1.5, random_state=0)
MODEL = PlugInClassifier(LogisticRegression(), "f1").fit(X[:500], Y[:500])
NEW, TRUTH = X[500:], Y[500:]


def make_card(model, X=NEW, y=TRUTH, **settings):
    """Return the card of a report, as JSON gives it back, and the text of its section."""
    page = report(model, X, y, importance_seconds=0.01, **settings)
    section = page.html[page.html.index('<section id="card"') :]
    text = " ".join(re.sub(r"<[^>]+>", " ", section[: section.index("</section>")]).split())
    return json.loads(json.dumps(page.card, allow_nan=False)), text


def has_limit(card, start):
    return any(one.startswith(start) for one in card["limits"])


def test_the_card_has_the_fields_and_numbers_of_the_model():
    given = {"intended_use": "Order <calls>", "data_origin": "Customers of 2025", "limits": "Not for minors"}
    card, text = make_card(MODEL, samples="test samples", card=given)
    labels = MODEL.predict(NEW)
    expected = {"F1": f1_score, "precision": precision_score, "recall": recall_score}
    assert {one["measure"]: one["value"] for one in card["measures"]} == pytest.approx(
        {name: score(TRUTH, labels) for name, score in expected.items()}
    )
    assert all(one["low"] < one["value"] < one["high"] and one["confidence"] == 0.9 for one in card["measures"])
    assert card["intended_use"] == "Order <calls>" and card["limits"][0] == "Not for minors"
    assert card["data"]["origin"] == "Customers of 2025" and card["data"]["evaluated_on"] == "test samples"
    assert card["data"]["n_by_class"] == {"0": int(np.sum(TRUTH == 0)), "1": int(np.sum(TRUTH))}
    assert (card["data"]["n_samples"], card["data"]["n_features"], card["data"]["positive_class"]) == (400, 6, "1")
    assert card["model"]["steps"] == ["PlugInClassifier", "LogisticRegression"]
    assert card["model"]["expected_on_new_samples"]["value"] == MODEL.expected_score_
    assert all(
        one in text for one in ("Order &lt;calls&gt;", "Customers of 2025", "Not for minors", *card["limits"][1:])
    )


def test_what_nobody_states_is_shown_as_not_stated():
    card, text = make_card(MODEL)
    assert card["intended_use"] is None and text.count("not stated") == 2
    assert has_limit(card, "No precision, recall or other share is guaranteed")
    assert has_limit(card, "No groups of samples were compared") and not has_limit(card, "Only")


def test_few_positives_and_scores_that_are_no_probabilities_are_limits():
    few = np.sort(np.concatenate([np.flatnonzero(TRUTH == 1)[:20], np.flatnonzero(TRUTH == 0)]))
    card, _ = make_card(LinearSVC().fit(X[:500], Y[:500]), NEW[few], TRUTH[few])
    assert has_limit(card, f"Only 20 of {few.size} samples have the class “1”")
    assert has_limit(card, "Its scores are no probabilities")
    assert has_limit(card, "The model does not declare that it was trained for F1")


def test_guarantees_and_groups_are_named():
    frame = pd.DataFrame(X, columns=list("abcdef")).assign(region=np.where(np.arange(900) % 2, "east", "west"))
    learner = PlugInClassifier(MODEL.estimator, "f1", subject_to="recall>=0.5").fit(X[:500], Y[:500])
    card, text = make_card(learner, by={"region": frame["region"][500:]})
    (one,) = card["guarantees"]
    assert one["guarantee"] == "recall >= 0.5" and one["kept"] == (one["share"] >= 0.5)
    assert has_limit(card, "Its guarantees hold with confidence 95 %") and has_limit(card, "Only groups of region")
    assert "recall >= 0.5" in text.replace("&gt;", ">")
    loose = PlugInClassifier(MODEL.estimator, "f1", subject_to="recall>=0.5", confidence=None).fit(X[:500], Y[:500])
    assert has_limit(make_card(loose)[0], "Its constraints held on out-of-fold samples and are not guaranteed")


def test_an_adapted_prior_is_a_limit():
    card, _ = make_card(adapt_prior(MODEL, prior=0.4))
    assert has_limit(card, "It was adapted to the prior")


@pytest.mark.filterwarnings("ignore::metricwise.DegenerateOptimumWarning")
def test_a_degenerate_training_is_a_limit():
    random = np.random.default_rng(0)
    features, labels = random.normal(size=(300, 3)), np.arange(300) % 20 == 0
    card, _ = make_card(MultivariateSVC("f1").fit(features, labels), features, labels)
    assert has_limit(card, "The surrogate of the F1 is degenerate on these data")


def test_reviewed_samples_are_a_limit():
    model = TriageClassifier(LogisticRegression(), "f1", capacity=0.2).fit(X[:500], Y[:500])
    card, _ = make_card(model)
    assert has_limit(card, "It sends ") and card["data"]["n_samples"] < 400


def test_several_labels_and_weights():
    features, labels = make_multilabel_classification(300, 5, n_classes=3, random_state=0)
    model = BinaryRelevance().fit(features, labels)
    card, text = make_card(model, features, labels, label_names=["a", "b", "c"], sample_weight=np.full(300, 2.0))
    assert card["data"]["n_by_class"] == dict(zip("abc", labels.sum(axis=0).tolist(), strict=True))
    assert [one["measure"] for one in card["measures"]] == [card["model"]["measure"]]
    assert card["data"]["is_weighted"] and "values count weights" in text and "positive_class" not in card["data"]


@pytest.mark.parametrize(
    ("card", "error", "words"),
    [
        ({"purpose": "calls"}, ValueError, "card has the field 'purpose': give some of intended_use, data_origin"),
        ({"intended_use": 3}, TypeError, "the field 'intended_use' of card must be text, got 3"),
        ({"limits": ["", "x"]}, TypeError, "the field 'limits' of card must be text"),
    ],
)
def test_fields_of_other_names_or_kinds_are_refused(card, error, words):
    with pytest.raises(error, match=re.escape(words)):
        report(MODEL, NEW, TRUTH, card=card)


def test_the_command_writes_the_card_as_json(tmp_path):
    frame = pd.DataFrame(X, columns=list("abcdef")).assign(y=Y)
    frame.to_csv(tmp_path / "data.csv", index=False)
    paths = {"model": tmp_path / "m.mw", "data": tmp_path / "data.csv"}
    run_command("train", paths["data"], "--target", "y", "--algorithm", "plug-in", "--out", paths["model"], "-q")
    given = ("--intended-use", "Order calls", "--limit", "Not for minors", "--limit", "Not for firms")
    result = run_command("report", paths["model"], paths["data"], "--out", tmp_path / "page.html", "--json", *given)
    card = json.loads(result.stdout)["card"]
    assert card["intended_use"] == "Order calls" and card["limits"][:2] == ["Not for minors", "Not for firms"]
    assert card["data"]["origin"] is None and card["data"]["n_features"] == 6
    assert "Not for firms" in (tmp_path / "page.html").read_text(encoding="utf-8")
