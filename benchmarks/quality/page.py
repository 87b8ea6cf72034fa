"""The page on quality: means over problems, wins and losses, paired tests, coverage."""

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
from benchmarks.quality.running import read
from benchmarks.quality.trials import MEASURES, PRECISION

Record = dict[str, Any]
Floats = NDArray[np.float64]

INTRODUCTION = """\
Quality
=======

``make bench-quality`` measures everything on this page and writes it. Problems are the binary views of the data folder,
and the topics of Reuters-21578 with 10 to 200 positives (tf-idf); each has at least one random stratified split. A
value is the mean over the splits of a problem; tests are Wilcoxon's signed-rank test of these means over problems. The
trials are stored in ``benchmarks/quality/results``. Learners inside scikit-learn's tuning do not depend on the measure:
they are trained once for all measures, and their seconds count for every measure. Seconds are processor seconds, since
other work may have run on the machine."""


def write(results: Path, folder: Path, problems: Sequence[str]) -> Path:
    """Write the page and its plots; return the page's path.

    Parameters
    ----------
    results : Path
        Folder of the trials.
    folder : Path
        Folder of the page.
    problems : sequence of str
        The names of all problems.
    """
    folder.mkdir(parents=True, exist_ok=True)
    parts = [INTRODUCTION, *_thresholds(results, folder), *_model_selection(results, folder), *_guarantees(results)]
    parts += _class_intervals(results)
    parts += _missing_problems(results, problems)
    environment = results / "environment.json"
    if environment.is_file():
        environment_facts = json.loads(environment.read_text(encoding="utf-8"))
        parts.append(
            "*Measured with: " + "; ".join(f"{key} {value}" for key, value in environment_facts.items()) + ".*"
        )
    path = folder / "quality.rst"
    path.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    return path


def means(trials: list[Record], key: str = "value") -> dict[str, dict[str, float]]:
    """Return the mean over the measured repetitions by method and problem."""
    values: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for one in (one for one in trials if key in one):
        values[one["method"]][one["problem"]].append(one[key])
    return {m: {p: float(np.mean(v)) for p, v in by_problem.items()} for m, by_problem in values.items()}


def comparison(trials: list[Record], ours: str, peer: str) -> list[str]:
    """Return a table row: both means, their difference, wins and losses, the p-value, and the ratio of times."""
    values, seconds = means(trials), means(trials, "cpu_seconds")
    problems = sorted(set(values[ours]) & set(values[peer]))
    timed = sorted(set(seconds.get(ours, ())) & set(seconds.get(peer, ())))
    first, second = (np.array([values[method][name] for name in problems]) for method in (ours, peer))
    difference = first - second
    p_value = wilcoxon(difference).pvalue if np.any(difference != 0.0) else 1.0
    times = np.array([[seconds[method][name] for name in timed] for method in (ours, peer)])
    ratios = [times[0].sum() / times[1].sum(), np.median(times[0] / times[1])] if timed else []
    return [
        f"{first.mean():.4f}",
        f"{second.mean():.4f}",
        f"{difference.mean():+.4f}",
        f"{np.sum(difference > 0)} : {np.sum(difference < 0)}",
        f"{p_value:.2g}",
        *([f"{ratio:.2f}" for ratio in ratios] or ["–", "–"]),
    ]


HEADER = [
    "ours",
    "peer",
    "difference",
    "wins : losses",
    "p",
    "processor seconds / peer's, all problems",
    "median over problems",
]


MANY_POSITIVES = 40
INTERVALS = [
    "unseen split",
    "splits of the table above",
    f"{MANY_POSITIVES} or more test positives",
    "fewer",
    "width, mean",
    "expected minus observed, mean",
]
INTERVALS_TEXT = f"""\
Coverage of the 90 % intervals for the measure of the test samples (``score_interval``). The rules of the intervals were
chosen on other splits of these problems, including those of the table above; the first column has a split that no rule
was chosen on, for which ``MetricClassifier`` was trained once more. Columns after the second have all splits. With few
test positives, a measure takes few values, and an interval with a coverage of at least nine in ten covers more often
than that; problems with fewer than {MANY_POSITIVES} are therefore counted separately."""


def _interval_row(unseen: list[Record], before: list[Record]) -> list[str]:
    trials = unseen + before
    return [
        coverage(unseen),
        coverage(before),
        coverage([one for one in trials if one["positives"] >= MANY_POSITIVES]),
        coverage([one for one in trials if one["positives"] < MANY_POSITIVES]),
        f"{np.mean([one['high'] - one['low'] for one in trials]):.3f}",
        f"{np.mean([one['expected'] - one['value'] for one in trials]):+.3f}",
    ]


def coverage(trials: list[Record]) -> str:
    """Return how often the interval covers the value of the test samples."""
    covered = [one["low"] <= one["value"] <= one["high"] for one in trials if "low" in one]
    return f"{np.mean(covered):.1%} of {len(covered)}" if covered else "–"


