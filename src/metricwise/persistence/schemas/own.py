"""Schemas of the estimators of metricwise and of the models that they hold."""

from __future__ import annotations

from typing import Any

import numpy as np

from metricwise._state import Values
from metricwise.persistence.schemas import kinds as k
from metricwise.persistence.schemas import money, monitors, online, own_machines
from metricwise.persistence.schemas.composition import count_outputs
from metricwise.persistence.schemas.groups import GROUPS
from metricwise.persistence.schemas.kinds import Check, Sizes
from metricwise.persistence.schemas.own_machines import RESULT, given_measure, measure, require_trainable
from metricwise.persistence.schemas.parts import check_features, get_classes, require
from metricwise.persistence.schemas.schema import Schema

# ----------------------------------------------------------------------------------------- classifiers with a decision

_DECIDED: dict[str, Check] = {
    "classes_": k.labels,
    "measure_": measure,
    "expected_score_": k.real(),
    "expected_score_interval_": k.each(k.real(), k.real()),
    "_task": k.of_class("Binary", "CostTask", "Multiclass", "Multilabel", "ProfitTask"),
    "_decision": k.of_class("CostDecision", "Decision", "GainDecision", "ProfitDecision"),
}
_THRESHOLD = k.either(k.real(), k.array("double", "C"))
_INTERVAL = {"threshold_interval_": k.each(_THRESHOLD, _THRESHOLD)}
_MAYBE_FEATURES = {"n_features_in_": k.size("F")}
_WRONG = "a model is damaged: its learners, classes and decision do not fit together"


def check_task(task: Any, n_classes: int) -> None:
    """Raise unless the classes, the positive class and the names of labels fit together."""
    kind = type(task).__name__
    is_binary = kind in money.BINARY
    require(task.classes.size == n_classes and (n_classes == 2 if is_binary else True), _WRONG)
    require(kind not in ("Multiclass", "CostTask") or n_classes > 2, _WRONG)
    is_known = not is_binary or (k.plain(task.positive, {}) and task.positive in task.classes.tolist())
    require(is_known, _WRONG)
    names = getattr(task, "label_names", ())
    require(len(names) in (0, n_classes) and all(k.plain(name, {}) for name in names), _WRONG)
    _check_measure_of_task(task, kind)


def _check_measure_of_task(task: Any, kind: str) -> None:
    """Raise unless `fit` makes such a task for the measure: see `metricwise.decisions.tasks.task_of_classes`."""
    from metricwise.decisions.multiclass import check_thresholds_serve, refuse_other_number  # not needed elsewhere
    from metricwise.measures import CostMatrix, CountsTable, needs_whole_matrix

    require(isinstance(task.measure, CostMatrix) == (kind == "CostTask"), _WRONG)
    if kind == "Binary":
        require(isinstance(task.measure, CountsTable) or not needs_whole_matrix(task.measure), _WRONG)
    elif kind in ("Multiclass", "Multilabel"):
        try:
            check_thresholds_serve(task.measure, "classes" if kind == "Multiclass" else "labels")
        except TypeError as error:
            raise ValueError(_WRONG) from error
        if kind == "Multiclass":
            refuse_other_number(task.measure, task.classes.size)


def check_decision(task: Any, decision: Any, n_classes: int) -> None:
    """Raise unless a decision has one threshold per class or label of a task; one if there are two classes."""
    check_task(task, n_classes)
    is_binary = type(task).__name__ in money.BINARY
    shape = () if is_binary else (n_classes,)
    require(all(np.shape(one) == shape for one in (decision.threshold, *decision.interval)), _WRONG)
    require(np.all(~np.isnan(decision.threshold)), _WRONG)
    check_lines(decision.calibration, task)
    money.check_money(task, decision)
    require(decision.batch is None or (is_binary and decision.calibration.lines), _WRONG)
    check_reference(decision.reference, None if is_binary else n_classes)
    _check_adaptation(decision, task, shape)


