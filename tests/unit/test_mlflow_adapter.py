"""The adapter to MLflow: by hand, and by MLflow itself where it is installed (``make test-mlflow``)."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression

import metricwise
from metricwise import PlugInClassifier
from metricwise.adapters import _load_pyfunc


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """Return a trained model, the file it is saved to, and samples."""
    X, y = make_classification(300, 5, weights=[0.8], random_state=0)
    X = pd.DataFrame(X, columns=list("abcde"))
    model = PlugInClassifier(LogisticRegression(), "f1").fit(X, y)
    path = tmp_path_factory.mktemp("mlflow") / "model.mw"
    metricwise.save(model, path)
    return model, path, X


def test_a_model_file_predicts_as_a_generic_model(saved):
    model, path, X = saved
    loaded = _load_pyfunc(str(path))
    np.testing.assert_array_equal(loaded.predict(X, params=None), model.predict(X))
    probable = _load_pyfunc(str(path), {"method": "predict_proba"})
    np.testing.assert_array_equal(probable.predict(X), model.predict_proba(X))
    assert loaded.get_raw_model().threshold_ == model.threshold_


def test_a_method_that_the_model_lacks_is_refused(saved):
    with pytest.raises(ValueError, match="a PlugInClassifier has no method 'transform'"):
        _load_pyfunc(str(saved[1]), {"method": "transform"})


@pytest.mark.parametrize("method", ["predict", "predict_proba"])
def test_mlflow_saves_and_loads_it_without_pickle(saved, method, tmp_path):
    pyfunc = pytest.importorskip("mlflow.pyfunc")
    model, path, X = saved
    folder = tmp_path / "folder"
    pyfunc.save_model(
        folder,
        loader_module="metricwise.adapters",
        data_path=path,
        model_config={"method": method},
        pip_requirements=[f"metricwise=={metricwise.__version__}"],
    )
    found = pyfunc.load_model(str(folder))
    np.testing.assert_array_equal(found.predict(X), getattr(model, method)(X))
    assert found.get_raw_model().expected_score_ == model.expected_score_
    assert not [one for one in folder.rglob("*") if one.suffix in {".pkl", ".pickle", ".cloudpickle"}]
    assert f"metricwise=={metricwise.__version__}" in (folder / "requirements.txt").read_text().splitlines()
