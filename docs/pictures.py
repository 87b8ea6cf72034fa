"""Draw the pictures of the guide, in light and dark, from the examples of its pages: ``make pictures``.

Every picture shows variables of the page that it is on: the examples of the page run first. The pictures are stored in
``_static/pictures``, so that building the pages does not train anything. The picture of the report needs Chromium.
"""

from __future__ import annotations

import doctest
import shutil
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np

DOCS = Path(__file__).parent
OUTPUT = DOCS / "_static" / "pictures"
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
WINDOW = (1200, 490)

Names = dict[str, Any]
Drawing = Callable[[Names], None]

_COMMON: dict[str, Any] = {
    "axes.spines.right": False,
    "axes.spines.top": False,
    "figure.dpi": 100,
    "font.size": 11,
    "svg.fonttype": "none",
    "svg.hashsalt": "metricwise",
    "savefig.dpi": 150,
    "savefig.transparent": True,
}
_INK = {"light": "#24292f", "dark": "#d6dbe1"}
_COLOURS = {"light": ["#1f6fb2", "#d1602b", "#2f8f5b"], "dark": ["#6cb6ff", "#f69d50", "#6bc46d"]}


def style_of(theme: str) -> dict[str, Any]:
    """Return the matplotlib settings of a theme."""
    ink = _INK[theme]
    coloured = ("axes.edgecolor", "axes.labelcolor", "text.color", "xtick.color", "ytick.color", "axes.titlecolor")
    return {
        **_COMMON,
        **dict.fromkeys(coloured, ink),
        "legend.framealpha": 0,
        "axes.facecolor": "none",
        "figure.facecolor": "none",
        "axes.prop_cycle": mpl.cycler(color=_COLOURS[theme]),
    }


def run_page(page: str) -> Names:
    """Return the variables of a page after its examples have run, all of which must pass."""
    text = (DOCS / "guide" / f"{page}.rst").read_text(encoding="utf-8")
    test = doctest.DocTestParser().get_doctest(text, {}, page, page, 0)
    found = doctest.DocTestRunner(optionflags=FLAGS, verbose=False).run(test, clear_globs=False)
    if found.failed:
        raise RuntimeError(f"{found.failed} examples of {page} fail: mend the page first")
    return test.globs


# --------------------------------------------------------------------------------------------------------- the pictures


def draw_threshold(names: Names) -> None:
    """Draw F1 against the threshold of the first model of *getting started*."""
    from metricwise import MeasureCurveDisplay

    display = MeasureCurveDisplay.from_estimator(
        names["model"], names["X_new"], names["y_new"], name="new payments, 90 % band"
    )
    _mark_default(display.ax_)


def draw_leaderboard(names: Names) -> None:
    """Draw the candidates of *getting started*."""
    from metricwise import LeaderboardDisplay

    ax = LeaderboardDisplay.from_estimator(names["selected"]).ax_
    labels = [textwrap.fill(label.get_text(), 38) for label in ax.get_yticklabels()]
    ax.set_yticks(ax.get_yticks(), labels, fontsize=9)
    ax.figure.set_size_inches(7, 4)


def draw_plug_in(names: Names) -> None:
    """Draw F1 against the threshold with the interval of the chosen one."""
    from metricwise import MeasureCurveDisplay

    model = names["model"]
    ax = MeasureCurveDisplay.from_estimator(model, names["X_test"], names["y_test"], name="test samples, 90 % band").ax_
    low, high = model.threshold_interval_
    ax.axvspan(low, high, alpha=0.15, linewidth=0, color="C1", label="threshold_interval_")
    _mark_default(ax)


def _mark_default(ax: Any) -> None:
    ax.axvline(0.5, color="C1", linewidth=1, linestyle="--", label="default, 0.5")
    ax.legend(loc="upper right")


def draw_convergence(names: Names) -> None:
    """Draw the bounds of the objective."""
    from metricwise import ConvergenceDisplay

    ConvergenceDisplay.from_estimator(names["model"])


def draw_levels(names: Names) -> None:
    """Draw the challenge levels of AMP."""
    levels = names["levels"]
    _, ax = plt.subplots()
    ax.plot(np.arange(1, len(levels) + 1), levels, "o-")
    ax.set(xlabel="challenge", ylabel="level (a bound of F1)", xticks=np.arange(1, len(levels) + 1))


