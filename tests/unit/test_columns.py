"""Columns of data frames as users have them: dates, durations, texts, identifiers, mixed types."""

import datetime
import logging
import re
import warnings
from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.compose import make_column_transformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import metricwise
from metricwise import AdaptedSVC, MetricClassifier
from metricwise.estimators.selection.columns import Columns
from metricwise.estimators.selection.preprocessing import for_numbers, for_trees
from metricwise.estimators.selection.profile import Profile
from metricwise.estimators.selection.texts import TextEncoder
from metricwise.estimators.selection.times import TimeEncoder, recognise_format

FORMATS = ["%Y-%m-%d", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%SZ", "%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y", "%Y/%m/%d %H:%M"]


def make_frauds(n_samples, seed=0):
    """Return a table whose positives gather in the last months and on Sundays, as dates."""
    rng = np.random.default_rng(seed)
    dates = pd.Timestamp("2023-01-01") + pd.to_timedelta(rng.integers(0, 700, n_samples), unit="D")
    amounts = rng.normal(size=n_samples)
    odds = -3.0 + 4.0 * (dates > pd.Timestamp("2024-08-01")) + 2.0 * (dates.day_of_week == 6) + 0.5 * amounts
    y = (rng.random(n_samples) < 1.0 / (1.0 + np.exp(-odds))).astype(int)
    return pd.DataFrame({"amount": amounts, "day": dates}), y


@pytest.mark.parametrize("format", FORMATS)
def test_dates_are_recognised_in_one_format(format):
    dates = pd.date_range("2023-01-01 10:30", periods=60, freq="9D")
    texts = dates.strftime(format).tolist()
    found = recognise_format(texts)
    assert found is not None
    encoded = TimeEncoder((found,)).fit_transform(pd.DataFrame({"day": texts}))
    assert np.array_equal(np.floor(encoded[:, 0]), (dates - pd.Timestamp(0)).days)
    assert np.array_equal(encoded[:, 1], dates.month) and np.array_equal(encoded[:, 2], dates.day_of_week)


@pytest.mark.parametrize(
    "texts", [["Lyon", "Paris"], ["2023-01-01", "soon"], ["2023-02-30"], ["1.2.3"], ["13/01/2020", "01/13/2020"], []]
)
def test_texts_that_are_no_dates_in_one_format_are_not_recognised(texts):
    assert recognise_format(texts) is None


def test_columns_are_recognised_by_what_they_hold():
    n_samples = 40
    days = pd.date_range("2024-01-01", periods=n_samples)
    frame = pd.DataFrame(
        {
            "stamp": days,
            "zoned": days.tz_localize("Europe/Paris"),
            "text": days.strftime("%d.%m.%Y"),
            "objects": pd.Series([datetime.date(2020, 1, 1), None] * 20, dtype=object),
            "lasted": pd.to_timedelta(np.arange(n_samples), unit="min"),
            "row": np.arange(n_samples)[::-1] + 1000,
            "customer_id": np.arange(n_samples) ** 3 * 7919,
            "code": [f"c{number:05d}" for number in range(n_samples)],
            "city": ["Lyon", "Paris"] * 20,
            "cubes": np.arange(n_samples) ** 3 * 7919,
            "share": np.arange(n_samples) / 7.0,
            "count": pd.array([1, None] * 20, dtype="Int64"),
        }
    )
    found = Columns.of(frame)
    assert found.names_of(found.times) == ("stamp", "zoned", "text", "objects", "lasted")
    assert found.formats == ("dates", "dates", "%d.%m.%Y", "dates", "durations")
    assert found.names_of(found.identifiers) == ("row", "customer_id", "code")
    assert found.names_of(found.categories) == ("city",)
    assert found.names_of(found.numbers) == ("cubes", "share", "count")
    encoded = TimeEncoder(found.formats).fit_transform(frame[list(found.names_of(found.times))])
    assert np.array_equal(encoded[:, -1], 60.0 * np.arange(n_samples))
    assert np.isnan(encoded[1::2, -2]).all()


def test_columns_of_other_frames_are_recognised_alike():
    polars = pytest.importorskip("polars")
    dates = [datetime.date(2024, 1, 1) + datetime.timedelta(days=day) for day in range(40)]
    frame = polars.DataFrame({"day": dates, "text": [str(day) for day in dates], "row": range(40), "x": [0.5] * 40})
    found = Columns.of(frame)
    assert (found.times, found.identifiers, found.numbers) == ((0, 1), (2,), (3,))
    encoded = TimeEncoder(found.formats).fit_transform(frame[["day", "text"]])
    assert np.array_equal(encoded[:, :3], encoded[:, 3:])


def make_reviews(n_samples=300, seed=0):
    """Return reviews, most of them different, of which those with some words are complaints, and the complaints."""
    random = np.random.default_rng(seed)
    y = random.random(n_samples) < 0.3
    fillers = random.choice(["the", "order", "came", "with", "a", "box", "and", "was", "here", "today"], (n_samples, 7))
    marks = np.where(y, random.choice(["broken", "late"], n_samples), random.choice(["fine", "lovely"], n_samples))
    reviews = [" ".join([*words, mark]) for words, mark in zip(fillers, marks, strict=True)]
    return pd.DataFrame({"review": reviews, "stars": random.integers(1, 6, n_samples)}), y


@pytest.mark.parametrize("learner", ["logistic", "extra_trees"])
def test_texts_are_used_and_not_taken_for_identifiers(learner, tmp_path):
    frame, y = make_reviews()
    assert Columns.of(frame).names_of(Columns.of(frame).texts) == ("review",)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = MetricClassifier("f1", candidates=[learner], cv=3).fit(frame, y)
    assert "Texts, used as up to 50 components of their words: 'review'." in model.explain()
    later, truth = make_reviews(seed=1)
    assert f1_score(truth, model.predict(later)) > 0.8
    later.iloc[0, 0], later.iloc[1, 0] = None, ""
    metricwise.save(model, tmp_path / "model.mw")
    found = metricwise.load(tmp_path / "model.mw").predict_proba(later)
    np.testing.assert_array_equal(found, model.predict_proba(later))


def test_texts_without_words_have_components():
    frame = pd.DataFrame({"a": [None, "?", ""], "b": ["late box", "x", "box"]})
    encoder = TextEncoder().fit(frame)
    assert encoder.transform(frame).shape == (3, 6)  # two spare words, and "late" and "box" besides
    assert encoder.get_feature_names_out().tolist()[:3] == ["a (1)", "a (2)", "b (1)"]
    assert np.isfinite(encoder.transform(frame)).all()


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA])
def test_missing_labels_are_counted_and_named(missing):
    y = np.array(["yes", "no"] * 20, dtype=object)
    y[[3, 5]] = missing
    with pytest.raises(ValueError, match="y is missing for 2 of 40 samples, the first at position 3"):
        MetricClassifier("f1", pos_label="yes").fit(pd.DataFrame({"x": np.arange(40) / 7.0}), y)


