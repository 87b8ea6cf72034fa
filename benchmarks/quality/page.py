"""The page: means over problems, wins and losses, paired tests, coverage."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import wilcoxon

from benchmarks.papers.page import list_table
from benchmarks.plots import paired_points
from benchmarks.quality.trials import MEASURES, PRECISION

Record = dict[str, Any]
Floats = NDArray[np.float64]

INTRODUCTION = """\
Quality
=======

``make bench-quality`` measures everything on this page and writes it. Problems are the binary views of the data folder,
and the topics of Reuters-21578 with 10 to 200 positives (tf-idf); every one is split at random, stratified, at least
once. A value is the mean over the splits of a problem; tests are Wilcoxon's signed-rank test of these means, over
problems. The trials are kept in ``benchmarks/quality/results``. Learners inside scikit-learn's tuning do not depend on
the measure: they are trained once for all measures, and the seconds of that are counted for every measure. Seconds are
those of the processor, as other work may have had its share of the machine."""


def read(path: Path) -> list[Record]:
    """Return the trials of a file, none if there is none."""
    if not path.is_file():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def write(results: Path, folder: Path, problems: Sequence[str]) -> Path:
    """Write the page and its plots; return the page's path.

    Parameters
    ----------
    results : Path
        Where the trials are.
    folder : Path
        Where the page is written to.
    problems : sequence of str
        All problems that there are.
    """
    folder.mkdir(parents=True, exist_ok=True)
    parts = [INTRODUCTION, *_thresholds(results, folder), *_front_door(results, folder), *_promises(results)]
    parts += _left_out(results, problems)
    environment = results / "environment.json"
    if environment.is_file():
        circumstances = json.loads(environment.read_text(encoding="utf-8"))
        parts.append("*Measured with: " + "; ".join(f"{key} {value}" for key, value in circumstances.items()) + ".*")
    path = folder / "quality.rst"
    path.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    return path


def means(trials: list[Record], key: str = "value") -> dict[str, dict[str, float]]:
    """Return the mean over repetitions by method and problem, of those in which it was measured."""
    values: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for one in (one for one in trials if key in one):
        values[one["method"]][one["problem"]].append(one[key])
    return {m: {p: float(np.mean(v)) for p, v in by_problem.items()} for m, by_problem in values.items()}


def comparison(trials: list[Record], ours: str, peer: str) -> list[str]:
    """Return a line of a table: both means, their difference, wins and losses, the test, and the ratio of times."""
    values, seconds = means(trials), means(trials, "cpu_seconds")
    problems = sorted(set(values[ours]) & set(values[peer]))
    clocked = sorted(set(seconds.get(ours, ())) & set(seconds.get(peer, ())))
    first, second = (np.array([values[method][name] for name in problems]) for method in (ours, peer))
    difference = first - second
    chance = wilcoxon(difference).pvalue if np.any(difference != 0.0) else 1.0
    times = np.array([[seconds[method][name] for name in clocked] for method in (ours, peer)])
    ratios = [times[0].sum() / times[1].sum(), np.median(times[0] / times[1])] if clocked else []
    return [
        f"{first.mean():.4f}",
        f"{second.mean():.4f}",
        f"{difference.mean():+.4f}",
        f"{np.sum(difference > 0)} : {np.sum(difference < 0)}",
        f"{chance:.2g}",
        *([f"{ratio:.2f}" for ratio in ratios] or ["–", "–"]),
    ]


HEADER = [
    "ours",
    "peer",
    "difference",
    "wins : losses",
    "p",
    "processor seconds of all, in times of the peer's",
    "of one problem, median",
]


MANY_POSITIVES = 40
INTERVALS = [
    "a split of their own",
    "splits of the table above",
    f"{MANY_POSITIVES} or more positives to test",
    "fewer",
    "width, mean",
    "expected minus found, mean",
]
INTERVALS_TEXT = f"""\
How often 90 % intervals for the measure of the test rows (``score_interval``) hold it. Their rules were chosen with
other splits of these problems in sight, those of the table above among them; the first column has a split that no rule
was chosen on, for which ``MetricClassifier`` was trained once more. Columns after the second have all splits. With few
positives to test, a measure has few values it can take, and an interval that holds at least nine times of ten holds
more often than that; so those with fewer than {MANY_POSITIVES} are counted apart."""


def _interval_line(proof: list[Record], before: list[Record]) -> list[str]:
    trials = proof + before
    return [
        coverage(proof),
        coverage(before),
        coverage([one for one in trials if one["positives"] >= MANY_POSITIVES]),
        coverage([one for one in trials if one["positives"] < MANY_POSITIVES]),
        f"{np.mean([one['high'] - one['low'] for one in trials]):.3f}",
        f"{np.mean([one['expected'] - one['value'] for one in trials]):+.3f}",
    ]


def coverage(trials: list[Record]) -> str:
    """Return how often the interval holds the value of the test rows."""
    held = [one["low"] <= one["value"] <= one["high"] for one in trials if "low" in one]
    return f"{np.mean(held):.1%} of {len(held)}" if held else "–"


def _left_out(results: Path, problems: Sequence[str]) -> list[str]:
    """Return a sentence for every part that has not seen all problems."""
    found = []
    for part in ("thresholds", *(f"front_door_{measure}" for measure in MEASURES)):
        missing = sorted(set(problems) - {one["problem"] for one in read(results / f"{part}.jsonl")})
        if missing and len(missing) < len(problems):
            found.append(f"Not run for *{part.removeprefix('front_door_')}*: {', '.join(missing)}.")
    return found


def _counts(trials: list[Record]) -> str:
    problems = len({one["problem"] for one in trials})
    return f"{problems} problems, {len({(one['problem'], one['repetition']) for one in trials})} splits"


def _title(text: str) -> str:
    return f"{text}\n{'-' * len(text)}"


def _thresholds(results: Path, folder: Path) -> list[str]:
    trials = read(results / "thresholds.jsonl")
    if not trials:
        return []
    rows = [["``threshold``", *HEADER, "90 % intervals that hold"]]
    for method in ("auto", "batch"):
        line = comparison(trials, method, "scikit-learn")
        rows.append([method, *line, coverage([one for one in trials if one["method"] == method])])
    values = means(trials)
    panels = {name: (values["scikit-learn"], values[name]) for name in ("auto", "batch")}
    paired_points(folder / "quality_thresholds.png", panels, "scikit-learn", "metricwise")
    text = (
        "F1 of ``PlugInClassifier(LogisticRegression())`` beside ``TunedThresholdClassifierCV`` around the same, "
        f"with 5 folds each: {_counts(trials)}."
    )
    return [_title("Thresholds"), text, list_table(rows), _figure("quality_thresholds.png", "F1 of both")]


def _figure(name: str, what: str) -> str:
    return f".. figure:: {name}\n   :alt: {what}, a point a problem\n\n   {what}, a point a problem."


def _front_door(results: Path, folder: Path) -> list[str]:
    rows = [["measure", "peer", *HEADER]]
    intervals = [["measure", *INTERVALS]]
    counts: list[str] = []
    panels = {}
    by_problem: dict[str, dict[str, str]] = defaultdict(dict)
    for measure in MEASURES:
        trials = read(results / f"front_door_{measure}.jsonl")
        if not trials:
            continue
        counts.append(f"{measure} {_counts(trials)}")
        own = [one for one in trials if one["method"] == "MetricClassifier"]
        intervals.append([measure, *_interval_line(read(results / f"intervals_{measure}.jsonl"), own)])
        values = means(trials)
        for peer in (name for name in values if name != "MetricClassifier"):
            rows.append([measure, peer, *comparison(trials, "MetricClassifier", peer)])
        panels[measure] = (values["better of two"], values["MetricClassifier"])
        for problem, value in values["MetricClassifier"].items():
            by_problem[problem][measure] = f"{value:.3f} / {values['better of two'][problem]:.3f}"
    if not counts:
        return []
    text = (
        "``MetricClassifier`` beside ``TunedThresholdClassifierCV`` around logistic regression, and beside the better, "
        "chosen by cross-validation, of that and ``TunedThresholdClassifierCV`` around "
        "``HistGradientBoostingClassifier`` (logistic regression alone for sparse rows); where the measure is one of "
        "scores, also beside the same without the tuning of a threshold, which takes time and changes no score: "
        f"{'; '.join(counts)}."
    )
    paired_points(folder / "quality_front_door.png", panels, "the better of two", "MetricClassifier")
    problems = [["problem", *panels]]
    problems += [[name, *(found.get(measure, "–") for measure in panels)] for name, found in by_problem.items()]
    return [
        _title("The front door"),
        text,
        list_table(rows),
        _figure("quality_front_door.png", "Both measures"),
        INTERVALS_TEXT,
        list_table(intervals),
        "By problem, MetricClassifier / the better of two:",
        list_table(problems),
    ]


def _promises(results: Path) -> list[str]:
    trials = read(results / "promises.jsonl")
    kept = [one for one in trials if not one["refused"]]
    if not kept:
        return []
    held = np.array([one["precision"] >= PRECISION for one in kept])
    text = (
        f"``PlugInClassifier`` with ``RecallAtPrecision({PRECISION})`` at confidence 0.95, trained on 2000 rows of "
        f"populations that are made (as ``make_classification`` does), {_counts(trials)}. A threshold is promised in "
        f"{len(kept)} of {len(trials)} trials, and refused in the others; its precision on 198 thousand other rows is "
        f"{PRECISION} or more in {held.mean():.1%} of those."
    )
    return [_title("Promises"), text]
