"""TabICL and TabPFN as candidates by name: what is missing is named, and nothing is downloaded."""

import sys
from importlib.machinery import ModuleSpec
from types import ModuleType, SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_classification
from sklearn.neighbors import KNeighborsClassifier

import metricwise as mw
from metricwise.estimators.selection.candidates.candidate import Problem
from metricwise.estimators.selection.candidates.portfolio import AUTO, make_portfolio
from metricwise.estimators.selection.candidates.pretrained import LIMITS
from metricwise.estimators.selection.columns import Columns
from metricwise.estimators.selection.pretrained import PretrainedClassifier
from metricwise.estimators.selection.profile import Profile
from metricwise.measures import FBeta

X, Y = make_classification(200, 4, random_state=0)
CLASSIFIERS = {"tabicl": "TabICLClassifier", "tabpfn": "TabPFNClassifier"}
by_package = pytest.mark.parametrize("package", CLASSIFIERS)


class Neighbours(ClassifierMixin, BaseEstimator):
    """Stands for a transformer: reads the training samples, and records how it was made."""

    made: ClassVar[list[dict]] = []
    checkpoint_version = "weights.ckpt"

    def __init__(self, **settings):
        self.made.append(settings)

    def fit(self, X, y):
        if len(y) > 190:
            raise RuntimeError("not so many samples on a processor")
        self.model_ = KNeighborsClassifier(5).fit(X, y)
        return self

    def predict_proba(self, X):
        return self.model_.predict_proba(X)


@pytest.fixture
def stand_ins(monkeypatch, tmp_path):
    """Modules that look like the packages, with their weights in a temporary folder once these are written."""

    def add(name, **content):
        module = ModuleType(name)
        module.__spec__ = ModuleSpec(name, None)
        vars(module).update(content)
        monkeypatch.setitem(sys.modules, name, module)

    weights = tmp_path / "tabpfn-v9-classifier.ckpt"
    add("huggingface_hub", try_to_load_from_cache=lambda *names: str(weights) if weights.exists() else None)
    add("tabicl", TabICLClassifier=Neighbours)
    add("tabpfn", TabPFNClassifier=Neighbours, model_loading=SimpleNamespace(get_cache_dir=lambda: tmp_path))
    monkeypatch.setattr(Neighbours, "made", [])
    return weights


def make(package, n_samples=200, n_features=4, n_outputs=1):
    problem = Problem(Profile(n_samples, n_features, False, Columns(), False), FBeta(), n_outputs)
    return make_portfolio([package], problem).candidates


def test_automatic_candidates_have_no_pretrained_ones():
    assert not set(CLASSIFIERS) & set(AUTO)


@by_package
def test_an_absent_package_is_named(package, monkeypatch):
    monkeypatch.setattr("metricwise.estimators.selection.packages.find_spec", lambda name: None)
    with pytest.raises(ImportError, match=f"candidate '{package}' is not installed: pip install {package}"):
        make(package)


@by_package
def test_absent_weights_are_named(package, stand_ins):
    with pytest.raises(FileNotFoundError, match=rf"needs its weights.*candidates=.*{CLASSIFIERS[package]}"):
        make(package)


@by_package
@pytest.mark.parametrize("kind", ["n_samples", "n_features", "n_outputs"])
def test_limits_are_named(package, kind, stand_ins):
    stand_ins.touch()
    most = dict(zip(("n_samples", "n_features", "n_outputs"), LIMITS[package], strict=True))
    assert len(make(package, **most)) == 1
    with pytest.raises(ValueError, match=f"'{package}' is for up to {most[kind]:,} .* there are {most[kind] + 1:,}"):
        make(package, **{kind: most[kind] + 1})


@by_package
def test_weights_on_disk_are_used_without_a_download(package, stand_ins, tmp_path):
    stand_ins.touch()
    y = np.array(["no", "yes"])[Y]
    model = mw.MetricClassifier("f1", candidates=[package], cv=2, pos_label="yes").fit(X[:180], y[:180])
    assert model.score(X[:180], y[:180]) > 0.8
    made = [settings for settings in Neighbours.made if settings]
    assert all(settings["model_path"] == str(stand_ins) for settings in made)
    assert package == "tabpfn" or not any(settings["allow_auto_download"] for settings in made)
    with pytest.raises(mw.ModelFileError, match="PretrainedClassifier"):
        mw.save(model, tmp_path / "model.mw")


def test_sample_weights_are_refused(stand_ins):
    with pytest.raises(ValueError, match="tabicl takes no sample weights"):
        PretrainedClassifier("tabicl", "weights").fit(X, Y, sample_weight=np.ones(200))


def test_errors_of_the_machine_become_value_errors(stand_ins):
    with pytest.raises(ValueError, match="tabpfn failed: not so many samples"):
        PretrainedClassifier("tabpfn", "weights").fit(X, Y)
