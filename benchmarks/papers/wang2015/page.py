"""The page of the documentation: figures, tables, and remarks computed from the numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.papers.page import list_table
from benchmarks.papers.wang2015 import figure, profiles, vehicles
from benchmarks.papers.wang2015.actions import AZIMUTHS, ELEVATIONS, MOVING, PARTS
from benchmarks.papers.wang2015.methods import (
    CAMPM,
    CPSP,
    FOLDS,
    FSMPM,
    JSCHP,
    LINEAR,
    METHODS,
    MPMS,
    N_ATOMS,
    PLUG_IN,
    TITLES,
)
from benchmarks.papers.wang2015.remarks import MEASURE_TITLES, remarks
from benchmarks.papers.wang2015.sensitivity import MIDDLE, PARAMETERS
from benchmarks.papers.wang2015.summary import LEVEL, Case, cases, curve, frequent_setting, seconds

Record = dict[str, Any]

PAGE = "wang2015"
LISTS = ("problems", "trials", "sensitivity")  # of the record
NEEDED = ("problems",)  # for a page
_MARKS = {1: " −", 0: "", -1: " +"}

INTRODUCTION = f"""\
Joint sparse coding
===================

Yang et al. (2015) learn a dictionary, sparse codes and a classifier of the codes together for a measure (JSCHP), and
compare this with CPSP, MPMS, FSMPM and CAMPM: by ten-fold cross-validation, for F1, the precision/recall break-even
point (PRBEP) and the area under the ROC curve (AUC). ``make papers`` repeats the comparison with the estimators of this
library, adds two, and writes this page. Means are over folds. In tables, + and − mark methods that are significantly
better and worse than JSCHP by a two-sided Wilcoxon signed-rank test over folds at the level {LEVEL:.0%}; the best mean
is in bold. The paper shows its results as figures, so that its values are not shown beside ours; two of its three
data sets are simulated here by other means."""

ESTIMATORS = {
    JSCHP: f"``SparseCodingClassifier``, {N_ATOMS} atoms, C2 = 1",
    CPSP: '``MultivariateSVC(kernel="rbf", approximation="cpsp")``; gamma is *width* / number of features',
    MPMS: "``SmoothedSVC``; it cannot be trained for F1",
    FSMPM: "``FeatureSelectingSVC`` with a *share* of the features",
    CAMPM: "``AdaptedSVC`` of an rbf ``SVC`` and a logistic regression",
    LINEAR: "``MultivariateSVC``, linear; not in the paper",
    PLUG_IN: "``PlugInClassifier(LogisticRegression())``; not in the paper",
}

DATA_TEXT = f"""\
The data
--------

**UT-Kinect actions.** 199 sequences of ten actions, one sample each; every action vs the rest is a binary problem, and
values are averages over the ten. A sequence is described by histograms of joint positions: every frame is seen from the
hip centre and turned about the vertical so that the hips lie along one axis; the directions of {len(MOVING)} joints
(head, elbows, wrists, hands, knees, ankles, feet) are counted in {AZIMUTHS} bins around the body by {ELEVATIONS} from
below to above it, each position for the bins nearest to it; and the shares of all bins are taken for the first and the
second half of the sequence, {AZIMUTHS * ELEVATIONS * PARTS} features in all. Without the halves, sitting down would
look like standing up. The paper has histograms of joints, too, and does not specify them.

**Profile injection**, simulated; the paper injects profiles into MovieLens 1M, which is not used here. Genuine users
like an item by a model of {profiles.FACTORS} latent factors, with the user's and the item's own level and noise; they
rate popular items and what they expect to like more often. Attackers, 3 in 13 as in the paper, push one of
{profiles.TARGETS} seldom rated items by the best rating and rate fillers: half of them at random around the mean of all
ratings (random attack), half around the mean of each item (average attack). Profiles are as long as genuine ones, and
fillers are more or less popular. Attackers are the positives; in the paper genuine users are. A user's features, which
are computed from all ratings without using who attacks:

{{profiles}}

