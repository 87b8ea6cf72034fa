"""
A stream that drifts: forget in time
====================================

:class:`~metricwise.OnlineMetricClassifier` predicts every sample before it learns from it, and decides by the contingency table
so far. When the world changes, old samples mislead. With ``half_life``, a sample counts half as much after so many others.
"""

# %%
# 30,000 samples in their order. After 15,000 of them the positives become four times as frequent, and look different.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import SGDClassifier
from sklearn.metrics import f1_score

from metricwise import OnlineMetricClassifier

plt.rcParams.update({"font.size": 12, "axes.spines.top": False, "axes.spines.right": False})
random = np.random.default_rng(0)
n, change, step = 30_000, 15_000, 500
share = np.where(np.arange(n) < change, 0.05, 0.2)
y = (random.random(n) < share).astype(int)
X = random.normal(size=(n, 6))
X[:change, 0] += 1.8 * y[:change]
X[change:, 1] += 1.8 * y[change:]

# %%
# The same learner, a linear one with a constant rate, decided with and without forgetting.

learner = SGDClassifier(loss="log_loss", learning_rate="constant", eta0=0.01, random_state=0)
models = {
    "all samples count": OnlineMetricClassifier(learner, "f1", verbose=0),
    "half_life=2000": OnlineMetricClassifier(learner, "f1", half_life=2000, verbose=0),
}
predicted = {name: np.zeros(n, dtype=int) for name in models}
for name, model in models.items():
    model.listener = lambda truth, labels, found=predicted[name], seen=[0]: (  # noqa: B006
        found.__setitem__(slice(seen[0], seen[0] + len(labels)), labels),
        seen.__setitem__(0, seen[0] + len(labels)),
    )
    for start in range(0, n, step):
        part = slice(start, start + step)
        model.partial_fit(X[part], y[part], classes=[0, 1])

# %%
# F1 of the predictions, in windows of 1500 samples.

starts = np.arange(0, n, 1500)
windows = {
    name: [f1_score(y[start : start + 1500], labels[start : start + 1500]) for start in starts]
    for name, labels in predicted.items()
}
figure, panel = plt.subplots(figsize=(8, 3.8), layout="constrained")
for (name, values), colour in zip(windows.items(), ("#b0500a", "#0b5fc0"), strict=True):
    panel.plot(starts + 750, values, "o-", color=colour, markersize=5)
    panel.text(n, values[-1], f" {name}", color=colour, va="center")
panel.axvline(change, color="0.6", linestyle=":")
panel.text(change - 300, 0.03, "change", color="0.4", ha="right")
panel.set(xlabel="samples", ylabel="F1 of predictions before learning", xlim=(0, n), ylim=(0, 0.8))
plt.show()

# %%
# Before the change both are alike; after it, the model that forgets is ahead.

late = {name: f1_score(y[change:], labels[change:]) for name, labels in predicted.items()}
early = {name: f1_score(y[:change], labels[:change]) for name, labels in predicted.items()}
print(", ".join(f"{name}: F1 {early[name]:.3f} before, {late[name]:.3f} after" for name in models))
all_count, forgets = models
assert abs(early[all_count] - early[forgets]) < 0.03 and late[forgets] > late[all_count] + 0.02

# %%
# :doc:`/guide/streams` has learners for linear scores, and :doc:`/guide/watching` an alarm for such changes.
