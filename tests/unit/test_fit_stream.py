"""Models of streams remember the names of the columns and the types of the labels."""

import numpy as np
import pandas as pd
import pytest

import metricwise
from metricwise import MiniBatchSVC, SPADEClassifier, STAMPClassifier

STREAMING = {"stamp": STAMPClassifier("f1"), "spade": SPADEClassifier("gmean"), "batches": MiniBatchSVC("f1")}


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    y = (X[:, 0] - X[:, 2] + 0.3 * rng.normal(size=400) > 0.5).astype(int)
    return pd.DataFrame(X, columns=["age", "height", "weight"]).assign(y=y)


@pytest.mark.parametrize("name", STREAMING)
def test_the_header_of_a_file_names_the_features(name, frame, tmp_path):
    frame.to_csv(tmp_path / "rows.csv", index=False)
    model = STREAMING[name].fit_stream(tmp_path / "rows.csv", target="y", chunk_rows=100, n_passes=2)
    assert model.feature_names_in_.tolist() == ["age", "height", "weight"]
    X = frame.drop(columns="y")
    assert np.mean(model.predict(X) == frame["y"]) > 0.6
    with pytest.raises(ValueError, match=r"same order[\s\S]*'weight' stands where 'age' did"):
        model.predict(X[["weight", "height", "age"]])
    with pytest.raises(ValueError, match="size"):
        model.predict(X.rename(columns={"age": "size"}))
    metricwise.save(model, tmp_path / "model.mw")
    assert metricwise.load(tmp_path / "model.mw").feature_names_in_.tolist() == ["age", "height", "weight"]


def test_names_of_an_earlier_file_are_forgotten(frame, tmp_path):
    frame.to_csv(tmp_path / "named.csv", index=False)
    frame.to_csv(tmp_path / "plain.csv", index=False, header=False)
    model = STAMPClassifier("f1").fit_stream(tmp_path / "named.csv")
    assert not hasattr(model.fit_stream(tmp_path / "plain.csv"), "feature_names_in_")


@pytest.mark.parametrize(
    "labels",
    [(0, 1), (-1, 1), ("no", "yes")],
)
def test_labels_keep_their_type(labels, frame, tmp_path):
    frame["y"] = np.array(labels)[frame["y"]]
    frame.to_csv(tmp_path / "rows.csv", index=False)
    for classes in (None, list(labels)):
        model = STAMPClassifier("f1", pos_label=labels[1]).fit_stream(tmp_path / "rows.csv", classes=classes)
        assert model.classes_.tolist() == list(labels)
        assert [type(label) for label in model.predict(frame.drop(columns="y"))[:50].tolist()] == [type(labels[0])] * 50
    on_disk = metricwise.io.open(tmp_path / "rows.csv", cache=tmp_path / "cache")
    assert [type(label) for label in on_disk.y.tolist()] == [type(labels[0])] * 400
