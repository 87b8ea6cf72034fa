"""
Accuracy rewards ignoring the minority class
============================================

Where 3 % of the samples are positive, a classifier that never predicts positive is right in 97 % of all cases and
finds nothing. Logistic regression is hardly more accurate. With a threshold chosen for F1 it finds half again as many
positives, and accuracy barely notices.
"""

# %%
# 8000 generated samples, half of them for testing.

import matplotlib.pyplot as plt
from sklearn.datasets import make_classification
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, f1_score, recall_score
from sklearn.model_selection import train_test_split

from metricwise import PlugInClassifier

plt.rcParams.update({"font.size": 12, "axes.spines.top": False, "axes.spines.right": False})
X, y = make_classification(8000, n_informative=5, weights=[0.97], flip_y=0.0, class_sep=1.0, random_state=1)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, stratify=y, random_state=0)

# %%
# Three classifiers: one that never predicts positive, logistic regression as it is, and logistic regression with the
# threshold that :class:`~metricwise.PlugInClassifier` chooses for F1.

models = {
    "always negative": DummyClassifier(strategy="most_frequent"),
    "logistic regression": LogisticRegression(),
    "the same, threshold for F1": PlugInClassifier(LogisticRegression(), "f1"),
}
scores = {"accuracy": accuracy_score, "F1": f1_score, "positives found": recall_score}
found = {}
for name, model in models.items():
    labels = model.fit(X_train, y_train).predict(X_test)
    found[name] = [score(y_test, labels) for score in scores.values()]
    print(f"{name:28}" + ", ".join(f"{key} {value:.3f}" for key, value in zip(scores, found[name], strict=True)))

# %%
# Accuracy is nearly the same for all three. F1 and the share of positives that are found differ.

figure, panels = plt.subplots(1, 3, figsize=(8, 3), sharey=True, layout="constrained")
rows = list(found)[::-1]
for k, (panel, title) in enumerate(zip(panels, scores, strict=True)):
    values = [found[name][k] for name in rows]
    panel.hlines(rows, 0, values, color="0.8", linewidth=6)
    panel.plot(values, rows, "o", color="#0b5fc0", markersize=9)
    for row, value in zip(rows, values, strict=True):
        panel.annotate(f"{value:.2f}", (value, row), (0, 9), textcoords="offset points", ha="center")
    panel.set(xlim=(-0.15, 1.15), ylim=(-0.4, 2.6), xticks=[0, 0.5, 1], xlabel=title)
    panel.spines.left.set_visible(False)
    panel.tick_params(axis="y", length=0)
plt.show()

# %%
# Accuracy differs by about 0.01 among the three, and F1 by more than 0.5.

accuracies, f1 = ([values[k] for values in found.values()] for k in (0, 1))
assert max(accuracies) - min(accuracies) < 0.015 and max(f1) - min(f1) > 0.5
assert found["the same, threshold for F1"][2] > 1.4 * found["logistic regression"][2]

# %%
# :doc:`/guide/measures` lists the measures, and :doc:`/guide/plug_in` explains how the threshold is estimated.
