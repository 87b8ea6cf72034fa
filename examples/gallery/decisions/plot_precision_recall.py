"""
An operating point on the precision-recall curve, with its band
===============================================================

A precision-recall curve of a few hundred positives is an estimate, and so is the point at which a model works. The
band shows how far both may be off; a guarantee moves the point so far that the wanted precision holds on new samples.
"""

# %%
# Which handwritten digits are an eight? A logistic regression of 64 pixels has to find 10 % of the samples. Noise is
# added to the pixels, since the problem is easy otherwise.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import precision_recall_curve, precision_score, recall_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from metricwise import PlugInClassifier, RecallAtPrecision

plt.rcParams.update({"font.size": 12, "axes.spines.top": False, "axes.spines.right": False})
random = np.random.default_rng(0)
X, digits = load_digits(return_X_y=True)
X, y = X + random.normal(scale=2.0, size=X.shape), (digits == 8).astype(int)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, stratify=y, random_state=0)

# %%
# One threshold is chosen for F1. The other one has the greatest recall that it can have if a precision of 0.7 is to
# hold on new samples with confidence 0.9.

learner = make_pipeline(StandardScaler(), LogisticRegression(C=0.1))
for_f1 = PlugInClassifier(learner, "f1").fit(X_train, y_train)
guaranteed = PlugInClassifier(learner, RecallAtPrecision(0.7), confidence=0.9).fit(X_train, y_train)

# %%
# The band is that of the Bayesian bootstrap: the curve is computed again with random weights of the test samples.

levels = np.linspace(0.02, 1.0, 80)


def precision_at(scores, weights):
    """Return the precision at each recall of `levels`."""
    precision, recall, _ = precision_recall_curve(y_test, scores, sample_weight=weights)
    return np.interp(levels, recall[::-1], precision[::-1])


def draw(panel, model, title):
    """Draw the curve of a model, its band and its operating point; return precision and recall of the point."""
    scores = model.predict_proba(X_test)[:, 1]
    drawn = [precision_at(scores, random.exponential(size=y_test.size)) for _ in range(200)]
    low, high = np.quantile(drawn, [0.05, 0.95], axis=0)
    labels = model.predict(X_test)
    point = precision_score(y_test, labels), recall_score(y_test, labels)
    panel.fill_between(levels, low, high, color="#0b5fc0", alpha=0.2, linewidth=0)
    panel.plot(levels, precision_at(scores, None), color="#0b5fc0")
    panel.plot(point[1], point[0], "D", color="0.1", markeredgecolor="white", markersize=10)
    panel.annotate(f"precision {point[0]:.2f}\nrecall {point[1]:.2f}", point[::-1], (12, 2), textcoords="offset points")
    panel.set(xlim=(0, 1.02), ylim=(0, 1.03), xlabel="recall")
    panel.set_title(title, fontsize=12)
    return point


figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.8), sharey=True, layout="constrained")
f1_point = draw(left, for_f1, "threshold for F1")
safe_point = draw(right, guaranteed, "precision of 0.7, guaranteed")
left.set_ylabel("precision")
left.text(0.03, 0.05, "band: 90 % of resamples", color="#0b5fc0")
right.axhline(0.7, color="0.5", linestyle=":")
right.text(0.03, 0.71, "wanted", color="0.4")
plt.show()

# %%
# The guarantee holds on the test samples, at the cost of recall: it trains on half of the samples, and tests the
# threshold on the other half.

print(f"F1: precision {f1_point[0]:.3f}, recall {f1_point[1]:.3f}")
print(f"guaranteed: precision {safe_point[0]:.3f}, recall {safe_point[1]:.3f}")
assert safe_point[0] >= 0.7 and safe_point[1] < f1_point[1]

# %%
# :doc:`/guide/plug_in` describes guarantees, and the page that :doc:`/guide/report` writes has this curve with its
# band.
