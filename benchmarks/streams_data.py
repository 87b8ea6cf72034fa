"""Synthetic labelled samples for the benchmark of streams, and a fast writer of files of any length.

The samples come in blocks, each with a seed of its own, so that any part can be drawn without the others. Features have
one digit before and one after the point; the hundred possible values of a column form a table of strings, in which
the fields of a file are looked up. Run as a program, it writes a file: the job comes as JSON in the only argument.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Bytes = NDArray[np.uint8]

N_COLUMNS = 20
BLOCK = 50_000
NOISE = 0.3  # of the labels, in deviations of the signal
POSITIVES = 0.01
_QUANTILE = 2.3263478740408408  # of the normal distribution, above which a share of POSITIVES lies
_CENTRE, _SPREAD = 5.0, 1.5
TRAINING, FRESH = 0, 1  # seeds


class Block(NamedTuple):
    """Features in tenths, and which samples are positive."""

    tenths: NDArray[np.intp]
    positive: NDArray[np.bool_]

    @property
    def features(self) -> Floats:
        return self.tenths / 10.0


def direction() -> Floats:
    """Return the weights behind the labels, of unit length."""
    weights = np.random.default_rng(7).standard_normal(N_COLUMNS)
    return np.asarray(weights / np.linalg.norm(weights))


def blocks(n_samples: int, seed: int) -> Iterator[Block]:
    """Yield ``n_samples`` samples in blocks."""
    weights = direction()
    for number, first in enumerate(range(0, n_samples, BLOCK)):
        random = np.random.default_rng((seed, number))
        size = min(BLOCK, n_samples - first)
        tenths = 10.0 * _CENTRE + 10.0 * _SPREAD * random.standard_normal((size, N_COLUMNS), dtype=np.float32)
        tenths = np.clip(np.rint(tenths), 0, 99).astype(np.intp)
        signal = (tenths / 10.0 - _CENTRE) @ weights / _SPREAD + NOISE * random.standard_normal(size)
        yield Block(tenths, signal > _QUANTILE * np.hypot(1.0, NOISE))


def make_samples(n_samples: int, seed: int) -> tuple[Floats, NDArray[np.bool_]]:
    """Return ``n_samples`` samples as arrays."""
    drawn = list(blocks(n_samples, seed))
    return np.concatenate([block.features for block in drawn]), np.concatenate([block.positive for block in drawn])


def bytes_per_line(format: str) -> int:
    """Return the bytes of a line."""
    return sum(table.shape[1] for table in _tables(format))


def write(path: Path, format: str, n_samples: int) -> None:
    """Write a file of training samples, svmlight or CSV."""
    tables = _tables(format)
    with path.open("wb") as file:
        for block in blocks(n_samples, TRAINING):
            file.write(_render(tables, format, block).tobytes())


def _tables(format: str) -> list[Bytes]:
    """Return the strings of all values, one table per field of the line."""
    numbers = [f"{value // 10}.{value % 10}" for value in range(100)]
    if format == "csv":
        return [*(_table([f"{number}," for number in numbers]) for _ in range(N_COLUMNS)), _table(["0\n", "1\n"])]
    fields = [_table([f" {column + 1}:{number}" for number in numbers]) for column in range(N_COLUMNS)]
    return [_table(["-1", "+1"]), *fields, _table(["\n"])]


def _table(texts: list[str]) -> Bytes:
    return np.array([list(text.encode("ascii")) for text in texts], dtype=np.uint8)


def _render(tables: list[Bytes], format: str, block: Block) -> Bytes:
    label = block.positive.astype(np.intp)
    columns = list(block.tenths.T)
    codes = [*columns, label] if format == "csv" else [label, *columns, np.zeros_like(label)]
    return np.hstack([table[code] for table, code in zip(tables, codes, strict=True)])


if __name__ == "__main__":
    job = json.loads(sys.argv[1])
    write(Path(job["path"]), job["format"], job["n_samples"])
