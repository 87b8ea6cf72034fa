"""What identifies a training: the content of values, whatever their repr shows."""

from __future__ import annotations

import functools
import os
import re
import subprocess
import sys
import tempfile
from fractions import Fraction
from pathlib import Path

import numba
import numpy as np
import pandas as pd
import pytest
from scipy import sparse, stats
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold

from metricwise import MultivariateSVC, contingency_measure
from metricwise.estimators.training_identity import digest, identify_training
from metricwise.measures import FBeta, Jaccard, register, registry
from metricwise.results import Status

LONG = np.arange(5000.0)
CHANGED = np.where(LONG == 2500, 0.0, LONG)
FACTOR = 1.0


def value(tp, fp, fn, tn):
    return FACTOR * tp / (tp + fp + fn)


def make_function(factor):
    return lambda tp, fp, fn, tn: tp / (tp + factor * fp + fn)


def make_measure(function):
    return contingency_measure(function, name="own")


def make_splitter(constant):
    class Splitter:
        shift = constant

        def split(self, X):
            return [part + self.shift for part in X]

    return Splitter()


class Node:
    def __init__(self, other=None):
        self.other = self if other is None else other


def limited(tp, fp, fn, tn):
    return np.where(tp > 1e6, 0.5, tp / (tp + fp + fn))


def unlimited(tp, fp, fn, tn):
    return np.where(tp > 1e7, 0.5, tp / (tp + fp + fn))


PAIRS = {
    "measures of one name": (make_measure(make_function(2.0)), make_measure(make_function(0.5))),
    "measures that agree on small tables": (make_measure(limited), make_measure(unlimited)),
    "functions of one name": (make_function(1), make_function(2)),
    "compiled functions": (numba.njit(make_function(1)), numba.njit(make_function(2))),
    "options of compiled functions": (numba.njit(value), numba.njit(fastmath=True)(value)),
    "cached functions": (functools.cache(make_function(1)), functools.cache(make_function(2))),
    "objects with the shared random state": (stats.norm(0, 1), stats.norm(1, 1)),
    "partial functions": (functools.partial(value, 1), functools.partial(value, 2)),
    "parameters of a measure": (FBeta(1.0), FBeta(2.0)),
    "long arrays": (LONG, CHANGED),
    "long lists": (LONG.tolist(), CHANGED.tolist()),
    "types": (LONG, LONG.view(np.int64)),
    "shapes": (LONG.reshape(2, -1), LONG.reshape(-1, 2)),
    "strings in objects": (np.array(["a", "b"], dtype=object), np.array(["a", "c"], dtype=object)),
    "sparse matrices": (sparse.csr_array(np.diag(LONG[:200])), sparse.csr_array(np.diag(CHANGED[:200][::-1]))),
    "columns": (pd.Series(LONG), pd.Series(CHANGED)),
    "data frames": (pd.DataFrame({"a": LONG}), pd.DataFrame({"a": CHANGED})),
    "nested estimators": (LogisticRegression(C=1.0), LogisticRegression(C=1.0, class_weight={0: 2})),
    "arrays in objects": (Node(LONG), Node(CHANGED)),
    "splitters": (KFold(3), KFold(3, shuffle=True, random_state=1)),
    "random states": (np.random.RandomState(1), np.random.RandomState(2)),
    "generators": (np.random.default_rng(1), np.random.default_rng(2)),
    "classes of one name": (make_splitter(1), make_splitter(2)),
    "nested lists": ([[1], [2]], [[1, 2]]),
}


@pytest.mark.parametrize("kind", PAIRS)
def test_other_content_has_another_hash(kind):
    left, right = PAIRS[kind]
    assert digest(left) == digest(left) != digest(right)


def test_functions_count_with_the_global_variables_that_they_read(monkeypatch):
    before = digest(value)
    monkeypatch.setitem(globals(), "FACTOR", 2.0)
    assert digest(value) != before


def test_equal_numbers_are_the_same_setting():
    expected = identify_training(MultivariateSVC(C=1.0, random_state=0), [])
    for C, seed in ((1, 0), (np.float32(1), np.int64(0)), (Fraction(1), 0)):
        assert identify_training(MultivariateSVC(C=C, random_state=seed), []) == expected
    assert identify_training(MultivariateSVC(C=2, random_state=0), [])["C"] != expected["C"]
    assert identify_training(MultivariateSVC(pos_label=True), []) != identify_training(MultivariateSVC(pos_label=1), [])


