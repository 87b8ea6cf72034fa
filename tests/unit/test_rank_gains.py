"""Average precision, NDCG and reciprocal rank: values, training, certificates and model selection."""

from __future__ import annotations

import warnings
from itertools import combinations

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, label_ranking_average_precision_score, ndcg_score

import metricwise as mw
from metricwise.measures.rank_gains import sum_discounts
from tests.properties.test_oracles_rank_gains import OwnGain

NAMES = ["average_precision", "ndcg", "reciprocal_rank"]
each_name = pytest.mark.parametrize("name", NAMES)


def make_samples(n_samples=60, n_features=3, seed=0, share=0.3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_samples, n_features))
    leaning = X[:, 0] + 0.5 * X[:, 1] + rng.normal(size=n_samples)
    return X, (leaning > np.quantile(leaning, 1 - share)).astype(int)


X, Y = make_samples()


# --------------------------------------------------------------------------------------------------------------- values
def make_scores(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 60))
    y = np.append(rng.integers(0, 2, n - 1), 1)
    scores = rng.normal(size=n) if seed % 2 else rng.integers(0, 5, n).astype(float)
    return y, scores, rng


@pytest.mark.parametrize("seed", range(40))
def test_values_equal_those_of_sklearn(seed):
    y, scores, rng = make_scores(seed)
    weights, k = rng.uniform(0.1, 2.0, y.size), int(rng.integers(1, 70))
    precision = mw.AveragePrecision()
    assert precision.score(y, scores) == pytest.approx(average_precision_score(y, scores), abs=1e-12)
    weighted = average_precision_score(y, scores, sample_weight=weights)
    assert precision.score(y, scores, weights) == pytest.approx(weighted, abs=1e-12)
    assert mw.NDCG().score(y, scores) == pytest.approx(ndcg_score([y], [scores]), abs=1e-12)
    assert mw.NDCG(k).score(y, scores) == pytest.approx(ndcg_score([y], [scores], k=k), abs=1e-12)
    alone = np.arange(y.size) == rng.integers(y.size)
    expected = label_ranking_average_precision_score([alone], [scores])
    assert mw.ReciprocalRank().score(alone, scores) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("measure", [*map(mw.get_measure, NAMES), mw.NDCG(4)], ids=repr)
@pytest.mark.parametrize("seed", range(6))
def test_whole_weights_equal_repeated_samples(measure, seed):
    y, scores, rng = make_scores(seed)
    copies = rng.integers(1, 4, y.size)
    repeated = measure.score(np.repeat(y, copies), np.repeat(scores, copies))
    assert measure.score(y, scores, copies) == pytest.approx(repeated, abs=1e-12)


@pytest.mark.parametrize("measure", [*map(mw.get_measure, NAMES), mw.NDCG(4)], ids=repr)
def test_values_of_one_class_and_of_best_and_worst_rankings(measure):
    assert measure.score([0, 0, 0], [1.0, 2.0, 2.0]) == 0.0
    assert measure.score([1, 1, 1], [1.0, 2.0, 2.0]) == pytest.approx(1.0)
    truth = np.arange(20) < 3
    assert measure.score(truth, -np.arange(20.0)) == pytest.approx(1.0)
    order = np.arange(1, 4)
    if measure != mw.NDCG(4):
        worst = float(np.sum(measure.rank_gain(order, order + 17, 3)))
        assert measure.score(truth, np.arange(20.0) + 50.0 * ~truth) == pytest.approx(worst, abs=1e-12)


def test_sums_of_many_discounts_equal_the_listed_ones():
    ranks = np.array([1.0, 2.0**20, 2.0**20 + 0.5, 1.5e6])
    listed = np.cumsum(1.0 / np.log2(np.arange(2.0, 1.5e6 + 2.0)))
    expected = [listed[0], listed[2**20 - 1], 0.5 * (listed[2**20 - 1] + listed[2**20]), listed[-1]]
    np.testing.assert_allclose(sum_discounts(ranks), expected, rtol=1e-12)


@pytest.mark.parametrize("k", [0, -1, 2.5, True, "ten"])
def test_other_numbers_of_ranks_are_refused(k):
    with pytest.raises(ValueError, match="k must be a positive integer"):
        mw.NDCG(k)


