"""The page of the documentation: figures, tables beside the paper's, and remarks computed from the numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.papers.dembczynski2011 import figure
from benchmarks.papers.dembczynski2011.experiment import NAME
from benchmarks.papers.dembczynski2011.judging import MEASURES
from benchmarks.papers.dembczynski2011.methods import METHODS, N_SAMPLES, REPEATS, THRESHOLDS
from benchmarks.papers.dembczynski2011.problems import SUBSAMPLE
from benchmarks.papers.dembczynski2011.published import PUBLISHED
from benchmarks.papers.dembczynski2011.remarks import MEASURE_TITLES, MODEL_TITLES, RULE_TITLES, remarks
from benchmarks.papers.dembczynski2011.settings import (
    ADDED,
    ERRORS,
    RANDOM,
    REVERSED,
    SCALED,
    SHOWN,
    SINGLE,
    single_c,
)
from benchmarks.papers.dembczynski2011.summary import METHOD_TITLES, WANTED, comparable, is_near, title, value
from benchmarks.papers.dembczynski2011.synthetic import N_LABELS, PROBABILITY, SHIFT, TIMED_INSTANCES
from benchmarks.papers.page import list_table

Record = dict[str, Any]

LISTS = ("problems", "settings", "synthetic")  # of the record
NEEDED = ("problems",)  # for a page
SETTING_TITLES = {
    REVERSED: "labels of the chain in reverse order",
    RANDOM: "labels of the chain in random order",
    SCALED: "standardised features",
    ERRORS: "C by errors in three folds",
    **{single_c(C): f"C = {C:g} for all labels" for C in SINGLE},
}

INTRODUCTION = """\
Dembczyński, Waegeman, Cheng and Hüllermeier (2011): the exact maximiser of F
=============================================================================

K. Dembczyński, W. Waegeman, W. Cheng and E. Hüllermeier, *An exact algorithm for F-measure maximization* (NIPS 2011),
choose the labels of a sample so that the expected F-measure of that sample is as large as possible, for any joint
distribution of the labels (GFM). Table 1 compares this with a rule for independent labels (MEUF) and with the rule for
the Hamming loss (H), on probabilistic classifier chains (PCC) and on binary relevance (BR); Figure 1 does so for two
known distributions. ``make papers`` repeats both and writes this page. *F* is the mean over samples of each sample's
F1; a sample without labels that is predicted without labels counts 1.

The paper reports that all rules for F have a higher F than others, with no clear winner among them; that GFM is
far faster than MEUF; that MEUF is best for independent labels, where GFM comes near with more samples, and poor for
dependent ones; and that GFM-T and the approximate MEUF do nearly as well as GFM and MEUF."""

PROTOCOL = f"""\
Protocol
--------

- **Data.** Scene, Yeast and Enron with their official training and test parts. The paper counts 1169 test samples of
  Scene, where there are 1196, presumably a misprint. Of Mediamill only a subsample of 1500 and 500 was available
  (the paper has 30999 and 12914); **its numbers cannot be compared with the paper's**, which are shown for orientation.
- **Features** are as they are in the files, in ranges of about 1, neither centred nor scaled. The paper does not
  mention scaling.
- **Base learner.** The default of the library: logistic regression, for every label the best of five C from
  10\\ :sup:`-2` to 10\\ :sup:`2` in three folds of shuffled samples. The paper tunes the regularisation in three folds
  too. By what, over which values, and whether for every label or for all together, it does not report; here it is by
  log-likelihood and for every label.
- **Chains** are in the order of the columns; the paper does not name an order. Each chain and each binary relevance was
  trained once on a data set, and every rule applied to it.
- **Sampling.** {N_SAMPLES} label vectors per sample, as in the paper; where all label vectors are at most four times as
  many (Scene), all of them with their probabilities.
- **BR macro F and BR micro F** are not in the paper: binary relevance with thresholds on the probabilities, chosen in
  five folds of the training samples, one per label for the macro F and one for all labels for the micro F.
- **MEUF** is exact for independent labels, but not the paper's algorithm: it takes O(m log m) for m labels instead of
  O(m\\ :sup:`4`). The approximate one has a relative error of at most 0.001.
