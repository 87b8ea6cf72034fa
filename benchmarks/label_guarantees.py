"""Are guarantees of all labels at once, and of classes, kept as often as their confidence says?

A model is trained on samples of its own. All others are the population: every trial draws its samples from it, so that
the shares of the chosen thresholds are known exactly.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_softmax, logit
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks import data
from benchmarks.context import ROOT, Context
from benchmarks.quality.running import append, read, report
from benchmarks.report import Column, Record, Section, Table
from metricwise import UnreachableGuaranteeError
from metricwise.decisions.binary import ThresholdRule
from metricwise.decisions.decision import ScoredSamples
from metricwise.decisions.guarantees import find_guaranteed_threshold
from metricwise.decisions.multilabel_task import Multilabel
from metricwise.decisions.tasks import Multiclass
from metricwise.measures import FBeta

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

CONFIDENCE, TRIALS, QUICK_TRIALS = 0.95, 200, 5
N_SAMPLES = 1200  # to order thresholds and to test them
ORDERING = 400  # of them, to order thresholds of ours, as with prefit=True
TRAINED = 0.4  # share of the samples of a data set that the model is trained on
SCRIPT, VARIABLE = Path(__file__).with_name("mapie_labels_process.py"), "MAPIE_PYTHON"
STORED = ROOT / "benchmarks" / "results" / "label_guarantees.jsonl"
OURS = "metricwise"
PEERS = {
    "bonferroni_holm": "MAPIE per label, Holm over thresholds, Bonferroni over labels",
    "split_fixed_sequence": "MAPIE per label, split fixed sequence, Bonferroni over labels",
    "mean over samples": "MAPIE multilabel controller (controls a mean over samples)",
}

COLUMNS = (
    Column("view", "population"),
    Column("wanted", "guarantee"),
    Column("method", "method"),
    Column("trials", "trials"),
    Column("refused", "refused", "{:.1%}"),
    Column("kept", "kept by all, of those given", "{:.1%}"),
    Column("kept_or_refused", "kept or refused", "{:.1%}"),
    Column("recall", "recall", "{:.3f}"),
    Column("precision", "precision", "{:.3f}"),
    Column("f1", "F1", "{:.3f}"),
)


class Population(NamedTuple):
    """Scores (log-odds of labels, log-probabilities of classes) and truth, with a column per class or label."""

    name: str
    scores: Floats
    truth: Mask


class Setting(NamedTuple):
    """A share that is wanted of some columns of a population, at least a bound."""

    population: Population
    share: str
    bound: float
    columns: list[int]

    @property
    def subject_to(self) -> list[Any]:
        return [(self.share, ">=", self.bound, "of", k) for k in self.columns]

    @property
    def wanted(self) -> str:
        of = f"each of {len(self.columns)} labels" if len(self.columns) > 1 else "the class"
        return f"{self.share} >= {self.bound:g} of {of}"


Choose = Callable[[Setting, ScoredSamples, ScoredSamples], Floats]


def measure(context: Context) -> Section:
    """Count the guarantees that are kept, broken and refused, beside MAPIE's controllers on the same samples."""
    section = Section("label_guarantees", "Guarantees of labels and classes", [_describe()])
    trials = QUICK_TRIALS if context.quick else TRIALS
    generated, scene, yeast = _generate_labels(), _scene(), _yeast()
    labels = [
        Setting(one, share, bound, list(range(one.truth.shape[1])))
        for one, share, bound in (
            (generated, "recall", 0.8),
            (generated, "precision", 0.5),
            (scene, "recall", 0.8),
            (yeast, "precision", 0.5),
        )
    ]
    classes = [
        Setting(one, "recall", bound, [k]) for one, bound, k in ((_generate_classes(), 0.8, 3), (_covtype(), 0.8, 2))
    ]
    stored = None if context.quick else STORED
    for title, settings, ours in (("Labels", labels, _label_methods()), ("Classes", classes, _class_methods())):
        records = [one for setting in settings for one in _run_missing(setting, trials, ours, stored, section)]
        section.tables.append(Table(title, COLUMNS, records))
        section.failures += [
            f"{one['view']}, {one['wanted']}: kept or refused in {one['kept_or_refused']:.1%}"
            for one in records
            if not context.quick and one["method"] == OURS and one["kept_or_refused"] < CONFIDENCE
        ]
    return section


def _run_missing(
    setting: Setting, trials: int, methods: dict[str, Choose], stored: Path | None, section: Section
) -> list[Record]:
    """Return the records of a setting: those that an earlier run has stored, and new ones, which are stored then."""
    about = {"view": setting.population.name, "wanted": setting.wanted}
    known = [] if stored is None else [one for one in read(stored) if about.items() <= one.items()]
    done = {one["method"] for one in known}
    draws = _draw(setting.population, trials)
    records = [_run(setting, draws, name, choose) for name, choose in methods.items() if name not in done]
    per_label = len(setting.columns) > 1
    peers = [key for key, name in PEERS.items() if name not in done and (per_label or key != "mean over samples")]
    records += _run_peers(setting, draws, peers, section) if peers else []
    if stored is not None:
        append(stored, records)
    report(f"{setting.population.name}: {setting.wanted}")
    order = [*methods, *PEERS.values()]
    return sorted([*known, *records], key=lambda one: order.index(one["method"]))