def draw_trees(names: Names) -> None:
    """Draw what both trees predict on a plane."""
    X, y = names["X"], names["y"]
    across, up = np.meshgrid(np.linspace(-3, 3, 200), np.linspace(-6, 6, 200))
    plane = np.column_stack([across.ravel(), up.ravel()])
    _, axes = plt.subplots(1, 2, figsize=(8, 3.6), sharey=True, layout="constrained")
    for ax, model, title in zip(
        axes, (names["plug_in"], names["model"]), ("threshold alone", "class weights"), strict=True
    ):
        ax.contourf(
            across, up, model.predict(plane).reshape(across.shape), levels=[0.5, 1.5], colors=["C1"], alpha=0.25
        )
        ax.plot(*X[~y].T, ".", markersize=2, alpha=0.4, label="negative", rasterized=True)
        ax.plot(*X[y].T, ".", markersize=4, label="positive", rasterized=True)
        ax.set(title=f"{title}: F1 {model.score(names['X_new'], names['y_new']):.2f}", xlim=(-3, 3), ylim=(-6, 6))
    axes[0].legend(loc="lower left", markerscale=3)


def draw_triage(names: Names) -> None:
    """Draw the scores of both classes with the two thresholds of a triage."""
    model, X, y = names["model"], names["X_test"], names["y_test"]
    scores = model.predict_proba(X)[:, 1]
    labels = model.predict(X)
    _, ax = plt.subplots()
    bins = np.linspace(0, 1, 41)
    ax.hist([scores[y == 0], scores[y == 1]], bins=bins, stacked=True, label=["negative", "positive"])
    low, high = scores[labels == 0].max(), scores[labels == 1].min()
    ax.axvspan(low, high, color="0.5", alpha=0.25, linewidth=0, label="sent to review")
    ax.set(xlabel="probability of the positive class", ylabel="samples")
    ax.legend()


def draw_watch(names: Names) -> None:
    """Draw the share of true positives and its confidence sequence, before and after the change of the page."""
    from metricwise import GuaranteeMonitor

    model, X, y = names["model"], names["X"], names["y"]
    outcomes = np.concatenate([y[2000:4000], names["changed"]])
    predicted = model.predict(X[2000:])
    monitor = GuaranteeMonitor(model, alpha=0.05)
    at, share, low, high = [], [], [], []
    for start in range(0, 4000, 100):
        monitor.update(outcomes[start : start + 100], predicted[start : start + 100])
        at.append(start + 100)
        share.append(monitor.status[0].share)
        low.append(monitor.interval[0])
        high.append(monitor.interval[1])
    _, ax = plt.subplots()
    ax.plot(at, share, label="precision so far")
    ax.fill_between(at, low, high, alpha=0.2, linewidth=0, color="C0", label="confidence sequence")
    ax.axhline(0.8, color="0.5", linestyle=":", label="guaranteed")
    ax.axvline(2000, color="C2", linestyle="--", linewidth=1, label="the labels change")
    ax.axvline(monitor.status[0].alarm_at, color="C1", linestyle="--", linewidth=1, label="alarm")
    ax.set(xlabel="outcomes", ylabel="precision")
    ax.legend(loc="lower left")


PICTURES: dict[str, dict[str, Drawing]] = {
    "getting_started": {"getting_started_threshold": draw_threshold, "getting_started_leaderboard": draw_leaderboard},
    "plug_in": {"plug_in": draw_plug_in},
    "multivariate_svm": {"multivariate_svm": draw_convergence},
    "alternate_maximisation": {"alternate_maximisation": draw_levels},
    "cost_sensitive": {"cost_sensitive": draw_trees},
    "triage": {"triage": draw_triage},
    "watching": {"watching": draw_watch},
}


def draw(name: str, drawing: Drawing, names: Names) -> None:
    """Write a picture for both themes."""
    for theme in _INK:
        with plt.rc_context(style_of(theme)):
            drawing(names)
            plt.gcf().savefig(OUTPUT / f"{name}_{theme}.svg", bbox_inches="tight", metadata={"Date": None})
            plt.close("all")


def photograph_report(names: Names) -> None:
    """Write pictures of the report of *getting started*, light and dark."""
    chromium = shutil.which("chromium")
    if chromium is None:
        raise RuntimeError("the picture of the report needs chromium")
    width, height = WINDOW
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "report.html"
        names["page"].save(page)
        for theme in _INK:
            dark = ["--blink-settings=preferredColorScheme=0"] if theme == "dark" else []
            target = OUTPUT / f"report_{theme}.png"
            command = [chromium, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", *dark]
            command += [f"--screenshot={target}", f"--window-size={width},{height}", page.as_uri()]
            subprocess.run(command, check=True, capture_output=True, timeout=120)


def main(pages: list[str]) -> None:
    """Draw the pictures of some pages, or of all."""
    OUTPUT.mkdir(parents=True, exist_ok=True)
    for page in pages or PICTURES:
        names = run_page(page)
        for name, drawing in PICTURES[page].items():
            draw(name, drawing, names)
        if page == "getting_started":
            photograph_report(names)


if __name__ == "__main__":
    main(sys.argv[1:])
