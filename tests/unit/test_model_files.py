"""Model files: what is saved comes back, in another process too, and what cannot be saved is named."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sklearn
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import metricwise as mw
from metricwise.estimators.selection.candidates import candidates_for
from metricwise.estimators.selection.profile import Profile
from metricwise.persistence import describe, fingerprint
from metricwise.persistence.container import open_container, write_container
from metricwise.results import Status
from tests.unit.saved_models import MODELS, SPARSE, X, outputs, y

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any], Any]:
    """All models saved, what they said before, and what they say in a process that has loaded them."""
    folder = tmp_path_factory.mktemp("models")
    said, rows = {}, {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of tiny data and networks that have not settled
        for name, make in MODELS.items():
            model, rows[name] = make()
            said[name] = outputs(model, rows[name])
            mw.save(model, folder / f"{name}.mw")
    (folder / "rows.pickle").write_bytes(pickle.dumps(rows))
    paths = os.pathsep.join([str(Path(mw.__file__).parents[1]), str(ROOT)])
    command = [sys.executable, "-W", "ignore", "-m", "tests.unit.predict_saved", str(folder)]
    done = subprocess.run(command, cwd=ROOT, env=os.environ | {"PYTHONPATH": paths}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder, said, np.load(folder / "outputs.npz")


@pytest.mark.parametrize("name", MODELS)
def test_every_model_predicts_equal_bits_in_a_fresh_process(everything: Any, name: str) -> None:
    _, said, fresh = everything
    assert "predict" in said[name]
    for method, values in said[name].items():
        found = fresh[f"{name}/{method}"]
        expected = values.astype("U") if values.dtype == object else values
        assert found.dtype == expected.dtype and found.shape == expected.shape
        assert found.tobytes() == expected.tobytes(), method


def test_every_estimator_of_the_package_is_among_the_models(everything: Any) -> None:
    folder, _, _ = everything
    saved = {type(mw.load(path)).__name__ for path in folder.glob("*.mw")}
    estimators = {
        name for name in mw.__all__ if isinstance(getattr(mw, name), type) and hasattr(getattr(mw, name), "fit")
    }
    assert len(estimators) >= 11
    assert estimators <= saved


def test_files_are_zip_archives_that_numpy_reads_without_pickle(everything: Any) -> None:
    folder, _, _ = everything
    for path in folder.glob("*.mw"):
        with np.load(path, allow_pickle=False) as archive:
            assert all(archive[name].dtype.kind != "O" for name in archive.files if name.startswith("array"))


def test_results_come_back_whole(tmp_path: Path) -> None:
    model = mw.MultivariateSVC("f1").fit(X, y)
    mw.save(model, tmp_path / "model.mw")
    found, before = mw.load(tmp_path / "model.mw").result_, model.result_
    assert found.certificate == before.certificate
    assert found.status is before.status is Status.OPTIMAL
    assert found.history == before.history and len(found.history) > 1
    assert np.array_equal(found.witness.shares, before.witness.shares)
    assert mw.certify(mw.load(tmp_path / "model.mw"), X, y).upper == mw.certify(model, X, y).upper


def test_what_is_known_of_a_threshold_comes_back(tmp_path: Path) -> None:
    model = mw.PlugInClassifier(LogisticRegression()).fit(X, y)
    mw.save(model, tmp_path / "model.mw")
    found = mw.load(tmp_path / "model.mw")
    assert found.score_interval(50) == model.score_interval(50)
    assert found.get_params(deep=False).keys() == model.get_params(deep=False).keys()
    assert found.score(X, y) == model.score(X, y)


def test_a_model_without_training_can_be_saved_and_trained_later(tmp_path: Path) -> None:
    pipeline = make_pipeline(StandardScaler(), mw.MultivariateSVC("jaccard", C=3.0))
    mw.save(pipeline, tmp_path / "model.mw")
    found = mw.load(tmp_path / "model.mw").fit(X, y)
    assert np.array_equal(found.decision_function(X), pipeline.fit(X, y).decision_function(X))


@pytest.mark.parametrize(
    "measure",
    [mw.get_measure(name) for name in mw.measure_names()]
    + [mw.PrecisionAtK(0.05), mw.RecallAtPrecision(0.9), mw.PartialAuc(0.0, 0.2), mw.Averaged(mw.FBeta(0.5), "micro")],
    ids=repr,
)
def test_every_measure_comes_back(tmp_path: Path, measure: Any) -> None:
    mw.save(mw.MultivariateSVC(measure), tmp_path / "model.mw")
    assert mw.load(tmp_path / "model.mw").measure == measure


@pytest.mark.parametrize("learner", [mw.SPADEClassifier("g_mean"), mw.STAMPClassifier("f1"), mw.MiniBatchSVC("f1")])
@pytest.mark.parametrize("rows", [X, SPARSE], ids=["dense", "sparse"])
def test_a_stream_goes_on_where_it_was(tmp_path: Path, learner: Any, rows: Any) -> None:
    model = sklearn.clone(learner).partial_fit(rows[:90], y[:90], classes=[0, 1])
    mw.save(model, tmp_path / "model.mw")
    found = mw.load(tmp_path / "model.mw")
    assert np.array_equal(
        found.partial_fit(rows[90:], y[90:]).decision_function(rows),
        model.partial_fit(rows[90:], y[90:]).decision_function(rows),
    )


def test_what_was_shared_is_shared(tmp_path: Path) -> None:
    model = mw.MetricClassifier("f1", candidates=["logistic"]).fit(X, y)
    mw.save(model, tmp_path / "model.mw")
    found = mw.load(tmp_path / "model.mw")
    models = found.best_estimator_ if isinstance(found.best_estimator_, list) else [found.best_estimator_]
    assert all(one is other for one, other in zip(models, found._ensemble.models, strict=True))


def test_random_states_go_on_where_they_were(tmp_path: Path) -> None:
    random = np.random.RandomState(5)
    random.normal(size=3)
    mw.save(mw.SPADEClassifier("g_mean", random_state=random), tmp_path / "model.mw")
    found = mw.load(tmp_path / "model.mw").random_state
    assert np.array_equal(found.normal(size=1000), random.normal(size=1000))


def test_the_same_model_makes_the_same_file(tmp_path: Path) -> None:
    model = mw.PlugInClassifier(LogisticRegression()).fit(X, y)
    mw.save(model, tmp_path / "one.mw")
    mw.save(mw.load(tmp_path / "one.mw"), tmp_path / "two.mw")
    assert (tmp_path / "one.mw").read_bytes() == (tmp_path / "two.mw").read_bytes()


# --------------------------------------------------------------------------------------------------------- the header


def test_a_file_says_what_it_holds(tmp_path: Path) -> None:
    path = tmp_path / "model.mw"
    mw.save(mw.AUCSVC().fit(X, y), path, command="metricwise train samples.csv", data=(X, y))
    found = describe(path)
    assert found.model.endswith("AUCSVC") and found.command == "metricwise train samples.csv"
    assert found.versions["scikit-learn"] == sklearn.__version__ and found.versions["metricwise"] == mw.__version__
    assert found.data == fingerprint((X, y))
    assert found.data["parts"][0]["shape"] == [160, 8]
    assert found.sha256 == path.read_bytes()[-64:].decode()


def test_fingerprints_tell_data_apart(tmp_path: Path) -> None:
    changed = X.copy()
    changed[3, 4] = np.nextafter(changed[3, 4], 9.0)
    (tmp_path / "rows.csv").write_text("a,b\n1,2\n")
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": ["x", "y"], "b": [1.0, 2.0]})
    found = [X, changed, X.astype(np.float32), SPARSE, SPARSE[::-1], frame, frame.rename(columns={"a": "c"}), (X, y), y]
    found += [tmp_path / "rows.csv", ["yes", "no"], np.array(["yes", "no"], dtype=object)]
    texts = [str(fingerprint(data)) for data in found]
    assert len(set(texts)) == len(texts)
    assert texts[0] == str(fingerprint(np.asfortranarray(X)))
    assert texts[3] == str(fingerprint(sparse.csc_matrix(SPARSE)))


def _with_header(path: Path, **changes: Any) -> None:
    with open_container(path) as file:
        header, tree = file.header(), file.tree()
        numbers = [entry["number"] for entry in tree["entries"] if entry["kind"] == "array"]
        arrays = [file.array(number) for number in numbers]
    write_container(path, header | changes, tree, arrays)


def test_another_version_of_scikit_learn_is_said(tmp_path: Path) -> None:
    path = tmp_path / "model.mw"
    mw.save(mw.AUCSVC().fit(X, y), path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mw.load(path)
    _with_header(path, versions={"metricwise": "0.1", "scikit-learn": "1.6.1", "numpy": "1.26", "python": "3.11"})
    with pytest.warns(UserWarning, match=rf"saved with scikit-learn 1\.6\.1, and this is {sklearn.__version__}"):
        mw.load(path)


def test_what_another_version_has_written_otherwise_is_said(tmp_path: Path) -> None:
    path = tmp_path / "model.mw"
    mw.save(mw.AUCSVC(), path)
    with open_container(path) as file:
        header, tree = file.header(), file.tree()
    next(entry for entry in tree["entries"] if "fields" in entry)["fields"].pop("C")
    write_container(path, header, tree, [])
    with pytest.raises(mw.ModelFileError, match="a AUCSVC lacks its parameter 'C'"):
        mw.load(path)
    _with_header(path, versions=header["versions"] | {"metricwise": "0.0.1"})
    with pytest.raises(mw.ModelFileError, match=r"saved by metricwise 0\.0\.1, and this is .*lacks its parameter 'C'"):
        mw.load(path)


def test_a_later_format_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.mw"
    mw.save(mw.AUCSVC(), path)
    _with_header(path, format=3, versions=describe(path).versions | {"metricwise": "9.1"})
    with pytest.raises(mw.ModelFileError, match=r"format is 3.*formats up to 2: use metricwise 9\.1, which wrote it, or"):
        mw.load(path)


# ---------------------------------------------------------------------------------------------------- what is not saved


class Own(LogisticRegression):
    pass


def _kernel(A: Any, B: Any) -> Any:
    return A @ B.T


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (
            mw.MultivariateSVC(mw.contingency_measure(lambda tp, fp, fn, tn: tp / (tp + fn), "my recall")),
            r"model\.measure is the measure 'my recall', made of a function of your own.*measure_names\(\)",
        ),
        (mw.MultivariateSVC(kernel=_kernel), r"model\.kernel is '_kernel'.*holds no code"),
        (mw.PlugInClassifier(Own()), r"model\.estimator is of the type .*Own, which model files do not hold"),
        (GridSearchCV(mw.AUCSVC(), {"C": [1.0]}), "save its best_estimator_"),
        (mw.AUCSVC(cv=(split for split in ())), r"model\.cv is of the type builtins\.generator"),
        (mw.SPADEClassifier("g_mean", random_state=np.random.RandomState(np.random.PCG64(1))), "give a whole number"),
        (mw.AUCSVC(pos_label=np.datetime64("2020-01-01")), r"model\.pos_label is of the type numpy\.datetime64"),
    ],
)
def test_what_cannot_be_saved_is_named(tmp_path: Path, model: Any, message: str) -> None:
    path = tmp_path / "model.mw"
    path.write_text("before")
    with pytest.raises(mw.ModelFileError, match=message) as caught:
        mw.save(model, path)
    assert str(caught.value).startswith(str(path))
    assert path.read_text() == "before" and os.listdir(tmp_path) == ["model.mw"]


def test_what_belongs_to_the_training_is_left_out(tmp_path: Path) -> None:
    stream = mw.SPADEClassifier("g_mean", callback=print, checkpoint=tmp_path / "checkpoint")
    mw.save(make_pipeline(StandardScaler(), stream, memory="cache"), tmp_path / "model.mw")
    found = mw.load(tmp_path / "model.mw")
    assert found.memory is None and found[-1].callback is None and found[-1].checkpoint is None
    assert stream.callback is print


def test_files_can_be_read_by_whom_other_files_can_be_read(tmp_path: Path) -> None:
    mw.save(mw.AUCSVC(), tmp_path / "model.mw")
    (tmp_path / "other").touch()
    assert (tmp_path / "model.mw").stat().st_mode == (tmp_path / "other").stat().st_mode


def test_requests_for_weights_come_back(tmp_path: Path) -> None:
    with sklearn.config_context(enable_metadata_routing=True):
        mw.save(mw.AUCSVC().set_fit_request(sample_weight=True), tmp_path / "model.mw")
        found = mw.load(tmp_path / "model.mw").get_metadata_routing()
    assert found.fit.requests == {"sample_weight": True}


def test_arrays_on_disk_become_arrays(tmp_path: Path) -> None:
    rows = np.lib.format.open_memmap(tmp_path / "rows.npy", "w+", shape=X.shape)
    rows[:] = X
    model = mw.PlugInClassifier(KNeighborsClassifier()).fit(X, y)
    model.estimator_._fit_X = rows
    mw.save(model, tmp_path / "model.mw")
    assert type(mw.load(tmp_path / "model.mw").estimator_._fit_X) is np.ndarray


def test_a_model_that_contains_itself_is_refused(tmp_path: Path) -> None:
    model = mw.PlugInClassifier(LogisticRegression())
    model.estimator = model
    with pytest.raises(mw.ModelFileError, match="contains itself"):
        mw.save(model, tmp_path / "model.mw")


def test_only_estimators_are_models(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="model must be an estimator, got dict"):
        mw.save({}, tmp_path / "model.mw")
    with pytest.raises(TypeError, match="command must be text"):
        mw.save(mw.AUCSVC(), tmp_path / "model.mw", command=["train"])  # type: ignore[arg-type]


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="nowhere"):
        mw.save(mw.AUCSVC(), tmp_path / "nowhere" / "model.mw")


@pytest.mark.parametrize("measure", ["f1", "roc_auc"])
@pytest.mark.parametrize("rows", [X, SPARSE, sparse.csr_matrix(np.floor(np.abs(SPARSE * 100.0).toarray()))])
def test_every_candidate_of_the_front_door_can_be_saved(measure: str, rows: Any, tmp_path: Path) -> None:
    profile = replace(Profile.of(rows), n_samples=30_000)  # so that streams take part
    small = Profile.of(rows)
    wide = replace(small, n_features=50_000) if small.is_sparse else small
    found = [
        one for kind in (profile, small, wide) for one in candidates_for("auto", kind, mw.get_measure(measure), True, 0)
    ]
    found = list({repr(one.final): one for one in found}.values())
    assert len(found) >= 8
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for one in found:
            model = one.final.fit(rows, y)
            mw.save(model, tmp_path / "model.mw")
            np.testing.assert_array_equal(mw.load(tmp_path / "model.mw").predict(rows), model.predict(rows))