- **Macro F** is the mean over all labels. A label that no test sample has and that is never predicted counts 1, which
  matters on the subsample of Mediamill only.
- **Time of inference** is processor time of one thread, the fastest of {REPEATS}, from the test samples in memory to
  labels: it includes the scores of the samples, sampling or marginal probabilities, and the rule. The paper does not
  report what its times include.
- **Figure 1.** First panel: independent labels of probability {PROBABILITY:g}. Second: the log-odds of a label are the
  number of labels before it that are on, minus half the number of labels before it. Both with {N_LABELS} labels. The
  second model is as printed in the paper; on and off are interchangeable in it, so that all marginal probabilities are
  one half. The third panel is not in the paper: all log-odds are lower by {SHIFT:g}, the variant of those tried
  that shows the effect most clearly. F is the exact expectation under
  the true distribution, not an average over test draws. Guessed, from the axes of the paper's figure: the numbers of
  samples; that the second model has {N_LABELS} labels too; and the numbers of labels in the last panel. Which
  distribution and how many instances were timed the paper does not report: here it is the independent one and
  {TIMED_INSTANCES} instances, marginal probabilities included; more than 50 labels were added."""


def write(found: Record, folder: Path) -> Path:
    """Write the page and its figures; return the page's path."""
    folder.mkdir(parents=True, exist_ok=True)
    sentences = "\n".join(f"- {remark}" for remark in remarks(found, SETTING_TITLES))
    parts = [INTRODUCTION, _title("Findings") + "\n\n" + sentences]
    parts += [_problem_section(problem) for problem in found["problems"]]
    if found["settings"]:
        parts.append(_setting_section(found, folder))
    parts += [_synthetic_section(found, folder), PROTOCOL, _effort_section(found)]
    path = folder / f"{NAME}.rst"
    path.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    return path


def _problem_section(problem: Record) -> str:
    theirs = PUBLISHED[problem["name"]]
    header = ["method", *(f"{MEASURE_TITLES[name]}{suffix}" for name in MEASURES for suffix in ("", ", paper"))]
    rows = [[*header, "difference of F", "seconds", "seconds, paper"]]
    for method in (*METHODS, *THRESHOLDS):
        row, paper = [METHOD_TITLES[method]], theirs.get(method)
        for name in MEASURES:
            row += [f"{value(problem, method, name):.4f}", _printed(paper, name, ".4f")]
        difference = "–" if paper is None else f"{value(problem, method) - paper.f:+.4f}"
        rows.append([*row, difference, f"{value(problem, method, 'seconds'):.3f}", _printed(paper, "seconds", "g")])
    train, test = problem["n_samples"]
    text = (
        f"{problem['labels']} labels, {problem['labels_per_sample']:g} per training sample; {train} training, "
        f"{test} test samples."
    )
    if problem["name"] == SUBSAMPLE:
        text += " This is a subsample: the paper's numbers are for other and more samples."
    return "\n\n".join([_title(title(problem)), text, list_table(rows)])


def _printed(paper: Any, name: str, form: str) -> str:
    return "–" if paper is None else f"{getattr(paper, name):{form}}"