def check_reference(reference: Any, n_classes: int | None) -> None:
    """Raise unless a reference of scores, if there is one, has cuts on those of two classes, or of ``n_classes``."""
    if reference is None:
        return
    require((reference.columns is None) == (n_classes is None), _WRONG)
    require(n_classes is None or reference.columns.max() < n_classes, _WRONG)


def _check_adaptation(decision: Any, task: Any, shape: tuple[int, ...]) -> None:
    """Raise unless the link and the data of an adaptation fit the classes."""
    if decision.link is not None:
        require(decision.link.lines, _WRONG)
        check_lines(decision.link, task)
    if decision.prior is not None:
        shares = (decision.prior.estimate, *decision.prior.interval, decision.prior.training)
        require(all(np.shape(one) == shape for one in shares), _WRONG)
    data = decision.adaptation
    if data is None:
        return
    size, n_classes = data.codes.size, task.classes.size
    require(type(task).__name__ != "Multilabel" and data.codes.ndim == data.weights.ndim == 1, _WRONG)
    require(data.scores.shape == (size, *shape) and data.weights.shape == (size,), _WRONG)
    require(np.shape(data.moved) in ((), shape), _WRONG)
    require(np.array_equal(np.unique(data.codes), np.arange(n_classes)) and np.all(data.weights > 0.0), _WRONG)
    require(data.sizes.ndim == 1 and np.all(data.sizes >= 0) and data.sizes.sum() in (0, size), _WRONG)
    require(np.isfinite(data.design_effect) and data.design_effect >= 1.0, _WRONG)


def check_lines(calibration: Any, task: Any) -> None:
    """Raise unless a calibration has no line, or one per column of scores, each with a slope."""
    n_columns = 1 if type(task).__name__ in money.BINARY else task.classes.size
    require(len(calibration.lines) in (0, n_columns), _WRONG)
    require(all(np.isfinite(line.slope) and line.slope != 0.0 for line in calibration.lines), _WRONG)


def check_learner(model: Any, task: Any, n_features: int | None) -> None:
    """Raise unless a learner predicts the classes of a task, or a list of learners its labels."""
    kind = type(task).__name__
    require(isinstance(model, list) == (kind == "Multilabel"), _WRONG)
    if isinstance(model, list):
        require(len(model) == task.classes.size, _WRONG)
        for one in model:
            require(set(get_classes(one).tolist()) == {0, 1}, _WRONG)
            check_features(one, n_features, _WRONG)
        return
    require(np.array_equal(get_classes(model), task.classes), _WRONG)
    check_features(model, n_features, _WRONG)


def _check_decided(values: Values, sizes: Sizes) -> None:
    task = values["_task"]
    require(np.array_equal(task.classes, values["classes_"]), _WRONG)
    require(values["measure_"] == task.measure, _WRONG)
    check_decision(task, values["_decision"], sizes["C"])


def _check_plug_in(values: Values, sizes: Sizes) -> None:
    _check_decided(values, sizes)
    check_learner(values["estimator_"], values["_task"], values.get("n_features_in_"))


def _check_online(values: Values, sizes: Sizes) -> None:
    model = values["_model"]
    require(type(model.task).__name__ in ("Binary", "CostTask", "Multiclass", "Multilabel"), _WRONG)
    check_task(model.task, model.task.classes.size)
    require_trainable(model.task.measure, "OnlineMetricClassifier")
    online.check_counts(model.decision)
    is_multilabel = type(model.task).__name__ == "Multilabel"
    require(is_multilabel or len(model.estimators) == 1, _WRONG)
    require(all(k.predictor(one, sizes) and hasattr(one, "predict_proba") for one in model.estimators), _WRONG)
    check_learner(model.estimators if is_multilabel else model.estimators[0], model.task, sizes["F"])


