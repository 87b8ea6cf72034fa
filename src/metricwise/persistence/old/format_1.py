"""Files of format 1: all attributes of all objects, and classes by the modules that they were in.

What such files store is read as version 0 of the classes.
"""

from __future__ import annotations

from dataclasses import fields
from functools import partial
from typing import Any

import numpy as np
from scipy.special import logit

from metricwise._state import Values
from metricwise.decisions.decision import Calibration, Decision
from metricwise.decisions.multilabel_task import Multilabel
from metricwise.decisions.scoring import gives_probabilities
from metricwise.decisions.targets import positive_class
from metricwise.decisions.tasks import Binary, Multiclass
from metricwise.estimators.selection.ensemble import AveragedModels
from metricwise.estimators.streaming.training import StreamModel
from metricwise.persistence.names import is_own
from metricwise.persistence.objects import make_object
from metricwise.persistence.old import Step, StoredObject
from metricwise.results import Result, Status
from metricwise.solvers.newton import SquaredPairsResult

_ESTIMATORS = "metricwise.estimators"
# Classes that have kept their names, by the module that they were in.
_MOVED = {
    f"{_ESTIMATORS}.adapted.adapter": "Adapter",
    f"{_ESTIMATORS}.adapted.classifier": "AdaptedSVC",
    f"{_ESTIMATORS}.amp": "AMPClassifier",
    f"{_ESTIMATORS}.auc_svc": "AUCSVC",
    f"{_ESTIMATORS}.cost_sensitive.classifier": "CostSensitiveClassifier",
    f"{_ESTIMATORS}.feature_selecting_svc": "FeatureSelectingSVC",
    f"{_ESTIMATORS}.front_door.classifier": "MetricClassifier",
    f"{_ESTIMATORS}.front_door.preparing": "Dense Prepared",
    f"{_ESTIMATORS}.front_door.tasks": "Calibration Decision",
    f"{_ESTIMATORS}.minibatch_svc": "MiniBatchSVC",
    f"{_ESTIMATORS}.multilabel.binary_relevance": "BinaryRelevance",
    f"{_ESTIMATORS}.multilabel.chain": "Chain",
    f"{_ESTIMATORS}.multilabel.classifier_chain": "ProbabilisticClassifierChain",
    f"{_ESTIMATORS}.multilabel.learners": "Constant",
    f"{_ESTIMATORS}.multivariate_svc": "MultivariateSVC",
    f"{_ESTIMATORS}.plug_in.binary": "Sigmoid",
    f"{_ESTIMATORS}.plug_in.classifier": "PlugInClassifier",
    f"{_ESTIMATORS}.smoothed_svc": "SmoothedSVC",
    f"{_ESTIMATORS}.spade": "SPADEClassifier",
    f"{_ESTIMATORS}.sparse_coding": "SparseCodingClassifier",
    f"{_ESTIMATORS}.stamp": "STAMPClassifier",
    "metricwise.inference.batch_rule": "BatchRule",
    "metricwise.inference.promises": "Share",
    "metricwise.measures": (
        "Accuracy Averaged BalancedAccuracy CohenKappa FBeta GMean GowerLegendre HMean Jaccard MCC MinRate PRBEP "
        "PartialAuc PrecisionAtK PrecisionAtRecall QMean RecallAtK RecallAtPrecision RocAuc"
    ),
    "metricwise.results": "Certificate History HistoryEntry Result Status StreamEntry Witness",
    "metricwise.solvers.amp": "AmpResult",
    "metricwise.solvers.feature_selection": "SelectionResult",
    "metricwise.solvers.smoothing": "SmoothedResult",
    "metricwise.solvers.sparse_coding": "SparseCodingResult",
    "metricwise.solvers.stream_state": "StreamState",
}
_RENAMED = {
    f"{_ESTIMATORS}.cost_sensitive.rounds.Round": "Iteration",
    f"{_ESTIMATORS}.front_door.learning_curve.Carried": "Extrapolation",
    f"{_ESTIMATORS}.streaming._Model": "BinaryModel",
    "metricwise.inference.score_evidence.ScoreEvidence": "RankingPosterior",
    "metricwise.inference.score_intervals.TableEvidence": "TablePosterior",
    "metricwise.solvers.amp_problem.Prices": "ClassCosts",
}
_GONE = frozenset(
    f"{_ESTIMATORS}.front_door.{name}"
    for name in ("combining.Averaging", "tasks.TwoClasses", "tasks.SeveralClasses", "tasks.SeveralLabels")
)
_NAMES = {f"{module}.{name}": name for module, names in _MOVED.items() for name in names.split()} | _RENAMED
_NOT_STORED = ("callback", "checkpoint")  # None in all files


