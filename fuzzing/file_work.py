"""Work that writes files, to be interrupted: saving, checkpoints, conversion for disk data, and predictions.

Whatever interrupts it, a target is complete, that of before or the new one, and doing the same work again succeeds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from click.testing import CliRunner

import metricwise as mw
from fuzzing.judging import Finding
from metricwise.cli import main
from metricwise.io.atomic import PARTIAL

_RNG = np.random.default_rng(0)
X = np.round(_RNG.normal(size=(400, 6)), 3)
Y = (X @ [1.0, -1.0, 0.5, 0.0, 0.0, 0.3] + 0.5 * _RNG.normal(size=400) > 0.4).astype(int)
_TABLE = "a,b,c,d,e,f,y\n" + "".join(f"{','.join(map(repr, x.tolist()))},{y}\n" for x, y in zip(X, Y, strict=True))
_SAMPLES = "".join(f"{','.join(map(repr, x.tolist()))}\n" for x in X)
_STREAMS: dict[str, Callable[..., Any]] = {
    "STAMP": lambda **settings: mw.STAMPClassifier("f1", tol=-1.0, n_passes=3, every=50, **settings),
    "SPADE": lambda **settings: mw.SPADEClassifier("g_mean", tol=-1.0, n_passes=3, every=50, **settings),
    "mini-batches": lambda **settings: mw.MiniBatchSVC("f1", batch_size=60, tol=-1.0, n_passes=3, every=50, **settings),
}
_known: dict[str, Any] = {}


@dataclass(frozen=True)
class Work:
    """Something that writes files in a folder.

    Parameters
    ----------
    start : callable
        Fills an empty folder with what is there before.
    run : callable
        Writes.
    verify : callable
        Raises a `Finding` unless the folder is in order, whether `run` has finished or not.
    """

    start: Callable[[Path], None]
    run: Callable[[Path], Any]
    verify: Callable[[Path], None]


def prepare() -> None:
    """Train what is saved, and compute what interrupted work must lead to."""
    _known["models"] = [mw.MultivariateSVC("f1", threshold=0.0, C=C).fit(X, Y) for C in (0.01, 1.0)]
    for name, make in _STREAMS.items():
        _known[name] = make().fit(X, Y)


# ------------------------------------------------------------------------------------------------------------- saving


def _start_save(folder: Path) -> None:
    mw.save(_known["models"][0], folder / "model.mw")


def _run_save(folder: Path) -> None:
    mw.save(_known["models"][1], folder / "model.mw")


def _verify_save(folder: Path) -> None:
    found = mw.load(folder / "model.mw").decision_function(X)
    if not any(np.array_equal(found, model.decision_function(X)) for model in _known["models"]):
        raise Finding("an interrupted save leaves another model than the old or the new one")


# -------------------------------------------------------------------------------------------------------- checkpoints


def _make_training(name: str) -> Work:
    make = _STREAMS[name]

    def run(folder: Path) -> Any:
        return make(checkpoint=folder / "run").fit(X, Y)

    def verify(folder: Path) -> None:
        resumed = run(folder)
        for attribute in ("coef_", "intercept_", "threshold_"):
            if not np.array_equal(getattr(resumed, attribute), getattr(_known[name], attribute)):
                raise Finding(f"{name} resumes to another {attribute}")
        if list(folder.iterdir()):
            raise Finding(f"{name} leaves {next(folder.iterdir()).name} when it has finished")

    return Work(lambda folder: None, run, verify)


# --------------------------------------------------------------------------------------------------------- conversion


def _start_conversion(folder: Path) -> None:
    (folder / "table.csv").write_text(_TABLE, encoding="utf-8")


def _run_conversion(folder: Path) -> Any:
    return mw.io.open(folder / "table.csv", target="y", block_rows=100)


def _verify_conversion(folder: Path) -> None:
    data = _run_conversion(folder)
    found = np.concatenate([block.copy() for _, block in data.blocks()])
    if not np.array_equal(found, X) or not np.array_equal(data.y, Y):
        raise Finding("a conversion after an interrupted one has other numbers")


# -------------------------------------------------------------------------------------------------------- predictions


def _start_prediction(folder: Path) -> None:
    mw.save(_known["models"][0], folder / "model.mw")
    (folder / "samples.csv").write_text(_SAMPLES, encoding="utf-8")
    (folder / "labels.csv").write_text("old\n", encoding="utf-8")


def _run_prediction(folder: Path) -> None:
    names = [str(folder / name) for name in ("model.mw", "samples.csv", "labels.csv")]
    result = CliRunner().invoke(main, ["predict", names[0], names[1], "--out", names[2], "--debug"])
    if result.exception is not None:
        raise result.exception


def _verify_prediction(folder: Path) -> None:
    lines = (folder / "labels.csv").read_text(encoding="utf-8").splitlines()
    if lines != ["old"] and len(lines) not in (len(Y), len(Y) + 1):
        raise Finding(f"an interrupted prediction leaves a file of {len(lines)} lines")


WORK: dict[str, Work] = {
    "save": Work(_start_save, _run_save, _verify_save),
    "conversion": Work(_start_conversion, _run_conversion, _verify_conversion),
    "prediction": Work(_start_prediction, _run_prediction, _verify_prediction),
    **{f"training by {name}": _make_training(name) for name in _STREAMS},
}


def check_leftovers(folder: Path, what: str) -> None:
    """Raise a `Finding` if work that failed, and was not killed, leaves unfinished files."""
    left = [path.name for path in folder.rglob("*") if path.name.endswith(PARTIAL)]
    if left:
        raise Finding(f"{what} leaves {left[0]}")