**Vehicular misbehaviour**, simulated here; the paper uses the simulator NCTUns. Vehicles drive on a ring road of two
lanes and {vehicles.ROAD / 1000:g} km in traffic that is dense in places, and broadcast position and speed
{vehicles.BEACONS} times in {vehicles.BEACONS * vehicles.INTERVAL:g} s. Their claims are collected from all who received
them; signal strength is that at the nearest vehicle: it falls with the true distance, with slow shadowing, and
weak beacons are lost. Positions of honest vehicles have errors, too,
large for some. Two vehicles in five misbehave, as in the paper, with one of five kinds of claims:
{", ".join(vehicles.KINDS)}; by small to large amounts, from some time on; and they pass on fewer packets. A vehicle's
features:

{{vehicles}}"""

PROTOCOL = f"""\
Protocol
--------

- **Folds** are stratified and the same for all methods. Features are standardised by
  the training samples.
- **Settings.** Every method has four to choose from. They are chosen for each fold and measure on a random third of
  the training samples, F1 being taken at the best threshold there, and the method is trained again on all training
  samples. On the actions this is done for one action per fold, another one in each, and used for all actions of the
  fold. The paper does not report how settings were chosen.
- **Thresholds** for F1 are chosen on out-of-fold scores ({FOLDS} folds of the training samples) by all methods; the
  paper has none. PRBEP and AUC depend on the order of the scores only.
- **JSCHP** is ``variant="joint"`` with weights refitted on the codes that new samples would have, not the update rules
  of the paper.
- **Time** is processor time of one thread for the final training with given settings, thresholds included.
- **Sensitivity.** F1 of JSCHP on fewer folds with the threshold chosen on training samples; one parameter varies, the
  others are {MIDDLE:g}. The paper varies two at a time, on the actions."""


def write(found: Record, folder: Path) -> Path:
    """Write the page and its figures; return the page's path."""
    folder.mkdir(parents=True, exist_ok=True)
    some = cases(found)
    sentences = "\n".join(f"- {remark}" for remark in remarks(found))
    parts = [INTRODUCTION, _title("Findings") + "\n\n" + sentences]
    parts += [_values_section(record, some, folder) for record in found["problems"]]
    parts += [_time_section(some, folder), _sensitivity_section(found, folder), _method_section()]
    parts.append(DATA_TEXT.format(profiles=_bullets(profiles.FEATURES), vehicles=_bullets(vehicles.FEATURES)))
    parts += [PROTOCOL, _settings_section(found), _effort_section(found)]
    path = folder / f"{PAGE}.rst"
    path.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    return path


def _values_section(record: Record, some: list[Case], folder: Path) -> str:
    mine = [case for case in some if case.name == record["name"]]
    file = f"{PAGE}_{record['name']}.svg"
    figure.values(mine, folder / file)
    positives = list(record["positives"].values())
    share = f"{min(positives)}" if len(set(positives)) == 1 else f"{min(positives)} to {max(positives)}"
    text = f"{record['n_samples']} samples, {record['features']} features, {share} positives."
    rows = [["mean of the folds", *(MEASURE_TITLES[case.measure] for case in mine)]]
    rows += [[TITLES[method], *(_cell(case, method) for case in mine)] for method in METHODS]
    shown = _figure(file, f"{record['title']}: boxes over folds", f"{record['title']}: values of the folds.")
    return "\n\n".join([_title(record["title"]), text, shown, list_table(rows)])


def _cell(case: Case, method: str) -> str:
    if method not in case.values:
        return "–"
    mean = f"{case.mean(method):.3f}"
    shown = f"**{mean}**" if method in case.best else mean
    return shown if method == JSCHP else shown + _MARKS[case.verdict(JSCHP, method)]


def _time_section(some: list[Case], folder: Path) -> str:
    file = f"{PAGE}_times.svg"
    figure.times(some, folder / file)
    names = {case.name: case.title for case in some}
    rows = [["median seconds of training", *names.values()]]
    for method in METHODS:
        taken = [seconds([case for case in some if case.name == name], method) for name in names]
        rows.append([TITLES[method], *(f"{value:.3f}" for value in taken)])
    shown = _figure(file, "Seconds of training, boxes over folds", "Seconds of training over folds and measures.")
    return "\n\n".join([_title("Time"), shown, list_table(rows)])