# ------------------------------------------------------------------------------------------------------------- training
def worst_violation(measure, y, scores):
    """Return the slack by its definition: the largest violation over all ranks of the positives."""
    pos, neg = np.sort(scores[y == 1])[::-1], np.sort(scores[y == 0])[::-1]
    order = np.arange(1, pos.size + 1)
    sums = np.append(0.0, np.cumsum(neg))
    values = []
    for ranks in combinations(range(1, y.size + 1), pos.size):
        above = np.array(ranks) - order
        swapped = float((above * pos).sum() - sums[above].sum())
        gain = float(np.sum(measure.rank_gain(order, np.array(ranks), pos.size)))
        values.append(1.0 - gain - swapped / (pos.size * neg.size))
    return max(values)


@pytest.mark.parametrize("measure", [*map(mw.get_measure, NAMES), OwnGain()], ids=lambda measure: measure.name)
def test_the_objective_equals_that_of_a_generic_solver(measure):
    few, y = make_samples(n_samples=9, n_features=2, seed=1)
    model = mw.MultivariateSVC(measure, C=0.05, threshold=0.0, tol=1e-7).fit(few, y)
    u = measure.mistakes_per_loss(y.sum(), y.size - y.sum())

    def objective(w):
        return 0.5 * w @ w + 0.05 * u * worst_violation(measure, y, few @ w)

    settings = {"xatol": 1e-9, "fatol": 1e-12, "maxiter": 400}
    found = minimize(objective, model.coef_[0] + 0.1, method="Nelder-Mead", options=settings)
    certificate = model.result_.certificate
    assert objective(model.coef_[0]) == pytest.approx(certificate.upper, rel=1e-9)
    assert certificate.lower <= found.fun + 1e-12
    assert certificate.upper <= found.fun * (1.0 + 1e-6)
    again = mw.certify(model, few, y)
    assert (again.upper, again.lower) == pytest.approx((certificate.upper, certificate.lower), rel=1e-7)


@each_name
def test_training_raises_the_measure_it_is_trained_for(name):
    model = mw.MultivariateSVC(name, C=0.1).fit(X, Y)
    flipped = -model.decision_function(X)
    assert model.score(X, Y) > mw.get_measure(name).score(Y, flipped) + 0.1
    assert model.score(X, Y) == mw.get_measure(name).score(Y, model.decision_function(X))
    assert 1.0 - model.score(X, Y) <= model.result_.certificate.loss_bound
    assert 0 < model.predict(X).sum() < Y.size


@each_name
@pytest.mark.parametrize(
    "storage", [sparse.csr_array, np.asfortranarray, np.float32], ids=["sparse", "columns", "float32"]
)
def test_other_designs_give_the_same_optimum(name, storage):
    rounded = np.round(8 * X) / 8
    dense = mw.AUCSVC(measure=name, C=0.1, threshold=0.0, tol=1e-6).fit(rounded, Y)
    other = mw.AUCSVC(measure=name, C=0.1, threshold=0.0, tol=1e-6).fit(storage(rounded), Y)
    assert other.result_.certificate.upper == pytest.approx(dense.result_.certificate.upper, rel=1e-5)
    assert mw.certify(other, storage(rounded), Y).relative <= 2e-6


@each_name
@pytest.mark.parametrize("approximation", ["exact", "nystroem"])
def test_kernels_are_certified(name, approximation):
    settings = {"kernel": "rbf", "approximation": approximation, "n_basis": 30}
    model = mw.MultivariateSVC(name, C=0.1, threshold=0.0, **settings).fit(X, Y)
    again = mw.certify(model, X, Y)
    assert again.upper == pytest.approx(model.result_.certificate.upper, rel=1e-6)


@each_name
def test_whole_sample_weights_are_copies(name):
    copies = np.random.default_rng(0).integers(0, 4, Y.size)
    weighted = mw.MultivariateSVC(name, C=0.1, threshold=0.0, tol=1e-6).fit(X, Y, sample_weight=copies)
    repeated = mw.MultivariateSVC(name, C=0.1, threshold=0.0, tol=1e-6).fit(
        np.repeat(X, copies, 0), np.repeat(Y, copies)
    )
    assert weighted.result_.certificate.upper == pytest.approx(repeated.result_.certificate.upper, rel=1e-5)
    assert mw.certify(weighted, X, Y, sample_weight=copies).relative <= 2e-6


