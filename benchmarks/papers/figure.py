"""The improvement by class frequency, as in Figure 1 of the paper."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.papers.judging import MEASURES, TITLES
from benchmarks.papers.summary import frequency_bins, improvement_by_bin

Record = dict[str, Any]


def draw(found: Record, path: Path) -> None:
    """Draw one group of bars per bin, from the most to the least frequent classes, and write it as SVG."""
    import matplotlib

    matplotlib.use("Agg")
    # Without these, every run would write another file for the same numbers.
    matplotlib.rcParams["svg.hashsalt"] = "metricwise"
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(8.0, 4.0), layout="constrained")
    bins = frequency_bins(found)
    width = 0.8 / len(MEASURES)
    for position, column in enumerate(MEASURES):
        centres = np.arange(len(bins)) + (position - (len(MEASURES) - 1) / 2) * width
        axes.bar(centres, improvement_by_bin(found, column), width, label=TITLES[column])
    axes.axhline(0.0, color="black", linewidth=0.8)
    axes.set_xticks(np.arange(len(bins)), [_range(found, members) for members in bins])
    axes.set_xlabel("training positives of the classes in a bin")
    axes.set_ylabel("improvement, percentage points")
    axes.legend(ncols=len(MEASURES), loc="upper center", bbox_to_anchor=(0.5, 1.14), frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)


def _range(found: Record, members: Any) -> str:
    positives = [found["classes"][member]["positives"] for member in members]
    low, high = min(positives), max(positives)
    return f"{low}" if low == high else f"{low}–{high}"
