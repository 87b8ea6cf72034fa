"""scikit-learn's private names are imported in one file."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import metricwise

PACKAGE = Path(metricwise.__file__).parent
HOME = PACKAGE / "_sklearn.py"


def find_private_names(source: str) -> Iterator[str]:
    """Yield the private names of scikit-learn that a module imports or names in a string."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "sklearn":
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.split(".")[0] == "sklearn")
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from re.findall(r"\bsklearn(?:\.\w+)+", node.value)


def is_private(name: str) -> bool:
    return any(part.startswith("_") for part in name.split("."))


def test_only_one_file_names_private_parts_of_scikit_learn():
    found = {
        f"{path.relative_to(PACKAGE)}: {name}"
        for path in PACKAGE.rglob("*.py")
        if path != HOME
        for name in find_private_names(path.read_text())
        if is_private(name)
    }
    assert not found


def test_the_search_finds_private_names():
    assert any(map(is_private, find_private_names(HOME.read_text())))
    assert any(map(is_private, find_private_names("import sklearn.tree._tree")))
    assert any(map(is_private, find_private_names("import_module('sklearn._loss.loss')")))
    assert not any(map(is_private, find_private_names("from sklearn.base import clone")))
