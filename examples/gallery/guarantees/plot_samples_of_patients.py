"""
Several samples of one patient: give the groups
===============================================

Samples of one patient, customer or machine are alike. A model that is judged on other samples of the patients it was
trained with recognises the patients, and looks better than it will be for new ones. With ``groups``, no patient is
divided.
"""

# %%
# 120 patients with ten samples each. A little of the features is about the disease, most of it about the patient.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.ensemble import ExtraTreesClassifier

from metricwise import PlugInClassifier

plt.rcParams.update({"font.size": 12, "axes.spines.top": False, "axes.spines.right": False})


def draw(n_patients, seed):
    """Return samples, labels and patients."""
    random = np.random.default_rng(seed)
    patient = np.repeat(np.arange(n_patients), 10)
    ill = random.integers(0, 2, size=n_patients)
    of_patient = random.normal(size=(n_patients, 6))
    of_patient[:, 0] += 0.8 * ill
    return of_patient[patient] + 0.2 * random.normal(size=(patient.size, 6)), ill[patient], patient


X, y, patient = draw(120, seed=0)
X_new, y_new, _ = draw(2000, seed=1)

# %%
# The same learner, once with and once without the groups; 2000 new patients show the truth.

trees = ExtraTreesClassifier(50, random_state=0)
models = {
    "without groups": PlugInClassifier(trees, "accuracy").fit(X, y),
    "with groups": PlugInClassifier(trees, "accuracy").fit(X, y, groups=patient),
}
true = {name: model.score(X_new, y_new) for name, model in models.items()}
for name, model in models.items():
    low, high = model.expected_score_interval_
    print(f"{name:15} expected {model.expected_score_:.3f} ({low:.3f} to {high:.3f}), on new patients {true[name]:.3f}")

# %%
# What each model expects of itself, with its interval, beside what it reaches.

figure, panel = plt.subplots(figsize=(7, 2.6), layout="constrained")
for row, (name, model) in enumerate(models.items()):
    panel.hlines(name, *model.expected_score_interval_, color="#0b5fc0", linewidth=5, alpha=0.4)
    panel.plot(model.expected_score_, name, "o", color="#0b5fc0", markersize=9)
    panel.plot(true[name], name, "D", color="#b0500a", markersize=9)
    if not row:
        panel.annotate(
            "expected", (model.expected_score_, name), (0, 12), textcoords="offset points", color="#0b5fc0", ha="center"
        )
        panel.annotate(
            "new patients", (true[name], name), (0, 12), textcoords="offset points", color="#b0500a", ha="center"
        )
panel.set(xlabel="accuracy", xlim=(0.45, 1.02), ylim=(1.5, -0.7))
plt.show()

# %%
# Without groups the model expects an accuracy above 0.9 and reaches less than 0.75. With groups, the truth lies in
# the interval.

low, high = models["with groups"].expected_score_interval_
assert (
    models["without groups"].expected_score_ > 0.9 > 0.75 > true["without groups"] and low < true["with groups"] < high
)

# %%
# :doc:`/guide/groups` lists what keeps groups whole.
