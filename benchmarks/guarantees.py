"""Do the guarantees of MetricClassifier hold as often as their confidence says?

Every fit has samples of its own; the precision of its predictions on many new samples is nearly exact.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from benchmarks.context import Context
from benchmarks.report import Column, Record, Section, Table
from metricwise import MetricClassifier, RecallAtPrecision, UnreachableGuaranteeError

PRECISION, CONFIDENCE = 0.8, 0.95
CANDIDATES = {
    "logistic regression": LogisticRegression(),
    "extra trees": ExtraTreesClassifier(20, min_samples_leaf=3, random_state=0),
    "linear SVM": LinearSVC(),
}
TRIALS, QUICK_TRIALS, NEW_SAMPLES = 200, 10, 50_000
N_SAMPLES = 1000
SETTINGS = {
    "RecallAtPrecision(0.8)": (RecallAtPrecision(PRECISION), None),
    'f1, subject_to="precision>=0.8"': ("f1", "precision>=0.8"),
}

COLUMNS = (
    Column("measure", "measure"),
    Column("n_samples", "samples"),
    Column("n_trials", "fits"),
    Column("refused", "refused", "{:.1%}"),
    Column("kept", "kept, of those given", "{:.1%}"),
    Column("kept_or_refused", "kept or refused", "{:.1%}"),
)

TEXT = [
    f"``MetricClassifier`` with a precision of at least {PRECISION:g} at confidence {CONFIDENCE:g}, and the candidates "
    f"{', '.join(CANDIDATES)}. Each fit has its own samples, a quarter of them positive. A guarantee is kept if the "
    f"precision on {NEW_SAMPLES} new samples is at least {PRECISION:g}; a fit that raises instead is refused. At least "
    f"{CONFIDENCE:.0%} must be kept or refused."
]


def measure(context: Context) -> Section:
    """Count the guarantees that are kept, broken and refused."""
    section = Section("guarantees", "Guarantees of model selection", list(TEXT))
    records = [_count(name, QUICK_TRIALS if context.quick else TRIALS) for name in SETTINGS]
    section.failures += [
        f"{one['measure']}: kept or refused in {one['kept_or_refused']:.1%}"
        for one in records
        if not context.quick and one["kept_or_refused"] < CONFIDENCE
    ]
    section.tables.append(Table("Guarantees", COLUMNS, records))
    return section


def _count(name: str, trials: int) -> Record:
    chosen, subject_to = SETTINGS[name]
    X_new, y_new = _draw(np.random.default_rng(10**6), NEW_SAMPLES)
    kept = broken = 0
    for seed in range(trials):
        model = MetricClassifier(
            chosen, candidates=CANDIDATES, subject_to=subject_to, confidence=CONFIDENCE, random_state=seed
        )
        try:
            model.fit(*_draw(np.random.default_rng(seed), N_SAMPLES))
        except UnreachableGuaranteeError:
            continue
        is_kept = float(np.mean(y_new[model.predict(X_new)])) >= PRECISION
        kept, broken = kept + is_kept, broken + (not is_kept)
    return {
        "measure": name,
        "n_samples": N_SAMPLES,
        "n_trials": trials,
        "refused": 1.0 - (kept + broken) / trials,
        "kept": kept / max(kept + broken, 1),
        "kept_or_refused": 1.0 - broken / trials,
    }


def _draw(random: np.random.Generator, n: int) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return samples of two overlapping classes, apart along a curve."""
    y = random.random(n) < 0.25
    X = random.normal(size=(n, 4)) + 1.8 * y[:, None] * np.array([1.0, 0.7, 0.0, 0.0])
    X[:, 2] += 0.5 * X[:, 0] ** 2 * ~y
    return X, y
