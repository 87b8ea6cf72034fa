"""The sections of the page that compare MetricClassifier with its peers, one per suite."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from benchmarks.papers.page import list_table
from benchmarks.plots import paired_points
from benchmarks.quality.automl import AUTOML_SETTINGS
from benchmarks.quality.comparing import OURS, WITHOUT_BOOSTERS, measures_of
from benchmarks.quality.peers import PEERS, SEARCH_FOLDS, THRESHOLD_FOLDS
from benchmarks.quality.running import SIDES, read
from benchmarks.quality.suites import (
    FEW_TEST_POSITIVES,
    FEWEST_OF_LABEL,
    MOST_LABELS,
    SPLITS_OF_FEW_POSITIVES,
    SUITES,
)
from benchmarks.quality.summary import Comparison, Floats, compare, gather
from benchmarks.quality.verdicts import (
    MEASURE_TITLES,
    ORACLE,
    ORACLE_TITLE,
    SUITE_TITLES,
    capitalise,
    describe_p,
    peers_of,
    timed_peer,
)

SUITE_TEXTS = {
    "tables": f"""\
The binary views of the data folder and the tables of two classes of its ``problems()``, as dense arrays, with at most
3000 training samples and at most 8000 test samples. Where 3000 samples would have fewer than 10 positives, negatives
are left out at random, of training and test samples alike. The {len(FEW_TEST_POSITIVES)} tables with fewer than 50
positives among the test samples have {SPLITS_OF_FEW_POSITIVES} splits.""",
    "small": """\
The same tables with 200 training samples, of which 8 to 49 are positive: samples of the class that is too frequent for
that are left out at random, of training and test samples alike.""",
    "texts": """\
The topics of Reuters-21578 with 10 to 200 positives (tf-idf); 60 % of the news are trained on.""",
    "multiclass": """\
Tables of more than two classes, with at most 3000 training samples. Peers predict the most probable class, with and
without balanced class weights.""",
    "multilabel": f"""\