def test_a_registered_name_counts_by_its_measure(monkeypatch):
    for table in ("_FACTORIES", "_NAMES"):  # undo the registrations
        monkeypatch.setattr(registry, table, dict(getattr(registry, table)))
    register("identity of training", FBeta)
    before = identify_training(MultivariateSVC("identity of training"), [])
    register("identity of training", Jaccard, overwrite=True)
    assert (
        identify_training(MultivariateSVC("identity of training"), [])
        != before
        == identify_training(MultivariateSVC("f1"), [])
    )


def test_objects_may_refer_to_themselves():
    assert digest(Node()) == digest(Node())


@pytest.mark.parametrize("cv", [iter([1]), (part for part in [1])], ids=["iterator", "generator"])
def test_parameters_without_content_are_refused(cv):
    with pytest.raises(TypeError, match=r"which cv=.* does not identify \(.* can be read only once\): give cv as"):
        identify_training(MultivariateSVC(cv=cv), [])


SCRIPT = (
    "from tests.unit.test_training_identity import PAIRS, digest; print(digest({k: v[0] for k, v in PAIRS.items()}))"
)


def test_hashes_are_the_same_in_every_process():
    root = Path(__file__).resolve().parents[2]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(root / "src"), str(root)])}
    environment |= {"PYTHONHASHSEED": "1"}
    run = subprocess.run([sys.executable, "-c", SCRIPT], cwd=root, env=environment, capture_output=True, text=True)
    from tests.unit.test_training_identity import PAIRS as imported  # under the name that the other process has

    assert run.stdout.strip() == digest({kind: pair[0] for kind, pair in imported.items()}), run.stderr


def nested(depth):
    inner = []
    for _ in range(depth):
        inner = [inner]
    return inner


def run_in_module(source):
    """Return the digest of a function that reads a module of the user's, whose source is given."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "own_module.py").write_text(source)
        Path(folder, "run.py").write_text(
            "import own_module\nfrom metricwise.estimators.training_identity import digest\n"
            "print(digest(lambda x: own_module.shift(x)))\n"
        )
        return subprocess.run([sys.executable, f"{folder}/run.py"], capture_output=True, text=True, check=True).stdout


def test_a_module_of_the_user_counts_by_its_source():
    first, same, other = (run_in_module(f"shift = lambda x: x + {n}\n") for n in (1, 1, 2))
    assert first == same != other


def test_attributes_of_functions_classes_and_masked_arrays_count():
    def make(scale, values, mask):
        def function():
            pass

        function.scale = scale
        return function, type("Own", (), {"values": values}), np.ma.array([1.0, 2.0], mask=mask)

    given = (1, [1, 2], [False, True])
    assert digest(*make(*given)) == digest(*make(*given))
    for changed in ((2, *given[1:]), (1, [1, 3], given[2]), (*given[:2], [True, False])):
        assert digest(*make(*changed)) != digest(*make(*given))


def test_values_that_pickle_knows_by_name_count():
    assert digest(np.maximum) == digest(np.maximum) != digest(np.minimum)
    assert digest(re.compile("a+")) != digest(re.compile("b+"))


def test_functions_that_call_each_other_are_written_once():
    names = [f"f{number}" for number in range(60)]
    body = "".join(f"def {name}(x):\n    return {' + '.join(f'{other}(x)' for other in names)}\n" for name in names)
    space = {"__name__": "own"}
    exec(body, space)
    assert digest(space["f0"]) != digest(space["f1"])


def test_a_parameter_that_is_too_deep_is_named():
    with pytest.raises(TypeError, match=r"which cv=\[\[.*does not identify"):
        identify_training(MultivariateSVC(cv=nested(sys.getrecursionlimit())), [])


def test_folds_that_can_be_read_once_are_identified(tmp_path):
    X = np.random.default_rng(0).normal(size=(60, 2))
    y = (X[:, 0] > 0).astype(int)
    model = MultivariateSVC(cv=KFold(3).split(X, y), threshold="cv", checkpoint=tmp_path / "run")
    assert model.fit(X, y).result_.status is Status.OPTIMAL
