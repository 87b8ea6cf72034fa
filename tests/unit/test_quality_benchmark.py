"""The benchmark of quality: its splits, its peers, its bookkeeping and its page."""

import json
import sys
from dataclasses import replace

import numpy as np
import pytest
from joblib import Memory
from scipy.stats import wilcoxon
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold, TunedThresholdClassifierCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.context import ROOT, SkippedError
from benchmarks.quality import automl, automl_process, cached_fits, comparing, page, peers, running, suites
from benchmarks.quality.__main__ import PAGES
from benchmarks.quality.cached_fits import CachedFit, ClockCorrection
from benchmarks.quality.problems import Split
from benchmarks.quality.summary import compare, gather
from benchmarks.quality.verdicts import judge, judge_others
from metricwise import UnreachableGuaranteeError
from metricwise.measures import get_measure


@pytest.fixture
def fresh_cache(tmp_path, monkeypatch):
    memory = Memory(tmp_path / "fits", verbose=0)
    for name, ignored in (("_training_seconds", ["fit"]), ("_predict", ["fit", "X"])):
        monkeypatch.setattr(cached_fits, name, memory.cache(getattr(cached_fits, name).func, ignore=ignored))


def make_split(n_samples=300, seed=0, name="generated"):
    X, y = make_classification(2 * n_samples, 6, weights=[0.8], random_state=seed)
    return Split(name, X[:n_samples], y[:n_samples], X[n_samples:], y[n_samples:])


def make_trial(method, problem, repetition, value, seconds=1.0, **more):
    about = {"method": method, "problem": problem, "repetition": repetition}
    return about | {"value": value, "cpu_seconds": seconds, "positives": 50} | more


# -------------------------------------------------------------------------------------------------------------- splits


@pytest.mark.parametrize("share", [0.0004, 0.02, 0.5])
def test_small_splits_have_few_positives_of_any_table(share, monkeypatch):
    y = np.random.default_rng(0).permutation(np.arange(60_000) < round(share * 60_000))
    X = np.arange(60_000.0)[:, None]
    monkeypatch.setattr(suites, "_load_table", lambda name: (X, y))
    drawn = suites.split_small("some", 0)
    assert len(drawn.y) == 200 and 8 <= drawn.y.sum() <= 49
    assert drawn.y_test.mean() == pytest.approx(drawn.y.mean(), abs=0.02)
    assert not set(drawn.X.ravel()) & set(drawn.X_test.ravel()) and len(drawn.y_test) <= suites.MOST_TEST_SAMPLES
    assert np.array_equal(y[drawn.X.ravel().astype(int)], drawn.y)


def test_splits_depend_on_name_and_repetition_alone(monkeypatch):
    y = np.arange(9000) % 10 == 0
    monkeypatch.setattr(suites, "_load_table", lambda name: (np.arange(9000.0)[:, None], y))
    first, again = suites.split_table("one", 0), suites.split_table("one", 0)
    assert len(first.y) == suites.MOST_SAMPLES and np.array_equal(first.X, again.X)
    assert not np.array_equal(first.X, suites.split_table("two", 0).X)
    assert not np.array_equal(first.X, suites.split_table("one", 1).X)


def test_tables_keep_ten_positives_for_training(monkeypatch):
    y = np.arange(60_000) < 20
    monkeypatch.setattr(suites, "_load_table", lambda name: (np.zeros((60_000, 1)), y))
    drawn = suites.split_table("rare", 0)
    assert len(drawn.y) == 3000 and drawn.y.sum() == suites.FEWEST_POSITIVES and drawn.y_test.sum() == 10


@pytest.mark.data
def test_suites_have_the_problems_of_the_data_folder():
    try:
        tables, classes = suites.SUITES["tables"].problems(), suites.SUITES["multiclass"].problems()
    except SkippedError as reason:
        pytest.skip(str(reason))
    assert {"a9a", "phoneme", "german", "InternetAds"} <= set(tables) and not set(tables) & set(classes)
    assert {"krkopt", "nursery", "connect_4", "letter", "optdigits", "waveform_40"} == set(classes)


# --------------------------------------------------------------------------------------------------------------- peers


