"""
How far training is from the optimum
====================================

A multivariate SVM is trained with a proof: an upper and a lower bound of the smallest objective that any weights
could have. Training stops when they agree, and :func:`~metricwise.certify` computes both again from the data and the
model alone.
"""

# %%
# Breast cancer, for F1.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import scale

from metricwise import ConvergenceDisplay, MultivariateSVC, certify

plt.rcParams.update({"font.size": 12, "axes.spines.top": False, "axes.spines.right": False})
X, y = load_breast_cancer(return_X_y=True)
X, y = scale(X), 1 - y  # malignant tumours are the positives
model = MultivariateSVC("f1", C=1.0, tol=1e-4).fit(X, y)

# %%
# The certificate of training, and the same by code that shares nothing with the solver.

again = certify(model, X, y)
for name, found in (("training", model.result_.certificate), ("certify", again)):
    print(f"{name:9} objective {found.upper:.6f}, no weights have less than {found.lower:.6f}")

# %%
# Left: both bounds, by the display of the library. Right: the relative gap, on a logarithmic scale.

figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.8), layout="constrained")
display = ConvergenceDisplay(model.result_).plot(left, color="#0b5fc0")
display.lines_[1].set_color("#b0500a")
left.get_legend().remove()
middle = len(model.result_.history) // 3
left.annotate(
    "objective of the model",
    (middle, model.result_.history[middle].objective),
    (0, 22),
    textcoords="offset points",
    color="#0b5fc0",
)
left.annotate(
    "no weights are better",
    (middle, model.result_.history[middle].lower),
    (12, -28),
    textcoords="offset points",
    color="#b0500a",
)
left.set_ylim(0, 2 * model.result_.certificate.upper)
gaps = np.array([entry.gap / entry.objective for entry in model.result_.history])
right.semilogy(np.arange(1, gaps.size + 1), gaps, color="0.15")
right.axhline(model.tol, color="0.5", linestyle=":")
right.text(1, model.tol * 1.2, "tol", color="0.4")
right.set(xlabel="iteration", ylabel="relative gap")
plt.show()

# %%
# The two certificates agree, and the gap is below ``tol``. A notebook shows what training has found below the diagram
# of the estimator:

assert np.isclose(again.upper, model.result_.certificate.upper, rtol=1e-9) and again.relative < 1.01e-4
model

# %%
# :doc:`/guide/multivariate_svm` explains the objective and its bounds; :doc:`/guide/notebooks` what notebooks show.
