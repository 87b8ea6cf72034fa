"""Headers and versions of model files: what a file states, and which versions of it and its classes can be read."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sklearn
from scipy import sparse
from sklearn.linear_model import RidgeClassifier

import metricwise as mw
from metricwise.persistence import describe, fingerprint
from metricwise.persistence.allowed import GROUPS
from metricwise.persistence.container import open_container, write_container
from metricwise.persistence.old import STEPS
from metricwise.registry import entries
from tests.unit.saved_models import SPARSE, X, y


def test_the_header_describes_the_model(tmp_path: Path) -> None:
    path = tmp_path / "model.mw"
    mw.save(mw.AUCSVC().fit(X, y), path, command="metricwise train samples.csv", data=(X, y))
    found = describe(path)
    assert found.model.endswith("AUCSVC") and found.command == "metricwise train samples.csv"
    assert found.versions["scikit-learn"] == sklearn.__version__ and found.versions["metricwise"] == mw.__version__
    assert found.data == fingerprint((X, y))
    assert found.data["parts"][0]["shape"] == [160, 8]
    assert found.sha256 == path.read_bytes()[-64:].decode()


def test_fingerprints_of_different_data_differ(tmp_path: Path) -> None:
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


def _change_header(path: Path, **changes: Any) -> None:
    """Write a model file again with a changed header."""
    with open_container(path) as file:
        header, tree = file.read_header(), file.read_tree()
        numbers = [entry["number"] for entry in tree["entries"] if entry["kind"] == "array"]
        arrays = [file.read_array(number) for number in numbers]
    write_container(path, header | changes, tree, arrays)


def test_another_version_of_scikit_learn_warns(tmp_path: Path) -> None:
    path = tmp_path / "model.mw"
    mw.save(mw.AUCSVC().fit(X, y), path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mw.load(path)
    _change_header(path, versions={"metricwise": "0.1", "scikit-learn": "1.5.0", "numpy": "1.26", "python": "3.11"})
    with pytest.warns(UserWarning, match=rf"saved with scikit-learn 1\.5\.0, and this is {sklearn.__version__}"):
        mw.load(path)


def test_errors_name_the_version_that_wrote_the_file(tmp_path: Path) -> None:
    path = tmp_path / "model.mw"
    mw.save(mw.AUCSVC(), path)
    with open_container(path) as file:
        header, tree = file.read_header(), file.read_tree()
    next(entry for entry in tree["entries"] if "fields" in entry)["fields"].pop("C")
    write_container(path, header, tree, [])
    with pytest.raises(mw.ModelFileError, match="a AUCSVC lacks its parameter 'C'"):
        mw.load(path)
    _change_header(path, versions=header["versions"] | {"metricwise": "0.0.1"})
    with pytest.raises(mw.ModelFileError, match=r"saved by metricwise 0\.0\.1, and this is .*lacks its parameter 'C'"):
        mw.load(path)


NEWER = "99.0"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda entry: entry["fields"].pop("alpha"), "a RidgeClassifier lacks its parameter 'alpha'"),
        (
            lambda entry: entry.update({"class": "sklearn.linear_model.LaterClassifier"}),
            "asks for 'sklearn.linear_mode",
        ),
        (
            lambda entry: entry["fields"].update(predict="fast"),
            "it sets 'predict', which a RidgeClassifier does not store",
        ),
        (lambda entry: entry.update(kind="later"), "an entry of the unknown kind 'later'"),
    ],
    ids=["renamed parameter", "new class", "new attribute", "new kind"],
)
def test_errors_name_the_scikit_learn_that_wrote_the_file(tmp_path: Path, change: Any, reason: str) -> None:
    path = tmp_path / "model.mw"
    mw.save(mw.PlugInClassifier(RidgeClassifier()), path)
    with open_container(path) as file:
        header, tree = file.read_header(), file.read_tree()
    change(next(entry for entry in tree["entries"] if entry.get("class", "").endswith("RidgeClassifier")))
    write_container(path, header | {"versions": header["versions"] | {"scikit-learn": NEWER}}, tree, [])
    with warnings.catch_warnings(), pytest.raises(mw.ModelFileError) as caught:
        warnings.simplefilter("error")  # the error says it all
        mw.load(path)
    installed = f"and this is scikit-learn {sklearn.__version__}, which cannot read it: use the version that wrote it"
    assert f"it was saved by scikit-learn {NEWER}, {installed}, or train and save the model" in str(caught.value)
    assert reason in str(caught.value) and "Use another copy" not in str(caught.value)


def test_both_versions_are_named_if_both_differ(tmp_path: Path) -> None:
    path = tmp_path / "model.mw"
    mw.save(mw.AUCSVC(measure=mw.RocAuc()), path)
    _change_class_version(path, "metricwise.RocAuc", 2)
    _change_header(path, versions=describe(path).versions | {"scikit-learn": NEWER})
    with pytest.raises(
        mw.ModelFileError, match=rf"saved by metricwise 9\.1 and scikit-learn {NEWER}, and this is metric"
    ):
        mw.load(path)


def test_a_later_format_raises(tmp_path: Path) -> None:
    path = tmp_path / "model.mw"
    mw.save(mw.AUCSVC(), path)
    _change_header(path, format=3, versions=describe(path).versions | {"metricwise": "9.1"})
    with pytest.raises(
        mw.ModelFileError, match=r"format is 3.*formats up to 2: use metricwise 9\.1, which wrote it, or"
    ):
        mw.load(path)


def _change_class_version(path: Path, name: str, version: Any) -> None:
    """Write a model file again, by a later metricwise and with another version of a class."""
    with open_container(path) as file:
        header, tree = file.read_header(), file.read_tree()
    entries = [entry for entry in tree["entries"] if entry.get("class") == name]
    assert entries
    for entry in entries:
        entry["version"] = version
    write_container(path, header | {"versions": header["versions"] | {"metricwise": "9.1"}}, tree, [])


def test_a_later_version_of_a_class_raises(tmp_path: Path) -> None:
    path = tmp_path / "model.mw"
    mw.save(mw.AUCSVC(measure=mw.RocAuc()), path)
    _change_class_version(path, "metricwise.RocAuc", 2)
    message = (
        r"saved by metricwise 9\.1.*use the version that wrote it.*version 2 of metricwise\.RocAuc.*up to version 1"
    )
    with pytest.raises(mw.ModelFileError, match=message):
        mw.load(path)
    _change_class_version(path, "metricwise.RocAuc", "1")
    with pytest.raises(mw.ModelFileError, match="'1' where its version belongs"):
        mw.load(path)


def test_an_earlier_version_of_a_class_is_upgraded_step_by_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "model.mw"
    mw.save(mw.MultivariateSVC(mw.FBeta(2.0)), path)
    monkeypatch.setattr(mw.FBeta, "__stored_state__", replace(mw.FBeta.__stored_state__, version=3))
    monkeypatch.setitem(STEPS, ("metricwise.FBeta", 1), lambda values: {"squared": values["beta"] ** 2})
    monkeypatch.setitem(STEPS, ("metricwise.FBeta", 2), lambda values: {"beta": values["squared"] + 1.0})
    assert mw.load(path).measure == mw.FBeta(5.0)


def test_a_version_without_a_step_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "model.mw"
    mw.save(mw.MultivariateSVC(mw.FBeta(2.0)), path)
    monkeypatch.setattr(mw.FBeta, "__stored_state__", replace(mw.FBeta.__stored_state__, version=3))
    monkeypatch.setitem(STEPS, ("metricwise.FBeta", 1), lambda values: values)
    with pytest.raises(mw.ModelFileError, match=r"version 2 of metricwise\.FBeta.*no step from it to version 3: load"):
        mw.load(path)


def _find_missing_steps() -> list[tuple[str, int]]:
    stored = [*(entry.load() for entry in entries()), *(cls for group in GROUPS for cls in group())]
    needed = [
        (f"metricwise.{cls.__name__}", version) for cls in stored for version in range(1, cls.__stored_state__.version)
    ]
    return [step for step in needed if step not in STEPS]


def test_every_declared_version_has_its_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _find_missing_steps() == []
    monkeypatch.setattr(mw.FBeta, "__stored_state__", replace(mw.FBeta.__stored_state__, version=2))
    assert _find_missing_steps() == [("metricwise.FBeta", 1)]
