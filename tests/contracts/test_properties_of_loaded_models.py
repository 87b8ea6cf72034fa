"""Every public property of every stored model has a value, or says that the model has none."""

from __future__ import annotations

import re
import warnings
from typing import Any

import pytest
from sklearn.base import BaseEstimator

import metricwise as mw
from fuzzing.models import extract_models

_OF_PYTHON = re.compile(r"object has no attribute|not subscriptable|NoneType")  # what code says that no one wrote


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of other versions of scikit-learn
        return {path.name: mw.load(path) for path in extract_models(tmp_path_factory.mktemp("models"))}


def _find_wrong_properties(model: Any) -> list[str]:
    """Return the public properties that raise anything but an AttributeError that someone wrote."""
    wrong = []
    names = [name for name in dir(type(model)) if name[0] != "_"]
    for name in (one for one in names if isinstance(getattr(type(model), one, None), property)):
        try:
            getattr(model, name)
        except AttributeError as error:
            if _OF_PYTHON.search(str(error)):
                wrong.append(f"{name}: {error}")
        except Exception as error:
            wrong.append(f"{name}: {type(error).__name__}: {error}")
    return wrong


def _list_own_parts(model: Any) -> list[Any]:
    """Return the model and the estimators in it that are of metricwise; what scikit-learn's lack is not ours to say."""
    values = model.steps if hasattr(model, "steps") else vars(model).values()
    parts = [item for value in values for item in (value if isinstance(value, list | tuple) else [value])]
    estimators = [model, *(one for one in parts if isinstance(one, BaseEstimator))]
    return [one for one in estimators if type(one).__module__.startswith("metricwise.")]


def test_every_public_property_has_a_value_or_says_why_not(models: dict[str, Any]) -> None:
    parts = [(name, part) for name, model in models.items() for part in _list_own_parts(model)]
    wrong = {f"{name} ({type(part).__name__})": _find_wrong_properties(part) for name, part in parts}
    assert {name: found for name, found in wrong.items() if found} == {}


def test_a_triage_has_no_prior_and_calibrates_nothing(models: dict[str, Any]) -> None:
    triage = models["triage.dense.mw"]
    assert triage.calibrated_ is False
    with pytest.raises(AttributeError, match="has no prior_"):
        triage.prior_  # noqa: B018
