"""Parse rows of delimited text, whole files or blocks of lines: numbers are read, texts are only located.

The text ends with a line feed, so that every scan for the end of a token stops by itself. The parser reads rows until
enough are read, the text or the room for slow numbers ends, or a line is malformed; it returns

    (code, rows, position, place, slow numbers)

where ``position`` is the start of the first line not read and ``place`` is where the problem ``code`` was found.
"""

import numpy as np

from metricwise.kernels.compiling import kernel
from metricwise.kernels.decimals import DOT, EXACT, NOT_A_NUMBER, SLOW, read_number
from metricwise.kernels.parsing import _find_next_line, _skip_blanks, _trim_blanks
from metricwise.kernels.pure_python import allow_overflow

# What is wrong with a line. The last three are found by the caller.
FINE, TOO_FEW, TOO_MANY, UNCLOSED, QUOTES, VALUE, RANGE, WEIGHT, LABEL, ENCODING = range(10)
NUMBER, TEXT, IGNORED = range(3)  # kinds of columns
MISSING = -1  # start of a text that is missing

_LINE_FEED, _BLANK, _BACKSLASH = 10, 32, 92


@kernel
def _is_missing(block, start, stop):
    """Return whether a text stands for a missing value: nothing, ?, NA, N/A, nan or null, in any case."""
    length = stop - start
    if length == 0 or length > 4:
        return length == 0
    first = block[start] | 32
    if length == 1:
        return block[start] == 63
    second, last = block[start + 1] | 32, block[stop - 1] | 32
    if length == 2:
        return first == 110 and second == 97
    if length == 3:
        return first == 110 and ((second == 97 and last == 110) or (block[start + 1] == 47 and last == 97))
    return first == 110 and second == 117 and block[start + 2] | 32 == 108 and last == 108


@kernel
def _find_quote_end(block, at, mark, escapes, on_one_line):
    """Return the end of a quoted text, -1 if there is none, and whether it has escaped characters."""
    special = False
    while at < block.size and not (on_one_line and block[at] == _LINE_FEED):
        if escapes and block[at] == _BACKSLASH:
            special = True
            at += 2
        elif block[at] != mark:
            at += 1
        elif at + 1 < block.size and block[at + 1] == mark:
            special = True
            at += 2
        else:
            return at, special
    return -1, special


@kernel
def field_bounds(block, at, delimiter, quote, other_quote, on_one_line):
    """Find one field; return the problem, start and stop, whether it is quoted or has escapes, and its end.

    A delimiter that is blank may be repeated.
    """
    at = _skip_blanks(block, at, 0 if delimiter == _BLANK else delimiter)
    mark = block[at]
    if mark == quote or (other_quote != 0 and mark == other_quote):
        stop, special = _find_quote_end(block, at + 1, mark, other_quote != 0, on_one_line)
        if stop < 0:
            return UNCLOSED, at, at, True, special, at
        end = _skip_blanks(block, stop + 1, delimiter)
        fine = block[end] == delimiter or block[end] == _LINE_FEED
        return FINE if fine else QUOTES, at + 1, stop, True, special, end
    start = at
    while block[at] != delimiter and block[at] != _LINE_FEED:
        at += 1
    return FINE, start, _trim_blanks(block, start, at), False, False, at


@kernel
def locate_field(block, line, column, delimiter, quote, other_quote):
    """Return the start of the content of a field, in a row whose fields before it are well-formed."""
    at = line
    for _ in range(column):
        at = field_bounds(block, at, delimiter, quote, other_quote, False)[-1] + 1
    return field_bounds(block, at, delimiter, quote, other_quote, False)[1]


@kernel
def count_fields(block, line, delimiter, quote, other_quote):
    """Return the number of fields of a line, as far as its quotes are closed."""
    count, at = 0, line
    while True:
        code, _, _, _, _, at = field_bounds(block, at, delimiter, quote, other_quote, True)
        if delimiter == _BLANK:
            at = _skip_blanks(block, at, 0)
        count += 1
        if code != FINE or block[at] == _LINE_FEED:
            return count
        at += delimiter != _BLANK


@kernel
def divide_row(block, at, delimiter, quote, other_quote):
    """Find the fields of a row; return the problem, their bounds, and the end of the row or where the problem is.

    The bounds are start, stop (negative for a text with special characters) and whether the field is quoted.
    """
    blank = delimiter == _BLANK
    bounds, count = np.empty((16, 3), dtype=np.int64), 0
    while True:
        code, start, stop, quoted, special, at = field_bounds(block, at, delimiter, quote, other_quote, False)
        if blank and code == FINE:
            at = _skip_blanks(block, at, 0)
        if count == bounds.shape[0]:
            longer = np.empty((2 * count, 3), dtype=np.int64)
            longer[:count] = bounds
            bounds = longer
        bounds[count, 0] = start
        bounds[count, 1] = -stop if special else stop
        bounds[count, 2] = quoted
        count += 1
        if code != FINE or block[at] == _LINE_FEED:
            return code, bounds[:count], at if code != FINE else at + 1
        at += not blank


