"""
Train on a Dask cluster, and see what travels
=============================================

Samples of a Dask array stay with the workers, here threads of this machine. In each iteration only scores and weights travel,
not features, so a wide table is cheap to train on where it is.
"""

# %%
# A cluster of two workers and an array of eight chunks. ``Client("scheduler:8786")`` would connect to a real cluster.

import dask.array as da
import matplotlib.pyplot as plt
import numpy as np
from distributed import Client

from metricwise import MultivariateSVC

plt.rcParams.update({"font.size": 12, "axes.spines.top": False, "axes.spines.right": False})
client = Client(processes=False, n_workers=2, threads_per_worker=1, dashboard_address=None)
random = np.random.default_rng(0)
samples = random.normal(size=(20_000, 200))
labels = samples[:, :4].sum(axis=1) + random.normal(size=20_000) > 4.0
X, y = da.from_array(samples, chunks=(2500, -1)), da.from_array(labels, chunks=2500)

# %%
# ``fit`` takes the array. With ``score_bins``, histograms travel instead of the scores of all samples.

models = {
    "all scores": MultivariateSVC("f1", threshold="train").fit(X, y, client=client),
    "score_bins=256": MultivariateSVC("f1", threshold="train", score_bins=256).fit(X, y, client=client),
}
in_memory = MultivariateSVC("f1", threshold="train").fit(samples, labels)
for name, model in models.items():
    bounds = model.result_.certificate
    print(f"{name:15} objective {bounds.upper:.2f}, relative gap {bounds.relative:.1e}, {model.result_.n_iter} iterations")
print(f"in memory       objective {in_memory.result_.certificate.upper:.2f}")

# %%
# Bytes moved so far, beside the size of the samples.

figure, panel = plt.subplots(figsize=(7.5, 4), layout="constrained")
for (name, model), colour in zip(models.items(), ("#b0500a", "#0b5fc0"), strict=True):
    history = model.result_.history
    moved = np.array([entry.bytes_moved for entry in history]) / 1e6
    panel.plot([entry.iteration for entry in history], moved, color=colour)
    panel.annotate(name, (history[-1].iteration, moved[-1]), (-6, 8), textcoords="offset points", color=colour, ha="right")
panel.axhline(samples.nbytes / 1e6, color="0.5", linestyle=":")
panel.text(1, 1.02 * samples.nbytes / 1e6, "size of the samples", color="0.4")
panel.set(xlabel="iteration", ylabel="megabytes moved", ylim=(0, 1.15 * samples.nbytes / 1e6))
plt.show()

# %%
# The objective is that of training in memory, within the tolerance, and less travels than the samples themselves.

for model in models.values():
    assert abs(model.result_.certificate.upper / in_memory.result_.certificate.upper - 1) < 2 * model.tol
    assert model.result_.bytes_moved < samples.nbytes
client.close()

# %%
# :doc:`/guide/cluster` explains chunks, lost workers and model selection on a cluster.
