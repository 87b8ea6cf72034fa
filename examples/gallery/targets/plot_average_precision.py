"""
Rank the positives first: average precision
===========================================

The area under the ROC curve counts all pairs alike. Average precision counts the top of the ranking, which is what
people look at if they look at the first hundred. :class:`~metricwise.AUCSVC` trains a linear ranking for either;
logistic regression is the one to compare with.
"""

# %%
# 3 % positives, of two kinds: one that a first feature finds nearly without a mistake, and one that a second feature
# finds with many. A single linear score cannot serve both equally well.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.preprocessing import StandardScaler

from metricwise import AUCSVC

plt.rcParams.update({"font.size": 12, "axes.spines.top": False, "axes.spines.right": False})


def draw(n_samples, seed):
    """Return samples and labels."""
    random = np.random.default_rng(seed)
    y = (np.arange(n_samples) % 100 < 3).astype(int)
    is_clear = (y == 1) & (np.arange(n_samples) % 100 < 2)
    X = random.normal(size=(n_samples, 4))
    X[is_clear, 0] += 4.0
    X[(y == 1) & ~is_clear, 1] += 1.5
    return X, y


X, y = draw(6000, seed=0)
X_test, y_test = draw(20_000, seed=1)
scaler = StandardScaler().fit(X)
X, X_test = scaler.transform(X), scaler.transform(X_test)

# %%
# Three linear models.

models = {
    "trained for ROC area": AUCSVC(measure="roc_auc", C=0.1).fit(X, y),
    "trained for average precision": AUCSVC(measure="average_precision", C=0.1).fit(X, y),
    "logistic regression": LogisticRegression().fit(X, y),
}
scores = {name: model.decision_function(X_test) for name, model in models.items()}
found = {name: (roc_auc_score(y_test, value), average_precision_score(y_test, value)) for name, value in scores.items()}
for name, (area, precision) in found.items():
    print(f"{name:30} ROC area {area:.3f}, average precision {precision:.3f}")

# %%
# The precision among the first k test samples.

figure, panel = plt.subplots(figsize=(7.5, 4), layout="constrained")
ranks = np.arange(1, 2001)
places = {"#b0500a": (11, 0.3), "#0b5fc0": (11, 0.4), "0.4": (11, 0.5)}
for (name, value), (colour, place) in zip(scores.items(), places.items(), strict=True):
    precision = np.cumsum(y_test[np.argsort(-value)])[:2000] / ranks
    panel.semilogx(ranks[9:], precision[9:], color=colour)
    panel.text(*place, name, color=colour)
panel.set(xlabel="first k samples of the ranking", ylabel="precision", ylim=(0, 1.1))
plt.show()

# %%
# Of the two machines, each is the better one for the measure that it was trained for. Logistic regression, trained
# for neither, has the best average precision here and the smallest ROC area.

(area_a, precision_a), (area_b, precision_b), (area_c, precision_c) = found.values()
assert area_a > area_b > area_c and precision_c > precision_b > precision_a + 0.03

# %%
# :doc:`/guide/auc_and_kernels` and :doc:`/guide/rankings` say when to use them, and how logistic regression compares.
