"""The page of the documentation: figures, tables, and remarks computed from the numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.papers.brefeld2005 import costs, figure
from benchmarks.papers.brefeld2005.experiment import NAME
from benchmarks.papers.brefeld2005.methods import AUC_1, AUC_2, CLUSTERS, HINGE, N_CLUSTERS, PLAIN, SQUARED, TOLERANCE
from benchmarks.papers.brefeld2005.problems import DIGIT_HOLDOUT, TEXT_HOLDOUT
from benchmarks.papers.brefeld2005.protocol import SAME, SEARCH_TOLERANCE
from benchmarks.papers.brefeld2005.remarks import remarks
from benchmarks.papers.brefeld2005.summary import LEVEL, Cell, cells, cluster_points, curve, point, sizes, tally
from benchmarks.papers.page import list_table

Record = dict[str, Any]

METHOD_TITLES = {
    AUC_1: "AUC-SVM, 1-norm",
    AUC_2: "AUC-SVM, 2-norm",
    PLAIN: "SVM",
    HINGE: "LinearSVC, hinge",
    SQUARED: "LinearSVC, squared hinge",
    CLUSTERS: "AUC-SVM, k-means",
}
TIME_TITLES = {
    costs.EXACT: "AUC-SVM, 1-norm",
    costs.EXACT_2: "AUC-SVM, 2-norm",
    costs.KERNEL: f"AUC-SVM, 1-norm, polynomial kernel of degree {costs.DEGREE}",
    costs.LISTED: "SVM over the list of all pairs",
    costs.CLUSTERED: f"AUC-SVM, k-means, {N_CLUSTERS} clusters",
    costs.PLAIN: "SVC, linear",
    costs.PLAIN_KERNEL: f"SVC, polynomial kernel of degree {costs.DEGREE}",
    costs.HINGE: "LinearSVC, hinge",
}
LISTS = ("text", "digits", "clusters")  # of the record
NEEDED = ("text", "digits")  # for a page, one of these
_MARKS = {1: " +", 0: "", -1: " −"}

INTRODUCTION = f"""\
Brefeld and Scheffer (2005): support vector machines for the area under the ROC curve
=====================================================================================

U. Brefeld and T. Scheffer, *AUC maximizing support vector learning* (ICML workshop on ROC analysis in machine learning,
2005), compare a support vector machine over all pairs of a positive and a negative with a plain one, on topics of
Reuters-21578 and on digits of MNIST. ``make papers`` repeats the comparison with ``AUCSVC`` and writes this page. All
areas are averages over random draws, on holdout samples. A case is *better* or *worse* if a two-sided paired t-test
over draws rejects equality at the level {LEVEL:.0%}; in tables + and − mark such cases, seen from the AUC-SVM.

The paper reports that with the best C of each the AUC-SVM has the higher area on average; that its best C
is smaller than that of the plain SVM; that on MNIST it appears to do better; that clusters of pairs make large samples
feasible and still do better than the plain SVM on average; and that the plain SVM is the fastest of the three."""

PROTOCOL = f"""\
Protocol
--------

- **Choice of C**, as in the paper. For every problem and every number of training samples, C of each method is the one
  of equally many values with the best average area on the holdout samples of some draws. With it, all methods are
  trained and judged on other draws, the same for all. Of several values within {SAME:g} of the best area the
  middle one is taken. C is chosen on holdout samples, not on training samples, for all methods alike.
- **Tests.** Draws overlap, so that the tests are more optimistic than their level suggests; so are the paper's.
- **Reuters-21578.** The topics that the paper shows, each vs all other samples of both parts of the ModApte split,
  tf-idf of unit length. Training samples and {TEXT_HOLDOUT} holdout samples are drawn without replacement.