Multilabel tables with 60 % of the samples for training, and the first {MOST_LABELS} of the labels that at least
{FEWEST_OF_LABEL} samples have. A peer is one learner per label, each with its own settings and threshold.""",
}
TWO_CLASSES = f"""\
Each peer of two classes, and of each label, is what a careful user would build of scikit-learn and the learner: its
regularisation chosen by a grid search ({SEARCH_FOLDS} folds, average precision; ROC area for that measure), then
``TunedThresholdClassifierCV`` with {THRESHOLD_FOLDS} folds and the measure as its scorer around the chosen setting.
Ranking measures (break-even point, recall at precision, ROC area, average precision) need no threshold: the learner is
trained with the chosen setting alone. A recall at a precision is that of the best threshold of the test samples; {OURS}
is given ``confidence=None`` for it, as no peer guarantees a precision, and counts with a recall of 0 where it refuses a
table since no threshold reaches the precision out of fold."""
MORE_CLASSES = f"""\
Settings of multiclass peers are chosen by a grid search for the measure itself ({SEARCH_FOLDS} folds)."""
FEWEST_PROBLEMS = 3  # of a comparison: fewer show nothing
COLUMNS = """\
*Wins : losses* counts the problems on which the method of the column is better and worse than that of the row, and *p*
is the p-value of Wilcoxon's signed-rank test over problems. Processor seconds are those of training on all splits, the
search of the peers included; every learner runs on one thread. The last column has their ratio to those of tuned
CatBoost, or of the peer that it names."""


def load_comparison(results: Path, suite: str, measure: str) -> Comparison | None:
    """Return the methods of a suite on the splits that all of them have, None if these are of too few problems."""
    found = gather([one for side in SIDES for one in read(results / suite / measure / f"{side}.jsonl")])
    return None if found is None or len(found.problems) < FEWEST_PROBLEMS else found


def load_suite(results: Path, suite: str) -> dict[str, Comparison]:
    """Return the comparisons of a suite by measure."""
    loaded = {measure: load_comparison(results, suite, measure) for measure in measures_of(suite)}
    return {measure: one for measure, one in loaded.items() if one is not None}


def title(text: str, line: str = "-") -> str:
    """Return a heading."""
    return f"{text}\n{line * len(text)}"


def describe_peers() -> list[str]:
    """Return the section on what each peer was given."""
    rows = [["suite", "peer", "settings"]]
    for suites in (("tables", "small"), ("texts",), ("multiclass",), ("multilabel",)):
        titles = ", ".join(SUITE_TITLES[suite] for suite in suites)
        rows += [[titles, peer.name, peer.settings] for peer in PEERS[suites[0]]]
    rows += [["Tables, some", name, settings] for name, settings in AUTOML_SETTINGS.items()]
    return [title("The peers"), TWO_CLASSES, MORE_CLASSES, list_table(rows)]


def compare_suites(results: Path, folder: Path) -> list[str]:
    """Return the sections of all suites that have trials, and draw their figure."""
    parts: list[str] = []
    panels = {}
    for suite in SUITES:
        comparisons = load_suite(results, suite)
        if not comparisons:
            continue
        parts += _suite_section(suite, comparisons)
        first = comparisons.get(measures_of(suite)[0])
        if first is not None and OURS in first.values and peers_of(first):
            best = peers_of(first)[0]
            panels[f"{SUITE_TITLES[suite]} ({best})"] = (_by_problem(first, best), _by_problem(first, OURS))
    if panels:
        paired_points(folder / "quality_suites.png", panels, "best single peer", OURS)
        parts.append(
            ".. figure:: quality_suites.png\n   :alt: MetricClassifier and the best single peer of each suite\n\n"
            "   F1 of MetricClassifier and of the best single peer of each suite (macro F1 of several classes), one "
            "point per problem."
        )
    return parts


def _by_problem(comparison: Comparison, method: str) -> dict[str, float]:
    return dict(zip(comparison.problems, map(float, comparison.values[method]), strict=True))


def _suite_section(suite: str, comparisons: Mapping[str, Comparison]) -> list[str]:
    main, *_ = measures_of(suite)
    parts = [title(SUITE_TITLES[suite]), SUITE_TEXTS[suite]]
    others = {measure: one for measure, one in comparisons.items() if measure != main}
    if main in comparisons:
        first = comparisons[main]
        parts += [f"{capitalise(MEASURE_TITLES[main])}: {first.counts}.", list_table(method_rows(first))]
    if others:
        counts = "; ".join(f"{MEASURE_TITLES[measure]} {one.counts}" for measure, one in others.items())
        heading = f"Other measures, means with wins : losses and p of {OURS}: {counts}."
        parts += [heading, list_table(_measure_rows(others))]
    if main in comparisons:
        parts += [f"{capitalise(MEASURE_TITLES[main])} by problem:", list_table(_problem_rows(comparisons[main]))]
    return parts


def _methods(comparison: Comparison) -> list[str]:
    """Return the names of all methods: ours, then the peers, the best first."""
    return [*(name for name in (OURS, WITHOUT_BOOSTERS) if name in comparison.values), *peers_of(comparison)]


def method_rows(comparison: Comparison) -> list[list[str]]:
    """Return a table row per method, with a header, and one for the oracle.

    Parameters
    ----------
    comparison : Comparison
        All methods of a suite.

    Returns
    -------
    list of list of str
    """
    own = [name for name in (OURS, WITHOUT_BOOSTERS) if name in comparison.values]
    header = ["method", "mean"]
    for name in own:
        header += [f"{name}: difference", "wins : losses", "p"]
    timed = timed_peer(comparison)
    rows = [[*header, "processor seconds", f"seconds / those of {timed}"]]
    for method in _methods(comparison):
        cells = [cell for name in own for cell in _beside(comparison, name, comparison.values[method], name == method)]
        seconds = [f"{comparison.total_seconds(method):.0f}"]
        seconds.append("–" if timed is None else f"{comparison.seconds_ratio(method, timed):.2f}")
        rows.append([method, f"{comparison.mean(method):.4f}", *cells, *seconds])
    if set(ORACLE) <= comparison.values.keys():
        oracle = comparison.oracle(ORACLE)
        cells = [cell for name in own for cell in _beside(comparison, name, oracle, False)]
        rows.append([ORACLE_TITLE, f"{np.mean(oracle):.4f}", *cells, "–", "–"])
    return rows


def _beside(comparison: Comparison, method: str, other: Floats, is_same: bool) -> list[str]:
    if is_same:
        return ["–", "–", "–"]
    pair = compare(comparison.values[method], other)
    return [f"{pair.difference:+.4f}", pair.tally, describe_p(pair.p_value)]


def _measure_rows(comparisons: Mapping[str, Comparison]) -> list[list[str]]:
    """Return a row per method, in the order of the first measure, and one of the ratios of processor seconds."""
    names = list(dict.fromkeys(name for one in comparisons.values() for name in _methods(one)))
    rows = [["method", *(MEASURE_TITLES[measure] for measure in comparisons)]]
    rows += [[name, *(_measure_cell(one, name) for one in comparisons.values())] for name in names]
    timed = next(timed_peer(one) for one in comparisons.values())
    if timed is not None and OURS in names:
        ratios = [
            f"{one.seconds_ratio(OURS, timed):.2f}" if {OURS, timed} <= one.values.keys() else "–"
            for one in comparisons.values()
        ]
        rows.append([f"processor seconds of {OURS} / those of {timed}", *ratios])
    return rows + _refusal_row(comparisons)


def _measure_cell(comparison: Comparison, method: str) -> str:
    if method not in comparison.values:
        return "–"
    mean = f"{comparison.mean(method):.4f}"
    if OURS not in comparison.values or method == OURS:
        return mean
    pair = comparison.pair(OURS, method)
    return f"{mean} ({pair.tally}, {describe_p(pair.p_value)})"


def _refusal_row(comparisons: Mapping[str, Comparison]) -> list[list[str]]:
    """Return the row that counts the splits which MetricClassifier refused, none if it refused none."""
    counts = [one.refusals.get(OURS, 0) for one in comparisons.values()]
    return [[f"splits that {OURS} refused", *map(str, counts)]] if any(counts) else []


def _problem_rows(comparison: Comparison) -> list[list[str]]:
    methods = _methods(comparison)
    rows = [["problem", *methods]]
    for number, problem in enumerate(comparison.problems):
        rows.append([problem, *(f"{comparison.values[method][number]:.3f}" for method in methods)])
    return rows
