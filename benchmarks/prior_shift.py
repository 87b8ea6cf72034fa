"""Do models serve other class priors better after `adapt_prior`, and how does QuaPy's EM compare?

Each view is split into training and test samples; test samples are drawn so that the odds of the classes are a multiple
of those of training.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import warnings
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from scipy.special import logit
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, log_loss
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks import data
from benchmarks.context import ROOT, Context, SkippedError
from benchmarks.quality.running import append, read, report
from benchmarks.report import Column, Record, Section, Table
from metricwise import FBeta, PlugInClassifier, UndeterminedPriorError, adapt_prior
from metricwise.decisions.threshold_choice import expected_threshold

# The estimate and its warning were developed on other views: optdigits_8, abalone_7, letter_z, mammography, covtype_2,
# a9a, w8a and phoneme.
VIEWS = ("covtype_5", "yeast_8")
PROBLEMS = ("german", "hypothyroid", "ring", "twonorm", "Cardiotocography", "skin", "donors")
QUICK_PROBLEMS = ("german",)
FACTORS = (0.2, 0.5, 2.0, 5.0)
OTHER_FACTOR = 2.0  # of samples that have changed in other ways, too
SEEDS = (20, 21, 22)  # one split each; other seeds were used in development
MOST_SAMPLES, QUICK_SAMPLES = 1000, 500
LEARNERS = {
    "logistic regression": make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
    "boosted trees": HistGradientBoostingClassifier(max_iter=50, random_state=0),
    "random forest": RandomForestClassifier(50, random_state=0),
}
PYTHON = "QUAPY_PYTHON"
TRIALS = ROOT / "benchmarks" / "results" / "prior_shift.jsonl"
SCRIPT = Path(__file__).with_name("prior_shift_process.py")
PEERS = ("em", "bcts", "tuned")
_LEAST_CHANCE = 1e-6  # probabilities are clipped, so that one sample does not decide about the log loss
_BINS = 10
_MOST_WARNED = 0.05

Floats = NDArray[np.float64]

_METHODS = {
    "before": "as trained",
    "adapted": "adapt_prior(model, X_new)",
    "known": "adapt_prior(model, prior=true)",
    "quapy_em": "QuaPy, EMQ",
    "quapy_bcts": "QuaPy, EMQ_BCTS",
    "quapy_tuned": "QuaPy, EMQ, calibration tuned",
    "quapy_prior": "adapt_prior(model, prior=that of EMQ_BCTS)",
}
SUMMARY = (
    Column("learner", "learner"),
    Column("factor", "odds", "× {:g}"),
    Column("method", "method"),
    Column("f1", "F1", "{:.3f}"),
    Column("loss", "log loss", "{:.4f}"),
    Column("ece", "calibration error", "{:.4f}"),
    Column("error", "error of the prior, log-odds", "{:.3f}"),
    Column("n", "estimates"),
)
OVERALL = tuple(column for column in SUMMARY if column.key != "factor")
INTERVALS = (
    Column("learner", "learner"),
    Column("factor", "odds", "× {:g}"),
    Column("n", "estimates"),
    Column("refused", "refused", "{:.0%}"),
    Column("warned", "warned", "{:.0%}"),
    Column("covered", "interval contains the prior", "{:.0%}"),
)
CHANGES = (
    Column("learner", "learner"),
    Column("n", "estimates, prior shift"),
    Column("warned", "warned", "{:.1%}"),
    Column("n_other", "estimates, half of the features permuted"),
    Column("warned_other", "warned", "{:.0%}"),
    Column("refused_other", "refused", "{:.0%}"),
)
ALL = (
    Column("view", "view"),
    Column("learner", "learner"),
    Column("factor", "odds", "× {:g}"),
    Column("prior", "true prior", "{:.3f}"),
    Column("estimate", "estimate", "{:.3f}"),
    *(Column(f"f1_{key}", f"F1, {key}", "{:.3f}") for key in ("before", "adapted", "known", "quapy_bcts")),
    *(Column(f"loss_{key}", f"log loss, {key}", "{:.3f}") for key in ("before", "adapted", "known", "quapy_bcts")),
)

TEXT = [
    f"Up to {MOST_SAMPLES} training samples (at most half) of {len(VIEWS) + len(PROBLEMS)} binary problems, which were "
    "not looked at while the estimate was developed. Of the others, test samples are drawn without replacement so that "
    "the odds of the positive class are the given multiple of those in training. ``PlugInClassifier(learner, 'f1', "
    "calibrate=True)`` predicts them as trained, adapted by expectation maximisation on the test samples without their "
    f"labels, and with the true prior. Means over the problems, {len(SEEDS)} splits of each, without those where the "
    "prior is refused. The log loss is that of probabilities between "
    f"{_LEAST_CHANCE:g} and {1 - _LEAST_CHANCE:g}; the calibration error is the expected one of {_BINS} bins with as "
    "many samples each.",
    "QuaPy trains the same learner in an environment of its own, whose interpreter the environment variable "
    f"{PYTHON} names: EMQ with its defaults, the setting that its authors recommend (EMQ_BCTS: bias-corrected "
    "temperature scaling in five folds), and calibration and training prior chosen by its GridSearchQ on 40 % of the "
    "training samples with uniformly drawn priors. It estimates priors and probabilities and chooses no threshold: its "
    "F1 is that of the threshold with the largest expected F1 by its probabilities of the test samples. The last row "
    "gives its prior to ``adapt_prior``, which compares the estimates alone.",
    "A warning reports scores that other class priors do not explain. How often it is wrong is counted under "
    "prior shift, how often it is given on test samples half of whose features are permuted between samples "
    f"(odds × {OTHER_FACTOR:g}).",
]


def measure(context: Context) -> Section:
    """Measure F1, log loss, calibration error, the error of the prior, and warnings."""
    section = Section("prior_shift", "Prior shift", list(TEXT))
    python = os.environ.get(PYTHON)
    if python is None:
        section.skip("QuaPy", f"the environment variable {PYTHON} names no interpreter")
    path = context.figures / TRIALS.name if context.quick else TRIALS
    done = {(one["view"], one["split"]) for one in read(path)}
    names = QUICK_PROBLEMS if context.quick else (*VIEWS, *PROBLEMS)
    most = QUICK_SAMPLES if context.quick else MOST_SAMPLES
    for split, name in product(range(1 if context.quick else len(SEEDS)), names):
        if (name, split) in done:
            continue
        try:
            X, y = _load(name)
        except SkippedError as reason:
            section.skip(name, reason)
            continue
        found = _measure(name, _split(X, y, most, SEEDS[split]), python)
        append(path, [one | {"split": split} for one in found])
        report(f"{name}, split {split}")
    records = [one for one in read(path) if one["view"] in names]
    section.tables.append(Table("Adapted or not, all odds", OVERALL, _summarize(records, (None,))))
    section.tables.append(Table("Adapted or not", SUMMARY, _summarize(records, FACTORS)))
    section.tables.append(Table("Estimates of the prior", INTERVALS, _count_intervals(records)))
    changes = _count_warnings(records)
    section.tables.append(Table("Warnings", CHANGES, changes))
    section.tables.append(Table("All problems", ALL, _average(records)))
    section.failures += [
        f"{one['learner']}: warned in {one['warned']:.1%} under prior shift, limit {_MOST_WARNED:.0%}"
        for one in changes
        if one["warned"] is not None and one["warned"] > _MOST_WARNED
    ]
    return section


def _load(name: str) -> tuple[Any, data.Mask]:
    if name in VIEWS:
        return data.view(name)
    X, codes = data.problem(name)
    return X, codes == 1


# -------------------------------------------------------------------------------------------------------- the problems


def _split(X: Any, y: data.Mask, most: int, seed: int) -> dict[str, Any]:
    """Return training samples, and test samples for every multiple of the odds."""
    random = np.random.default_rng(seed)
    order = random.permutation(len(y))
    n_train = min(most, len(y) // 2)
    train, rest = order[:n_train], order[n_train:]
    odds = y[train].mean() / (1.0 - y[train].mean())
    drawn = [_draw(y, rest, odds * factor, most) for factor in FACTORS]
    return {
        "X": _dense(X[train]),
        "y": y[train],
        **{f"X_{k}": _dense(X[one]) for k, one in enumerate(drawn)},
        **{f"y_{k}": y[one] for k, one in enumerate(drawn)},
    }


def _draw(y: data.Mask, rest: NDArray[np.int64], odds: float, most: int) -> NDArray[np.int64]:
    """Return as many samples with given odds of the classes as there are, in random order already."""
    positives, negatives = rest[y[rest]], rest[~y[rest]]
    share = odds / (1.0 + odds)
    size = min(most, positives.size / share, negatives.size / (1.0 - share))
    n_pos = max(1, round(size * share))
    return np.concatenate([positives[:n_pos], negatives[: round(size) - n_pos]])


def _dense(X: Any) -> Floats:
    return np.asarray(X.toarray() if issparse(X) else X, dtype=np.float64)


# ---------------------------------------------------------------------------------------------------------- measuring


def _measure(view: str, part: dict[str, Any], python: str | None) -> list[Record]:
    peers = _run_quapy(python, part) if python else {}
    records = []
    for number, (learner, estimator) in enumerate(LEARNERS.items()):
        model = PlugInClassifier(estimator, "f1", calibrate=True).fit(part["X"], part["y"])
        for k, factor in enumerate(FACTORS):
            found = _take_peers(peers, f"{number}_", k)
            record = {"view": view, "learner": learner, "factor": factor}
            record |= _compare(model, part[f"X_{k}"], part[f"y_{k}"], found)
            records.append(record | (_permute_features(model, part[f"X_{k}"]) if factor == OTHER_FACTOR else {}))
    return records


def _take_peers(peers: dict[str, Any], learner: str, k: int) -> dict[str, tuple[float, Floats]]:
    if not peers:
        return {}
    return {name: (float(peers[f"prior_{learner}{name}_{k}"]), peers[f"chances_{learner}{name}_{k}"]) for name in PEERS}


def _compare(model: Any, X: Floats, y: data.Mask, peers: dict[str, Any]) -> Record:
    prior = float(y.mean())
    record: Record = {"prior": prior, "warned": False, "covered": None}
    record |= _judge("before", model, X, y)
    record |= _judge("known", adapt_prior(model, prior=prior), X, y)
    adapted, record["warned"] = _adapt(model, X)
    record["refused"] = adapted is None
    if adapted is None:
        return record
    low, high = adapted.prior_.interval
    estimate = adapted.prior_.estimate
    record |= {"covered": bool(low <= prior <= high), "estimate": estimate}
    record |= _judge("adapted", adapted, X, y) | {"error_adapted": abs(logit(estimate) - logit(prior))}
    for name, (given, chances) in peers.items():
        least = 0.5 / len(y)
        found = float(np.clip(given, least, 1.0 - least))
        record |= _score(f"quapy_{name}", y, _choose_labels(chances), chances)
        record[f"error_quapy_{name}"] = abs(logit(found) - logit(prior))
        if name == "bcts":
            record |= _judge("quapy_prior", adapt_prior(model, prior=found), X, y)
    return record


def _adapt(model: Any, X: Floats) -> tuple[Any, bool]:
    """Return the adapted model, None if that is refused, and whether there is a warning."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            return adapt_prior(model, X), any("mixture" in str(one.message) for one in caught)
        except UndeterminedPriorError:
            return None, False


