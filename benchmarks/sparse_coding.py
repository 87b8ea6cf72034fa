"""Joint sparse coding: seconds and F1 against samples, beside scikit-learn's dictionaries with a classifier."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import MiniBatchDictionaryLearning, sparse_encode
from sklearn.metrics import f1_score
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_limits

from benchmarks import plots
from benchmarks.context import Context
from benchmarks.report import Column, Figure, Record, Section, Table
from benchmarks.timing import make_timer, take_turns
from metricwise import PlugInClassifier, SparseCodingClassifier

Floats = NDArray[np.float64]
Labels = NDArray[np.bool_]

N_FEATURES, N_ATOMS, ATOMS_PER_SAMPLE = 60, 100, 5
C1 = 0.5
SIZES, QUICK_SIZES = (1000, 2000, 4000, 8000), (250, 500)
NEW_SAMPLES, QUICK_NEW_SAMPLES = 10_000, 500
REPETITIONS = 2
WHOLE, ONE_FIT = "SparseCodingClassifier", "SparseCodingClassifier, threshold=0"
PEER, TUNED_PEER = "dictionary + LinearSVC", "dictionary + LinearSVC, threshold tuned"
COMPARED, MOST_SECONDS, MOST_EXPONENT = 2000, 10.0, 1.3

COLUMNS = (
    Column("method", "method"),
    Column("n_samples", "samples", "{:,}"),
    Column("seconds", "seconds", "{:.2f}"),
    Column("cpu_seconds", "processor seconds", "{:.2f}"),
    Column("f1", "F1 of new samples", "{:.3f}"),
    Column("iterations", "iterations"),
)
EXPONENTS = (Column("method", "method"), Column("exponent", "exponent of time", "{:.2f}"))
CODING = (
    Column("method", "method"),
    Column("n_samples", "new samples", "{:,}"),
    Column("seconds", "seconds", "{:.3f}"),
    Column("excess", "cost above the least", "{:.1e}"),
)

TEXT = [
    f"Samples of {N_FEATURES} features, each composed of {ATOMS_PER_SAMPLE} of {N_ATOMS} random atoms and a little "
    "noise; a fifth of the samples, those with the highest sums of random weights of their atoms, is positive. "
    f"Dictionaries of {N_ATOMS} atoms are learned with the penalty C1 = {C1:g} on one thread; F1 is that of "
    f"{NEW_SAMPLES:,} new samples. "
    "*Dictionary + LinearSVC* is scikit-learn's ``MiniBatchDictionaryLearning`` with the same penalty, and "
    "``LinearSVC`` on its codes; ``PlugInClassifier`` tunes its threshold for F1. In turns, best of "
    f"{REPETITIONS}.",
    f"Required: a whole ``fit``, including the threshold on out-of-fold scores, within {MOST_SECONDS:g} seconds on "
    f"{COMPARED} samples, and an exponent of at most {MOST_EXPONENT:g}.",
]


def measure(context: Context) -> Section:
    """Measure all methods at all sizes, and the coding of new samples."""
    section = Section("sparse_coding", "Joint sparse coding", list(TEXT))
    sizes, n_new = (QUICK_SIZES, QUICK_NEW_SAMPLES) if context.quick else (SIZES, NEW_SAMPLES)
    X, y = simulate(max(sizes) + n_new)
    new, records = (X[-n_new:], y[-n_new:]), []
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = SparseCodingClassifier("f1", 10, max_iter=2, n_jobs=1).fit(X[:100], y[:100])  # compiles
        for size in sizes:
            found = take_turns(
                {name: make_timer(partial(_fit_first, make, size, X, y)) for name, make in _methods().items()},
                REPETITIONS,
            )
            records += [_record(name, size, timing, *new) for name, timing in found.items()]
            model = found[ONE_FIT].value
        coding = _coding(model, new[0])
    fits = [_fit([record for record in records if record["method"] == name]) for name in _methods()]
    section.tables += [
        Table("Growth", EXPONENTS, fits),
        Table("All sizes", COLUMNS, records),
        Table("Codes of new samples", CODING, coding),
    ]
    section.failures += _find_failures(records, fits)
    section.figures.append(_draw(records, context))
    return section


def simulate(n_samples: int) -> tuple[Floats, Labels]:
    """Return samples composed of a few atoms, and labels that depend on these."""
    random = np.random.default_rng(0)
    atoms = random.normal(size=(N_ATOMS, N_FEATURES))
    atoms /= np.linalg.norm(atoms, axis=1, keepdims=True)
    codes = np.zeros((n_samples, N_ATOMS))
    chosen = random.random((n_samples, N_ATOMS)).argpartition(ATOMS_PER_SAMPLE, axis=1)[:, :ATOMS_PER_SAMPLE]
    np.put_along_axis(codes, chosen, random.normal(size=chosen.shape) + 2.0, axis=1)
    sums = codes @ random.normal(size=N_ATOMS) + random.normal(size=n_samples)
    X: Floats = codes @ atoms + 0.1 * random.normal(size=(n_samples, N_FEATURES))
    return X, sums > np.quantile(sums, 0.8)


def _methods() -> dict[str, Callable[[], Any]]:
    shared: dict[str, Any] = {"C1": C1, "n_jobs": 1}
    return {
        WHOLE: lambda: SparseCodingClassifier("f1", N_ATOMS, **shared),
        ONE_FIT: lambda: SparseCodingClassifier("f1", N_ATOMS, threshold=0.0, **shared),
        PEER: _peer,
        TUNED_PEER: lambda: PlugInClassifier(_peer(), "f1"),
    }


def _fit_first(make: Callable[[], Any], n_samples: int, X: Floats, y: Labels) -> Any:
    return make().fit(X[:n_samples], y[:n_samples])


def _peer() -> Any:
    # Its reconstruction error counts half.
    dictionary = MiniBatchDictionaryLearning(
        N_ATOMS,
        alpha=C1 / 2,
        fit_algorithm="cd",  # 15 times as fast here as its default, and as good
        transform_alpha=C1 / 2,
        transform_algorithm="lasso_cd",
        random_state=0,
    )
    return make_pipeline(dictionary, LinearSVC(random_state=0))


def _record(name: str, size: int, timing: Any, X: Floats, y: Labels) -> Record:
    return {
        "method": name,
        "n_samples": size,
        "seconds": timing.seconds,
        "cpu_seconds": timing.cpu_seconds,
        "f1": float(f1_score(y, timing.value.predict(X))),
        "iterations": getattr(timing.value, "n_iter_", None),
    }


def _coding(model: SparseCodingClassifier, X: Floats) -> list[Record]:
    atoms = model.dictionary_
    found = take_turns(
        {
            "transform": make_timer(lambda: model.transform(X)),
            "sparse_encode": make_timer(lambda: sparse_encode(X, atoms, algorithm="lasso_cd", alpha=C1 / 2)),
        },
        REPETITIONS,
    )
    costs = {name: _cost(X, atoms, timing.value) for name, timing in found.items()}
    least = min(costs.values())
    return [
        {"method": name, "n_samples": len(X), "seconds": timing.seconds, "excess": costs[name] / least - 1.0}
        for name, timing in found.items()
    ]


def _cost(X: Floats, atoms: Floats, codes: Floats) -> float:
    return float(((X - codes @ atoms) ** 2).sum() + C1 * np.abs(codes).sum())


def _fit(records: Sequence[Record]) -> Record:
    n_samples, seconds = (np.log([record[key] for record in records]) for key in ("n_samples", "seconds"))
    return {"method": records[0]["method"], "exponent": float(np.polyfit(n_samples, seconds, 1)[0])}


def _find_failures(records: Sequence[Record], fits: Sequence[Record]) -> list[str]:
    slow = [
        f"a whole fit of {record['n_samples']} samples takes {record['seconds']:.1f} seconds"
        for record in records
        if record["method"] == WHOLE and record["n_samples"] == COMPARED and record["seconds"] > MOST_SECONDS
    ]
    return slow + [
        f"{fit['method']} grows as n^{fit['exponent']:.2f}"
        for fit in fits
        if fit["method"] in (WHOLE, ONE_FIT) and fit["exponent"] > MOST_EXPONENT
    ]


def _draw(records: Sequence[Record], context: Context) -> Figure:
    curves: dict[str, tuple[list[int], list[float]]] = {}
    for record in records:
        sizes, seconds = curves.setdefault(record["method"], ([], []))
        sizes.append(record["n_samples"])
        seconds.append(record["seconds"])
    plots.seconds_by_size(context.figures / "sparse_coding.png", curves, MOST_EXPONENT)
    return Figure("sparse_coding.png", "Seconds against the number of samples.")
