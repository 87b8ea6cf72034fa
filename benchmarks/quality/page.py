"""The page on quality."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from benchmarks.papers.page import list_table
from benchmarks.plots import paired_points
from benchmarks.quality.automl import AUTOML_SETTINGS, PART, PROBLEMS
from benchmarks.quality.comparing import OURS, WITHOUT_BOOSTERS, measures_of
from benchmarks.quality.comparison_page import (
    COLUMNS,
    compare_suites,
    describe_peers,
    load_suite,
    method_rows,
    title,
)
from benchmarks.quality.intervals_page import cover_classes, cover_two_classes
from benchmarks.quality.peers import CATBOOST
from benchmarks.quality.running import SIDES, comparison_parts, read
from benchmarks.quality.suites import SUITES
from benchmarks.quality.summary import Comparison, Record, coverage, gather
from benchmarks.quality.trials import PRECISION
from benchmarks.quality.verdicts import describe_p, judge, judge_others

INTRODUCTION = """\
Quality
=======

``make bench-quality`` measures everything on this page and writes it; ``make bench-automl`` does so for AutoGluon and
FLAML. Problems are reported in suites: tables, small tables, texts, multiclass and multilabel tables. Each has at least
two random splits, which depend on its name and the number of the split alone and, but for multilabel tables, are
stratified. A value is the mean over the splits of a problem. `The peers`_ lists what each method beside
MetricClassifier was given. The trials are stored in ``benchmarks/quality/results``; a table has the splits that all of
its methods were run on. Fits of the peers do not depend on the measure: they are trained once for all measures, and
their seconds count for every measure. Seconds are processor seconds of a single thread, since other work may have run
on the machine."""
AUTOML_TEXT = f"""\
F1 on {len(PROBLEMS)} of the tables, one split each, beside two libraries that search for models themselves. They run in
an environment of their own and stop by the clock; the limit is multiplied by the wall-clock seconds that a second of
computation takes just before, since other work may have run on the machine."""


def write(results: Path, folder: Path) -> Path:
    """Write the page and its plots; return the page's path.

    Parameters
    ----------
    results : Path
        Folder of the trials.
    folder : Path
        Folder of the page.
    """
    folder.mkdir(parents=True, exist_ok=True)
    parts = [INTRODUCTION, COLUMNS, *_verdicts(results), *compare_suites(results, folder), *_automl(results)]
    parts += [*describe_peers(), *cover_two_classes(results), *cover_classes(results)]
    parts += [*_thresholds(results, folder), *_guarantees(results), *_missing_trials(results)]
    environment = results / "environment.json"
    if environment.is_file():
        facts = json.loads(environment.read_text(encoding="utf-8"))
        parts.append("*Measured with: " + "; ".join(f"{key} {value}" for key, value in facts.items()) + ".*")
    path = folder / "quality.rst"
    path.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    return path


def _sentences(results: Path) -> list[list[str]]:
    """Return the sentences on each suite that has trials of MetricClassifier and of peers."""
    found = []
    for suite in SUITES:
        comparisons = load_suite(results, suite)
        main, *others = measures_of(suite)
        sentences = judge(suite, main, comparisons[main]) if main in comparisons else []
        sentences.append(judge_others({name: comparisons[name] for name in others if name in comparisons}))
        found.append([sentence for sentence in sentences if sentence])
    return [sentences for sentences in found if sentences]


def _verdicts(results: Path) -> list[str]:
    lines = ["* " + " ".join(sentences) for sentences in _sentences(results)]
    return [title("In short"), "\n".join(lines)] if lines else []


def gather_automl(results: Path) -> Comparison | None:
    """Return the libraries that search for models, beside the same splits of MetricClassifier and CatBoost."""
    trials = read(results / f"{PART}.jsonl")
    splits = {(one["problem"], one["repetition"]) for one in trials}
    compared = [
        one
        for side in SIDES
        for one in read(results / "tables" / "f1" / f"{side}.jsonl")
        if one["method"] in (OURS, WITHOUT_BOOSTERS, CATBOOST) and (one["problem"], one["repetition"]) in splits
    ]
    return gather([*trials, *compared]) if trials else None


def _automl(results: Path) -> list[str]:
    comparison = gather_automl(results)
    if comparison is None:
        return []
    names = " and ".join(name for name in AUTOML_SETTINGS if name in comparison.values)
    counts = f"{names}: {comparison.counts}."
    return [title("AutoGluon and FLAML"), AUTOML_TEXT, counts, list_table(method_rows(comparison))]


def _missing_trials(results: Path) -> list[str]:
    """Return a sentence that names the comparisons that have not been run."""
    empty = [part for part in comparison_parts() if not read(results / f"{part}.jsonl")]
    return [f"Not run yet: {', '.join(empty)}."] if empty else []


def load_thresholds(results: Path) -> tuple[list[Record], Comparison | None]:
    """Return the trials of thresholds, and their comparison; None if there is none."""
    trials = read(results / "thresholds.jsonl")
    return trials, gather(trials)


def _thresholds(results: Path, folder: Path) -> list[str]:
    trials, comparison = load_thresholds(results)
    if comparison is None:
        return []
    header = ["ours", "peer", "difference", "wins : losses", "p", "processor seconds / peer's, all problems"]
    rows = [["``threshold``", *header, "median over problems", "coverage of 90 % intervals"]]
    peer = "scikit-learn"
    for method in ("auto", "batch"):
        pair = comparison.pair(method, peer)
        rows.append(
            [
                method,
                f"{comparison.mean(method):.4f}",
                f"{comparison.mean(peer):.4f}",
                f"{pair.difference:+.4f}",
                pair.tally,
                describe_p(pair.p_value),
                f"{comparison.seconds_ratio(method, peer):.2f}",
                f"{comparison.median_seconds_ratio(method, peer):.2f}",
                coverage([one for one in trials if one["method"] == method]),
            ]
        )
    by_problem = {
        method: dict(zip(comparison.problems, map(float, values), strict=True))
        for method, values in comparison.values.items()
    }
    panels = {name: (by_problem[peer], by_problem[name]) for name in ("auto", "batch")}
    paired_points(folder / "quality_thresholds.png", panels, peer, "metricwise")
    text = (
        "F1 of ``PlugInClassifier(LogisticRegression())`` beside ``TunedThresholdClassifierCV`` around the same, "
        f"with 5 folds each: {comparison.counts}."
    )
    caption = "F1 of both libraries, one point per problem"
    figure = f".. figure:: quality_thresholds.png\n   :alt: {caption}\n\n   {caption}."
    return [title("Thresholds"), text, list_table(rows), figure]


def count_guarantees(results: Path) -> tuple[int, int, int]:
    """Return the numbers of guarantees that held, of those that were given, and of trials."""
    trials = read(results / "guarantees.jsonl")
    found = [one for one in trials if not one["refused"]]
    return sum(one["precision"] >= PRECISION for one in found), len(found), len(trials)


def _guarantees(results: Path) -> list[str]:
    n_kept, n_found, n_trials = count_guarantees(results)
    if not n_found:
        return []
    trials = read(results / "guarantees.jsonl")
    counts = f"{len({one['problem'] for one in trials})} problems, {n_trials} splits"
    text = (
        f"``PlugInClassifier`` with ``RecallAtPrecision({PRECISION})`` at confidence 0.95, trained on 2000 samples of "
        f"populations simulated by ``make_classification``, {counts}. A threshold with this guarantee is "
        f"found in {n_found} of {n_trials} trials, and refused in the others; its precision on 198 thousand "
        f"other samples is {PRECISION} or more in {np.divide(n_kept, n_found):.1%} of those."
    )
    return [title("Guarantees"), text]
