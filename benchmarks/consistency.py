"""Does the regret of decisions for measures of the confusion matrix go to zero with the number of samples?"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import softmax
from sklearn.linear_model import LogisticRegression

from benchmarks import plots
from benchmarks.context import Context
from benchmarks.report import Column, Figure, Record, Section, Table
from metricwise import PlugInClassifier, get_measure
from metricwise.decisions.confusion_choice import find_gains
from metricwise.decisions.decision import ScoredSamples
from metricwise.decisions.gain_rules import KnownSamples

MEASURES = ("g_mean", "h_mean", "min_rate", "f1_macro", "cohen_kappa:quadratic")
SIZES, QUICK_SIZES = (100, 400, 1600, 6400), (100, 400)
REPEATS, N_TEST = 3, 20_000
SHARES = np.array([0.6, 0.25, 0.1, 0.05])
CENTRES = np.array([[0.0, 0.0], [1.5, 0.0], [0.8, 1.3], [-1.0, 1.4]])
TABLE = (
    Column("measure", "measure"),
    Column("best", "best value", "{:.4f}"),
    *(Column(f"regret_{size}", f"regret, {size} samples", "{:.4f}") for size in SIZES),
)
TEXT = [
    f"Four normal distributions with shares {', '.join(f'{one:.0%}' for one in SHARES)}, whose probabilities are known "
    "and which logistic regression can represent. The best value is that of the gains that the known probabilities "
    f"give, on {N_TEST} test samples; the regret of ``PlugInClassifier(LogisticRegression(), measure, "
    f"threshold='gains', cv=3)`` is what it falls short of that, in the mean of {REPEATS} training sets. Small "
    "training sets with fewer than five samples of a class are drawn again.",
]


def measure(context: Context) -> Section:
    """Measure regrets by the number of training samples."""
    section = Section("consistency", "Regret and the number of samples", list(TEXT))
    sizes = QUICK_SIZES if context.quick else SIZES
    test = draw(N_TEST, np.random.default_rng(10_000))
    records = [_measure(name, sizes, test) for name in MEASURES]
    section.tables.append(Table("Regret by the number of training samples", TABLE, records))
    curves = {
        one["measure"]: {"sizes": list(sizes), "regrets": [max(one[f"regret_{size}"], 1e-5) for size in sizes]}
        for one in records
    }
    plots.regrets(context.figures / "consistency.png", curves)
    section.figures.append(Figure("consistency.png", "Regret by the number of training samples"))
    return section


def draw(n_samples: int, random: np.random.Generator) -> tuple[Any, Any, Any]:
    """Return samples, classes and the logarithms of their known probabilities, up to a constant per sample."""
    y = random.choice(SHARES.size, n_samples, p=SHARES)
    while n_samples < 1000 and np.bincount(y, minlength=SHARES.size).min() < 5:
        y = random.choice(SHARES.size, n_samples, p=SHARES)
    X = random.normal(size=(n_samples, 2)) + CENTRES[y]
    return X, y, np.log(SHARES) - 0.5 * ((X[:, None] - CENTRES) ** 2).sum(axis=2)


def _measure(name: str, sizes: tuple[int, ...], test: tuple[Any, Any, Any]) -> Record:
    X, y, scores = test
    own = get_measure(name)
    gains = find_gains(own, None, ScoredSamples(y, scores, np.ones(len(y)))).gains[0]
    known = KnownSamples.of(softmax(scores, axis=1), np.eye(SHARES.size)[y], np.ones(len(y)))
    best = float(own.of_confusion(known.respond(gains).matrix))
    record: Record = {"measure": name, "best": best}
    for size in sizes:
        values = []
        for seed in range(REPEATS):
            train = draw(size, np.random.default_rng(seed))
            model = PlugInClassifier(LogisticRegression(), name, threshold="gains", cv=3).fit(*train[:2])
            values.append(model.score(X, y))
        record[f"regret_{size}"] = best - float(np.mean(values))
    return record
