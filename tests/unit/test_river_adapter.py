"""The adapter to river: its methods without river, and river's own checks where it is installed."""

import numpy as np
import pandas as pd
import pytest
from sklearn.feature_extraction import FeatureHasher
from sklearn.linear_model import LogisticRegression, SGDClassifier

from metricwise import STAMPClassifier
from metricwise.adapters import RiverClassifier

RNG = np.random.default_rng(0)
LABELS = (RNG.random(60) < 0.4).tolist()
SAMPLES = [
    {"size": float(RNG.normal(3.0 * label)), "sender": str(RNG.choice(["bank", "shop"])), "age": None if label else 2}
    for label in LABELS
]


def learn(model, labels=LABELS):
    for x, y in zip(SAMPLES, labels, strict=True):
        model.learn_one(x, y)
    return model


def test_it_equals_partial_fit_on_samples_hashed_by_hand():
    model = learn(RiverClassifier(STAMPClassifier("f1"), n_features=64))
    pairs = [
        [("size", x["size"]), (f"sender={x['sender']}", 1), ("age=", 1) if x["age"] is None else ("age", x["age"])]
        for x in SAMPLES
    ]
    X = FeatureHasher(64, input_type="pair").transform(pairs)
    by_hand = STAMPClassifier("f1").partial_fit(X, LABELS, classes=[False, True])
    assert [model.predict_one(x) for x in SAMPLES] == by_hand.predict(X).tolist()
    assert by_hand.score(X, LABELS) > 0.8


def test_many_rows_equal_one_after_the_other():
    labels = RNG.choice(["a", "b", "c"], 60).tolist()
    one, many = (RiverClassifier(STAMPClassifier("f1"), n_features=64) for _ in range(2))
    frame = pd.DataFrame(SAMPLES)
    many.learn_many(frame, pd.Series(labels))
    learn(one, labels)
    assert many.predict_many(frame).tolist() == [one.predict_one(x) for x in frame.to_dict("records")]


def test_before_learning_nothing_is_predicted():
    model = RiverClassifier(SGDClassifier(loss="log_loss"))
    assert model.predict_one({"a": 1}) is None
    assert model.predict_proba_one({"a": 1}) == {}
    assert model.predict_many(pd.DataFrame({"a": [1]})).empty
    model.learn_one({"a": 1}, "yes")
    assert model.predict_one({"a": 2}) == "yes"
    assert model.predict_proba_one({"a": 2}) == {"yes": 1.0}


def test_a_class_that_appears_later_is_learnt():
    model = RiverClassifier(SGDClassifier(loss="log_loss", random_state=0), n_features=64)
    for label in ("a", "b", "a", "b") + ("a", "b", "c") * 40:
        model.learn_one({"letter": label, "one": 1}, label)
    assert [model.predict_one({"letter": label, "one": 1}) for label in "abc"] == ["a", "b", "c"]
    proba = model.predict_proba_one({"letter": "c", "one": 1})
    assert set(proba) == {"a", "b", "c"} and sum(proba.values()) == pytest.approx(1.0)
    assert max(proba, key=proba.get) == "c"


def test_the_estimator_is_not_changed():
    estimator = STAMPClassifier("f1")
    learn(RiverClassifier(estimator, n_features=64))
    assert not hasattr(estimator, "_model")


def test_errors_say_what_to_do():
    with pytest.raises(TypeError, match="LogisticRegression has no partial_fit"):
        RiverClassifier(LogisticRegression())
    with pytest.raises(ValueError, match="two labels or more"):
        RiverClassifier(STAMPClassifier(), classes=["a"])
    model = RiverClassifier(STAMPClassifier(), classes=["no", "yes"])
    with pytest.raises(ValueError, match=r"'maybe' is not among classes=\['no', 'yes'\]"):
        model.learn_one({"a": 1}, "maybe")
    with pytest.raises(TypeError, match="the feature 'a' is a list"):
        model.learn_one({"a": [1]}, "yes")
    with pytest.raises(NotImplementedError, match="without probabilities: call predict_one"):
        model.predict_proba_one({"a": 1})


@pytest.mark.parametrize(
    "estimator", [STAMPClassifier("f1"), SGDClassifier(loss="log_loss", shuffle=False, random_state=0)], ids=str
)
def test_checks_of_river(estimator):
    checks = pytest.importorskip("river.checks", reason="river is not installed: make test-river")
    model = RiverClassifier(estimator, n_features=256)
    for check in checks.yield_checks(model):
        check(model.clone())
