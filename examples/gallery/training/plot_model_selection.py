"""
Select and combine learners by the measure that counts
======================================================

:class:`~metricwise.MetricClassifier` compares learners by the measure of out-of-fold predictions, combines those that
complement each other, and says what to expect of the result on new samples.
"""

# %%
# 1500 generated samples to train on, one in eight positive, in three clusters per class.

import matplotlib.pyplot as plt
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split

from metricwise import LeaderboardDisplay, MetricClassifier

plt.rcParams.update({"font.size": 12, "axes.spines.top": False, "axes.spines.right": False})
X, y = make_classification(
    4500, n_informative=6, n_clusters_per_class=3, weights=[0.88], flip_y=0.02, class_sep=1.2, random_state=0
)
X_train, X_test, y_train, y_test = train_test_split(X, y, train_size=1500, stratify=y, random_state=0)

# %%
# Three families of learners, each with several settings. A notebook shows the result and the leaderboard.

model = MetricClassifier("f1", candidates=["logistic", "extra_trees", "rbf"]).fit(X_train, y_train)
model

# %%
# The candidates with their intervals of 90 %. They are compared on the same samples, so that their differences are
# known more precisely than the intervals suggest: ``leaderboard_`` has those, too.

figure, panel = plt.subplots(figsize=(8, 4.4), layout="constrained")
LeaderboardDisplay.from_estimator(model, ax=panel, color="#0b5fc0")
plt.show()

# %%
# What was expected holds on the test samples.

low, high = model.expected_score_interval_
value = model.score(X_test, y_test)
print(f"expected F1 {model.expected_score_:.3f} ({low:.3f} to {high:.3f}), on test samples {value:.3f}")
print(model.explain().splitlines()[0])
assert low < value < high

# %%
# :doc:`/guide/metric_classifier` describes the candidates, successive halving and time budgets.
