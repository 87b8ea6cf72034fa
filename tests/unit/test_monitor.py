"""The monitor of guarantees: what it takes, what it refuses, how it is stored."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import metricwise as mw
from benchmarks.watching import BOUND, bet_from_every_outcome
from metricwise.decisions.guarantee_watch import MOST_POINTS

X, y = make_classification(3000, n_informative=5, weights=[0.7], class_sep=1.5, random_state=0)


@pytest.fixture(scope="module")
def model() -> Any:
    return mw.PlugInClassifier(LogisticRegression(), "f1", subject_to="precision>=0.8").fit(X[:1500], y[:1500])


def _outcomes(n: int, share: float, seed: int = 0) -> tuple[Any, Any]:
    return np.random.default_rng(seed).random(n) < share, np.ones(n, dtype=bool)


def test_shares_count_their_own_outcomes() -> None:
    truth, predicted = np.array([1, 1, 1, 0, 0, 0, 0]), np.array([1, 1, 0, 1, 0, 0, 0])
    expected = {
        "precision": (2, 3),
        "recall": (2, 3),
        "specificity": (3, 4),
        "negative_predictive_value": (3, 4),
        "false_positive_rate": (1, 4),
        "positive_rate": (3, 7),
        "accuracy": (5, 7),
    }
    monitor = mw.GuaranteeMonitor([(name, ">=", 0.5) for name in expected]).update(truth, predicted)
    found = [(round(one.share * one.n_counted), one.n_counted) for one in monitor.status]
    assert found == list(expected.values()) and monitor.n_seen == 7


def test_one_guarantee_has_an_interval_and_several_a_dictionary() -> None:
    single = mw.GuaranteeMonitor("precision >= 90%")
    assert single.interval == (0.0, 1.0) and np.isnan(single.status[0].share) and single.score_warning is None
    several = mw.GuaranteeMonitor(["precision>=0.9", ("recall", ">=", 0.5)]).update([1, 0], [1, 1])
    assert list(several.interval) == ["precision >= 0.9", "recall >= 0.5"]
    assert several.status[0].interval == several.interval["precision >= 0.9"]


def test_an_alarm_is_raised_once_and_stays() -> None:
    monitor = mw.GuaranteeMonitor("precision>=0.9").update(*_outcomes(200, 0.6))
    at = monitor.status[0].alarm_at
    assert monitor.alarm and at is not None and at < 100
    monitor.update(*_outcomes(3000, 0.99))
    assert monitor.alarm and monitor.status[0].alarm_at == at and monitor.status[0].wealth < 1.0 / 0.05
    assert repr(monitor) == "GuaranteeMonitor(precision >= 0.9; 3200 outcomes, alarm=True)"


def test_wealth_stays_finite_and_the_history_short() -> None:
    monitor = mw.GuaranteeMonitor("precision>=0.99").update(np.zeros(3000), np.ones(3000))
    (history,) = monitor.history()
    assert np.isfinite(monitor.status[0].wealth) and np.all(np.isfinite(history.log_wealth))
    assert MOST_POINTS / 2 <= history.n_seen.size <= MOST_POINTS and np.all(np.diff(history.n_counted, n=2) == 0)


def test_the_benchmark_bets_like_the_monitor() -> None:
    kept = np.random.default_rng(3).random((8, 400)) < np.where(np.arange(400) < 150, 0.9, 0.75)
    monitors = [mw.GuaranteeMonitor(("precision", ">=", BOUND)).update(one, np.ones(400)) for one in kept]
    assert [one.status[0].alarm_at or 0 for one in monitors] == bet_from_every_outcome(kept).tolist()


def test_labels_without_a_model() -> None:
    for negative, positive in ((0, 1), (-1, 1), (False, True), (0.0, 1.0)):
        monitor = mw.GuaranteeMonitor("accuracy>=0.5").update([positive, negative], [negative, negative])
        assert monitor.status[0].share == 0.5
    ones = mw.GuaranteeMonitor("accuracy>=0.5").update(1, 1).update(-1, 1)
    with pytest.raises(ValueError, match="y_true has the unknown label 0 at position 0; known are -1 and 1"):
        ones.update(0, 1)
    assert ones.n_seen == 2
    with pytest.raises(ValueError, match="unknown label 'yes' at position 0; without a model, labels are 0 and 1"):
        mw.GuaranteeMonitor("accuracy>=0.5").update(["yes", "no"], ["yes", "yes"])


@pytest.mark.parametrize(
    ("outcomes", "message"),
    [
        (([1, 2], [1, 1]), r"y_true has the unknown label 2 at position 1; known"),
        (([1, 0], [1]), "y_true has 2 labels and y_pred has 1"),
        (([1, np.nan], [1, 1]), "y_true is missing for 1 of 2 outcomes, the first at position 1"),
        (([1, None], [1, 1]), "y_true is missing"),
        (([[1, 0]], [[1, 1]]), r"y_true must be one label or a column of them, got an array of shape \(1, 2\)"),
        (([1], [1], [0.5]), "no scores to compare with"),
    ],
)
def test_bad_outcomes_are_refused_and_nothing_is_counted(outcomes: Any, message: str) -> None:
    monitor = mw.GuaranteeMonitor("accuracy>=0.5").update([0, 1], [1, 1])
    before = repr((monitor.n_seen, monitor.status))
    with pytest.raises(ValueError, match=message):
        monitor.update(*outcomes)
    assert repr((monitor.n_seen, monitor.status)) == before


def test_outcomes_must_follow_those_seen() -> None:
    monitor = mw.GuaranteeMonitor("accuracy>=0.5").update([1, 1], [1, 0], order=[3, 3])
    with pytest.raises(ValueError, match="outcomes up to 3 have been seen, and this batch starts at 3"):
        monitor.update(1, 1, order=3)
    with pytest.raises(ValueError, match="out of order: 4 at position 1 follows 5"):
        monitor.update([1, 1], [1, 1], order=[5, 4])
    with pytest.raises(ValueError, match="of another kind: '2026-01-01'"):
        monitor.update(1, 1, order="2026-01-01")
    with pytest.raises(ValueError, match="order has 1 entries for 2 outcomes"):
        monitor.update([1, 1], [1, 1], order=5)
    with pytest.raises(ValueError, match="order must be numbers, dates or texts"):
        monitor.update([1, 1], [1, 1], order=[True, False])
    assert monitor.n_seen == 2 and monitor.update(1, 1, order=3.5).n_seen == 3
    dates = np.array(["2026-01-01", "2026-02-01"], dtype="datetime64[D]")
    other = mw.GuaranteeMonitor("accuracy>=0.5").update([1, 1], [1, 1], order=dates)
    with pytest.raises(ValueError, match="outcomes up to '2026-02-01"):
        other.update([1, 1], [1, 1], order=dates)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("f1>=0.9", "a constraint is on one of accuracy"),
        (("precision", ">", 0.9), "is no constraint: write"),
        (("precision", ">=", 1.0), "must lie between 0 and 1"),
        ([], r"\[\] is no guarantee: give a classifier"),
        (None, "None is no guarantee"),
        (3, "3 is no guarantee"),
        (["recall>=0.5", "recall>=0.5"], "recall >= 0.5 is given twice"),
        (LogisticRegression(), "a LogisticRegression makes no guarantee"),
        (mw.PlugInClassifier(LogisticRegression(), subject_to="recall>=0.5"), "not fitted: call fit"),
    ],
)
def test_wrong_guarantees(given: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        mw.GuaranteeMonitor(given)


@pytest.mark.parametrize("alpha", [0.0, 1.0, -1, 5, float("nan"), "0.05", True, None])
def test_wrong_alpha(alpha: Any) -> None:
    with pytest.raises(ValueError, match="alpha must lie between 0 and 1"):
        mw.GuaranteeMonitor("precision>=0.9", alpha)


@pytest.mark.parametrize("alpha", [5e-324, 1e-323, 1e-250, 9e-13])
@pytest.mark.parametrize("given", ["precision>=0.9", ["precision>=0.9", "recall>=0.5"]], ids=len)
def test_an_alpha_that_no_evidence_reaches_is_refused(given: Any, alpha: float) -> None:
    with pytest.raises(ValueError, match=f"alpha={alpha!r} is below 1e-12"):
        mw.GuaranteeMonitor(given, alpha)


def test_the_least_alpha_raises_an_alarm_and_is_stored(tmp_path: Path) -> None:
    monitor = mw.GuaranteeMonitor(["precision>=0.9", "recall>=0.5"], alpha=1e-12)
    assert monitor.update(np.zeros(500), np.ones(500)).alarm
    assert all(np.isfinite(monitor.status[0].interval)) and np.isfinite(monitor.status[0].wealth)
    mw.save(monitor, tmp_path / "monitor.mw")
    assert mw.load(tmp_path / "monitor.mw").status[0] == monitor.status[0]


def test_a_monitor_ends_where_outcomes_cannot_be_counted(model: Any, tmp_path: Path) -> None:
    monitor = mw.GuaranteeMonitor(model)
    monitor.n_seen = monitor._scores.n_seen = 2**53 - 2
    monitor.update([1, 1], [1, 1]).update_scores([0.0, 1.0])
    mw.save(monitor, tmp_path / "monitor.mw")
    loaded = mw.load(tmp_path / "monitor.mw")
    for call in (lambda: loaded.update([1], [1]), lambda: loaded.update_scores([1.0])):
        with pytest.raises(ValueError, match="1 outcomes after 9007199254740992 exceed"):
            call()
    assert loaded.n_seen == loaded.n_scores_seen == 2**53


def test_a_model_without_a_guarantee_is_refused() -> None:
    plain = mw.PlugInClassifier(LogisticRegression(), "f1").fit(X[:300], y[:300])
    with pytest.raises(ValueError, match="trained without subject_to, so that there is no guarantee to watch"):
        mw.GuaranteeMonitor(plain)


def test_a_model_brings_its_guarantees_and_scores(model: Any) -> None:
    scores = model.decision_function(X[1500:])
    monitor = mw.GuaranteeMonitor(model).update(y[1500:], model.predict(X[1500:]), scores)
    assert monitor.status[0].guarantee == "precision >= 0.8" and not monitor.alarm
    assert monitor.score_warning is False and monitor.n_scores_seen == 1500 and monitor.score_warning_at is None
    monitor.update_scores(scores + 2.0)
    assert monitor.score_warning and 1500 < monitor.score_warning_at < 1700 and not monitor.alarm
    with pytest.raises(ValueError, match="there are 2 scores and 1 outcomes"):
        monitor.update(1, 1, [0.1, 0.2])
    with pytest.raises(ValueError, match="scores must be numbers"):
        monitor.update(1, 1, "high")
    with pytest.raises(ValueError, match="scores is missing"):
        monitor.update(1, 1, np.nan)
    assert monitor.n_seen == 1500
    wrapped = make_pipeline(StandardScaler(), model)
    assert mw.GuaranteeMonitor(wrapped).is_like(mw.GuaranteeMonitor(model))


def test_a_positive_class_that_comes_first(model: Any) -> None:
    names = np.where(y == 1, "bad", "good")
    other = mw.PlugInClassifier(LogisticRegression(), "f1", subject_to="precision>=0.8", pos_label="bad")
    other.fit(X[:1500], names[:1500])
    monitors = [
        mw.GuaranteeMonitor(one).update(truth, one.predict(X[1500:]), one.decision_function(X[1500:]))
        for one, truth in ((model, y[1500:]), (other, names[1500:]))
    ]
    assert monitors[0].status == monitors[1].status
    shifted = -2.0 + other.decision_function(X[1500:])  # more of the positive class
    assert monitors[1].update_scores(shifted).score_warning
    with pytest.raises(ValueError, match="unknown label 'ugly' at position 0; known are 'bad' and 'good'"):
        monitors[1].update("ugly", "bad")


def test_guarantees_of_measures_and_of_out_of_fold_samples() -> None:
    asked = mw.RecallAtPrecision(0.8)
    constrained = mw.PlugInClassifier(LogisticRegression(), asked, confidence=None).fit(X[:800], y[:800])
    monitor = mw.GuaranteeMonitor(constrained)
    assert monitor.status[0].guarantee == "precision >= 0.8" and monitor.score_warning is None


def test_stored_monitors(model: Any, tmp_path: Path) -> None:
    monitor = mw.GuaranteeMonitor(model, alpha=0.1)
    half = slice(1500, 2000), slice(2000, 3000)
    args = [(y[part], model.predict(X[part]), model.decision_function(X[part])) for part in half]
    monitor.update(*args[0], order=np.arange(500))
    path = tmp_path / "monitor.mw"
    mw.save(monitor, path)
    mw.save(model, tmp_path / "model.mw")
    copies = [mw.load(path), pickle.loads(pickle.dumps(monitor)), copy.deepcopy(monitor)]
    assert mw.GuaranteeMonitor(mw.load(tmp_path / "model.mw"), 0.1).is_like(copies[0])
    assert not mw.GuaranteeMonitor(model).is_like(copies[0])
    for one in (monitor, *copies):
        with pytest.raises(ValueError, match="outcomes up to 499 have been seen"):
            one.update(*args[1], order=np.arange(1000))
        one.update(*args[1])
        assert one.status == monitor.status
        assert one._scores.stakes.tobytes() == monitor._scores.stakes.tobytes()
        assert one._watches[0].stakes.tobytes() == monitor._watches[0].stakes.tobytes()
        assert one._watches[0].points.tobytes() == monitor._watches[0].points.tobytes()


@pytest.mark.parametrize(
    ("part", "name", "value"),
    [
        ("", "alpha", 2.0),
        ("", "n_seen", -1),
        ("", "n_seen", 3),
        ("", "_watches", []),
        ("", "_labels", []),
        ("", "_last", [1]),
        ("watch", "stakes", np.zeros(3)),
        ("watch", "stakes", np.full(6, np.inf)),
        ("watch", "n_of_kind", 10**6),
        ("watch", "alpha", 0.2),
        ("watch", "alpha", 0.05 + 1e-9),
        ("", "alpha", 1e-13),
        ("scores", "alpha", 1e-13),
        ("", "n_seen", 2**53 + 1),
        ("scores", "n_seen", 2**53 + 1),
        ("watch", "points", np.zeros((2, 3))),
        ("scores", "stakes", np.zeros((2, 2))),
        ("scores", "warning_at", 10**6),
    ],
)
def test_damaged_monitors_are_not_stored_or_loaded(
    model: Any, tmp_path: Path, part: str, name: str, value: Any
) -> None:
    monitor = mw.GuaranteeMonitor(model).update(y[:50], model.predict(X[:50]), model.decision_function(X[:50]))
    setattr({"": monitor, "watch": monitor._watches[0], "scores": monitor._scores}[part], name, value)
    with pytest.raises(mw.ModelFileError):
        mw.save(monitor, tmp_path / "monitor.mw")
    assert not (tmp_path / "monitor.mw").exists()