- **MNIST.** Training samples from the training part, {DIGIT_HOLDOUT} holdout samples from the test part, written by
  other people, as in the paper. Images have unit length, the kernel is (1 + x'z)\\ :sup:`degree` for all methods.
- **AUC-SVM** as ``AUCSVC``, to a relative duality gap of {SEARCH_TOLERANCE:.0%} while searching and {TOLERANCE:.1%} at
  the end. Its C weights n times the mean over pairs; the paper's C, the weight of every pair, is
  C n / (n\\ :sub:`+` n\\ :sub:`-`).
- **SVM** is scikit-learn's ``SVC``, whose constant term is not penalised, like that of SVM-light,
  which the paper uses for linear models. ``LinearSVC``, which penalises it, was added.
- **Clusters.** ``pairs="kmeans"`` with {N_CLUSTERS} clusters and the C that was best for the AUC-SVM over all pairs,
  on fewer draws and only for few samples: clustering all pairs is the slowest part here. The paper chooses a C for it,
  which it finds between those of the other two; that was not repeated.
- **Time** is processor time of one thread from features in memory to a model, the median of a few draws, with C = 1.
  Features that are zero in all training samples were dropped before. *The list of all pairs* is ``LinearSVC`` without a
  constant term over the differences, which a theorem of the paper shows to be the same problem.
- **What could not be reproduced.** The copy of the paper that was available lacks its numbers: numbers of draws and
  samples, values of C, the level of the tests, the digits, the degrees of the kernel and the areas in its tables. Those
  here are our choice, and no areas of the paper are shown beside ours."""


def write(found: Record, folder: Path) -> Path:
    """Write the page and its figures; return the page's path."""
    folder.mkdir(parents=True, exist_ok=True)
    sentences = "\n".join(f"- {remark}" for remark in remarks(found, METHOD_TITLES))
    parts = [INTRODUCTION, _title("Findings") + "\n\n" + sentences, _tally_section(found)]
    if found["text"]:
        parts += [_text_section(found, folder), _c_section(found, folder)]
    if found["digits"]:
        parts.append(_digit_section(found, folder))
    if found["clusters"]:
        parts += [_cluster_section(found, folder), _time_section(found, folder)]
    parts += [PROTOCOL, _effort_section(found)]
    path = folder / f"{NAME}.rst"
    path.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    return path


def _tally_section(found: Record) -> str:
    rows = [["data", "method", "compared with", "won", "tied", "lost", "average difference"]]
    for part, title in (("text", "Reuters-21578"), ("digits", "MNIST")):
        for ours in (AUC_1, AUC_2, CLUSTERS):
            for theirs in (PLAIN, HINGE, SQUARED):
                result = tally(cells(found, part), ours, theirs)
                if result.cells:
                    counts = [str(result.won), str(result.tied), str(result.lost)]
                    names = [title, METHOD_TITLES[ours], METHOD_TITLES[theirs]]
                    rows.append([*names, *counts, f"{result.difference:+.5f}"])
    text = f"Cases of problem and number of training samples, by the test over draws at the level {LEVEL:.0%}."
    return "\n\n".join([_title("Wins, ties and losses"), text, list_table(rows)])


def _text_section(found: Record, folder: Path) -> str:
    some = cells(found, "text")
    file = f"{NAME}_reuters.svg"
    figure.by_size(some, METHOD_TITLES, {cell.name: cell.name for cell in some}, folder / file)
    shown = _figure(
        file, "Area against training samples", "Area on holdout samples with standard errors, best C of each."
    )
    methods = (AUC_1, AUC_2, PLAIN, HINGE, SQUARED, CLUSTERS)
    return "\n\n".join([_title("Reuters-21578"), shown, list_table(_areas(some, ["topic"], methods))])


def _areas(some: list[Cell], keys: list[str], methods: tuple[str, ...]) -> list[list[str]]:
    header = [*keys, "samples", *(METHOD_TITLES[method] for method in methods), "AUC-SVM, 1-norm − SVM", "p"]
    rows = []
    for cell in some:
        names = [str(cell.record["pair"]), cell.name] if "pair" in cell.record else [cell.name]
        areas = [f"{cell.mean(method):.4f}" if cell.has(method) else "–" for method in methods]
        difference = f"{cell.difference(AUC_1, PLAIN):+.4f}{_MARKS[cell.verdict(AUC_1, PLAIN)]}"
        rows.append([*names, str(cell.n_samples), *areas, difference, f"{cell.p(AUC_1, PLAIN):.3f}"])
    return [header, *rows]


def _c_section(found: Record, folder: Path) -> str:
    some = cells(found, "text")
    shown = sizes(some)[len(sizes(some)) // 2]
    drawn = [cell for cell in some if cell.n_samples == shown]
    files = f"{NAME}_c.svg", f"{NAME}_best_c.svg"
    names = [cell.name for cell in drawn]
    figure.by_c(drawn, found["exponents"], METHOD_TITLES, names, folder / files[0])
    figure.best_c(found, METHOD_TITLES, folder / files[1])
    first = _figure(files[0], "Area against C", f"Area against C with {shown} training samples; low areas are cut off.")
    second = _figure(files[1], "Best C against training samples", "The best C, geometric average over topics.", "70%")
    return "\n\n".join([_title("The best C"), first, second])


def _digit_section(found: Record, folder: Path) -> str:
    some = cells(found, "digits")
    largest = sizes(some)[-1]
    drawn = [cell for cell in some if cell.n_samples == largest]
    names = [f"{cell.record['pair']}, degree {cell.name}" for cell in drawn]
    file = f"{NAME}_mnist.svg"
    figure.by_c(drawn, found["exponents"], METHOD_TITLES, names, folder / file)
    shown = _figure(file, "Area against C on MNIST", f"Area against C with {largest} training samples.")
    table = list_table(_areas(some, ["digits", "degree"], (AUC_1, AUC_2, PLAIN)))
    return "\n\n".join([_title("MNIST, polynomial kernels"), shown, table])


def _cluster_section(found: Record, folder: Path) -> str:
    file = f"{NAME}_clusters.svg"
    figure.clusters(found, folder / file)
    rows = [["topic", "samples", "clusters", "area", "seconds", "time / time of the exact solver"]]
    for record in found["clusters"]:
        exact = point(record["exact"])
        start = [record["topic"], str(record["n_samples"])]
        rows.append([*start, "none: all pairs, exact", f"{exact.area:.4f}", f"{exact.seconds:.3f}", "1"])
        for count, value in cluster_points(record):
            ratio = f"{value.seconds / exact.seconds:.1f}"
            rows.append([*start, str(count), f"{value.area:.4f}", f"{value.seconds:.3f}", ratio])
    shown = _figure(file, "Area and seconds against the number of clusters", "Clusters of pairs, 1-norm, C = 1.", "80%")
    return "\n\n".join([_title("Clusters of pairs"), shown, list_table(rows)])


def _time_section(found: Record, folder: Path) -> str:
    file = f"{NAME}_times.svg"
    figure.times(found, TIME_TITLES, folder / file)
    curves = {method: curve(found, method) for method in costs.TIMED}
    every = sorted({n_samples for points in curves.values() for n_samples in points})
    table = [["seconds", *(f"{n_samples} samples" for n_samples in every)]]
    for method, points in curves.items():
        taken = [f"{points[n_samples].seconds:.3f}" if n_samples in points else "–" for n_samples in every]
        table.append([TIME_TITLES[method], *taken])
    caption = f"Processor seconds of training on the topic {found['times']['topic']}, C = {found['times']['C']:g}."
    shown = _figure(file, "Seconds against training samples", caption, "80%")
    return "\n\n".join([_title("Time"), shown, list_table(table)])


def _figure(file: str, alt: str, caption: str, width: str = "100%") -> str:
    return f".. figure:: {file}\n   :alt: {alt}\n   :width: {width}\n\n   {caption}"


def _effort_section(found: Record) -> str:
    exponents, draws = found["exponents"], found["draws"]
    text = (
        f"{len(exponents)} values of C from 10\\ :sup:`{exponents[0]:g}` to 10\\ :sup:`{exponents[-1]:g}`; C was "
        f"chosen on {draws['search']} draws and methods were compared on {draws['compared']}, seed {found['seed']}. "
        f"The experiments took {found['seconds'] / 60:.1f} minutes on one core."
    )
    skipped = [f"Not measured: {reason}." for reason in found["skipped"]]
    versions = ", ".join(f"{name} {value}" for name, value in found.get("environment", {}).items())
    return "\n\n".join([_title("Effort"), text, *skipped, versions]).rstrip()


def _title(text: str) -> str:
    return f"{text}\n{'-' * len(text)}"


def plain(found: Record) -> str:
    """Return the results for a terminal."""
    lines = [f"{NAME}: {found['seconds']:.0f} s"]
    for part in ("text", "digits"):
        for cell in cells(found, part):
            areas = "  ".join(f"{METHOD_TITLES[method]} {cell.mean(method):.4f}" for method in (AUC_1, AUC_2, PLAIN))
            lines.append(f"  {cell.record.get('pair', ''):7s}{cell.name:10s} {cell.n_samples:5d}  {areas}")
    return "\n".join(lines)
