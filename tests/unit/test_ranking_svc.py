"""RankingSVC: objective, certificate, queries, weights, limits and errors."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy import sparse
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GroupKFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import metricwise as mw
from metricwise import NDCG, MultivariateSVC, RankingSVC, certify
from metricwise.results import DegenerateOptimumWarning
from tests.properties.test_oracles_rank_gains import OwnGain

RNG = np.random.default_rng(0)
X = np.round(RNG.normal(size=(240, 4)), 3)
GROUPS = RNG.permutation(np.repeat([f"q{number}" for number in range(24)], 10))
GRADES = np.clip(np.round(X @ [1.0, -0.5, 0.0, 0.5] + 0.7 * RNG.normal(size=240)), 0, 3)
RELEVANT = GRADES > 1.0
CASES = [
    ("ndcg", GRADES),
    (NDCG(gain="exponential"), GRADES),
    ("ndcg", RELEVANT),
    ("average_precision", RELEVANT),
    ("reciprocal_rank", RELEVANT),
    (OwnGain(), RELEVANT),
]
each_case = pytest.mark.parametrize(("measure", "y"), CASES, ids=[f"{m} {y.dtype}" for m, y in CASES])


def solve_by_slsqp(measure, X, y, groups, C):
    """Return the least objective, by a general solver and one constraint per ranking of a list, from the definition."""
    lists, u = [], 0.0
    n_queries = sum(np.unique(y[groups == query]).size > 1 for query in np.unique(groups))
    for query in np.unique(groups):
        own = np.flatnonzero(groups == query)
        gains = np.asarray(y[own], dtype=float)
        if np.unique(gains).size < 2:
            continue
        u += own.size
        ideal = np.sort(gains)[::-1] @ (1.0 / np.log2(np.arange(own.size) + 2.0))
        for below, gain in zip(np.r_[0.0, np.unique(gains)], np.unique(gains), strict=False):
            positive = gains >= gain
            if gain == 0.0 or positive.all():
                continue
            is_ndcg = isinstance(measure, NDCG)
            best = (1.0 / np.log2(np.arange(positive.sum()) + 2.0)).sum()
            share = (gain - below) * best / ideal if is_ndcg else 1.0
            rows = set()
            for order in permutations(range(own.size)):
                truth = positive[list(order)]
                ranks = np.flatnonzero(truth) + 1
                loss = 1.0 - measure.rank_gain(np.arange(1, ranks.size + 1), ranks, ranks.size).sum()
                place = np.argsort(order)
                swapped = place[positive][:, None] > place[~positive]
                c = np.zeros(own.size)
                c[positive], c[~positive] = -swapped.sum(axis=1), swapped.sum(axis=0)
                rows.add((loss, *(c / swapped.size)))
            lists.append((share / n_queries, own, np.array(sorted(rows))))
    n = X.shape[1]
    shares = np.array([share for share, *_ in lists])
    constant = np.concatenate([rows[:, 0] for *_, rows in lists])
    matrix = np.concatenate(
        [
            np.column_stack([-rows[:, 1:] @ X[own], np.tile(np.eye(len(lists))[k], (len(rows), 1))])
            for k, (_, own, rows) in enumerate(lists)
        ]
    )
    objective = lambda z: 0.5 * z[:n] @ z[:n] + C * u * shares @ z[n:]
    gradient = lambda z: np.r_[z[:n], C * u * shares]
    constraint = {"type": "ineq", "fun": lambda z: matrix @ z - constant, "jac": lambda z: matrix}
    start = np.r_[np.zeros(n), np.ones(len(lists))]
    found = minimize(objective, start, jac=gradient, constraints=[constraint], method="SLSQP", options={"ftol": 1e-12})
    assert found.success, found.message
    return found.fun


DIFFERENT = [(measure, y) for measure, y in CASES if measure != "ndcg" or y is GRADES]


@pytest.mark.parametrize(("measure", "y"), DIFFERENT, ids=[str(measure) for measure, _ in DIFFERENT])
def test_the_objective_is_that_of_a_general_solver(measure, y):
    few = np.concatenate([np.flatnonzero(f"q{number}" == GROUPS)[:4] for number in range(4)])
    measure = mw.get_measure(measure)
    model = RankingSVC(measure, C=0.2, tol=1e-7).fit(X[few, :2], y[few], groups=GROUPS[few])
    gains = 2.0 ** y[few] - 1.0 if measure == NDCG(gain="exponential") else y[few]
    least = solve_by_slsqp(measure, X[few, :2], np.asarray(gains, float), GROUPS[few], 0.2)
    assert model.result_.certificate.upper == pytest.approx(least, rel=1e-5)


@each_case
@pytest.mark.parametrize("store", [np.asarray, sparse.csr_array, np.asfortranarray], ids=lambda store: store.__name__)
def test_certify_confirms_the_bounds(measure, y, store):
    model = RankingSVC(measure, C=0.1).fit(store(X), y, groups=GROUPS)
    own, found = model.result_.certificate, certify(model, store(X), y, groups=GROUPS)
    assert (found.upper, found.lower) == pytest.approx((own.upper, own.lower), rel=1e-8)
    assert own.relative <= 1.01e-3 and model.result_.status is mw.Status.OPTIMAL
    lost = 1.0 - np.mean(list(_values(model, y).values()))
    assert own.loss_bound >= lost


def _values(model, y):
    """Return the measure of every query that was trained on."""
    ranked = [query for query in np.unique(GROUPS) if np.unique(y[query == GROUPS]).size > 1]
    assert len(ranked) == model.n_queries_
    scores = model.predict(X)
    return {query: model.measure_.score(y[query == GROUPS], scores[query == GROUPS]) for query in ranked}


def test_certify_refuses_other_data():
    model = RankingSVC(C=0.1).fit(X, GRADES, groups=GROUPS)
    with pytest.raises(ValueError, match="groups has 2 entries for 240 samples"):
        certify(model, X, GRADES, groups=GROUPS[:2])
    with pytest.raises(ValueError, match="which must not be negative"):
        certify(model, X, GRADES - 3.0, groups=GROUPS)
    with pytest.raises(ValueError, match="no query has samples of two grades"):
        certify(model, X, np.zeros(240), groups=GROUPS)
    with pytest.raises(ValueError, match="takes the relevances 0 and 1"):
        certify(RankingSVC("reciprocal_rank").fit(X, RELEVANT, groups=GROUPS), X, GRADES, groups=GROUPS)
    assert certify(model, X, GRADES).upper > 1.01 * model.result_.certificate.upper  # one query is another problem
    model.coef_ = 2.0 * model.coef_
    with pytest.raises(ValueError, match="predicts with other weights"):
        certify(model, X, GRADES, groups=GROUPS)


@pytest.mark.parametrize("measure", ["ndcg", "average_precision", "reciprocal_rank"])
def test_one_query_of_two_grades_is_the_problem_of_multivariate_svc(measure):
    one = RankingSVC(measure, C=0.1, tol=1e-5).fit(X, RELEVANT)
    other = MultivariateSVC(measure, C=0.1, tol=1e-5, threshold=0.0).fit(X, RELEVANT)
    assert one.result_.certificate.upper == pytest.approx(other.result_.certificate.upper, rel=2e-5)
    np.testing.assert_allclose(one.coef_, other.coef_, atol=0.05)
    assert one.score(X, RELEVANT) == pytest.approx(other.score(X, RELEVANT), abs=0.01)


def test_weights_of_queries_are_copies_of_them():
    weights = np.where(GROUPS < "q2", 2.0, 1.0) * (GROUPS != "q23")
    weighted = RankingSVC(C=0.1, tol=1e-6).fit(X, GRADES, sample_weight=weights, groups=GROUPS)
    kept = np.repeat(np.arange(240), weights.astype(int))
    second = np.r_[False, kept[1:] == kept[:-1]]
    names = np.where(second, "again " + GROUPS[kept].astype(object), GROUPS[kept])
    repeated = RankingSVC(C=0.1, tol=1e-6).fit(X[kept], GRADES[kept], groups=names)
    assert weighted.result_.certificate.upper == pytest.approx(repeated.result_.certificate.upper, rel=2e-6)
    assert certify(weighted, X, GRADES, weights, groups=GROUPS).upper == pytest.approx(
        weighted.result_.certificate.upper, rel=1e-9
    )


def test_the_score_weighs_queries():
    model, weights = RankingSVC(C=0.1).fit(X, GRADES, groups=GROUPS), np.where(GROUPS < "q2", 3.0, 0.0)
    some = GROUPS < "q2"
    expected = model.score(X[some], GRADES[some], groups=GROUPS[some])
    assert model.score(X, GRADES, weights, groups=GROUPS) == pytest.approx(expected, abs=1e-12)
    with pytest.raises(ValueError, match="different weights"):
        model.score(X, GRADES, np.arange(240.0), groups=GROUPS)


def test_queries_that_no_order_changes_are_left_out():
    flat = np.isin(GROUPS, ["q3", "q4"])
    y = np.where(GROUPS == "q3", 0.0, np.where(GROUPS == "q4", 2.0, GRADES))
    model = RankingSVC(C=0.1).fit(X, y, groups=GROUPS)
    without = RankingSVC(C=0.1).fit(X[~flat], y[~flat], groups=GROUPS[~flat])
    np.testing.assert_allclose(model.coef_, without.coef_, rtol=1e-9)
    assert model.n_queries_ == without.n_queries_ == 22


def test_predictions_are_scores_and_the_score_is_a_mean_over_queries():
    model = RankingSVC(C=0.1).fit(X, GRADES, groups=GROUPS)
    scores = model.predict(X)
    assert np.array_equal(scores, model.decision_function(X))
    np.testing.assert_allclose(scores, X @ model.coef_[0], atol=1e-12)
    assert model.score(X, GRADES, groups=GROUPS) == mw.score_queries("ndcg", GRADES, scores, GROUPS)
    assert model.score(X, GRADES, groups=GROUPS) > 0.85
    assert np.array_equal(model.predict(sparse.csr_matrix(X)), scores) or np.allclose(
        model.predict(sparse.csr_matrix(X)), scores
    )


def test_threads_and_the_order_of_samples_do_not_matter():
    n_samples = 6000
    rng = np.random.default_rng(1)
    big, queries = rng.normal(size=(n_samples, 40)), np.arange(n_samples) // 12
    y = np.clip(np.round(big[:, 0] + rng.normal(size=n_samples)), 0, 3)
    one, two = (RankingSVC(C=0.01, n_jobs=n).fit(big, y, groups=queries) for n in (1, 2))
    assert np.array_equal(one.coef_, two.coef_)
    model = RankingSVC(C=0.1, tol=1e-6).fit(X, GRADES, groups=GROUPS)
    order = rng.permutation(240)
    other = RankingSVC(C=0.1, tol=1e-6).fit(X[order], GRADES[order], groups=GROUPS[order])
    assert other.result_.certificate.upper == pytest.approx(model.result_.certificate.upper, rel=2e-6)


def test_many_queries_start_from_some_of_them():
    rng = np.random.default_rng(2)
    n_samples = 90_000
    big, queries = rng.normal(size=(n_samples, 2)), np.arange(n_samples) // 10
    y = (big[:, 0] + rng.normal(size=n_samples) > 1.0).astype(int)
    model = RankingSVC(C=1e-3).fit(big, y, groups=queries)
    assert model.result_.status is mw.Status.OPTIMAL and model.n_iter_ < 10
    assert certify(model, big, y, groups=queries).relative <= 1.01e-3


def test_labels_and_queries_come_in_any_form():
    expected = RankingSVC(C=0.1).fit(X, RELEVANT.astype(int), groups=GROUPS)
    codes = np.unique(GROUPS, return_inverse=True)[1]
    frame = pd.DataFrame(X, columns=list("abcd"))
    for samples, y, groups in (
        (X, RELEVANT, GROUPS.tolist()),
        (X, np.where(RELEVANT, 1, -1), codes),
        (frame, pd.Series(RELEVANT.astype(float)), pd.Series(codes, dtype="Int64")),
        (X, RELEVANT, GROUPS.astype(object)),
    ):
        found = RankingSVC(C=0.1).fit(samples, y, groups=groups)
        np.testing.assert_allclose(found.coef_, expected.coef_, atol=1e-9)
    assert found.n_features_in_ == 4


@pytest.mark.parametrize(
    ("parameters", "data", "error", "message"),
    [
        ({}, {"y": GRADES - 1.0}, ValueError, r"y holds relevances, which must not be negative, but y\[\d+\] is -1"),
        ({}, {"y": GRADES.astype(str)}, ValueError, "y must be real numbers"),
        ({}, {"y": np.where(GRADES > 2, np.nan, GRADES)}, ValueError, "NaN"),
        ({}, {"y": np.zeros(240)}, ValueError, "none of the 24 queries has both a relevant and an irrelevant sample"),
        ({}, {"groups": np.arange(240)}, ValueError, "none of the 240 queries has both"),
        ({}, {"groups": GROUPS[:5]}, ValueError, "groups has 5 entries for 240 samples"),
        ({}, {"groups": np.where(GROUPS == "q1", None, GROUPS)}, ValueError, r"groups\[\d+\] is missing"),
        ({}, {"sample_weight": np.arange(240.0)}, ValueError, r"samples of query 'q\d+' have different weights"),
        ({}, {"sample_weight": np.arange(240.0), "groups": None}, ValueError, "the samples have different weights"),
        ({}, {"sample_weight": np.zeros(240)}, ValueError, "zero|weights"),
        (
            {"measure": "average_precision"},
            {},
            ValueError,
            "'average_precision' takes the relevances 0 and 1, and y has",
        ),
        ({"measure": "f1"}, {}, TypeError, "'f1' lacks what RankingSVC needs"),
        ({"measure": NDCG(k=3)}, {}, ValueError, r"NDCG\(k=3\) cannot be trained for"),
        ({"C": 0.0}, {}, ValueError, "The 'C' parameter"),
    ],
)
def test_bad_input_gets_one_clear_error(parameters, data, error, message):
    given = {"y": GRADES, "groups": GROUPS} | data
    with pytest.raises(error, match=message):
        RankingSVC(**parameters).fit(X, **given)


def test_a_failed_fit_leaves_the_model_as_it_was():
    model = RankingSVC(C=0.1).fit(X, GRADES, groups=GROUPS)
    before = model.coef_.copy()
    with pytest.raises(ValueError, match="negative"):
        model.fit(X[:, :2], GRADES - 1.0, groups=GROUPS)
    assert np.array_equal(model.coef_, before) and model.n_features_in_ == 4


def test_limits_and_callbacks_end_training():
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        model = RankingSVC(C=10.0, max_iter=1).fit(X, GRADES, groups=GROUPS)
    assert model.result_.status is mw.Status.MAX_ITER and model.n_iter_ == 1
    entries = []
    stopped = RankingSVC(C=10.0, callback=lambda entry: entries.append(entry) or len(entries) == 2)
    assert stopped.fit(X, GRADES, groups=GROUPS).result_.status is mw.Status.STOPPED and len(entries) == 2
    with pytest.warns(ConvergenceWarning, match="max_seconds"):
        RankingSVC(C=10.0, max_seconds=1e-9).fit(X, GRADES, groups=GROUPS)
    with pytest.warns(DegenerateOptimumWarning):
        RankingSVC().fit(np.zeros((240, 1)), GRADES, groups=GROUPS)


def test_training_resumes_from_its_checkpoint(tmp_path):
    def interrupt(entry):
        if entry.iteration == 3:
            raise InterruptedError

    path = tmp_path / "run"
    model = RankingSVC(C=1.0, checkpoint=path, callback=interrupt)
    with pytest.raises(InterruptedError):
        model.fit(X, GRADES, groups=GROUPS)
    assert path.exists()
    with pytest.raises(ValueError, match="belongs to another training"):
        RankingSVC(C=1.0, checkpoint=path).fit(X, GRADES, groups=GROUPS[::-1])
    resumed = RankingSVC(C=1.0, checkpoint=path).fit(X, GRADES, groups=GROUPS)
    assert not path.exists()
    whole = RankingSVC(C=1.0).fit(X, GRADES, groups=GROUPS).result_.certificate
    found = resumed.result_.certificate
    assert found.relative <= 1.01e-3 and whole.lower <= found.upper and found.lower <= whole.upper
    assert len(resumed.result_.history) == resumed.n_iter_


def test_groups_are_routed_to_fit_and_score():
    with sklearn.config_context(enable_metadata_routing=True):
        model = make_pipeline(StandardScaler(), RankingSVC(C=0.1))
        found = cross_validate(model, X, GRADES, cv=GroupKFold(3), params={"groups": GROUPS}, return_indices=True)
    train, test = found["indices"]["train"][0], found["indices"]["test"][0]
    scaler = StandardScaler().fit(X[train])
    alone = RankingSVC(C=0.1).fit(scaler.transform(X[train]), GRADES[train], groups=GROUPS[train])
    assert found["test_score"][0] == alone.score(scaler.transform(X[test]), GRADES[test], groups=GROUPS[test])


def test_model_files_hold_a_ranker(tmp_path):
    model = RankingSVC("average_precision", C=0.1).fit(X, RELEVANT, groups=GROUPS)
    mw.save(model, tmp_path / "model.mw")
    loaded = mw.load(tmp_path / "model.mw")
    assert np.array_equal(loaded.predict(X), model.predict(X)) and loaded.n_queries_ == model.n_queries_
    assert certify(loaded, X, RELEVANT, groups=GROUPS) == certify(model, X, RELEVANT, groups=GROUPS)
    for export in (mw.export_text, lambda model, path: mw.to_onnx(model, X)):
        with pytest.raises(TypeError, match="RankingSVC ranks samples, and has no classes"):
            export(model, tmp_path / "model.txt")


def test_a_warning_says_that_all_samples_are_one_query():
    X, y = np.random.default_rng(0).normal(size=(20, 2)), np.arange(20) % 2
    with pytest.warns(UserWarning, match="all samples are ranked as one query. Pass the query of every sample"):
        model = RankingSVC().fit(X, y)
    with pytest.warns(UserWarning, match="enable_metadata_routing=True"):
        model.score(X, y)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"groups": [np.nan] + [0.0] * 19}, r"groups\[0\] is missing"),
        ({"sample_weight": np.arange(20.0)}, "samples of query 0 have different weights"),
        ({"sample_weight": [1.0] * 3}, "sample_weight has 3"),
        ({"sample_weight": [-1.0] * 20}, "negative"),
        ({"y": ["a"] * 20}, "y "),
    ],
    ids=["missing", "weights", "length", "negative", "text"],
)
def test_certify_refuses_what_fit_refuses(change, message):
    data = {"X": np.random.default_rng(0).normal(size=(20, 2)), "y": np.arange(20) % 2, "groups": np.zeros(20, int)}
    model = RankingSVC().fit(**data)
    with pytest.raises(ValueError, match=message):
        certify(model, **data | change)
