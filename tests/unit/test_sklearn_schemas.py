"""Every class of scikit-learn on the list of model files has a complete schema, and its models load as they were."""

from __future__ import annotations

import warnings
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import has_fit_parameter

import metricwise as mw
from metricwise.persistence.allowed import BUNCH, GROUPS
from metricwise.persistence.checks import _CHECKS
from metricwise.persistence.schemas import SCHEMAS
from metricwise.persistence.schemas.own import OWN_SCHEMAS
from metricwise.persistence.schemas.schema import NO_VALIDATION, get_parameters
from metricwise.registry import entries
from tests.unit.saved_models import predict_all
from tests.unit.sklearn_models import LABELS_X, LABELS_Y, MODELS, WORDS, y


@pytest.fixture(scope="module", autouse=True)
def _be_quiet() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.mark.parametrize("name", MODELS)
def test_models_predict_the_same_after_loading(name: str, tmp_path: Path) -> None:
    model, samples = MODELS[name]()
    mw.save(model, tmp_path / "model.mw")
    loaded = mw.load(tmp_path / "model.mw")
    if "uniform" in name:
        return  # predictions are drawn
    expected, found = predict_all(model, samples), predict_all(loaded, samples)
    for method, values in expected.items():
        np.testing.assert_array_equal(found[method], values)


@pytest.mark.parametrize("name", SCHEMAS)
def test_every_parameter_is_constrained(name: str) -> None:
    module, _, last = name.rpartition(".")
    cls = getattr(import_module(module), last, None)
    if cls is None or not issubclass(cls, BaseEstimator):
        return  # of another version of scikit-learn, or without parameters
    stated = getattr(cls, "_parameter_constraints", {})
    free = [key for key in cls._get_param_names() if stated.get(key, NO_VALIDATION) == NO_VALIDATION]
    assert set(free) <= set(SCHEMAS[name].parameters)


@pytest.mark.parametrize("entry", entries(), ids=lambda entry: entry.name)
def test_every_parameter_of_metricwise_is_constrained(entry: Any) -> None:
    cls = entry.load()
    stated = cls._parameter_constraints
    free = [key for key in get_parameters(cls) if stated.get(key, NO_VALIDATION) == NO_VALIDATION]
    assert set(free) <= set(OWN_SCHEMAS[entry.name].parameters)


def test_every_class_of_metricwise_is_checked() -> None:
    for cls in (one for group in GROUPS for one in group()):
        has_fields = hasattr(cls, "__dataclass_fields__") or issubclass(cls, tuple) or hasattr(cls, "__members__")
        assert has_fields or cls.__name__ in OWN_SCHEMAS or cls.__name__ in _CHECKS, cls
    assert BUNCH not in SCHEMAS


@pytest.mark.parametrize("name", MODELS)
def test_models_trained_with_weights_are_saved(name: str, tmp_path: Path) -> None:
    model, samples = MODELS[name]()
    if not has_fit_parameter(model, "sample_weight"):
        return
    labels = LABELS_Y if samples is LABELS_X else WORDS if "words" in name else y
    weighted = clone(model).fit(samples, labels, sample_weight=np.linspace(1.0, 2.0, len(labels)))
    mw.save(weighted, tmp_path / "model.mw")
    assert type(mw.load(tmp_path / "model.mw")) is type(weighted)
