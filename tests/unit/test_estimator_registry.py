"""The registry is the only list of estimators."""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from click.testing import CliRunner

import metricwise
from metricwise import MultivariateSVC, measure_names, registry
from metricwise.cli import main
from metricwise.estimators.inputs import refuse_chunks
from metricwise.measures import get_measure
from metricwise.persistence.exports.linear import extract_linear_scores
from metricwise.registry import EstimatorEntry, check_trainable, entries, entry_of, register_temporarily
from tests.contracts.test_estimators import list_estimators_for_measures


class ToySVC(MultivariateSVC):
    """An estimator that only this test registers."""


@pytest.fixture
def toy():
    """Register an estimator in one place."""
    home = ModuleType("toy_estimators")
    home.ToySVC = ToySVC
    sys.modules["toy_estimators"] = home
    module, ToySVC.__module__ = ToySVC.__module__, "toy_estimators"
    entry = EstimatorEntry(
        "ToySVC",
        "toy_estimators",
        "svm",
        "toy-svm",
        "a toy",
        needs=("metricwise.measures.rate_capabilities:RatioOfRates",),
        trains_on=frozenset({"memory", "disk"}),
        is_linear=True,
    )
    with register_temporarily(entry):
        yield entry
    ToySVC.__module__ = module
    del sys.modules["toy_estimators"]


def make_data():
    rng = np.random.default_rng(0)
    y = rng.random(80) < 0.3
    return np.round(rng.normal(size=(80, 3)) + 2.0 * y[:, None], 2), y.astype(int)


def test_a_registered_estimator_is_found_everywhere(toy, tmp_path):
    X, y = make_data()
    assert metricwise.ToySVC is ToySVC and "ToySVC" in dir(metricwise)
    assert measure_names("ToySVC") == measure_names("AMPClassifier") != measure_names("MultivariateSVC")
    with pytest.raises(TypeError, match="lacks what ToySVC needs"):
        ToySVC("roc_auc").fit(X, y)
    with pytest.raises(TypeError, match=r"estimators for it: .*ToySVC"):
        check_trainable(get_measure("f1"), "SPADEClassifier")
    with pytest.raises(ValueError, match="or ToySVC without a kernel"):
        refuse_chunks("Something")
    assert "ToySVC" in list_estimators_for_measures()

    model = ToySVC("f1").fit(X, y)
    path = tmp_path / "toy.mw"
    metricwise.save(model, path)
    loaded = metricwise.load(path)
    assert type(loaded) is ToySVC and np.array_equal(loaded.predict(X), model.predict(X))
    assert np.allclose(extract_linear_scores(model).compute(X), model.decision_function(X))
    metricwise.export_text(model, tmp_path / "toy.txt")
    assert (tmp_path / "toy.txt").read_text()


def test_the_command_trains_a_registered_estimator(toy, tmp_path):
    X, y = make_data()
    path = tmp_path / "train.csv"
    np.savetxt(path, np.column_stack([X, y]), delimiter=",", header="a,b,c,y", comments="")
    out = str(tmp_path / "model.mw")
    done = CliRunner().invoke(main, ["train", str(path), "--target", "y", "--algorithm", "toy-svm", "--out", out])
    assert done.exit_code == 0, done.output
    assert "ToySVC" in repr(metricwise.load(out))
    wrong = CliRunner().invoke(main, ["train", str(path), "--target", "y", "--algorithm", "toy", "--out", out])
    assert wrong.exit_code == 2 and "toy-svm" in wrong.output


def test_an_unknown_estimator_has_no_entry():
    assert entry_of("ToySVC") is None and entry_of(ToySVC).name == "MultivariateSVC"
    with pytest.raises(AttributeError):
        metricwise.ToySVC  # noqa: B018
    with pytest.raises(ValueError, match="registered already"), register_temporarily(entry_of("AUCSVC")):
        pass


@pytest.mark.parametrize("entry", entries(), ids=lambda entry: entry.name)
def test_entries_agree_with_their_classes(entry):
    cls = entry.load()
    assert cls.__module__ == entry.home and entry_of(cls) is entry
    assert hasattr(cls, "partial_fit") == ("stream" in entry.trains_on)
    assert entry.has_checkpoints == ("checkpoint" in cls._get_param_names())
    assert entry.has_guarantees == ("subject_to" in cls._get_param_names())
    folder = {"wrapper": "wrappers"}.get(entry.family, entry.family)
    assert entry.home.startswith(f"metricwise.estimators.{folder}.")
    assert bool(entry.needs) == ("measure" in cls._get_param_names())


def test_the_stub_has_the_public_names():
    tree = ast.parse(Path(metricwise.__file__).with_suffix(".pyi").read_text())
    homes = {alias.name: node.module for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert sorted(homes) == metricwise.__all__ == sorted(metricwise.__all__)
    for name, home in homes.items():
        assert getattr(metricwise, name) is getattr(sys.modules[home], name)
    assert {entry.name: entry.home for entry in registry.entries()}.items() <= homes.items()


@pytest.mark.parametrize("entry", entries(), ids=lambda entry: entry.name)
def test_every_estimator_cites_its_paper_in_full(entry):
    """Authors with initials, year, title, venue, and pages but for a workshop that has none."""
    text = " ".join(entry.load().__doc__.split("References\n    ----------")[1].split("Examples\n")[0].split())
    cited = text.split(".. [")[1:]
    assert cited
    for reference in cited:
        assert re.match(r"\d\] ([A-Z]\. ?|[A-Z]\.-[A-Z]\. ?)+.* \(\d{4}\)\. [A-Z].*\. \*.+\*", reference)
        assert re.search(r"\*(,| \d+,) \d+-\d+\.", reference) or "workshop" in reference
