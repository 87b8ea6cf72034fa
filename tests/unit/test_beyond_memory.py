"""MetricClassifier on samples on disk: selection on a sample, training on all, decisions on held-out samples."""

from __future__ import annotations

import os
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.metrics import f1_score, recall_score
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

import metricwise
import metricwise.io
from metricwise import MetricClassifier, MultivariateSVC, Profit, STAMPClassifier
from metricwise.decisions.binary import ThresholdRule
from metricwise.decisions.decision import Calibration
from metricwise.decisions.scoring import fit_copy
from metricwise.decisions.tasks import make_task
from metricwise.designs.disk_views import SelectedSamples, TransformedSamples
from metricwise.estimators.selection.beyond_memory import boosters, fitting
from metricwise.estimators.selection.beyond_memory.boosters import Offer, Pace, fit_on_disk
from metricwise.estimators.selection.beyond_memory.choosing import HeldOutSamples, choose_models
from metricwise.estimators.selection.beyond_memory.fitting import list_finalists
from metricwise.estimators.selection.beyond_memory.learners import FullTraining
from metricwise.estimators.selection.beyond_memory.linear_models import fit_smooth
from metricwise.estimators.selection.beyond_memory.parts import divide
from metricwise.estimators.selection.beyond_memory.stored import DiskSamples, Targets
from metricwise.estimators.selection.booster import BoosterClassifier
from metricwise.estimators.selection.candidate_run import CandidateRun
from metricwise.estimators.selection.candidates.candidate import Candidate
from metricwise.estimators.selection.clock import Clock
from metricwise.estimators.selection.ensemble import AveragedModels, Mixture
from metricwise.estimators.selection.explanation import Expectation, explain_selection
from metricwise.estimators.selection.preprocessing import Prepared
from metricwise.measures import FBeta, get_measure
from tests.unit.disk_files import write_wide_samples

