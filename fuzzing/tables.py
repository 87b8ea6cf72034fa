"""Random tables, written as files of every format that is read."""

from __future__ import annotations

import csv
import gzip
import io
import math
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from fuzzing.archives import write_array

TEXT_FORMATS = ("csv", "tsv", "semicolons", "svmlight", "arff", "sparse_arff")
FORMATS = (*TEXT_FORMATS, "npy", "npz", "parquet")
SUFFIXES = {"semicolons": ".csv", "svmlight": ".svm", "sparse_arff": ".arff"}
DELIMITERS = {"csv": ",", "tsv": "\t", "semicolons": ";"}
_SPELLINGS = ("{!r}", "{:.6g}", "{:.17g}", "{:.3e}", "{:+.4f}", "{:.25g}")
_WORDS = (
    "clerk",
    "head cook",
    "a,b",
    'the "boss"',
    "semi;colon",
    "naïve",
    "x",
    "yes",
    "it's",
    "two\nlines",
    "tab\there",
)


@dataclass(frozen=True)
class DataFile:
    """A file by its format, and the name that shows it."""

    format: str
    name: str
    content: bytes


def write_random_file(random: Random) -> DataFile:
    """Return a valid file of a random format; every third of text is compressed."""
    format = random.choice(FORMATS)
    content = _WRITERS[format](random)
    name = f"data{SUFFIXES.get(format, '.' + format)}"
    if format in TEXT_FORMATS and random.random() < 0.33:
        return DataFile(format, name + ".gz", gzip.compress(content, mtime=0))
    return DataFile(format, name, content)


def _draw_number(random: Random) -> float:
    kind = random.randrange(6)
    if kind == 0:
        return float(random.randint(-5, 5))
    if kind == 1:
        return random.uniform(-1.0, 1.0) * 10.0 ** random.randint(-300, 300)
    if kind == 2:
        return random.choice([0.0, -0.0, 5e-324, 2.2250738585072011e-308, 1.7976931348623157e308, 2.0**53 + 2, 0.1])
    return random.gauss(0.0, 10.0)


def _spell(value: float, random: Random) -> str:
    """Return a number as text; rounded, the largest ones would be too large."""
    text = random.choice(_SPELLINGS).format(value)
    return text if math.isfinite(float(text)) else repr(value)


def _draw_columns(random: Random, has_words: bool) -> tuple[int, list[list[str]]]:
    """Return the number of rows, and columns of numbers and, if asked for, of words, as texts."""
    n_rows = random.choice([1, 2, 3, 5, 8, 20, 60])
    columns = []
    for _ in range(random.randint(1, 6)):
        if has_words and random.random() < 0.3:
            columns.append([random.choice(_WORDS) for _ in range(n_rows)])
        else:
            columns.append([_spell(_draw_number(random), random) for _ in range(n_rows)])
    return n_rows, columns


def _write_delimited(random: Random, delimiter: str) -> bytes:
    n_rows, columns = _draw_columns(random, has_words=random.random() < 0.4)
    labels = [str(random.randint(0, 2)) for _ in range(n_rows)]
    buffer = io.StringIO()
    style: Any = random.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL])
    writer = csv.writer(buffer, delimiter=delimiter, quoting=style, lineterminator=random.choice(["\n", "\r\n"]))
    writer.writerow([*(f"column {number}" for number in range(len(columns))), "y"])
    writer.writerows(zip(*columns, labels, strict=True))
    return buffer.getvalue().encode()


def _write_svmlight(random: Random) -> bytes:
    lines = []
    for _ in range(random.choice([1, 2, 5, 30])):
        indices = sorted(random.sample(range(1, 12), random.randint(0, 6)))
        entries = [f"{index}:{_spell(_draw_number(random), random)}" for index in indices]
        lines.append(" ".join([random.choice(["1", "-1", "+1"]), *entries]) + random.choice(["", "", " # note"]))
    return "\n".join([*lines, "1 12:1", ""]).encode()