def _describe() -> str:
    return (
        f"Guarantees at confidence {CONFIDENCE:g}, in {TRIALS} trials each, on the same samples. Logistic regression, "
        f"standardised, is trained on {TRAINED:.0%} of the samples of a data set (5000 of covtype), and what is left "
        f"is the population; each trial draws {N_SAMPLES} samples with replacement, and recall, precision and F1 are "
        "those of the whole population, averaged over the labels and trials that are not refused. A guarantee is kept "
        "if all labels have the share at once. The labels of "
        "yeast are those that at least 30 % of the samples have; the class of covtype is the third (ponderosa pine, "
        "6 %), the generated one the rarest of four (11 %). *metricwise* is what ``PlugInClassifier(prefit=True)`` "
        f"does with these scores for F1: {ORDERING} samples order thresholds, and the others test them; *delta / "
        f"labels* gives each label its share of the error instead. MAPIE's "
        f"``BinaryClassificationController`` is given a confidence of {CONFIDENCE:g} after a "
        "Bonferroni correction for the labels, 100 thresholds up to the tenth highest probability (its own go up to "
        "0.99, and where one of them predicts no positive, it controls none) and its own choice of those it controls; "
        "with ``split_fixed_sequence`` the order is learned on the first half (at 21 levels in place of 1000, which "
        "take fifty times as long), with ``bonferroni_holm`` both halves test. Its "
        "``MultiLabelClassificationController``, in the first ten trials only, as it is slow, has both halves, too "
        "(RCPS with the bound of Waudby-Smith and Ramdas for recall, learn then test for precision). It controls the "
        "mean over samples of each sample's recall or precision, by one threshold for all labels: that no label falls "
        "below the bound is not what it guarantees, and the table shows how far one is from the other. "
        "The bounds, the class of covtype and the thresholds of MAPIE were chosen after trials on the same data."
    )


# --------------------------------------------------------------------------------------------------------- populations


def _generate_labels() -> Population:
    """Return labels that go together, of 36 % down to 14 % of the samples, with calibrated scores."""
    random, centres = np.random.default_rng(0), np.array([-1.0, -1.5, -2.0, -2.5, -3.0])
    scores = centres + 1.8 * (0.7 * random.normal(size=(50_000, 1)) + random.normal(size=(50_000, centres.size)))
    return Population("generated", scores, random.random(scores.shape) < expit(scores))


def _generate_classes() -> Population:
    """Return four classes, the last the rarest, with calibrated scores."""
    random, centres = np.random.default_rng(0), np.array([0.0, 0.0, -0.5, -1.8])
    scores = log_softmax(centres + 2.0 * random.normal(size=(50_000, 4)), axis=1)
    codes = np.argmax(scores + random.gumbel(size=scores.shape), axis=1)
    return Population("generated", scores, codes[:, None] == np.arange(4))


def _scene() -> Population:
    found = data.load("scene")
    return _score_labels("scene", found["X"], np.asarray(found["y"]) == 1)


def _yeast() -> Population:
    found = data.load("yeast_ml")
    truth = np.asarray(found["y"]) == 1
    return _score_labels("yeast", found["X"], truth[:, truth.mean(axis=0) >= 0.3])


def _score_labels(name: str, X: Any, truth: Mask) -> Population:
    """Train one model per label on some of the samples, and score the others."""
    order = np.random.default_rng(0).permutation(len(truth))
    trained, others = np.split(order, [int(TRAINED * len(order))])
    chances = []
    for column in truth.T:
        model = make_pipeline(StandardScaler(), LogisticRegression(C=0.01, max_iter=1000))
        chances.append(model.fit(X[trained], column[trained]).predict_proba(X[others])[:, 1])
    return Population(name, logit(np.clip(np.column_stack(chances), 1e-12, 1.0 - 1e-12)), truth[others])


def _covtype() -> Population:
    found = data.load("covtype")
    drawn = np.random.default_rng(0).permutation(len(found["y"]))[:30_000]
    X, y = found["X"][drawn].astype(np.float64), np.asarray(found["y"])[drawn]
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=300)).fit(X[:5000], y[:5000])
    scores = np.maximum(model.predict_log_proba(X[5000:]), -50.0)
    return Population("covtype", scores, y[5000:, None] == model.classes_)


def _draw(population: Population, trials: int) -> NDArray[np.int64]:
    """Return the samples of each trial, those that order thresholds first."""
    return np.random.default_rng(1).integers(len(population.truth), size=(trials, N_SAMPLES))


# ------------------------------------------------------------------------------------------------------------- methods


def _label_methods() -> dict[str, Choose]:
    return {OURS: _guarantee_labels, "metricwise, delta / labels": _guarantee_each}


