"""A kind of cases: how one is made from a seed, and how it is checked.

A case is a JSON object with everything that its check needs, so that a failing one can be stored in the corpus and
stays the same case when the generators change.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

Case = dict[str, Any]

KINDS = (
    "model_files",
    "checkpoints",
    "data_files",
    "estimators",
    "command",
    "kills",
    "full_disks",
    "threads",
    "forks",
)
CORPUS = Path(__file__).parent / "corpus"


@dataclass(frozen=True)
class Kind:
    """One kind of cases.

    Parameters
    ----------
    prepare : callable
        Trains and compiles what all cases share; called once, in the process that the workers are forked from.
    make_case : callable
        Returns a case; depends on the given random numbers alone.
    check : callable
        Runs a case in an empty folder and returns one word for what happened, such as "refused". Any exception that it
        raises is a finding.
    most_seconds : float
        Processor time after which a case counts as a hang.
    """

    prepare: Callable[[], None]
    make_case: Callable[[Random], Case]
    check: Callable[[Case, Path], str]
    most_seconds: float = 10.0


def load_kind(name: str) -> Kind:
    """Return a kind by its name; its module is imported on first use."""
    if name not in KINDS:
        raise ValueError(f"{name!r} is no kind of cases: choose among {', '.join(KINDS)}")
    kind: Kind = import_module(f"fuzzing.kinds.{name}").KIND
    return kind


def make_case(kind: Kind, name: str, seed: int) -> Case:
    """Return the case of a seed, as it would be read back from a file."""
    case: Case = json.loads(json.dumps(kind.make_case(Random(f"{name}:{seed}"))))
    return case


def make_generator(random: Random) -> np.random.Generator:
    """Return numpy's random numbers, seeded by Python's."""
    return np.random.default_rng(random.getrandbits(64))


def pack_bytes(content: bytes) -> str:
    """Return bytes as text for a case, compressed."""
    return base64.b64encode(zlib.compress(content, 9)).decode()


def unpack_bytes(text: str) -> bytes:
    """Return the bytes of `pack_bytes`."""
    return zlib.decompress(base64.b64decode(text))
