"""Tests that share what is dear to make run in one process, where there are several (``-n 2 --dist loadfile``)."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Any

import pytest


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Keep together the tests of a file, and those of a folder that has fixtures of its own, as a cluster or a browser.

    Marks of groups would say the same, but the names that xdist 3.8 gives to their tests are lost in pytest 9.2, which
    then deals out the tests one by one: what a group shares was made in every process.
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
