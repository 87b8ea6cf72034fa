"""Mutated checkpoints of every solver that resumes: a clear error, or a training that ends well.

Ending well means finite coefficients, for streams, and for solvers with a certificate that the bounds are those that an
independent computation finds from data and model. Of most mutants the checksum is made right, so that the checks behind
it see them; forged numbers may then lead to any bounds, and only crashes, hangs and unclear errors count.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import metricwise as mw
from fuzzing.archives import mutate_archive, read_members, write_array, write_members
from fuzzing.cases import Case, Kind, pack_bytes, unpack_bytes
from fuzzing.judging import Finding, attempt
from metricwise.estimators.checkpoints import digest_arrays
from metricwise.registry import entries

_RNG = np.random.default_rng(0)
X = np.round(_RNG.normal(size=(60, 3)), 3)
Y = (X @ [1.0, -1.0, 0.5] + 0.8 * _RNG.normal(size=60) > 0.4).astype(int)
THREE = np.where(X[:, 2] > 0.8, 2, Y)
CHUNKS = [(X[start : start + 20], Y[start : start + 20]) for start in range(0, 60, 20)]
_HEADER = "header.npy"
_TOLERANCE = 1e-6

Train = Callable[..., Any]


def _fit(model: Any, labels: Any = Y, **settings: Any) -> Any:
    return model.set_params(**settings).fit(X, labels)


def _fit_stream(model: Any, **settings: Any) -> Any:
    return model.set_params(**settings).fit_stream(CHUNKS, n_passes=3)


STREAM = {"every": 20, "tol": -1.0, "n_passes": 3}
TRAININGS: dict[str, tuple[Train, dict[str, Any]]] = {
    "MultivariateSVC": (lambda **s: _fit(mw.MultivariateSVC("f1", threshold=0.0), **s), {}),
    "MultivariateSVC, folds": (lambda **s: _fit(mw.MultivariateSVC("prbep", cv=2), **s), {}),
    "MultivariateSVC, classes": (lambda **s: _fit(mw.MultivariateSVC("g_mean", threshold="train"), THREE, **s), {}),
    "MultivariateSVC, bins": (lambda **s: _fit(mw.MultivariateSVC("f1", threshold="train", score_bins=64), **s), {}),
    "AUCSVC": (lambda **s: _fit(mw.AUCSVC(threshold=0.0), **s), {}),
    "AUCSVC, squares": (lambda **s: _fit(mw.AUCSVC(norm=2, threshold=0.0), **s), {}),
    "RankingSVC, classes": (lambda **s: _fit(mw.RankingSVC(), THREE, **s), {}),
    "AMPClassifier": (lambda **s: _fit(mw.AMPClassifier("f1", threshold=0.0), **s), {}),
    "STAMPClassifier": (lambda **s: _fit(mw.STAMPClassifier("f1"), **s), STREAM),
    "STAMPClassifier, stream": (lambda **s: _fit_stream(mw.STAMPClassifier("f1"), **s), STREAM),
    "SPADEClassifier": (lambda **s: _fit(mw.SPADEClassifier("g_mean"), **s), STREAM),
    "SPADEClassifier, classes": (lambda **s: _fit(mw.SPADEClassifier("g_mean"), THREE, **s), STREAM),
    "SPADEClassifier, stream": (lambda **s: _fit_stream(mw.SPADEClassifier("g_mean"), **s), STREAM),
    "MiniBatchSVC": (lambda **s: _fit(mw.MiniBatchSVC("f1", batch_size=15), **s), STREAM),
    "MiniBatchSVC, stream": (lambda **s: _fit_stream(mw.MiniBatchSVC("f1", batch_size=15), **s), STREAM),
}
_CONTENTS: dict[str, bytes] = {}


class _Interruption(Exception):
    """Ends a training as a failure would."""


def _interrupt_after(calls: int) -> Callable[[Any], None]:
    left = [calls]

    def interrupt(entry: Any) -> None:
        left[0] -= 1
        if left[0] == 0:
            raise _Interruption

    return interrupt


def _prepare() -> None:
    """Interrupt every training, keep its checkpoint, and resume it once."""
    trained = {name.partition(",")[0] for name in TRAININGS}
    missing = {entry.name for entry in entries(has_checkpoints=True)} - trained
    if missing:
        raise ValueError(f"add a training with checkpoints of {', '.join(sorted(missing))}")
    for name, (train, settings) in TRAININGS.items():
        with TemporaryDirectory() as folder:
            path = Path(folder, "run")
            try:
                train(checkpoint=path, callback=_interrupt_after(2), **settings)
            except _Interruption:
                _CONTENTS[name] = path.read_bytes()
                train(checkpoint=path, **settings)
            else:
                raise ValueError(f"the training {name!r} ends too early to be interrupted")


def _make_case(random: Random) -> Case:
    name = random.choice(sorted(_CONTENTS))
    content = pack_bytes(mutate_archive(_CONTENTS[name], random))
    return {"training": name, "content": content, "is_forged": random.random() < 0.8}


def _check(case: Case, folder: Path) -> str:
    train, settings = TRAININGS[case["training"]]
    path = folder / "run"
    content, is_forged = unpack_bytes(case["content"]), case.get("is_forged", True)
    path.write_bytes(_forge_header(content, _CONTENTS[case["training"]]) if is_forged else content)
    model = attempt(train, checkpoint=path, **settings)
    if isinstance(model, Exception):
        if str(path) not in str(model):
            raise Finding(f"the error does not name the file: {model}") from model
        return "refused"
    if not is_forged:
        _check_model(model, case["training"], has_bounds=settings is not STREAM)
    return "resumed"


def _check_model(model: Any, training: str, has_bounds: bool) -> None:
    """Raise a `Finding` unless a resumed training ended well."""
    for name in ("coef_", "intercept_", "threshold_"):
        if not np.isfinite(getattr(model, name, 0.0)).all():  # rankers have no threshold
            raise Finding(f"{training.partition(',')[0]} resumes to {name} that is NaN or infinite")
    if has_bounds:
        _check_bounds(model, training)


def _forge_header(content: bytes, own: bytes) -> bytes:
    """Return a readable checkpoint as one of the same training, with the right checksum.

    What identifies a training may change from version to version; a stored case then still gets past that check.
    """
    try:
        members, header = read_members(content), json.loads(_read_array(read_members(own)[_HEADER]).tobytes())
        if not isinstance(json.loads(_read_array(members[_HEADER]).tobytes()), dict):
            return content
        arrays = {name.removesuffix(".npy"): _read_array(part) for name, part in members.items() if name != _HEADER}
        text = json.dumps(header | {"content": digest_arrays(arrays)}).encode()
    except Exception:  # of any kind: a mutant need not be readable
        return content
    return write_members(members | {_HEADER: write_array(np.frombuffer(text, np.uint8))}, has_checksum=False)


def _read_array(content: bytes) -> Any:
    return np.load(io.BytesIO(content), allow_pickle=False)


def _check_bounds(model: Any, name: str) -> None:
    """Raise a `Finding` unless the bounds of a resumed training hold."""
    labels = THREE if "classes" in name else Y
    results = model.result_ if isinstance(model.result_, list) else [model.result_]
    found = attempt(mw.certify, model, X, labels)
    if isinstance(found, Exception):
        raise Finding(f"{name} resumes to a model that cannot be certified: {found}") from found
    for result, certificate in zip(results, found if isinstance(found, list) else [found], strict=True):
        own = result.certificate
        room = _TOLERANCE * max(1.0, abs(certificate.upper)) + own.score_error
        if own.lower > certificate.upper + room:
            raise Finding(f"{name} resumes to a lower bound {own.lower:g} above the objective {certificate.upper:g}")
        if abs(own.upper - certificate.upper) > room:
            raise Finding(f"{name} resumes to an upper bound {own.upper:g}, and the objective is {certificate.upper:g}")


KIND = Kind(_prepare, _make_case, _check)
