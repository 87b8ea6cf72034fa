"""Random data files: well-formed ones whose content is known, and damaged ones of every format."""

from __future__ import annotations

import csv
import gzip
import io
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from metricwise.io.notation import loses_quotes

TEXTS = [
    "clerk",
    'a "cook"',
    "x; y, z|t\tu",
    "two\nlines",
    "ünï",
    "a\u2028b",
    "form\x0cfeed",
    " blanks ",
    "NA",
    "it's",
    "%",
]
NUMBERS = ["0", "-1", "+2.5", "3.", ".5", "1e-3", "-4E+5", "0.1", "123456789012345678901234567890", "1e-320", "007"]
TOKENS = [b'"', b"'", b",", b"\n", b"\r", b"\0", b"{", b"@data\n", b":", b"1e999", b"nan", b"\xff", b"9" * 400]
TOKENS += [
    b"PK\x03\x04",
    b"\x93NUMPY",
    b"PAR1",
    b"\x1f\x8b",
    b"\xef\xbb\xbf",
    b"\xff\xfe",
    b"(",
    b"99999999999999999999",
]


@dataclass(frozen=True)
class Case:
    """A file, and the columns it holds by name: numbers or texts; None if nothing is known of its content."""

    path: Path
    columns: dict[str, list[Any]] | None = None
    options: dict[str, Any] = field(default_factory=dict)


def make_case(folder: Path, random: np.random.Generator) -> Case:
    """Write a random file to a folder: well-formed or damaged."""
    return make_table(folder, random) if random.random() < 0.5 else make_damaged(folder, random)


def make_table(folder: Path, random: np.random.Generator) -> Case:
    """Write a CSV file with numbers, texts and labels that Python's csv reads as the same fields."""
    n_rows = int(random.integers(2, 30))
    columns: dict[str, list[Any]] = {
        "a": random.choice(NUMBERS, n_rows).tolist(),
        "some text": ["clerk", *random.choice(TEXTS, n_rows - 1).tolist()],
        "b": [repr(float(value)) for value in random.normal(size=n_rows) * 10.0 ** random.integers(-300, 300, n_rows)],
        "y": ["yes", *random.choice(["yes", "no", "no way ", 'say "no"'], n_rows - 1).tolist()],
    }
    delimiter = str(random.choice([",", ";", "\t", "|"]))
    everything = [text for values in columns.values() for text in values]
    quoting: Any = csv.QUOTE_ALL if random.random() < 0.3 or any(map(loses_quotes, everything)) else csv.QUOTE_MINIMAL
    lines = []
    for row in [list(columns), *zip(*columns.values(), strict=True)]:
        buffer = io.StringIO()
        csv.writer(buffer, delimiter=delimiter, quoting=quoting, lineterminator="\n").writerow(row)
        lines.append(buffer.getvalue()[:-1])
    ends = (
        random.choice(["\n", "\r\n"], len(lines))
        if random.random() < 0.3
        else [random.choice(["\n", "\r\n"])] * len(lines)
    )
    text = "".join(line + end for line, end in zip(lines, ends, strict=True))
    text = text.rstrip("\r\n") if random.random() < 0.3 else text
    encoding = str(random.choice(["utf-8", "utf-8-sig", "utf-16"]))
    data = text.encode(encoding)
    path = folder / "table.csv"
    path.write_bytes(gzip.compress(data) if random.random() < 0.2 else data)
    known = {name: [float(value) for value in columns[name]] if name in "ab" else columns[name] for name in columns}
    return Case(path, known, {"target": "y", "delimiter": delimiter})


def make_damaged(folder: Path, random: np.random.Generator) -> Case:
    """Write a file of some format with a few changes."""
    suffix = str(random.choice(list(_WRITERS)))
    path = folder / f"data{suffix}"
    _WRITERS[suffix](path, random)
    data = bytearray(path.read_bytes())
    for _ in range(int(random.integers(1, 5))):
        at, kind = int(random.integers(len(data) + 1)), int(random.integers(5))
        end = at + int(random.integers(1, 40))
        if kind == 0 and at < len(data):
            data[at] ^= 1 << int(random.integers(8))
        elif kind == 1:
            data[at:at] = TOKENS[int(random.integers(len(TOKENS)))]
        elif kind == 2:
            del data[at:end]
        elif kind == 3:
            data[at:end] = TOKENS[int(random.integers(len(TOKENS)))]
        elif random.random() < 0.3:
            del data[at:]
    content = bytes(data)
    path.write_bytes(gzip.compress(content)[: -int(random.integers(1, 9))] if random.random() < 0.05 else content)
    return Case(path)


def _write_npy(path: Path, random: np.random.Generator) -> None:
    np.save(path, random.normal(size=(6, 3)).astype(random.choice(["f8", "f4", "i4"])))


def _write_npz(path: Path, random: np.random.Generator) -> None:
    matrix = sparse.random(8, 5, 0.4, format="csr", rng=random)
    sparse.save_npz(path, matrix, compressed=bool(random.random() < 0.5))


def _write_parquet(path: Path, random: np.random.Generator) -> None:
    frame = pd.DataFrame({"a": random.normal(size=6), "b": random.integers(0, 9, 6), "y": ["no", "yes"] * 3})
    frame.to_parquet(path, compression=str(random.choice(["snappy", "gzip", "none"])))


def _write_bytes(content: bytes) -> Any:
    return lambda path, random: path.write_bytes(content)


_WRITERS: dict[str, Any] = {
    ".npy": _write_npy,
    ".npz": _write_npz,
    ".parquet": _write_parquet,
    ".csv": _write_bytes(b'age,job,y\n31,"clerk",yes\n40.5,"a ""cook""",no\n?,pilot,no\n-1e-3,,yes\n' * 2),
    ".svm": _write_bytes(b"+1 1:0.5 3:2 # note\n-1 2:1.5\n+1 qid:3 1:1e-3 4:7\n" * 3),
    ".arff": _write_bytes(b"@relation 'r: -C 1'\n@attribute y {0,1}\n@attribute f numeric\n@data\n% c\n1,2\n0,4e2\n"),
}
