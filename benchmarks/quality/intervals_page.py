"""The sections of the page on intervals: how often they cover the measure of the test samples."""

from __future__ import annotations

from pathlib import Path

from benchmarks.papers.page import list_table
from benchmarks.quality.comparing import BINARY_SUITES, OURS
from benchmarks.quality.comparison_page import title
from benchmarks.quality.running import read
from benchmarks.quality.summary import Record, coverage, interval_bias, interval_width
from benchmarks.quality.trials import MEASURES
from benchmarks.quality.verdicts import MEASURE_TITLES, SUITE_TITLES

MANY_POSITIVES = 40
COLUMNS = [
    *(SUITE_TITLES[suite] for suite in BINARY_SUITES),
    "other splits, up to 20 000 samples",
    f"all: {MANY_POSITIVES} or more test positives",
    "all: fewer",
    "all: width, mean",
    "all: expected minus observed, mean",
]
INTERVALS_TEXT = f"""\
Coverage of the 90 % intervals of ``MetricClassifier`` for the measure of the test samples (``score_interval``), on the
splits of the comparisons above and on splits of their own with up to 20 000 training samples. No rule of the intervals
was chosen on any of these splits, though on others of some of the problems. With few test positives, a measure takes
few values, and an interval with a coverage of at least nine in ten covers more often than that; problems with fewer
than {MANY_POSITIVES} are therefore counted separately."""
CLASS_INTERVALS_TEXT = """\
Coverage of the 90 % intervals for the measure of the test samples (``score_interval``): of
``PlugInClassifier(LogisticRegression())``, and of ``MetricClassifier`` with two candidates, that regression and
``DecisionTreeClassifier(min_samples_leaf=5)``. Half of the samples, 300 at most, are trained on, and as many others
tested; generated problems have fresh samples for every split. Each split is evaluated by one of the measures, in turn.
The generated problems are not those that the rules of the intervals were chosen on."""
CLASS_METHODS = ("PlugInClassifier", "MetricClassifier")


def cover_two_classes(results: Path) -> list[str]:
    """Return the section on the intervals of MetricClassifier, two classes."""
    rows = []
    for measure in MEASURES:
        trials = [read_ours(results / suite / measure / "ours.jsonl") for suite in BINARY_SUITES]
        trials.append(read_ours(results / f"intervals_{measure}.jsonl"))
        if any(trials):
            rows.append([MEASURE_TITLES[measure], *_interval_row(trials)])
    return [title("Intervals"), INTERVALS_TEXT, list_table([["measure", *COLUMNS], *rows])] if rows else []


def read_ours(path: Path) -> list[Record]:
    return [one for one in read(path) if one["method"] == OURS and "low" in one]


def _interval_row(trials: list[list[Record]]) -> list[str]:
    every = [one for found in trials for one in found]
    return [
        *(coverage(found) for found in trials),
        coverage([one for one in every if one["positives"] >= MANY_POSITIVES]),
        coverage([one for one in every if one["positives"] < MANY_POSITIVES]),
        interval_width(every),
        interval_bias(every),
    ]


def cover_classes(results: Path) -> list[str]:
    """Return the section on intervals of multiclass and multilabel scores."""
    found = []
    for kind in ("multiclass", "multilabel"):
        trials = read(results / f"intervals_{kind}.jsonl")
        if trials:
            n_problems = len({one["problem"] for one in trials})
            n_splits = len({(one["problem"], one["repetition"]) for one in trials})
            counts = f"*{kind.capitalize()}:* {n_problems} problems, {n_splits} splits."
            found += [counts, list_table(_class_interval_rows(trials))]
    return [title("Intervals: multiclass and multilabel"), CLASS_INTERVALS_TEXT, *found] if found else []


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
        columns += [coverage(own), interval_width(own), interval_bias(own)]
    return columns
