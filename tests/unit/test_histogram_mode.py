"""Training on histograms of scores: bounds that hold for the exact problem, whatever the bins."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

import metricwise
import metricwise.io
from metricwise import MultivariateSVC, certify
from metricwise.designs import make_design
from metricwise.designs.remote_design import LocalData, RemoteDesign
from metricwise.measures import FBeta, PartialAuc, PrecisionAtK, RecallAtK, TwoWayPartialAuc, get_measure
from metricwise.oracles import make_oracle
from metricwise.oracles.factory import has_fast_oracle
from metricwise.results import Status
from metricwise.solvers import CuttingPlane, Limits, make_problem, run
from metricwise.solvers.binned_cutting_plane import BinnedCuttingPlane
from metricwise.solvers.binned_problem import make_binned_problem
from tests.contracts.cases import MEASURES, TOL, make_data

X, POSITIVE = make_data(n_samples=120)
FITTING = [measure for measure in MEASURES if has_fast_oracle(measure, POSITIVE.sum(), (~POSITIVE).sum())]
OTHERS = [measure for measure in MEASURES if measure not in FITTING]
EXTRA = [FBeta(0.3), FBeta(3.0), PrecisionAtK(5), RecallAtK(60), PartialAuc(0.1, 0.3), TwoWayPartialAuc(0.35, 0.4)]
each_measure = pytest.mark.parametrize("measure", FITTING + EXTRA, ids=repr)


def make_histogram_problem(measure, data=X, positive=POSITIVE, n_bins=16, C=0.5, tol=TOL):
    samples = RemoteDesign(LocalData(make_design(data, intercept=1.0), positive.astype(np.int64)), 1)
    return make_binned_problem(samples, measure, n_bins, C, tol)


def make_exact_problem(measure, data=X, positive=POSITIVE, C=0.5):
    return make_problem(make_design(data, intercept=1.0), positive, measure, C)


def get_bounds(model):
    return model.result_.certificate.upper, model.result_.certificate.lower


# ---------------------------------------------------------------------------------------------------- the error bound


KINDS = {
    "continuous": lambda rng, X: X,
    "ties": lambda rng, X: np.round(X),
    "constant": lambda rng, X: np.ones_like(X),
    "large": lambda rng, X: 1e6 * X,
    "outlier": lambda rng, X: np.where(rng.random(X.shape) < 0.01, 1e5 * X, X),
}


@each_measure
def test_the_slack_is_within_the_bracket_and_planes_are_cuts(measure):
    rng = np.random.default_rng(0)
    for number, kind in enumerate(list(KINDS) * 4):
        data = KINDS[kind](rng, rng.normal(size=(rng.integers(80, 200), 3)))
        positive = np.arange(len(data)) < rng.integers(10, 40)
        if not has_fast_oracle(measure, positive.sum(), (~positive).sum()):
            continue  # for Cohen's kappa it depends on the proportion of positives
        there, here = (
            make_histogram_problem(measure, data, positive, n_bins=2 + number, tol=1.0),
            make_exact_problem(measure, data, positive),
        )
        w = rng.normal(size=4)
        found = there.oracle.violate(there.design.scores(w))
        slack = here.oracle.violate(here.design.scores(w)).value
        noise = 1e-9 * (1.0 + np.abs(data).max())
        assert found.value - found.error - noise <= slack <= found.value + noise
        plane = there.design.combine(found.coefficients())
        for other in (w, 0.1 * w, rng.normal(size=4), np.zeros(4)):
            slack = here.oracle.violate(here.design.scores(other)).value
            assert found.loss + plane @ other <= slack + noise
        assert found.loss + plane @ w >= found.value - found.error - noise


@pytest.mark.parametrize("measure", [get_measure("f1"), get_measure("roc_auc")], ids=["f1", "roc_auc"])
def test_ties_are_counted_exactly_and_finer_bins_have_smaller_errors(measure):
    rng = np.random.default_rng(1)
    data, w = rng.normal(size=(5000, 3)), rng.normal(size=4)
    positive = data[:, 0] > 1.0
    few = make_histogram_problem(measure, np.round(data[:, :1]), positive, n_bins=12)
    assert few.oracle.violate(few.design.scores(np.array([1.0, 0.5]))).error < 1e-9
    errors = []
    for n_bins in (8, 32, 128):
        problem = make_histogram_problem(measure, data, positive, n_bins=n_bins, tol=1e-9)
        errors.append(problem.oracle.violate(problem.design.scores(w)).error)
    assert errors[1] < errors[0] / 8
    assert errors[2] < max(errors[1] / 8, 1e-9)


def test_slopes_along_a_line_equal_those_of_the_samples():
    problem, rng = make_histogram_problem(get_measure("f1")), np.random.default_rng(2)
    design = make_design(X, intercept=1.0)
    w, target = rng.normal(size=(2, X.shape[1] + 1))
    start, end = problem.design.scores(w), problem.design.scores(target)
    labelling = problem.oracle.violate(start)
    assert labelling.slope(end - start) == pytest.approx(
        problem.design.combine(labelling.coefficients()) @ (target - w)
    )
    half = problem.design.store_combination(start + 0.5 * (end - start))
    counts = problem.design.histogram(half, (np.zeros(1), np.zeros(1))).classes[0].counts
    assert counts.tolist() == np.bincount(design.scores(0.5 * w + 0.5 * target)[POSITIVE] >= 0.0).tolist()


def test_histograms_do_not_depend_on_the_order_of_the_samples():
    first, second = (
        make_histogram_problem(get_measure("f1")),
        make_histogram_problem(get_measure("f1"), X[::-1], POSITIVE[::-1]),
    )
    w = np.random.default_rng(3).normal(size=X.shape[1] + 1)
    labellings = [problem.oracle.violate(problem.design.scores(w)) for problem in (first, second)]
    assert labellings[0].value == labellings[1].value
    np.testing.assert_array_equal(labellings[0].bracket.by_bin[0], labellings[1].bracket.by_bin[0])
    assert (
        first.design.fingerprint()
        == second.design.fingerprint()
        != make_histogram_problem(get_measure("f1"), X + 1).design.fingerprint()
    )


# -------------------------------------------------------------------------------------------------------- the optimum


@each_measure
def test_bounds_enclose_the_exact_optimum(measure):
    expected, _ = run(CuttingPlane(), make_exact_problem(measure), Limits(tol=1e-5))
    for n_bins, steps in ((2, 8), (40, 200)):
        found, _ = run(
            BinnedCuttingPlane(), make_histogram_problem(measure, n_bins=n_bins), Limits(tol=TOL, max_iter=steps)
        )
        bracket = found.certificate
        assert bracket.lower <= expected.certificate.upper * (1 + 1e-9)
        assert bracket.upper >= expected.certificate.lower * (1 - 1e-9)
        problem = make_exact_problem(measure)
        objective = problem.objective(found.weights, problem.oracle.violate(problem.design.scores(found.weights)))
        assert bracket.upper - bracket.score_error - 1e-9 <= objective <= bracket.upper * (1 + 1e-9)
        if n_bins == 40:
            assert found.status.reached_tolerance
            assert bracket.relative <= TOL


def test_a_large_problem_starts_from_a_subsample_and_takes_as_many_steps():
    rng = np.random.default_rng(4)
    data = rng.normal(size=(100_000, 5))
    positive = data[:, 0] + 0.5 * rng.normal(size=len(data)) > 1.5
    measure = get_measure("prbep")
    expected, _ = run(CuttingPlane(), make_exact_problem(measure, data, positive), Limits())
    found, _ = run(BinnedCuttingPlane(), make_histogram_problem(measure, data, positive, n_bins=256), Limits())
    assert found.status is Status.OPTIMAL
    assert found.n_iter <= 1.5 * expected.n_iter + 5
    assert found.certificate.upper == pytest.approx(expected.certificate.upper, rel=2e-3)


@pytest.mark.parametrize("measure", ["f1", "roc_auc"])
def test_too_few_bins_warn_with_the_remedy(measure):
    with pytest.warns(ConvergenceWarning, match=r"\(coarse\).*increase score_bins"):
        model = MultivariateSVC(measure, threshold=0.0, score_bins=2).fit(X[:50], POSITIVE[:50])
    assert model.result_.status is Status.COARSE
    assert model.result_.certificate.relative > TOL


# ------------------------------------------------------------------------------------------------------ the estimator


@pytest.mark.parametrize("measure", ["f1", "prbep", "roc_auc"])
def test_every_design_gives_the_same_certificate(measure, tmp_path):
    np.save(tmp_path / "X.npy", X)
    sources = [X, sparse.csr_array(X), X.astype(np.float32), metricwise.io.open(tmp_path / "X.npy", block_rows=50)]
    model = MultivariateSVC(measure, threshold="train", score_bins=32)
    found = [model.fit(source, POSITIVE).result_.certificate for source in sources]
    for certificate in found[1:]:
        assert certificate.upper == pytest.approx(found[0].upper, rel=TOL)
        assert certificate.lower <= found[0].upper * (1 + 1e-9)
    again = certify(MultivariateSVC(measure, threshold=0.0, score_bins=32).fit(X, POSITIVE), X, POSITIVE)
    assert again.upper <= found[0].upper * (1 + 1e-9)
    assert again.relative <= 3 * TOL


def test_thresholds_are_as_good_as_with_all_scores():
    rng = np.random.default_rng(5)
    data = rng.normal(size=(4000, 4))
    y = np.where(data[:, 0] + rng.normal(size=4000) > 1.0, "yes", "no")
    for measure in ("f1", "balanced_accuracy", "prbep"):
        values = [
            MultivariateSVC(measure, C=0.01, threshold="train", score_bins=bins, pos_label="yes")
            .fit(data, y)
            .score(data, y)
            for bins in (None, 64)
        ]
        assert values[1] == pytest.approx(values[0], abs=2e-3)


def test_multiclass_pos_label_and_model_files_work_with_bins(tmp_path):
    y = np.array(["a", "b", "c"])[np.digitize(X[:, 0], [-0.5, 0.5])]
    multiclass = MultivariateSVC("f1", threshold="train", score_bins=64).fit(X, y)
    plain = MultivariateSVC("f1", threshold="train").fit(X, y)
    for found, expected in zip(multiclass.result_, plain.result_, strict=True):
        assert found.certificate.upper == pytest.approx(expected.certificate.upper, rel=2 * TOL)
    assert multiclass.score(X, y) == pytest.approx(plain.score(X, y), abs=0.1)
    swapped = MultivariateSVC("f1", threshold=0.0, score_bins=64, pos_label=False).fit(X, POSITIVE)
    assert swapped.result_.certificate.upper == pytest.approx(
        MultivariateSVC("f1", threshold=0.0, pos_label=False).fit(X, POSITIVE).result_.certificate.upper, rel=2 * TOL
    )
    metricwise.save(swapped, tmp_path / "model.mw")
    loaded = metricwise.load(tmp_path / "model.mw")
    assert loaded.result_.score_error == swapped.result_.score_error
    np.testing.assert_array_equal(loaded.predict(X), swapped.predict(X))


def test_training_resumes_from_a_checkpoint(tmp_path):
    class LostConnection(ConnectionError):
        pass

    def lose_connection(entry):
        if entry.iteration == 5:
            raise LostConnection("the cluster is gone")

    whole = MultivariateSVC("f1", threshold="train", score_bins=32).fit(X, POSITIVE)
    path = tmp_path / "run.npz"
    settings = {"threshold": "train", "score_bins": 32, "checkpoint": path}
    with pytest.raises(LostConnection, match=r"run\.npz"):
        MultivariateSVC("f1", callback=lose_connection, **settings).fit(X, POSITIVE)
    order = np.random.default_rng(0).permutation(len(X))
    resumed = MultivariateSVC("f1", **settings).fit(X[order], POSITIVE[order])
    assert resumed.n_iter_ > 5
    assert resumed.result_.history[:4] and get_bounds(resumed)[0] == pytest.approx(get_bounds(whole)[0], rel=2 * TOL)
    assert not path.exists()


def test_degenerate_optima_are_reported_as_without_bins():
    rng = np.random.default_rng(0)
    data, positive = rng.normal(size=(400, 2)), rng.random(400) < 0.1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = MultivariateSVC("f1", C=10.0, threshold=0.0, score_bins=32).fit(data, positive)
    assert model.result_.status is Status.DEGENERATE


# --------------------------------------------------------------------------------------------------------- bad input


REFUSED = {
    "threshold": ({}, {}, r"threshold='train' or a number"),
    "weights": ({"threshold": 0.0}, {"sample_weight": np.ones(len(X))}, "leave out sample_weight"),
    "class weights": ({"threshold": 0.0, "class_weight": "balanced"}, {}, "leave out sample_weight and class_weight"),
    "kernel": ({"threshold": 0.0, "kernel": "rbf"}, {}, "kernel='linear'"),
    "warm start": ({"threshold": 0.0, "warm_start": True}, {}, "warm_start"),
    "one bin": ({"threshold": 0.0, "score_bins": 1}, {}, "score_bins"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_unsupported_settings_with_bins_raise(case):
    settings, arguments, message = REFUSED[case]
    model = MultivariateSVC("f1", **({"score_bins": 32} | settings))
    with pytest.raises(ValueError, match=message):
        model.fit(X, POSITIVE, **arguments)
    assert not hasattr(model, "n_features_in_")


@pytest.mark.parametrize("measure", OTHERS, ids=lambda measure: measure.name)
def test_measures_without_a_fast_oracle_raise_and_name_those_with_one(measure):
    with pytest.raises(ValueError, match=r"score_bins=None, or train for one of .*f1.*roc_auc"):
        MultivariateSVC(measure, threshold=0.0, score_bins=32).fit(X, POSITIVE)


def test_one_class_raises():
    with pytest.raises(ValueError, match="only one class"):
        MultivariateSVC("f1", threshold=0.0, score_bins=32).fit(X, np.ones(len(X)))


def test_the_slack_of_single_samples_per_bin_is_exact():
    """The histogram oracle uses the same code on bin means: the reference sorts the samples themselves."""
    scores = np.array([3.0, 1.0, -2.0, 2.5, 0.0, -1.0, -4.0])
    slack = make_oracle(get_measure("f1"), 3, 4).violate(scores).value
    problem = make_histogram_problem(get_measure("f1"), scores[:, None], np.arange(7) < 3, n_bins=7)
    found = problem.oracle.violate(problem.design.scores(np.array([1.0, 0.0])))
    assert found.value == pytest.approx(slack, abs=1e-12)
