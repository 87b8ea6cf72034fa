"""Fit every estimator and read a file; print predictions as JSON. Run with and without compiled kernels."""

from __future__ import annotations

import json
import tempfile
import warnings
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

import metricwise

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))
Y = (X[:, 0] + 0.3 * RNG.normal(size=40) > 0.3).astype(int)
LABELS = np.stack([Y, 1 - Y, (X[:, 1] > 0.0).astype(int)], axis=1)
QUICK = {"threshold": 0.0, "max_iter": 5}
FITS = {
    "MultivariateSVC": lambda m: m("f1", **QUICK).fit(X, Y),
    "SmoothedSVC": lambda m: m("accuracy", **QUICK).fit(X, Y),
    "FeatureSelectingSVC": lambda m: m("f1", **QUICK).fit(X, Y),
    "AUCSVC": lambda m: m(norm=2, **QUICK).fit(X, Y),
    "RankingSVC": lambda m: m(max_iter=5).fit(X, Y + (X[:, 0] > 1.0), groups=np.arange(40) % 4),
    "AMPClassifier": lambda m: m("f1", **QUICK).fit(X, Y),
    "SparseCodingClassifier": lambda m: m(max_iter=2, threshold=0.0, random_state=0).fit(X, Y),
    "STAMPClassifier": lambda m: m("f1", n_passes=2, threshold=0.0).fit(sparse.csr_matrix(X), Y),
    "OnlineMetricClassifier": lambda m: m().fit(X, Y),
    "SPADEClassifier": lambda m: m("g_mean", n_passes=2, threshold=0.0).fit(X, Y),
    "MiniBatchSVC": lambda m: m("f1", n_passes=2, threshold=0.0).fit(X, Y),
    "PlugInClassifier": lambda m: m(LogisticRegression(), "f1", cv=2).fit(X, Y),
    "TriageClassifier": lambda m: m(LogisticRegression(), "f1", cv=2, capacity=0.2).fit(X, Y),
    "CostSensitiveClassifier": lambda m: m(LogisticRegression(), "f1", cv=2, max_iter=2).fit(X, Y),
    "AdaptedSVC": lambda m: m("f1", cv=2, max_iter=5).fit(X, Y),
    "BinaryRelevance": lambda m: m(LogisticRegression()).fit(X, LABELS),
    "ProbabilisticClassifierChain": lambda m: m(LogisticRegression(), random_state=0).fit(X, LABELS),
    "MetricClassifier": lambda m: m("f1", candidates={"logistic": LogisticRegression()}, cv=2).fit(X, Y),
}
OTHERS = {
    "weights": lambda: metricwise.MultivariateSVC("f1", **QUICK).fit(X, Y, sample_weight=0.5 + Y * X[:, 1] ** 2),
    "means": lambda: metricwise.MultivariateSVC("g_mean", **QUICK).fit(sparse.csr_matrix(X), Y),
    "top": lambda: metricwise.MultivariateSVC("prbep", **QUICK).fit(np.asfortranarray(X), Y),
    "area": lambda: metricwise.MultivariateSVC(metricwise.PartialAuc(0.1, 0.5), **QUICK).fit(X, Y),
    "kernel": lambda: metricwise.MultivariateSVC("f1", kernel="rbf", **QUICK).fit(X, Y),
}


def read_numbers():
    """Return numbers of a file that each take another way through the parser."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        path.write_text("a,b,y\n0.1,1e300,no\n-12345678901234567,2.5e-290,yes\n1e-300,123.456e7,no\n")
        table = metricwise.io.read_table(path, target="y")
        return np.asarray(table.X, dtype=np.float64).ravel().tolist()


def main():
    warnings.simplefilter("ignore", ConvergenceWarning)
    warnings.simplefilter("ignore", UserWarning)
    warnings.simplefilter("error", RuntimeWarning)
    models = {name: fit(getattr(metricwise, name)) for name, fit in FITS.items()}
    models |= {name: fit() for name, fit in OTHERS.items()}
    found = {name: np.round(model.predict(X), 9).tolist() for name, model in models.items()}  # labels, or scores
    print(json.dumps(found | {"numbers": read_numbers()}))


if __name__ == "__main__":
    main()
