"""Where the surrogate of a measure is degenerate, a weighted accuracy is trained for, openly."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score

import metricwise
from metricwise import (
    AMPClassifier,
    DegenerateOptimumWarning,
    FeatureSelectingSVC,
    MultivariateSVC,
    PlugInClassifier,
    SmoothedSVC,
    SparseCodingClassifier,
    Status,
    certify,
)

pytestmark = pytest.mark.filterwarnings("ignore::metricwise.DegenerateOptimumWarning")


def make_rare(n_samples, share, seed, shift=1.0, n_features=10):
    """Return overlapping classes with few positives, on which the surrogate of F1 is degenerate."""
    random = np.random.default_rng(seed)
    y = (random.random(n_samples) < share).astype(int)
    X = random.normal(size=(n_samples, n_features))
    X[:, :3] += shift * y[:, None]
    return X, y


X, Y = make_rare(6000, 0.02, seed=0)
TRAIN, TEST = slice(None, 3000), slice(3000, None)


@pytest.fixture(scope="module")
def model():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return MultivariateSVC("f1").fit(X[TRAIN], Y[TRAIN])


def test_a_degenerate_surrogate_falls_back_with_one_warning():
    with pytest.warns(DegenerateOptimumWarning) as caught:
        model = MultivariateSVC("f1").fit(X[TRAIN], Y[TRAIN])
    (message,) = [str(one.message) for one in caught if one.category is DegenerateOptimumWarning]
    assert "the surrogate of 'f1' is degenerate" in message and "accuracy with" in message and "fallback" in message
    assert model.result_.status is Status.FALLBACK
    assert model.result_.fallback.positive_weight > 1.0
    assert model.result_.fallback.degenerate.status is Status.DEGENERATE


def test_the_fallback_is_about_as_good_as_a_logistic_regression():
    """Without it, F1 is that of predicting at random; measured on three shares of positives."""
    gains, losses = [], []
    for share in (0.005, 0.01, 0.03):
        data, y = make_rare(8000, share, seed=1)
        machine = MultivariateSVC("f1").fit(data[:4000], y[:4000])
        useless = MultivariateSVC("f1", threshold=0.0).fit(data[:4000], y[:4000])
        plug_in = PlugInClassifier(LogisticRegression(), "f1").fit(data[:4000], y[:4000])
        assert machine.result_.status is Status.FALLBACK
        own, before, peer = (one.score(data[4000:], y[4000:]) for one in (machine, useless, plug_in))
        gains.append(own - before)
        losses.append(peer - own)
    assert np.mean(gains) > 0.05 and np.mean(losses) < 0.05


@pytest.mark.parametrize("make", [AMPClassifier, SmoothedSVC])
def test_other_machines_fall_back_where_they_are_degenerate(make):
    # Positives and negatives share their mean without the first feature, and the intercept is not to help.
    random = np.random.default_rng(0)
    y = np.repeat([1, 0], [30, 970])
    data = random.normal(size=(1000, 4))
    data[:30] = data[30:60] + 0.1 * random.normal(size=(30, 4))
    data[:30, 0] += 0.5
    found = make("prbep" if make is SmoothedSVC else "f1", fit_intercept=False).fit(data, y)
    assert found.result_.status in (Status.FALLBACK, Status.OPTIMAL)
    assert np.any(found.coef_ != 0.0)
    assert certify(found, data, y).relative <= 2e-3


def test_feature_selection_falls_back():
    data, y = make_rare(1600, 0.04, seed=2)
    with pytest.warns(DegenerateOptimumWarning, match="accuracy with"):
        found = FeatureSelectingSVC("f1", n_features=3, cv=2).fit(data[:800], y[:800])
    assert found.result_.status is Status.FALLBACK
    assert found.support_.tolist() == [True] * 3 + [False] * 7  # the features that differ between the classes
    assert found.score(data[800:], y[800:]) > 0.2  # predicting all positive has 0.08
    assert certify(found, data[:800], y[:800]).relative <= 2e-3


def test_sparse_coding_falls_back():
    data, y = make_rare(2000, 0.03, seed=0, n_features=4)
    with pytest.warns(DegenerateOptimumWarning, match="accuracy with"):
        found = SparseCodingClassifier("f1", n_atoms=8, cv=2, tol=0.05).fit(data[:1000], y[:1000])
    assert found.result_.status is Status.FALLBACK
    assert found.dictionary_.shape == (8, 4)
    assert found.score(data[1000:], y[1000:]) > 0.2  # predicting all positive has 0.06


def test_every_problem_of_several_classes_falls_back_on_its_own():
    random = np.random.default_rng(0)
    y = random.choice(3, 4000, p=(0.91, 0.05, 0.04))
    data = random.normal(size=(4000, 6))
    data[:, :2] += 1.1 * (y == 1)[:, None]
    data[:, 2:5] += 1.1 * (y == 2)[:, None]
    with pytest.warns(DegenerateOptimumWarning) as caught:
        found = MultivariateSVC("f1", cv=3).fit(data[:2000], y[:2000])
    (message,) = [str(one.message) for one in caught if one.category is DegenerateOptimumWarning]
    assert "in 2 of 3 problems" in message and "with up to" in message
    assert [result.status for result in found.result_] == [Status.OPTIMAL, Status.FALLBACK, Status.FALLBACK]
    by_class = f1_score(y[2000:], found.predict(data[2000:]), average=None)
    assert by_class.min() > 0.2  # of degenerate scores: 0.0
    assert max(one.relative for one in certify(found, data[:2000], y[:2000])) <= 2e-3


def test_the_fallback_is_certified(model):
    assert certify(model, X[TRAIN], Y[TRAIN]).relative <= 1.01e-3
    weights = np.where(Y[TRAIN] == 1, model.result_.positive_weight, 1.0)
    weights *= weights.size / weights.sum()
    plain = MultivariateSVC("accuracy", threshold=0.0).fit(X[TRAIN], Y[TRAIN], sample_weight=weights)
    np.testing.assert_allclose(model.result_.certificate.upper, plain.result_.certificate.upper, rtol=2e-3)
    forged = MultivariateSVC("f1").set_params(**model.get_params())
    vars(forged).update(vars(model) | {"coef_": model.coef_ + 0.1})
    with pytest.raises(ValueError, match="coef_"):
        certify(forged, X[TRAIN], Y[TRAIN])


def test_model_files_keep_the_fallback(model, tmp_path):
    metricwise.save(model, tmp_path / "model.mw")
    loaded = metricwise.load(tmp_path / "model.mw")
    assert loaded.result_.status is Status.FALLBACK
    assert loaded.result_.positive_weight == model.result_.positive_weight
    assert loaded.result_.fallback.degenerate.certificate == model.result_.fallback.degenerate.certificate
    np.testing.assert_array_equal(loaded.predict(X[TEST]), model.predict(X[TEST]))
    assert certify(loaded, X[TRAIN], Y[TRAIN]).relative <= 1.01e-3


def test_a_threshold_of_the_user_and_rankings_do_not_fall_back():
    with pytest.warns(DegenerateOptimumWarning, match="Set threshold='cv'"):
        fixed = MultivariateSVC("f1", threshold=0.0).fit(X[TRAIN], Y[TRAIN])
    assert fixed.result_.status is Status.DEGENERATE
    with pytest.warns(DegenerateOptimumWarning, match="Set score_bins=None and threshold='cv'"):
        binned = MultivariateSVC("f1", threshold="train", score_bins=64).fit(X[TRAIN], Y[TRAIN])
    assert binned.result_.status is Status.DEGENERATE
    assert MultivariateSVC("roc_auc").fit(X[TRAIN], Y[TRAIN]).result_.status is Status.OPTIMAL


def test_features_that_say_nothing_stay_degenerate():
    y = np.repeat([1, 0], [20, 180])
    model = MultivariateSVC("f1", fit_intercept=False).fit(np.zeros((200, 3)), y)
    assert model.result_.status is Status.DEGENERATE


def test_the_fallback_depends_on_weights_as_on_copies():
    data, y = make_rare(800, 0.04, seed=3)
    weights = np.random.default_rng(0).integers(1, 3, y.size)
    cv = [(np.arange(800), np.arange(800))]
    weighted = MultivariateSVC("f1", threshold="train", cv=cv, tol=1e-6).fit(data, y, sample_weight=weights)
    copies = np.repeat(np.arange(800), weights)
    copied = MultivariateSVC("f1", threshold="train", tol=1e-6).fit(data[copies], y[copies])
    assert weighted.result_.status is copied.result_.status is Status.FALLBACK
    assert weighted.result_.positive_weight == pytest.approx(copied.result_.positive_weight)
    np.testing.assert_allclose(weighted.coef_, copied.coef_, atol=1e-2)
