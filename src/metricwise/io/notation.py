"""How numbers and missing values are written in text: with decimal points or commas."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Literal

Decimal = Literal[".", ","]

# Two repetitions that may share characters are never adjacent: matching would take quadratic time.
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_COMMA_NUMBER = re.compile(r"[+-]?((\d+(,\d*)?|,\d+)([eE][+-]?\d+)?|\d{1,3}(\.\d{3})+(,\d*)?)", re.ASCII)
_GROUPED_BY_COMMAS = re.compile(r"[+-]?\d{1,3}(,\d{3})+", re.ASCII)
_MISSING = re.compile(r"|\?|na|n/a|nan|null", re.IGNORECASE)


def check_decimal(decimal: str | None) -> Decimal | None:
    """Return a decimal point; ValueError if it is neither a dot nor a comma."""
    if decimal is None or decimal == "." or decimal == ",":
        return decimal  # type: ignore[return-value]
    raise ValueError(f"decimal must be '.' or ',', the decimal point of numbers in the file, got {decimal!r}")


def is_number(field: str) -> bool:
    """Whether a field is written as a number."""
    return _NUMBER.fullmatch(field) is not None


def is_comma_number(field: str) -> bool:
    """Whether a field is written as a number with a decimal comma, dots between thousands, or neither.

    Examples
    --------
    >>> [is_comma_number(field) for field in ("1,5", "-1.234,5", "1.234", "7", "1.5", "1,234,5")]
    [True, True, True, True, False, False]
    """
    return _COMMA_NUMBER.fullmatch(field) is not None


def reads_as_number(field: str) -> bool:
    """Whether a field is written as a number, with either decimal point."""
    return is_number(field) or is_comma_number(field)


def is_missing(field: str) -> bool:
    """Whether a field stands for a value that is missing."""
    return _MISSING.fullmatch(field) is not None


def loses_quotes(text: object) -> bool:
    """Return whether a text has another meaning without quotes around it: it has blanks around it, or says missing.

    Examples
    --------
    >>> [loses_quotes(text) for text in ("yes", "yes ", "NA", "")]
    [False, True, True, False]
    """
    return isinstance(text, str) and text != "" and (text != text.strip() or is_missing(text))


def recognise_decimal(rows: Sequence[tuple[str, ...]], delimiter: str) -> Decimal | None:
    """Return a comma if a column of the first rows holds nothing but numbers with decimal commas, some at least."""
    for column in zip(*rows, strict=False):
        fields = [field for field in column if not is_missing(field)]
        commas = [field for field in fields if "," in field]
        # Where commas divide fields, quoted ones may be between thousands.
        if delimiter == "," and all(map(_GROUPED_BY_COMMAS.fullmatch, commas)):
            continue
        if commas and all(map(is_comma_number, fields)):
            return ","
    return None


class Notations:
    """The decimal points of the columns of a file, which are corrected while it is read.

    Parameters
    ----------
    decimal : {".", ","} or None, default="."
        The decimal point of the file. Columns that it does not fit may have the other, unless it is a dot; None for a
        file that has not shown any comma so far.
    commas : collection of int, default=()
        Columns with decimal commas.
    """

    def __init__(self, decimal: str | None = ".", commas: Collection[int] = ()) -> None:
        self.commas = set(commas)
        self._may_switch = decimal != "."
        self._switched: set[int] = set()
        self._settled: set[int] = set()

    def switch(self, texts: dict[int, bytes], numbers: Sequence[int]) -> bool:
        """Give columns of numbers the other decimal point if that explains the first text in them.

        Parameters
        ----------
        texts : dict of int to bytes
            The first text of columns that hold some.
        numbers : sequence of int
            All columns of numbers.

        Returns
        -------
        bool
            Whether a decimal point was changed, so that the file has to be read again.
        """
        back = {number for number in texts if number in self._switched - self._settled}
        other = {number for number in texts if self._fits_other(number, texts[number])}
        self._settled |= back
        self._switched |= other
        if other - self.commas and not self.commas:
            # In a file with decimal commas, 1.234 is a number of four digits, in all of its columns.
            self.commas |= {number for number in numbers if number not in self._settled}
        else:
            self.commas ^= other
        self.commas ^= back
        return bool(other or back)

    def _fits_other(self, number: int, text: bytes) -> bool:
        if not self._may_switch or number in self._switched:
            return False
        field = text.decode(errors="replace")
        return is_number(field) if number in self.commas else is_comma_number(field)
