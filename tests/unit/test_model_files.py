"""Saved models predict the same in another process; errors name what cannot be saved."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import warnings
from collections.abc import Iterator
from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import sklearn
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import metricwise as mw
from metricwise import registry
from metricwise.estimators.selection.booster import PACKAGES
from metricwise.estimators.selection.candidates.candidate import Problem
from metricwise.estimators.selection.candidates.portfolio import AUTO, make_portfolio
from metricwise.estimators.selection.profile import Profile
from metricwise.measures import MissingFunction
from metricwise.persistence.allowed import GROUPS
from metricwise.results import Status
from tests.unit.saved_models import MODELS, SPARSE, X, predict_all, y
from tests.unit.test_saved_functions import MEASURES as FUNCTION_MEASURES

ROOT = Path(__file__).parents[2]


class Saved(NamedTuple):
    """All models with their folder, their predictions, and the predictions of a process that has loaded them."""

    folder: Path
    models: dict[str, Any]
    predictions: dict[str, Any]
    after_loading: Any


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Saved:
    folder = tmp_path_factory.mktemp("models")
    models, predictions, samples = {}, {}, {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about small data and networks that have not converged
        for name, make in MODELS.items():
            models[name], samples[name] = make()
            predictions[name] = predict_all(models[name], samples[name])
            mw.save(models[name], folder / f"{name}.mw")
    (folder / "samples.pickle").write_bytes(pickle.dumps(samples))
    paths = os.pathsep.join([str(Path(mw.__file__).parents[1]), str(ROOT)])
    command = [sys.executable, "-W", "ignore", "-m", "tests.unit.predict_saved", str(folder)]
    done = subprocess.run(command, cwd=ROOT, env=os.environ | {"PYTHONPATH": paths}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return Saved(folder, models, predictions, np.load(folder / "predictions.npz"))


@pytest.mark.parametrize("name", MODELS)
def test_every_model_predicts_the_same_bits_in_another_process(saved: Saved, name: str) -> None:
    assert "predict" in saved.predictions[name]
    for method, values in saved.predictions[name].items():
        found = saved.after_loading[f"{name}/{method}"]
        expected = values.astype("U") if values.dtype == object else values
        assert found.dtype == expected.dtype and found.shape == expected.shape
        assert found.tobytes() == expected.tobytes(), method


def test_every_estimator_of_the_package_is_among_the_models(saved: Saved) -> None:
    loaded = {type(mw.load(path)).__name__ for path in saved.folder.glob("*.mw")}
    assert {entry.name for entry in registry.entries()} <= loaded


# ----------------------------------------------------------------------------------------------------- declared states

TRANSIENT = {
    "_warm_states": "the state of warm_start belongs to the process that trains",
    "callback": "a parameter of the training",
    "checkpoint": "a parameter of the training",
    "relative": "PrecisionAtK and RecallAtK derive it from k",
    "binary_models": "StreamModel caches them",
    "n_shards": "set by the base of the streaming classifiers; MiniBatchSVC has no such parameter",
}


def _own_objects(thing: Any) -> Iterator[Any]:
    """Yield the objects of metricwise in a model, at any depth."""
    if type(thing).__module__.startswith("metricwise."):
        yield thing
    if isinstance(thing, dict):
        parts = list(thing.values())
    elif isinstance(thing, list | tuple):
        parts = list(thing)
    elif isinstance(thing, np.ndarray):
        parts = list(thing.ravel()) if thing.dtype == object else []
    elif isinstance(thing, Enum) or not type(thing).__module__.startswith(("metricwise.", "sklearn.")):
        parts = []
    else:
        parts = [value for name, value in getattr(thing, "__dict__", {}).items() if name not in TRANSIENT]
    for part in parts:
        yield from _own_objects(part)


@pytest.mark.parametrize("name", MODELS)
def test_every_attribute_is_a_parameter_or_declared_or_transient(saved: Saved, name: str) -> None:
    for thing in _own_objects(saved.models[name]):
        declared = {*type(thing).__stored_state__.attributes, *TRANSIENT}
        parameters = thing.get_params(deep=False) if isinstance(thing, BaseEstimator) else ()
        attributes = () if isinstance(thing, Enum) else getattr(thing, "__dict__", ())
        assert not set(attributes) - declared - set(parameters), type(thing).__name__


def test_only_classes_that_are_written_can_be_read(saved: Saved) -> None:
    written = {type(thing) for model in saved.models.values() for thing in _own_objects(model)}
    measures = {type(mw.get_measure(name)) for name in mw.measure_names()}
    measures |= {type(measure) for measure in FUNCTION_MEASURES} | {MissingFunction}  # test_saved_functions writes them
    listed = {cls for group in GROUPS for cls in group()}
    boosters = {cls for cls in listed if "booster" in cls.__module__}  # test_stored_boosters writes them
    monitor = mw.GuaranteeMonitor(saved.models["plug-in, guarantee"])  # test_monitor writes them
    assert listed <= written | measures | boosters | {type(thing) for thing in _own_objects(monitor)}
    names = [cls.__name__ for cls in listed] + [entry.name for entry in registry.entries()]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("cls", [cls for group in GROUPS for cls in group()])
def test_every_listed_class_declares_its_own_state(cls: type) -> None:
    assert "__stored_state__" in vars(cls)


def test_undeclared_attributes_are_not_saved(tmp_path: Path) -> None:
    model = mw.MultivariateSVC("f1", warm_start=True).fit(X, y)
    mw.save(model, tmp_path / "before.mw")
    model._secret, model.note_, model.result_.certificate.__dict__["_secret"] = "password", "password", "password"
    mw.save(model, tmp_path / "after.mw")
    assert (tmp_path / "after.mw").read_bytes() == (tmp_path / "before.mw").read_bytes()
    assert model._warm_states is not None and mw.load(tmp_path / "after.mw")._warm_states is None


def test_files_are_zip_archives_that_numpy_reads_without_pickle(saved: Saved) -> None:
    for path in saved.folder.glob("*.mw"):
        with np.load(path, allow_pickle=False) as archive:
            assert all(archive[name].dtype.kind != "O" for name in archive.files if name.startswith("array"))


def test_results_are_restored(tmp_path: Path) -> None:
    model = mw.MultivariateSVC("f1").fit(X, y)
    mw.save(model, tmp_path / "model.mw")
    found, before = mw.load(tmp_path / "model.mw").result_, model.result_
    assert found.certificate == before.certificate
    assert found.status is before.status is Status.OPTIMAL
    assert found.history == before.history and len(found.history) > 1
    assert np.array_equal(found.witness.shares, before.witness.shares)
    assert mw.certify(mw.load(tmp_path / "model.mw"), X, y).upper == mw.certify(model, X, y).upper


def test_score_intervals_are_restored(tmp_path: Path) -> None:
    model = mw.PlugInClassifier(LogisticRegression()).fit(X, y)
    mw.save(model, tmp_path / "model.mw")
    found = mw.load(tmp_path / "model.mw")
    assert found.score_interval(50) == model.score_interval(50)
    assert found.get_params(deep=False).keys() == model.get_params(deep=False).keys()
    assert found.score(X, y) == model.score(X, y)


def test_an_unfitted_model_can_be_saved_and_trained_later(tmp_path: Path) -> None:
    pipeline = make_pipeline(StandardScaler(), mw.MultivariateSVC("jaccard", C=3.0))
    mw.save(pipeline, tmp_path / "model.mw")
    found = mw.load(tmp_path / "model.mw").fit(X, y)
    assert np.array_equal(found.decision_function(X), pipeline.fit(X, y).decision_function(X))


@pytest.mark.parametrize(
    "measure",
    [mw.get_measure(name) for name in mw.measure_names()]
    + [
        mw.PrecisionAtK(0.05),
        mw.RecallAtPrecision(0.9),
        mw.PartialAuc(0.0, 0.2),
        mw.TwoWayPartialAuc(0.3, 0.7),
        mw.Averaged(mw.FBeta(0.5), "micro"),
    ],
    ids=repr,
)
def test_every_measure_is_restored(tmp_path: Path, measure: Any) -> None:
    mw.save(mw.MultivariateSVC(measure), tmp_path / "model.mw")
    assert mw.load(tmp_path / "model.mw").measure == measure


@pytest.mark.parametrize("learner", [mw.SPADEClassifier("g_mean"), mw.STAMPClassifier("f1"), mw.MiniBatchSVC("f1")])
@pytest.mark.parametrize("samples", [X, SPARSE], ids=["dense", "sparse"])
def test_partial_fit_continues_after_loading(tmp_path: Path, learner: Any, samples: Any) -> None:
    model = sklearn.clone(learner).partial_fit(samples[:90], y[:90], classes=[0, 1])
    mw.save(model, tmp_path / "model.mw")
    found = mw.load(tmp_path / "model.mw")
    assert np.array_equal(
        found.partial_fit(samples[90:], y[90:]).decision_function(samples),
        model.partial_fit(samples[90:], y[90:]).decision_function(samples),
    )


def test_shared_objects_stay_shared(tmp_path: Path) -> None:
    model = mw.MetricClassifier("f1", candidates=["logistic"]).fit(X, y)
    mw.save(model, tmp_path / "model.mw")
    found = mw.load(tmp_path / "model.mw")
    models = found.best_estimator_ if isinstance(found.best_estimator_, list) else [found.best_estimator_]
    assert all(one is other for one, other in zip(models, found._ensemble.models, strict=True))


def test_random_states_continue_after_loading(tmp_path: Path) -> None:
    random = np.random.RandomState(5)
    random.normal(size=3)
    mw.save(mw.SPADEClassifier("g_mean", random_state=random), tmp_path / "model.mw")
    found = mw.load(tmp_path / "model.mw").random_state
    assert np.array_equal(found.normal(size=1000), random.normal(size=1000))


def test_the_same_model_gives_the_same_file(tmp_path: Path) -> None:
    model = mw.PlugInClassifier(LogisticRegression()).fit(X, y)
    mw.save(model, tmp_path / "one.mw")
    mw.save(mw.load(tmp_path / "one.mw"), tmp_path / "two.mw")
    assert (tmp_path / "one.mw").read_bytes() == (tmp_path / "two.mw").read_bytes()


# ---------------------------------------------------------------------------------------------------- what is not saved


class Own(LogisticRegression):
    pass


class _Constant:
    name, response = "constant", "labels"

    def score(self, y: Any, response: Any, sample_weight: Any = None) -> float:
        return 1.0


def _kernel(A: Any, B: Any) -> Any:
    return A @ B.T


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (mw.MultivariateSVC(_Constant()), r"model\.measure is the measure 'constant' of a class of your own.*"),
        (mw.MultivariateSVC(kernel=_kernel), r"model\.kernel is '_kernel'.*holds no code"),
        (mw.PlugInClassifier(Own()), r"model\.estimator is of the type .*Own, which model files do not hold"),
        (GridSearchCV(mw.AUCSVC(), {"C": [1.0]}), "save its best_estimator_"),
        (mw.AUCSVC(cv=(split for split in ())), r"model\.cv is of the type builtins\.generator"),
        (mw.SPADEClassifier("g_mean", random_state=np.random.RandomState(np.random.PCG64(1))), "give a whole number"),
        (mw.AUCSVC(pos_label=np.datetime64("2020-01-01")), r"model\.pos_label is of the type numpy\.datetime64"),
    ],
)
def test_objects_that_cannot_be_saved_are_named(tmp_path: Path, model: Any, message: str) -> None:
    path = tmp_path / "model.mw"
    path.write_text("before")
    with pytest.raises(mw.ModelFileError, match=message) as caught:
        mw.save(model, path)
    assert str(caught.value).startswith(str(path))
    assert path.read_text() == "before" and os.listdir(tmp_path) == ["model.mw"]


def test_parameters_of_the_run_are_not_saved(tmp_path: Path) -> None:
    stream = mw.SPADEClassifier("g_mean", callback=print, checkpoint=tmp_path / "checkpoint")
    mw.save(make_pipeline(StandardScaler(), stream, memory="cache"), tmp_path / "model.mw")
    found = mw.load(tmp_path / "model.mw")
    assert found.memory is None and found[-1].callback is None and found[-1].checkpoint is None
    assert stream.callback is print


def test_files_have_the_default_permissions(tmp_path: Path) -> None:
    mw.save(mw.AUCSVC(), tmp_path / "model.mw")
    (tmp_path / "other").touch()
    assert (tmp_path / "model.mw").stat().st_mode == (tmp_path / "other").stat().st_mode


def test_metadata_requests_are_restored(tmp_path: Path) -> None:
    with sklearn.config_context(enable_metadata_routing=True):
        mw.save(mw.AUCSVC().set_fit_request(sample_weight=True), tmp_path / "model.mw")
        found = mw.load(tmp_path / "model.mw").get_metadata_routing()
    assert found.fit.requests == {"sample_weight": True, "groups": True}


def test_memory_maps_are_loaded_as_arrays(tmp_path: Path) -> None:
    samples = np.lib.format.open_memmap(tmp_path / "X.npy", "w+", shape=X.shape)
    samples[:] = X
    model = mw.PlugInClassifier(KNeighborsClassifier()).fit(X, y)
    model.estimator_._fit_X = samples
    mw.save(model, tmp_path / "model.mw")
    assert type(mw.load(tmp_path / "model.mw").estimator_._fit_X) is np.ndarray


def test_a_model_that_contains_itself_raises(tmp_path: Path) -> None:
    model = mw.PlugInClassifier(LogisticRegression())
    model.estimator = model
    with pytest.raises(mw.ModelFileError, match="contains itself"):
        mw.save(model, tmp_path / "model.mw")


def test_invalid_models_and_commands_raise(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="model must be an estimator, got dict"):
        mw.save({}, tmp_path / "model.mw")
    with pytest.raises(TypeError, match="command must be text"):
        mw.save(mw.AUCSVC(), tmp_path / "model.mw", command=["train"])  # type: ignore[arg-type]


def test_a_missing_folder_raises(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="nowhere"):
        mw.save(mw.AUCSVC(), tmp_path / "nowhere" / "model.mw")


OWN_AND_SKLEARN = [name for name in AUTO if name not in PACKAGES]


@pytest.mark.parametrize("measure", ["f1", "roc_auc"])
@pytest.mark.parametrize("samples", [X, SPARSE, sparse.csr_matrix(np.floor(np.abs(SPARSE * 100.0).toarray()))])
def test_every_candidate_of_model_selection_can_be_saved(measure: str, samples: Any, tmp_path: Path) -> None:
    profile = replace(Profile.of(samples), n_samples=30_000)  # so that streaming candidates are included
    small = Profile.of(samples)
    wide = replace(small, n_features=50_000) if small.is_sparse else small
    problems = [Problem(kind, mw.get_measure(measure)) for kind in (profile, small, wide)]
    found = [one for problem in problems for one in make_portfolio(OWN_AND_SKLEARN, problem).candidates]
    found = list({repr(one.final): one for one in found}.values())
    assert len(found) >= 8
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for one in found:
            model = one.final.fit(samples, y)
            mw.save(model, tmp_path / "model.mw")
            np.testing.assert_array_equal(mw.load(tmp_path / "model.mw").predict(samples), model.predict(samples))
