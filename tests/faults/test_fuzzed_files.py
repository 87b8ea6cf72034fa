"""Mutated data files of every format: rows, or an error that names the file; never a crash or a hang."""

from __future__ import annotations

import faulthandler
import gzip
import io
import random

import numpy as np
import pandas as pd
import pytest

from metricwise.io import read_table, stream

N_MUTANTS = 300
MOST_SECONDS = 30  # per format: a hang ends the tests with a traceback

CSV = b'age,job,w,y\n31,"clerk",1,yes\n40.5,"a ""cook""",2e0,no\n?,pilot,0.5,no\n-1e-3,,1,yes\n' * 3
NUMBERS = b"a;b;y\n1;2;0\n3.25;-4e5;1\n.5;+6;0\n7;8;1\n" * 5
BLANKS = b" 1.5  2 0\n 3 4.25 1\n" * 8
SVMLIGHT = b"+1 1:0.5 3:2 # note\n-1 2:1.5\n# whole line\n+1 qid:3 1:1e-3 4:7\n" * 5
DENSE_ARFF = (
    b"% c\n@relation r\n@attribute 'the age' real\n@attribute job {clerk,'head cook'}\n@attribute s string\n"
    b"@attribute y {0,1}\n@data\n31,clerk,'a, b',0\n?,'head cook',x,1\n% c\n4e2,clerk,'it\\'s',1\n"
)
SPARSE_ARFF = (
    b"@relation 'r: -C 2'\n@attribute l1 {0,1}\n@attribute l2 {0,1}\n@attribute f numeric\n@attribute g {a,b}\n@data\n"
    b"{0 1, 2 0.5}\n{1 1, 2 3, 3 b}\n{}\n{3 ?}\n"
)


def make_parquet():
    frame = pd.DataFrame({"a": [1.0, np.nan, 3.0], "b": ["x", None, "y"], "y": [0, 1, 0]})
    buffer = io.BytesIO()
    frame.to_parquet(buffer)
    return buffer.getvalue()


SEEDS = {
    "csv": CSV,
    "numbers.csv": NUMBERS,
    "txt": BLANKS,
    "svm": SVMLIGHT,
    "dense.arff": DENSE_ARFF,
    "sparse.arff": SPARSE_ARFF,
    "parquet": make_parquet(),
}
TOKENS = [b'"', b"'", b",", b";", b"\n", b"\r", b"\0", b"{", b"}", b"@data\n", b":", b"1e999", b"nan", b"-", b"\xff"]
TOKENS += [b"99999999999999999999", b"%", b"#", b"\\", b" ", b"\t", b"?", b"e", b"0:1", b"\x1f\x8b", b"PAR1"]


def mutate(seed, dice):
    """Return a file with one to six changes: bytes, tokens, pieces cut, copied or moved, or a broken end."""
    data = bytearray(seed)
    for _ in range(dice.randint(1, 6)):
        at = dice.randrange(len(data) + 1)
        end = min(len(data), at + dice.randint(1, 30))
        change = dice.randrange(6)
        if change == 0 and at < len(data):
            data[at] = dice.randrange(256)
        elif change == 1:
            data[at:at] = dice.choice(TOKENS)
        elif change == 2:
            del data[at:end]
        elif change == 3:
            data[at:at] = data[at:end] * dice.randint(1, 4)
        elif change == 4:
            del data[dice.randrange(len(data) + 1) :]
        else:
            data[at:end] = dice.choice(TOKENS) * dice.randint(1, 3)
    return bytes(data)


def compress_some(content, dice):
    if dice.random() < 0.8:
        return content
    packed = bytearray(gzip.compress(content, mtime=0))
    if dice.random() < 0.5:
        packed[dice.randrange(len(packed))] ^= 1 << dice.randrange(8)
    return bytes(packed)


def read_or_fail(read, path):
    """Return "rows", or "error" for an error that names the file; anything else is raised."""
    try:
        read()
    except (ValueError, OSError) as error:
        if str(path) not in str(error) or "Traceback" in str(error) or "\n" in str(error).strip():
            raise
        return "error"
    return "rows"


def read_at_once(path):
    table = read_table(path)
    rows = table.X.shape[0]
    assert rows > 0 and len(table.y) == rows
    if table.y.dtype.kind == "f":
        assert np.isfinite(table.y).all()


def read_in_chunks(path):
    for chunk in stream(path, chunk_rows=3):
        assert chunk.X.shape[0] == len(chunk.y) > 0


@pytest.mark.parametrize("kind", list(SEEDS))
def test_mutated_files_are_read_or_raise(tmp_path, kind):
    dice = random.Random(kind)
    path = tmp_path / f"data.{kind}"
    seen = {"rows": 0, "error": 0}
    readers = [read_at_once] if kind.endswith("arff") else [read_at_once, read_in_chunks]
    faulthandler.dump_traceback_later(MOST_SECONDS, exit=True)
    try:
        for _ in range(N_MUTANTS):
            path.write_bytes(compress_some(mutate(SEEDS[kind], dice), dice))
            for read in readers:
                seen[read_or_fail(lambda read=read: read(path), path)] += 1
    finally:
        faulthandler.cancel_dump_traceback_later()
    assert sum(seen.values()) == N_MUTANTS * len(readers)
    assert seen["error"] > 0
