"""The importance of features in a report: of the whole model, on the measure, whatever the preprocessing."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from metricwise import MetricClassifier, PlugInClassifier, contingency_measure, get_measure, report
from metricwise.estimators.selection.preprocessing import for_numbers
from metricwise.estimators.selection.profile import Profile, recognise_columns
from metricwise.reporting.columns import shuffle_column
from metricwise.reporting.contributions import find_contributions
from metricwise.reporting.importance import Importance, ImportanceSettings, compute_importance


def make_customers(n_samples: int = 600, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Return customers whose churn depends on the city and, mostly, on a number of complaints; not on the salary."""
    random = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "salary": random.normal(50_000, 15_000, n_samples),
            "complaints": random.normal(size=n_samples),
            "city": random.choice(["Lyon", "Nice", "Paris"], n_samples),
        }
    )
    score = 3.0 * frame["complaints"] + 2.0 * (frame["city"] == "Lyon") + random.logistic(size=n_samples)
    return frame, (score > 1.5).to_numpy().astype(int)


FRAME, CHURN = make_customers(400)
FOREST = make_pipeline(
    make_column_transformer((OneHotEncoder(), ["city"]), remainder="passthrough"),
    RandomForestClassifier(20, min_samples_leaf=5, random_state=0),
)


def importance_of(model: Any, X: Any, y: Any, measure: str = "accuracy", **settings: Any) -> Importance:
    found = compute_importance(model, X, y, get_measure(measure), settings=ImportanceSettings(**settings))
    assert found is not None
    return found


# ------------------------------------------------------------------------------------------------ models and tables


@pytest.mark.parametrize("candidates", [["logistic"], {"forest": FOREST}], ids=["linear", "forest"])
def test_columns_of_a_frame_with_categories_are_ranked(candidates: Any) -> None:
    model = MetricClassifier("f1", candidates=candidates, cv=3).fit(FRAME, CHURN)
    html = report(model, *make_customers(seed=1), importance_seconds=1.0).html
    section = html[html.index('<section id="features"') :]
    names = re.findall(r'<th scope="row">(\w+)</th>', section[: section.index("</section>")])
    assert names == ["complaints", "city", "salary"]
    assert "before any preprocessing" in section


def test_a_column_of_large_numbers_gains_nothing_from_its_scale() -> None:
    columns = make_column_transformer((StandardScaler(), ["salary", "complaints"]), (OneHotEncoder(), ["city"]))
    model = make_pipeline(columns, LogisticRegression()).fit(FRAME, CHURN)
    found = importance_of(model, *make_customers(seed=1))
    assert found.names[0] == "complaints" and found.names[-1] == "salary"
    assert found.values[0] > 10 * abs(found.values[-1])
    assert found.intervals is not None and found.intervals[0, 0] > 0.1


@pytest.mark.parametrize("container", [np.asarray, pd.DataFrame, pl.DataFrame, sparse.csr_matrix])
def test_informative_columns_of_any_table_come_first(container: Any) -> None:
    samples = np.random.default_rng(0).normal(size=(400, 4))
    truth, names = samples[:, 2] > 0, ["a", "b", "the one", "d"]
    data = container(samples)
    for model in (LogisticRegression(), RandomForestClassifier(10, random_state=0)):
        found = importance_of(model.fit(data, truth), data, truth, names=names)
        assert found.names[0] == "the one" and found.kind == "permutation"
        assert abs(found.values[0]) > 3 * abs(found.values[1])


def test_multiclass_models_with_categories_are_reported() -> None:
    frame, churn = FRAME, np.where(FRAME["complaints"] > 1, 2, CHURN)
    for model in (FOREST, MetricClassifier("f1_macro", candidates=["logistic"], cv=3)):
        html = report(model.fit(frame, churn), frame, churn, measure="f1_macro", importance_seconds=1.0).html
        assert html.index('<th scope="row">complaints</th>') < html.index('<th scope="row">salary</th>')


def test_losses_equal_those_of_scikit_learn() -> None:
    X, y = make_customers(2000, seed=2)
    codes = X.assign(city=(X["city"] == "Lyon").astype(float))
    model = DecisionTreeClassifier(max_depth=5, random_state=0).fit(codes, y)
    found = importance_of(model, codes, y)
    theirs = permutation_importance(model, codes, y, scoring="accuracy", n_repeats=20, random_state=1)
    expected = dict(zip(codes.columns, theirs.importances_mean, strict=True))
    assert found.values == pytest.approx([expected[name] for name in found.names], abs=0.015)


