"""Objects with compiled state: their content is written, checked when it is read, and reassembled.

Compiled code follows any index, so that every index of a file is checked before it is used.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_array

from metricwise._sklearn import TREE_MODULE, boosted_node_type, tree_types
from metricwise.persistence.names import LOSSES, VALUES, find_value, get_name
from metricwise.persistence.schemas.parts import require

_MOST_CLASSES = 1 << 20
_MERSENNE_WORDS = 624


class Compiled(NamedTuple):
    """The class of objects of a kind, and how they are written and read."""

    module: str
    name: str
    write: Callable[[Any], dict[str, Any]]
    read: Callable[[dict[str, Any]], Any]


# --------------------------------------------------------------------------------------------------------------- trees


def _write_tree(tree: Any) -> dict[str, Any]:
    _, (n_features, n_classes, n_outputs), state = tree.__reduce__()
    return {"n_features": int(n_features), "n_classes": n_classes, "n_outputs": int(n_outputs), **state}


def _read_tree(values: dict[str, Any]) -> Any:
    tree_class, node_type = tree_types()
    nodes, contents, n_classes = values["nodes"], values["values"], values["n_classes"]
    n_features, n_outputs = values["n_features"], values["n_outputs"]
    require(type(n_features) is int and type(n_outputs) is int and type(values["max_depth"]) is int, _WRONG_TREE)
    require(all(isinstance(part, np.ndarray) for part in (nodes, contents, n_classes)), _WRONG_TREE)
    require(nodes.dtype == node_type and nodes.ndim == 1 and nodes.size == values["node_count"] >= 1, _WRONG_TREE)
    require(n_classes.dtype.kind == "i" and n_classes.shape == (n_outputs,) and n_outputs >= 1, _WRONG_TREE)
    require(n_classes.min() >= 1 and n_classes.max() <= _MOST_CLASSES, _WRONG_TREE)
    require(contents.dtype == np.float64 and contents.shape == (nodes.size, n_outputs, n_classes.max()), _WRONG_TREE)
    inner = nodes["left_child"] != -1
    _check_children(nodes["left_child"], nodes["right_child"], inner)
    require(are_within(nodes["feature"][inner], n_features), _WRONG_TREE)
    # Compiled code reserves memory for paths of this length.
    require(_measure_depth(nodes["left_child"], nodes["right_child"], inner) == values["max_depth"], _WRONG_TREE)
    tree = tree_class(n_features, n_classes.astype(np.intp), n_outputs)
    state = {name: values[name] for name in ("max_depth", "node_count")}
    tree.__setstate__({**state, "nodes": nodes, "values": np.ascontiguousarray(contents)})
    return tree


_WRONG_TREE = "a decision tree is damaged"


def _check_children(left: Any, right: Any, inner: Any) -> None:
    """Raise unless children follow their parents, so that every path through the tree ends."""
    numbers = np.flatnonzero(inner)
    for child in (left[inner].astype(np.int64), right[inner].astype(np.int64)):
        require(np.all(child > numbers) and np.all(child < inner.size), _WRONG_TREE)


def _measure_depth(left: Any, right: Any, inner: Any) -> int:
    """Return the depth of a tree; ValueError unless every node but the first has one parent."""
    children = np.concatenate([left[inner], right[inner]])
    require(np.array_equal(np.sort(children), np.arange(1, inner.size)), _WRONG_TREE)
    depth, level = 0, np.zeros(1, dtype=np.intp)
    while (level := level[inner[level]]).size:
        level = np.concatenate([left[level], right[level]])
        depth += 1
    return depth


def are_within(indices: Any, size: int) -> bool:
    """Return whether all indices lie within so many items."""
    return bool(np.all(indices >= 0) and np.all(indices < size))


def check_predictor(values: dict[str, Any]) -> None:
    """Raise unless all indices of a tree of histogram-based boosting lie within it."""
    nodes, bitsets = values["nodes"], (values["raw_left_cat_bitsets"], values["binned_left_cat_bitsets"])
    require(isinstance(nodes, np.ndarray) and nodes.dtype == boosted_node_type(), _WRONG_TREE)
    require(nodes.ndim == 1 and nodes.size >= 1, _WRONG_TREE)
    inner = nodes["is_leaf"] == 0
    _check_children(nodes["left"], nodes["right"], inner)
    for bits in bitsets:
        require(isinstance(bits, np.ndarray) and bits.dtype == np.uint32, _WRONG_TREE)
        require(bits.ndim == 2 and bits.shape[1] == 8, _WRONG_TREE)
        used = nodes["bitset_idx"][inner & (nodes["is_categorical"] != 0)]
        require(are_within(used, bits.shape[0]), _WRONG_TREE)


# ------------------------------------------------------------------------------- random numbers, losses and functions


def _write_random_state(random: Any) -> dict[str, Any]:
    found = random.get_state(legacy=False)
    name, state = found["bit_generator"], found["state"]
    require(name == "MT19937", f"a RandomState of {name} cannot be saved: give a whole number as random_state")
    numbers = {"has_gauss": int(found["has_gauss"]), "gauss": float(found["gauss"])}
    return {"key": state["key"], "position": int(state["pos"]), **numbers}


def _read_random_state(values: dict[str, Any]) -> Any:
    key, position, has_gauss, gauss = (values[name] for name in ("key", "position", "has_gauss", "gauss"))
    is_right = isinstance(key, np.ndarray) and key.dtype == np.uint32 and key.shape == (_MERSENNE_WORDS,)
    require(is_right and type(position) is int and 0 <= position <= _MERSENNE_WORDS, "random numbers are damaged")
    require(has_gauss in (0, 1) and type(gauss) is float, "random numbers are damaged")
    random = np.random.RandomState()
    random.set_state(("MT19937", key, position, has_gauss, gauss))
    return random


def _write_generator(generator: Any) -> dict[str, Any]:
    state = generator.bit_generator.state
    name = state["bit_generator"]
    require(name == "PCG64", f"a Generator of {name} cannot be saved: give a whole number as random_state")
    return {"state": state["state"], "has_uint32": state["has_uint32"], "uinteger": state["uinteger"]}


def _read_generator(values: dict[str, Any]) -> Any:
    generator = np.random.Generator(np.random.PCG64(0))
    generator.bit_generator.state = {"bit_generator": "PCG64", **values}
    return generator


def _write_loss(loss: Any) -> dict[str, Any]:
    return {"name": get_name(type(loss), LOSSES), "n_classes": int(loss.n_classes)}


def _read_loss(values: dict[str, Any]) -> Any:
    cls, n_classes = find_value(values["name"], LOSSES), values["n_classes"]
    require(type(n_classes) is int and 0 <= n_classes <= _MOST_CLASSES, "a loss is damaged")
    return cls(n_classes=n_classes) if cls.__name__ == "HalfMultinomialLoss" else cls()


def _write_partial(function: Any) -> dict[str, Any]:
    return {"function": function.func, "settings": list(function.args), "named": function.keywords}


def _read_partial(values: dict[str, Any]) -> Any:
    """Return one of two partial functions: that which converts samples to numbers, or a score of features."""
    function, named = values["function"], values["named"]
    is_right = type(named) is dict and values["settings"] == []
    if function is check_array:
        is_right = is_right and _are_of_conversion(named)
    else:
        is_right = is_right and get_name(function, VALUES) == _INFORMATION and _are_of_information(named)
    require(is_right, f"a function is not allowed: give a score of features by name, or {_INFORMATION} with settings")
    return partial(function, **named)


_INFORMATION = "sklearn.feature_selection.mutual_info_classif"


def _are_of_conversion(named: dict[str, Any]) -> bool:
    finite = [value for name, value in named.items() if name in ("ensure_all_finite", "force_all_finite")]
    return named.get("dtype") == [np.float64] and len(named) == 2 and finite == [False]


def _are_of_information(named: dict[str, Any]) -> bool:
    """Return whether settings are some of mutual information, which checks their values when it is called."""
    known = {"discrete_features", "n_neighbors", "copy", "random_state"}  # n_jobs would start processes
    plain = (bool, int, str, list, np.ndarray, np.random.RandomState, type(None))
    return set(named) <= known and all(isinstance(value, plain) for value in named.values())


COMPILED: dict[str, Compiled] = {
    "tree": Compiled(TREE_MODULE, "Tree", _write_tree, _read_tree),
    "random_state": Compiled("numpy.random.mtrand", "RandomState", _write_random_state, _read_random_state),
    "generator": Compiled("numpy.random._generator", "Generator", _write_generator, _read_generator),
    "partial": Compiled("functools", "partial", _write_partial, _read_partial),
    "loss": Compiled("", "", _write_loss, _read_loss),
}


def find_kind(thing: Any) -> str | None:
    """Return the kind of an object with compiled state; None for others."""
    cls = type(thing)
    for kind, (module, name, _, _) in COMPILED.items():
        if (cls.__module__, cls.__qualname__) == (module, name):
            return kind
    return "loss" if get_name(cls, LOSSES) is not None else None
