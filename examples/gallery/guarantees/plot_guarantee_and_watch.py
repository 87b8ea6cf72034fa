"""
A guarantee, and the watch that notices when it breaks
======================================================

A precision of at least 0.8 is guaranteed for samples like those of training. :class:`~metricwise.GuaranteeMonitor`
takes the true labels as they become known, and raises an alarm soon after the guarantee stops to hold. It may be
looked at after every outcome.
"""

# %%
# The model is trained subject to the constraint; half of the samples are kept from training to test it.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import precision_score

from metricwise import GuaranteeMonitor, PlugInClassifier

plt.rcParams.update({"font.size": 12, "axes.spines.top": False, "axes.spines.right": False})
X, y = make_classification(9000, n_informative=5, weights=[0.7], class_sep=1.5, random_state=0)
model = PlugInClassifier(LogisticRegression(), "f1", subject_to="precision>=0.8").fit(X[:3000], y[:3000])
print(f"precision of new samples: {precision_score(y[3000:], model.predict(X[3000:])):.3f}")

# %%
# 6000 new samples arrive. After 3000 of them the world changes: every third positive becomes negative, while the
# features look as before.

truth = y[3000:].copy()
late = np.flatnonzero(truth[3000:]) + 3000
truth[late[::3]] = 0
predicted = model.predict(X[3000:])

monitor = GuaranteeMonitor(model, alpha=0.05)
monitor.update(truth[:3000], predicted[:3000])
assert not monitor.alarm
monitor.update(truth[3000:], predicted[3000:])
alarm_at = monitor.status[0].alarm_at
print(f"alarm at outcome {alarm_at}, {alarm_at - 3000} outcomes after the change")

# %%
# Left: the precision of the last 300 predicted positives, which is what the monitor has to find out about. Right: the
# evidence against the guarantee. An alarm is raised at 20, one over the probability of a false alarm.

positive = np.flatnonzero(predicted == 1)
recent = np.convolve(truth[positive], np.ones(300) / 300, mode="valid")
(course,) = monitor.history()

figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.6), layout="constrained")
left.plot(positive[299:], recent, color="#0b5fc0")
left.axhline(0.8, color="#b0500a", linestyle="--")
left.text(100, 0.788, "guaranteed: 0.8", color="#b0500a", va="top")
left.set(xlabel="outcomes", ylabel="precision of the last 300", ylim=(0.5, 1))
right.semilogy(course.n_seen, np.exp(course.log_wealth), color="#0b5fc0")
right.axhline(20, color="#b0500a", linestyle="--")
right.text(100, 35, "alarm at 20", color="#b0500a")
right.set(xlabel="outcomes", ylabel="evidence against the guarantee", ylim=(1e-3, 1e6))
for panel in (left, right):
    panel.axvline(3000, color="0.6", linestyle=":")
    panel.set(xlim=(0, 6200), xticks=[0, 3000, 6000])
left.text(2900, 0.52, "change", color="0.4", ha="right")
plt.show()

# %%
# The alarm comes within a few hundred outcomes, and no earlier: the probability of a false one, over the whole life
# of the monitor, is at most ``alpha``. In a notebook, the monitor shows what it knows:

assert 3000 < alarm_at < 3600
monitor

# %%
# :doc:`/guide/watching` compares the monitor with tests that are repeated; :doc:`/guide/plug_in` says what exactly is
# guaranteed.
