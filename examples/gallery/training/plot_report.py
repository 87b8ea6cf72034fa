"""
A page for the meeting
======================

:func:`~metricwise.report` takes any fitted classifier, samples it has not seen and their labels, and writes one HTML
page that needs nothing else. Displays draw single parts of it with matplotlib.
"""

# %%
# Two models of the same measure.

import matplotlib.pyplot as plt
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

from metricwise import MeasureCurveDisplay, MultivariateSVC, PlugInClassifier, report

plt.rcParams.update({"font.size": 12, "axes.spines.top": False, "axes.spines.right": False})
X, y = make_classification(2400, n_informative=4, weights=[0.9], class_sep=1.2, random_state=0)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, stratify=y, random_state=0)
tuned = PlugInClassifier(LogisticRegression(), "f1").fit(X_train, y_train)
svm = MultivariateSVC("f1").fit(X_train, y_train)

# %%
# F1 of the test samples against the threshold, with the band that chance leaves and the threshold of the model.

figure, panel = plt.subplots(figsize=(7.5, 4), layout="constrained")
display = MeasureCurveDisplay.from_estimator(tuned, X_test, y_test, ax=panel, color="#0b5fc0")
panel.get_legend().remove()
panel.set(xlim=(0, 1), ylim=(0, 1))
plt.show()

# %%
# The page. ``page.save("report.html")`` writes it, and a notebook shows it as it is.

page = report(tuned, X_test, y_test, samples="test samples", compare={"multivariate SVM": svm}, importance_seconds=1)
print(f"{page.value:.3f}, {page.interval[0]:.3f} to {page.interval[1]:.3f}; {len(page.html) // 1024} KB")
assert page.interval[0] < page.value < page.interval[1]
page

# %%
# :doc:`/guide/report` describes what is on the page, and what its intervals mean.
