"""Parse labelled rows of the svmlight format from blocks of bytes, with scans that all text formats share.

A block holds whole lines and ends with a line feed, so that every scan for the end of a token stops by itself: no scan
steps over a line feed, and a byte is read only behind one that is none. A parser
reads lines until enough rows are full, the block ends or a line is malformed; it returns

    (code, rows, position, place, slow tokens)

where ``position`` is the start of the first line not read and ``place`` is where the problem ``code`` was found.
Numbers that compiled arithmetic cannot convert exactly are listed as slow tokens (kind of field, index, start, stop,
row) for the caller to convert.
"""

import numpy as np

from metricwise.kernels.compiling import kernel
from metricwise.kernels.decimals import DOT, NOT_A_NUMBER, SLOW, read_number

# What is wrong with a line. The caller finds texts that are not UTF-8, and queries that are divided.
FINE, LABEL, INDEX, ZERO_INDEX, INDEX_ORDER, INDEX_RANGE, VALUE, RANGE, ENCODING = range(9)
NO_QUERY, QUERY, SPLIT_QUERY = range(9, 12)
# The kinds of labels, and the fields of a line.
ANY_LABEL, NUMBER_LABEL, TEXT_LABEL = range(3)
FEATURE_FIELD, TARGET_FIELD = 0, -1

_TAB, _LINE_FEED, _RETURN, _BLANK, _HASH, _COMMA, _COLON = 9, 10, 13, 32, 35, 44, 58
_PLUS, _MINUS, _ZERO, _NINE = 43, 45, 48, 57


@kernel
def _skip_blanks(block, at, delimiter):
    """Return the next position that is neither blank, tab nor carriage return, unless that is the delimiter."""
    while (block[at] == _BLANK or block[at] == _TAB or block[at] == _RETURN) and block[at] != delimiter:
        at += 1
    return at


@kernel
def _trim_blanks(block, start, stop):
    """Return the end of a text without trailing blanks."""
    while stop > start and (block[stop - 1] == _BLANK or block[stop - 1] == _TAB or block[stop - 1] == _RETURN):
        stop -= 1
    return stop


@kernel
def _find_next_line(block, at):
    """Return the start of the next line."""
    while block[at] != _LINE_FEED:
        at += 1
    return at + 1


@kernel
def skip_rows(block, at, count, comment):
    """Skip ``count`` rows without parsing them; return the start of the next line and the number of skipped rows.

    Empty lines, and lines that start with the byte ``comment``, are no rows.
    """
    passed = 0
    while passed < count and at < block.size:
        first = block[_skip_blanks(block, at, 0)]
        passed += first != _LINE_FEED and first != comment
        at = _find_next_line(block, at)
    return at, passed


@kernel
def _is_missing(block, start, stop):
    """Return whether a text spells nan, inf or infinity: a missing value, not a class."""
    if block[start] == _PLUS or block[start] == _MINUS:
        start += 1
    if stop - start != 3 and stop - start != 8:
        return False
    a, b, c = block[start] | 32, block[start + 1] | 32, block[start + 2] | 32
    if stop - start == 3 and a == 110 and b == 97 and c == 110:
        return True
    return a == 105 and b == 110 and c == 102 and (stop - start == 3 or block[stop - 1] | 32 == 121)


# ------------------------------------------------------------------------------------------------------------ svmlight


@kernel
def _ends_token(byte):
    return byte <= _BLANK or byte == _HASH  # other control characters are refused as the start of the next token


@kernel
def _read_svmlight_label(block, at, mode):
    """Read the first token; return whether it is a label, the kind of number, its value, and its end."""
    start, kind, value = at, NOT_A_NUMBER, np.nan
    if mode != TEXT_LABEL:
        kind, value, at = read_number(block, at, DOT)
        if kind != NOT_A_NUMBER and _ends_token(block[at]):
            return True, kind, value, at
        if mode == NUMBER_LABEL:
            return False, kind, value, at
    at = start
    while not _ends_token(block[at]):
        if block[at] == _COLON or block[at] == _COMMA:
            return False, kind, value, at
        at += 1
    return not _is_missing(block, start, at), NOT_A_NUMBER, np.nan, at


