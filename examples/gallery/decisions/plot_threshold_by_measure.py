"""
Every measure has a threshold of its own
========================================

One model, four measures: the probability above which a sample should be predicted positive depends on what is judged.
:class:`~metricwise.PlugInClassifier` estimates it from out-of-fold scores, without the test samples that are drawn
here.
"""

# %%
# 11 % of 6000 generated samples are positive.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

from metricwise import PlugInClassifier, get_measure

plt.rcParams.update({"font.size": 12, "axes.spines.top": False, "axes.spines.right": False})
X, y = make_classification(6000, n_informative=5, weights=[0.9], flip_y=0.02, class_sep=0.7, random_state=0)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, stratify=y, random_state=0)

# %%
# The learner and its probabilities are the same for all measures; only ``threshold_`` differs.

measures = {"accuracy": "accuracy", "F1": "f1", "F2": "f2", "G-mean": "g_mean"}
models = {title: PlugInClassifier(LogisticRegression(), name).fit(X_train, y_train) for title, name in measures.items()}
for title, model in models.items():
    print(f"{title:9} threshold {model.threshold_:.2f}, on test samples {model.score(X_test, y_test):.3f}")

# %%
# Each measure of the test samples against the threshold. The diamonds are at the estimated thresholds.

probabilities = models["F1"].predict_proba(X_test)[:, 1]
grid = np.linspace(0.0, 0.8, 161)
colours = {"accuracy": "0.4", "F1": "#0b5fc0", "F2": "#7a3fb0", "G-mean": "#b0500a"}
names_at = {"accuracy": (0.7, 0.04), "F1": (0.45, 0.045), "F2": (0.42, -0.05), "G-mean": (0.5, 0.05)}  # above or below
losses = {}

figure, panel = plt.subplots(figsize=(8, 4.2), layout="constrained")
for title, model in models.items():
    measure = get_measure(measures[title])
    values = [measure.score(y_test, probabilities > threshold) for threshold in grid]
    here = measure.score(y_test, probabilities > model.threshold_)
    losses[title] = max(values) - here
    panel.plot(grid, values, color=colours[title])
    panel.plot(model.threshold_, here, "D", color=colours[title], markeredgecolor="white", markersize=10)
    x, above = names_at[title]
    panel.text(x, np.interp(x, grid, values) + above, title, color=colours[title], va="center")
panel.set(xlim=(0, 0.8), ylim=(0, 1), xlabel="threshold of the probability", ylabel="measure of the test samples")
plt.show()

# %%
# The thresholds range from less than 0.2 (F2 and G-mean, for which a missed positive is worse than a false alarm) to
# more than 0.4 (accuracy), and each loses less than 0.03 to the best threshold that the test samples could have
# shown.

print("lost to the best threshold:", ", ".join(f"{title} {loss:.3f}" for title, loss in losses.items()))
thresholds = {title: model.threshold_ for title, model in models.items()}
assert max(thresholds["F2"], thresholds["G-mean"]) < 0.2 and thresholds["accuracy"] > 0.4
assert max(losses.values()) < 0.03

# %%
# :doc:`/guide/plug_in` explains how thresholds are estimated.