def _check_triage(values: Values, sizes: Sizes) -> None:
    """Raise unless the thresholds of a decision are in order and no class is the label of reviews."""
    task, decision = values["_task"], values["_decision"]
    require(np.array_equal(task.classes, values["classes_"]), _WRONG)
    check_task(task, 2)
    require(values["measure_"] == task.measure, _WRONG)
    require_trainable(task.measure, "TriageClassifier")
    require(decision.window.lower <= decision.window.upper, _WRONG)
    require(values["review_label_"] not in task.classes.tolist(), _WRONG)
    check_learner(values["estimator_"], task, values.get("n_features_in_"))


def _learner(value: Any, sizes: Sizes) -> bool:
    """Accept a classifier, or a constant in its place."""
    return k.predictor(value, sizes) or type(value).__name__ == "Constant"


_LEARNERS = k.either(_learner, k.list_of(_learner))
_NUMBERS = k.dict_of(k.any_text, k.real())


def _check_adapted(values: Values, sizes: Sizes) -> None:
    _check_decided(values, sizes)
    task, parts, adapter = values["_task"], values["estimators_"], values["_adapter"]
    require_trainable(task.measure, "AdaptedSVC")
    require(type(task).__name__ == "Binary" and set(adapter.lines) == set(parts) and parts, _WRONG)
    require(values["adapted_"] or values["selected_"] in parts, _WRONG)
    for one in parts.values():
        check_learner(one, task, values.get("n_features_in_"))
    maker = values["_number_maker"]
    width = values.get("n_features_in_") if maker is None else count_outputs(maker, values.get("n_features_in_"))
    check_features(maker, values.get("n_features_in_"), _WRONG)
    check_features(adapter.machine, None if width is None else width + len(parts), _WRONG)
    require(hasattr(adapter.machine, "coef_") or hasattr(adapter.machine, "dual_coef_"), _WRONG)


def _check_selection(values: Values, sizes: Sizes) -> None:
    _check_decided(values, sizes)
    ensemble, task = values["_ensemble"], values["_task"]
    require(len(ensemble.models) == len(ensemble.calibrations) == ensemble.weights.size >= 1, _WRONG)
    require(values["weights_"].shape == ensemble.weights.shape, _WRONG)
    expected = () if type(task).__name__ in money.BINARY else (sizes["C"],)
    require(np.shape(ensemble.prior) == expected and np.asarray(ensemble.prior).dtype == np.float64, _WRONG)
    for model, calibration in zip(ensemble.models, ensemble.calibrations, strict=True):
        check_lines(calibration, task)
        check_learner(model, task, values.get("n_features_in_"))


# --------------------------------------------------------------------------------------------------------------- labels

_RULES = k.dict_of(k.any_text, k.of_class("Decision"))
_LABELS: dict[str, Check] = {
    "classes_": k.list_of(k.label_array, "L"),
    "n_labels_": k.size("L", low=1),
    "sparse_labels_": k.boolean,
    "_decisions": _RULES,
}


def _check_labels(values: Values, sizes: Sizes) -> None:
    shape = (sizes["L"],)
    for decision in values["_decisions"].values():
        require(all(np.shape(one) == shape for one in (decision.threshold, *decision.interval)), _WRONG)
    for one in values["classes_"]:
        require(set(one.tolist()) <= {0, 1}, _WRONG)


def _check_relevance(values: Values, sizes: Sizes) -> None:
    _check_labels(values, sizes)
    require(len(values["estimators_"]) == sizes["L"], _WRONG)
    for one in values["estimators_"]:
        require(set(get_classes(one).tolist()) == {0, 1} and hasattr(one, "predict_proba"), _WRONG)
        check_features(one, values.get("n_features_in_"), _WRONG)


def _check_chains(values: Values, sizes: Sizes) -> None:
    _check_labels(values, sizes)
    require(values["chains_"] and len(values["orders_"]) == len(values["chains_"]), _WRONG)
    for chain in values["chains_"]:
        require(len(chain.models) == sizes["L"] and chain.n_features == values.get("n_features_in_"), _WRONG)


