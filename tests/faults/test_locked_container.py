"""Training where neither the package nor a home can be written to, as an unprivileged user in a container does."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import metricwise

PACKAGE = Path(metricwise.__file__).parent
# A small kernel, so that compiling takes little time.
COMPILE = "import numpy as np; from metricwise.kernels.coding import code_values as f; "
COMPILE += (
    "f(np.array([1.0]), np.array([1.0]), -1, np.zeros(1, np.int64)); print(f.stats.cache_path, len(f.stats.cache_hits))"
)

# Without this capability, root keeps to the permissions of files as any other user does.
DROP = ["setpriv", "--bounding-set=-dac_override", "--inh-caps=-dac_override"]

pytestmark = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0 or shutil.which("setpriv") is None,
    reason="needs root, to become a user for whom everything is read-only, and setpriv",
)


@pytest.fixture
def installed(tmp_path):
    """A copy of the package; `lock` makes it read-only."""
    site = tmp_path / "site"
    shutil.copytree(PACKAGE, site / "metricwise", ignore=shutil.ignore_patterns("__pycache__"))
    (site / "metricwise" / "kernels" / "__pycache__").mkdir()
    (tmp_path / "home").mkdir(mode=0o555)
    (tmp_path / "tmp").mkdir()
    return site


def lock(site):
    for folder in (site / "metricwise" / "kernels", site / "metricwise" / "kernels" / "__pycache__"):
        folder.chmod(0o555)


def run(site, code=COMPILE, **variables):
    environment = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(site),
        "HOME": str(site.parent / "home"),
        "TMPDIR": str(site.parent / "tmp"),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    command = [*DROP, sys.executable, "-c", code]
    return subprocess.run(command, env=environment | variables, cwd="/", capture_output=True, text=True, timeout=120)


def test_compiled_functions_go_to_a_temporary_folder_with_one_warning(installed):
    lock(installed)
    done = run(installed)
    assert done.returncode == 0, done.stderr
    folder = installed.parent / "tmp" / f"metricwise-{os.getuid()}"
    assert done.stdout.startswith(str(folder))
    assert folder.stat().st_mode & 0o777 == 0o700
    assert done.stderr.count("compiled functions are kept in") == 1
    assert "metricwise warm-up" in done.stderr
    assert run(installed).stdout.split()[-1] == "1"  # the next process finds the function compiled


def test_functions_compiled_when_the_image_was_built_are_used(installed):
    built = run(installed)
    assert built.stdout.split() == [str(installed / "metricwise" / "kernels" / "__pycache__"), "0"], built.stderr
    lock(installed)
    done = run(installed)
    assert done.stdout.startswith(str(installed.parent / "tmp"))
    assert done.stdout.split()[-1] == "1", done.stderr
    assert "warm-up" not in done.stderr


def test_functions_compiled_into_a_given_folder_are_used(installed):
    given = installed.parent / "given"
    given.mkdir()
    lock(installed)
    built = run(installed, NUMBA_CACHE_DIR=str(given))
    assert built.stdout.startswith(str(given)), built.stderr
    for folder in (given, *given.iterdir()):
        folder.chmod(0o555)
    done = run(installed, NUMBA_CACHE_DIR=str(given))
    assert done.stdout.startswith(str(installed.parent / "tmp"))
    assert done.stdout.split()[-1] == "1", done.stderr


def test_a_folder_of_another_user_is_not_used(installed):
    lock(installed)
    prepared = installed.parent / "tmp" / f"metricwise-{os.getuid()}"
    prepared.mkdir(mode=0o755)
    os.chown(prepared, 65534, 65534)
    done = run(installed)
    assert done.returncode == 0, done.stderr
    assert not done.stdout.startswith(str(prepared / "kernels"))
    assert not list(prepared.iterdir())


def test_without_any_folder_the_error_says_what_to_do(installed):
    lock(installed)
    (installed.parent / "tmp").chmod(0o555)
    no_folder = "import metricwise.kernels.cache_folder"
    # /tmp and /dev/shm of the machine that runs the tests can be written to.
    hide = (
        "import tempfile; tempfile._candidate_tempdir_list = lambda: []; import os; os.access = lambda *args: False; "
    )
    done = run(installed, code=hide + no_folder)
    assert "OSError: metricwise compiles functions on first use" in done.stderr
    assert "Set NUMBA_CACHE_DIR to a folder that can be written to" in done.stderr


def test_a_full_disk_leaves_functions_to_be_compiled(installed):
    """What cannot be copied from the image is compiled again; nothing is left of a copy."""
    run(installed)
    lock(installed)
    # No file of this process may be larger than a kilobyte while it copies.
    full = (
        "import resource as r, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); "
        "limits = r.getrlimit(r.RLIMIT_FSIZE); r.setrlimit(r.RLIMIT_FSIZE, (1024, limits[1])); "
        "import metricwise.kernels.cache_folder; r.setrlimit(r.RLIMIT_FSIZE, limits); "
    )
    done = run(installed, code=full + COMPILE)
    assert done.returncode == 0, done.stderr
    assert "not all compiled functions could be copied" in done.stderr
    assert not [path for path in (installed.parent / "tmp").rglob("tmp*") if path.is_file()]


def test_forked_processes_leave_the_folder_of_their_parent(installed):
    lock(installed)
    (installed.parent / "tmp" / f"metricwise-{os.getuid()}").touch()  # so that the folder is that of one process
    fork = (
        "import os, sys; from metricwise.kernels import coding; child = os.fork(); "
        "child or sys.exit(); os.waitpid(child, 0); print(os.path.isdir(os.environ['NUMBA_CACHE_DIR']))"
    )
    done = run(installed, code=fork)
    assert done.stdout.strip() == "True", done.stderr