def test_a_text_column_is_shuffled_as_a_whole() -> None:
    random = np.random.default_rng(0)
    truth = random.integers(0, 2, 200)
    frame = pd.DataFrame({"text": np.where(truth, "good fine", "bad poor"), "noise": random.normal(size=200)})
    columns = make_column_transformer((TfidfVectorizer(), "text"), (StandardScaler(), ["noise"]))
    found = importance_of(make_pipeline(columns, LogisticRegression()).fit(frame, truth), frame, truth)
    assert found.names == ["text", "noise"] and found.values[0] > 0.3


@pytest.mark.parametrize("kind", [sparse.csr_matrix, sparse.csr_array, sparse.csc_matrix])
def test_a_sparse_column_is_shuffled_alone(kind: Any) -> None:
    dense = np.array([[1.0, 0.0, 5.0], [0.0, 2.0, 6.0], [3.0, 0.0, 7.0]])
    order, expected = np.array([1, 2, 0]), dense.copy()
    expected[:, 0] = dense[order, 0]
    given = kind(dense)
    np.testing.assert_array_equal(shuffle_column(given, 0, order).toarray(), expected)
    np.testing.assert_array_equal(given.toarray(), dense)


def test_columns_of_one_name_are_shuffled_apart() -> None:
    frame = pd.DataFrame([[1, "a"], [2, "b"]], columns=["x", "x"])
    shuffled = shuffle_column(frame, 1, np.array([1, 0]))
    assert shuffled.to_numpy().tolist() == [[1, "b"], [2, "a"]] and list(frame.iloc[:, 1]) == ["a", "b"]


def test_types_of_columns_survive_shuffling() -> None:
    frame = pd.DataFrame({"c": pd.Categorical(["u", "v", "u"]), "t": pd.to_datetime(["2020", "2021", "2022"])})
    for column in (0, 1):
        assert list(shuffle_column(frame, column, np.array([2, 0, 1])).dtypes) == list(frame.dtypes)


# ------------------------------------------------------------------------------------------------- spread and weights


def test_intervals_hold_the_loss_on_other_samples() -> None:
    random = np.random.default_rng(3)
    X = random.normal(size=(20_000, 3))
    y = X @ [2.0, 1.0, 0.0] + random.logistic(size=20_000) > 3.0
    model = LogisticRegression().fit(X[-500:], y[-500:])
    exact = permutation_importance(model, X, y, scoring="f1", n_repeats=3, random_state=0).importances_mean
    held: dict[str, list[bool]] = {"0": [], "1": [], "2": []}
    for start in range(0, 8000, 200):
        found = importance_of(model, X[start : start + 200], y[start : start + 200], "f1", names=["0", "1", "2"])
        for name, _, (low, high) in found.first(3):  # type: ignore[misc]
            held[name].append(bool(low <= exact[int(name)] <= high))
    # Of 40 each at 90 %, fewer than 32 are held once in 65 times; without unseen changes, 26 of the noise were.
    assert min(map(sum, held.values())) >= 32


@pytest.mark.parametrize("measure", ["f1", "roc_auc", "f1_macro"])
def test_a_column_that_changed_no_sample_may_change_others(measure: str) -> None:
    random = np.random.default_rng(0)
    X = np.column_stack([random.normal(size=300), random.random(300) < 0.0])
    y = np.digitize(X[:, 0], [-0.5, 0.5]) if measure == "f1_macro" else X[:, 0] > 0
    model = DecisionTreeClassifier(random_state=0).fit(X, y)
    found = importance_of(model, X, y, measure)
    assert found.names == ["feature 0", "feature 1"] and found.values[1] == 0.0
    assert found.intervals is not None
    low, high = found.intervals[1]
    assert -0.03 < low < -0.001 and 0.001 < high < 0.03  # "none of 300" bounds a share by about 1 %