def test_durations_in_words_are_no_texts():
    frame = pd.DataFrame({"lasted": [f"{k} days 0{k % 10}:12:{k:02d}" for k in range(40)], "x": [0.5] * 40})
    assert Columns.of(frame).texts == ()


def test_names_of_few_words_are_categories_or_identifiers():
    names = [
        f"{first} {last}" for first in ("Ann", "Bob", "Eve", "Tim", "Zoe", "Max") for last in ("Lee", "Poe", "Day")
    ]
    columns = Columns.of(pd.DataFrame({"name": names * 2, "id": [f"key {k:03d}" for k in range(36)], "x": [0.5] * 36}))
    assert (columns.categories, columns.identifiers, columns.texts) == ((0,), (1,), ())


@pytest.mark.parametrize("make", [for_numbers, for_trees])
def test_dates_as_numbers_beat_dates_as_categories(make):
    from sklearn.ensemble import ExtraTreesClassifier
    from sklearn.linear_model import LogisticRegression

    learner = LogisticRegression(max_iter=1000, class_weight="balanced")
    if make is for_trees:
        learner = ExtraTreesClassifier(50, min_samples_leaf=3, class_weight="balanced", random_state=0)
    wins, gains = 0, []
    for seed in range(5):
        frame, y = make_frauds(1600, seed)
        as_categories = frame.assign(day="on " + frame["day"].astype(str))
        values = [
            f1_score(y[800:], make(Profile.of(one[:800]), learner).fit(one[:800], y[:800]).predict(one[800:]))
            for one in (frame, as_categories)
        ]
        wins += values[0] > values[1]
        gains.append(values[0] - values[1])
    assert wins == 5 and np.mean(gains) > 0.03


