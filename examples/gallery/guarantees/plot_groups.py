"""
A recall that holds in every group
==================================

A good recall on all samples can hide a poor one in a region where positives are rarer. A constraint by group holds in
every group, with one threshold for all or one for each.
"""

# %%
# Two regions; positives are much rarer in the south.

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from metricwise import PlugInClassifier

plt.rcParams.update({"font.size": 12, "axes.spines.top": False, "axes.spines.right": False})
random = np.random.default_rng(0)
region = random.choice(["north", "south"], 16_000, p=[0.7, 0.3])
X = random.normal(size=(16_000, 3))
X = np.column_stack([X, region == "south"])
y = random.random(16_000) < expit(2.0 * X[:, 0] + X[:, 1] - np.where(region == "north", 0.5, 2.5))
train, test = slice(0, 6000), slice(6000, None)

# %%
# Three models of the same learner. The constraint holds on new samples with confidence 0.95.

constraint = "recall>=0.75 by region"
models = {
    "F1 alone": PlugInClassifier(LogisticRegression(), "f1"),
    "recall by region,\none threshold": PlugInClassifier(LogisticRegression(), "f1", subject_to=constraint),
    "recall by region,\na threshold for each": PlugInClassifier(
        LogisticRegression(), "f1", subject_to=constraint, group_thresholds=True
    ),
}
recalls, f1 = {}, {}
for name, model in models.items():
    by_group = {} if name == "F1 alone" else {"sensitive_features": region[train]}
    model.fit(X[train], y[train], **by_group)
    of_test = {"sensitive_features": region[test]} if by_group else {}
    labels = model.predict(X[test], **of_test)
    recalls[name] = [labels[y[test] & (region[test] == where)].mean() for where in ("north", "south")]
    f1[name] = model.score(X[test], y[test], **of_test)
    print(
        " ".join(name.split()),
        f"- F1 {f1[name]:.3f}, recall north {recalls[name][0]:.3f}, south {recalls[name][1]:.3f}",
    )

# %%
# Recall of both regions on test samples; the dotted line is the bound.

figure, panel = plt.subplots(figsize=(8, 3.6), layout="constrained")
rows = list(models)[::-1]
panel.hlines(
    rows, [min(recalls[name]) for name in rows], [max(recalls[name]) for name in rows], color="0.8", linewidth=3
)
for k, (where, colour) in enumerate((("north", "#0b5fc0"), ("south", "#b0500a"))):
    panel.plot([recalls[name][k] for name in rows], rows, "o", color=colour, markersize=9)
    panel.annotate(
        where, (recalls["F1 alone"][k], "F1 alone"), (0, 10), textcoords="offset points", color=colour, ha="center"
    )
panel.axvline(0.75, color="0.4", linestyle=":")
panel.text(0.755, -0.45, "at least 0.75", color="0.4")
for name in rows:
    panel.text(1.04, name, f"F1 {f1[name]:.3f}", ha="right", va="center")
panel.set(xlabel="recall", xlim=(0.5, 1.05), ylim=(-0.6, 2.5))
plt.show()

# %%
# For F1 alone, the recall of the south is 0.2 below that of the north. Both constrained models keep the bound in both
# regions. One threshold has to be low enough for the south; with one for each region, nearly nothing of the F1 is
# lost.

shared, own = (name for name in models if name != "F1 alone")
assert recalls["F1 alone"][1] < 0.65 < 0.75 <= min(recalls[shared] + recalls[own]) and f1[own] > f1[shared]

# %%
# :doc:`/guide/group_constraints` has differences between groups, and when one threshold for all is the right choice.
