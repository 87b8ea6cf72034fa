"""
Use a measure of your own
=========================

One function of the four counts of the contingency table is a measure. Here a false alarm weighs three times as much
as a missed positive. The threshold goes to where the precision-recall curve touches the highest level of that
measure.
"""

# %%
# The measure is ``tp / (tp + 3 * fp + fn)``: 1 for perfect labels, and 0 if no positive is found.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import precision_recall_curve, precision_score, recall_score
from sklearn.model_selection import train_test_split

from metricwise import PlugInClassifier, contingency_measure

plt.rcParams.update({"font.size": 12, "axes.spines.top": False, "axes.spines.right": False})
careful = contingency_measure(lambda tp, fp, fn, tn: tp / (tp + 3 * fp + fn), name="careful")

X, y = make_classification(6000, n_informative=5, weights=[0.85], flip_y=0.02, class_sep=1.3, random_state=1)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, stratify=y, random_state=0)

# %%
# Every estimator that takes measures of the contingency table takes this one, in the place of a name.

models = {
    "for F1": PlugInClassifier(LogisticRegression(), "f1").fit(X_train, y_train),
    "for the own measure": PlugInClassifier(LogisticRegression(), careful).fit(X_train, y_train),
}
values = {name: careful.score(y_test, model.predict(X_test)) for name, model in models.items()}
for name, model in models.items():
    print(f"threshold {name:20} {model.threshold_:.2f}: own measure {values[name]:.3f} on test samples")

# %%
# The measure as a function of precision and recall, the curve of the test samples, and both operating points.

recall, precision = np.meshgrid(np.linspace(0.01, 1, 200), np.linspace(0.01, 1, 200))
levels = 1 / (1 + 3 * (1 / precision - 1) + (1 / recall - 1))
curve = precision_recall_curve(y_test, models["for F1"].predict_proba(X_test)[:, 1])

figure, panel = plt.subplots(figsize=(7, 4.6), layout="constrained")
shown = panel.contourf(recall, precision, levels, np.linspace(0, 1, 11), cmap="Blues", alpha=0.7)
figure.colorbar(shown, ax=panel, label="own measure", ticks=[0, 0.5, 1])
panel.plot(curve[1], curve[0], color="0.15")
for (name, model), colour, place in zip(models.items(), ("#b0500a", "0.05"), ((-12, -20), (-12, -18)), strict=True):
    labels = model.predict(X_test)
    point = recall_score(y_test, labels), precision_score(y_test, labels)
    panel.plot(*point, "D", color=colour, markeredgecolor="white", markersize=11)
    panel.annotate(name, point, place, textcoords="offset points", color=colour, ha="right", weight="bold")
panel.set(xlim=(0, 1), ylim=(0, 1), xlabel="recall", ylabel="precision")
plt.show()

# %%
# The threshold that was chosen for the own measure is higher, and serves it better on the test samples.

assert models["for the own measure"].threshold_ > models["for F1"].threshold_
assert values["for the own measure"] > values["for F1"]

# %%
# :doc:`/guide/measures` shows costs, functions of the confusion matrix of several classes, and gains by rank.
