"""Estimate priors and probabilities by QuaPy's EMQ: SAMPLES FOUND.

Runs in an environment of its own, without metricwise. SAMPLES has the training samples (X, y) and, for every multiple
of the odds, test samples (X_0, X_1, ...); FOUND gets a prior and probabilities for every learner, setting and multiple.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import quapy as qp
from quapy.data import LabelledCollection
from quapy.method.aggregative import EMQ
from quapy.model_selection import GridSearchQ
from quapy.protocol import UPP
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

# The same as in `prior_shift`.
LEARNERS: dict[str, Any] = {
    "logistic regression": make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
    "boosted trees": HistGradientBoostingClassifier(max_iter=50, random_state=0),
    "random forest": RandomForestClassifier(50, random_state=0),
}
GRID = {"calib": ["nbvs", "bcts", "ts", "vs"], "exact_train_prev": [True, False]}
VALIDATION, BAG, REPEATS = 0.4, 100, 100


def fit_quantifiers(learner: Any, X: Any, y: Any) -> Iterator[tuple[str, Any]]:
    """Yield trained quantifiers: defaults, the authors' recommendation, and settings chosen on validation samples."""
    yield "em", EMQ(clone(learner)).fit(X, y)
    yield "bcts", EMQ.EMQ_BCTS(clone(learner), on_calib_error="backup").fit(X, y)
    samples = LabelledCollection(X, y)
    train, validation = samples.split_stratified(1.0 - VALIDATION, random_state=0)
    protocol = UPP(validation, sample_size=BAG, repeats=REPEATS, random_state=0)
    model = EMQ(clone(learner), val_split=5, on_calib_error="backup")
    search = GridSearchQ(model, GRID, protocol, error="mae", refit=False).fit(*train.Xy)
    yield "tuned", EMQ(clone(learner), val_split=5, on_calib_error="backup", **search.best_params_).fit(X, y)


def main(samples: str, found: str) -> None:
    """Train once per learner and setting, and estimate every part of the test samples."""
    warnings.simplefilter("ignore")
    qp.environ["SAMPLE_SIZE"] = BAG
    part, results = dict(np.load(samples)), {}
    for number, learner in enumerate(LEARNERS.values()):
        for name, quantifier in fit_quantifiers(learner, part["X"], part["y"].astype(int)):
            for k in range(sum(key.startswith("X_") for key in part)):
                results[f"prior_{number}_{name}_{k}"] = quantifier.predict(part[f"X_{k}"])[1]
                results[f"chances_{number}_{name}_{k}"] = quantifier.predict_proba(part[f"X_{k}"])[:, 1]
    np.savez(found, **results)


if __name__ == "__main__":
    main(*sys.argv[1:])
