"""Checkpoints of batch training: a first pass longer than their interval, and errors that they must not hide."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

from metricwise import AUCSVC, AMPClassifier, MultivariateSVC
from metricwise.estimators.svm import training_file

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 4))
Y = (X[:, 0] + 0.3 * RNG.normal(size=200) > 0.5).astype(int)
MODELS = {
    "cutting planes": MultivariateSVC("f1", threshold=0.0),
    "levels": AMPClassifier("f1", threshold=0.0),
    "newton": AUCSVC(norm=2, threshold=0.0),
}
each_model = pytest.mark.parametrize("name", MODELS)


class TrainingError(Exception):
    pass


def make_model(name, **settings):
    return type(MODELS[name])(**MODELS[name].get_params(deep=False) | settings)


def fail(_):
    raise TrainingError("the reason")


@each_model
def test_training_resumes_where_the_first_pass_exceeds_the_interval(tmp_path, monkeypatch, name):
    monkeypatch.setattr(training_file, "_SECONDS_BETWEEN_SAVES", -1.0)  # every pass is longer
    path = tmp_path / "run"
    with pytest.raises(TrainingError, match="the reason"):
        make_model(name, checkpoint=path, callback=fail).fit(X, Y)
    assert path.exists()
    resumed = make_model(name, checkpoint=path).fit(X, Y)
    expected = make_model(name).fit(X, Y).result_.certificate
    assert resumed.result_.certificate.upper == pytest.approx(expected.upper, rel=3e-3)
    assert not path.exists()


@each_model
def test_checkpoints_that_cannot_be_written_do_not_hide_the_error(tmp_path, name):
    folder = tmp_path / "folder"
    folder.mkdir()

    def fail_without_folder(entry):
        shutil.rmtree(folder)
        fail(entry)

    with pytest.raises(TrainingError, match="the reason") as caught:
        make_model(name, checkpoint=folder / "run", callback=fail_without_folder).fit(X, Y)
    assert "could not be written either" in caught.value.__notes__[0]
