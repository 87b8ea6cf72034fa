"""MetricClassifier: candidates, dropped candidates, the selected model and its explanation."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest
from scipy import sparse
from scipy.special import logit
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.datasets import make_classification, make_multilabel_classification
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, roc_auc_score
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from metricwise import FBeta, MetricClassifier, RecallAtPrecision, measure_names
from metricwise.decisions.binary import ThresholdRule
from metricwise.decisions.learning_curve import extrapolate
from metricwise.decisions.tasks import Binary
from metricwise.decisions.training_data import prepare_data
from metricwise.estimators.selection.candidates.candidate import Candidate, Problem
from metricwise.estimators.selection.candidates.linear import LOGISTIC
from metricwise.estimators.selection.candidates.portfolio import make_portfolio
from metricwise.estimators.selection.clock import Clock
from metricwise.estimators.selection.columns import Columns
from metricwise.estimators.selection.halving import SuccessiveHalving
from metricwise.estimators.selection.preprocessing import Dense, Prepared, for_trees
from metricwise.estimators.selection.profile import Profile
from metricwise.estimators.selection.schedule import Schedule


def of_columns(learner, *columns):
    """Return a learner that is given some of the columns."""
    return make_pipeline(ColumnTransformer([("some", "passthrough", list(columns))]), learner)


FEW = {"linear": LogisticRegression(), "trees": ExtraTreesClassifier(20, min_samples_leaf=3, random_state=0)}


def make_data(n=600, weights=(0.85,), **settings):
    X, y = make_classification(n, 8, n_informative=4, weights=list(weights), random_state=0, **settings)
    return train_test_split(X, y, test_size=0.4, random_state=0, stratify=y)


def test_the_better_candidate_is_selected():
    X, X_test, y, y_test = make_data()
    candidates = {"constant": DummyClassifier(strategy="prior"), "linear": LogisticRegression()}
    model = MetricClassifier("f1", candidates=candidates).fit(X, y)
    assert isinstance(model.best_estimator_, LogisticRegression)
    assert model.score(X_test, y_test) == pytest.approx(f1_score(y_test, model.predict(X_test)))
    last = model.leaderboard_.set_index("candidate").loc["constant"]
    assert last["why_dropped"] == "clearly behind linear" and last["weight"] == 0.0


def test_scores_are_combined_from_calibrated_scores():
    X, X_test, y, _ = make_data()
    model = MetricClassifier("f1", candidates=FEW).fit(X, y)
    models, parts = model._ensemble.models, []
    for one, calibrate in zip(models, model._ensemble.calibrations, strict=True):
        probability = np.clip(one.predict_proba(X_test)[:, 1], 1e-15, 1 - 1e-15)
        parts.append(calibrate(np.clip(np.log(probability / (1 - probability)), -6.0, 6.0)))
    prior = logit(y.mean())
    expected = prior + np.dot(model.weights_, np.array(parts) - prior) - logit(model.threshold_)
    np.testing.assert_allclose(model.decision_function(X_test), expected, rtol=1e-9)
    np.testing.assert_array_equal(model.predict(X_test), (expected > 0).astype(int))
    assert model.weights_.min() > 0.0


def test_the_explanation_names_selected_and_dropped_candidates():
    X, _, y, _ = make_data()
    model = MetricClassifier("f1", candidates={"constant": DummyClassifier(), "linear": LogisticRegression()}).fit(X, y)
    text = model.explain()
    assert text.startswith("Of 2 candidates, linear is chosen.")
    assert "- constant: 0." in text and "clearly behind linear" in text


def check_explanation_equals_leaderboard(model):
    """Check that every candidate has one line and one row, with the same numbers in the same order."""
    low, high = model.expected_score_interval_
    assert f"expect {model.expected_score_:.3f} ({low:.3f} to {high:.3f}, 90 %)" in model.explain()
    lines = [line for line in model.explain().splitlines() if line.startswith("- ")]
    for line, row in zip(lines, model.leaderboard_.itertuples(), strict=True):
        settings = ", ".join(f"{key}={value}" for key, value in row.settings.items())
        title = f"{row.candidate} ({settings})" if settings else row.candidate
        assert line.startswith(f"- {title}: {row.value:.3f} ({row.low:.3f} to {row.high:.3f})")
        if row.compared_with:
            ends = f"({row.difference_low:+.3f} to {row.difference_high:+.3f})"
            assert line.endswith(f": {row.difference:+.3f} {ends} against {row.compared_with}")
            assert row.difference <= 0.0 and row.difference_low <= row.difference_high


@pytest.mark.parametrize("measure", ["f1", "roc_auc"])
def test_explanation_and_leaderboard_show_one_number_per_candidate(measure):
    X, _, y, _ = make_data(1000, flip_y=0.1)
    model = MetricClassifier(measure, candidates=["logistic", "linear_svm"], cv=3).fit(X, y)
    check_explanation_equals_leaderboard(model)
    board = model.leaderboard_
    assert board.groupby("candidate").size()["logistic regression"] == len(LOGISTIC)  # one line for each setting
    compared = board[board["n_samples"] == len(y)]
    assert compared["value"].max() == board["value"][0] and board["weight"][0] > 0.0
    assert set(compared["n_folds"]) == {3} and "3 folds of all 600 samples" in model.explain()


def test_differences_are_those_of_the_values_on_the_rung_of_both():
    X, _, y, _ = make_data(9000)
    candidates = {"linear": LogisticRegression(), "guess": DummyClassifier(strategy="stratified", random_state=0)}
    model = MetricClassifier("f1", candidates=candidates).fit(X, y)
    check_explanation_equals_leaderboard(model)
    linear, guess = (row for _, row in model.leaderboard_.iterrows())
    assert (guess["n_samples"], guess["n_folds"], guess["compared_with"]) == (2500, 3, "linear")
    assert "in 3 folds of 2500 samples" in model.explain()
    # The winner is judged on all samples by now, but the difference is of the samples that both have scored.
    assert guess["difference"] == pytest.approx(guess["value"] - linear["value"], abs=0.1)
    assert guess["difference"] != guess["value"] - linear["value"]


def test_an_extrapolated_expectation_is_explained_by_that_of_the_fold_models():
    X, _, y, _ = make_data(9000)
    forest = MetricClassifier("f1", candidates={"forest": ExtraTreesClassifier(20, random_state=0)})
    model = clone(forest).fit(X, y)
    before = model._decision.expected_score
    assert before < model.expected_score_
    assert f"The fold models have {before:.3f}, which grew from rung to rung" in model.explain()
    alone = MetricClassifier("f1", candidates={"forest": ExtraTreesClassifier(20, random_state=0)}).fit(
        X[:500], y[:500]
    )
    assert "fold models have" not in alone.explain()  # one rung shows no growth


def test_an_ensemble_is_explained_by_its_gain():
    X, _, y, _ = make_data()
    halves = {
        "left": of_columns(LogisticRegression(), 0, 1, 2, 3),
        "right": of_columns(LogisticRegression(), 4, 5, 6, 7),
    }
    model = MetricClassifier("f1", candidates=halves).fit(X, y)
    assert len(model.weights_) == 2
    best = model.leaderboard_.iloc[0]
    value, gain = re.search(r"The ensemble has (0\.\d+): ([+-]0\.\d+) \(.* to .*\) against", model.explain()).groups()
    assert float(value) - float(gain) == pytest.approx(best["value"], abs=1.1e-3)


class WarningClassifier(LogisticRegression):
    """A learner that warns whenever it is trained, as one that has not converged."""

    def __init__(self, text="too few iterations", C=1.0):
        super().__init__(C=C)
        self.text = text

    def fit(self, X, y, sample_weight=None):
        warnings.warn(self.text, ConvergenceWarning, stacklevel=2)
        return super().fit(X, y, sample_weight)


class WarningGuess(DummyClassifier):
    """A useless learner that warns whenever it is trained."""

    def fit(self, X, y, sample_weight=None):
        warnings.warn("too few iterations", ConvergenceWarning, stacklevel=2)
        return super().fit(X, y, sample_weight)


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_warnings_of_dropped_candidates_are_in_the_leaderboard_only(n_jobs, capfd):
    X, _, y, _ = make_data()
    weak = WarningGuess(strategy="uniform", random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = MetricClassifier("f1", candidates={"weak": weak, "linear": LogisticRegression()}, n_jobs=n_jobs)
        board = model.fit(X, y).leaderboard_.set_index("candidate")
    assert board.loc["weak", "weight"] == 0.0
    assert board.loc["weak", "warnings"] == ["ConvergenceWarning: too few iterations"]
    assert board.loc["linear", "warnings"] == []
    assert "too few iterations" not in capfd.readouterr().err


def test_warnings_of_the_selected_models_are_shown_once():
    X, _, y, _ = make_data()
    halves = {"left": of_columns(WarningClassifier(), 0, 1, 2, 3), "right": of_columns(WarningClassifier(), 4, 5, 6, 7)}
    with pytest.warns(ConvergenceWarning) as caught:
        model = MetricClassifier("f1", candidates=halves).fit(X, y)
    assert len(model.weights_) == 2
    assert [str(one.message) for one in caught] == ["too few iterations"]


def test_a_degenerate_surrogate_of_a_selected_candidate_is_in_the_leaderboard_only():
    random = np.random.default_rng(0)
    y = (np.arange(2000) % 50 == 0).astype(int)
    X = random.normal(size=(2000, 6)) + y[:, None] * 0.6
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = MetricClassifier("f1", candidates=["multivariate_svm"]).fit(X, y)
    assert model.leaderboard_.loc[0, "weight"] == 1.0
    assert any("the surrogate of 'f1' is degenerate" in text for text in model.leaderboard_.loc[0, "warnings"])


@pytest.mark.parametrize("name", measure_names("MetricClassifier"))
def test_every_binary_measure_is_supported(name):
    X, X_test, y, y_test = make_data(500)
    model = MetricClassifier(name, candidates=FEW, cv=3, confidence=None).fit(X, y)
    low, high = model.expected_score_interval_
    assert low <= model.expected_score_ <= high
    assert 0.0 <= model.score(X_test, y_test) <= 1.0


@pytest.mark.parametrize("measure", ["f1_macro", "f1_micro", "f1_weighted", "accuracy", "f1"])
def test_multiclass_measures_are_supported(measure):
    X, y = make_classification(600, 8, n_informative=5, n_classes=3, weights=[0.6, 0.3], random_state=0)
    model = MetricClassifier(measure, candidates=FEW, cv=3).fit(X[:400], np.array(["a", "b", "c"])[y[:400]])
    assert set(model.predict(X[400:])) <= {"a", "b", "c"}
    np.testing.assert_allclose(model.predict_proba(X[400:]).sum(axis=1), 1.0)
    assert model.score(X[400:], np.array(["a", "b", "c"])[y[400:]]) > 0.5


@pytest.mark.parametrize("as_sparse", [False, True])
def test_multilabel_targets_are_supported(as_sparse):
    X, Y = make_multilabel_classification(300, n_classes=4, random_state=0)
    given = sparse.csr_matrix(Y) if as_sparse else Y
    model = MetricClassifier("f1_macro", candidates=FEW, cv=3).fit(X[:200], given[:200])
    found = model.predict(X[200:])
    assert sparse.issparse(found) == as_sparse
    assert found.shape == (100, 4) and model.predict_proba(X[200:]).shape == (100, 4)
    assert model.score(X[200:], Y[200:]) > 0.5


def test_the_positive_label_may_be_the_first():
    X, X_test, y, y_test = make_data()
    names = np.array(["fraud", "usual"])
    model = MetricClassifier("f1", candidates=FEW, pos_label="fraud").fit(X, names[1 - y])
    found = model.predict(X_test)
    assert model.score(X_test, names[1 - y_test]) == pytest.approx(
        f1_score(names[1 - y_test], found, pos_label="fraud")
    )
    np.testing.assert_array_equal(found == "usual", model.decision_function(X_test) >= 0.0)
    at = list(model.classes_).index("fraud")
    probability = model.predict_proba(X_test)[:, at]
    assert probability[y_test == 1].mean() > probability[y_test == 0].mean()


def test_results_do_not_depend_on_n_jobs():
    X, X_test, y, _ = make_data()
    trees = ExtraTreesClassifier(20, random_state=0)
    candidates = {"left": of_columns(LogisticRegression(), 0, 1, 2, 3), "right": of_columns(trees, 4, 5, 6, 7)}
    models = [
        MetricClassifier("f1", candidates=candidates, n_jobs=jobs, random_state=1).fit(X, y) for jobs in (1, 2, None)
    ]
    assert len(models[0].weights_) > 1  # an ensemble
    for other in models[1:]:
        np.testing.assert_array_equal(models[0].decision_function(X_test), other.decision_function(X_test))
        np.testing.assert_array_equal(models[0].weights_, other.weights_)


def test_sample_weights_equal_repeated_samples():
    X, _, y, _ = make_data(300)
    weights = 1.0 + (np.arange(len(y)) % 3 == 0)
    linear = {"linear": LogisticRegression()}
    weighted = MetricClassifier("f1", candidates=linear).fit(X, y, sample_weight=weights)
    copied = np.repeat(np.arange(len(y)), weights.astype(int))
    repeated = MetricClassifier("f1", candidates=linear).fit(X[copied], y[copied])
    np.testing.assert_allclose(weighted.threshold_, repeated.threshold_, rtol=1e-4)
    assert weighted.expected_score_ == pytest.approx(repeated.expected_score_)


def test_frames_with_categories_and_missing_values_are_accepted():
    pd = pytest.importorskip("pandas")
    X, y = make_classification(500, 4, n_informative=3, n_redundant=0, random_state=0)
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame.loc[::7, "a"] = np.nan
    frame["kind"] = np.where(y == 1, "x", "z")
    frame.loc[::3, "kind"] = "rest"
    frame.loc[5, "kind"] = None
    model = MetricClassifier("f1", candidates=["logistic", "boosted_trees", "extra_trees"], cv=3)
    model.fit(frame[:350], y[:350])
    later = frame[350:].copy()
    later.iloc[0, later.columns.get_loc("kind")] = "never seen"
    assert model.score(later, y[350:]) > 0.8
    assert list(model.feature_names_in_) == [*"abcd", "kind"]
    with pytest.raises(ValueError, match="feature names"):
        model.predict(later[["b", "a", "c", "d", "kind"]])


def test_arrays_with_missing_values_are_accepted():
    X, X_test, y, y_test = make_data()
    X[::9, 0] = np.nan
    X_test[::5, 1] = np.nan
    model = MetricClassifier("f1", candidates=["logistic", "boosted_trees"], cv=3).fit(X, y)
    assert model.score(X_test, y_test) > 0.5


def test_the_profile_distinguishes_numbers_from_categories():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"n": [1.0, np.nan], "c": pd.Categorical(["u", "v"]), "s": ["x", "y"], "b": [True, False]})
    profile = Profile.of(frame)
    assert profile.columns.numbers == (0, 3) and profile.categorical == (1, 2) and profile.has_missing


def test_candidates_depend_on_measure_size_and_sparsity():
    small = Profile(500, 10, False, Columns(), False)
    large = Profile(50_000, 10, False, Columns(), False)
    text = Profile(500, 20_000, True, Columns(), False)

    def list_names(profile, measure, n_outputs=1):
        return {one.name for one in make_portfolio("auto", Problem(profile, measure, n_outputs)).candidates}

    f1 = FBeta()
    linear = {"logistic regression", "linear SVM", "multivariate SVM"}
    trees = {"boosted trees", "extra trees", "lightgbm", "catboost", "xgboost"}
    assert list_names(small, f1) == linear | trees | {"rbf machine"}
    assert "STAMP" in list_names(large, f1)
    assert list_names(text, f1) == linear
    assert trees < list_names(Profile(500, 200, True, Columns(), False), f1)
    assert "multivariate SVM" in list_names(small, f1, n_outputs=3)
    assert "multivariate SVM" not in list_names(small, f1, n_outputs=11)
    assert "multivariate SVM" not in list_names(small, RecallAtPrecision(0.9))


def test_trees_get_dense_samples_only_if_these_fit_in_memory():
    trees = ExtraTreesClassifier()
    assert for_trees(Profile(500, 20_000, True, Columns(), False), trees) is trees
    assert isinstance(for_trees(Profile(500, 200, True, Columns(), False), trees).transformer, Dense)


@pytest.mark.parametrize(("density", "dense"), [(0.02, False), (0.3, True)])
def test_trees_of_very_sparse_samples_equal_those_of_dense_ones(density, dense):
    X = sparse.random(300, 60, density, random_state=0, format="csr")
    y = np.asarray(X.sum(axis=1)).ravel() > X.sum(axis=1).mean()
    trees = ExtraTreesClassifier(5, random_state=0)
    chosen = for_trees(Profile.of(X), trees)
    assert isinstance(chosen, Prepared) == dense
    assert np.array_equal(chosen.fit(X, y).predict_proba(X), trees.fit(X.toarray(), y).predict_proba(X))
    assert isinstance(for_trees(Profile.of(X), HistGradientBoostingClassifier()), Prepared)
    X.data[0] = np.nan
    assert isinstance(for_trees(Profile.of(X), trees), Prepared)


def test_settings_that_gain_from_more_samples_are_not_dropped_early():
    guess, model = DummyClassifier(strategy="uniform", random_state=0), LogisticRegression()
    candidates = [
        Candidate("learner", model, {"number": 0}),
        Candidate("learner", model, {"number": 1}, gains_later=True),
        Candidate("learner", guess, {"number": 2}),
    ]
    runs = make_halving(5000).run(candidates).runs
    assert [one.n_samples for one in runs] == [5000, 5000, 2500]
    assert [one.why_dropped for one in runs] == ["", "", "clearly behind learner (number=0)"]


def make_halving(n, budget=None):
    X, y = make_classification(n, 4, random_state=0)
    task = Binary(np.array([0, 1]), FBeta(), 1)
    data = prepare_data(task, X, y, None, None)
    return SuccessiveHalving(task, data, ThresholdRule(), None, Schedule(Clock(budget)), lambda text: False)


def test_rungs_are_nested_and_grow():
    large = make_halving(40_000)
    assert large._sizes == [2500, 10_000, 40_000]
    assert make_halving(4900)._sizes == [4900]
    first, second = large.subsets.draw(1000), large.subsets.draw(4000)
    assert set(first) <= set(second)
    assert abs(np.mean(large.data.y[first]) - np.mean(large.data.y)) < 1e-3


def test_callbacks_report_progress_and_can_stop_the_selection():
    X, _, y, _ = make_data()
    lines = []
    MetricClassifier("f1", candidates=FEW, callback=lines.append).fit(X, y)
    assert len(lines) == 2 and lines[0].startswith("360 samples: linear")
    model = MetricClassifier("f1", candidates=FEW, callback=lambda text: True).fit(X, y)
    assert model.leaderboard_["n_samples"].gt(0).sum() == 1


def test_candidates_without_probabilities_are_calibrated():
    X, X_test, y, y_test = make_data()
    model = MetricClassifier("f1", candidates={"svm": LinearSVC()}).fit(X, y)
    assert model.score(X_test, y_test) > 0.5
    assert np.all((model.predict_proba(X_test) >= 0.0) & (model.predict_proba(X_test) <= 1.0))


@pytest.mark.parametrize("measure", ["f1", "roc_auc", "prbep", RecallAtPrecision(0.8)])
def test_score_intervals_shrink_with_more_samples(measure):
    X, _, y, _ = make_data()
    model = MetricClassifier(measure, candidates=FEW, confidence=None).fit(X, y)
    few, many = model.score_interval(n_samples=100), model.score_interval()
    assert 0.0 <= few[0] < many[0] <= model.expected_score_ <= many[1] < few[1] <= 1.0


@pytest.mark.parametrize("measure", ["f1_macro", "f1_micro"])
@pytest.mark.parametrize("kind", ["multiclass", "multilabel"])
def test_score_intervals_of_several_classes_and_labels_shrink_with_more_samples(measure, kind):
    X, y = make_classification(300, 6, n_informative=4, n_classes=3, random_state=0)
    if kind == "multilabel":
        y = np.column_stack([y == 0, y > 1])
    model = MetricClassifier(measure, candidates={"linear": LogisticRegression()}).fit(X, y)
    few, many = model.score_interval(n_samples=100), model.score_interval()
    assert 0.0 <= few[0] < many[0] < model.expected_score_ < many[1] < few[1] <= 1.0
    low, high = model.expected_score_interval_
    assert few[0] < low < many[0] and many[1] < high < few[1]


def test_clone_and_grid_search_work():
    X, _, y, _ = make_data(300)
    search = GridSearchCV(MetricClassifier(candidates=FEW, cv=2), {"measure": ["f1", "g_mean"]}, cv=2).fit(X, y)
    assert search.best_params_["measure"] in ("f1", "g_mean")
    assert clone(search.best_estimator_).get_params()["candidates"].keys() == FEW.keys()


@pytest.mark.parametrize("rare", [5, 4995])
def test_scores_of_a_rare_class_are_not_clipped(rare):
    """With one positive in a thousand, nearly all log-odds are below -6, and these samples must still be ranked."""
    random = np.random.default_rng(0)
    y = np.arange(5000) < rare
    X = random.normal(size=(5000, 3)) + 2.0 * y[:, None]
    model = MetricClassifier("roc_auc", candidates={"linear": LogisticRegression(C=0.01)}).fit(X, y)
    plain = LogisticRegression(C=0.01).fit(X, y)
    assert np.median(np.abs(plain.decision_function(X))) > 6.0
    assert np.unique(model.decision_function(X)).size > 4990
    assert model.score(X, y) == pytest.approx(roc_auc_score(y, plain.decision_function(X)), abs=1e-6)


# -------------------------------------------------------------------------------------------------- expected scores


def test_the_learning_curve_is_extrapolated_by_its_power_law():
    # The error shrinks as the inverse square root: 0.4, then 0.2 with four times the samples.
    extrapolation = extrapolate([[(1000.0, 0.6), (4000.0, 0.8)]], 5000, guessed=True)
    assert extrapolation(0.8) == pytest.approx(1.0 - 0.2 * (4000 / 5000) ** 0.5)
    assert extrapolation(1.0) == 1.0


@pytest.mark.parametrize(
    "curve",
    [[(100.0, 0.5)], [(100.0, 0.6), (400.0, 0.5)], [(100.0, 0.6), (400.0, 1.0)], [(100.0, 0.9), (50.0, 0.95)]],
)
def test_a_learning_curve_that_does_not_rise_is_not_extrapolated(curve):
    assert extrapolate([curve], 1000, guessed=True)(0.7) == pytest.approx(0.7)


def test_learning_curves_are_averaged_and_their_power_is_bounded():
    steep = [(100.0, 0.1), (200.0, 0.9)]
    assert extrapolate([steep], 400, guessed=True)(0.9) == pytest.approx(1.0 - 0.1 * 0.5)
    level = [(100.0, 0.5), (200.0, 0.5)]
    assert extrapolate([steep, level, [(200.0, 0.1)]], 400, guessed=True)(0.9) == pytest.approx(1.0 - 0.1 * 0.5**0.5)


def test_far_extrapolations_are_cautious():
    near, far = (extrapolate([[(250.0, 0.2), (1000.0, 0.6)]], size, guessed=False) for size in (4000, 256_000))
    assert far(0.6) == near(0.6) == pytest.approx(0.8)
    assert near.interval(0.5, 0.7) == pytest.approx((0.75, 0.85))
    low, high = far.interval(0.5, 0.7)
    assert low == 0.5 and high == pytest.approx(1.0 - 0.3 * 0.5**4)


def test_intervals_allow_for_growth_after_a_single_rung():
    one_rung = [[(800.0, 0.9)]]
    assert extrapolate(one_rung, 1000, guessed=True).interval(0.8, 0.95) == pytest.approx((0.8, 1.0 - 0.8 * 0.05))
    assert extrapolate(one_rung, 1000, guessed=False).interval(0.8, 0.95) == pytest.approx((0.8, 0.95))
    level = [[(100.0, 0.9), (800.0, 0.9)]]
    assert extrapolate(level, 1000, guessed=True).interval(0.8, 0.95) == pytest.approx((0.8, 0.95))


@pytest.mark.parametrize("measure", ["f1", "roc_auc"])
def test_intervals_cover_the_score_on_new_samples(measure):
    """Fit twelve models, each on fresh samples, and evaluate each on as many new ones."""
    X, y = make_classification(40_000, 6, n_informative=4, weights=[0.8], flip_y=0.1, random_state=3)
    learners = {"weak": LogisticRegression(C=0.01), "strong": LogisticRegression(), "svm": LinearSVC()}
    held = 0
    for seed in range(12):
        samples = np.random.default_rng(seed).permutation(len(y))
        train, new = samples[:400], samples[400:800]
        model = MetricClassifier(measure, candidates=learners, random_state=seed)
        low, high = model.fit(X[train], y[train]).expected_score_interval_
        held += low <= model.score(X[new], y[new]) <= high
    # At a coverage of 0.9, fewer than 8 occur once in 230 times.
    assert held >= 8