def test_weights_count_like_copies() -> None:
    random = np.random.default_rng(0)
    X = random.normal(size=(300, 2))
    y = np.where(np.arange(300) < 150, X[:, 0] > 0, X[:, 1] > 0)  # either half has its own feature
    model = RandomForestClassifier(30, random_state=0).fit(X, y)
    weights = np.where(np.arange(300) < 150, 9.0, 1.0)
    found = compute_importance(model, X, y, get_measure("accuracy"), sample_weight=weights)
    assert found is not None and found.names[0] == "feature 0"
    found = compute_importance(model, X, y, get_measure("accuracy"), sample_weight=10.0 - weights)
    assert found is not None and found.names[0] == "feature 1"


def test_ranking_measures_lose_area() -> None:
    codes = FRAME.assign(city=(FRAME["city"] == "Lyon").astype(float))
    model = DecisionTreeClassifier(max_depth=4, random_state=0).fit(codes, CHURN)
    found = importance_of(model, codes, CHURN, "roc_auc")
    assert found.names[0] == "complaints"
    assert found.intervals is not None and np.all(found.intervals[:, 0] <= found.values)


def test_the_time_limit_is_kept_and_the_strongest_columns_come_first() -> None:
    X = np.random.default_rng(0).normal(size=(300, 30))
    y = X[:, 7] + 0.5 * X[:, 20] > 0
    found = importance_of(LogisticRegression().fit(X, y), X, y, seconds=0.0)
    assert (found.names, found.n_columns, found.n_features, found.n_repeats) == (["feature 7"], 1, 30, 2)


# ---------------------------------------------------------------------------------------- texts and very many columns


def test_words_of_texts_have_their_contributions() -> None:
    texts = ["good fine", "bad poor", "good nice", "bad awful"] * 10
    truth = np.array([1, 0, 1, 0] * 10)
    model = make_pipeline(TfidfVectorizer(), LogisticRegression()).fit(texts, truth)
    html = report(model, texts, truth).html
    assert '<th scope="row">good</th>' in html and '<th scope="row">bad</th>' in html
    assert "Contributions in the linear model" in html and "after preprocessing" in html


@pytest.mark.parametrize("container", [list, pd.Series, lambda texts: np.array(texts, dtype=object)])
@pytest.mark.parametrize("measure", ["f1", "roc_auc"])
def test_words_are_removed_from_texts_of_other_models(container: Any, measure: str) -> None:
    random = np.random.default_rng(0)
    truth = random.integers(0, 2, 200)
    filler = random.choice(["day", "week", "Year"], (200, 2))
    texts = container([f"{'Good' if one else ''} {a}, {b}" for one, (a, b) in zip(truth, filler, strict=True)])
    model = make_pipeline(TfidfVectorizer(), RandomForestClassifier(20, random_state=0)).fit(texts, truth)
    found = importance_of(model, texts, truth, measure, names=None)
    assert found.kind == "removal" and found.intervals is not None and (found.n_features, found.n_repeats) == (4, 1)
    assert found.names[0] == "good" and found.intervals[0, 0] > 0.2
    assert "year" in found.names and np.all(np.abs(found.values[1:]) < 0.02)


def test_the_page_describes_removed_words_and_says_where_there_are_none() -> None:
    texts, truth = ["good fine", "bad poor", "good nice", "bad awful"] * 10, np.array([1, 0, 1, 0] * 10)
    model = make_pipeline(TfidfVectorizer(), RandomForestClassifier(5, random_state=0)).fit(texts, truth)
    html = report(model, texts, truth, measure="f1").html
    assert '<th scope="row">good</th>' in html and "one word is removed from all texts" in html
    marks = ["?!", "!?", ".", ","] * 10
    letters = make_pipeline(TfidfVectorizer(analyzer="char"), RandomForestClassifier(5, random_state=0))
    html = report(letters.fit(marks, truth), marks, truth, measure="f1").html
    assert "Not estimated: the samples are neither a table" in html


def test_contributions_of_many_columns_use_the_scale_that_the_model_sees() -> None:
    random = np.random.default_rng(0)
    X = random.normal(size=(500, 300)) * np.where(np.arange(300) == 5, 1e5, 1.0)
    y = X[:, 9] > 0
    model = PlugInClassifier(make_pipeline(StandardScaler(), LogisticRegression()), "f1", cv=3).fit(X, y)
    found = importance_of(model, X, y)
    assert found.kind == "contribution" and found.intervals is None
    assert found.names[0] == "feature 9" and found.values[0] > 5 * np.abs(found.values[1])
    scaled = find_contributions(LogisticRegression().fit(X[:, :3], y), X[:, :3] * 1.0, None, None)
    weighted = find_contributions(LogisticRegression().fit(X[:, :3], y), X[:, :3], None, None, np.ones(500))
    assert scaled is not None and weighted is not None
    np.testing.assert_allclose(scaled[1], weighted[1])