def test_a_cached_fit_predicts_the_same_and_counts_its_seconds_again(fresh_cache, monkeypatch):
    split = make_split()
    expected = LogisticRegression().fit(split.X, split.y).predict_proba(split.X_test)
    monkeypatch.setattr(cached_fits.CachedFit, "train", lambda self: (self.learner.fit(*self._samples), 7.0))
    for _ in range(2):
        ClockCorrection.reset()
        model = CachedFit(LogisticRegression()).fit(split.X, split.y)
        np.testing.assert_array_equal(model.predict_proba(split.X_test), expected)
        assert ClockCorrection.reset() == pytest.approx(7.0, abs=0.5)
        monkeypatch.setattr(cached_fits.CachedFit, "train", lambda self: pytest.fail("trained again"))


def test_a_cached_fit_is_found_by_samples_and_settings(fresh_cache):
    split = make_split()
    strong, weak = (CachedFit(LogisticRegression(C=C)).fit(split.X, split.y) for C in (1.0, 1e-3))
    other = CachedFit(LogisticRegression()).fit(split.X[:200], split.y[:200])
    found = [model.decision_function(split.X_test)[:3].tolist() for model in (strong, weak, other)]
    assert found[0] != found[1] and found[0] != found[2]


def test_a_peer_is_what_a_user_would_build_by_hand(fresh_cache):
    split, seed = make_split(150), 3
    by_hand = make_pipeline(StandardScaler(), LogisticRegression(solver="liblinear", max_iter=1000, random_state=seed))
    grid = {"logisticregression__C": np.logspace(-4, 4, 9)}
    folds = [StratifiedKFold(count, shuffle=True, random_state=state) for count, state in ((3, seed), (5, seed + 1))]
    search = GridSearchCV(by_hand, grid, scoring="average_precision", cv=folds[0]).fit(split.X, split.y)
    tuned = TunedThresholdClassifierCV(search.best_estimator_, scoring="f1", cv=folds[1]).fit(split.X, split.y)
    peer = next(one for one in peers.TABLE_PEERS if one.name == peers.LIBLINEAR)
    found = peers.train(peer, split, get_measure("f1"), seed)
    assert found.best_threshold_ == pytest.approx(tuned.best_threshold_)
    np.testing.assert_array_equal(found.predict(split.X_test), tuned.predict(split.X_test))


def test_ranking_measures_need_no_threshold(fresh_cache):
    peer = next(one for one in peers.TEXT_PEERS if one.name == "linear SVM")
    assert isinstance(peers.train(peer, make_split(), get_measure("roc_auc"), 0), CachedFit)


def test_a_multilabel_peer_is_one_tuned_learner_per_label(fresh_cache):
    split = make_split()
    labels = np.column_stack([split.y, split.X[:, 0] > 0.5]).astype(np.int64)
    peer = next(one for one in peers.MULTILABEL_PEERS if one.name == peers.LIBLINEAR)
    found = peers.train(peer, replace(split, y=labels), get_measure("f1_macro"), 0).predict(split.X_test)
    by_label = [peers.train(peer, replace(split, y=column), get_measure("f1"), 0) for column in labels.T]
    np.testing.assert_array_equal(found, np.column_stack([model.predict(split.X_test) for model in by_label]))


@pytest.mark.parametrize("suite", suites.SUITES)
def test_every_setting_of_a_peer_is_one_of_its_learner(suite):
    pytest.importorskip("catboost")
    pytest.importorskip("lightgbm")
    names = [peer.name for peer in peers.PEERS[suite]]
    assert len(set(names)) == len(names)
    for peer in peers.PEERS[suite]:
        learner = peer.make(10, 0)
        for one in peer.grid(10):
            learner.set_params(**{key: values[-1] for key, values in one.items()})
        learner.set_params(**peer.final)


# --------------------------------------------------------------------------------------------------------- bookkeeping


def test_a_trial_is_run_once_unless_its_method_is_dropped(tmp_path, monkeypatch):
    runs = []

    def train(split, measure, seed):
        runs.append((split.name, seed))
        return LogisticRegression().fit(split.X, split.y)

    suite = suites.Suite("tables", 2, lambda: ["a", "b"], lambda name, seed: make_split(seed=seed, name=name))
    monkeypatch.setitem(running.SUITES, "tables", suite)
    monkeypatch.setattr(comparing, "methods", lambda suite, side: {"peer": train, "other": train})
    arguments = "tables/f1/peers", tmp_path, None
    running.run_comparison(*arguments, ["a"], None)
    assert len(runs) == 4
    running.run_comparison(*arguments, None, ["peer"])
    running.run_comparison(*arguments, None, ["peer"])
    assert len(runs) == 6
    path = tmp_path / "tables" / "f1" / "peers.jsonl"
    stored = running.read(path)[0]
    split = make_split()
    expected = f1_score(split.y_test, LogisticRegression().fit(split.X, split.y).predict(split.X_test))
    assert stored["value"] == pytest.approx(expected) and stored["positives"] == split.y_test.sum()
    assert running.drop(path, "peer") == 4 and {one["method"] for one in running.read(path)} == {"other"}
    running.run_comparison(*arguments, ["a"], ["peer"])
    assert len(runs) == 8


