"""Names of classes and functions in model files, by the module of lookup. Nothing else is ever looked up."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from importlib import import_module
from typing import Any

from metricwise._sklearn import HELD_LOSSES
from metricwise.persistence.importing import name_import_failures

# Types and functions that are parameters. Each function is one of arrays and nothing else.
_VALUES = {
    "builtins": "bool float int object str",
    "numpy": (
        "abs arcsinh bool_ cbrt exp expm1 float32 float64 int8 int16 int32 int64 log log10 log1p log2 object_ "
        "reciprocal sign sqrt square str_ tanh uint8 uint16 uint32 uint64"
    ),
    "sklearn.feature_selection": "chi2 f_classif mutual_info_classif",
    "sklearn.model_selection": "KFold StratifiedKFold",  # the folds that repeated ones repeat
    "sklearn.utils": "check_array",
}

Table = dict[str, frozenset[str]]


def make_table(names: Iterable[str]) -> Table:
    """Return a table of names that are written with their modules."""
    table: dict[str, set[str]] = {}
    for name in names:
        module, _, last = name.rpartition(".")
        table.setdefault(module, set()).add(last)
    return {module: frozenset(found) for module, found in table.items()}


def _split(modules: dict[str, str]) -> Table:
    return {module: frozenset(names.split()) for module, names in modules.items()}


OWN = "metricwise."  # how the names of classes of this package begin
LOSSES = _split(HELD_LOSSES)
VALUES = _split(_VALUES)


def get_name(thing: Any, table: Table) -> str | None:
    """Return the name under which a table has a class or function; None if it does not.

    Examples
    --------
    >>> import numpy as np
    >>> get_name(np.log1p, VALUES)
    'numpy.log1p'
    """
    for module, names in table.items():
        home = sys.modules.get(module)  # whatever is to be named has been imported
        for name in names if home is not None else ():
            if getattr(home, name, None) is thing:
                return f"{module}.{name}"
    return None


def find_value(name: Any, table: Table) -> Any:
    """Return the class or function with a name in a table; ValueError if there is none."""
    module, _, last = str(name).rpartition(".")
    if not isinstance(name, str) or last not in table.get(module, ()):
        raise refuse(name)
    with name_import_failures(module):
        home = import_module(module)
    return getattr(home, last)


def refuse(name: Any) -> ValueError:
    """Return the error about a name that model files must not hold."""
    return ValueError(f"it asks for {str(name)[:100]!r}, which is not among the classes of model files")


def is_own(name: str) -> bool:
    """Return whether the name of a class in files is one of metricwise, which declares its stored state."""
    return name.startswith(OWN)
