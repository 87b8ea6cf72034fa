"""What cannot be imported is reported as that, and the model file is not blamed for it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import metricwise
from metricwise.persistence import names
from metricwise.registry import EstimatorEntry

X, Y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 0, 1, 1])


def _fail(*_: Any) -> Any:
    raise OSError("no room for the library")


@pytest.mark.parametrize(
    ("model", "owner", "name", "needed"),
    [
        (LogisticRegression(), names, "import_module", "sklearn.linear_model"),
        (metricwise.MultivariateSVC(), EstimatorEntry, "load", "metricwise.MultivariateSVC"),
    ],
)
def test_a_class_that_cannot_be_imported_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: Any, owner: Any, name: str, needed: str
) -> None:
    path = tmp_path / "model.mw"
    metricwise.save(model.fit(X, Y), path)
    monkeypatch.setattr(owner, name, _fail)
    with pytest.raises(ImportError, match=r"^(metricwise|sklearn)\.") as caught:
        metricwise.load(path)
    assert needed in str(caught.value) and "(no room for the library): check the" in str(caught.value)


def test_a_wrong_environment_variable_is_no_damage_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "model.mw"
    metricwise.save(metricwise.MultivariateSVC().fit(X, Y), path)
    done = subprocess.run(
        [sys.executable, "-c", f"import metricwise; metricwise.load({str(path)!r})"],
        env=os.environ | {"NUMBA_NUM_THREADS": "0"},
        capture_output=True,
        text=True,
        check=False,
    )
    last = done.stderr.strip().splitlines()[-1]
    assert done.returncode == 1 and "Number of threads" in last and "Use another copy" not in last