def test_a_refusal_counts_as_a_recall_of_zero():
    def refuse(split, measure, seed):
        raise UnreachableGuaranteeError("no threshold has this precision")

    found = comparing.evaluate(refuse, "peer", make_split(), "recall_at_precision", 0)
    assert found["value"] == 0.0 and found["refused"] and found["cpu_seconds"] >= 0.0
    trials = [make_trial(comparing.OURS, "a", 0, 0.6), make_trial(comparing.OURS, "b", 0, 0.0, refused=True)]
    comparison = gather(trials + [make_trial("peer", name, 0, 0.2) for name in "ab"])
    assert comparison.refusals == {comparing.OURS: 1, "peer": 0}
    assert "0.300 against 0.200 (peer, 1 : 1; 1 of 2 splits refused count as 0)" in judge_others(
        {"recall_at_precision": comparison}
    )


def test_methods_are_compared_on_the_splits_that_all_have():
    trials = [make_trial("one", name, k, 0.5 + 0.1 * k, 2.0) for name in "abc" for k in range(2)]
    trials += [make_trial("two", name, 0, 0.4) for name in "bc"] + [make_trial("two", "b", 1, 0.9)]
    found = gather(trials)
    assert found.problems == ["b", "c"] and found.n_splits == 3
    np.testing.assert_allclose(found.values["one"], [0.55, 0.5])
    np.testing.assert_allclose(found.values["two"], [0.65, 0.4])
    assert found.total_seconds("one") == 6.0 and found.seconds_ratio("one", "two") == 2.0
    np.testing.assert_allclose(found.oracle(["one", "two"]), [0.65, 0.5])
    assert gather([]) is None and gather([make_trial("one", "a", 0, 1.0), make_trial("two", "a", 1, 1.0)]) is None


def test_problems_are_in_the_order_of_their_numbers():
    names = ["topic 10", "topic 2", "a9a", "Zoo", "mnist_8"]
    assert gather([make_trial("one", name, 0, 1.0) for name in names]).problems == [
        "a9a",
        "mnist_8",
        "topic 2",
        "topic 10",
        "Zoo",
    ]


def test_pairs_are_tested_over_problems():
    random = np.random.default_rng(0)
    first, second = random.normal(0.1, 0.2, 30), random.normal(0.0, 0.2, 30)
    pair = compare(first, second)
    assert pair.p_value == pytest.approx(wilcoxon(first - second).pvalue)
    assert pair.wins == np.sum(first > second) and pair.difference == pytest.approx(first.mean() - second.mean())
    assert compare(first, first).p_value == 1.0 and compare(first, first).tally == "0 : 0"


# -------------------------------------------------------------------------------------------------------------- automl

FAKE_LIBRARY = """
import sys
import numpy as np
library, seconds, samples, predictions = sys.argv[1:]
with np.load(samples) as stored:
    predicted = stored["X_test"][:, 0] > 0.0
np.savez(predictions, predicted=predicted.astype(int), seconds=float(seconds), cpu_seconds=2.5)
"""


def test_libraries_of_another_environment_predict_through_files(tmp_path, monkeypatch):
    script = tmp_path / "library.py"
    script.write_text(FAKE_LIBRARY, encoding="utf-8")
    split = make_split()
    monkeypatch.setattr(automl, "SCRIPT", script)
    monkeypatch.setattr(automl, "split_table", lambda name, repetition: split)
    arguments = ["--python", sys.executable, "--results", str(tmp_path), "--problems", "german"]
    for _ in range(2):
        assert automl.main(arguments) == 0
    trials = running.read(tmp_path / "tables" / "f1" / "automl.jsonl")
    assert [(one["method"], one["seconds"]) for one in trials] == [("AutoGluon", 60.0), ("FLAML", 30.0)]
    assert trials[0]["value"] == pytest.approx(f1_score(split.y_test, split.X_test[:, 0] > 0.0))