RNG = np.random.default_rng(5)
X = RNG.normal(size=(3000, 6)).astype(np.float32)
X[:, 3] *= 100.0  # candidates scale the features
Y = np.where(X[:, 0] + X[:, 1] + 0.7 * RNG.normal(size=3000) > 1.5, "yes", "no")
NEW = RNG.normal(size=(20_000, 6)).astype(np.float32)
NEW[:, 3] *= 100.0
NEW_Y = np.where(NEW[:, 0] + NEW[:, 1] + 0.7 * RNG.normal(size=20_000) > 1.5, "yes", "no")
LITTLE = 482_200_000  # bytes, which have room for some 2140 of the samples
OWN = {"own": LogisticRegression(max_iter=1000)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("beyond_memory")
    np.save(made / "X.npy", X)
    sparse.save_npz(made / "X.npz", sparse.csr_matrix(np.where(X > 0.0, X, 0.0)), compressed=False)
    return made


def open_samples(folder, y=Y, **options):
    return metricwise.io.open(folder / "X.npy", target=y, **({"block_rows": 700} | options))


def train(samples, measure="f1", candidates=("linear_svm",), y=None, **options):
    chosen = candidates if isinstance(candidates, dict) else list(candidates)
    given = {"candidates": chosen, "pos_label": "yes", "cv": 2} | options
    return MetricClassifier(measure, **given).fit(samples, y)


# ------------------------------------------------------------------------------------------------- the model as a whole


@pytest.mark.parametrize("limit", ["1GB", LITTLE], ids=["all", "little"])
def test_the_model_on_disk_is_that_in_memory_within_its_interval(folder, limit, tmp_path):
    samples = open_samples(folder, memory_limit=limit)
    there, here = train(samples), train(X, y=Y)
    low, high = there.expected_score_interval_
    assert low < here.score(NEW, NEW_Y) < high
    assert there.score(NEW, NEW_Y) == pytest.approx(here.score(NEW, NEW_Y), abs=0.02)
    np.testing.assert_array_equal(there.predict(samples), there.predict(X))
    np.testing.assert_allclose(there.predict_proba(samples), there.predict_proba(X), rtol=1e-5)
    assert there.score(samples, Y) == there.score(X, Y)
    assert "The 3,000 samples are on disk" in there.explain()
    assert ("trained on 2,398 samples" in there.explain()) == (limit == LITTLE)
    metricwise.save(there, tmp_path / "model.mw")
    np.testing.assert_array_equal(metricwise.load(tmp_path / "model.mw").predict(NEW), there.predict(NEW))


def test_finalists_are_trained_on_everything_but_held_out_samples(folder):
    """The preprocessing is that of the sample; the model is that of scikit-learn on all samples to learn from."""
    parts = divide(Y, (Y == "yes").astype(int), np.ones(3000, dtype=bool), 500, False, seed=0)
    candidate = Prepared(StandardScaler(), LogisticRegression(C=0.5))
    of_sample = clone(candidate).fit(X[parts.sample], Y[parts.sample])
    stored, targets = DiskSamples(open_samples(folder)).select(parts.trained, Targets(Y, None))
    training = FullTraining(stored, targets, np.unique(Y), parts.trained.size, 0.0, 0)
    found, n_samples = training.fit(candidate, of_sample)
    assert n_samples == parts.trained.size
    expected = LogisticRegression(C=0.5).fit(of_sample.transformer_.transform(X[parts.trained]), Y[parts.trained])
    np.testing.assert_allclose(found.learner_.coef_, expected.coef_, atol=2e-3)
    assert not np.allclose(found.learner_.coef_, of_sample.learner_.coef_, atol=2e-2)


def test_weights_in_the_file_are_used_and_those_of_zero_are_absent(folder):
    noise = RNG.permutation(Y)
    mixed, weights = np.where(np.arange(3000) < 1500, Y, noise), np.repeat([1.0, 0.0], 1500)
    samples = open_samples(folder, mixed, memory_limit=LITTLE)
    model = MetricClassifier(candidates=["linear_svm"], pos_label="yes", cv=2).fit(samples, sample_weight=weights)
    assert model.score(NEW, NEW_Y) == pytest.approx(train(X[:1500], y=Y[:1500]).score(NEW, NEW_Y), abs=0.03)


def test_multiclass_and_ranking_measures(folder):
    classes = np.where(X[:, 2] > 1.0, "third", Y)
    model = train(open_samples(folder, classes, memory_limit=LITTLE), "f1_macro", OWN, pos_label=None)
    here = train(X, "f1_macro", OWN, y=classes, pos_label=None)
    low, high = model.expected_score_interval_
    assert low < f1_score(classes, here.predict(X), average="macro") < high
    ranking = train(open_samples(folder, memory_limit=LITTLE), "roc_auc")
    assert ranking.score(NEW, NEW_Y) == pytest.approx(train(X, "roc_auc", y=Y).score(NEW, NEW_Y), abs=0.01)


def test_sparse_samples(folder):
    samples = metricwise.io.open(folder / "X.npz", target=Y, memory_limit=LITTLE)
    dense = np.where(X > 0.0, X, 0.0)
    model = train(samples)
    np.testing.assert_array_equal(model.predict(samples), model.predict(sparse.csr_matrix(dense)))
    assert model.score(samples, Y) == pytest.approx(train(sparse.csr_matrix(dense), y=Y).score(dense, Y), abs=0.03)


def test_a_guarantee_is_tested_on_held_out_samples(folder):
    model = train(open_samples(folder, memory_limit=LITTLE), subject_to="recall>=0.7")
    assert recall_score(NEW_Y, model.predict(NEW), pos_label="yes") > 0.7
    assert "Guaranteed on new samples with confidence 0.95: recall >= 0.7, tested on 601 samples" in model.explain()
    with pytest.raises(metricwise.UnreachableGuaranteeError):
        train(open_samples(folder), subject_to=["recall>=0.99", "precision>=0.99"])


def test_a_time_budget_leaves_models_of_the_sample(folder):
    model = train(open_samples(folder, memory_limit=LITTLE), time_budget=0.01)
    assert "there was no time to train it on all samples" in model.explain()
    assert model.score(NEW, NEW_Y) > 0.5


def test_own_candidates_learn_by_partial_fit_and_streams(folder):
    own = {"sgd": SGDClassifier(loss="log_loss", random_state=0), "stamp": STAMPClassifier("f1", pos_label="yes")}
    scaled = np.where(np.arange(6) == 3, X / 100.0, X)
    np.save(folder / "scaled.npy", scaled)
    samples = metricwise.io.open(folder / "scaled.npy", target=Y, memory_limit=LITTLE, block_rows=700)
    model = train(samples, candidates=own)
    assert "sgd trained on 2,398 samples" in model.explain() or "stamp trained on 2,398 samples" in model.explain()
    assert f1_score(Y, model.predict(samples), pos_label="yes") > 0.6


@pytest.mark.parametrize(
    ("parameters", "arguments", "message"),
    [
        ({"candidates": {"tree": DecisionTreeClassifier(), "sgd": SGDClassifier()}}, {}, "'tree' of candidates cannot"),
        ({"candidates": {"curved": MultivariateSVC(kernel="rbf")}}, {}, "kernels .* need all samples in memory"),
        ({"group_thresholds": True}, {}, "group_thresholds is for samples in memory"),
        ({"subject_to": "recall>=0.5 by region"}, {}, "constraints by group are for samples in memory"),
        ({"measure": Profit(tp="amount")}, {}, "a profit with amounts per sample decides for samples in memory"),
        ({"cv": [([0], [1])]}, {}, "cv must be a number of folds where samples are not in memory"),
        ({}, {"groups": np.arange(3000)}, "groups is for samples in memory"),
        ({}, {"sensitive_features": np.arange(3000)}, "sensitive_features is for samples in memory"),
        ({}, {"tp": np.ones(3000)}, "tp is for samples in memory"),
        ({}, {"y": np.zeros((3000, 2), dtype=int)}, "multilabel targets need all samples in memory"),
    ],
)
def test_what_needs_samples_in_memory_raises(folder, parameters, arguments, message):
    with pytest.raises(ValueError, match=message):
        MetricClassifier(**parameters).fit(open_samples(folder), **arguments)


def test_too_little_memory_and_unusable_samples_raise(folder, tmp_path):
    with pytest.raises(ValueError, match=r"leaves no room to compare candidates on 2000 .* memory_limit='482MB'"):
        train(open_samples(folder, memory_limit="400MB"))
    broken = X.copy()
    broken[2321, 2] = np.nan
    np.save(tmp_path / "X.npy", broken)
    with pytest.raises(ValueError, match=r"holds nan in sample 2321, column 2"):
        train(metricwise.io.open(tmp_path / "X.npy", target=Y))
    with pytest.raises(ValueError, match="requires y to be passed"):
        train(metricwise.io.open(folder / "X.npy"))
    with pytest.raises(ValueError, match="the class 'yes' has 5 samples, too few"):
        train(open_samples(folder, np.where(np.arange(3000) < 5, "yes", "no")))


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="peak memory is read from /proc")
def test_training_stays_within_the_memory_limit(tmp_path):
    """Select and train on 64 MB of samples with 50 MB beside the libraries."""
    write_wide_samples(tmp_path, 40_000, 400)
    script = r"""
import re, sys
import metricwise, metricwise.io, sklearn.linear_model
samples = metricwise.io.open(sys.argv[1] + "/X.npy", target=sys.argv[1] + "/y.npy", memory_limit="530MB")
own = {"sgd": sklearn.linear_model.SGDClassifier(loss="log_loss", random_state=0)}
model = metricwise.MetricClassifier("f1", candidates=own, cv=2).fit(samples)
peak = re.search(r"VmHWM:\s+(\d+) kB", open("/proc/self/status").read())[1]
print(float(peak) * 1024 / 1e6, model.expected_score_)
"""
    done = subprocess.run([sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, check=True)
    peak, score = map(float, done.stdout.split())
    assert score > 0.9
    assert peak < 530


# --------------------------------------------------------------------------------------------------------------- pieces


def test_parts_are_disjoint_and_stratified():
    strata, has_weight = (np.arange(3000) % 10 == 0).astype(int), np.arange(3000) < 2900
    parts = divide(strata, strata, has_weight, 500, True, seed=3)
    used = np.concatenate(parts[:4])
    assert np.array_equal(np.sort(used), np.arange(2900))
    assert np.isin(parts.sample, parts.trained).all() and parts.sample.size == 500
    assert parts.testing.size == pytest.approx(2 * parts.judging.size, abs=2)
    for part in parts:
        assert np.array_equal(part, np.unique(part))
        assert strata[part].mean() == pytest.approx(0.1, abs=0.01)


@pytest.mark.parametrize("name", ["X.npy", "X.npz"])
def test_views_read_the_same_samples(folder, name):
    reader = metricwise.io.open(folder / name, block_rows=700)
    whole = X if name == "X.npy" else sparse.csr_matrix(np.where(X > 0.0, X, 0.0))
    chosen = np.sort(RNG.choice(np.flatnonzero((np.arange(3000) < 900) | (np.arange(3000) > 1800)), 800, replace=False))
    view = TransformedSamples(SelectedSamples(reader, chosen), lambda block: 2.0 * block[:, :4])
    expected = 2.0 * whole[chosen][:, :4]
    read = dict(view.blocks())
    assert list(read) == view.bounds[:-1].tolist() and view.shape == expected.shape
    stacked = sparse.vstack(list(read.values())).toarray() if view.is_sparse else np.concatenate(list(read.values()))
    np.testing.assert_array_equal(stacked, expected.toarray() if view.is_sparse else expected)
    backwards = dict(view.blocks(range(len(view.bounds) - 2, -1, -1)))
    assert list(backwards) == list(read)[::-1]
    samples = np.array([0, 3, 799])
    gathered = DiskSamples(view).gather(samples)
    np.testing.assert_array_equal(gathered.toarray() if view.is_sparse else gathered, stacked[samples])


@pytest.mark.parametrize(
    "learner",
    [
        LogisticRegression(C=0.3),
        LogisticRegression(C=2.0, class_weight="balanced"),
        LogisticRegression(C=0.3, solver="liblinear"),
        LinearSVC(C=0.01),
    ],
    ids=["lbfgs", "balanced", "liblinear", "svm"],
)
def test_smooth_linear_models_equal_those_of_scikit_learn(folder, learner):
    scale = np.where(np.arange(6) == 3, 0.01, 1.0)
    reader = TransformedSamples(open_samples(folder), lambda block: block * scale)
    weights = np.arange(3000) % 3 * 0.5
    start = type(learner)().fit((X * scale)[:500], Y[:500])
    found = fit_smooth(learner, reader, Y, weights, start)
    precise = type(learner)(**learner.get_params()).set_params(tol=1e-9, max_iter=100_000)
    expected = precise.fit(X * scale, Y, sample_weight=weights)
    np.testing.assert_allclose(found.coef_, expected.coef_, rtol=2e-3, atol=2e-3)
    np.testing.assert_allclose(found.intercept_, expected.intercept_, atol=4e-3)
    np.testing.assert_array_equal(found.predict(X[:50] * scale), expected.predict(X[:50] * scale))


@pytest.mark.parametrize("classes", [2, 3])
def test_lightgbm_of_blocks_equals_that_in_memory(folder, classes):
    pytest.importorskip("lightgbm")
    y = Y if classes == 2 else np.where(X[:, 2] > 1.0, "third", Y)
    settings = {"n_estimators": 10, "class_weight": "balanced"} if classes == 3 else {"n_estimators": 10}
    learner, samples = BoosterClassifier("lightgbm", settings), np.flatnonzero(np.arange(3000) % 7)
    weights = 1.0 + np.arange(3000) % 2
    stored, targets = DiskSamples(open_samples(folder)).select(samples, Targets(y, weights))
    found, n_samples = fit_on_disk(learner, stored.data, *targets, Offer(most=10_000))
    assert n_samples == samples.size
    expected = BoosterClassifier("lightgbm", settings).fit(X[samples], y[samples], weights[samples])
    np.testing.assert_allclose(found.predict_proba(NEW[:500]), expected.predict_proba(NEW[:500]), atol=1e-6)
    assert found.get_params() == learner.get_params()


def test_worse_models_of_all_samples_are_not_chosen(folder):
    """The ensemble of the sample stays if more samples give a model that knows nothing."""
    task = make_task(Y, None, get_measure("f1"), "yes")
    held_out = HeldOutSamples(DiskSamples(open_samples(folder)), Targets(Y, None), task, ThresholdRule(seed=0), -1.7)
    good, bad = LogisticRegression().fit(X, Y), DummyClassifier(strategy="uniform", random_state=0).fit(X, Y)
    calibration = Calibration(())
    of_sample = AveragedModels([good], [calibration], np.ones(1), -1.7)
    assert choose_models(held_out, np.arange(1000), of_sample, [bad]).models == [good]
    of_sample = AveragedModels([bad], [calibration], np.ones(1), -1.7)
    assert good in choose_models(held_out, np.arange(1000), of_sample, [good]).models
    assert choose_models(held_out, np.arange(1000), of_sample, []) is of_sample


# ---------------------------------------------------------------------------------------------------- time and memory


def make_training(folder, room=np.inf):
    return FullTraining(DiskSamples(open_samples(folder)), Targets(Y, None), np.unique(Y), 3000, room, 0)


def test_lightgbm_learns_from_as_many_samples_as_there_is_time_for(folder, monkeypatch):
    pytest.importorskip("lightgbm")
    reader, learner = open_samples(folder), BoosterClassifier("lightgbm", {"n_estimators": 200})
    paces = iter([Pace(0.0, 1e-3), Pace(0.0, 1.0)])  # of seconds per sample and round
    monkeypatch.setattr(boosters, "_measure_pace", lambda *_: next(paces))
    model, n_samples = fit_on_disk(learner, reader, Y, None, Offer(most=3000, fewest=100, seconds=100.0))
    assert 450 <= n_samples <= 500  # of which 100 rounds take half the time
    assert np.mean(model.predict(NEW) == NEW_Y) > 0.85
    assert fit_on_disk(learner, reader, Y, None, Offer(most=3000, fewest=100, seconds=100.0)) is None


def test_lightgbm_ends_early_where_time_runs_out(folder, monkeypatch):
    """Rounds that took longer than expected are kept."""
    pytest.importorskip("lightgbm")
    seconds = iter([0.0, *np.arange(0.0, 10.0, 0.1)])
    monkeypatch.setattr(boosters, "_measure_pace", lambda *_: Pace(0.0, 0.0))
    monkeypatch.setattr(boosters, "_count_affordable", lambda *_: 3000)
    monkeypatch.setattr(Clock, "seconds", lambda _: next(seconds))
    learner = BoosterClassifier("lightgbm", {"n_estimators": 200})
    model, _ = fit_on_disk(learner, open_samples(folder), Y, None, Offer(most=3000, seconds=1.0))
    assert 5 < model.learner_.n_estimators_ < 15
    assert model.learner_.booster_.current_iteration() == model.learner_.n_estimators_


def test_a_booster_that_the_sample_had_no_time_for_is_trained_on_all(folder):
    """It may be the best on all samples, and needs no model of the sample; on many more, its trees are larger."""
    run = CandidateRun(Candidate("lightgbm", BoosterClassifier("lightgbm", {"num_leaves": 3}), {"num_leaves": 3}))
    run.drop_for_time("1000 samples took more time than there was")
    final = SimpleNamespace(mixture=SimpleNamespace(runs=[]), trained=[], n_samples=500)
    selected = SimpleNamespace(final=final, outcome=SimpleNamespace(runs=[run]))
    (few,) = list_finalists(make_training(folder), selected, 2000)
    assert few.estimator.settings == {"num_leaves": 3} and few.model is None
    assert few.n_learnt == 0  # so that any number of samples is worth a training
    (many,) = list_finalists(make_training(folder), selected, 500)
    assert many.estimator.settings["num_leaves"] == 63 and "num_leaves=63" in many.title
    run.has_failed = True
    assert list_finalists(make_training(folder), selected, 500) == []


def test_a_candidate_that_was_not_compared_can_be_chosen():
    chosen, other = CandidateRun(Candidate("lightgbm", None)), CandidateRun(Candidate("linear", None))
    other.n_samples, other.n_folds, other.value, other.why_dropped = 1000, 3, 0.7, "adds nothing"
    mixture = Mixture([chosen], np.ones(1), 0.0, np.zeros(0), 0.8)
    text = explain_selection(FBeta(), [other, chosen], mixture, Expectation(0.8, (0.7, 0.9), 0.8), 5000, None)
    assert "3 folds of 1000 samples unless" in text
    assert "- lightgbm: chosen, not compared" in text and "- linear: 0.700, adds nothing" in text


def test_what_needs_too_much_memory_is_not_trained_on_all(folder, monkeypatch):
    training = make_training(folder, room=250_000.0)
    needed = [training.count_missing_bytes(one) for one in (MultivariateSVC(), LogisticRegression(), SGDClassifier())]
    assert needed == [350_000.0, 0.0, 0.0]
    monkeypatch.setattr(fitting, "find_room", lambda *_: 250_000.0)
    model = train(open_samples(folder, memory_limit=LITTLE), candidates={"svm": MultivariateSVC("f1", pos_label="yes")})
    assert "- svm: there was no memory to train it on all samples: that takes memory_limit='483MB'" in model.explain()
    assert model.score(NEW, NEW_Y) > 0.6


def test_labels_of_all_samples_are_what_opening_a_file_takes(tmp_path):
    """Training a linear machine takes more, and says so; model selection does not."""
    np.save(tmp_path / "X.npy", np.zeros((10**6, 1), dtype=np.float32))
    samples = metricwise.io.open(tmp_path / "X.npy", target=np.arange(10**6) % 2, memory_limit="400MB")
    with pytest.raises(ValueError, match=r"training takes 220 bytes per row.* at least memory_limit='5[45]\dMB'"):
        MultivariateSVC("f1").fit(samples)
    with pytest.raises(ValueError, match=r"labels and the like take 30 bytes per row.* memory_limit='3[56]\dMB'"):
        metricwise.io.open(tmp_path / "X.npy", memory_limit="330MB")


class LinearModelOfDask(BaseEstimator):
    """Like those of dask-ml, it does not say which classes it has learnt."""

    __module__ = "dask_ml.linear_model"

    def fit(self, X, y):
        return self


def test_learners_made_for_dask_know_their_classes():
    assert fit_copy(LinearModelOfDask(), X, Y, None).classes_.tolist() == ["no", "yes"]
