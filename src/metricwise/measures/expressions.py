"""Arithmetic over the columns of a table, as users write it: "0.1*amount - 5".

Python's parser reads the text, and only numbers, names of columns, + - * / and min, max and abs are accepted: no code
of the text is ever run. Names that are no identifiers stand between backticks, as in ``pandas.DataFrame.query``.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache
from typing import Any

import numpy as np

from metricwise._typing import Floats

_LONGEST = 1000  # characters
_DEEPEST = 50  # operations inside one another
_QUOTED = re.compile(r"`([^`]*)`")
_OPERATIONS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: np.add,
    ast.Sub: np.subtract,
    ast.Mult: np.multiply,
    ast.Div: np.divide,
}
_FUNCTIONS: dict[str, tuple[Callable[..., Any], int]] = {
    "abs": (np.abs, 1),
    "max": (np.maximum, 2),
    "min": (np.minimum, 2),
}
_ALLOWED = "numbers, names of columns, + - * /, parentheses, abs(), min() and max() are possible"

Evaluate = Callable[[Mapping[str, Floats]], Any]


@dataclass(frozen=True)
class ColumnExpression:
    """A parsed expression.

    Attributes
    ----------
    text : str
        The expression as it was written.
    columns : tuple of str
        Names of the columns in it, in the order of their first use.
    evaluate : callable
        Returns the value of each sample, given a dictionary of columns.
    """

    text: str
    columns: tuple[str, ...]
    evaluate: Evaluate


@lru_cache(maxsize=256)
def parse_expression(text: str) -> ColumnExpression:
    """Parse an arithmetic expression over columns.

    Parameters
    ----------
    text : str
        Such as ``0.1*amount - 5``, ``-max(amount, 20)`` or ``2*`unit price```.

    Raises
    ------
    ValueError
        If the text is anything else; the message shows where.

    Examples
    --------
    >>> import numpy as np
    >>> expression = parse_expression("0.1*amount - `fixed fee`")
    >>> expression.columns
    ('amount', 'fixed fee')
    >>> expression.evaluate({"amount": np.array([100.0, 20.0]), "fixed fee": np.array([5.0, 5.0])})
    array([ 5., -3.])
    >>> parse_expression("open('file')")
    Traceback (most recent call last):
        ...
    ValueError: "open('file')" cannot be read at column 1, "open('file')": there is no function 'open'; ...
    """
    if len(text) > _LONGEST:
        raise ValueError(f"an expression has at most {_LONGEST} characters, got {len(text)}: compute a column instead")
    return _Parser(text).parse()


class _Parser:
    """Turns the syntax tree of one text into nested functions of the columns."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._columns: dict[str, None] = {}
        self._quoted: dict[int, str] = {}
        self._plain, self._indent = text, 0

    def parse(self) -> ColumnExpression:
        """Return the expression; ValueError if the text is none."""
        if not self._text.strip():
            raise ValueError("an expression is empty: write a number, the name of a column, or '0.1*amount - 5'")
        # Same length, so that positions in the tree are positions in the text.
        plain = re.sub(r"\s", " ", _QUOTED.sub(self._note_quoted, self._text))
        if "`" in plain:
            raise self._error(plain.index("`"), "`", "a backtick opens a name and is not closed")
        try:
            tree = ast.parse(plain.lstrip(), mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            raise self._syntax_error(error) from error
        self._plain, self._indent = plain.lstrip(), len(plain) - len(plain.lstrip())
        evaluate = self._convert(tree, 0)
        return ColumnExpression(self._text, tuple(self._columns), evaluate)

    def _note_quoted(self, match: re.Match[str]) -> str:
        if not match[1].strip():
            raise self._error(match.start(), match[0], "there is no name between the backticks")
        self._quoted[match.start()] = match[1]
        return "_" * len(match[0])

    def _syntax_error(self, error: BaseException) -> ValueError:
        at = getattr(error, "offset", None)
        place = f" at column {at + len(self._text) - len(self._text.lstrip())}" if at else ""
        return ValueError(
            f"{self._text!r} is no arithmetic expression{place}: {_ALLOWED}; a name of a column with spaces or other "
            "signs stands between backticks, such as `unit price`"
        )

    def _error(self, at: int, part: str, why: str) -> ValueError:
        return ValueError(f"{self._text!r} cannot be read at column {at + 1}, {part!r}: {why}")

    def _refuse(self, node: ast.expr, why: str) -> ValueError:
        start, end = (self._position(at) for at in (node.col_offset, node.end_col_offset or 0))
        return self._error(start, self._text[start:end], f"{why}; {_ALLOWED}")

    def _position(self, n_bytes: int) -> int:
        """Return a position in the text, given the bytes before it in the tree."""
        return self._indent + len(self._plain.encode()[:n_bytes].decode(errors="ignore"))

    # ------------------------------------------------------------------------------------------------------ conversion

    def _convert(self, node: ast.expr, depth: int) -> Evaluate:
        """Return the function of the columns that a node stands for."""
        if depth > _DEEPEST:
            raise self._refuse(node, f"it is nested more than {_DEEPEST} deep")
        if isinstance(node, ast.Constant):
            return self._convert_number(node)
        if isinstance(node, ast.Name):
            return self._convert_name(node)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
            inner = self._convert(node.operand, depth + 1)
            return inner if isinstance(node.op, ast.UAdd) else lambda columns: -inner(columns)
        if isinstance(node, ast.BinOp) and type(node.op) in _OPERATIONS:
            operation = _OPERATIONS[type(node.op)]
            left, right = self._convert(node.left, depth + 1), self._convert(node.right, depth + 1)
            return lambda columns: operation(left(columns), right(columns))
        if isinstance(node, ast.Call):
            return self._convert_call(node, depth)
        raise self._refuse(node, "this is no arithmetic")

    def _convert_number(self, node: ast.Constant) -> Evaluate:
        value = node.value
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self._refuse(node, "this is no number")
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if not math.isfinite(number):
            raise self._refuse(node, "this number is too large")
        return lambda columns: number

    def _convert_name(self, node: ast.Name) -> Evaluate:
        name = self._quoted.get(self._position(node.col_offset), node.id)
        self._columns[name] = None
        return lambda columns: columns[name]

    def _convert_call(self, node: ast.Call, depth: int) -> Evaluate:
        name = node.func.id if isinstance(node.func, ast.Name) else None
        if name not in _FUNCTIONS or self._position(node.func.col_offset) in self._quoted:
            raise self._refuse(node, f"there is no function {name!r}" if name else "this is no arithmetic")
        function, fewest = _FUNCTIONS[name]
        if node.keywords or any(isinstance(one, ast.Starred) for one in node.args) or len(node.args) < fewest:
            raise self._refuse(node, f"{name}() takes {'one value' if fewest == 1 else 'two values or more'}")
        if fewest == 1 and len(node.args) > 1:
            raise self._refuse(node, f"{name}() takes one value")
        parts = [self._convert(one, depth + 1) for one in node.args]

        def evaluate(columns: Mapping[str, Floats]) -> Any:
            found = parts[0](columns)
            if fewest == 1:
                return function(found)
            for part in parts[1:]:
                found = function(found, part(columns))
            return found

        return evaluate


def suggest_column(name: str, known: Any) -> str:
    """Return what to add to a message about an unknown column: similar names, or some that there are.

    Examples
    --------
    >>> suggest_column("amout", ["age", "amount"])
    "; did you mean 'amount'?"
    """
    names = [str(one) for one in known]
    close = get_close_matches(name, names)
    if close:
        return f"; did you mean {' or '.join(map(repr, close))}?"
    listing = ", ".join(map(repr, names[:8])) + (", ..." if len(names) > 8 else "")
    return f"; the columns are {listing}" if names else ""
