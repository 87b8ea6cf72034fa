"""Docstrings of all public objects are complete: `help()` must suffice, and the API reference is made of them."""

from __future__ import annotations

import ast
import enum
import functools
import inspect
import re
import runpy
import textwrap
from importlib import import_module
from pathlib import Path
from typing import Any, get_args

import click
import numpy as np
import pytest
from docutils.core import publish_doctree
from numpydoc.docscrape import NumpyDocString
from numpydoc.validate import validate
from sklearn.datasets import make_classification, make_multilabel_classification
from sklearn.linear_model import LogisticRegression

import metricwise as mw
from metricwise.cli import main
from metricwise.measures import base, joint, multiclass_capabilities, ranking_capabilities, rate_capabilities
from metricwise.registry import entries

DOCS = Path(__file__).parents[2] / "docs"
MODULES = tuple(f"metricwise{module}" for module in ("", ".io", ".inference", ".adapters", ".persistence", ".measures"))

# Unknown or misplaced sections, no summary, a summary that does not start with an imperative, parameters that are
# missing, unknown, in another order, or without type or description, values that are returned or yielded without
# being described, and references without a description.
EVERYWHERE = [
    "GL06",
    "GL07",
    "GL08",
    "SS01",
    "SS02",
    "SS03",
    "SS05",
    "PR01",
    "PR02",
    "PR03",
    "PR04",
    "PR07",
    "PR10",
    "RT01",
    "RT03",
    "YD01",
    "SA04",
]


def list_public() -> dict[str, Any]:
    """Return every public object under the shortest name by which it is imported."""
    found: dict[str, Any] = {}
    for module in MODULES:
        for name in import_module(module).__all__:
            public = getattr(import_module(module), name)
            if get_args(public):  # an alias of types, which has no docstring
                continue
            if not any(public is known for known in found.values()):
                found[f"{module}.{name}"] = public
    return found


def list_methods(public: dict[str, Any]) -> dict[str, Any]:
    """Return the public methods and properties of metricwise that classes have, each once."""
    found: dict[str, Any] = {}
    seen = set()
    for path, one in public.items():
        for owner in one.__mro__ if inspect.isclass(one) else ():
            for name, value in vars(owner).items() if owner.__module__.startswith("metricwise") else ():
                is_method = inspect.isroutine(value) or isinstance(value, property | functools.cached_property)
                if is_method and not name.startswith("_") and (owner, name) not in seen:
                    seen.add((owner, name))
                    found[f"{path}.{name}"] = owner
    return found


PUBLIC = list_public()
ESTIMATORS = {f"metricwise.{entry.name}": entry.load() for entry in entries()}
METHODS = list_methods(PUBLIC)
# What a capability asks for is described in full by its protocol, and in one line by each measure that offers it.
SOURCES = (base, joint, multiclass_capabilities, ranking_capabilities, rate_capabilities)
PROTOCOLS = [one for source in SOURCES for one in vars(source).values() if getattr(one, "_is_protocol", False)]
CAPABILITIES = {name for one in PROTOCOLS for name in vars(one) if not name.startswith("_")} - {"score", "value"}


def find_errors(path: str, codes: list[str]) -> list[str]:
    return [f"{code}: {message}" for code, message in validate(path)["errors"] if code in codes]


def parse(public: Any) -> NumpyDocString:
    return NumpyDocString(inspect.getdoc(public))


# ------------------------------------------------------------------------------------------------------------ all names


@pytest.mark.parametrize("path", PUBLIC)
def test_public_objects_are_described_in_full(path):
    public = PUBLIC[path]
    exempt = {"PR01", "PR02"} if is_made_by_no_call(public) else set()
    assert find_errors(path, [code for code in [*EVERYWHERE, "EX01"] if code not in exempt]) == []
    assert ">>>" in "\n".join(parse(public)["Examples"]), "the example does not run"


def is_made_by_no_call(public: Any) -> bool:
    """Return whether nobody calls the class: an enumeration, or a protocol, which is implemented."""
    return public in PROTOCOLS or (inspect.isclass(public) and issubclass(public, enum.Enum))


@pytest.mark.parametrize("path", METHODS)
def test_public_methods_are_described_in_full(path):
    offers_capability = path.rpartition(".")[2] in CAPABILITIES and METHODS[path] not in PROTOCOLS
    codes = ["GL08", "SS01", "SS03"] if offers_capability else EVERYWHERE
    assert find_errors(path, codes) == []


