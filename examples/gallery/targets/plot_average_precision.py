"""
Rank the positives first: average precision
===========================================

The area under the ROC curve counts all pairs alike. Average precision counts the top of the ranking, which is what people
look at if they look at the first hundred. :class:`~metricwise.AUCSVC` trains a linear ranking for either.
"""

# %%
# 3 % positives, of two kinds: one that a first feature finds nearly without a mistake, and one that a second feature finds
# with many. A single linear score cannot serve both equally well.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.preprocessing import StandardScaler

from metricwise import AUCSVC

plt.rcParams.update({"font.size": 12, "axes.spines.top": False, "axes.spines.right": False})


def draw(n_samples, seed):
    """Return samples and labels."""
    random = np.random.default_rng(seed)
    y = (np.arange(n_samples) % 100 < 3).astype(int)
    is_clear = (y == 1) & (np.arange(n_samples) % 100 == 0)
    X = random.normal(size=(n_samples, 4))
    X[is_clear, 0] += 4.5
    X[(y == 1) & ~is_clear, 1] += 2.0
    return X, y


X, y = draw(6000, seed=0)
X_test, y_test = draw(20_000, seed=1)
scaler = StandardScaler().fit(X)
X, X_test = scaler.transform(X), scaler.transform(X_test)

# %%
# The same model class, trained for two measures.

models = {name: AUCSVC(measure=name, C=1.0).fit(X, y) for name in ("roc_auc", "average_precision")}
scores = {name: model.decision_function(X_test) for name, model in models.items()}
found = {
    name: (roc_auc_score(y_test, value), average_precision_score(y_test, value)) for name, value in scores.items()
}
for name, (area, precision) in found.items():
    print(f"trained for {name:18} ROC area {area:.3f}, average precision {precision:.3f}")

# %%
# The precision among the first k test samples.

figure, panel = plt.subplots(figsize=(7.5, 4), layout="constrained")
ranks = np.arange(1, 2001)
for (name, value), colour, label in zip(
    scores.items(), ("#b0500a", "#0b5fc0"), ("trained for ROC area", "trained for average precision"), strict=True
):
    precision = np.cumsum(y_test[np.argsort(-value)])[:2000] / ranks
    panel.semilogx(ranks[9:], precision[9:], color=colour)
    panel.annotate(label, (60, precision[59]), (6, 12), textcoords="offset points", color=colour)
panel.set(xlabel="first k samples of the ranking", ylabel="precision", ylim=(0, 1.05))
plt.show()

# %%
# Each model is the better one for the measure that it was trained for.

(area_a, precision_a), (area_b, precision_b) = found.values()
assert area_a > area_b and precision_b > precision_a + 0.02

# %%
# :doc:`/guide/auc_and_kernels` and :doc:`/guide/rankings` say when to use them, and how logistic regression compares.