def test_contributions_have_the_names_of_columns_and_categories() -> None:
    many = pd.DataFrame(np.random.default_rng(0).normal(size=(400, 220)), columns=[f"x{k}" for k in range(220)])
    frame = pd.concat([FRAME, many], axis=1)
    profile = Profile.of(frame, recognise_columns(frame))
    learner = for_numbers(profile, LogisticRegression(C=0.1))
    model = PlugInClassifier(learner, "f1", cv=3).fit(frame, CHURN)
    found = importance_of(model, frame, CHURN)
    assert found.kind == "contribution" and found.names[0] == "complaints"
    assert {"city_Lyon", "salary", "x7"} < set(found.names)


def test_many_columns_of_other_models_are_shuffled_where_they_vary_with_the_scores() -> None:
    random = np.random.default_rng(0)
    X = sparse.random(400, 600, density=0.2, random_state=0, format="csr")
    y = np.asarray(X[:, 3].todense()).ravel() + 0.1 * random.random(400) > 0.12
    model = RandomForestClassifier(20, max_features=None, random_state=0).fit(X, y)
    found = importance_of(model, X, y, seconds=0.5)
    assert (found.n_features, found.names[0]) == (600, "feature 3") and found.n_columns <= 200


def test_classes_of_a_wide_linear_model_have_contributions() -> None:
    X = np.random.default_rng(0).normal(size=(300, 250))
    y = np.digitize(X[:, 4], [-0.5, 0.5])
    found = importance_of(LogisticRegression().fit(X, y), X, y, "f1_macro")
    assert found.kind == "contribution" and found.names[0] == "feature 4" and np.all(found.values >= 0.0)


def test_scores_that_are_not_linear_have_no_contributions() -> None:
    class Squared(LogisticRegression):
        def decision_function(self, X: Any) -> Any:
            return super().decision_function(X) ** 3

    X = np.random.default_rng(0).normal(size=(200, 4))
    assert find_contributions(Squared().fit(X, X[:, 0] > 0), X, None, None) is None


# ------------------------------------------------------------------------------------------------------ what is said


def test_a_cost_rises_in_its_own_units() -> None:
    X = FRAME[["salary", "complaints"]]
    model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, CHURN)
    cost = contingency_measure(lambda tp, fp, fn, tn: 5 * fn + fp, name="cost", greater_is_better=False)
    found = compute_importance(model, X, CHURN, cost)
    shuffled = X.assign(complaints=np.random.default_rng(0).permutation(X["complaints"]))
    paid = [cost.score(CHURN, model.predict(samples)) for samples in (X, shuffled)]
    assert found is not None and found.values[0] == pytest.approx(paid[1] - paid[0], rel=0.3)
    html = report(model, X, CHURN, measure=cost, importance_seconds=0.5).html
    assert (
        "By how much the cost of the whole model rises when one column is shuffled" in html and "rise of cost" in html
    )


def test_correlated_columns_are_named() -> None:
    X = FRAME[["salary", "complaints"]].assign(complaints_by_phone=FRAME["complaints"] * 0.9 + 0.01)
    html = report(DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, CHURN), X, CHURN).html
    assert "can stand in for each other" in html
    assert "Here “complaints” and “complaints_by_phone” are correlated (1.00)" in html


def test_large_values_have_contributions() -> None:
    X = np.random.default_rng(0).normal(size=(300, 250))
    model = LogisticRegression().fit(X, X[:, 1] > 0)
    usual = importance_of(model, X, X[:, 1] > 0)
    scale = np.where(np.arange(250) == 1, 1e200, 1.0)
    model.coef_ = model.coef_ / scale
    found = importance_of(model, X * scale, X[:, 1] > 0)
    assert found.names == usual.names
    np.testing.assert_allclose(found.values, usual.values)


def test_a_model_that_ignores_its_features_is_described() -> None:
    model = LogisticRegression().fit(FRAME[["salary"]], CHURN)
    model.coef_[:] = 0.0
    html = report(model, FRAME[["salary"]], CHURN).html
    assert "Shuffling a column does not change the F1" in html and "allow for changes" in html