CLASS_INTERVALS_TEXT = """\
Coverage of the 90 % intervals for the measure of the test samples (``score_interval``): of
``PlugInClassifier(LogisticRegression())``, and of ``MetricClassifier`` with two candidates, that regression and
``DecisionTreeClassifier(min_samples_leaf=5)``. Half of the samples, 300 at most, are trained on, and as many others
tested; generated problems have fresh samples for every split. Each split is evaluated by one of the measures, in turn.
The generated problems are not those that the rules of the intervals were chosen on."""
CLASS_METHODS = ("PlugInClassifier", "MetricClassifier")


def _class_intervals(results: Path) -> list[str]:
    found = []
    for kind in ("multiclass", "multilabel"):
        trials = read(results / f"intervals_{kind}.jsonl")
        if trials:
            found += [f"*{kind.capitalize()}:* {_counts(trials)}.", list_table(_class_interval_rows(trials))]
    return [_title("Intervals: multiclass and multilabel"), CLASS_INTERVALS_TEXT, *found] if found else []


def _class_interval_rows(trials: list[Record]) -> list[list[str]]:
    """Return a row for every problem, for every measure, and for all trials."""
    columns = ("coverage", "width, mean", "expected minus observed, mean")
    rows = [["problem or measure", *(f"{method}: {column}" for method in CLASS_METHODS for column in columns)]]
    for key in ("problem", "measure"):
        for name in dict.fromkeys(one[key] for one in trials):
            rows.append([name, *_coverage_columns([one for one in trials if one[key] == name])])
    return [*rows, ["all", *_coverage_columns(trials)]]


def _coverage_columns(trials: list[Record]) -> list[str]:
    """Return coverage, mean width and mean error of each method."""
    columns = []
    for method in CLASS_METHODS:
        own = [one for one in trials if one["method"] == method]
        width = np.mean([one["high"] - one["low"] for one in own])
        bias = np.mean([one["expected"] - one["value"] for one in own])
        columns += [coverage(own), f"{width:.3f}", f"{bias:+.3f}"]
    return columns


def _missing_problems(results: Path, problems: Sequence[str]) -> list[str]:
    """Return one sentence for every part that lacks problems."""
    found = []
    for part in ("thresholds", *(f"model_selection_{measure}" for measure in MEASURES)):
        missing = sorted(set(problems) - {one["problem"] for one in read(results / f"{part}.jsonl")})
        if missing and len(missing) < len(problems):
            found.append(f"Not run for *{part.removeprefix('model_selection_')}*: {', '.join(missing)}.")
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
    rows = [["``threshold``", *HEADER, "coverage of 90 % intervals"]]
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
    return [_title("Thresholds"), text, list_table(rows), _figure("quality_thresholds.png", "F1 of both libraries")]


def _figure(name: str, what: str) -> str:
    return f".. figure:: {name}\n   :alt: {what}, one point per problem\n\n   {what}, one point per problem."


def _model_selection(results: Path, folder: Path) -> list[str]:
    rows = [["measure", "peer", *HEADER]]
    intervals = [["measure", *INTERVALS]]
    counts: list[str] = []
    panels = {}
    by_problem: dict[str, dict[str, str]] = defaultdict(dict)
    for measure in MEASURES:
        trials = read(results / f"model_selection_{measure}.jsonl")
        if not trials:
            continue
        counts.append(f"{measure} {_counts(trials)}")
        own = [one for one in trials if one["method"] == "MetricClassifier"]
        intervals.append([measure, *_interval_row(read(results / f"intervals_{measure}.jsonl"), own)])
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
        "``HistGradientBoostingClassifier`` (logistic regression alone for sparse data); for ranking measures, also "
        "beside the same learners without the tuning of a threshold, which takes time and changes no score: "
        f"{'; '.join(counts)}."
    )
    paired_points(folder / "quality_model_selection.png", panels, "the better of two", "MetricClassifier")
    problems = [["problem", *panels]]
    problems += [[name, *(found.get(measure, "–") for measure in panels)] for name, found in by_problem.items()]
    return [
        _title("Model selection: MetricClassifier"),
        text,
        list_table(rows),
        _figure("quality_model_selection.png", "Both measures"),
        INTERVALS_TEXT,
        list_table(intervals),
        "By problem, MetricClassifier / the better of two:",
        list_table(problems),
    ]


def _guarantees(results: Path) -> list[str]:
    trials = read(results / "guarantees.jsonl")
    found = [one for one in trials if not one["refused"]]
    if not found:
        return []
    is_kept = np.array([one["precision"] >= PRECISION for one in found])
    text = (
        f"``PlugInClassifier`` with ``RecallAtPrecision({PRECISION})`` at confidence 0.95, trained on 2000 samples of "
        f"populations simulated by ``make_classification``, {_counts(trials)}. A threshold with this guarantee is "
        f"found in {len(found)} of {len(trials)} trials, and refused in the others; its precision on 198 thousand "
        f"other samples is {PRECISION} or more in {is_kept.mean():.1%} of those."
    )
    return [_title("Guarantees"), text]
