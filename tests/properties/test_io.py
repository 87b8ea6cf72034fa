"""Streams of files: every number equals Python's, and chunks do not depend on the blocks."""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from metricwise.io import MalformedLineError, stream, text

FORMS = [repr, "{:.6g}".format, "{:.17g}".format, "{:.16e}".format, "{:.25g}".format, "{:+.3f}".format]
finite = st.floats(allow_nan=False, allow_infinity=False)
spelled = st.builds(lambda form, value: form(value), st.sampled_from(FORMS), finite)
digits = st.from_regex(r"[+-]?([0-9]{1,25}\.?[0-9]{0,25}|\.[0-9]{1,25})([eE][+-]?[0-9]{1,3})?", fullmatch=True)
# Half way between two doubles, where one digit decides.
half_way = st.builds(lambda bits, power: f"{2 * bits + 1}e{power}", st.integers(2**52, 2**53 - 1), st.integers(-30, 30))
on_files = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=200)


def is_readable(token):
    return abs(float(token)) <= np.finfo(np.float64).max


@on_files
@given(tokens=st.lists((spelled | digits | half_way).filter(is_readable), min_size=1, max_size=30))
@example(tokens=["1e-320", "5e-324", "2.2250738585072011e-308", "1.7976931348623157e308", "-0.0", "9007199254740993"])
@example(tokens=["0." + "0" * 400 + "1", "0e999999999999", "1" * 30, "1e22", "1e23", "123456789012345678e-22"])
def test_numbers_equal_those_of_python(tmp_path, tokens):
    expected = [float(token) for token in tokens]
    labels = [token if abs(float(token)) < 2**53 else "1" for token in tokens]  # larger ones are refused
    sparse_file, table = tmp_path / "rows.svm", tmp_path / "rows.csv"
    sparse_file.write_text("".join(f"{label} 1:{token}\n" for label, token in zip(labels, tokens, strict=True)))
    table.write_text("".join(f"{token},{label}\n" for label, token in zip(labels, tokens, strict=True)))
    for path in (sparse_file, table):
        (chunk,) = stream(path, n_features=1)
        X = chunk.X if isinstance(chunk.X, np.ndarray) else chunk.X.toarray()
        # Compared as bytes, because zeros have a sign; a sparse matrix made dense loses it.
        assert chunk.y.tobytes() == np.array([float(label) for label in labels]).tobytes()
        np.testing.assert_array_equal(X[:, 0], expected)


@on_files
@given(token=st.text(st.sampled_from("0123456789+-.eEnaifx_"), min_size=1, max_size=8))
@example(token="inf")
@example(token="-infinity")
@example(token="nan")
@example(token="1_0")
@example(token="1e400")
def test_tokens_that_are_not_finite_numbers_are_malformed(tmp_path, token):
    path = tmp_path / "rows.csv"
    path.write_text(f"a,y\n{token},1\n")
    try:
        value = float(token) if "_" not in token else np.nan
    except ValueError:
        value = np.nan
    if np.isfinite(value):
        assert next(iter(stream(path))).X[0, 0] == value
    else:
        with pytest.raises(MalformedLineError, match="line 2, column 1"):
            list(stream(path))


rows_of_text = st.lists(
    st.one_of(
        st.builds(
            lambda label, entries: " ".join([label, *(f"{j}:{v}" for j, v in sorted(entries.items()))]),
            st.sampled_from(["1", "-1", "+1"]),
            st.dictionaries(st.integers(1, 9), spelled, max_size=4),
        ),
        st.sampled_from(["", "  ", "# comment", "1 1:x", "1 0:1", "x"]),
    ),
    max_size=25,
)


@on_files
@given(lines=rows_of_text, ends=st.sampled_from(["\n", "\r\n"]), block=st.integers(1, 60), chunk_rows=st.integers(1, 7))
@pytest.mark.filterwarnings("ignore:.*malformed line:UserWarning")
def test_chunks_depend_on_rows_alone(tmp_path, lines, ends, block, chunk_rows):
    path = tmp_path / "rows.svm"
    path.write_bytes(ends.join(["1 1:1", *lines]).encode())
    results = []
    for size in (block, 1 << 22):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(text, "BLOCK_BYTES", size)
            rows = stream(path, n_features=9, chunk_rows=chunk_rows, on_error="skip")
            chunks = [(c.first_row, c.y.tolist(), c.X.toarray().tolist()) for c in rows]
            results.append((chunks, rows.skipped, rows.skipped_lines))
            for start in range(len(chunks) + 1):
                assert [c.first_row for c in rows.chunks(start)] == [c[0] for c in chunks[start:]]
    assert results[0] == results[1]


labels = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc", "Z"]), min_size=1, max_size=6)


@on_files
@given(
    table=st.lists(st.tuples(finite, labels), min_size=1, max_size=20),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC]),
    block=st.integers(1, 60),
)
def test_labels_survive_quoting(tmp_path, table, quoting, block):
    table = [(value, f"label {label}") for value, label in table]
    buffer = io.StringIO()
    csv.writer(buffer, quoting=quoting).writerows([("x", "y"), *table])
    path = tmp_path / "rows.csv"
    path.write_bytes(buffer.getvalue().encode())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text, "BLOCK_BYTES", block)
        (chunk,) = stream(path)
    assert chunk.y.tolist() == [label for _, label in table]
    assert chunk.X[:, 0].tolist() == [value for value, _ in table]