@kernel
def parse_fields(
    block,
    at,
    row,
    max_rows,
    delimiter,
    quotes,
    comment,
    strict,
    limit,
    kinds,
    points,
    places,
    values,
    starts,
    stops,
    lines,
    texts,
    slow,
):
    """Read rows from number ``row`` on.

    Numbers of column c have the decimal point ``points[c]``, and dots between thousands if that is another one. The
    column is column ``places[c]`` of ``values`` if it holds numbers, or row of ``starts`` and ``stops`` if texts; the
    stop of a text with special characters is negated. ``lines`` is where the lines of the rows start, ``texts`` how
    many texts were found in columns of numbers, and where the first was. A delimiter that is blank may be repeated.
    If ``strict``, a row is one line, and what is no number up to ``limit`` in a column of numbers is malformed.
    """
    blank = delimiter == _BLANK
    n_columns = kinds.size
    first, n_slow = row, 0
    while row < max_rows and at < block.size and n_slow + n_columns <= slow.shape[0]:
        line, before = at, n_slow
        at = _skip_blanks(block, at, 0 if blank else delimiter)
        if block[at] == _LINE_FEED:
            at += 1
            continue
        if comment != 0 and block[at] == comment:
            at = _find_next_line(block, at)
            continue
        lines[row] = line
        at = at if blank else line
        for column in range(n_columns):
            place = places[column]
            kind, value, end = NOT_A_NUMBER, np.nan, at
            if kinds[column] == NUMBER:
                # Nearly all fields are plain numbers, with neither blanks nor quotes.
                point = points[column]
                bare = np.uint8(0) if point == delimiter else point  # a delimiter is a decimal point in quotes only
                kind, value, end = read_number(block, at, bare)
            if kind == EXACT and (block[end] == delimiter or block[end] == _LINE_FEED) and abs(value) <= limit:
                values[row, place] = value
            else:
                code, start, stop, quoted, special, end = field_bounds(
                    block, at, delimiter, quotes[0], quotes[1], strict
                )
                if code != FINE:
                    return code, row - first, line, start, before
                if kinds[column] == TEXT:
                    absent = stop == start or (not strict and not quoted and _is_missing(block, start, stop))
                    starts[place, row] = MISSING if absent else start
                    stops[place, row] = -stop if special else stop
                elif kinds[column] == NUMBER:
                    code, kind, value = _read_number(block, start, stop, limit, point if quoted else bare)
                    if code != FINE and strict:
                        return code, row - first, line, start, before
                    values[row, place] = value
                    if kind == SLOW:
                        slow[n_slow] = place, row, start, stop
                        n_slow += 1
                    elif code == VALUE and not _is_missing(block, start, stop):
                        if texts[column, 0] == 0:
                            texts[column, 1] = start
                        texts[column, 0] += 1
            at = _skip_blanks(block, end, 0) if blank else end
            if (column == n_columns - 1) != (block[at] == _LINE_FEED):
                return TOO_MANY if column == n_columns - 1 else TOO_FEW, row - first, line, at, before
            at += 0 if blank and column < n_columns - 1 else 1
        row += 1
    return FINE, row - first, at, at, n_slow


@kernel
def _is_grouped(block, start, stop, point):
    """Return whether a number has dots between thousands, and another decimal point or none: 1.234.567,8."""
    at = start + (block[start] == 45 or block[start] == 43)
    first, groups, length = at, 0, 0
    while at < stop and (block[at] == DOT or 48 <= block[at] <= 57):
        if block[at] == DOT:
            if length == 0 or length > 3 or (groups > 0 and length != 3):
                return False
            groups, length = groups + 1, 0
        else:
            length += 1
        at += 1
    if at == first or groups == 0 or length != 3:
        return False
    at += at < stop and block[at] == point
    while at < stop and 48 <= block[at] <= 57:
        at += 1
    return at == stop


@kernel
def _read_number(block, start, stop, limit, point):
    """Read a number with blanks around it; return the problem, the kind of number, and its value, nan if none."""
    start, stop = _skip_blanks(block, start, 0), _trim_blanks(block, start, stop)
    kind, value, end = read_number(block, start, point)
    if kind == NOT_A_NUMBER or end != stop:
        if point != DOT and _is_grouped(block, start, stop, point):
            return FINE, SLOW, np.nan
        return VALUE, NOT_A_NUMBER, np.nan
    return RANGE if kind == EXACT and abs(value) > limit else FINE, kind, value


# ------------------------------------------------------------------------------------------------------ distinct texts

_OFFSET, _PRIME = np.uint64(14695981039346656037), np.uint64(1099511628211)  # of the hash of Fowler, Noll and Vo


@kernel
def _same_text(block, start, stop, other, end):
    """Return whether two texts are written alike, escaped characters (a negative stop) included."""
    if (stop < 0) != (end < 0) or abs(stop) - start != abs(end) - other:
        return False
    for offset in range(-1 if stop < 0 else 0, abs(stop) - start):  # of special ones the quote in front counts as well
        if block[start + offset] != block[other + offset]:
            return False
    return True


@allow_overflow
@kernel
def number_texts(block, starts, stops, codes, firsts, slots):
    """Write a code per distinct text of a column, and its first row to ``firsts``; return the number of codes.

    ``slots`` is a hash table of -1, a power of two long and longer than the column.
    """
    count = 0
    for row in range(starts.size):
        start, stop = starts[row], stops[row]
        if start == MISSING:
            codes[row] = -1
            continue
        value = _OFFSET
        for at in range(start, abs(stop)):
            value = (value ^ np.uint64(block[at])) * _PRIME
        place = np.int64((value ^ (value >> np.uint64(32))) & np.uint64(slots.size - 1))
        while slots[place] >= 0:
            first = firsts[slots[place]]
            if _same_text(block, start, stop, starts[first], stops[first]):
                break
            place = (place + 1) & (slots.size - 1)
        if slots[place] < 0:
            slots[place] = count
            firsts[count] = row
            count += 1
        codes[row] = slots[place]
    return count
