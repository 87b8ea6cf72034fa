"""
Train on samples that stay on disk
==================================

Training needs the samples for two products in each iteration, and for nothing else. So they can stay in a file:
:func:`metricwise.io.open` gives an object that takes the place of ``X``, and the model and its certificate are those
of samples in memory.
"""

# %%
# A file of 60,000 samples, written here; a real one may be larger than the memory of the machine.

import pathlib
import tempfile

import matplotlib.pyplot as plt
import numpy as np

import metricwise.io
from metricwise import MultivariateSVC

plt.rcParams.update({"font.size": 12, "axes.spines.top": False, "axes.spines.right": False})
random = np.random.default_rng(0)
X = random.normal(size=(60_000, 12)).astype(np.float32)
y = X[:, 0] + X[:, 1] + 0.5 * random.normal(size=60_000) > 2.0
folder = tempfile.TemporaryDirectory()
path = pathlib.Path(folder.name, "X.npy")
np.save(path, X)

# %%
# The only difference is what ``fit`` is given.

samples = metricwise.io.open(path, target=y, memory_limit="1GB", block_rows=8192)
print(samples)
models = {
    "on disk": MultivariateSVC("f1", threshold="train").fit(samples),
    "in memory": MultivariateSVC("f1", threshold="train").fit(X, y),
}
for name, model in models.items():
    bounds = model.result_.certificate
    print(f"{name:10} objective {bounds.upper:.3f}, lower bound {bounds.lower:.3f}, threshold {model.threshold_:.4f}")

# %%
# Both trainings, iteration by iteration.

figure, panel = plt.subplots(figsize=(7.5, 4), layout="constrained")
for (name, model), colour, style, width in zip(
    models.items(), ("#0b5fc0", "#b0500a"), ("-", "--"), (5, 2), strict=True
):
    history = model.result_.history
    gaps = [entry.gap / entry.objective for entry in history]
    panel.semilogy(range(1, len(gaps) + 1), gaps, style, color=colour, linewidth=width, alpha=0.6 if width > 2 else 1)
    row = list(models).index(name)
    panel.text(0.97, 0.92 - 0.08 * row, name, color=colour, ha="right", transform=panel.transAxes, weight="bold")
panel.axhline(models["on disk"].tol, color="0.5", linestyle=":")
panel.set(xlabel="iteration", ylabel="relative gap to the optimum")
plt.show()

# %%
# The models are the same within the tolerance, and so are their labels.

same = np.mean(models["on disk"].predict(samples) == models["in memory"].predict(X))
print(f"equal labels: {same:.2%}")
upper = [model.result_.certificate.upper for model in models.values()]
assert abs(upper[0] / upper[1] - 1) < models["on disk"].tol and same > 0.999
folder.cleanup()

# %%
# :doc:`/guide/larger_than_memory` has the file formats, what takes how much memory, and model selection on disk.