def test_metric_classifier_uses_dates_and_says_so_once(caplog, tmp_path):
    frame, y = make_frauds(900)
    frame = frame.assign(day=frame["day"].dt.strftime("%d.%m.%Y"), number=np.arange(900))
    with caplog.at_level(logging.INFO, logger="metricwise"), pytest.warns(UserWarning, match="'number'") as warned:
        model = MetricClassifier("f1", candidates=["logistic", "boosted_trees"], cv=3).fit(frame[:600], y[:600])
    assert len([one for one in warned if "identifiers" in str(one.message)]) == 1
    assert sum("Dates, used as" in record.message for record in caplog.records) == 1
    assert "Dates, used as days since 1970, and month, weekday and hour where these vary: 'day'." in model.explain()
    assert "Identifiers, left out: 'number'." in model.explain()
    later = frame[600:].copy()
    assert f1_score(y[600:], model.predict(later)) > 0.55
    metricwise.save(model, tmp_path / "model.mw")
    loaded = metricwise.load(tmp_path / "model.mw")
    later.iloc[::5, 1] = "no date"
    later.iloc[1, 1] = None
    assert np.array_equal(loaded.predict_proba(later), model.predict_proba(later))
    missing = later.assign(day=np.where(later["day"] == "no date", None, later["day"]))
    assert np.array_equal(model.predict_proba(missing), model.predict_proba(later))


