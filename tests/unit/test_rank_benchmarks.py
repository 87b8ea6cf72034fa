"""The benchmarks of average precision: the choice of settings, stored trials, and the fitted growth."""

import numpy as np
import pytest
from sklearn.metrics import average_precision_score

from benchmarks import rank_quality, rank_streams
from benchmarks.context import Context
from benchmarks.growth import fit_exponent
from benchmarks.quality import suites
from benchmarks.quality.problems import Split
from benchmarks.quality.running import append, read


class Ranker:
    """Ranks by the first feature, the better the nearer C is to 0.1."""

    def __init__(self, C):
        self.C = C

    def fit(self, X, y):
        return self

    def decision_function(self, X):
        noise = np.random.default_rng(len(X)).normal(size=len(X))
        return X[:, 0] + abs(np.log10(self.C) + 1.0) * noise


def make_split(name="generated"):
    random = np.random.default_rng(0)
    y = random.random(600) < 0.2
    X = np.column_stack([y + 0.3 * random.normal(size=600), 5.0 + random.normal(size=600)])
    return Split(name, X[:300], y[:300], X[300:], y[300:])


def test_the_best_c_of_the_folds_is_chosen(monkeypatch):
    monkeypatch.setitem(rank_quality.LEARNERS, "ranker", Ranker)
    split = make_split()
    found = rank_quality._run_trial("ranker", split, repetition=1)
    assert found["C"] == 0.1 and (found["problem"], found["repetition"]) == ("generated", 1)
    assert found["value"] == pytest.approx(average_precision_score(split.y_test, split.X_test[:, 0]))


def test_folds_are_the_same_for_all_methods():
    split = make_split()
    first, again = (rank_quality._make_folds(split, 0) for _ in range(2))
    assert all(np.array_equal(one[1], other[1]) for one, other in zip(first, again, strict=True))


def test_stored_trials_are_compared_and_not_repeated(tmp_path, monkeypatch):
    monkeypatch.delenv(rank_quality.LIBAUC_VARIABLE, raising=False)
    monkeypatch.setattr(rank_quality, "QUICK_PROBLEMS", ("one", "two"))
    monkeypatch.setattr(rank_quality, "LEARNERS", {rank_quality.OURS: Ranker, "other": lambda C: Ranker(1e3)})
    suite = suites.SUITES["tables"]
    monkeypatch.setitem(
        suites.SUITES, "tables", suites.Suite("tables", 2, suite.problems, lambda name, _: make_split(name))
    )
    context = Context(True, tmp_path, 1)
    section = rank_quality.measure(context)
    trials = read(tmp_path / "rank_quality.jsonl")
    assert len(trials) == 8 and section.skipped[0][0] == rank_quality.LIBAUC
    ours, other = section.tables[0].records
    assert (ours["method"], other["method"], other["tally"]) == (rank_quality.OURS, "other", "2 : 0")
    assert section.tables[1].records[0]["0.1"] == 4
    about = {"problem": "one", "method": rank_quality.LIBAUC, "cpu_seconds": 1.0}
    append(tmp_path / "rank_quality.jsonl", [about | {"repetition": k, "value": 0.1} for k in (0, 1)])
    section = rank_quality.measure(context)
    assert len(read(tmp_path / "rank_quality.jsonl")) == 10 and not section.skipped
    assert [record["tally"] for record in section.tables[1].records if "tally" in record] == ["1 : 0"]


def test_scores_of_libauc_are_read(tmp_path):
    truth = np.array([True, False, True])
    with (tmp_path / "one.scores").open("wb") as file:
        np.savez(file, scores=np.array([0.3, 0.2, 0.1]), rate=0.01, gamma=0.1, cpu_seconds=2.0)
    found = rank_quality._read_libauc(tmp_path, "one", truth, 0)
    assert found["value"] == pytest.approx(5 / 6) and (found["rate"], found["cpu_seconds"]) == (0.01, 2.0)


def test_settings_of_streams_are_chosen_on_a_part():
    split = make_split()
    samples = rank_streams.Samples("one", split.X, split.y * 1, split.X_test, split.y_test * 1)
    learner = rank_streams.Learner("ranker", "all", Ranker, [{"C": C} for C in (1.0, 0.1)], passes_once=False)
    found = rank_streams._run(learner, samples)
    assert found["settings"] == "C 0.1"
    assert found["value"] == pytest.approx(average_precision_score(split.y_test, split.X_test[:, 0]))


def test_the_exponent_of_a_power_is_found():
    sizes = (100, 1000, 10_000)
    records = [
        {"measure": "one", "n_samples": n, "seconds": n, "cpu_seconds": n**1.1, "iterations": 3, "memory": None}
        for n in sizes
    ]
    assert fit_exponent(records)["exponent"] == pytest.approx(1.0)
    assert fit_exponent(records, "cpu_seconds")["exponent"] == pytest.approx(1.1)