@kernel
def _read_svmlight_entries(block, at, base, n_features, limit, row, entry, skips, indices, values, slow, n_slow):
    """Read ``index:value`` to the end of the line; return the problem, the end, and entries and slow tokens so far.

    If ``skips`` is true, the query of a ranking problem may come first, and is skipped.
    """
    first, previous = entry, -1
    while True:
        at = _skip_blanks(block, at, 0)
        if block[at] == _LINE_FEED or block[at] == _HASH:
            return FINE, at, entry, n_slow
        start, index = at, np.int64(0)
        while _ZERO <= block[at] <= _NINE:
            index = 10 * index + (np.int64(block[at]) - _ZERO)
            at += 1
        if skips and at == start and entry == first and _is_query(block, at):
            while not _ends_token(block[at]):
                at += 1
            continue
        if at == start or at - start > 18 or block[at] != _COLON:
            return INDEX, start, entry, n_slow
        index -= base
        if index <= previous or index >= n_features:
            code = ZERO_INDEX if index < 0 else INDEX_ORDER if index <= previous else INDEX_RANGE
            return code, start, entry, n_slow
        at += 1
        start = at
        kind, value, at = read_number(block, at, DOT)
        if kind == NOT_A_NUMBER or not _ends_token(block[at]):
            return VALUE, start, entry, n_slow
        if kind == SLOW:
            slow[n_slow] = FEATURE_FIELD, entry, start, at, row
            n_slow += 1
        elif abs(value) > limit:
            return RANGE, start, entry, n_slow
        indices[entry], values[entry] = index, value
        previous = index
        entry += 1


@kernel
def _is_query(block, at):
    """Return whether the token is the query of a ranking problem, ``qid:`` and a number."""
    return block[at] == 113 and block[at + 1] == 105 and block[at + 2] == 100 and block[at + 3] == _COLON


@kernel
def _read_query(block, at):
    """Read ``qid:`` and a whole number; return the problem, where it is or the token ends, and the number."""
    at = _skip_blanks(block, at, 0)
    if not _is_query(block, at):
        return NO_QUERY, at, np.int64(0)
    start, query = at, np.int64(0)
    at += 4
    while _ZERO <= block[at] <= _NINE and at - start < 4 + 18:
        query = 10 * query + (np.int64(block[at]) - _ZERO)
        at += 1
    if at == start + 4 or not _ends_token(block[at]):
        return QUERY, start, query
    return FINE, at, query


@kernel
def parse_svmlight(
    block, at, max_rows, base, n_features, mode, limit, labels, spans, indptr, indices, values, slow, queries
):
    """Read rows of ``label index:value ...``; ``spans`` are the labels' first byte and the one behind the last.

    If ``queries`` has room for all rows, each must have ``qid:number`` behind its label; else these are skipped.
    """
    rows, n_slow, has_queries = 0, 0, queries.size >= max_rows
    indptr[0] = 0
    while rows < max_rows and at < block.size:
        line = at
        at = _skip_blanks(block, at, 0)
        if block[at] == _LINE_FEED or block[at] == _HASH:
            at = _find_next_line(block, at)
            continue
        start = at
        valid, kind, labels[rows], at = _read_svmlight_label(block, at, mode)
        if not valid:
            return LABEL, rows, line, start, n_slow
        spans[rows, 0], spans[rows, 1] = start, at
        before = n_slow
        if kind == SLOW:
            slow[n_slow] = TARGET_FIELD, rows, start, at, rows
            n_slow += 1
        if has_queries:
            code, at, queries[rows] = _read_query(block, at)
            if code != FINE:
                return code, rows, line, at, before
        code, at, indptr[rows + 1], n_slow = _read_svmlight_entries(
            block, at, base, n_features, limit, rows, indptr[rows], not has_queries, indices, values, slow, n_slow
        )
        if code != FINE:
            return code, rows, line, at, before
        rows += 1
        at = _find_next_line(block, at)
    return FINE, rows, at, at, n_slow
