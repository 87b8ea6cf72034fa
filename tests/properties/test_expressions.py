"""Expressions over columns: equal to Python's own arithmetic, and no text does anything but raise or evaluate."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metricwise.measures.expressions import parse_expression, suggest_column

NAMES = {"a": "a", "b_1": "b_1", "two words": "`two words`", "größe": "größe", "1st": "`1st`"}
COLUMNS = {name: np.random.default_rng(len(name)).normal(size=6) for name in NAMES}


class Written:
    """An expression as text, with the values that it should have."""

    def __init__(self, text, values):
        self.text, self.values = text, values


def numbers():
    return st.floats(-1e6, 1e6, allow_nan=False).map(lambda x: Written(repr(x), np.full(6, x)))


def columns():
    return st.sampled_from(sorted(NAMES)).map(lambda name: Written(NAMES[name], COLUMNS[name]))


def extend(inner):
    operations = {"+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide}
    functions = {"min": np.minimum, "max": np.maximum}

    def combine(sign, left, right):
        with np.errstate(all="ignore"):
            return Written(f"({left.text}) {sign}({right.text} )", operations[sign](left.values, right.values))

    return st.one_of(
        st.builds(combine, st.sampled_from("+-*/"), inner, inner),
        st.builds(lambda one: Written(f"-({one.text})", -one.values), inner),
        st.builds(lambda one: Written(f"abs({one.text})", np.abs(one.values)), inner),
        st.builds(
            lambda name, one, other: Written(
                f"{name}({one.text}, {other.text})", functions[name](one.values, other.values)
            ),
            st.sampled_from(sorted(functions)),
            inner,
            inner,
        ),
    )


@given(st.recursive(st.one_of(numbers(), columns()), extend, max_leaves=8))
def test_values_equal_those_of_numpy(written):
    expression = parse_expression(written.text)
    with np.errstate(all="ignore"):
        found = np.broadcast_to(expression.evaluate(COLUMNS), 6)
    np.testing.assert_array_equal(found, written.values)
    assert set(expression.columns) <= set(NAMES)


@given(st.text(alphabet="ab1.+-*/()` ,'\"_[]{}:=lambdéimport\n\t#\\@", max_size=40))
def test_any_text_evaluates_or_raises_a_value_error(text):
    try:
        expression = parse_expression(text)
    except ValueError as error:
        assert str(error)
        return
    with np.errstate(all="ignore"):
        found = expression.evaluate({name: np.ones(2) for name in expression.columns})
    assert np.asarray(found).dtype == np.float64


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('true')",
        "a.__class__",
        "(lambda: 1)()",
        "[a for a in b]",
        "a ** 9999999",
        "a if b else 1",
        "a < b",
        "a and b",
        "'text'",
        "1j",
        "a[0]",
        "max(*a)",
        "max(a, key=b)",
        "`a`(1)",
        "a := 1",
        "f'{a}'",
        "~a",
        "a @ b",
        "a // b",
        "a % b",
    ],
)
def test_nothing_but_arithmetic_is_accepted(text):
    with pytest.raises(ValueError, match="are possible"):
        parse_expression(text)


def test_errors_show_the_place():
    with pytest.raises(ValueError, match=r"at column 5, 'größe\.b'"):
        parse_expression("a + größe.b")
    with pytest.raises(ValueError, match=r"at column 9, 'sin\(a\)'"):
        parse_expression("`é ö` + sin(a)")
    with pytest.raises(ValueError, match="stands between backticks"):
        parse_expression("unit price")
    with pytest.raises(ValueError, match="not closed"):
        parse_expression("2*`unit price")


def test_size_is_bounded():
    with pytest.raises(ValueError, match="1000 characters"):
        parse_expression("+".join(["a"] * 1000))
    with pytest.raises(ValueError, match="nested more than 50 deep"):
        parse_expression("-" * 200 + "a")
    with pytest.raises(ValueError):
        parse_expression("(" * 400 + "a" + ")" * 400)


def test_columns_are_suggested():
    assert suggest_column("amout", ["amount", "age"]) == "; did you mean 'amount'?"
    assert suggest_column("x", ["amount"]) == "; the columns are 'amount'"
