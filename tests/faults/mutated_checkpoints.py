"""Resume from mutated checkpoints, in a process of its own with limits, and print what happened to each as JSON."""

from __future__ import annotations

import collections
import contextlib
import json
import resource
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
from scipy import sparse

from metricwise import AUCSVC, AMPClassifier, MiniBatchSVC, MultivariateSVC, SPADEClassifier, STAMPClassifier

MOST_BYTES = 4 << 30  # of address space, most of which the libraries take themselves
RNG = np.random.default_rng(0)
X = np.round(RNG.normal(size=(240, 4)), 2)
Y = (X @ [1.0, -1.0, 0.5, 0.0] + 0.5 * RNG.normal(size=240) > 0.5).astype(int)
CHUNKS = [(sparse.csr_matrix(X[k : k + 60]), Y[k : k + 60]) for k in range(0, 240, 60)]
STREAMING = {"tol": -1.0, "n_passes": 3, "every": 50, "threshold": 0.0}
CASES = {
    "cutting planes": (MultivariateSVC("f1", threshold=0.0, tol=1e-4), lambda model: model.fit(X, Y)),
    "sparse cutting planes": (MultivariateSVC(threshold=0.0), lambda model: model.fit(sparse.csr_matrix(X), Y)),
    "levels": (AMPClassifier("f1", threshold=0.0), lambda model: model.fit(X, Y)),
    "newton": (AUCSVC(norm=2, tol=1e-9, threshold=0.0), lambda model: model.fit(X, Y)),
    "spade": (SPADEClassifier("g_mean", **STREAMING), lambda model: model.fit(X, Y)),
    "stamp": (STAMPClassifier("f1", **STREAMING), lambda model: model.fit_stream(CHUNKS, n_passes=3)),
    "batches": (MiniBatchSVC("f1", batch_size=33, **STREAMING), lambda model: model.fit(X, Y)),
    "sparse batches": (MiniBatchSVC("f1", batch_size=33, **STREAMING), lambda model: model.fit_stream(CHUNKS)),
}


class InterruptionError(Exception):
    pass


class Interruption:
    """A callback that fails at its second call."""

    def __init__(self):
        self.calls = 0

    def __call__(self, _):
        self.calls += 1
        if self.calls == 2:
            raise InterruptionError


def write_checkpoint(model, train, path):
    """Train until the second report; return the arrays of the checkpoint."""
    with contextlib.suppress(InterruptionError):
        train(model.set_params(checkpoint=path, callback=Interruption()))
    model.set_params(callback=None)
    with np.load(path) as file:
        return {name: file[name] for name in file.files}


def drop(arrays, name, random):
    return {key: value for key, value in arrays.items() if key != name}


def swap(arrays, name, random):
    other = str(random.choice(sorted(arrays)))
    return arrays | {name: arrays[other], other: arrays[name]}


def truncate(arrays, name, random):
    value = np.atleast_1d(arrays[name])
    return arrays | {name: value[: value.shape[0] // 2]}


def extend(arrays, name, random):
    value = np.atleast_1d(arrays[name])
    return arrays | {name: np.concatenate([value, value[-1:]])}


def reshape(arrays, name, random):
    return arrays | {name: arrays[name].reshape((1, *arrays[name].shape))}


def retype(arrays, name, random):
    kinds = [np.float32, np.int8, np.uint64, np.complex128, ">f8", "U8", np.bool_, np.int32]
    value = np.zeros(arrays[name].shape) if arrays[name].dtype.kind == "U" else arrays[name]
    with np.errstate(all="ignore"):
        return arrays | {name: value.astype(kinds[random.integers(len(kinds))])}


def spoil(arrays, name, random):
    """Replace one entry by a value that is not expected."""
    value = arrays[name].copy()
    if value.size == 0 or value.dtype.kind == "U":
        return extend(arrays, name, random)
    wrong = [np.nan, np.inf, -np.inf, -1, 2**62, 1e300, -1e300, 0, 1]
    if value.dtype.kind != "f":
        wrong = [-1, 2**62, 0, 1, 2**31, -(2**62)]
    with np.errstate(all="ignore"):
        entry = np.array(wrong[random.integers(len(wrong))]).astype(value.dtype)
    value.flat[random.integers(value.size)] = entry
    return arrays | {name: value}


MUTATIONS = [drop, swap, truncate, extend, reshape, retype, spoil, spoil, spoil]


def resume(model, train, path):
    """Return how the training went on: "trained", "refused", or the error that must not be."""
    try:
        train(model)
    except ValueError as error:
        text = str(error)
        explained = str(path) in text and ("is damaged" in text or "cannot be read" in text) and "remove" in text
        if explained and path.exists():
            return "refused"
        return f"ValueError: {text[:300]}"
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:300]}"
    return "trained"


def main(n_mutations):
    warnings.simplefilter("ignore")
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for case, (model, train) in CASES.items():
            path = Path(folder) / "run"
            arrays = write_checkpoint(model, train, path)
            resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
            names = sorted(arrays)
            outcomes = collections.Counter()
            for number in range(n_mutations):
                random = np.random.default_rng(number)
                name = names[number % len(names)]
                mutate = MUTATIONS[int(random.integers(len(MUTATIONS)))]
                with path.open("wb") as file:
                    np.savez(file, **mutate(arrays, name, random))
                outcome = resume(model, train, path)
                known = outcome in ("refused", "trained")
                outcomes[outcome if known else f"{mutate.__name__} {name} ({number}): {outcome}"] += 1
            found[case] = outcomes
            path.unlink(missing_ok=True)
    print(json.dumps(found))


if __name__ == "__main__":
    main(int(sys.argv[1]))
