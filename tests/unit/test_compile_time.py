"""What kernels compile: a specialisation per literal argument would multiply the time of the first fit."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter

COMPILE = """
import gc
import json
import numpy as np
from numba.core import event
from metricwise.kernels import lasso, pairs, selection, simplex, squared_pairs

class Watch(event.Listener):
    during = []

    def on_start(self, event):
        self.during.append(gc.isenabled())

    def on_end(self, event):
        pass

none = np.zeros(0)
indices = none.astype(np.int32)
with event.install_recorder("numba:compile") as recorder, event.install_listener("numba:compile", Watch()):
    simplex.solve_simplex(np.eye(3), np.ones(3), 1.0, np.full(3, 1 / 3), 1e-9)
    after = [gc.isenabled()]
    gc.disable()
    pairs.argsort_scores(np.zeros(3))
    after.append(gc.isenabled())
    gc.enable()
    lasso.encode_samples(np.eye(2), np.ones((1, 2)), 1.0, np.zeros((1, 2)), 1e-9, 10, 0, 1)
    squared_pairs.squares_by_negatives(indices, none, indices, none, indices, None, 1.0, none)
    selection.labelling_slope(none, none, 0, *[0.0] * 6, None, 1.0)
compiled = [entry.data for _, entry in recorder.buffer if entry.is_start]
ours = [data for data in compiled if data["dispatcher"].py_func.__module__.startswith("metricwise")]
functions = [data["dispatcher"].py_func for data in ours]
names = [function.__module__.split(".")[-1] + "." + function.__name__ for function in functions]
print(json.dumps([names, [str(data["args"]) for data in ours], len(compiled), Watch.during, after]))
"""


# How many functions of each module are compiled; numba compiles none of its own for arrays, max or min.
MOST = {"simplex": 5, "pairs": 5, "lasso": 6, "squared_pairs": 1, "selection": 3}


def test_no_kernel_is_compiled_twice_or_for_a_literal(tmp_path):
    # Without optimisation, as only what is compiled counts here, not how well.
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path), "NUMBA_OPT": "0"}
    done = subprocess.run([sys.executable, "-c", COMPILE], env=environment, capture_output=True, text=True, check=True)
    names, arguments, n_compiled, collects_during, collects_after = json.loads(done.stdout)
    assert {"simplex._move", "pairs.shell_sort", "lasso._jump"} <= set(names)
    assert sorted(names) == sorted(set(names))
    assert not [text for text in arguments if "Literal" in text]
    assert Counter(name.split(".")[0] for name in names) == MOST
    assert n_compiled == len(names)
    assert len(collects_during) == n_compiled
    assert not any(collects_during)
    assert collects_after == [True, False]  # as it was before each
