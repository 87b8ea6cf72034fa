"""The page of the documentation: tables beside the paper's, the figure, and remarks computed from the numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.papers import figure
from benchmarks.papers.datasets import COVERTYPE_BALANCED, COVERTYPE_SEED
from benchmarks.papers.judging import COLUMNS, MEASURES, TITLES, TUNED
from benchmarks.papers.published import PUBLISHED
from benchmarks.papers.remarks import remarks, share_on_the_same_side
from benchmarks.papers.summary import Line, compare

Record = dict[str, Any]

NAME = "joachims2005"
FIGURE = f"{NAME}_by_frequency.svg"
METHOD_TITLES = {"multivariate": "multivariate SVM", "cost": "SVM with costs"}

INTRODUCTION = """\
Joachims (2005): support vector machines for multivariate measures
==================================================================

Table 1 of T. Joachims, *A support vector method for multivariate performance measures* (ICML 2005), compares the
multivariate SVM, trained for the measure it is judged by, with an SVM that has a cost factor on the positives.
``make papers`` repeats the comparison on three of its four collections, and writes this page. All numbers are averages
over the classes of a collection, in percent, on the test part. *Won/lost* counts the classes on which the multivariate
SVM is better and worse. Stars mark a difference that a two-tailed Wilcoxon test over classes finds significant at the
level 0.9 (one) or 0.95 (two); *p* is the p-value of that test."""

PROTOCOL = f"""\
How it was done
---------------

As in the paper, every class is a binary problem. The settings of both methods are chosen for each class and each
measure on a random third of the training part, the model is trained again on the whole of it, and F1 is taken at the
threshold 0. C is searched from 2\\ :sup:`-6` to 2\\ :sup:`6`, and the cost factor of the baseline from 1 to
2\\ :sup:`7`; a grid is widened while the setting chosen most often lies on its boundary, at most three times. The
multivariate SVM has a constant feature of value 1.

What the paper leaves open, or what differs:

- **C of the multivariate SVM** is on the paper's scale: its loss is in percent and its scores are not divided by the
  number of samples, so that its C equals 25 C / u in the notation of :ref:`the guide <scale-of-c>`. For ROC area its
  loss is the number of swapped pairs.
- **The baseline** is scikit-learn's SVM with hinge loss and a weight on the positive class: ``SVC(kernel="linear")`` on
  dense features, and on Reuters ``LinearSVC(loss="hinge")``, which is faster but penalises the intercept. The program
  used in the paper does not.
- **Recall at twice the positives.** The paper trains over labellings with exactly that many predicted positives; here,
  as in SVM-perf, the author's later program, it is *at most* that many. With exactly that many the true labels are not
  among the labellings, and lowering all scores alike makes the slack vanish. It is judged with exactly that many.
- **Ties.** Many settings do equally well on a small holdout part; the most central of them is taken, for both methods.
- **Holdout parts** are drawn within each class, so that both parts have a positive. A class with a single training
  positive has no holdout part: it takes the settings that the other classes of the collection chose most often, and the
  threshold 0.
- **F1, threshold tuned** is not in the paper: setting and threshold are chosen together on the holdout part.
- **Accuracy.** The multivariate SVM is trained to a relative duality gap of 1 % while searching and 0.1 % at the end,
  or until the gap is the cost of a tenth of a percent of loss (a thousandth of a percent for ROC area).
- **Features.** Reuters: tf-idf with document frequencies of the training part, samples of unit length. Optdigits:
  divided by 16. Covertype: every column scaled to run from 0 to 1 on the training part; 1000 and 2000 random samples
  (seed {COVERTYPE_SEED}), once of the whole file and once of its first {COVERTYPE_BALANCED} rows, where all classes are
  equally frequent."""


def write(records: list[Record], folder: Path) -> Path:
    """Write the page, and the figure if Reuters is among the records; return the page's path."""
    folder.mkdir(parents=True, exist_ok=True)
    parts = [INTRODUCTION, *(section(found) for found in records)]
    reuters = next((found for found in records if found["name"] == "reuters"), None)
    if reuters is not None:
        figure.draw(reuters, folder / FIGURE)
        parts.append(_figure_section(reuters))
    parts += [_remark_section(records), PROTOCOL, _settings_section(records), _effort_section(records)]
    path = folder / f"{NAME}.rst"
    path.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    return path


