"""The campaign's check of certificates: exact objectives, and findings for every bound that is wrong or loose."""

from __future__ import annotations

import warnings
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse

from fuzzing import certificates
from fuzzing.certificates import check_certificates
from fuzzing.exact_losses import find_slack, take_root
from fuzzing.exact_objectives import compute_exponential, make_objective
from fuzzing.judging import Finding
from metricwise import AUCSVC, FeatureSelectingSVC, MultivariateSVC, SmoothedSVC, get_measure, measure_names
from metricwise.measures import GainsByRank

X = np.random.default_rng(0).normal(size=(9, 2)).round(2)
Y = (X[:, 0] + X[:, 1] > 0.1).astype(int)
Y[0] = 1 - Y[0]
WEIGHTS = np.r_[2.0, np.ones(6), 0.0, 1.0]
MODELS = {
    "linear": MultivariateSVC("f1", threshold=0.0),
    "rbf": MultivariateSVC("g_mean", kernel="rbf", threshold=0.0),
    "poly": MultivariateSVC("cohen_kappa", kernel="poly", coef0=1e3, threshold=0.0),
    "range": AUCSVC(measure="partial_roc_auc", kernel="poly", coef0=1.0, threshold=0.0),
    "corner": AUCSVC(measure="two-way-partial-auc:0.7,0.4", threshold=0.0),
    "squares": AUCSVC(norm=2, kernel="rbf", threshold=0.0),
    "smoothed": SmoothedSVC("balanced_accuracy", threshold=0.0),
    "selected": FeatureSelectingSVC("accuracy", threshold=0.0),
}


@pytest.fixture(scope="module", params=MODELS)
def fitted(request):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return MODELS[request.param].fit(X, Y, sample_weight=WEIGHTS)


def check(model, **bounds):
    """Check a model whose own certificate has other bounds."""
    result = model.result_
    try:
        model.result_ = replace(result, certificate=replace(result.certificate, **bounds))
        check_certificates("a model", model, X, X, Y, WEIGHTS)
    finally:
        model.result_ = result


def test_valid_certificates_pass(fitted):
    check(fitted)


def test_wrong_and_loose_bounds_are_findings(fitted):
    objective = make_objective(fitted, X, Y, WEIGHTS, is_sparse=False)
    value, room = objective.compute(fitted.result_.weights), objective.bound_rounding(fitted.result_.weights)
    below, above = (float(np.nextafter(float(value), end)) for end in (0.0, np.inf))
    assert below < value < above
    with pytest.raises(Finding, match="of fit below the objective"):
        check(fitted, upper=below, lower=0.0)
    with pytest.raises(Finding, match="rounding adds"):
        check(fitted, upper=float(value) + 1.01 * room)
    with pytest.raises(Finding, match="but some weights have"):
        check(fitted, lower=above)
    with pytest.raises(Finding, match="below the objective"):
        check(fitted, upper=np.nan)


def test_wrong_bounds_of_certify_are_findings(fitted, monkeypatch):
    wrong = replace(fitted.result_.certificate, upper=0.5 * fitted.result_.certificate.lower)
    monkeypatch.setattr(certificates.mw, "certify", lambda *data: wrong)
    with pytest.raises(Finding, match="of certify below the objective"):
        check(fitted)


def test_rounding_explains_little_of_plain_samples(fitted):
    w = fitted.result_.weights
    objective = make_objective(fitted, X, Y, WEIGHTS, is_sparse=False)
    limit = 3e-3 if fitted.get_params().get("coef0") == 1e3 else 1e-8  # kernel values of 1e9 cancel in scores of 1
    assert objective.bound_rounding(w) < limit * float(objective.compute(w))


def test_the_form_of_the_samples_does_not_change_the_objective():
    model = MODELS["rbf"].fit(X, Y)
    values = [
        make_objective(model, X, Y, None, is_sparse=form).compute(model.result_.weights) for form in (True, False)
    ]
    assert values[0] == values[1]
    check_certificates("a model", model.fit(sparse.csr_matrix(X), Y), sparse.csr_matrix(X), X, Y, None)


@pytest.mark.parametrize("measure", measure_names("MultivariateSVC"))
def test_the_slack_of_perfect_scores_is_zero_and_that_of_no_scores_the_largest_loss(measure):
    own = get_measure(measure)
    far, mistakes = [Fraction(10**6)] * 3, Fraction(float(own.mistakes_per_loss(3.0, 4.0)))
    assert find_slack(own, mistakes, far, [-far[0]] * 4) == 0
    largest = find_slack(own, mistakes, [Fraction(0)] * 3, [Fraction(0)] * 4)
    expected = {"matthews_corrcoef": 2, "cohen_kappa": Fraction(2 * 12, 3 * 3 + 4 * 4) + 1}
    if isinstance(own, GainsByRank):  # positives at the last ranks gain something
        expected[measure] = 1 - Fraction(own.score([0] * 4 + [1] * 3, range(7, 0, -1)))
    assert abs(largest - expected.get(measure, 1)) < 1e-15


def test_roots_and_exponentials_have_many_digits():
    assert take_root(Fraction(4, 9)) == Fraction(2, 3)
    assert abs(take_root(Fraction(2)) ** 2 - 2) < Fraction(1, 10**55)
    assert abs(
        compute_exponential(Fraction(-1)) * compute_exponential(Fraction(-2)) - compute_exponential(Fraction(-3))
    ) < (Fraction(1, 10**110))
    assert compute_exponential(Fraction(-(10**9))) == 0
