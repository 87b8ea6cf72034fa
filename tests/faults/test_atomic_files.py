"""Interrupted writers leave nothing behind, and a missing folder is named."""

from __future__ import annotations

import errno
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from sklearn.linear_model import LogisticRegression

import metricwise as mw
from metricwise.estimators.checkpoints import Checkpoint
from metricwise.io import atomic
from metricwise.io.atomic import atomic_file

_WRITER = """
import sys, time
from pathlib import Path
from metricwise.io.atomic import atomic_file
with atomic_file(Path(sys.argv[1])) as file:
    file.write(b"unfinished")
    file.flush()
    print("writing", flush=True)
    time.sleep(60)
"""


def _start_writer(path: Path) -> subprocess.Popen[str]:
    writer = subprocess.Popen([sys.executable, "-c", _WRITER, str(path)], stdout=subprocess.PIPE, text=True)
    assert writer.stdout is not None and writer.stdout.readline() == "writing\n"
    return writer


def _find_unfinished(folder: Path) -> list[Path]:
    return sorted(folder.glob(".*.partial"))


def test_the_next_save_removes_what_a_killed_one_left_and_nothing_of_a_living_one(tmp_path: Path) -> None:
    path, other = tmp_path / "model.mw", tmp_path / "model.mw.x"
    killed, living, elsewhere = _start_writer(path), _start_writer(path), _start_writer(other)
    try:
        killed.kill()
        killed.wait()
        elsewhere.kill()
        elsewhere.wait()
        assert len(_find_unfinished(tmp_path)) == 3
        mw.save(LogisticRegression(), path)
        left = _find_unfinished(tmp_path)
        assert len(left) == 2 and sum(one.name.startswith(".model.mw.x.") for one in left) == 1
        living.kill()
        living.wait()
        with atomic_file(path) as file:
            file.write(b"new")
        Checkpoint(other, "training").remove()
        assert path.read_bytes() == b"new" and not _find_unfinished(tmp_path)
    finally:
        for writer in (killed, living, elsewhere):
            writer.kill()
            writer.communicate()


def test_many_writers_of_one_file_leave_one_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "numbers"
    code = (
        "import sys; from pathlib import Path; from metricwise.io.atomic import atomic_file\n"
        "for k in range(30):\n"
        "    with atomic_file(Path(sys.argv[1])) as file: file.write(sys.argv[2].encode() * 1000)"
    )
    writers = [subprocess.Popen([sys.executable, "-c", code, str(path), digit]) for digit in "12"]
    assert [writer.wait(timeout=120) for writer in writers] == [0, 0]
    assert path.read_bytes() in (b"1" * 1000, b"2" * 1000) and list(tmp_path.iterdir()) == [path]


def test_saving_into_a_missing_folder_names_it(tmp_path: Path) -> None:
    with pytest.raises(
        FileNotFoundError, match=r"the folder '.*models' of 'model\.mw' does not exist: create it"
    ) as caught:
        mw.save(LogisticRegression(), tmp_path / "models" / "model.mw")
    assert ".partial" not in str(caught.value)
    (tmp_path / "file").write_text("")
    with pytest.raises(NotADirectoryError, match="is no folder: give another path"):
        mw.save(LogisticRegression(), tmp_path / "file" / "model.mw")


def _make_locks_fail(monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    def fail(*_: Any) -> None:
        raise OSError(code, "no locks")

    monkeypatch.setattr(pytest.importorskip("fcntl"), "flock", fail)


@pytest.mark.parametrize("code", [errno.ENOSYS, errno.ENOLCK, errno.ENOTSUP])
def test_file_systems_without_locks_are_written_to_and_nothing_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    _make_locks_fail(monkeypatch, code)
    path, of_another = tmp_path / "model.mw", tmp_path / f".model.mw.{'0' * 16}{atomic.PARTIAL}"
    of_another.touch()
    mw.save(LogisticRegression(), path)
    assert sorted(tmp_path.iterdir()) == [of_another, path]


def test_an_error_of_a_lock_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _make_locks_fail(monkeypatch, errno.EIO)
    with pytest.raises(OSError, match="no locks"):
        mw.save(LogisticRegression(), tmp_path / "model.mw")
    assert not list(tmp_path.iterdir())
