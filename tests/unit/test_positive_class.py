"""The positive class is named: by the labels, by the user, or in an error that says what to write."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import metricwise
from metricwise import (
    AdaptedSVC,
    BinaryRelevance,
    CostSensitiveClassifier,
    MeasureCurveDisplay,
    MetricClassifier,
    MultivariateSVC,
    PlugInClassifier,
    STAMPClassifier,
    contingency_measure,
    get_measure,
    measure_names,
    report,
)
from metricwise.measures import is_symmetric
from metricwise.registry import entries

RNG = np.random.default_rng(0)
IS_FRAUD = RNG.random(400) < 0.15
X = RNG.normal(size=(400, 3)) + 1.2 * IS_FRAUD[:, None]
Y = np.where(IS_FRAUD, "fraud", "legit")
N_FRAUD = int(IS_FRAUD.sum())

NEEDS_NAME = (
    rf"f1 depends on which class is positive, and y does not show it: its classes are 'fraud' \({N_FRAUD} samples, the "
    rf"rarer\) and 'legit' \({400 - N_FRAUD} samples\)\. Name the positive class, usually the rarer: pos_label='fraud'"
)


def make_wrappers(**options):
    logistic = LogisticRegression()
    return {
        "PlugInClassifier": PlugInClassifier(logistic, **options),
        "CostSensitiveClassifier": CostSensitiveClassifier(logistic, **options),
        "AdaptedSVC": AdaptedSVC("f1", [("line", logistic)], cv=3, **options),
        "MetricClassifier": MetricClassifier(candidates=["logistic"], **options),
    }


def make_machines(**options):
    trained = [entry for entry in entries("svm", "streaming") if "f1" in measure_names(entry.name)]
    found = {entry.name: entry.load()(measure="f1", **options) for entry in trained}
    for machine in found.values():
        if "threshold" in machine.get_params():
            machine.set_params(threshold=0.0)
    found["SparseCodingClassifier"].set_params(max_iter=5)
    return found


CLASSIFIERS = [*make_machines(), *make_wrappers()]


def make_classifier(name, **options):
    return (make_machines(**options) | make_wrappers(**options))[name]


# ------------------------------------------------------------------------------------------------------------ measures


# By default recall_at_k looks at twice as many samples as there are positives, more than there may be.
@pytest.mark.parametrize("name", [*sorted({*measure_names()} - {"recall_at_k"}), "recall@5"])
def test_measures_declare_whether_exchanging_the_classes_changes_them(name):
    measure, symmetric = get_measure(name), True
    for seed in range(20):
        rng = np.random.default_rng(seed)
        truth = rng.random(60) < rng.uniform(0.1, 0.6)
        scores = np.round(rng.normal(size=60) + truth, 1)
        response, exchanged = (scores, -scores) if measure.response == "scores" else (scores > 0.7, scores <= 0.7)
        symmetric &= bool(np.isclose(measure.score(truth, response), measure.score(~truth, exchanged)))
    assert symmetric == is_symmetric(measure)


def test_averages_of_both_classes_and_the_whole_curve_are_symmetric_and_unknown_functions_are_not():
    assert is_symmetric(get_measure("f1_macro")) and is_symmetric(get_measure("partial-auc:1.0"))
    assert not is_symmetric(contingency_measure(lambda tp, fp, fn, tn: tp / (tp + fn), name="own"))


# ---------------------------------------------------------------------------------------------------------- estimators


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_classes_without_a_positive_one_are_refused_with_counts_and_remedy(name):
    with pytest.raises(ValueError, match=NEEDS_NAME):
        make_classifier(name).fit(X, Y)


@pytest.mark.filterwarnings("ignore:the surrogate of")
@pytest.mark.filterwarnings("ignore:training stopped")
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_a_named_class_is_trained_for_and_scored_whichever_side_it_is_on(name):
    model = make_classifier(name, pos_label="fraud").fit(X, Y)
    twin = make_classifier(name).fit(X, IS_FRAUD)
    assert model.score(X, Y) == pytest.approx(f1_score(Y, model.predict(X), pos_label="fraud"))
    np.testing.assert_array_equal(model.predict(X) == "fraud", twin.predict(X))


@pytest.mark.parametrize("labels", [(0, 1), (-1, 1), (False, True), (0.0, 1.0), ("False", "True")])
def test_conventional_labels_need_no_name(labels):
    y = np.array(labels)[IS_FRAUD.astype(int)]
    model = MultivariateSVC("f1", threshold="train").fit(X, y)
    assert model.score(X, y) == pytest.approx(f1_score(IS_FRAUD, model.predict(X) == labels[1]))


@pytest.mark.parametrize("labels", [(1, 2), (0, 2), ("0", "1"), ("no", "yes")])
def test_other_labels_do(labels):
    y = np.array(labels)[IS_FRAUD.astype(int)]
    with pytest.raises(ValueError, match=f"pos_label={labels[1]!r}$"):
        MultivariateSVC("f1").fit(X, y)


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA])
def test_missing_labels_are_counted(missing):
    labels = Y.astype(object)
    labels[[3, 5]] = missing
    for model in (PlugInClassifier(LogisticRegression()), MetricClassifier()):
        with pytest.raises(ValueError, match="y is missing for 2 of 400 samples, the first at position 3: label these"):
            model.fit(X, labels)


@pytest.mark.parametrize("labels", [IS_FRAUD.astype(int), np.arange(400) % 3])
def test_labels_of_another_type_are_not_scored(labels):
    machine = MultivariateSVC("accuracy", threshold=0.0, tol=0.1, multi_class="ovr")
    for model in (PlugInClassifier(LogisticRegression(), "accuracy"), machine):
        model.fit(X, labels)
        assert model.score(X, labels) > 0.2
        with pytest.raises(ValueError, match=r"and the model knows .*: convert y to the labels of training"):
            model.score(X, labels.astype(str))


def test_classes_of_equal_size_leave_both_names_to_choose_from():
    with pytest.raises(ValueError, match=r"Name the positive class: pos_label='a' or pos_label='b'$"):
        MultivariateSVC("f1").fit(X[:4], ["a", "b", "a", "b"])


@pytest.mark.parametrize("measure", ["accuracy", "balanced_accuracy", "matthews_corrcoef", "cohen_kappa", "g_mean"])
def test_measures_that_treat_both_classes_alike_need_no_name(measure):
    model = PlugInClassifier(LogisticRegression(), measure).fit(X, Y)
    exchanged = PlugInClassifier(LogisticRegression(), measure, pos_label="fraud").fit(X, Y)
    assert model.score(X, Y) == pytest.approx(exchanged.score(X, Y), abs=0.05)


def test_a_constraint_needs_the_name_although_the_measure_does_not():
    model = PlugInClassifier(LogisticRegression(), "accuracy", subject_to=[("recall", ">=", 0.3)])
    with pytest.raises(ValueError, match=r"a constraint depends on which class is positive.*pos_label='fraud'"):
        model.fit(X, Y)
    kept = model.set_params(pos_label="fraud").fit(X, Y)
    assert np.mean(kept.predict(X)[IS_FRAUD] == "fraud") >= 0.3


def test_a_selection_with_a_constraint_needs_the_name_too():
    model = MetricClassifier("accuracy", candidates=["logistic"], subject_to=[("recall", ">=", 0.3)])
    with pytest.raises(ValueError, match="a constraint depends on which class is positive"):
        model.fit(X, Y)


def test_streams_count_the_first_chunk():
    chunk = rf"the first chunk does not show it: its classes are 'fraud' \({int(IS_FRAUD[:100].sum())} samples"
    with pytest.raises(ValueError, match=chunk):
        STAMPClassifier().partial_fit(X[:100], Y[:100], classes=["fraud", "legit"])
    with pytest.raises(ValueError, match=chunk):
        STAMPClassifier().fit_stream([(X[:100], Y[:100]), (X[100:], Y[100:])])
    model = STAMPClassifier(pos_label="fraud").fit_stream([(X[:100], Y[:100]), (X[100:], Y[100:])])
    assert model.result_.positive_share == pytest.approx(IS_FRAUD.mean(), abs=0.01)


def test_scores_in_bins_count_the_classes_too():
    with pytest.raises(ValueError, match=NEEDS_NAME):
        MultivariateSVC("f1", threshold="train", score_bins=16).fit(X, Y)


# ------------------------------------------------------------------------------------------- several classes and labels


@pytest.mark.parametrize("name", ["MultivariateSVC", "STAMPClassifier", "PlugInClassifier", "MetricClassifier"])
def test_a_positive_class_among_several_is_refused(name):
    three = np.array(["a", "b", "c"])[RNG.integers(0, 3, 400)]
    with pytest.raises(ValueError, match="pos_label='a' is for two classes, but y has 3 classes: leave pos_label out"):
        make_classifier(name, pos_label="a").fit(X, three)


def test_a_positive_class_among_labels_is_refused():
    labels = (RNG.random((400, 2)) < 0.5).astype(int)
    with pytest.raises(ValueError, match="pos_label=1 is for two classes, but y has 2 labels"):
        PlugInClassifier(LogisticRegression(), "f1_macro", pos_label=1).fit(X, labels)
    assert BinaryRelevance(LogisticRegression()).fit(X, labels).predict(X).shape == (400, 2)


# ------------------------------------------------------------------------------------------------------------ wrappers


def test_wrapped_classifiers_are_trained_for_the_class_of_the_wrapper():
    machine = make_pipeline(StandardScaler(), MultivariateSVC("f1", threshold="train"))
    model = PlugInClassifier(machine, "f1", pos_label="fraud", cv=3).fit(X, Y)
    assert model.estimator_[-1].pos_label == "fraud" and machine[-1].pos_label is None
    for candidates in (["multivariate_svm"], {"own": machine}):
        selected = MetricClassifier("f1", candidates=candidates, pos_label="fraud", cv=3).fit(X, Y)
        found = [value for key, value in selected.best_estimator_.get_params().items() if key.endswith("pos_label")]
        assert found == ["fraud"]


def test_a_wrapper_without_a_named_class_does_not_guess_that_of_the_wrapped():
    with pytest.raises(ValueError, match="f1 depends on which class is positive"):
        PlugInClassifier(MultivariateSVC("f1"), "accuracy").fit(X, Y)


# --------------------------------------------------------------------------------------------------- what models report


def test_explanations_name_the_class_and_its_share():
    model = make_classifier("MetricClassifier", pos_label="fraud").fit(X, Y)
    share = f"{100 * IS_FRAUD.mean():.3g} %"
    assert f"The positive class is 'fraud' ({share} of the samples)." in model.explain()
    both_alike = MetricClassifier("accuracy", candidates=["logistic"]).fit(X, IS_FRAUD)
    assert (
        f"The positive class is True ({share} of the samples); accuracy does not depend on it." in both_alike.explain()
    )
    three = MetricClassifier("accuracy", candidates=["logistic"]).fit(X, np.arange(400) % 3)
    assert "positive class" not in three.explain()


def test_reports_name_the_class_and_refuse_to_guess_it():
    model = LogisticRegression().fit(X, Y)
    with pytest.raises(ValueError, match=NEEDS_NAME):
        report(model, X, Y)
    page = report(model, X, Y, pos_label="fraud", importance_seconds=0.1)
    assert page.value == pytest.approx(f1_score(Y, model.predict(X), pos_label="fraud"))
    assert f"{N_FRAUD} of them of the positive class “fraud”" in page.html
    assert report(model, X, Y, measure="accuracy", importance_seconds=0.1).value == model.score(X, Y)
    with pytest.raises(ValueError, match="pos_label=1 is for two classes, but y has 3 classes"):
        report(LogisticRegression().fit(X, np.arange(400) % 3), X, np.arange(400) % 3, pos_label=1)


def test_models_of_a_report_are_compared_by_the_class_of_the_first():
    model = PlugInClassifier(LogisticRegression(), pos_label="fraud").fit(X, Y)
    other = LogisticRegression(class_weight="balanced").fit(X, Y)
    page = report(model, X, Y, compare={"other": other}, importance_seconds=0.1)
    f1 = f1_score(Y, other.predict(X), pos_label="fraud")
    assert re.search(rf"other</th><td[^>]*>{f1:.3f}"[:-1], page.html)


def test_curves_refuse_to_guess_the_class():
    pytest.importorskip("matplotlib").use("Agg")
    scores = -X.sum(axis=1)
    with pytest.raises(ValueError, match=NEEDS_NAME.replace("and y ", "and y_true ")):
        MeasureCurveDisplay.from_predictions(Y, scores)
    with pytest.raises(ValueError, match=NEEDS_NAME):
        MeasureCurveDisplay.from_estimator(LogisticRegression().fit(X, Y), X, Y)
    assert MeasureCurveDisplay.from_predictions(Y, -scores, pos_label="fraud").values.max() > 0.5


def test_a_model_of_an_earlier_version_keeps_its_positive_class(tmp_path):
    """Its parameter may be None: then its positive class is the last, and it is not asked for again."""
    model = MultivariateSVC("f1", threshold="train", pos_label="legit").fit(X, Y)
    before, score = model.predict(X), model.score(X, Y)
    metricwise.save(model.set_params(pos_label=None), tmp_path / "model.mw")
    loaded = metricwise.load(tmp_path / "model.mw")
    np.testing.assert_array_equal(loaded.predict(X), before)
    assert loaded.score(X, Y) == score == report(loaded, X, Y, importance_seconds=0.1).value
