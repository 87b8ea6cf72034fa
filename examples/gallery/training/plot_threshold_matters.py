"""
Choose the threshold of a multivariate SVM
==========================================

A multivariate SVM minimises a convex bound of the training loss. That finds good *weights*: a ranking of the samples.
It does not determine the best *threshold*. The bound is built around score 0, which is seldom optimal, and the scores
of the training samples are biased, because the model was fitted to them. ``threshold="cv"``, the default, maximises
the measure on out-of-fold scores.

The weights are the same in all three cases. Only ``threshold_`` differs (:doc:`/guide/multivariate_svm`).
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

plt.rcParams.update({"font.size": 12, "axes.spines.top": False, "axes.spines.right": False})
colours = ("0.15", "#b0500a", "#0b5fc0")
figure, (curve, summary) = plt.subplots(1, 2, figsize=(8.4, 4), width_ratios=(3, 2), layout="constrained")
for X, y, style in ((X_train, y_train, "--"), (X_test, y_test, "-")):
    scores = first.decision_function(X) + first.threshold_
    curve.plot(grid, [f1_score(y, scores > threshold) for threshold in grid], style, color="0.6")
for k, (name, model) in enumerate(zip(THRESHOLDS, models[0], strict=True)):
    curve.plot(model.threshold_, test_f1[0, k], "osD"[k], color=colours[k], markersize=9)
    curve.annotate(name, (model.threshold_, test_f1[0, k]), (10, -16), textcoords="offset points", color=colours[k])
curve.set(xlabel="threshold", ylabel="F1", ylim=(0.2, 1.0))
curve.text(0.2, 0.94, "training samples", color="0.4")
curve.text(1.75, 0.65, "test samples", color="0.4")

for k in range(len(THRESHOLDS)):
    summary.plot(np.full(len(draws), k), test_f1[:, k], "osD"[k], color=colours[k], alpha=0.5)
    summary.hlines(test_f1[:, k].mean(), k - 0.25, k + 0.25, color="black")
summary.set(
    xlim=(-0.6, 2.6), xticks=range(3), xticklabels=THRESHOLDS, xlabel="threshold=", ylabel="F1, five draws and mean"
)
plt.show()

# %%
# On average over the draws, the threshold from out-of-fold scores is the best of the three, and the one from training
# scores the worst, although it looks best in training.

assert test_f1.mean(axis=0).argmax() == 2 and test_f1.mean(axis=0).argmin() == 1 and train_f1.mean(axis=0).argmax() == 1
