"""
A stream that drifts: forget in time
====================================

:class:`~metricwise.OnlineMetricClassifier` predicts every sample before it learns from it, and decides by the
contingency table so far. When the world changes, old samples mislead. With ``half_life``, a sample counts half as
much after so many others.
"""

# %%
# 24,000 samples in their order. After 12,000 of them the positives become rare and harder to tell from the others.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import SGDClassifier
from sklearn.metrics import f1_score

from metricwise import OnlineMetricClassifier

plt.rcParams.update({"font.size": 12, "axes.spines.top": False, "axes.spines.right": False})
random = np.random.default_rng(0)
n, change = 24_000, 12_000
is_early = np.arange(n) < change
y = (random.random(n) < np.where(is_early, 0.3, 0.05)).astype(int)
X = random.normal(size=(n, 6))
X[:, 0] += np.where(is_early, 2.5, 1.5) * y

# %%
# The same learner, a linear one with a constant rate, with and without forgetting. A listener hears every prediction
# beside the true label.


def run_stream(half_life):
    """Return true labels, predictions, the running score after each part, and the threshold at the end."""
    heard, running = [], []
    learner = SGDClassifier(loss="log_loss", learning_rate="constant", eta0=0.01, random_state=0)
    model = OnlineMetricClassifier(
        learner, "f1", half_life=half_life, listener=lambda truth, labels: heard.append((truth, labels)), verbose=0
    )
    for start in range(0, n, 400):
        model.partial_fit(X[start : start + 400], y[start : start + 400], classes=[0, 1])
        running.append(model.running_score_)
    truth, labels = (np.concatenate(parts) for parts in zip(*heard, strict=True))
    return truth, labels, running, model.threshold_


runs = {"all samples count": run_stream(None), "half_life=1500": run_stream(1500)}

# %%
# Left: F1 of the predictions, in windows of 2000 samples. Right: ``running_score_``, what the model reports of
# itself.

figure, (left, right) = plt.subplots(1, 2, figsize=(8.4, 3.8), sharey=True, layout="constrained")
late = {}
for (name, (truth, labels, running, threshold)), colour in zip(runs.items(), ("#b0500a", "#0b5fc0"), strict=True):
    starts = np.arange(0, truth.size - 1000, 2000)
    windows = [f1_score(truth[start : start + 2000], labels[start : start + 2000]) for start in starts]
    late[name] = f1_score(truth[change:], labels[change:]), running[-1], threshold
    left.plot(starts + 1000, windows, "o-", color=colour, markersize=5)
    right.plot(np.arange(400, n + 1, 400), running, color=colour)
for panel in (left, right):
    panel.axvline(change, color="0.6", linestyle=":")
    panel.set(xlabel="samples", xlim=(0, n), ylim=(0, 1), xticks=[0, change, n])
left.set_ylabel("F1")
left.set_title("predictions", fontsize=12)
right.set_title("running_score_", fontsize=12)
left.text(change - 400, 0.05, "change", color="0.4", ha="right")
right.text(n, 0.86, "all samples count", color="#b0500a", ha="right")
right.text(n, 0.28, "half_life=1500", color="#0b5fc0", ha="right")
plt.show()

# %%
# Before the change both are alike. After it, the model that forgets lowers its threshold, and its F1 is higher by
# more than 0.05. The other one still reports a score from better days.

for name, (f1, running, threshold) in late.items():
    print(f"{name:18} F1 after the change {f1:.3f}; at the end running_score_ {running:.3f}, threshold {threshold:.2f}")
(f1_all, running_all, threshold_all), (f1_forgets, running_forgets, threshold_forgets) = late.values()
assert threshold_forgets < 0.25 < 0.35 < threshold_all
assert f1_forgets > f1_all + 0.05 and running_all > f1_all + 0.3 and abs(running_forgets - f1_forgets) < 0.1

# %%
# :doc:`/guide/streams` has learners for linear scores, and :doc:`/guide/watching` an alarm for such changes.
