"""
Adapt a model when the share of positives changes
=================================================

A threshold relies on the share of positives in training. If that share changes, :func:`~metricwise.adapt_prior`
estimates the new one from samples without labels and moves the threshold, without training again.
"""

# %%
# The model is trained where 10 % of the samples are positive.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression

from metricwise import PlugInClassifier, adapt_prior

plt.rcParams.update({"font.size": 12, "axes.spines.top": False, "axes.spines.right": False})


def draw(n_samples, share, seed):
    """Return samples of two normal classes, and their labels."""
    random = np.random.default_rng(seed)
    y = random.random(n_samples) < share
    return random.normal(size=(n_samples, 3)) + 1.1 * y[:, None], y


model = PlugInClassifier(LogisticRegression(), "f1").fit(*draw(3000, 0.1, seed=0))

# %%
# Four new populations. The labels are used to score the predictions only.

shares = [0.03, 0.1, 0.25, 0.5]
as_trained, adapted, estimates = [], [], []
for seed, share in enumerate(shares, start=1):
    X_new, y_new = draw(3000, share, seed)
    other = adapt_prior(model, X_new)
    as_trained.append(model.score(X_new, y_new))
    adapted.append(other.score(X_new, y_new))
    estimates.append((other.prior_.estimate, *other.prior_.interval))
    low, high = other.prior_.interval
    print(f"share {share:4.0%}, estimated {other.prior_.estimate:5.1%} ({low:.1%} to {high:.1%}): ", end="")
    print(f"F1 {as_trained[-1]:.3f} as trained, {adapted[-1]:.3f} adapted")

# %%
# Left: the estimates with their intervals of 90 %. Right: F1 before and after.

figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.8), layout="constrained")
values, low, high = np.array(estimates).T
left.plot([0, 0.6], [0, 0.6], color="0.7", linestyle=":")
left.text(0.33, 0.26, "true share", color="0.4")
left.vlines(shares, low, high, color="#0b5fc0", linewidth=3)
left.plot(shares, values, "o", color="#0b5fc0", markersize=7)
left.set(xlabel="true share of positives", ylabel="estimated share", xlim=(0, 0.6), ylim=(0, 0.6))
right.plot(shares, adapted, "o-", color="#0b5fc0")
right.plot(shares, as_trained, "o--", color="#b0500a")
right.text(0.5, adapted[-1] + 0.03, "adapted", color="#0b5fc0", ha="right")
right.text(0.5, as_trained[-1] - 0.03, "as trained", color="#b0500a", ha="right", va="top")
right.axvline(0.1, color="0.7", linestyle=":")
right.text(0.11, 0.42, "share in training", color="0.4")
right.set(xlabel="true share of positives", ylabel="F1", xlim=(0, 0.6), ylim=(0.4, 1))
plt.show()

# %%
# Half positives: F1 rises by more than 0.1. At the share of training nothing is gained, and next to nothing lost.

assert adapted[-1] > as_trained[-1] + 0.1 and abs(adapted[1] - as_trained[1]) < 0.02

# %%
# The classes themselves must look as in training; :doc:`/guide/prior_shift` shows the warning if they do not.
