"""
Several labels: three F-measures, three rules
=============================================

The labels that are more probable than not are right for the Hamming loss alone. The F-measure of each sample, the mean over
labels (macro) and that of all labels together (micro) each have a rule of their own, for the same probabilities.
"""

# %%
# 3000 generated samples with twelve labels, some of which are rare.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_multilabel_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score

from metricwise import BinaryRelevance

plt.rcParams.update({"font.size": 12, "axes.spines.top": False, "axes.spines.right": False})
X, Y = make_multilabel_classification(3000, n_features=20, n_classes=12, n_labels=2, length=30, random_state=0)
X_train, Y_train, X_test, Y_test = X[:1500], Y[:1500], X[1500:], Y[1500:]

# %%
# ``inference`` names the rule: labels above one half ("hamming"), the labels of a sample with the largest expected F-measure
# ("meuf"), thresholds for the macro average and one for the micro average.

rules = {"above one half": "hamming", "for each sample": "meuf", "for the macro average": "macro_f", "for the micro average": "micro_f"}
averages = {"F of each sample": "samples", "macro F": "macro", "micro F": "micro"}
values = {}
for name, rule in rules.items():
    labels = BinaryRelevance(LogisticRegression(max_iter=300), inference=rule).fit(X_train, Y_train).predict(X_test)
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
    panel.set(xlabel=title, yticks=range(4), yticklabels=names, ylim=(-0.5, 3.5), xlim=(column.min() - 0.02, column.max() + 0.02))
    panel.grid(axis="y", color="0.9")
plt.show()

# %%
# Labels above one half are the worst choice for every one of the three, and each rule is within 0.01 of the best for the measure
# that it is made for.

table = np.array(list(values.values()))
assert (table.argmin(axis=0) == 0).all()
assert all(table[row, k] > table[:, k].max() - 0.01 for k, row in enumerate((1, 2, 3)))

# %%
# :doc:`/guide/multilabel` has chains, which do not assume that labels are independent, and results on real data.
