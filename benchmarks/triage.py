"""Are precision and negative predictive value kept with abstention, how often are they refused, and at what price?

Every repetition has calibration samples of its own, for one trained classifier; all methods get the same. The shares
are computed on many other samples, so that they are nearly exact.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

from benchmarks import data
from benchmarks.context import Context, SkippedError
from benchmarks.report import Column, Record, Section, Table
from metricwise import TriageClassifier, UnreachableGuaranteeError

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
Thresholds = NDArray[np.float64]  # a row with the lower and the upper one per repetition; NaN where it is refused

SCRIPT = Path(__file__).with_name("mapie_process.py")
MAPIE_VARIABLE = "MAPIE_PYTHON"
CONFIDENCE = 0.95
REPETITIONS, QUICK_REPETITIONS = 200, 5
N_CALIBRATION, N_TRAINING, N_NEW = 2000, 1500, 50_000
N_GRID = 18
N_TRAINING_COVTYPE, N_POOL = 5000, 60_000
PEERS = {
    "split_fixed_sequence": "MAPIE, split_fixed_sequence",
    "bonferroni_holm": "MAPIE, bonferroni_holm",
}
OURS, TRAINED = "TriageClassifier", "TriageClassifier, trained in fit"

COLUMNS = (
    Column("population", "samples"),
    Column("method", "method"),
    Column("refused", "refused", "{:.1%}"),
    Column("kept", "both kept, of those given", "{:.1%}"),
    Column("kept_or_refused", "kept or refused", "{:.1%}"),
    Column("abstention", "abstention rate, all to review if refused", "{:.1%}"),
    Column("given", "abstention rate, of those given", "{:.1%}"),
    Column("recall", "positives predicted positive", "{:.1%}"),
)


@dataclass(frozen=True)
class Population:
    """A classifier, and samples to calibrate and evaluate it.

    Attributes
    ----------
    name : str
        What the samples are.
    levels : pair of float
        Least precision and least negative predictive value.
    model : classifier
        Trained on other samples.
    draw : callable
        Returns calibration samples, X and y, of a repetition, and the positions among ``X_new`` that they are at.
    X_new, y_new : arrays
        Samples to evaluate.
    learner : classifier or None
        For `TRAINED`, on samples of ``draw_more``; None if there are too few.
    """

    name: str
    levels: tuple[float, float]
    model: Any
    draw: Callable[[int], tuple[Any, Mask, NDArray[np.int64]]]
    X_new: Any
    y_new: Mask
    draw_more: Callable[[int], tuple[Any, Mask]] | None = None
    learner: Any = None


def _draw_normal(seed: int, n: int, share: float, distance: float) -> tuple[Floats, Mask]:
    random = np.random.default_rng(seed)
    y = random.random(n) < share
    return random.normal(size=(n, 3)) + distance * y[:, None] * np.array([0.8, 0.6, 0.0]), y


def _draw_curved(seed: int, n: int) -> tuple[Floats, Mask]:
    random = np.random.default_rng(seed)
    y = random.random(n) < 0.3
    X = random.normal(size=(n, 4)) + 2.4 * y[:, None] * np.array([1.0, 0.7, 0.0, 0.0])
    X[:, 2] += 0.5 * X[:, 0] ** 2 * ~y
    return X, y


def _generated(
    name: str,
    levels: tuple[float, float],
    draw: Callable[[int, int], tuple[Floats, Mask]],
    learner: Any,
    trains: bool = True,
) -> Population:
    nowhere = np.array([], dtype=np.int64)
    return Population(
        name,
        levels,
        learner.fit(*draw(10**6, N_TRAINING)),
        lambda seed: (*draw(seed, N_CALIBRATION), nowhere),
        *draw(10**6 + 1, N_NEW),
        (lambda seed: draw(2 * 10**6 + seed, N_TRAINING + N_CALIBRATION)) if trains else None,
        learner,
    )


def _real(name: str, levels: tuple[float, float], X: Any, y: Mask, n_training: int, learner: Any) -> Population:
    """Return samples of a data set: some train the classifier, all others are drawn from and evaluated."""
    order = np.random.default_rng(0).permutation(y.size)
    training, rest = np.sort(order[:n_training]), np.sort(order[n_training : n_training + N_POOL])

    def draw(seed: int) -> tuple[Any, Mask, NDArray[np.int64]]:
        chosen = np.sort(np.random.default_rng(seed).permutation(rest.size)[:N_CALIBRATION])
        return X[rest[chosen]], y[rest[chosen]], chosen

    return Population(name, levels, learner.fit(X[training], y[training]), draw, X[rest], y[rest])


@lru_cache(maxsize=1)
def _a9a() -> tuple[Any, Mask]:
    from scipy import sparse

    task = data.task("a9a")
    assert task.y_test is not None
    return sparse.vstack([task.X, task.X_test]).tocsr(), np.concatenate([task.y, task.y_test])


def _covtype() -> tuple[Any, Mask]:
    task = data.task("covtype_2")
    return task.X, task.y


def _list_populations() -> dict[str, Callable[[], Population]]:
    trees = ExtraTreesClassifier(100, min_samples_leaf=3, random_state=0, n_jobs=1)
    boosted = HistGradientBoostingClassifier(random_state=0)
    linear = LogisticRegression(max_iter=1000)
    return {
        "normal classes, 30 % positive": lambda: _generated(
            "normal classes, 30 % positive", (0.9, 0.95), lambda s, n: _draw_normal(s, n, 0.3, 2.6), linear
        ),
        "normal classes, 10 % positive": lambda: _generated(
            "normal classes, 10 % positive", (0.85, 0.98), lambda s, n: _draw_normal(s, n, 0.1, 3.0), linear
        ),
        "curved classes, 30 % positive": lambda: _generated(
            "curved classes, 30 % positive", (0.9, 0.95), _draw_curved, trees, trains=False
        ),
        "a9a": lambda: _real("a9a", (0.8, 0.95), *_a9a(), N_TRAINING, linear),
        "covtype, class 2": lambda: _real("covtype, class 2", (0.85, 0.85), *_covtype(), N_TRAINING_COVTYPE, boosted),
    }


TEXT = [
    f"Precision and negative predictive value are guaranteed together with confidence {CONFIDENCE:g}, and the samples "
    f"between two thresholds are sent to review. One classifier per data set is trained on {N_TRAINING} samples "
    f"({N_TRAINING_COVTYPE} of covtype): logistic regression for normal classes and a9a, extra trees for curved "
    f"classes, boosted trees for covtype. Each repetition draws {N_CALIBRATION} calibration samples, the same for all; "
    "with ``prefit=True``, ``TriageClassifier`` orders its thresholds on a third of them and tests them on the others. "
    "Wanted are a precision of 0.9 and a negative predictive value of 0.95 (normal and curved classes, 30 % positive), "
    "0.85 and 0.98 (10 % positive), 0.8 and 0.95 (a9a), 0.85 and 0.85 (covtype). Both shares are computed on "
    f"{N_NEW} new samples, or on all samples of a data set (of covtype, {N_POOL}) that are neither trained nor "
    "calibrated on.",
    "MAPIE runs in an environment of its own, whose interpreter the environment variable "
    f"{MAPIE_VARIABLE} names: ``BinaryClassificationController`` with the risks precision and negative predictive "
    f"value, all pairs of {N_GRID} thresholds between the 1 % and 99 % quantiles of the probabilities, the lowest "
    "abstention rate, and a third of the samples to learn the order of ``split_fixed_sequence`` (with 100 levels "
    f"beta). ``{TRAINED}`` trains the same kind of classifier itself, on {N_TRAINING + N_CALIBRATION} samples of each "
    "repetition, half of which are kept for the test. At least 95 % must be kept or refused. A refused repetition "
    "counts as an abstention rate of 100 % in the first of the two columns. Bounds, the number of calibration samples "
    "and MAPIE's grid were chosen on the first five repetitions.",
]


def measure(context: Context) -> Section:
    """Count the guarantees that are kept, broken and refused, and the samples that are sent to review."""
    section = Section("triage", "Guarantees with abstention", list(TEXT))
    repetitions = QUICK_REPETITIONS if context.quick else REPETITIONS
    records: list[Record] = []
    for name, make in _list_populations().items():
        try:
            records += _measure(make(), repetitions, section)
        except SkippedError as reason:
            section.skip(name, reason)
    section.failures += [
        f"{one['population']}, {one['method']}: kept or refused in {one['kept_or_refused']:.1%}"
        for one in records
        if not context.quick and one["method"].startswith(OURS) and one["kept_or_refused"] < CONFIDENCE
    ]
    section.tables.append(Table("Kept, refused and sent to review", COLUMNS, records))
    return section


def _measure(population: Population, repetitions: int, section: Section) -> list[Record]:
    drawn = [population.draw(seed) for seed in range(repetitions)]
    where = [positions for *_, positions in drawn]
    scores = population.model.predict_proba(population.X_new)[:, 1]
    found = {OURS: np.array([_calibrate(population, *samples) for *samples, _ in drawn])}
    found |= _ask_mapie(population, [samples for *samples, _ in drawn], section)
    records = [_judge(population, name, thresholds, scores, where) for name, thresholds in found.items()]
    if population.draw_more is not None:
        records.append(_judge_trained(population, repetitions))
    return records


def _wanted(population: Population) -> list[str]:
    precision, npv = population.levels
    return [f"precision>={precision:g}", f"npv>={npv:g}"]


def _calibrate(population: Population, X: Any, y: Mask) -> tuple[float, float]:
    """Return the thresholds that TriageClassifier chooses for a trained classifier; NaN if it refuses."""
    model = TriageClassifier(population.model, subject_to=_wanted(population), confidence=CONFIDENCE, prefit=True)
    try:
        return model.fit(X, y).thresholds_
    except UnreachableGuaranteeError:
        return np.nan, np.nan


def _ask_mapie(population: Population, drawn: list[Any], section: Section) -> dict[str, Thresholds]:
    """Return the thresholds that MAPIE chooses on the same samples, as the largest probabilities below its own."""
    interpreter = os.environ.get(MAPIE_VARIABLE)
    if interpreter is None:
        section.skip(f"MAPIE on {population.name}", SkippedError(f"{MAPIE_VARIABLE} names no interpreter"))
        return {}
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "in.npz", Path(folder) / "out.npz"
        chance = np.array([population.model.predict_proba(X)[:, 1] for X, _ in drawn])
        y = np.array([truth for _, truth in drawn]).astype(int)
        # Where no sample is above or below a threshold, MAPIE's p-values are undefined, so the grid ends before.
        ends = np.quantile(population.model.predict_proba(population.X_new[:2000])[:, 1], [0.01, 0.99])
        np.savez(
            source,
            grid=np.linspace(*ends, N_GRID),
            chance=chance,
            y=y,
            levels=population.levels,
            confidence=CONFIDENCE,
        )
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        subprocess.run([interpreter, str(SCRIPT), str(source), str(target)], check=True, env=environment)
        answers = np.load(target)
        # It predicts positive from a threshold on, and negative below one.
        return {title: np.nextafter(answers[name], -1.0) for name, title in PEERS.items()}


def _judge(
    population: Population, method: str, thresholds: Thresholds, scores: Floats, where: list[NDArray[np.int64]]
) -> Record:
    """Return how often thresholds keep both shares on samples that they were not chosen on."""
    outcomes = []
    for (lower, upper), positions in zip(thresholds, where, strict=True):
        is_new = np.ones(scores.size, dtype=np.bool_)
        is_new[positions] = False
        outcomes.append(
            None if np.isnan(upper) else _share(population, scores[is_new], population.y_new[is_new], lower, upper)
        )
    return _summarise(population, method, outcomes)


def _judge_trained(population: Population, repetitions: int) -> Record:
    """Return how often models keep both shares that TriageClassifier has trained itself."""
    assert population.draw_more is not None
    outcomes: list[Any] = []
    for seed in range(repetitions):
        model = TriageClassifier(
            population.learner, subject_to=_wanted(population), confidence=CONFIDENCE, random_state=seed
        )
        try:
            model.fit(*population.draw_more(seed))
        except UnreachableGuaranteeError:
            outcomes.append(None)
            continue
        scores = model.predict_proba(population.X_new)[:, 1]
        outcomes.append(_share(population, scores, population.y_new, *model.thresholds_))
    return _summarise(population, TRAINED, outcomes)


def _share(population: Population, scores: Floats, y: Mask, lower: float, upper: float) -> tuple[bool, float, float]:
    """Return whether both shares are kept, the abstention rate and the recall."""
    above, below = scores > upper, scores <= lower
    precision, npv = population.levels
    is_kept = (not above.any() or y[above].mean() >= precision) and (not below.any() or (~y[below]).mean() >= npv)
    return bool(is_kept), float(1.0 - above.mean() - below.mean()), float(above[y].mean())


def _summarise(population: Population, method: str, outcomes: list[tuple[bool, float, float] | None]) -> Record:
    given = [one for one in outcomes if one is not None]
    n = len(outcomes)
    kept = sum(one[0] for one in given)
    return {
        "population": population.name,
        "method": method,
        "refused": 1.0 - len(given) / n,
        "kept": kept / max(len(given), 1),
        "kept_or_refused": 1.0 - (len(given) - kept) / n,
        "abstention": (n - len(given) + sum(one[1] for one in given)) / n,
        "given": float(np.mean([one[1] for one in given])) if given else float("nan"),
        "recall": sum(one[2] for one in given) / n,
    }