def _permute_features(model: Any, X: Floats) -> Record:
    """Return whether the prior is refused, or a warning given, if half of the features are permuted."""
    random, changed = np.random.default_rng(0), X.copy()
    for column in random.choice(X.shape[1], max(1, X.shape[1] // 2), replace=False):
        changed[:, column] = random.permutation(changed[:, column])
    adapted, is_warned = _adapt(model, changed)
    return {"refused_other": adapted is None, "warned_other": is_warned}


def _choose_labels(chances: Floats) -> Any:
    """Return the labels with the largest expected F1."""
    log_odds = logit(np.clip(chances, 1e-15, 1.0 - 1e-15))
    return log_odds > expected_threshold(FBeta(), log_odds)


def _judge(name: str, model: Any, X: Floats, y: data.Mask) -> Record:
    return _score(name, y, model.predict(X), model.predict_proba(X)[:, 1])


def _score(name: str, y: data.Mask, labels: Any, chances: Floats) -> Record:
    inside = np.clip(chances, _LEAST_CHANCE, 1.0 - _LEAST_CHANCE)
    return {
        f"f1_{name}": float(f1_score(y, labels, zero_division=0.0)),
        f"loss_{name}": float(log_loss(y, inside)),
        f"ece_{name}": _calibration_error(y, chances),
    }


def _calibration_error(y: data.Mask, chances: Floats) -> float:
    """Return the mean difference of probabilities and shares of positives, in bins with as many samples each."""
    bins = np.array_split(np.argsort(chances, kind="stable"), _BINS)
    return float(sum(abs(chances[one].sum() - y[one].sum()) for one in bins if one.size) / len(y))


def _run_quapy(python: str, part: dict[str, Any]) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        samples, found = Path(folder) / "samples.npz", Path(folder) / "found.npz"
        np.savez(samples, **part)
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        subprocess.run([python, SCRIPT, samples, found], check=True, stdout=subprocess.DEVNULL, env=environment)
        with np.load(found) as results:
            return dict(results)


# -------------------------------------------------------------------------------------------------------------- tables


def _summarize(records: list[Record], factors: tuple[float | None, ...]) -> list[Record]:
    rows = []
    for learner in LEARNERS:
        for factor in factors:
            own = [one for one in _of(records, learner, factor) if not one["refused"]]
            rows += [_row(learner, factor, key, own) for key in _METHODS if own and f"f1_{key}" in own[0]]
    return rows


def _row(learner: str, factor: float | None, key: str, records: list[Record]) -> Record:
    errors = [one[f"error_{key}"] for one in records if f"error_{key}" in one]
    means = {name: float(np.mean([one[f"{name}_{key}"] for one in records])) for name in ("f1", "loss", "ece")}
    error = float(np.mean(errors)) if errors else None
    return {"learner": learner, "factor": factor, "method": _METHODS[key], "n": len(records), "error": error} | means


def _of(records: list[Record], learner: str, factor: float | None) -> list[Record]:
    return [one for one in records if one["learner"] == learner and factor in (None, one["factor"])]


def _count_warnings(records: list[Record]) -> list[Record]:
    rows = []
    for learner in LEARNERS:
        own = _of(records, learner, None)
        given = [one for one in own if not one["refused"]]
        other = [one for one in own if "refused_other" in one]
        accepted = [one for one in other if not one["refused_other"]]
        rows.append(
            {
                "learner": learner,
                "n": len(given),
                "warned": float(np.mean([one["warned"] for one in given])) if given else None,
                "n_other": len(other),
                "warned_other": float(np.mean([one["warned_other"] for one in accepted])) if accepted else None,
                "refused_other": float(np.mean([one["refused_other"] for one in other])) if other else None,
            }
        )
    return rows


def _count_intervals(records: list[Record]) -> list[Record]:
    rows = []
    for learner in LEARNERS:
        for factor in FACTORS:
            own = _of(records, learner, factor)
            given = [one for one in own if not one["refused"]]
            rows.append(
                {
                    "learner": learner,
                    "factor": factor,
                    "n": len(own),
                    "refused": np.mean([one["refused"] for one in own]) if own else None,
                    "warned": np.mean([one["warned"] for one in given]) if given else None,
                    "covered": np.mean([one["covered"] for one in given]) if given else None,
                }
            )
    return rows


def _average(records: list[Record]) -> list[Record]:
    keys = dict.fromkeys((one["view"], one["learner"], one["factor"]) for one in records)
    rows = []
    for view, learner, factor in keys:
        own = [one for one in _of(records, learner, factor) if one["view"] == view]
        row: Record = {"view": view, "learner": learner, "factor": factor}
        for column in ALL[3:]:
            values = [one[column.key] for one in own if one.get(column.key) is not None]
            row[column.key] = float(np.mean(values)) if values else None
        rows.append(row)
    return rows