def _check_chain(values: Values, sizes: Sizes) -> None:
    order, n_labels = values["order"], sizes["L"]
    require(np.array_equal(np.sort(order), np.arange(n_labels)), "a chain of classifiers is damaged")
    for n_before, one in enumerate(values["models"]):
        require(set(get_classes(one).tolist()) == {0, 1} and hasattr(one, "predict_proba"), _WRONG)
        check_features(one, sizes["F"] + n_before, _WRONG)


# ------------------------------------------------------------------------------------------- preparation of the columns


def _check_prepared(values: Values, sizes: Sizes) -> None:
    learner = values["learner_"]
    check_features(learner, count_outputs(values["transformer_"], None), _WRONG)
    if "classes_" not in values:
        require(type(learner).__name__ == "RankingSVC", _WRONG)
        return
    classes = values["classes_"]
    found = learner.classes_ if isinstance(classes, list) else [get_classes(learner)]
    of_labels = classes if isinstance(classes, list) else [classes]
    require(isinstance(found, list) and len(found) == len(of_labels), _WRONG)
    require(all(map(np.array_equal, found, of_labels)), _WRONG)


def _check_booster(values: Values, sizes: Sizes) -> None:
    found = get_classes(values["learner_"])
    require(np.array_equal(found, np.arange(sizes["C"])), _WRONG)


def _check_texts(values: Values, sizes: Sizes) -> None:
    for one in values["encoders_"]:
        steps = [type(step).__name__ for _, step in one.steps]
        require(steps == ["TfidfVectorizer", "TruncatedSVD"] and hasattr(one[-1], "components_"), _WRONG)


_PARTS_OF_DATES = ("month", "weekday", "hour")


def _check_times(values: Values, sizes: Sizes) -> None:
    require(len(values["formats"]) == sizes["F"], _WRONG)
    require(
        all(part.name in _PARTS_OF_DATES and part.values.ndim == 1 for one in values["parts_"] for part in one), _WRONG
    )


def _check_constant(values: Values, sizes: Sizes) -> None:
    require(values["classes_"].tolist() == [0, 1], _WRONG)


