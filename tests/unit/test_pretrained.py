"""TabICL and TabPFN as candidates by name: what is missing is named, and nothing is downloaded."""

import pickle
import socket
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
from metricwise.estimators.selection.columns import Columns
from metricwise.estimators.selection.pretrained import PretrainedClassifier, find_weights, read_limits
from metricwise.estimators.selection.profile import Profile
from metricwise.measures import FBeta
from tests.unit.pretrained_weights import use_folder, write_weights

X, Y = make_classification(200, 4, random_state=0)
CLASSIFIERS = {"tabicl": "TabICLClassifier", "tabpfn": "TabPFNClassifier"}
by_package = pytest.mark.parametrize("package", CLASSIFIERS)


class Neighbours(ClassifierMixin, BaseEstimator):
    """Stands for a transformer: reads the training samples, and records how it was made."""

    made: ClassVar[list[dict]] = []
    checkpoint_version = "weights.ckpt"
    devices_ = (SimpleNamespace(type="cpu"),)

    def __init__(self, **settings):
        self.made.append(settings)

    def fit(self, X, y):
        if len(y) > 190:
            raise RuntimeError("not so many samples on a processor")
        self.model_ = KNeighborsClassifier(5).fit(X, y)
        return self

    def predict_proba(self, X):
        return self.model_.predict_proba(X)

    def get_inference_config(self):
        limits = {"MAX_NUMBER_OF_SAMPLES": 900, "MAX_NUMBER_OF_FEATURES": 90, "MAX_NUMBER_OF_CLASSES": 9}
        return SimpleNamespace(**limits, MAX_CPU_SAMPLES=500)


@pytest.fixture
def stand_ins(monkeypatch, tmp_path):
    """Modules that look like the packages, with their weights in a temporary folder once these are written."""

    def add(name, **content):
        module = ModuleType(name)
        module.__spec__ = ModuleSpec(name, None)
        vars(module).update(content)
        monkeypatch.setitem(sys.modules, name, module)

    weights = tmp_path / "tabpfn-v9.safetensors"
    loading = SimpleNamespace(
        resolve_model_version=lambda path: SimpleNamespace(value="v9"),
        resolve_model_path=lambda path, kind, version: ([weights], [tmp_path], [weights.name], kind),
    )
    settings = SimpleNamespace(settings=SimpleNamespace(tabpfn=SimpleNamespace(allow_cpu_large_dataset=True)))
    add("huggingface_hub", try_to_load_from_cache=lambda *names: str(weights) if weights.exists() else None)
    add("tabicl", TabICLClassifier=Neighbours)
    add("tabpfn", TabPFNClassifier=Neighbours, model_loading=loading, settings=settings)
    monkeypatch.setattr("metricwise.estimators.selection.pretrained.version", lambda package: "9.0.0")
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
def test_an_old_package_is_named(package, stand_ins, monkeypatch):
    monkeypatch.setattr("metricwise.estimators.selection.pretrained.version", lambda package: "1.10rc1")
    with pytest.raises(ImportError, match=f"'{package}' is too old: pip install --upgrade {package}"):
        make(package)


@by_package
@pytest.mark.parametrize("kind", ["n_samples", "n_features", "n_outputs"])
def test_limits_are_named(package, kind, stand_ins):
    stand_ins.touch()
    limits = read_limits(package, str(stand_ins))
    most = dict(zip(("n_samples", "n_features", "n_outputs"), limits[:3], strict=True))
    assert len(make(package, **most)) == 1
    with pytest.raises(ValueError, match=f"'{package}' is for up to {most[kind]:,} .* there are {most[kind] + 1:,}"):
        make(package, **{kind: most[kind] + 1})


def test_the_limit_without_a_gpu_is_named(stand_ins):
    stand_ins.touch()
    sys.modules["tabpfn"].settings.settings.tabpfn.allow_cpu_large_dataset = False
    assert len(make("tabpfn", n_samples=500)) == 1
    with pytest.raises(ValueError, match=r"500 samples without a GPU.*TABPFN_ALLOW_CPU_LARGE_DATASET=1"):
        make("tabpfn", n_samples=501)


def test_unreadable_weights_are_named(stand_ins, monkeypatch):
    def fail(self):
        raise KeyError("state_dict")

    stand_ins.touch()
    monkeypatch.setattr(Neighbours, "get_inference_config", fail)
    with pytest.raises(ValueError, match=f"cannot read its weights {stand_ins} .*KeyError.*download them again"):
        make("tabpfn")


@by_package
def test_weights_on_disk_are_used_without_a_download(package, stand_ins, tmp_path):
    stand_ins.touch()
    y = np.array(["no", "yes"])[Y]
    model = mw.MetricClassifier("f1", candidates=[package], cv=2, pos_label="yes").fit(X[:180], y[:180])
    assert model.score(X[:180], y[:180]) > 0.8
    made = [settings for settings in Neighbours.made if settings]
    assert all(settings["model_path"] == str(stand_ins) for settings in made)
    assert package == "tabpfn" or not any(settings["allow_auto_download"] for settings in made)
    with pytest.raises(mw.ModelFileError, match=f"candidate '{package}', whose network model files do not hold"):
        mw.save(model, tmp_path / "model.mw")


def test_sample_weights_are_refused(stand_ins):
    with pytest.raises(ValueError, match="tabicl takes no sample weights"):
        PretrainedClassifier("tabicl", "weights").fit(X, Y, sample_weight=np.ones(200))


