"""Train, save, load and certify with the installed package, away from the repository."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

import numpy as np
from sklearn.datasets import make_classification

import metricwise

home = Path(metricwise.__file__).resolve()
if Path(sysconfig.get_path("purelib")).resolve() not in home.parents:
    sys.exit(f"smoke_test: {home} is imported, not the installed package: run this outside the repository")
X, y = make_classification(300, weights=[0.8], random_state=0)
model = metricwise.MultivariateSVC("f1").fit(X, y)
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "model.mw"
    metricwise.save(model, path)
    np.testing.assert_array_equal(metricwise.load(path).predict(X), model.predict(X))
assert metricwise.certify(model, X, y).gap < 0.1
subprocess.run([sys.executable, "-m", "metricwise", "--version"], check=True)