def test_libraries_get_no_trial_on_a_machine_that_is_too_busy(monkeypatch):
    monkeypatch.setattr(automl_process, "CALIBRATION", 0.01)
    monkeypatch.setattr(automl_process, "MOST_SLOWDOWN", 0.5)
    with pytest.raises(RuntimeError, match="too much other work"):
        automl_process.measure_slowdown()


# ---------------------------------------------------------------------------------------------------------------- page


def write_trials(results, ours):
    """Write trials of six tables on which CatBoost is the best single peer, and MetricClassifier reaches ``ours``."""
    names = (peers.LIGHTGBM, peers.CATBOOST, peers.HIST_BOOSTING)
    levels = {
        name: [0.5 + 0.01 * rank + (0.2 if k == rank else 0.0) for k in range(6)] for rank, name in enumerate(names)
    }
    levels[peers.CATBOOST] = [level + 0.05 for level in levels[peers.CATBOOST]]
    for method, values in levels.items():
        trials = [make_trial(method, f"table {k}", r, v, 3.0) for k, v in enumerate(values) for r in range(2)]
        running.append(results / "tables" / "f1" / "peers.jsonl", trials)
    interval = {"expected": ours, "low": ours - 0.1, "high": ours + 0.1}
    for method in (comparing.OURS, comparing.WITHOUT_BOOSTERS):
        trials = [make_trial(method, f"table {k}", r, ours, 4.5, **interval) for k in range(6) for r in range(2)]
        running.append(results / "tables" / "f1" / "ours.jsonl", trials)
    return levels


@pytest.mark.parametrize(("ours", "side"), [(0.9, "above"), (0.1, "below")])
def test_verdicts_follow_the_figures(ours, side, tmp_path):
    levels = write_trials(tmp_path, ours)
    comparison = gather(
        [one for part in ("peers", "ours") for one in running.read(tmp_path / f"tables/f1/{part}.jsonl")]
    )
    text = " ".join(judge("tables", "f1", comparison))
    best = np.mean(levels[peers.CATBOOST])
    oracle = np.mean(np.max(list(levels.values()), axis=0))
    assert f"{ours:.4f} against {best:.4f} of CatBoost ({ours - best:+.4f}; " in text
    assert f"which reaches {oracle:.4f}, MetricClassifier is {abs(ours - oracle):.4f} {side}" in text
    assert ("better on 6 problems, worse on 0" if ours > best else "better on 0 problems, worse on 6") in text
    assert ("No peer has a higher mean" in text) == (ours > best)
    assert "1.50 times the processor seconds of tuned CatBoost" in text


def test_the_page_has_a_row_per_method_and_problem(tmp_path):
    write_trials(tmp_path, 0.9)
    text = page.write(tmp_path, tmp_path / "page").read_text(encoding="utf-8")
    assert text.count("   * - table ") == 6 and "F1: 6 problems, 12 splits." in text
    rows = ["   * - MetricClassifier\n     - 0.9000", "   * - MetricClassifier without boosters\n     - 0.9000"]
    assert all(row in text for row in rows) and "100.0% of 12" in text
    assert (
        "texts/f1/peers" in text.split("Not run yet: ")[1] and "tables/f1/peers" not in text.split("Not run yet: ")[1]
    )
    assert (tmp_path / "page" / "quality_suites.png").is_file()


def test_the_page_without_trials_of_ours_judges_nothing(tmp_path):
    write_trials(tmp_path, 0.9)
    (tmp_path / "tables" / "f1" / "ours.jsonl").unlink()
    text = page.write(tmp_path, tmp_path / "page").read_text(encoding="utf-8")
    assert "In short" not in text and "   * - CatBoost\n" in text


def test_the_committed_page_is_written_from_the_trials(tmp_path):
    written = page.write(running.RESULTS, tmp_path).read_text(encoding="utf-8")
    assert written == (PAGES / "quality.rst").read_text(encoding="utf-8")


def test_stored_trials_are_complete_lines():
    for path in (ROOT / "benchmarks" / "quality" / "results").rglob("*.jsonl"):
        for line in path.read_text(encoding="utf-8").splitlines():
            assert {"method", "problem", "repetition"} <= json.loads(line).keys(), path
