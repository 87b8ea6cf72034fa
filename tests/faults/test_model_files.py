"""Damaged model files raise ModelFileError or load; they never cause another error, a hang or a crash."""

from __future__ import annotations

import hashlib
import random
from pathlib import Path

import numpy as np
import pytest

import metricwise as mw
from metricwise.persistence import describe
from tests.faults.forged_models import (
    X,
    assert_load_raises,
    make_archive,
    read_members,
    save_models,
    write_sealed,
)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return save_models(tmp_path_factory.mktemp("models"), ["linear", "model selection"])


# --------------------------------------------------------------------------------------------------------------- damage


def test_every_flipped_byte_is_detected(files: dict[str, Path], tmp_path: Path) -> None:
    mw.save(mw.AUCSVC(), tmp_path / "small.mw")
    whole = (tmp_path / "small.mw").read_bytes()
    path = tmp_path / "flipped.mw"
    dice = random.Random(0)
    for position in range(len(whole)):
        damaged = bytearray(whole)
        damaged[position] ^= dice.randrange(1, 256)
        path.write_bytes(damaged)
        assert_load_raises(path, "checksum is wrong|beginning is damaged")


def test_every_truncation_is_detected(files: dict[str, Path], tmp_path: Path) -> None:
    whole = files["linear"].read_bytes()
    path = tmp_path / "short.mw"
    for length in [*range(0, 100), *range(100, len(whole), 97), len(whole) - 1]:
        path.write_bytes(whole[:length])
        assert_load_raises(path, "checksum is wrong|no model file of metricwise")
        with pytest.raises(mw.ModelFileError):
            describe(path)


def test_other_files_raise(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("a,b\n1,2\n" * 100)
    assert_load_raises(path, "it is no model file of metricwise")
    np.savez(tmp_path / "samples.npz", samples=X)
    assert_load_raises(tmp_path / "samples.npz", "checksum is wrong")
    assert_load_raises(tmp_path / "absent.mw", "cannot be read .*check the path")
    assert_load_raises(tmp_path, "cannot be read")


@pytest.mark.filterwarnings("ignore")
def test_mutated_texts_raise_or_load(files: dict[str, Path], tmp_path: Path) -> None:
    dice = random.Random(0)
    members = read_members(files["model selection"])
    n_errors = 0
    for _ in range(200):
        changed = list(members)
        number = dice.randrange(len(changed))
        name, content = changed[number]
        mutated = bytearray(content)
        for _ in range(dice.randrange(1, 4)):
            mutated[dice.randrange(len(mutated))] = dice.randrange(256)
        length = dice.choice([len(mutated), len(mutated), dice.randrange(len(mutated))])
        changed[number] = name, bytes(mutated[:length])
        path = write_sealed(tmp_path / "changed.mw", make_archive(changed))
        try:
            mw.load(path)
        except mw.ModelFileError:
            n_errors += 1
    assert n_errors > 100


def test_mutated_archives_raise_or_load(files: dict[str, Path], tmp_path: Path) -> None:
    mw.save(mw.AUCSVC(), tmp_path / "small.mw")
    whole = (tmp_path / "small.mw").read_bytes()[:-64]
    dice, n_errors = random.Random(1), 0
    for _ in range(300):
        mutated = bytearray(whole)
        mutated[dice.randrange(len(mutated))] = dice.randrange(256)
        path = tmp_path / "changed.mw"
        path.write_bytes(bytes(mutated) + hashlib.sha256(mutated).hexdigest().encode())
        try:
            assert isinstance(mw.load(path), mw.AUCSVC)
        except mw.ModelFileError:
            n_errors += 1
    assert n_errors > 30