def test_errors_of_the_machine_become_value_errors(stand_ins):
    stand_ins.touch()
    with pytest.raises(ValueError, match="tabpfn failed: not so many samples"):
        PretrainedClassifier("tabpfn", str(stand_ins)).fit(X, Y)


@pytest.fixture
def attempts(monkeypatch):
    """Record attempts to reach a network, all of which fail."""
    found = []

    def refuse(*arguments, **settings):
        found.append(arguments)
        raise OSError("no network")

    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(socket.socket, "connect", refuse)
    return found


@pytest.fixture(params=list(CLASSIFIERS))
def package(request):
    return request.param


@pytest.fixture
def expected_file(package, tmp_path, monkeypatch):
    """Return where the installed package expects its weights."""
    return use_folder(package, tmp_path, monkeypatch)


@pytest.fixture
def weights(package, expected_file, attempts):
    """Weights of the installed package, which must not use a network."""
    write_weights(package, expected_file)
    yield str(expected_file)
    assert not attempts


def select(*candidates, **settings):
    return mw.MetricClassifier("f1", candidates=list(candidates), cv=2, random_state=0, **settings)


def list_candidates(model):
    return model.leaderboard_.to_dict("records")  # a data frame, as pandas comes with these packages


def test_installed_packages_name_absent_weights(package, expected_file, attempts):
    with pytest.raises(FileNotFoundError, match=f"needs its weights {expected_file.name}"):
        select(package).fit(X[:120], Y[:120])
    with pytest.raises(FileNotFoundError, match=f"no longer at {expected_file}"):
        PretrainedClassifier(package, str(expected_file)).fit(X, Y)
    assert not attempts


def test_installed_packages_predict_by_weights_on_disk(package, weights):
    assert find_weights(package) == weights
    y = np.array(["no", "perhaps", "yes"])[np.arange(120) % 3]
    model = PretrainedClassifier(package, weights).fit(X[:120], y)
    probabilities = model.predict_proba(X[120:140])
    assert probabilities.shape == (20, 3)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, rtol=1e-5)
    assert np.ptp(probabilities, axis=0).max() > 0
    assert set(model.predict(X[120:140])) <= set(y)


def test_installed_packages_are_candidates(package, weights):
    model = select(package, "logistic").fit(X[:120], Y[:120])
    (row,) = [row for row in list_candidates(model) if row["candidate"] == package]
    assert row["n_samples"] == 120
    assert 0 < row["value"] < 1
    assert f"- {package}: " in str(model.explain())
    assert set(model.predict(X[120:])) <= {0, 1}


def test_installed_packages_read_data_frames(package, weights, tmp_path):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X[:120], columns=list("abcd"))
    frame.loc[3, "a"] = np.nan
    frame["colour"] = pd.Categorical(np.array(["red", "green", "blue"])[np.arange(120) % 3])
    model = select(package, n_jobs=1).fit(frame, Y[:120])
    probabilities = model.predict_proba(frame)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict_proba(frame), probabilities)
    np.testing.assert_array_equal(select(package).fit(frame, Y[:120]).predict_proba(frame), probabilities)
    with pytest.raises(mw.ModelFileError, match=f"candidate '{package}', whose network model files do not hold"):
        mw.save(model, tmp_path / "model.mw")


def test_installed_packages_are_dropped_if_samples_have_weights(package, weights):
    with pytest.warns(UserWarning, match=f"{package} takes no sample weights"):
        model = select(package, "logistic").fit(X[:120], Y[:120], sample_weight=np.ones(120))
    assert {row["candidate"] for row in list_candidates(model) if row["weight"]} == {"logistic regression"}


def test_installed_packages_have_limits(package, weights):
    limits = read_limits(package, weights)
    assert limits.n_classes == {"tabicl": 1000, "tabpfn": 10}[package]
    with pytest.raises(ValueError, match=f"up to {limits.n_classes:,} classes"):
        make(package, n_outputs=limits.n_classes + 1)
    if limits.n_samples_without_gpu is not None:
        with pytest.raises(ValueError, match="without a GPU"):
            make(package, n_samples=limits.n_samples_without_gpu + 1)


def test_tabicl_predicts_more_classes_than_its_network_has(tmp_path, monkeypatch):
    file = use_folder("tabicl", tmp_path, monkeypatch)
    write_weights("tabicl", file)
    model = PretrainedClassifier("tabicl", str(file)).fit(X, np.arange(200) % 12)
    assert model.predict_proba(X[:5]).shape == (5, 12)


def test_tabpfn_ignores_weights_that_are_not_its_default(tmp_path, monkeypatch):
    file = use_folder("tabpfn", tmp_path, monkeypatch)
    for name in ("tabpfn-v3.5-fast-20260909.safetensors", "tabpfn-v2.5-classifier-v2.5_variant.ckpt"):
        (tmp_path / name).touch()
    with pytest.raises(FileNotFoundError, match=file.name):
        find_weights("tabpfn")


def test_tabpfn_names_weights_that_it_cannot_read(tmp_path, monkeypatch):
    file = use_folder("tabpfn", tmp_path, monkeypatch)
    file.write_bytes(b"half a file")
    with pytest.raises(ValueError, match="download them again"):
        make("tabpfn")
