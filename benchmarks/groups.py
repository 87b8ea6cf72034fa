"""Are guarantees by group kept in every group of new samples?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler

from benchmarks.context import Context, SkippedError
from benchmarks.data import load
from benchmarks.report import Column, Record, Section, Table
from metricwise import PlugInClassifier, UnreachableGuaranteeError

RECALL, CONFIDENCE = 0.8, 0.95
TRIALS, QUICK_TRIALS = 200, 5
MOST_POSITIVES = 20_000  # of a group, that recall is measured on


class Samples(NamedTuple):
    """Features, truth and group of samples."""

    X: Any
    y: NDArray[np.bool_]
    group: NDArray[np.int64]

    def take(self, chosen: NDArray[Any]) -> Samples:
        """Return some of the samples."""
        return Samples(self.X[chosen], self.y[chosen], self.group[chosen])


def draw_population() -> Samples:
    """Return many samples of four groups that differ in size, share of positives and separation."""
    random, n = np.random.default_rng(0), 200_000
    group = random.choice(4, n, p=[0.4, 0.3, 0.2, 0.1])
    X = random.normal(size=(n, 4))
    slope, shift = np.array([2.0, 1.5, 1.0, 1.5])[group], np.array([-1.0, -2.0, 0.0, -0.5])[group]
    return Samples(X, random.random(n) < expit(slope * (X[:, 0] + 0.5 * X[:, 1]) + shift), group)


def read_adult() -> Samples:
    """Return a9a, incomes above a limit, with the sex as group (0: female, 1: male)."""
    data = load("a9a")
    X = data["X"].astype(np.float64).toarray()
    return Samples(X, data["y"] == 1, X[:, 72].astype(np.int64))


def read_covtype() -> Samples:
    """Return covtype, lodgepole pine vs the rest, with the wilderness area as group."""
    data = load("covtype")
    X = np.asarray(data["X"], dtype=np.float64)
    return Samples(X, data["y"] == 2, np.argmax(X[:, 10:14], axis=1))


# With the number of samples of a fit: the smallest area of covtype has 0.5 % of the samples as positives.
POPULATIONS: dict[str, tuple[Callable[[], Samples], int]] = {
    "generated, 4 groups": (draw_population, 3000),
    "a9a, by sex": (read_adult, 3000),
    "covtype, by wilderness area": (read_covtype, 10_000),
}
GUARANTEES = (
    Column("population", "population"),
    Column("n_samples", "samples"),
    Column("thresholds", "thresholds"),
    Column("n_trials", "fits"),
    Column("refused", "refused", "{:.1%}"),
    Column("kept", "kept, of those given", "{:.1%}"),
    Column("kept_or_refused", "kept or refused", "{:.1%}"),
    Column("lowest", "mean of the lowest recall", "{:.3f}"),
    Column("positive_rate", "mean share predicted positive", "{:.1%}"),
)
TEXT = [
    "Guarantees: ``PlugInClassifier`` around logistic regression, trained for F1 with "
    f'``subject_to="recall>={RECALL:g} by group"`` at confidence {CONFIDENCE:g}. Every fit has samples of its own; a '
    f"guarantee is kept if the recall of other samples (all, or {MOST_POSITIVES:,} positive ones per group) is at "
    f"least {RECALL:g} in every group, and a fit that raises instead is refused. At least {CONFIDENCE:.0%} must be "
    "kept or refused. The real populations are finite, which adds a sampling error to the recall of small groups.",
]


def measure(context: Context) -> Section:
    """Count guarantees that are kept in every group."""
    section = Section("groups", "Guarantees by group", list(TEXT))
    trials = QUICK_TRIALS if context.quick else TRIALS
    records: list[Record] = []
    for name, (read, n_samples) in POPULATIONS.items():
        try:
            population = read()
        except SkippedError as error:
            section.text.append(f"{name} is not measured: {error}.")
            continue
        records += [_count(name, population, n_samples, has_own, trials) for has_own in (False, True)]
    section.failures += [
        f"{one['population']}, {one['thresholds']}: kept or refused in {one['kept_or_refused']:.1%}"
        for one in records
        if not context.quick and one["kept_or_refused"] < CONFIDENCE
    ]
    section.tables.append(Table("Recall guaranteed in every group", GUARANTEES, records))
    return section


def make_learner() -> Any:
    """Return the classifier that all thresholds are for."""
    return make_pipeline(MaxAbsScaler(), LogisticRegression(solver="newton-cholesky"))


def measure_recalls(samples: Samples, predicted: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the recall of every group."""
    positive = [samples.y & (samples.group == group) for group in np.unique(samples.group)]
    return np.array([predicted[own].mean() for own in positive])


def _draw_positives(population: Samples, order: NDArray[Any]) -> Samples:
    """Return positive samples of every group, in an order of all samples."""
    of_group = [order[population.y[order] & (population.group[order] == one)] for one in np.unique(population.group)]
    return population.take(np.concatenate([own[:MOST_POSITIVES] for own in of_group]))


def _count(name: str, population: Samples, n_samples: int, has_own: bool, trials: int) -> Record:
    kept = broken = 0
    lowest, rates = [], []
    for seed in range(trials):
        order = np.random.default_rng(seed).permutation(len(population.y))
        own, others = population.take(order[:n_samples]), _draw_positives(population, order[n_samples:])
        model = PlugInClassifier(
            make_learner(), subject_to=f"recall>={RECALL} by group", confidence=CONFIDENCE, group_thresholds=has_own
        )
        try:
            model.fit(own.X, own.y, sensitive_features=own.group)
        except UnreachableGuaranteeError:
            continue
        recalls = measure_recalls(others, model.predict(others.X, sensitive_features=others.group))
        is_kept = bool(np.all(recalls >= RECALL))
        kept, broken = kept + is_kept, broken + (not is_kept)
        new = population.take(order[n_samples : 2 * n_samples])
        lowest.append(recalls.min())
        rates.append(model.predict(new.X, sensitive_features=new.group).mean())
    return {
        "population": name,
        "n_samples": n_samples,
        "thresholds": "one per group" if has_own else "shared",
        "n_trials": trials,
        "refused": 1.0 - (kept + broken) / trials,
        "kept": kept / max(kept + broken, 1),
        "kept_or_refused": 1.0 - broken / trials,
        "lowest": float(np.mean(lowest)) if lowest else float("nan"),
        "positive_rate": float(np.mean(rates)) if rates else float("nan"),
    }
