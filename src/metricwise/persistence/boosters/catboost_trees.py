"""The trees of CatBoost, read from its JSON format."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metricwise._typing import Floats
from metricwise.kernels.tree_nodes import MISSING_LEFT, NODE
from metricwise.persistence.boosters.assembly import NodeTreeAssembly
from metricwise.persistence.boosters.links import ONE_VS_REST, SIGMOID, SOFTMAX
from metricwise.persistence.boosters.samples import CatBoostSamples
from metricwise.persistence.boosters.stored import BoostedTrees
from metricwise.persistence.boosters.trees import NodeTrees, ObliviousTrees

_LINKS = {"Logloss": SIGMOID, "CrossEntropy": SIGMOID, "MultiClass": SOFTMAX, "MultiClassOneVsAll": ONE_VS_REST}
_ABOVE = "AsTrue"  # missing values pass every split; otherwise they pass none


def extract_catboost(model: Any) -> BoostedTrees:
    """Return the trees of a trained CatBoostClassifier; ValueError if they are of another kind."""
    loss = model.get_all_params().get("loss_function", "of a function")
    if loss.partition(":")[0] not in _LINKS:
        raise ValueError(
            f"its loss_function is {loss!r}, whose probabilities model files do not hold: use {', '.join(_LINKS)}"
        )
    if model.get_probability_threshold() != 0.5:
        raise ValueError("its probability threshold was changed: call set_probability_threshold(0.5)")
    written = _dump(model)
    features = written["features_info"]
    for kind, name in (("categorical", "cat_features"), ("text", "text_features"), ("embedding", "embedding_features")):
        if features.get(f"{kind}_features"):
            raise ValueError(
                f"{name} are read by rules of CatBoost that model files do not hold: convert these columns to numbers "
                "before, for instance by TargetEncoder or OneHotEncoder"
            )
    columns = {found["feature_index"]: found["flat_feature_index"] for found in features.get("float_features", ())}
    is_above = {
        found["flat_feature_index"]: found["nan_value_treatment"] == _ABOVE
        for found in features.get("float_features", ())
    }
    scale, bias = written["scale_and_bias"]
    base_scores = np.array(bias, dtype=np.float64).ravel()
    read = _read_oblivious if "oblivious_trees" in written else _read_trees
    trees = read(written, columns, float(scale), base_scores.size)
    missing_above = np.array([column for column, above in is_above.items() if above], dtype=np.int64)
    return BoostedTrees(CatBoostSamples(missing_above), trees, base_scores, _LINKS[loss.partition(":")[0]])


def _dump(model: Any) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        model.save_model(str(path), format="json")
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return found


def _read_oblivious(written: dict[str, Any], columns: dict[int, int], scale: float, n_columns: int) -> ObliviousTrees:
    trees = written["oblivious_trees"]
    splits = [split for tree in trees for split in tree["splits"] or ()]
    leaf_values = [np.array(tree["leaf_values"], dtype=np.float64).reshape(-1, n_columns) for tree in trees]
    return ObliviousTrees(
        features=np.array([columns[split["float_feature_index"]] for split in splits], dtype=np.int32),
        thresholds=np.array([split["border"] for split in splits], dtype=np.float32),
        split_bounds=np.cumsum([0, *(len(tree["splits"] or ()) for tree in trees)], dtype=np.int64),
        leaf_bounds=np.cumsum([0, *(len(values) for values in leaf_values)], dtype=np.int64),
        leaf_values=scale * np.concatenate([np.empty((0, n_columns)), *leaf_values]),
    )


def _read_trees(written: dict[str, Any], columns: dict[int, int], scale: float, n_columns: int) -> NodeTrees:
    assembly = NodeTreeAssembly(np.float64, n_columns)
    for tree in written["trees"]:
        nodes, leaf_values = _read_nodes(tree, columns)
        assembly.add_tree(nodes, scale * leaf_values, 0)
    return assembly.build()


def _read_nodes(tree: dict[str, Any], columns: dict[int, int]) -> tuple[NDArray[Any], Floats]:
    """Return inner nodes, each before its children, and the values of leaves."""
    nodes: list[tuple[float, int, int, int, int]] = []
    leaves: list[Any] = []
    children: list[list[int]] = []
    waiting: list[tuple[dict[str, Any], int, int]] = [(tree, -1, 0)]
    while waiting:
        found, parent, side = waiting.pop()
        if "split" in found:
            number = len(children)
            children.append([0, 0])
            split = found["split"]
            nodes.append((split["border"], columns[split["float_feature_index"]], 0, 0, MISSING_LEFT))
            waiting += [(found["right"], number, 1), (found["left"], number, 0)]
        else:
            number = ~len(leaves)
            leaves.append(np.ravel(found["value"]))
        if parent >= 0:
            children[parent][side] = number
    made = np.array(nodes, dtype=NODE)
    made["left"], made["right"] = np.array(children, dtype=np.int32).reshape(-1, 2).T
    return made, np.array(leaves, dtype=np.float64)
