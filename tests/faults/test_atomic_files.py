"""Interrupted writers leave nothing behind, and a missing folder is named."""

from __future__ import annotations

import errno
import os
import socket
import stat
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
        Checkpoint(other, {}).remove()
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


def _write(path: Path, content: bytes = b"new", *, sequential: bool = False) -> None:
    with atomic_file(path, sequential=sequential) as file:
        file.write(content)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has other permissions")
def test_a_replaced_file_keeps_its_permissions_and_a_new_one_has_those_of_the_umask(tmp_path: Path) -> None:
    path = tmp_path / "predictions.csv"
    former = os.umask(0o022)
    try:
        _write(path)
        assert stat.S_IMODE(path.stat().st_mode) == 0o644
        for mode in (0o600, 0o4640):
            path.chmod(mode)
            with atomic_file(path) as file:
                (unfinished,) = _find_unfinished(tmp_path)
                assert stat.S_IMODE(unfinished.stat().st_mode) == 0o600
                file.write(b"newer")
            assert path.read_bytes() == b"newer"
            assert stat.S_IMODE(path.stat().st_mode) == mode & 0o777
    finally:
        os.umask(former)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives files away")
def test_a_replaced_file_keeps_its_owner_and_group(tmp_path: Path) -> None:
    path = tmp_path / "model.mw"
    path.touch()
    os.chown(path, 1234, 5678)
    _write(path)
    assert (path.stat().st_uid, path.stat().st_gid) == (1234, 5678)


@pytest.mark.skipif(sys.platform == "win32", reason="not every user of Windows makes links")
def test_the_file_behind_a_link_is_replaced_and_the_link_stays(tmp_path: Path) -> None:
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    link, file = tmp_path / "link", folder / "real"
    link.symlink_to(file)
    for content in (b"first", b"second"):
        _write(link, content)
        assert link.is_symlink() and file.read_bytes() == content
    left = folder / f".real.{'0' * 16}{atomic.PARTIAL}"
    left.touch()
    atomic.remove_abandoned(link)
    assert sorted(folder.iterdir()) == [file]
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    with pytest.raises(OSError, match="loop"):
        _write(loop)
    assert loop.is_symlink()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_takes_what_is_written_from_start_to_end_and_stays(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    atomic.check_writable(pipe, sequential=True)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        _write(pipe, sequential=True)
        assert os.read(reader, 10) == b"new"
    finally:
        os.close(reader)
    for write in (_write, atomic.check_writable, lambda path: mw.save(LogisticRegression(), path)):
        with pytest.raises(OSError, match=r"is a device or a pipe, .*: give the path of a regular file"):
            write(pipe)
    assert pipe.is_fifo() and list(tmp_path.iterdir()) == [pipe]


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root makes devices")
def test_a_device_stays(tmp_path: Path) -> None:
    device = tmp_path / "null"
    try:
        os.mknod(device, stat.S_IFCHR | 0o666, os.makedev(1, 3))
    except PermissionError:
        pytest.skip("devices cannot be made here")
    _write(device, sequential=True)
    assert device.is_char_device() and list(tmp_path.iterdir()) == [device]


@pytest.mark.skipif(not os.path.islink("/dev/stdout"), reason="needs descriptors that have names")
def test_an_open_file_that_is_given_by_its_descriptor_keeps_its_content(tmp_path: Path) -> None:
    log, link = tmp_path / "log", tmp_path / "link"
    log.write_bytes(b"old ")
    with log.open("ab") as file:
        link.symlink_to(f"/dev/fd/{file.fileno()}")
        for path in (link, Path(f"/proc/self/fd/{file.fileno()}")):
            atomic.check_writable(path, sequential=True)
            _write(path, sequential=True)
            for write in (_write, atomic.check_writable):
                with pytest.raises(OSError, match=r"is an open file, .*: give the path of a regular file"):
                    write(path)
    assert log.read_bytes() == b"old newnew" and link.is_symlink() and sorted(tmp_path.iterdir()) == [link, log]


@pytest.mark.parametrize("letter", ["n", "é"])
def test_every_legal_name_can_be_written(tmp_path: Path, letter: str) -> None:
    path = tmp_path / (letter * (255 // len(letter.encode())))
    atomic.check_writable(path)
    with atomic_file(path) as file:
        (unfinished,) = _find_unfinished(tmp_path)
        file.write(b"new")
    (tmp_path / unfinished.name).touch()
    atomic.remove_abandoned(path)
    assert list(tmp_path.iterdir()) == [path]
    for write in (_write, atomic.check_writable):
        with pytest.raises(OSError, match="name too long"):
            write(path.with_name(path.name + letter))


def test_what_cannot_be_written_is_refused_before(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(IsADirectoryError, match="is a directory: give the path of a file"):
        atomic.check_writable(tmp_path / "folder")
    with pytest.raises(FileNotFoundError, match=r"the folder .* does not exist: create it"):
        atomic.check_writable(tmp_path / "absent" / "file")
    (tmp_path / "file").write_bytes(b"old")
    atomic.check_writable(tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == b"old" and len(list(tmp_path.iterdir())) == 2


@pytest.mark.skipif(not os.path.islink("/dev/stdout"), reason="needs descriptors that have names")
def test_a_descriptor_that_is_not_open_is_an_error(tmp_path: Path) -> None:
    with (tmp_path / "file").open("wb") as file:
        descriptor = file.fileno()
    for write in (_write, atomic.check_writable):
        with pytest.raises(OSError, match=rf"'/dev/fd/{descriptor}' is no open file of this process"):
            write(Path(f"/dev/fd/{descriptor}"), sequential=True)


@pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="needs sockets that have paths")
def test_a_socket_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # paths of sockets are short
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("socket")
        for write in (_write, atomic.check_writable):
            with pytest.raises(OSError, match="'socket' is a socket: give the path of a file"):
                write(Path("socket"), sequential=True)