def translate_object(stored: StoredObject) -> StoredObject:
    """Return an object of a file of format 1 under the name that its class has in files now."""
    name = stored.name
    if not isinstance(name, str) or not is_own(name):
        return stored
    if name in _GONE:
        return stored._replace(is_gone=True)
    return stored._replace(name=f"metricwise.{_NAMES.get(name, name)}", version=0)


def find_step(name: str) -> Step:
    """Return what makes the values of format 1 those of version 1 of a class."""
    return _STEPS.get(name, _drop_training_parameters)


def _drop_training_parameters(values: Values) -> Values:
    return {key: value for key, value in values.items() if key not in _NOT_STORED or value is not None}


def _rename(values: Values, **names: str) -> Values:
    return {names.get(key, key): value for key, value in _drop_training_parameters(values).items()}


def _make(cls: Any, **values: Any) -> Any:
    """Return an object of a class of now; ValueError if a value is not of the type that its field declares."""
    return make_object(cls, f"metricwise.{cls.__name__}", values)


def _upgrade_top_k(values: Values) -> Values:
    """Take a share of samples where the share was one of rows."""
    return values | {"of": "samples"} if values["of"] == "rows" else values


# ---------------------------------------------------------------------------------------------------------- estimators


def _upgrade_auc_svc(values: Values) -> Values:
    """Name the objective of squared losses by the class of the result."""
    values = _drop_training_parameters(values)
    if values["norm"] == 2 and "result_" in values:
        results = values["result_"]
        values["result_"] = list(map(_square, results)) if isinstance(results, list) else _square(results)
    return values


def _square(result: Result) -> Any:
    return _make(SquaredPairsResult, **{field.name: getattr(result, field.name) for field in fields(Result)})


def _upgrade_streaming(values: Values) -> Values:
    """Gather the attributes of a stream in one model."""
    values = _drop_training_parameters(values)
    if "_states" not in values:
        return values
    threshold = values["threshold"]
    stored = {
        "measure": values.pop("measure_"),
        "classes": values.pop("classes_"),
        "states": tuple(values.pop("_states")),
        "threshold": None if isinstance(threshold, str) else threshold,
        "selected": tuple(values.pop("_cache") or ()),
        "entries": tuple(values.pop("_entries")),
        "n_elsewhere": values.pop("_rows_of_others"),
        "n_passes": values.pop("_passes"),
        "status": Status(values.pop("_status")),
        "seconds": values.pop("_seconds"),
        "bytes_moved": values.pop("_bytes_moved"),
    }
    return values | {"_model": _make(StreamModel, **stored)}


def _upgrade_mini_batches(values: Values) -> Values:
    values.pop("n_shards", None)  # of a base class, and no parameter of this one
    return _rename(_upgrade_streaming(values), batch_rows="batch_size")


def _upgrade_plug_in(values: Values) -> Values:
    """Make a task and a decision of the attributes that stood for them."""
    if "measure_" not in values:
        return values
    labels_are_sparse = values.pop("sparse_labels_", False)
    models = values.pop("estimators_", None)
    if models is not None:
        values["estimator_"] = models
        values["_task"] = _make_label_task(values, labels_are_sparse)
    else:
        values["_task"] = _make_class_task(values)
    is_probability = isinstance(values["_task"], Binary) and gives_probabilities(values["estimator_"])
    batch, sigmoid, posterior = (values.pop(key, None) for key in ("_batch", "_sigmoid", "_held_out"))
    calibration = Calibration() if sigmoid is None else _make(Calibration, lines=(sigmoid,))
    decision = _describe_decision(values, is_probability)
    values["_decision"] = _make(Decision, **decision, posterior=posterior, calibration=calibration, batch=batch)
    return values