@pytest.mark.parametrize("path", [path for path, public in PUBLIC.items() if inspect.isfunction(public)])
def test_functions_name_the_errors_that_they_raise(path):
    tree = ast.parse(textwrap.dedent(inspect.getsource(PUBLIC[path])))
    calls = [node.exc for node in ast.walk(tree) if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call)]
    raised = {call.func.id for call in calls if isinstance(call.func, ast.Name)}
    assert raised <= {one.type for one in parse(PUBLIC[path])["Raises"]}


@pytest.mark.parametrize(
    ("path", "error"),
    [
        ("metricwise.load", "ModelFileError"),
        ("metricwise.adapt_prior", "UndeterminedPriorError"),
        ("metricwise.io.read_table", "MalformedLineError"),
        ("metricwise.io.open", "MalformedLineError"),
        ("metricwise.PlugInClassifier.fit", "UnreachableGuaranteeError"),
        ("metricwise.MetricClassifier.fit", "UnreachableGuaranteeError"),
        ("metricwise.TriageClassifier.fit", "UnreachableGuaranteeError"),
    ],
)
def test_errors_with_names_of_their_own_are_announced(path, error):
    public = PUBLIC[path] if path in PUBLIC else PUBLIC[path.removesuffix(".fit")].fit
    assert error in {one.type for one in parse(public)["Raises"]}


# ----------------------------------------------------------------------------------------------------------- estimators


X, Y = make_classification(120, 5, weights=[0.7], random_state=0)
LABELS = make_multilabel_classification(60, 5, n_classes=3, random_state=0)


def fit_example(name: str) -> Any:
    """Return a fitted model whose fit takes a fraction of a second."""
    learner = LogisticRegression()
    if name in ("BinaryRelevance", "ProbabilisticClassifierChain"):
        return getattr(mw, name)(learner).fit(*LABELS)
    if name == "RankingSVC":
        return mw.RankingSVC().fit(X, Y, groups=np.arange(len(Y)) % 5)
    if name == "MetricClassifier":
        return mw.MetricClassifier("f1", candidates=["logistic"], time_budget=None, cv=2).fit(X, Y)
    if name == "TriageClassifier":
        return mw.TriageClassifier(learner, capacity=0.3, cv=2).fit(X, Y)
    if name in ("PlugInClassifier", "CostSensitiveClassifier"):
        return getattr(mw, name)(learner, cv=2).fit(X, Y)
    return getattr(mw, name)().fit(X, Y)


@pytest.mark.parametrize("path", ESTIMATORS)
def test_estimators_have_every_section(path):
    sections = parse(ESTIMATORS[path])
    for section in ("Parameters", "Attributes", "See Also", "Notes", "References", "Examples"):
        assert sections[section], section
    names = [name.strip() for one in sections["Parameters"] for name in one.name.split(",")]
    assert names == list(inspect.signature(ESTIMATORS[path]).parameters)


@pytest.mark.parametrize("path", ESTIMATORS)
def test_fitted_attributes_are_described(path):
    model = fit_example(path.removeprefix("metricwise."))
    fitted = {name for name in vars(model) if name.endswith("_") and not name.startswith("_")}
    properties = {
        name
        for one in type(model).__mro__
        for name, value in vars(one).items()
        if isinstance(value, property) and name.endswith("_") and not name.startswith("_") and hasattr(model, name)
    }
    described = {name.strip() for one in parse(type(model))["Attributes"] for name in one.name.split(",")}
    assert "classes_" in fitted | properties or (path.endswith("RankingSVC") and "measure_" in fitted)
    assert sorted((fitted | properties) - described) == []


@pytest.mark.parametrize("path", ESTIMATORS)
def test_references_of_see_also_exist(path):
    for others, _ in parse(ESTIMATORS[path])["See Also"]:
        for name, _ in others:
            module, _, last = name.rpartition(".")
            assert hasattr(import_module(module or "metricwise"), last), name


# -------------------------------------------------------------------------------------------------------- API reference


def test_the_api_page_lists_every_public_object_once():
    page = (DOCS / "api" / "index.rst").read_text(encoding="utf-8")
    listed = re.findall(r"^   ([A-Za-z][\w.]*)$", page, re.MULTILINE)
    assert sorted(listed) == sorted(path.removeprefix("metricwise.") for path in PUBLIC)


def test_the_page_of_the_command_has_every_option():
    describe = runpy.run_path(str(DOCS / "_extensions" / "api_reference.py"))["describe_commands"]
    page = describe()
    for name, command in main.commands.items():
        section = page.split(f"\n{name}\n{'-' * len(name)}\n")[1].split("\n---")[0]
        for option in command.params:
            if isinstance(option, click.Option) and not option.hidden:
                assert option.help and all(flag in section for flag in option.opts), option.name
    publish_doctree(page, settings_overrides={"halt_level": 2})  # a warning is an error
