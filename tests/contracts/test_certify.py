"""The recomputed certificate agrees with that of training for every measure, weighting and data set."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy import sparse

from metricwise import MultivariateSVC, certify
from tests.contracts.cases import LATER, MEASURES, make_data, takes_weights

X, POSITIVE = make_data(n_samples=70, n_features=6, seed=5)
BINARY = POSITIVE.astype(int)
LEANING = X @ [1.0, -1.0, 0.5, 0.0, 0.0, 0.3]
THREE = np.digitize(LEANING, np.quantile(LEANING, [0.3, 0.65]))
WHOLE = np.random.default_rng(0).integers(0, 4, size=BINARY.size).astype(float)
OTHER = np.random.default_rng(1).uniform(0.2, 3.0, size=BINARY.size)
LARGE = np.random.default_rng(2).uniform(100.0, 10_000.0, size=BINARY.size)
FEW = np.round(X[:, :3])  # many samples are equal

# Settings of the estimator, data, labels, sample weights. What concerns the oracle is tested with every measure.
OF_THE_ORACLE = {
    "plain": ({}, X, BINARY, None),
    "whole weights": ({}, X, BINARY, WHOLE),
    "other weights": ({}, X, BINARY, OTHER),
    "large weights": ({}, X, BINARY, LARGE),
    "samples alike with other weights": ({}, FEW, BINARY, OTHER),
    "balanced classes": ({"class_weight": "balanced"}, X, BINARY, None),
    "both kinds of weights": ({"class_weight": {0: 0.9, 1: 1.3}}, X, BINARY, WHOLE),
    "three classes": ({}, X, THREE, None),
}
# What concerns the design alone is shared out: each measure has two of these, each of these a third of the measures.
OF_THE_DESIGN = {
    "no intercept": ({"fit_intercept": False}, X, BINARY, None),
    "large constant feature": ({"intercept_scaling": 10.0}, X, BINARY, None),
    "other positive class": ({"pos_label": 0}, X, 1 - BINARY, None),
    "sparse": ({}, sparse.csr_array(X), BINARY, None),
    "single precision": ({}, X.astype(np.float32), BINARY, None),
    "columns": ({}, np.asfortranarray(X), BINARY, None),
}
CASES = OF_THE_ORACLE | OF_THE_DESIGN
PAIRS = [
    (measure, case)
    for measure in MEASURES
    for case, (settings, _, _, weights) in OF_THE_ORACLE.items()
    if takes_weights(measure, weights, settings.get("class_weight"))
]
PAIRS += [
    (measure, case) for i, measure in enumerate(MEASURES) for j, case in enumerate(OF_THE_DESIGN) if i % 3 == j % 3
]


def as_list(value):
    return value if isinstance(value, list) else [value]


def assert_agrees(model, found):
    results, found = as_list(model.result_), as_list(found)
    assert len(results) == len(found) == len(model.intercept_)
    for result, again in zip(results, found, strict=True):
        trained = result.certificate
        assert result.status.reached_tolerance
        size = abs(trained.upper)
        assert again.upper == pytest.approx(trained.upper, rel=1e-6)
        assert again.loss_bound == pytest.approx(trained.loss_bound, rel=1e-6, abs=1e-9)
        assert trained.lower - 1e-3 * size <= again.lower <= trained.upper + 1e-6 * size
        assert again.relative <= 2e-3


@pytest.mark.filterwarnings("ignore:the surrogate of")  # the middle of three classes is not linearly separable
@pytest.mark.parametrize(("measure", "case"), PAIRS, ids=[f"{measure.name}-{case}" for measure, case in PAIRS])
def test_certify_agrees_with_training(measure, case):
    settings, data, y, weights = CASES[case]
    model = MultivariateSVC(measure, C=0.3, threshold=0.0, **settings).fit(data, y, sample_weight=weights)
    assert_agrees(model, certify(model, data, y, sample_weight=weights))


@pytest.mark.parametrize("measure", MEASURES, ids=lambda measure: measure.name)
def test_the_order_of_the_samples_does_not_matter(measure):
    model = MultivariateSVC(measure, C=0.3, threshold=0.0).fit(X, BINARY)
    order = np.random.default_rng(2).permutation(BINARY.size)
    assert_agrees(model, certify(model, X[order], BINARY[order]))


@pytest.mark.parametrize("measure", MEASURES, ids=lambda measure: measure.name)
def test_bounds_enclose_those_of_a_model_with_a_small_tolerance(measure):
    """No weights are better than the recomputed lower bound of a model with a large tolerance."""
    loose = MultivariateSVC(measure, C=0.3, threshold=0.0, tol=0.05).fit(X, BINARY)
    tight = MultivariateSVC(measure, C=0.3, threshold=0.0, tol=1e-5).fit(X, BINARY)
    bounds, best = certify(loose, X, BINARY), certify(tight, X, BINARY)
    slack = 1e-9 * abs(best.upper)
    assert bounds.lower <= best.upper + slack
    assert best.lower <= bounds.upper + slack


def test_other_data_give_other_bounds():
    """The certificate is computed from the given data, not copied from the model."""
    model = MultivariateSVC("f1", C=0.3, threshold=0.0).fit(X, BINARY)
    flipped = certify(model, X, 1 - BINARY)
    assert flipped.upper > 2 * model.result_.certificate.upper
    assert flipped.lower <= flipped.upper


def test_changed_weights_are_detected():
    model = MultivariateSVC("f1", C=0.3, threshold=0.0).fit(X, BINARY)
    before = certify(model, X, BINARY)
    model.result_.weights[0] += 1.0
    with pytest.raises(ValueError, match="predicts with other weights than those of its certificate"):
        certify(model, X, BINARY)
    model.coef_[0, 0] += 1.0
    after = certify(model, X, BINARY)
    assert after.upper > before.upper
    assert after.lower == before.lower


def test_unfinished_training_shows_in_the_certificate():
    with pytest.warns(match="max_iter"):
        model = MultivariateSVC("f1", C=0.3, threshold=0.0, max_iter=2).fit(X, BINARY)
    found = certify(model, X, BINARY)
    assert found.upper == pytest.approx(model.result_.certificate.upper, rel=1e-6)
    assert found.relative > 1e-3


@pytest.mark.filterwarnings("ignore:the surrogate of")
@pytest.mark.parametrize("weighted", [False, True], ids=["no weights", "weights"])
@pytest.mark.parametrize(
    "measure", ["accuracy", "balanced_accuracy", "f1", "prbep", "roc_auc", "partial_roc_auc", LATER], ids=str
)
def test_samples_on_the_margin_up_to_rounding_do_not_weaken_the_bound(measure, weighted):
    """With a large C, one sample or pair on the other side of the margin costs more than the whole objective."""
    for seed, share, C in product((3, 4, 8, 32), (0.1, 0.2), (0.3, 10.0)):
        data, positive = make_data(n_samples=70, n_features=3 + seed % 5, seed=seed, share=share)
        weights = np.random.default_rng(seed).uniform(100.0, 10_000.0, size=positive.size) if weighted else None
        model = MultivariateSVC(measure, C=C if weighted else 1000.0 * C, threshold=0.0)
        model.fit(data, positive, sample_weight=weights)
        assert_agrees(model, certify(model, data, positive, sample_weight=weights))
