"""Run tests that share expensive fixtures in one process (with ``-n 2 --dist loadfile``)."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Any

import pytest


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Keep the tests of a file together, and those of a folder with its own fixtures, such as a cluster or a browser.

    Group marks would do the same, but the names that xdist 3.8 gives to their tests are lost in pytest 9.2, which
    then distributes the tests one by one, and every process makes the shared fixtures.
    """
    if config.getoption("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling

    class LoadFolderScheduling(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = PurePosixPath(super()._split_scope(nodeid))
            has_fixtures = len(file.parts) > 2 and (config.rootpath / file.parent / "conftest.py").exists()
            return str(file.parent if has_fixtures else file)

    return LoadFolderScheduling(config, log)