def section(found: Record) -> str:
    """Return the comparison on one collection beside the paper's."""
    train, test = found["n_samples"]
    same, of = share_on_the_same_side(found)
    text = (
        f"{len(found['classes'])} classes, {train} training samples, {test} test samples, {found['features']} "
        f"features. {same} of the {of} differences are on the same side as the paper's."
    )
    header = ["", *(f"{title}, {source}" for source in ("paper", "here") for title in METHOD_TITLES.values())]
    header += ["difference (won/lost), paper", "difference (won/lost), here", "p"]
    rows = [_row(found, column) for column in COLUMNS]
    return "\n\n".join([_title(found["title"]), text, list_table([header, *rows])])


def _row(found: Record, column: str) -> list[str]:
    ours, theirs = compare(found, column), PUBLISHED[found["name"]].get(column)
    published = [_percent(theirs.multivariate), _percent(theirs.cost)] if theirs else ["–", "–"]
    return [
        TITLES[column],
        *published,
        _percent(ours.multivariate),
        _percent(ours.cost),
        _difference(theirs) if theirs else "–",
        _difference(ours),
        f"{ours.p:.3f}",
    ]


def _percent(value: float) -> str:
    return f"{value:.1f}"


def _difference(line: Line) -> str:
    stars = line.stars.replace("*", r"\*")
    return f"{line.difference:+.1f} ({line.won}/{line.lost}){stars}"


def _figure_section(found: Record) -> str:
    return "\n\n".join(
        [
            _title("Improvement by class frequency"),
            f".. figure:: {FIGURE}\n   :alt: Improvement of the multivariate SVM by class frequency, in five bins",
            f"   {found['title']}: average improvement of the multivariate SVM in five bins of equally many classes,\n"
            "   the most frequent classes on the left.",
        ]
    )


def _remark_section(records: list[Record]) -> str:
    return _title("Remarks") + "\n\n" + "\n".join(f"- {remark}" for remark in remarks(records))


def _settings_section(records: list[Record]) -> str:
    """Return the settings chosen most often, as exponents of two, with the grids they were chosen from."""
    rows = [["collection", "measure", "log2 C", "grid", "SVM with costs: log2 C, log2 j", "grids"]]
    for found in records:
        for column in (*MEASURES, TUNED):
            ours, cost = found["frequent"]["multivariate"][column], found["frequent"]["cost"][column]
            grid, cost_grid = found["grids"]["multivariate"][column], found["grids"]["cost"][column]
            grids = f"{_span(cost_grid['c'])}; {_span(cost_grid['j'])}"
            rows.append(
                [found["title"], TITLES[column], str(ours[0]), _span(grid["c"]), f"{cost[0]}, {cost[1]}", grids]
            )
    return "\n\n".join([_title("Settings chosen most often"), list_table(rows)])


def _span(ends: list[int]) -> str:
    return f"{ends[0]} to {ends[1]}"


def _effort_section(records: list[Record]) -> str:
    rows = [["collection", "minutes", "method", "models", "not converged", "processor seconds per class"]]
    for found in records:
        for method, effort in found["efforts"].items():
            rows.append(
                [
                    found["title"],
                    f"{found['seconds'] / 60:.1f}",
                    METHOD_TITLES[method],
                    str(effort["fits"]),
                    str(effort["unfinished"]),
                    f"{effort['seconds'] / len(found['classes']):.2f}",
                ]
            )
    total = sum(found["seconds"] for found in records) / 60
    text = (
        f"The experiments took {total:.1f} minutes on {records[0]['processes']} processes. A model is *not converged* "
        "when training stopped at its limit of iterations."
    )
    versions = ", ".join(f"{name} {value}" for name, value in records[0].get("environment", {}).items())
    return "\n\n".join([_title("Effort"), text, list_table(rows), versions]).rstrip()


def _title(text: str) -> str:
    return f"{text}\n{'-' * len(text)}"


def list_table(rows: list[list[str]]) -> str:
    """Return a table with a header row in reStructuredText."""
    lines = [".. list-table::", "   :header-rows: 1", ""]
    for row in rows:
        lines += [f"   {'*' if position == 0 else ' '} - {cell}".rstrip() for position, cell in enumerate(row)]
    return "\n".join(lines)


def plain(found: Record) -> str:
    """Return the comparison on one collection for a terminal."""
    lines = [f"{found['title']}: {len(found['classes'])} classes, {found['seconds']:.0f} s"]
    for column in COLUMNS:
        line = compare(found, column)
        lines.append(
            f"  {TITLES[column]:20s} {line.multivariate:5.1f} {line.cost:5.1f}  {line.difference:+5.1f} "
            f"({line.won}/{line.lost}){line.stars}  p {line.p:.3f}"
        )
    return "\n".join(lines)