def _guarantee_labels(setting: Setting, ordering: ScoredSamples, testing: ScoredSamples) -> Floats:
    task = Multilabel(np.arange(setting.population.truth.shape[1]), FBeta(), False)
    rule = ThresholdRule(subject_to=setting.subject_to)
    return np.asarray(task.guarantee(rule, CONFIDENCE, ordering, testing, True).threshold)


def _guarantee_each(setting: Setting, ordering: ScoredSamples, testing: ScoredSamples) -> Floats:
    """Choose the threshold of each label as of two classes, with its share of the error."""
    task = Multilabel(np.arange(setting.population.truth.shape[1]), FBeta(), False)
    confidence = 1.0 - (1.0 - CONFIDENCE) / len(setting.columns)
    wanted = task.aim(ThresholdRule(subject_to=setting.subject_to))
    assert wanted is not None
    parts = [
        find_guaranteed_threshold(
            FBeta(),
            [one],
            confidence,
            (ordering.target[:, k], ordering.scores[:, k]),
            (testing.target[:, k], testing.scores[:, k]),
        )
        for one, k in zip(wanted.constraints, setting.columns, strict=True)
    ]
    return np.array([part.threshold for part in parts])


def _class_methods() -> dict[str, Choose]:
    return {OURS: _guarantee_class}


def _guarantee_class(setting: Setting, ordering: ScoredSamples, testing: ScoredSamples) -> Floats:
    task = Multiclass(np.arange(setting.population.truth.shape[1]), FBeta())
    first, second = (one._replace(target=np.argmax(one.target, axis=1)) for one in (ordering, testing))
    rule = ThresholdRule(subject_to=setting.subject_to)
    return np.asarray(task.guarantee(rule, CONFIDENCE, first, second, True).threshold)


def _run(setting: Setting, draws: NDArray[np.int64], name: str, choose: Choose) -> Record:
    population, predicted = setting.population, []
    is_class = len(setting.columns) == 1
    for drawn in draws:
        parts = (
            ScoredSamples(population.truth[part], population.scores[part], np.ones(part.size))
            for part in np.split(drawn, [ORDERING])
        )
        try:
            found = choose(setting, *parts)
        except UnreachableGuaranteeError:
            predicted.append(None)
            continue
        if is_class:
            chosen = np.argmax(population.scores - found, axis=1)
            predicted.append(chosen[:, None] == np.arange(found.size))
        else:
            predicted.append(population.scores > found)
    return _record(setting, name, predicted)


def _run_peers(setting: Setting, draws: NDArray[np.int64], methods: list[str], section: Section) -> list[Record]:
    interpreter = os.environ.get(VARIABLE)
    if interpreter is None:
        section.skip("MAPIE", f"the environment variable {VARIABLE} names no interpreter")
        return []
    population, is_class = setting.population, len(setting.columns) == 1
    chances = np.exp(population.scores) if is_class else expit(population.scores)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "draws.npz"
        given = {"share": setting.share, "bound": setting.bound, "confidence": CONFIDENCE, "columns": setting.columns}
        np.savez(path, chances=chances, truth=population.truth, draws=draws, methods=methods, **given)
        subprocess.run([interpreter, str(SCRIPT), str(path)], check=True)
        with np.load(path.with_suffix(".found.npz")) as stored:
            thresholds = {name: stored[name] for name in stored.files}
    records = []
    for name, rows in thresholds.items():
        predicted: list[Mask | None] = []
        for row in rows:
            if np.isnan(row).any():
                predicted.append(None)
                continue
            labels = np.zeros(population.truth.shape, dtype=bool)
            labels[:, setting.columns] = chances[:, setting.columns] >= row
            predicted.append(labels)
        records.append(_record(setting, PEERS[name], predicted))
    return records


def _record(setting: Setting, method: str, predicted: list[Mask | None]) -> Record:
    given = [_shares(setting, labels) for labels in predicted if labels is not None]
    n_kept = sum(bool(np.all(one[setting.share] >= setting.bound)) for one in given)
    record: Record = {"view": setting.population.name, "wanted": setting.wanted, "method": method}
    record["trials"] = len(predicted)
    record["refused"] = 1.0 - len(given) / len(predicted)
    record["kept"] = n_kept / len(given) if given else None
    record["kept_or_refused"] = 1.0 - (len(given) - n_kept) / len(predicted)
    for name in ("recall", "precision", "f1"):
        record[name] = float(np.mean([one[name].mean() for one in given])) if given else None
    return record


def _shares(setting: Setting, labels: Mask) -> dict[str, Floats]:
    """Return recall, precision and F1 of the columns that have a guarantee, on the whole population."""
    truth, found = setting.population.truth[:, setting.columns], labels[:, setting.columns]
    right, n_found, n_true = ((part).sum(axis=0).astype(float) for part in (truth & found, found, truth))
    f1 = 2.0 * right / np.maximum(n_found + n_true, 1.0)
    return {"recall": right / n_true, "precision": right / np.maximum(n_found, 1.0), "f1": f1}
