"""Write the results in short, into the README and a page of their own: ``python -m benchmarks.overview``."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks import report
from benchmarks.context import ROOT
from benchmarks.papers import records
from benchmarks.papers.page import list_table
from benchmarks.papers.summary import compare as compare_classes
from benchmarks.quality.automl import AUTOML_SETTINGS
from benchmarks.quality.comparing import OURS, measures_of
from benchmarks.quality.comparison_page import load_suite
from benchmarks.quality.intervals_page import read_ours
from benchmarks.quality.page import count_guarantees, gather_automl, load_thresholds
from benchmarks.quality.suites import SUITES
from benchmarks.quality.summary import Comparison, coverage
from benchmarks.quality.trials import PRECISION
from benchmarks.quality.verdicts import MEASURE_TITLES, SUITE_TITLES, capitalise, describe_p, peers_of

README = ROOT / "README.md"
PAGE = ROOT / "docs" / "benchmarks" / "summary.rst"
QUALITY = ROOT / "benchmarks" / "quality" / "results"
SPEED = ROOT / "benchmarks" / "results"
PAPERS = ROOT / "benchmarks" / "papers" / "results"
BLOCK = re.compile(r"(<!-- results: written by the benchmarks -->\n).*?(<!-- end of results -->)", re.DOTALL)
HEADER = ("measure, problems", "metricwise", "peer", "won : lost (p)", "seconds / peer's")
INTRODUCTION = """\
Summary
=======

What the benchmarks found. ``make bench``, ``make bench-quality`` and ``make papers`` write this page, and the table of
the README, which has some of its rows, from the results of all pages.

A value is a mean over problems. The peer of a row is the one with the best mean, if there are several; its
regularisation and threshold are tuned, unless its name says otherwise. *Won : lost* counts the problems on which
metricwise is better and worse, and *p* is the p-value of Wilcoxon's signed-rank test over problems. Processor seconds
are those of metricwise divided by those of that peer, the search of its settings included: in all, and on the median
problem. :doc:`quality` has every peer, its settings and the values of every problem, :doc:`/papers/joachims2005` the
topics of Reuters."""


@dataclass(frozen=True)
class Row:
    """One comparison: cells of the table, and whether the README shows it."""

    cells: tuple[str, str, str, str, str]
    is_short: bool


def update(readme: Path = README, page: Path = PAGE) -> None:
    """Write the README's part and the page from the stored results."""
    readme.write_text(fill_readme(readme.read_text(encoding="utf-8")), encoding="utf-8")
    page.write_text(make_page(), encoding="utf-8")


def fill_readme(text: str) -> str:
    """Return the README with its results written from the stored ones.

    Raises
    ------
    ValueError
        If the README has no marked place for them.
    """
    if not BLOCK.search(text):
        raise ValueError("the README has no lines between the comments that mark the results")
    cells = [HEADER, ("---",) * len(HEADER), *(row.cells for row in list_rows() if row.is_short)]
    table = "\n".join(f"| {' | '.join(line)} |" for line in cells)
    block = f"{table}\n\n{_bullets([one.markdown for one in list_statements()], '-')}"
    return BLOCK.sub(lambda found: f"{found[1]}{block}\n{found[2]}", text)


def make_page() -> str:
    """Return the page with all comparisons."""
    table = list_table([list(HEADER), *(list(row.cells) for row in list_rows())])
    statements = [one.rst for one in (*list_statements(), *list_more_statements())]
    return "\n\n".join([INTRODUCTION, table, _bullets(statements, "*")]) + "\n"