def _write_arff(random: Random) -> bytes:
    n_rows, columns = _draw_columns(random, has_words=False)
    classes = [random.choice(["no", "yes"]) for _ in range(n_rows)]
    lines = ["% a comment", "@relation r", *(f"@attribute a{number} numeric" for number in range(len(columns)))]
    lines += ["@attribute y {no,yes}", "@data"]
    lines += [",".join(row) for row in zip(*columns, classes, strict=True)]
    return "\n".join([*lines, ""]).encode()


def _write_sparse_arff(random: Random) -> bytes:
    """Return sparse rows; what an entry omits is zero, or the first of the declared values."""
    n_features = random.randint(1, 6)
    types = [random.choice(["numeric", "numeric", "{0,1}", "{1,0}"]) for _ in range(n_features)]
    types.append(random.choice(["{0,1}", "{1,0}"]))
    lines = ["@relation r", *(f"@attribute a{number} {type}" for number, type in enumerate(types)), "@data"]
    for _ in range(random.choice([1, 2, 5, 30])):
        chosen = sorted(random.sample(range(n_features + 1), random.randint(0, n_features + 1)))
        entries = [
            f"{index} {_spell(_draw_number(random), random) if types[index] == 'numeric' else random.choice('01')}"
            for index in chosen
        ]
        lines.append("{" + ", ".join(entries) + "}")
    return "\n".join([*lines, ""]).encode()


def _draw_matrix(random: Random) -> np.ndarray[Any, Any]:
    shape = random.choice([1, 2, 7, 40]), random.randint(1, 6)
    values = [[_draw_number(random) for _ in range(shape[1])] for _ in range(shape[0])]
    matrix = np.array(values)
    with np.errstate(over="ignore"):
        cast = matrix.astype(random.choice([np.float64, np.float64, np.float32, np.float16]))
    if random.random() < 0.2:
        cast = np.clip(matrix, -1e6, 1e6).astype(random.choice([np.int64, np.int32, np.uint8, bool]))
    return np.where(np.isfinite(cast), cast, 0).astype(cast.dtype)


def _write_npz(random: Random) -> bytes:
    matrix = _draw_matrix(random)
    matrix = matrix.astype(np.float64) if matrix.dtype in (np.float16, np.bool_) else matrix
    make = random.choice([sparse.csr_matrix, sparse.csr_array])
    buffer = io.BytesIO()
    sparse.save_npz(buffer, make(matrix), compressed=random.random() < 0.3)
    return buffer.getvalue()


def _write_parquet(random: Random) -> bytes:
    n_rows = random.choice([1, 2, 7, 40])
    frame = pd.DataFrame({f"a{number}": [_draw_number(random) for _ in range(n_rows)] for number in range(3)})
    frame["whole"] = [random.randint(-9, 9) for _ in range(n_rows)]
    if random.random() < 0.3:
        frame["word"] = [random.choice(_WORDS) for _ in range(n_rows)]
    if random.random() < 0.3:
        unit, zone = random.choice(["s", "ms", "us", "ns"]), random.choice([None, "UTC", "Europe/Berlin"])
        times = [random.choice([86_400, 86_401.5, 10**9 + 1e-3, None]) for _ in range(n_rows)]
        frame["time"] = pd.to_datetime(pd.Series(times, dtype=float), unit="s").dt.tz_localize(zone).dt.as_unit(unit)
    frame["y"] = [random.randint(0, 1) for _ in range(n_rows)]
    buffer = io.BytesIO()
    frame.to_parquet(
        buffer, compression=random.choice(["snappy", "gzip", None]), row_group_size=random.choice([3, 1000])
    )
    return buffer.getvalue()


_WRITERS = {
    "csv": lambda random: _write_delimited(random, ","),
    "tsv": lambda random: _write_delimited(random, "\t"),
    "semicolons": lambda random: _write_delimited(random, ";"),
    "svmlight": _write_svmlight,
    "arff": _write_arff,
    "sparse_arff": _write_sparse_arff,
    "npy": lambda random: write_array(_draw_matrix(random)),
    "npz": _write_npz,
    "parquet": _write_parquet,
}