@each_name
def test_fractional_weights_are_refused(name):
    for model, weights in (
        (mw.MultivariateSVC(name), np.linspace(0.5, 2.0, Y.size)),
        (mw.AUCSVC(measure=name), np.full(Y.size, 0.5)),
        (mw.MultivariateSVC(name, class_weight="balanced"), None),
    ):
        with pytest.raises(ValueError, match=f"'{name}' is trained with sample weights that are whole numbers"):
            model.fit(X, Y, sample_weight=weights)


def test_a_cut_off_gain_is_evaluated_but_not_trained_for():
    with pytest.raises(
        ValueError, match=r"NDCG\(k=5\) cannot be trained for.*not convex in the rank.*Train for.*'ndcg'"
    ):
        mw.MultivariateSVC("ndcg@5").fit(X, Y)
    model = mw.MultivariateSVC("ndcg", C=0.1).fit(X, Y)
    scores = model.decision_function(X)
    assert mw.NDCG(5).score(Y, scores) == pytest.approx(ndcg_score([Y], [scores], k=5))


@each_name
def test_estimators_that_cannot_train_for_it_say_so(name):
    with pytest.raises(TypeError, match="SmoothedSVC takes: accuracy"):
        mw.SmoothedSVC(name).fit(X, Y)
    with pytest.raises(ValueError, match="norm=1 and pairs='exact' to train for it"):
        mw.AUCSVC(measure=name, norm=2).fit(X, Y)
    with pytest.raises(TypeError, match="AMPClassifier takes"):
        mw.AMPClassifier(name).fit(X, Y)


@each_name
def test_mini_batches_are_trained_for_it(name):
    many, y = make_samples(n_samples=600, seed=3)
    model = mw.MiniBatchSVC(name, random_state=0).fit(many, y)
    assert mw.RocAuc().score(y, model.decision_function(many)) > 0.7


def test_the_positive_class_may_have_any_name():
    plain = mw.MultivariateSVC("average_precision", C=0.1, threshold=0.0, tol=1e-6).fit(X, Y)
    named = mw.MultivariateSVC("average_precision", C=0.1, threshold=0.0, tol=1e-6, pos_label="no")
    named.fit(X, np.where(Y == 1, "no", "yes"))
    assert named.result_.certificate.upper == pytest.approx(plain.result_.certificate.upper, rel=1e-5)


# ------------------------------------------------------------------------------------- wrappers, selection, model files
@each_name
def test_plug_in_classifiers_report_it(name):
    model = mw.PlugInClassifier(LogisticRegression(), name).fit(X, Y)
    low, high = model.expected_score_interval_
    assert 0.0 <= low <= model.expected_score_ <= high <= 1.0
    assert model.score(X, Y) == pytest.approx(mw.get_measure(name).score(Y, model.decision_function(X)))


@each_name
def test_model_selection_selects_by_it(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = mw.MetricClassifier(name, candidates=["logistic", "auc_svm"], random_state=0).fit(X, Y)
    low, high = model.expected_score_interval_
    assert 0.0 <= low <= model.expected_score_ <= high <= 1.0
    assert model.score(X, Y) > 0.3


@pytest.mark.parametrize("measure", [mw.AveragePrecision(), mw.NDCG(), mw.ReciprocalRank()], ids=repr)
def test_models_are_saved_with_it(measure, tmp_path):
    model = mw.MultivariateSVC(measure, C=0.1, threshold=0.0).fit(X, Y)
    mw.save(model, tmp_path / "model.mw")
    loaded = mw.load(tmp_path / "model.mw")
    assert loaded.measure == measure and loaded.score(X, Y) == model.score(X, Y)
    assert mw.certify(loaded, X, Y) == mw.certify(model, X, Y)


def test_a_measure_with_a_number_of_ranks_is_saved(tmp_path):
    model = mw.PlugInClassifier(LogisticRegression(), mw.NDCG(k=10)).fit(X, Y)
    mw.save(model, tmp_path / "model.mw")
    assert mw.load(tmp_path / "model.mw").measure == mw.NDCG(k=10)
