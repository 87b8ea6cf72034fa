"""
Choose the threshold of a multivariate SVM
==========================================

A multivariate SVM minimises a convex bound of the training loss. That finds good *weights*: a ranking of the samples.
It does not determine the best *threshold*. The bound is built around score 0, which is seldom optimal, and the scores
of the training samples are biased, because the model was fitted to them. ``threshold="cv"``, the default, maximises
the measure on out-of-fold scores.

The weights are the same in all three cases. Only ``threshold_`` differs.
"""

# %%
# Imbalanced data with many features: 7 % of the samples are positive, and 20 of 80 features matter.

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import make_classification
from sklearn.metrics import f1_score
from sklearn.model_selection import train_test_split

from metricwise import MultivariateSVC

Array = NDArray[np.float64]
THRESHOLDS: dict[str, str | float] = {"0": 0.0, '"train"': "train", '"cv"': "cv"}


def draw_data(seed: int) -> list[Array]:
    """Return 500 training samples and 2500 test samples, and the labels of both."""
    X, y = make_classification(
        n_samples=3000,
        n_features=80,
        n_informative=20,
        n_redundant=0,
        n_clusters_per_class=1,
        weights=[0.93],
        flip_y=0.02,
        random_state=seed,
    )
    parts: list[Array] = train_test_split(X, y, train_size=500, stratify=y, random_state=0)
    return parts


# %%
# Train one model per threshold. Five draws of the data show how much the results vary by chance.


def score_f1(models: list[MultivariateSVC], X: Array, y: Array) -> list[float]:
    """Return the F1 of each model."""
    return [float(f1_score(y, model.predict(X))) for model in models]


draws = [draw_data(seed) for seed in range(5)]
models = [
    [MultivariateSVC("f1", C=0.1, threshold=threshold).fit(X, y) for threshold in THRESHOLDS.values()]
    for X, _, y, _ in draws
]
train_f1 = np.array([score_f1(row, X, y) for row, (X, _, y, _) in zip(models, draws, strict=True)])
test_f1 = np.array([score_f1(row, X, y) for row, (_, X, _, y) in zip(models, draws, strict=True)])
for k, name in enumerate(THRESHOLDS):
    print(f"threshold={name:8} mean F1: {train_f1[:, k].mean():.3f} in training, {test_f1[:, k].mean():.3f} in testing")

# %%
# The first draw in detail: F1 on the training and the test samples against the threshold, and the three choices.

X_train, X_test, y_train, y_test = draws[0]
first = models[0][0]
grid = np.linspace(-2.0, 3.0, 101)

figure, (curve, summary) = plt.subplots(1, 2, figsize=(10, 4), width_ratios=(3, 2), layout="constrained")
for X, y, style, label in ((X_train, y_train, "--", "training samples"), (X_test, y_test, "-", "test samples")):
    scores = first.decision_function(X) + first.threshold_
    curve.plot(grid, [f1_score(y, scores > threshold) for threshold in grid], style, color="tab:gray", label=label)
for k, (name, model) in enumerate(zip(THRESHOLDS, models[0], strict=True)):
    curve.plot(model.threshold_, test_f1[0, k], "osD"[k], markersize=9, label=f"threshold={name}")
curve.set(xlabel="threshold", ylabel="F1", title="one draw")
curve.legend()

for k in range(len(THRESHOLDS)):
    summary.plot(np.full(len(draws), k), test_f1[:, k], "osD"[k], alpha=0.5)
    summary.hlines(test_f1[:, k].mean(), k - 0.25, k + 0.25, color="black")
summary.set(xlim=(-0.6, 2.6), xticks=range(3), xticklabels=THRESHOLDS, xlabel="threshold=", ylabel="F1 on test samples")
summary.set_title("five draws, and their mean")
plt.show()