def _sensitivity_section(found: Record, folder: Path) -> str:
    file = f"{PAGE}_sensitivity.svg"
    figure.sensitivity(found, folder / file)
    values = found["effort"]["values"]
    rows = [["F1 (share of the atoms in a code)", "parameter", *(f"{value:g}" for value in values)]]
    for record in found["problems"]:
        for parameter in PARAMETERS:
            line = curve(found, record["name"], parameter, MIDDLE)
            cells = [f"{value:.3f} ({used:.0%})" for value, used in zip(line.values, line.used, strict=True)]
            rows.append([record["title"], parameter, *cells])
    caption = f"F1 of JSCHP against one parameter, the others being {MIDDLE:g}."
    shown = _figure(file, "F1 against C1, C2 and C3", caption)
    return "\n\n".join([_title("Sensitivity to C1, C2 and C3"), shown, list_table(rows)])


def _method_section() -> str:
    rows = [["method", "estimator", "chosen from"]]
    for name, method in METHODS.items():
        values = {key: dict.fromkeys(f"{setting[key]:g}" for setting in method.settings) for key in method.settings[0]}
        grid = "; ".join(f"{key} {', '.join(options)}" for key, options in values.items())
        rows.append([method.title, ESTIMATORS[name], grid])
    text = "Every method is trained for the measure it is judged by."
    return "\n\n".join([_title("The methods"), text, list_table(rows)])


def _settings_section(found: Record) -> str:
    rows = [["data", "method", *MEASURE_TITLES.values()]]
    for record in found["problems"]:
        for name, method in METHODS.items():
            chosen = [_setting(found, record["name"], measure, name) for measure in MEASURE_TITLES]
            rows.append([record["title"], method.title, *chosen])
    text = "In brackets, the number of folds."
    return "\n\n".join([_title("Settings chosen most often"), text, list_table(rows)])


def _setting(found: Record, problem: str, measure: str, method: str) -> str:
    if measure not in METHODS[method].measures:
        return "–"
    setting, count = frequent_setting(found, problem, measure, method)
    return f"{', '.join(f'{name} {value:g}' for name, value in setting.items())} ({count})"


def _effort_section(found: Record) -> str:
    effort = found["effort"]
    fits = sum(len(METHODS[trial["method"]].settings) + len(trial["values"]) for trial in found["trials"])
    fits += sum(len(trial["values"]) for trial in found["sensitivity"])
    text = (
        f"{effort['n_folds']} folds for the comparison, {effort['n_sensitivity_folds']} for the sensitivity, seed "
        f"{found['seed']}; {fits} models in {found['seconds'] / 60:.1f} minutes on one core"
    )
    earlier = f"; {found['earlier']} trials were reused from an interrupted run" if found["earlier"] else ""
    skipped = [f"Not measured: {reason}." for reason in found["skipped"]]
    versions = ", ".join(f"{name} {value}" for name, value in found.get("environment", {}).items())
    return "\n\n".join([_title("Effort"), text + earlier + ".", *skipped, versions]).rstrip()


def _figure(file: str, alt: str, caption: str) -> str:
    return f".. figure:: {file}\n   :alt: {alt}\n   :width: 100%\n\n   {caption}"


def _bullets(entries: tuple[str, ...]) -> str:
    return "\n".join(f"- {entry}" for entry in entries)


def _title(text: str) -> str:
    return f"{text}\n{'-' * len(text)}"


def plain(found: Record) -> str:
    """Return the results for a terminal."""
    lines = [f"{found['name']}: {found['seconds']:.0f} s"]
    for case in cases(found):
        means = "  ".join(f"{TITLES[method]} {case.mean(method):.3f}" for method in case.methods)
        lines.append(f"  {case.name:9s}{case.measure:8s} {means}")
    return "\n".join(lines)
