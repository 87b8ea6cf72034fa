"""Text files in other encodings than UTF-8: the same rows from every reader, and errors that say what to do."""

from __future__ import annotations

import gzip
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import metricwise as mw
from metricwise.io import MalformedLineError, open, read_table, stream
from metricwise.io import encodings as module
from tests.cli.invocation import run_command

ENCODINGS = ["latin-1", "cp1252", "utf-16", "utf-16-be", "utf-32", "utf-8-sig", "UTF-8"]
CSV = "größe;höhe;urteil\n" + "".join(f"{k % 7}.5;{k};{'schön' if k % 3 else 'häßlich'}\n" for k in range(60))
SVMLIGHT = "".join(f"{'schön' if k % 3 else 'häßlich'} 1:{k % 7}.5 3:{k} # Straße\n" for k in range(60))
ARFF = "% Müller\n@relation r\n@attribute größe real\n@attribute urteil {schön,häßlich}\n@data\n1,schön\n2,häßlich\n"
each_encoding = pytest.mark.parametrize("encoding", ENCODINGS)


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let characters and lines span blocks."""
    monkeypatch.setattr(module, "_BLOCK_BYTES", 7)


def write(folder: Path, name: str, text: str, encoding: str, compress: bool = False) -> Path:
    data = text.encode(encoding)
    path = folder / f"{re.sub('[^a-z0-9]', '', encoding.lower())}-{name}"
    path.write_bytes(gzip.compress(data) if compress else data)
    return path


def read_all(path: Path, **options: Any) -> list[tuple[Any, list[Any]]]:
    """Return X and y of the readers that take text: all rows, chunks, and rows on disk."""
    table = read_table(path, **options)
    chunks = list(stream(path, chunk_rows=25, **options))
    disk = open(path, **options)
    dense = [table.X, *(chunk.X for chunk in chunks), *(block for _, block in disk.blocks())]
    labels = [table.y, *(chunk.y for chunk in chunks), disk.y]
    arrays = [np.asarray(X.toarray() if hasattr(X, "toarray") else X).tolist() for X in dense]
    return [(table.feature_names, disk.feature_names), arrays, [y.tolist() for y in labels]]


@each_encoding
@pytest.mark.parametrize("compress", [False, True], ids=["plain", "gzip"])
@pytest.mark.parametrize(("name", "text"), [("rows.csv", CSV), ("rows.svm", SVMLIGHT)], ids=["csv", "svmlight"])
def test_every_reader_finds_the_rows_of_the_same_file_in_utf8(
    tmp_path: Path, encoding: str, compress: bool, name: str, text: str
) -> None:
    expected = read_all(write(tmp_path, f"plain-{name}", text, "utf-8"))
    assert "schön" in expected[2][0]
    assert read_all(write(tmp_path, name, text, encoding, compress), encoding=encoding) == expected


@each_encoding
def test_arff_files_are_transcoded(tmp_path: Path, encoding: str) -> None:
    table = read_table(write(tmp_path, "rows.arff", ARFF, encoding), encoding=encoding)
    assert table.feature_names == ("größe",) and table.y is not None and table.y.tolist() == ["schön", "häßlich"]


def test_the_format_of_a_file_without_suffix_is_recognised(tmp_path: Path) -> None:
    path = write(tmp_path, "rows", CSV, "utf-16")
    assert stream(path, encoding="utf-16").recognised.endswith(
        "separated by semicolons, with header, encoded as utf-16"
    )


def test_malformed_lines_are_named_by_their_place_in_the_text(tmp_path: Path) -> None:
    path = write(tmp_path, "rows.csv", "größe;höhe;urteil\n1;2;schön\n1;zwölf;schön\n", "utf-16")
    with pytest.raises(MalformedLineError, match=r"line 3, column 3: found 'zwölf' in column 'höhe'"):
        list(stream(path, encoding="utf-16"))
    with pytest.warns(UserWarning, match="1 malformed line was left out"):
        assert sum(len(chunk.y) for chunk in stream(path, encoding="utf-16", on_error="skip")) == 1


@pytest.mark.parametrize("on_error", ["raise", "skip"])
def test_a_byte_outside_of_the_encoding_is_named(tmp_path: Path, on_error: Any) -> None:
    path = tmp_path / "rows.csv"
    path.write_bytes(b"a,b,y\n" + b"1,2,\xe4\n" * 9 + b"1,2,x\x81\n")
    message = r"rows\.csv, line 11, column 6: found the byte 0x81, which is not cp1252: pass .* encoding='cp1252'$"
    with pytest.raises(MalformedLineError, match=message) as caught:
        read_table(path, encoding="cp1252")
    assert (caught.value.line, caught.value.column) == (11, 6)
    with pytest.raises(MalformedLineError, match=message):
        list(stream(path, encoding="cp1252", on_error=on_error))
    with pytest.raises(MalformedLineError, match=message):
        open(path, encoding="cp1252", on_error=on_error)


@pytest.mark.parametrize(("name", "text"), [("rows.csv", CSV), ("rows.svm", SVMLIGHT), ("rows.arff", ARFF)])
def test_text_that_is_not_utf8_names_the_byte_and_the_remedy(tmp_path: Path, name: str, text: str) -> None:
    path = write(tmp_path, name, text, "latin-1")
    message = r"line \d, column \d+: .*found the byte 0x\w\w of a text that is not UTF-8: .*encoding='latin-1'"
    with pytest.raises(MalformedLineError, match=message):
        read_table(path)
    if name != "rows.arff":
        with pytest.raises(MalformedLineError, match=message):
            list(stream(path))


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
@pytest.mark.parametrize("compress", [False, True], ids=["plain", "gzip"])
def test_encodings_with_a_byte_order_mark_are_recognised(tmp_path: Path, encoding: str, compress: bool) -> None:
    expected = read_all(write(tmp_path, "plain-rows.csv", CSV, "utf-8"))
    path = write(tmp_path, "rows.csv", CSV, encoding, compress)
    assert read_all(path) == expected
    assert f"encoded as {encoding}" in read_table(path).recognised
    assert read_table(write(tmp_path, "rows.arff", ARFF, encoding)).feature_names == ("größe",)


@pytest.mark.parametrize("encoding", ["klingon", "hex", ""])
def test_unknown_encodings_are_refused(tmp_path: Path, encoding: str) -> None:
    path = write(tmp_path, "rows.csv", CSV, "utf-8")
    for read in (read_table, stream, open):
        with pytest.raises(ValueError, match=f"encoding must be the name of a text encoding, .* got {encoding!r}"):
            read(path, encoding=encoding)


def test_files_without_text_have_no_encoding(tmp_path: Path) -> None:
    np.save(tmp_path / "X.npy", np.eye(3))
    with pytest.raises(ValueError, match="encoding='latin-1' has no meaning for the format 'npy': leave it out"):
        open(tmp_path / "X.npy", encoding="latin-1")
    pytest.importorskip("pyarrow")
    pandas = pytest.importorskip("pandas")
    pandas.DataFrame({"a": [1.0, 2.0], "y": [0, 1]}).to_parquet(tmp_path / "rows.parquet")
    for read in (read_table, stream, open):
        with pytest.raises(ValueError, match="encoding='utf-16' has no meaning for the format 'parquet'"):
            read(tmp_path / "rows.parquet", encoding="utf-16")


@pytest.mark.parametrize("more", [[], ["--stream"], ["--disk"]], ids=["memory", "stream", "disk"])
def test_the_command_reads_encodings(tmp_path: Path, more: list[str]) -> None:
    path, model = write(tmp_path, "rows.csv", CSV, "latin-1"), tmp_path / "model.mw"
    algorithm = "stamp" if more == ["--stream"] else "multivariate-svm"
    options = ["--algorithm", algorithm, "--pos-label", "schön", "--out", model, "-q", *more]
    message = run_command("train", path, *options, code=1).stderr
    assert "of a text that is not UTF-8: pass the encoding of the file, such as --encoding latin-1" in message
    run_command("train", path, *options, "--encoding", "latin-1")
    assert mw.load(model).classes_.tolist() == ["häßlich", "schön"]
    marked = write(tmp_path, "rows.csv", CSV, "utf-16")
    run_command("train", marked, *options)
    predicted = run_command("predict", model, marked, "-q").stdout
    assert "schön" in predicted


def test_text_without_a_byte_order_mark_raises(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text(CSV, encoding="latin-1")
    with pytest.raises(MalformedLineError, match=r"line 1, column \d+.*pass the encoding of the file"):
        read_table(path, encoding="utf-16")


@pytest.mark.parametrize(("encoding", "text"), [("utf-7", b"+2AA-"), ("unicode_escape", b"\\ud800")])
def test_halves_of_surrogate_pairs_are_named(tmp_path: Path, encoding: str, text: bytes) -> None:
    path = tmp_path / "rows.csv"
    path.write_bytes(b"a,b,y\n1,2,0\nx" + text + b",4,1\n")
    with pytest.raises(MalformedLineError, match=r"rows\.csv, line 3, column 2: found the half of a surrogate pair"):
        read_table(path, encoding=encoding)