def _setting_section(found: Record, folder: Path) -> str:
    heading = _title("Other settings")
    measured = {entry["setting"] for entry in found["settings"]}
    added = " and ".join(f"{C:g}" for C in ADDED if single_c(C) in measured)
    text = (
        "What the paper leaves open, and how much it matters: F with other orders of the labels in the chain,\n"
        "with features standardised, with C chosen by errors instead of log-likelihood, and with one C for all labels."
    )
    if added:
        text += (
            f" Of these, {added} were added after seeing the results of the others,\n"
            "because on Scene the paper's values lie between those of 0.1 and 1; they show what could explain the\n"
            "paper's values, not what the paper did."
        )
    parts = [heading, text]
    if any(entry["setting"] in map(single_c, SINGLE) for entry in found["settings"]):
        file = f"{NAME}_c.svg"
        figure.by_c(found, folder / file)
        caption = (
            "F against one C for all labels. Dotted lines are the paper's values; the open marks on the right have a C "
            "chosen for every label."
        )
        parts.append(_figure(file, "F against C", caption))
    rows = [["data", "setting", *(METHOD_TITLES[method] for method in SHOWN), f"PCC GFM and MEUF within {WANTED:g}"]]
    for problem in comparable(found):
        theirs = PUBLISHED[problem["name"]]
        rows.append([title(problem), "the paper's values", *(f"{theirs[method].f:.4f}" for method in SHOWN), ""])
        table = {"as in the table": {method: value(problem, method) for method in SHOWN}}
        mine = [entry for entry in found["settings"] if entry["data"] == problem["name"]]
        table |= {SETTING_TITLES[entry["setting"]]: entry["f"] for entry in mine}
        for name, values in table.items():
            shown = [f"{values[method]:.4f}" for method in SHOWN]
            rows.append([title(problem), name, *shown, "yes" if is_near(values, theirs) else "no"])
    return "\n\n".join([*parts, list_table(rows)])


def _synthetic_section(found: Record, folder: Path) -> str:
    file = f"{NAME}_figure1.svg"
    figure.synthetic(found, RULE_TITLES, MODEL_TITLES, folder / file)
    trials, times = found["synthetic"][0]["trials"], found["times"]
    caption = (
        f"Expected F of the labels chosen from samples, mean of {trials} trials with standard errors, and the time of "
        f"choosing from {times['samples']} samples."
    )
    tables = []
    for entry in found["synthetic"]:
        rows = [[MODEL_TITLES[entry["model"]], *(f"{size} samples" for size in entry["sizes"])]]
        rows += [[RULE_TITLES[rule], *(f"{mean:.4f}" for mean in entry["means"][rule])] for rule in RULE_TITLES]
        tables.append(list_table(rows))
    rows = [["milliseconds per instance", *(f"{count} labels" for count in times["labels"])]]
    rows += [[RULE_TITLES[rule], *(f"{taken:.4f}" for taken in times["milliseconds"][rule])] for rule in RULE_TITLES]
    shown = _figure(file, "Expected F against samples, and time against labels", caption)
    return "\n\n".join([_title("Known distributions: Figure 1"), shown, *tables, list_table(rows)])


def _figure(file: str, alt: str, caption: str) -> str:
    return f".. figure:: {file}\n   :alt: {alt}\n   :width: 100%\n\n   {caption}"


def _effort_section(found: Record) -> str:
    rows = [
        [
            "data",
            "training of PCC, seconds",
            "training of BR, seconds",
            "labels without a training sample",
            "without a test sample",
            "C of BR: labels",
        ]
    ]
    for problem in found["problems"]:
        chosen = ", ".join(f"{C}: {count}" for C, count in problem["c_values"].items())
        seconds = [f"{problem['training_seconds'][name]:.1f}" for name in ("pcc", "br")]
        rows.append([title(problem), *seconds, *map(str, problem["unseen"]), chosen])
    text = f"The experiments took {found['seconds'] / 60:.1f} minutes on one core, seed {found['seed']}."
    skipped = [f"Not measured: {reason}." for reason in found["skipped"]]
    versions = ", ".join(f"{name} {content}" for name, content in found.get("environment", {}).items())
    parts = [_title("Effort"), *([list_table(rows)] if found["problems"] else []), text, *skipped, versions]
    return "\n\n".join(parts).rstrip()


def _title(text: str) -> str:
    return f"{text}\n{'-' * len(text)}"


def plain(found: Record) -> str:
    """Return the results for a terminal."""
    lines = [f"{NAME}: {found['seconds']:.0f} s"]
    for problem in found["problems"]:
        for method in METHODS:
            paper = PUBLISHED[problem["name"]].get(method)
            numbers = f"{value(problem, method):.4f}  paper {_printed(paper, 'f', '.4f')}"
            seconds = value(problem, method, "seconds")
            lines.append(f"  {title(problem):24s}{METHOD_TITLES[method]:18s}F {numbers}  {seconds:.3f} s")
    return "\n".join(lines)
