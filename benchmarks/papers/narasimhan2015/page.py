"""The page of the documentation: figures, tables, and remarks computed from the numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.papers.narasimhan2015 import figure
from benchmarks.papers.narasimhan2015.experiment import NAME
from benchmarks.papers.narasimhan2015.methods import (
    BATCHES,
    MOST_SECONDS,
    MOST_TIMES,
    MULTIVARIATE,
    OURS,
    PLUG_IN,
    STREAMING,
)
from benchmarks.papers.narasimhan2015.remarks import remarks
from benchmarks.papers.narasimhan2015.summary import METHODS, WANTED, Line, lines
from benchmarks.papers.page import list_table

Record = dict[str, Any]

MEASURE_TITLES = {"q_mean": "Q-mean", "min_rate": "minimum of the rates", "f1": "F1", "jaccard": "Jaccard"}
METHOD_TITLES = {
    OURS: "SPADE or STAMP",
    BATCHES: "mini-batches",
    MULTIVARIATE: "multivariate SVM",
    PLUG_IN: "plug-in",
}
LISTS = NEEDED = ("problems",)  # of the record, and for a page

INTRODUCTION = """\
Narasimhan, Kar and Jain (2015): streaming for non-decomposable measures
========================================================================

Figures 1 to 4 of H. Narasimhan, P. Kar and P. Jain, *Optimizing non-decomposable performance measures: a tale of two
classes* (ICML 2015), draw a measure on new samples against the time of training: Q-mean and the minimum of the two
rates for SPADE, F1 and the Jaccard coefficient for STAMP. ``make papers`` draws the same and writes this page.

The paper reports that SPADE is about as good as other methods or better, by 2 to 3 % on Covertype and IJCNN, and finds
its solution up to 60 times sooner than any other (MNIST; 12 times on KDD Cup 2008, twice on PPI); that STAMP is about
as good as others in a third to a quarter of their time; that the structural SVM needs at least ten times as long; that
mini-batches (1PMB) are less accurate or slower than STAMP; and that plain logistic regression is poor."""

PROTOCOL = f"""\
Protocol
--------

- **Data.** Covertype (all 581012 samples), MNIST (all 70000), the 10 % training part of KDD Cup 1999, and w8a. Of the
  paper's data sets, Covertype and MNIST are the same; KDD Cup 1999 and w8a stand for KDD Cup 2008, PPI and IJCNN. In
  KDD Cup 1999 the positives are the four probing attacks; protocol and flag are one-hot encoded, and the
  service, a code of 66 values, was dropped. All other features are those of the files.
- **Splits.** 70 % of the samples for training, the others for testing; values and times are means over three random
  splits. The paper averages five.
- **SPADE and STAMP** as ``SPADEClassifier`` and ``STAMPClassifier`` with default settings, on raw features: they
  standardise while they learn, hold out a part of the training samples, choose the threshold on it and stop when it
  shows no more progress. The paper makes 25 passes with settings chosen by validation.
- **Mini-batches** as ``MiniBatchSVC`` with default settings.
- **Plug-in.** Standardised features (not if sparse), scikit-learn's logistic regression (L-BFGS, C = 1) until it
  converges, and the threshold that is best for the measure on the training samples. Points of the curve are regressions
  of at most 5, 20, 80 and 300 iterations.
- **Multivariate SVM** as ``MultivariateSVC`` with default C on the same standardised features, threshold chosen on
  the training samples, for at most {MOST_TIMES} times as long as SPADE or STAMP and at most {MOST_SECONDS:g} seconds.
- **Time** is processor time of one thread, from raw features in memory, with contiguous or compressed rows, to a model
  with its threshold. Every point of a curve is a run from the start that was stopped there.
- **Near the best** means within 1 % of the best value that any method had at any time, on the test samples, as a mean
  over the splits. Nobody could stop there from the training samples alone, and a method with more points on its curve
  has more chances to touch the line."""


def write(found: Record, folder: Path) -> Path:
    """Write the page and its figures; return the page's path."""
    folder.mkdir(parents=True, exist_ok=True)
    sentences = "\n".join(f"- {remark}" for remark in remarks(found, _name))
    parts = [INTRODUCTION, _title("Findings") + "\n\n" + sentences]
    parts += [_measure_section(found, measure, folder) for measure in STREAMING]
    parts += [PROTOCOL, _problem_section(found)]
    path = folder / f"{NAME}.rst"
    path.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    return path


