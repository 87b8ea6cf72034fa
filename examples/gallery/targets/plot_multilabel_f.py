"""
Several labels: three F-measures, three rules
=============================================

The labels that are more probable than not are right for the Hamming loss alone. The F-measure of each sample, the
mean over labels (macro) and that of all labels together (micro) each have a rule of their own, for the same
probabilities.
"""

# %%
# 4000 generated samples with twelve labels; the rarest has 7 % of the samples.

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score

from metricwise import BinaryRelevance

plt.rcParams.update({"font.size": 12, "axes.spines.top": False, "axes.spines.right": False})
random = np.random.default_rng(0)
X, weights = random.normal(size=(4000, 8)), random.normal(size=(8, 12))
chances = expit(1.2 * X @ weights / np.sqrt(2) - np.linspace(0.5, 4.5, 12))
Y = (random.random(chances.shape) < chances).astype(int)
X_train, Y_train, X_test, Y_test = X[:2000], Y[:2000], X[2000:], Y[2000:]

# %%
# ``inference`` names the rule: labels above one half ("hamming"), the labels of a sample with the largest expected
# F-measure ("meuf"), thresholds for the macro average and one for the micro average.

rules = {
    "above one half": "hamming",
    "for each sample": "meuf",
    "for the macro average": "macro_f",
    "for the micro average": "micro_f",
}
averages = {"F of each sample": "samples", "macro F": "macro", "micro F": "micro"}
values = {}
for name, rule in rules.items():
    labels = BinaryRelevance(LogisticRegression(), inference=rule).fit(X_train, Y_train).predict(X_test)
    values[name] = [f1_score(Y_test, labels, average=average, zero_division=1) for average in averages.values()]
    print(f"{name:22}" + ", ".join(f"{title} {value:.3f}" for title, value in zip(averages, values[name], strict=True)))

# %%
# Each rule for each measure; the best of a measure is filled.

figure, panels = plt.subplots(1, 3, figsize=(8.4, 3), sharey=True, layout="constrained")
names = list(rules)[::-1]
for k, (panel, title) in enumerate(zip(panels, averages, strict=True)):
    column = np.array([values[name][k] for name in names])
    for row, value in enumerate(column):
        is_best = value == column.max()
        panel.plot(value, row, "o", markersize=9, color="#0b5fc0", markerfacecolor="#0b5fc0" if is_best else "white")
    panel.set(
        xlabel=title, yticks=range(4), yticklabels=names, ylim=(-0.5, 3.5), xlim=(0.54, 0.7), xticks=[0.55, 0.6, 0.65]
    )
    panel.grid(axis="y", color="0.9")
plt.show()

# %%
# Labels above one half are the worst choice for each of the three, and each rule is the best one for the measure that
# it is made for.

table = np.array(list(values.values()))
assert (table.argmin(axis=0) == 0).all() and (table.argmax(axis=0) == [1, 2, 3]).all()

# %%
# :doc:`/guide/multilabel` has chains, which do not assume that labels are independent, and results on real data.
