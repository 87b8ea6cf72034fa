"""
Train on a Dask cluster, and see what travels
=============================================

Samples of a Dask array stay with the workers, here threads of this machine. In each iteration scores and weights
travel, not features; with ``score_bins``, histograms travel in the place of the scores.
"""

# %%
# A cluster of two workers and an array of eight chunks. ``Client("scheduler:8786")`` would connect to a real cluster.

import logging

import dask.array as da
import matplotlib.pyplot as plt
import numpy as np
from distributed import Client

from metricwise import MultivariateSVC

plt.rcParams.update({"font.size": 12, "axes.spines.top": False, "axes.spines.right": False})
client = Client(
    processes=False, n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=logging.CRITICAL
)
X = da.random.default_rng(0).normal(size=(60_000, 50), chunks=(7500, -1)).persist()
noise = da.random.default_rng(1).normal(size=60_000, chunks=7500)
y = (X[:, 0] + X[:, 1] + noise > 2.2).persist()

# %%
# ``fit`` takes the array. The third model is trained in memory, to compare.

settings = {"C": 0.01, "threshold": "train"}
models = {
    "all scores": MultivariateSVC("f1", **settings).fit(X, y, client=client),
    "score_bins=256": MultivariateSVC("f1", score_bins=256, **settings).fit(X, y, client=client),
}
in_memory = MultivariateSVC("f1", **settings).fit(X.compute(), y.compute())
optimum = in_memory.result_.certificate.upper
for name, model in models.items():
    result, moved = model.result_, model.result_.bytes_moved / 1e6
    print(f"{name:15} objective {result.certificate.upper:.3f}, {moved:.1f} MB in {result.n_iter} iterations")
print(f"in memory       objective {optimum:.3f}; the samples are {X.nbytes / 1e6:.0f} MB")

# %%
# Megabytes that have travelled, iteration by iteration.

figure, panel = plt.subplots(figsize=(7.5, 4), layout="constrained")
for (name, model), colour in zip(models.items(), ("#b0500a", "#0b5fc0"), strict=True):
    history = model.result_.history
    moved = np.array([entry.bytes_moved for entry in history]) / 1e6
    panel.plot([entry.iteration for entry in history], moved, "o-", color=colour, markersize=4)
    panel.annotate(
        name, (history[-1].iteration, moved[-1]), (-8, 8), textcoords="offset points", color=colour, ha="right"
    )
panel.axhline(X.nbytes / 1e6, color="0.5", linestyle=":")
panel.text(1, 1.02 * X.nbytes / 1e6, "size of the samples", color="0.4")
panel.set(xlabel="iteration", ylabel="megabytes moved so far", ylim=(0, 1.15 * X.nbytes / 1e6))
plt.show()

# %%
# The objectives are that of training in memory, within the tolerance, and either training moves less than half of
# what the samples take.

for model in models.values():
    assert abs(model.result_.certificate.upper / optimum - 1) < 2 * model.tol
    assert model.result_.bytes_moved < 0.5 * X.nbytes
client.close()

# %%
# :doc:`/guide/cluster` explains chunks, lost workers and model selection on a cluster.