def _name(line: Line) -> str:
    return f"{line.problem['title']} for {MEASURE_TITLES[line.measure]}"


def _measure_section(found: Record, measure: str, folder: Path) -> str:
    file, title = f"{NAME}_{measure}.svg", MEASURE_TITLES[measure]
    figure.draw(found, measure, METHOD_TITLES, title, folder / file)
    drawn = [line for line in lines(found) if line.measure == measure]
    method = "SPADE" if measure in ("q_mean", "min_rate") else "STAMP"
    caption = (
        f"   {title} on the test samples against seconds of training; {method} is the method of the paper. The dotted "
        "line is 1 % below\n   the best value. Values further down are cut off."
    )
    shown = f".. figure:: {file}\n   :alt: {title} against seconds of training\n   :width: 100%\n\n{caption}"
    heading = _title(title[0].upper() + title[1:])
    return "\n\n".join([heading, shown, list_table(_values(drawn)), list_table(_times(drawn))])


def _values(drawn: list[Line]) -> list[list[str]]:
    header = ["value at the end", "best of any", *METHOD_TITLES.values(), "logistic regression, 0.5", "within 1 %"]
    rows = [
        [
            line.problem["title"],
            f"{line.best:.4f}",
            *(f"{line.final(method):.4f}{'' if line.ended(method) else ' (stopped)'}" for method in METHODS),
            f"{line.untuned:.4f}",
            "yes" if line.ends_near else "no",
        ]
        for line in drawn
    ]
    return [header, *rows]


def _times(drawn: list[Line]) -> list[list[str]]:
    header = ["seconds to within 1 %", *METHOD_TITLES.values(), f"plug-in / ours (required: {WANTED:g})"]
    header += ["seconds in total, ours", "plug-in", "ratio in total"]
    rows = [
        [
            line.problem["title"],
            *(_number(line.near(method), ".2f") for method in METHODS),
            _ratio(line),
            f"{line.seconds(OURS):.2f}",
            f"{line.seconds(PLUG_IN):.2f}",
            f"{line.whole_ratio:.1f}",
        ]
        for line in drawn
    ]
    return [header, *rows]


def _ratio(line: Line) -> str:
    """Return the ratio; a lower bound where the plug-in method had not come near when it ended."""
    ours = line.near(OURS)
    if ours is not None and line.near(PLUG_IN) is None:
        return f"> {line.seconds(PLUG_IN) / ours:.1f}"
    return _number(line.times_faster(), ".1f")


def _number(value: float | None, format: str) -> str:
    return "never" if value is None else f"{value:{format}}"


def _problem_section(found: Record) -> str:
    rows = [["data", "training samples", "test samples", "features", "positives"]]
    for problem in found["problems"]:
        train, test = problem["n_samples"]
        rows.append([problem["title"], str(train), str(test), str(problem["features"]), f"{problem['positives']:.2%}"])
    text = f"The experiments took {found['seconds'] / 60:.1f} minutes on one core."
    skipped = [f"Not measured: {reason}." for reason in found["skipped"]]
    versions = ", ".join(f"{name} {value}" for name, value in found.get("environment", {}).items())
    return "\n\n".join([_title("Data and effort"), list_table(rows), text, *skipped, versions]).rstrip()


def _title(text: str) -> str:
    return f"{text}\n{'-' * len(text)}"


def plain(found: Record) -> str:
    """Return the results for a terminal."""
    text = [f"{NAME}: {found['seconds']:.0f} s"]
    for line in lines(found):
        values = "  ".join(f"{line.final(method):.4f}/{line.seconds(method):.2f}s" for method in METHODS)
        text.append(f"  {_name(line):48s} best {line.best:.4f}  {values}  near: {_ratio(line)}")
    return "\n".join(text)