OWN_SCHEMAS: dict[str, Schema] = {
    **own_machines.SCHEMAS,
    "AdaptedSVC": Schema(
        _DECIDED
        | _INTERVAL
        | {
            "estimators_": k.dict_of(k.any_text, _learner),
            "svc_": k.of_class("MultivariateSVC"),
            "result_": RESULT,
            "input_weights_": _NUMBERS,
            "n_iter_": k.whole(),
            "selected_": k.any_text,
            "adapted_": k.boolean,
            "out_of_fold_scores_": _NUMBERS,
            "_adapter": k.of_class("Adapter"),
            "_number_maker": k.either(k.none, k.transformer),
        },
        _MAYBE_FEATURES,
        parameters={
            "measure": given_measure,
            "estimators": k.either(k.text("default"), k.list_of(k.each(k.any_text, k.predictor))),
        },
        check_relations=_check_adapted,
    ),
    "BinaryRelevance": Schema(
        _LABELS | {"estimators_": k.list_of(_learner)}, _MAYBE_FEATURES, check_relations=_check_relevance
    ),
    "BoosterClassifier": Schema(
        {"learner_": k.predictor, "classes_": k.labels},
        parameters={
            "package": k.any_text,
            "settings": k.either(k.none, k.dict_of(k.any_text, k.data)),
            "n_categorical": k.whole(),
            "n_jobs": k.either(k.none, k.whole(-1000)),
            "random_state": k.either(k.none, k.whole()),
        },
        check_relations=_check_booster,
    ),
    "Categories": Schema(),
    "Chain": Schema(
        always={
            "n_features": k.size("F"),
            "order": k.array("int64", "L"),
            "models": k.list_of(_learner, "L"),
            "_linear": k.either(
                k.none, k.each(k.array("double", "L", "F"), k.array("double", "L", "L"), k.array("double", "L"))
            ),
        },
        check_relations=_check_chain,
    ),
    "Constant": Schema(always={"probability": k.real(0.0, 1.0), "classes_": k.labels}, check_relations=_check_constant),
    "CostSensitiveClassifier": Schema(
        _DECIDED
        | _INTERVAL
        | {
            "estimator_": _LEARNERS,
            "class_weights_": k.either(k.of_class("ClassCosts"), k.array("double", "*", finite=True)),
            "best_iter_": k.whole(),
            "history_": k.tuple_of(k.of_class("Iteration")),
            "n_iter_": k.whole(),
            "n_refits_": k.whole(),
        },
        _MAYBE_FEATURES | GROUPS,
        parameters={"measure": given_measure},
        check_relations=_check_plug_in,
    ),
    "Dense": Schema(),
    "GuaranteeMonitor": monitors.SCHEMA,
    "FilledColumns": Schema({**k.FEATURES, "is_empty_": k.array("bool", "F")}),
    "MetricClassifier": Schema(
        _DECIDED
        | {
            "best_estimator_": k.either(_LEARNERS, k.list_of(_LEARNERS)),
            "weights_": k.array("double", "*", finite=True),
            "_ensemble": k.of_class("AveragedModels"),
            "_extrapolation": k.either(k.none, k.of_class("Extrapolation")),
            "_records": k.list_of(k.dict_of(k.any_text, k.data)),
            "_explanation": k.any_text,
        },
        _MAYBE_FEATURES | GROUPS,
        parameters={"measure": given_measure},
        check_relations=_check_selection,
    ),
    "OnlineMetricClassifier": Schema(
        {**k.FEATURES, "_model": k.of_class("OnlineModel")},
        parameters={"measure": given_measure},
        check_relations=_check_online,
    ),
    "PlugInClassifier": Schema(
        _DECIDED | _INTERVAL | {"estimator_": _LEARNERS},
        _MAYBE_FEATURES | GROUPS,
        parameters={"measure": given_measure},
        check_relations=_check_plug_in,
    ),
    "Prepared": Schema(
        {
            "transformer_": k.transformer,
            "learner_": k.predictor,
        },
        {"classes_": k.either(k.labels, k.list_of(k.label_array))},  # multilabel; rankers have none
        parameters={"transformer": k.transformer, "learner": k.predictor},
        check_relations=_check_prepared,
    ),
    "ProbabilisticClassifierChain": Schema(
        _LABELS | {"chains_": k.list_of(k.of_class("Chain")), "orders_": k.list_of(k.array("int64", "L"))},
        {**_MAYBE_FEATURES, "_seed": k.either(k.none, k.whole())},
        check_relations=_check_chains,
    ),
    # `metricwise.persistence.boosters.checks` relates its trees, features and classes.
    "StoredBooster": Schema(
        {"n_features_in_": k.size("F"), "classes_": k.labels, "boosted_trees_": k.of_class("BoostedTrees")},
        {"feature_importances_": k.either(k.array("float", "F"), k.array("int", "F"))},
        parameters={"learner": k.any_text, "settings": k.either(k.none, k.dict_of(k.any_text, k.data))},
    ),
    "TriageClassifier": Schema(
        _DECIDED
        | {
            "estimator_": _learner,
            "review_label_": k.plain,
            "_task": k.of_class("Binary"),
            "_decision": k.of_class("TriageDecision"),
        },
        _MAYBE_FEATURES,
        parameters={"measure": given_measure},
        check_relations=_check_triage,
    ),
    "TextEncoder": Schema(
        {**k.FEATURES, "encoders_": k.list_of(k.of_class("Pipeline"), "F")},
        parameters={"n_components": k.whole(1)},
        check_relations=_check_texts,
    ),
    "TimeEncoder": Schema(
        {**k.FEATURES, "parts_": k.list_of(k.list_of(k.of_class("Part")), "F")},
        parameters={"formats": k.either(k.tuple_of(k.any_text), k.list_of(k.any_text)), "one_hot": k.boolean},
        check_relations=_check_times,
    ),
}