def _bullets(statements: Iterable[str], mark: str) -> str:
    return "\n".join(
        textwrap.fill(f"{mark} {one}", 120, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
        for one in statements
    )


# --------------------------------------------------------------------------------------------------------- comparisons


def list_rows() -> list[Row]:
    """Return all comparisons that have been measured."""
    rows = []
    for suite in SUITES:
        for measure, comparison in load_suite(QUALITY, suite).items():
            if OURS in comparison.values and peers_of(comparison):
                is_first = measure == measures_of(suite)[0]
                is_short = is_first or measure in ("roc_auc", "average_precision")
                rows.append(_suite_row(suite, measure, comparison, is_short))
    return [*rows, *_automl_rows(), *_threshold_rows(), *_reuters_rows()]


def _suite_row(suite: str, measure: str, comparison: Comparison, is_short: bool) -> Row:
    best = peers_of(comparison)[0]
    refused = comparison.refusals[OURS]
    counts = f"{len(comparison.problems)} {_name_problems(suite)}, {comparison.n_splits} splits"
    note = f" ({refused} refused, as 0)" if refused else ""
    name = f"{capitalise(MEASURE_TITLES[measure])}, {counts}{note}"
    return Row(_compare(name, comparison, OURS, best), is_short)


def _name_problems(suite: str) -> str:
    name = SUITE_TITLES[suite].lower()
    return name if name.endswith(("tables", "texts")) else f"{name} tables"


def _compare(
    name: str, comparison: Comparison, ours: str, peer: str, peer_name: str | None = None
) -> tuple[str, str, str, str, str]:
    pair = comparison.pair(ours, peer)
    ratio, median = comparison.seconds_ratio(ours, peer), comparison.median_seconds_ratio(ours, peer)
    return (
        name,
        f"{comparison.mean(ours):.3f}",
        f"{comparison.mean(peer):.3f} {peer_name or peer}",
        f"{pair.tally} ({describe_p(pair.p_value)})",
        f"{_round(ratio)}, median {_round(median)}",
    )


def _automl_rows() -> list[Row]:
    found = gather_automl(QUALITY)
    if found is None:
        return []
    names = [name for name in AUTOML_SETTINGS if name in found.values]
    return [
        Row(_compare(f"F1, {len(found.problems)} tables, {found.n_splits} splits", found, OURS, name), False)
        for name in names
    ]


def _threshold_rows() -> list[Row]:
    _, comparison = load_thresholds(QUALITY)
    if comparison is None:
        return []
    counts = f"{len(comparison.problems)} problems, {comparison.n_splits} splits"
    name = f"F1, threshold of a logistic regression with default settings, {counts}"
    return [Row(_compare(name, comparison, "auto", "scikit-learn", "TunedThresholdClassifierCV"), True)]


_REUTERS_TITLES = {
    "f1_tuned": "F1, linear SVM with a tuned threshold",
    "f1": "F1, linear SVM with threshold 0",
    "prbep": "Break-even point, linear SVM",
    "rec_2p": "Recall at twice the positives, linear SVM",
    "roc_area": "ROC area, linear SVM",
}


def _reuters_rows() -> list[Row]:
    """Return rows for the multivariate SVM on all topics, which the quality suites do not train alone."""
    found = records.load("reuters", PAPERS)
    if found is None:
        return []
    rows = []
    for column, title in _REUTERS_TITLES.items():
        line = compare_classes(found, column)
        cells = (
            f"{title}, {len(found['classes'])} Reuters topics",
            f"{line.multivariate / 100.0:.3f}",
            f"{line.cost / 100.0:.3f} SVM with class costs",
            f"{line.won} : {line.lost} ({describe_p(float(line.p or 0.0))})",
            "–",
        )
        rows.append(Row(cells, column in ("f1_tuned", "roc_area")))
    return rows


# ---------------------------------------------------------------------------------------------------------- statements


@dataclass(frozen=True)
class Statement:
    """A sentence in Markdown, and the page that its numbers are from."""

    text: str
    page: str

    @property
    def markdown(self) -> str:
        """The sentence with a link for the README."""
        return f"{self.text} ([more](docs/benchmarks/{self.page}.rst))"

    @property
    def rst(self) -> str:
        """The sentence with a link for the documentation."""
        return f"{self.text.replace('`', '``')} (:doc:`{self.page}`)"


def list_statements() -> list[Statement]:
    """Return the statements of the README: intervals, guarantees, and the time of the original program."""
    return [one for one in (_describe_intervals(), _describe_guarantees(), _describe_svmperf()) if one]


def list_more_statements() -> list[Statement]:
    """Return the statements that only the page has."""
    found = [
        _describe_growth(),
        _describe_rank_svm(),
        _describe_kernels(),
        _describe_passes(),
        _describe_files(),
        _describe_disk(),
        _describe_f_measure(),
    ]
    return [one for one in found if one]


def _describe_intervals() -> Statement | None:
    names = {"tables": "tables", "small": "small tables", "texts": "texts"}
    found = {name: read_ours(QUALITY / suite / "f1" / "ours.jsonl") for suite, name in names.items()}
    parts = [f"{coverage(trials)} splits of {name}" for name, trials in found.items() if trials]
    if not parts:
        return None
    return Statement(f"Intervals of 90 % contain the F1 of the test samples in {', '.join(parts)}.", "quality")


def _describe_guarantees() -> Statement | None:
    n_kept, n_found, n_trials = count_guarantees(QUALITY)
    if not n_trials:
        return None
    text = (
        f"A precision of {PRECISION} with confidence 0.95 was asked for in {n_trials} trials on simulated samples: "
        f"refused in {n_trials - n_found}, given in {n_found}, and kept on new samples in {n_kept} of these."
    )
    return Statement(text, "quality")


def _describe_svmperf() -> Statement | None:
    ratios = _read_column("svmperf", 0, "ratio_1")
    if not ratios:
        return None
    mean = _round(float(np.exp(np.mean(np.log(ratios)))))
    text = (
        "SVM-perf 3.00, the original C program (2009, no longer developed), takes "
        f"{_span(ratios)} times as long as `MultivariateSVC` to the same duality gap on {len(ratios)} problems, {mean} "
        "times in the geometric mean, with one thread each."
    )
    return Statement(text, "multivariate_svm")


def _describe_growth() -> Statement | None:
    exponents, memory = (_read_column("growth", 0, key) for key in ("exponent", "memory"))
    if not exponents:
        return None
    text = (
        f"The time of `MultivariateSVC` grows with the number of samples as n^{min(exponents):.2f} to "
        f"n^{max(exponents):.2f}, by measure, with at most {max(memory):.2f} times the memory of the data on top."
    )
    return Statement(text, "multivariate_svm")


def _describe_rank_svm() -> Statement | None:
    ratios = _read_column("rank_svm", 0, "ratio")
    if not ratios:
        return None
    text = (
        f"LIBLINEAR's rank-SVM takes {_span(ratios)} times as long as `AUCSVC(norm=2)` to the same objective, on "
        f"{len(ratios)} problems."
    )
    return Statement(text, "auc_and_kernels")


def _describe_kernels() -> Statement | None:
    rows = _load("kernel_growth", 1)
    ratios = [one["ratio"] for one in rows if one["n_samples"] == 4000 and "AUCSVC" in one["method"]]
    if not ratios:
        return None
    text = f"`AUCSVC` with an RBF kernel and 4000 samples takes {_span(ratios)} times as long as `SVC`."
    return Statement(text, "auc_and_kernels")


def _describe_passes() -> Statement | None:
    ratios = [1.0 / one for one in _read_column("passes", 0, "ratio")]
    if not ratios:
        return None
    text = (
        f"A pass of SPADE or STAMP, threshold and evaluation included, takes {_span(ratios)} times as long as one of "
        "`SGDClassifier(average=True)`, which does neither."
    )
    return Statement(text, "streaming")


def _describe_files() -> Statement | None:
    ratios = [
        one["seconds"] / one[peer] for one in _load("reading", 0) for peer in ("pandas", "polars") if one.get(peer)
    ]
    if not ratios:
        return None
    text = (
        f"`metricwise.io.read_table`, which recognises formats and columns, takes {_span(ratios)} times as long as "
        "pandas or polars, which are given both."
    )
    return Statement(text, "files")


def _describe_disk() -> Statement | None:
    rows = _load("disk", 0)
    if not rows:
        return None
    last = rows[-1]
    text = (
        f"{last['gigabytes']:g} GB of samples on disk train `MultivariateSVC` for F1 in {last['seconds']:.0f} s with "
        f"{last['peak']:.0f} MB of memory, to a relative gap of {last['gap']:.1g}."
    )
    return Statement(text, "disk")


def _describe_f_measure() -> Statement | None:
    gfm = next((one for one in _load("f_measure", 0) if one["task"] == "gfm_from_samples"), None)
    if gfm is None or gfm["package_ratio"] is None:
        return None
    text = (
        f"Labels for the F-measure by GFM ({gfm['size'].replace(' x ', ' × ')}: instances, labels, sampled vectors) "
        f"take {gfm['seconds']:.1f} s; the package example-wise-f1-maximizer {gfm['package_ratio']:.0f} times as long."
    )
    return Statement(text, "multilabel")


def _load(name: str, number: int) -> list[report.Record]:
    """Return the records of a table of a section, none if it has not been measured."""
    path = SPEED / f"{name}.json"
    return list(report.load(path).tables[number].records) if path.is_file() else []


def _read_column(name: str, number: int, key: str) -> list[float]:
    return [float(one[key]) for one in _load(name, number) if one.get(key) is not None]


def _span(values: list[float]) -> str:
    return f"{_round(min(values))} to {_round(max(values))}"


def _round(value: float) -> str:
    """Return a ratio with about two digits.

    Examples
    --------
    >>> _round(0.734), _round(6.26), _round(2018.04)
    ('0.73', '6.3', '2018')
    """
    return f"{value:.{0 if value >= 10.0 else 1 if value >= 1.0 else 2}f}"


if __name__ == "__main__":
    update()