def test_identifiers_of_frames_of_numbers_do_not_change_predictions():
    frame, y = make_frauds(300)
    numbers = pd.DataFrame({"a": frame["amount"], "b": frame["day"].dt.day_of_year / 7.0})
    with pytest.warns(UserWarning, match="left out.*'row'"):
        model = MetricClassifier("f1", candidates=["logistic"]).fit(numbers.assign(row=range(300)), y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = model.predict_proba(numbers.assign(row=7)[:10])
    assert np.array_equal(found, model.predict_proba(numbers.assign(row=range(300))[:10]))


def test_adapted_svc_prepares_columns_alike():
    frame, y = make_frauds(300)
    with pytest.warns(UserWarning, match="left out.*'row'"):
        model = AdaptedSVC("f1", cv=3).fit(frame.assign(row=range(300)), y)
    assert f1_score(y, model.predict(frame.assign(row=3))) > 0.5


def test_own_candidates_get_the_columns_unchanged():
    frame, y = make_frauds(200)
    numbers = pd.DataFrame({"a": frame["amount"], "row": np.arange(200)})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = MetricClassifier("f1", candidates={"mine": LogisticRegression(max_iter=1000)}).fit(numbers, y)
    assert "Identifiers" not in model.explain()


def test_own_candidates_may_select_columns_by_name(tmp_path):
    frame, y = make_frauds(200)
    numbers = frame.assign(other=1.0)[["other", "amount"]]
    mine = make_pipeline(make_column_transformer((StandardScaler(), ["amount"])), LogisticRegression())
    model = MetricClassifier("f1", candidates={"mine": mine}).fit(numbers, y)
    metricwise.save(model, tmp_path / "model.mw")
    assert np.array_equal(metricwise.load(tmp_path / "model.mw").predict(numbers), model.predict(numbers))


def test_own_candidates_may_learn_from_columns_that_look_like_identifiers():
    texts = pd.DataFrame({"text": [f"{'good' if number % 2 else 'bad'} {number}" for number in range(100)]})
    mine = make_pipeline(make_column_transformer((TfidfVectorizer(), "text")), LogisticRegression())
    model = MetricClassifier("f1", candidates={"mine": mine}).fit(texts, np.arange(100) % 2)
    assert model.score(texts, np.arange(100) % 2) == 1.0


@pytest.mark.parametrize("candidate", ["extra_trees", "boosted_trees"])
def test_numbers_of_extension_types_may_be_missing(candidate):
    frame, y = make_frauds(300)
    frame = frame.assign(
        count=pd.Series(np.arange(300) % 7, dtype="Int64").where(np.arange(300) % 11 > 0),
        flag=pd.Series(np.arange(300) % 3 == 0, dtype="boolean").where(np.arange(300) % 13 > 0),
    )
    plain = frame.assign(**{name: frame[name].to_numpy(float, na_value=np.nan) for name in ("count", "flag")})
    models = [MetricClassifier("f1", candidates=[candidate]).fit(X, y) for X in (frame, plain)]
    assert np.array_equal(models[0].predict(frame), models[1].predict(plain))


@pytest.mark.parametrize("make", [partial(MetricClassifier, candidates=["logistic", "extra_trees"]), AdaptedSVC])
@pytest.mark.parametrize("others", [["amount"], ["amount", "shop"]])
def test_a_category_may_be_missing_in_all_new_samples(make, others):
    frame, y = make_frauds(200)
    frame = frame[["amount"]].assign(city=["Lyon", "Paris", None, "Nice"] * 50, shop=["a", "b"] * 100)
    frame = frame[[*others, "city"]]
    model = make("f1", cv=3).fit(frame, y)
    lost = frame.iloc[:5].assign(city=None)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = model.predict(lost.assign(city=np.nan))
    assert np.array_equal(found, model.predict(lost))


@pytest.mark.parametrize("candidate", ["boosted_trees", "logistic"])
@pytest.mark.parametrize("is_frame", [True, False])
def test_columns_may_be_empty(candidate, is_frame, tmp_path):
    frame, y = make_frauds(80)
    frame = frame[["amount"]].assign(lost=np.nan)
    X = frame.assign(never=pd.NaT, city=["Lyon", "Paris"] * 40) if is_frame else frame.to_numpy()
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        model = MetricClassifier("f1", candidates=[candidate], cv=2).fit(X, y)
    metricwise.save(model, tmp_path / "model.mw")
    assert np.array_equal(metricwise.load(tmp_path / "model.mw").predict(X), model.predict(X))


def test_numbers_that_a_data_frame_calls_categories_are_categories():
    frame = pd.DataFrame({"store": pd.Categorical([7, 9, 11, 13] * 10), "size": np.arange(40) / 7.0})
    assert Columns.of(frame).categories == (0,)
    y = (frame["store"].astype(int) % 4 == 3).astype(int)  # no line separates 7 and 11 from 9 and 13
    assert MetricClassifier("f1", candidates=["logistic"]).fit(frame, y).score(frame, y) == 1.0


def test_a_table_of_identifiers_alone_is_refused():
    with pytest.raises(ValueError, match=r"every column of X.*'id', 'name'"):
        MetricClassifier().fit(pd.DataFrame({"id": range(40), "name": [f"n{i}" for i in range(40)]}), [0, 1] * 20)


@pytest.mark.parametrize("at_predict", [False, True])
def test_a_column_of_mixed_types_is_named(at_predict):
    frame, y = make_frauds(60)
    frame = frame.assign(zone=["a", "b"] * 30)
    mixed = frame.assign(zone=pd.Series(["a", 7] * 30, dtype=object))
    with pytest.raises(ValueError, match=r"column 'zone' of X mixes texts and other values, such as 'a' and 7 \(int\)"):
        if at_predict:
            MetricClassifier(candidates=["logistic"]).fit(frame, y).predict(mixed)
        else:
            MetricClassifier(candidates=["logistic"]).fit(mixed, y)


@pytest.mark.parametrize("estimator", [MetricClassifier("f1", candidates=["logistic"]), AdaptedSVC("f1")])
@pytest.mark.parametrize("kind", ["array", "frame", "mixed frame", "sparse"])
def test_a_number_beyond_single_precision_is_named(estimator, kind):
    X = np.random.default_rng(0).normal(size=(60, 3))
    y = (X[:, 0] > 0.5).astype(int)

    def make(X):
        frame = pd.DataFrame(X, columns=["a", "b", "c"])
        kinds = {"array": X, "frame": frame, "mixed frame": frame.assign(d="red"), "sparse": sparse.csr_matrix(X)}
        return kinds[kind]

    large = X.copy()
    large[7, 1] = -1e200
    name = "'b'" if "frame" in kind else "1"
    message = re.escape(
        f"column {name} of X has the value -1e+200 in sample 7, and learners compute with numbers up to"
    )
    with pytest.raises(ValueError, match=message):
        estimator.fit(make(large), y)
    with pytest.raises(ValueError, match=message):
        estimator.fit(make(X), y).predict(make(large))
