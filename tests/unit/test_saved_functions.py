"""Models for measures made of functions: all but the function is saved, and loading asks for it."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import metricwise as mw
from metricwise.measures import MissingFunction, MissingFunctionError
from metricwise.persistence.allowed import GROUPS
from tests.unit.saved_models import LABELS_X, LABELS_Y, THREE_X, THREE_Y, X, predict_all, y


def _overlap(tp: Any, fp: Any, fn: Any, tn: Any) -> Any:
    return tp / (tp + fp + fn)


OVERLAP = mw.contingency_measure(_overlap, "overlap")
RATIO = mw.contingency_measure(
    lambda tp, fp, fn, tn: 2.0 * tp / (2.0 * tp + fp + fn),
    "own F1",
    ratio=lambda theta: (0.0, 2.0, 0.0, 1.0 + theta, 1.0, -theta),
)
MISTAKES = mw.contingency_measure(lambda tp, fp, fn, tn: 5.0 * fn + fp, "mistakes", greater_is_better=False)
SQUARES = mw.contingency_measure(lambda tp, fp, fn, tn: 5.0 * fn**2 + fp, "squares", greater_is_better=False)
RATIO_COST = mw.contingency_measure(
    lambda tp, fp, fn, tn: 1.0 - 2.0 * tp / (2.0 * tp + fp + fn),
    "one minus F1",
    ratio=lambda theta: (1.0 + theta, -1.0, -theta, 1.0 + theta, 1.0, -theta),
    greater_is_better=False,
)
OF_MATRIX = mw.confusion_measure(lambda C: np.sqrt(np.trace(C) / C.sum()), "root")
MEASURES = (OVERLAP, RATIO, MISTAKES, SQUARES, RATIO_COST, OF_MATRIX)
CANDIDATES = {"line": LogisticRegression(), "bayes": GaussianNB()}

MODELS: dict[str, tuple[Any, Callable[[], Any]]] = {
    "multivariate SVM": (OVERLAP, lambda: mw.MultivariateSVC(OVERLAP, cv=2).fit(X, y)),
    "multivariate SVM, cost": (SQUARES, lambda: mw.MultivariateSVC(SQUARES).fit(X, y)),
    "multivariate SVM, classes": (OVERLAP, lambda: mw.MultivariateSVC(OVERLAP, threshold=0.0).fit(THREE_X, THREE_Y)),
    "pipeline": (OVERLAP, lambda: make_pipeline(StandardScaler(), mw.MultivariateSVC(OVERLAP, cv=2)).fit(X, y)),
    "selecting SVM": (OVERLAP, lambda: mw.FeatureSelectingSVC(OVERLAP, 3, cv=2).fit(X, y)),
    "sparse coding": (OVERLAP, lambda: mw.SparseCodingClassifier(OVERLAP, 5, max_iter=3, cv=2).fit(X, y)),
    "AMP": (RATIO, lambda: mw.AMPClassifier(RATIO).fit(X, y)),
    "AMP, linear cost": (MISTAKES, lambda: mw.AMPClassifier(MISTAKES).fit(X, y)),
    "STAMP": (RATIO, lambda: mw.STAMPClassifier(RATIO).fit(X, y)),
    "STAMP, stream": (RATIO_COST, lambda: mw.STAMPClassifier(RATIO_COST).partial_fit(X, y, classes=[0, 1])),
    "mini-batches": (OVERLAP, lambda: mw.MiniBatchSVC(OVERLAP, n_passes=2).fit(X, y)),
    "mini-batches, stream": (OVERLAP, lambda: mw.MiniBatchSVC(OVERLAP).partial_fit(X, y, classes=[0, 1])),
    "plug-in": (OVERLAP, lambda: mw.PlugInClassifier(LogisticRegression(), OVERLAP).fit(X, y)),
    "plug-in, cost": (MISTAKES, lambda: mw.PlugInClassifier(LogisticRegression(), MISTAKES).fit(X, y)),
    "plug-in, classes": (
        mw.Averaged(OVERLAP, "macro"),
        lambda: mw.PlugInClassifier(GaussianNB(), mw.Averaged(OVERLAP, "macro")).fit(THREE_X, THREE_Y),
    ),
    "plug-in, labels": (
        OVERLAP,
        lambda: mw.PlugInClassifier(GaussianNB(), mw.Averaged(OVERLAP, "micro")).fit(LABELS_X, LABELS_Y),
    ),
    "plug-in around a machine": (
        [MISTAKES, OVERLAP],
        lambda: mw.PlugInClassifier(mw.MultivariateSVC(OVERLAP, threshold=0.0), MISTAKES, cv=2).fit(X, y),
    ),
    "class weights": (MISTAKES, lambda: mw.CostSensitiveClassifier(LogisticRegression(), MISTAKES).fit(X, y)),
    "adapted": (OVERLAP, lambda: mw.AdaptedSVC(OVERLAP, list(CANDIDATES.items()), cv=3).fit(X, y)),
    "model selection": (MISTAKES, lambda: mw.MetricClassifier(MISTAKES, candidates=CANDIDATES).fit(X, y)),
    "model selection, classes": (
        OVERLAP,
        lambda: mw.MetricClassifier(OVERLAP, candidates=CANDIDATES).fit(THREE_X, THREE_Y),
    ),
}


def _samples_of(name: str) -> tuple[Any, Any]:
    if "classes" in name:
        return THREE_X, THREE_Y
    return (LABELS_X, LABELS_Y) if "labels" in name else (X, y)


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], tuple[Any, Path]]:
    """Return a function that trains and saves the model of a name once."""
    folder, models = tmp_path_factory.mktemp("models"), {}

    def find(name: str) -> tuple[Any, Path]:
        if name not in models:
            models[name] = MODELS[name][1](), folder / f"{name}.mw"
            mw.save(*models[name])
        return models[name]

    return find


@pytest.mark.filterwarnings("ignore")  # about small data
@pytest.mark.parametrize("name", MODELS)
def test_models_predict_without_their_function_and_score_with_it(saved: Any, name: str) -> None:
    (model, path), (samples, target) = saved(name), _samples_of(name)
    without, given = mw.load(path), mw.load(path, measure=MODELS[name][0])
    for loaded in (without, given):
        for method, values in predict_all(model, samples).items():
            assert np.array_equal(predict_all(loaded, samples)[method], values), method
        for attribute in ("threshold_", "expected_score_", "expected_score_interval_"):
            assert np.array_equal(getattr(loaded, attribute, None), getattr(model, attribute, None))
    assert given.score(samples, target) == model.score(samples, target)
    with pytest.raises(MissingFunctionError, match=r"a function of yours, .*: load it with metricwise\.load\(path, me"):
        without.score(samples, target)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", MODELS)
def test_loaded_models_can_be_saved_again(saved: Any, name: str, tmp_path: Path) -> None:
    (model, path), again = saved(name), tmp_path / "again.mw"
    mw.save(mw.load(path), again)
    assert again.read_bytes() == path.read_bytes()
    mw.save(mw.load(path, measure=MODELS[name][0]), again)  # copies of a measure have become one: other bytes
    samples, target = _samples_of(name)
    assert mw.load(again, measure=MODELS[name][0]).score(samples, target) == model.score(samples, target)


def test_what_needs_no_value_of_the_measure_works_without_it(saved: Any) -> None:
    model, path = saved("model selection")
    found = mw.load(path)
    assert found.explain() == model.explain() and "mistakes" in found.explain()
    assert found.leaderboard_.equals(model.leaderboard_)
    assert found.measure_.name == "mistakes" and found.measure_.lacks_function
    assert found.measure_.mistake_costs == MISTAKES.mistake_costs
    found.threshold_ = 0.9
    assert found.predict(X).sum() < model.predict(X).sum()
    assert np.array_equal(pickle.loads(pickle.dumps(found)).predict(X), found.predict(X))


@pytest.mark.parametrize(
    "use",
    [
        lambda model: mw.certify(model, X, y),
        lambda model: mw.report(model, X, y),
        lambda model: model.fit(X, y),
        lambda model: mw.MeasureCurveDisplay.from_estimator(model, X, y),
    ],
    ids=["certify", "report", "fit", "curve"],
)
def test_what_needs_a_value_of_the_measure_asks_for_it(saved: Any, use: Callable[[Any], Any]) -> None:
    _, path = saved("multivariate SVM")
    with pytest.raises(MissingFunctionError, match=r"saved with the measure 'overlap', a function of yours"):
        use(mw.load(path))


def test_intervals_of_other_sizes_and_batches_ask_for_the_function(tmp_path: Path) -> None:
    model = mw.PlugInClassifier(LogisticRegression(), OVERLAP, threshold="batch").fit(X, y)
    mw.save(model, tmp_path / "model.mw")
    without, given = mw.load(tmp_path / "model.mw"), mw.load(tmp_path / "model.mw", measure=OVERLAP)
    assert given.score_interval(50) == model.score_interval(50)
    assert np.array_equal(given.predict(X), model.predict(X))
    for use in (lambda: without.score_interval(50), lambda: without.predict(X)):
        with pytest.raises(MissingFunctionError, match="'overlap'"):
            use()


def test_a_given_measure_serves_training_certificates_and_reports(saved: Any) -> None:
    model, path = saved("multivariate SVM")
    found = mw.load(path, measure=OVERLAP)
    assert mw.certify(found, X, y).upper == mw.certify(model, X, y).upper
    assert mw.report(found, X, y, importance_seconds=0.0).value == model.score(X, y)
    assert np.array_equal(found.fit(X, y).coef_, model.coef_)


def test_a_report_by_another_measure_needs_no_function(saved: Any) -> None:
    for name in ("multivariate SVM", "model selection"):
        model, path = saved(name)
        page = mw.report(mw.load(path), X, y, measure="f1", importance_seconds=0.0)
        assert page.value == mw.FBeta().score(y, model.predict(X))


def test_streams_continue_with_the_given_function(tmp_path: Path) -> None:
    model = mw.STAMPClassifier(RATIO).partial_fit(X[:90], y[:90], classes=[0, 1])
    mw.save(model, tmp_path / "model.mw")
    found = mw.load(tmp_path / "model.mw", measure=RATIO)
    for one in (model, found):
        one.partial_fit(X[90:], y[90:])
    assert np.array_equal(found.decision_function(X), model.decision_function(X))
    with pytest.raises(MissingFunctionError, match="'own F1'"):
        mw.load(tmp_path / "model.mw").partial_fit(X[90:], y[90:])


def test_functions_are_not_called_when_a_model_is_loaded_without_them(tmp_path: Path) -> None:
    calls = []

    def count(tp: Any, fp: Any, fn: Any, tn: Any) -> Any:
        calls.append(1)
        return tp / (tp + fp + fn)

    mw.save(mw.MultivariateSVC(mw.contingency_measure(count, "overlap")), tmp_path / "model.mw")
    calls.clear()
    assert mw.load(tmp_path / "model.mw").measure.function.measure_name == "overlap"
    assert not calls


# --------------------------------------------------------------------------------------------- measures that do not fit


def _make(function: Any, name: str = "overlap", **settings: Any) -> Any:
    return mw.contingency_measure(function, name, **settings)


@pytest.mark.parametrize(
    ("measure", "message"),
    [
        (_make(_overlap, "other"), "saved with the measure 'overlap', a function of yours, and 'other' is given"),
        (
            _make(lambda tp, fp, fn, tn: 2.0 * tp / (2.0 * tp + fp + fn)),
            r"'overlap', and the one given is another function: for \(tp, fp, fn, tn\) = \(40, 10, 5, 45\) it is "
            r"0\.842105 instead of 0\.727273\. Give the function of the training",
        ),
        (
            _make(lambda tp, fp, fn, tn: tp / (tp + fp + np.minimum(fn, 100.0))),  # the same on small tables
            r"another function: for \(tp, fp, fn, tn\) = \(1400, 120, 400, 80\)",
        ),
        (
            _make(lambda tp, fp, fn, tn: 1.0 - tp / (tp + fp + fn), greater_is_better=False),
            r"'overlap', a measure of which more is better, and the one given is a cost \(greater_is_better=False\)",
        ),
        (
            _make(_overlap, ratio=lambda theta: (0.0, 1.0, 0.0, 1.0 + theta, 0.0, -theta)),
            "the one given is a measure of which more is better and a ratio of rates",
        ),
        ([OVERLAP, RATIO], "and 'own F1' is given"),
    ],
    ids=["name", "function", "limit", "direction", "ratio", "one too many"],
)
def test_another_measure_is_refused(saved: Any, measure: Any, message: str) -> None:
    _, path = saved("multivariate SVM")
    with pytest.raises(mw.ModelFileError, match=message) as caught:
        mw.load(path, measure=measure)
    assert str(caught.value).startswith(f"{path}: this model was saved with the measure 'overlap'")


def test_the_same_formula_written_otherwise_is_accepted(saved: Any) -> None:
    model, path = saved("multivariate SVM")
    measure = _make(lambda tp, fp, fn, tn: 0.0 if tp == 0 else 1.0 / (1.0 + float(fp + fn) / float(tp)))
    assert measure.elementwise
    assert mw.load(path, measure=measure).score(X, y) == pytest.approx(model.score(X, y), rel=1e-12)


def test_measures_that_files_hold_are_not_given(tmp_path: Path, saved: Any) -> None:
    mw.save(mw.MultivariateSVC("f1"), tmp_path / "model.mw")
    with pytest.raises(mw.ModelFileError, match="saved with all that its measure needs: leave measure out"):
        mw.load(tmp_path / "model.mw", measure=OVERLAP)
    with pytest.raises(ValueError, match="measure='f1' is made of no function, and files hold such measures"):
        mw.load(tmp_path / "model.mw", measure="f1")
    with pytest.raises(TypeError, match="measure must be the name of a measure or a measure, got 3"):
        mw.load(tmp_path / "model.mw", measure=3)
    missing = mw.load(saved("multivariate SVM")[1]).measure_
    with pytest.raises(ValueError, match="measure='overlap' comes from a model file and lacks its function"):
        mw.load(saved("multivariate SVM")[1], measure=missing)


def test_one_of_two_functions_may_be_given(saved: Any) -> None:
    model, path = saved("plug-in around a machine")
    found = mw.load(path, measure=MISTAKES)
    assert found.score(X, y) == model.score(X, y)
    with pytest.raises(MissingFunctionError, match="'overlap'"):
        found.estimator_.score(X, y)


def test_functions_of_one_name_are_told_apart_by_their_values(tmp_path: Path) -> None:
    other = _make(lambda tp, fp, fn, tn: 2.0 * tp / (2.0 * tp + fp + fn))
    mw.save(mw.PlugInClassifier(mw.MultivariateSVC(other), OVERLAP), tmp_path / "model.mw")
    for measures in ([OVERLAP, other], [other, OVERLAP]):
        found = mw.load(tmp_path / "model.mw", measure=measures)
        assert found.measure is OVERLAP and found.estimator.measure is other
    with pytest.raises(mw.ModelFileError, match="the one given is another function"):
        mw.load(tmp_path / "model.mw", measure=other)


# --------------------------------------------------------------------------------------------------------------- files


@pytest.mark.parametrize("measure", MEASURES, ids=lambda one: type(one).__name__)
def test_every_kind_is_saved_before_training(tmp_path: Path, measure: Any) -> None:
    mw.save(mw.MultivariateSVC(measure), tmp_path / "model.mw")
    found = mw.load(tmp_path / "model.mw").measure
    assert type(found) is type(measure) and found.name == measure.name and found == measure.stored_form()
    assert mw.load(tmp_path / "model.mw", measure=measure).measure is measure


def test_all_kinds_of_functions_that_files_name_are_tested() -> None:
    listed = {cls for group in GROUPS for cls in group() if hasattr(cls, "stored_form") or cls is MissingFunction}
    own = {type(measure) for measure in MEASURES}
    assert {cls for cls in listed if cls.__module__.startswith("metricwise.measures")} == own | {MissingFunction}