def _upgrade_cost_sensitive(values: Values) -> Values:
    values = _rename(values, max_rounds="max_iter", prices_="class_weights_", best_round_="best_iter_")
    if "history_" in values:
        values["n_iter_"] = len(values["history_"])
    return _upgrade_plug_in(values)


def _upgrade_adapted(values: Values) -> Values:
    values = _rename(values, kept_="selected_", held_out_scores_="out_of_fold_scores_")
    if "measure_" in values:
        values["_task"] = _make_class_task(values)
        values["_decision"] = _make(Decision, **_describe_decision(values, is_probability=False))
    return values


def _upgrade_metric_classifier(values: Values) -> Values:
    """Take the measure, the positive class and the prior from the old task, which held the training samples, too."""
    values = _rename(values, _carried="_extrapolation", _averaging="_ensemble")
    if "measure_" not in values:
        return values
    task: StoredObject = values["_task"]
    is_sparse = values.pop("sparse_labels_")
    if task.name.endswith("SeveralLabels"):
        values["_task"] = _make_label_task(values, is_sparse)
    else:
        values["_task"] = _make_class_task(values)
    values["_ensemble"] = _make(AveragedModels, **values["_ensemble"].values, prior=task.values["usual"])
    return values


def _upgrade_multilabel(values: Values) -> Values:
    """Make decisions, on log-odds, of the thresholds of each rule; what to expect of them was not stored."""
    thresholds = values.pop("_by_rule", None)
    if thresholds is None:
        return values
    with np.errstate(all="ignore"):
        found = {rule: np.asarray(logit(probabilities)) for rule, probabilities in thresholds.items()}
    unknown = {"expected_score": np.nan, "expected_interval": (np.nan, np.nan)}
    made = {rule: _make(Decision, threshold=one, interval=(one, one), **unknown) for rule, one in found.items()}
    return values | {"_decisions": made}


def _make_label_task(values: Values, is_sparse: Any) -> Any:
    return _make(Multilabel, classes=values["classes_"], measure=values["measure_"], is_sparse=is_sparse)


def _make_class_task(values: Values) -> Any:
    classes, measure = values["classes_"], values["measure_"]
    if len(classes) > 2:
        return _make(Multiclass, classes=classes, measure=measure)
    positive = positive_class(classes, values["pos_label"])
    return _make(Binary, classes=classes, measure=measure, positive=positive)


def _describe_decision(values: Values, is_probability: bool) -> Values:
    low, high = values["threshold_interval_"]
    threshold, interval = values["threshold_"], (low, high)
    if is_probability:
        threshold, interval = _log_odds(threshold), (_log_odds(low), _log_odds(high))
    return {
        "threshold": threshold,
        "interval": interval,
        "expected_score": values["expected_score_"],
        "expected_interval": values["expected_score_interval_"],
        "is_probability": is_probability,
    }


def _log_odds(probability: Any) -> float:
    with np.errstate(all="ignore"):
        return float(logit(probability))


_STEPS: dict[str, Step] = {
    "metricwise.AUCSVC": _upgrade_auc_svc,
    "metricwise.AdaptedSVC": _upgrade_adapted,
    "metricwise.BinaryRelevance": _upgrade_multilabel,
    "metricwise.BinaryModel": partial(_rename, bias="intercept"),
    "metricwise.CostSensitiveClassifier": _upgrade_cost_sensitive,
    "metricwise.Decision": partial(_rename, thresholds="threshold", expected="expected_score", evidence="posterior"),
    "metricwise.Iteration": partial(_rename, prices="class_weights"),
    "metricwise.MetricClassifier": _upgrade_metric_classifier,
    "metricwise.MiniBatchSVC": _upgrade_mini_batches,
    "metricwise.PlugInClassifier": _upgrade_plug_in,
    "metricwise.PrecisionAtK": _upgrade_top_k,
    "metricwise.ProbabilisticClassifierChain": _upgrade_multilabel,
    "metricwise.RecallAtK": _upgrade_top_k,
    "metricwise.SPADEClassifier": _upgrade_streaming,
    "metricwise.STAMPClassifier": _upgrade_streaming,
    "metricwise.StreamEntry": partial(_rename, rows="n_samples"),
}
