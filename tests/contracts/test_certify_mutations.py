"""A bug in training's labels, weights or intercept makes `certify` disagree with the model's own certificate."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from metricwise import AUCSVC, AMPClassifier, MultivariateSVC, SmoothedSVC, certify
from metricwise.decisions import targets
from metricwise.designs import make_design

pytestmark = pytest.mark.filterwarnings(
    "ignore:the surrogate of"
)  # the middle of three classes is not linearly separable

RNG = np.random.default_rng(3)
X = RNG.normal(size=(90, 4)) + 0.5
LEANING = X @ [1.0, -0.7, 0.4, 0.0] + 0.4 * RNG.normal(size=90)
TWO = np.where(np.quantile(LEANING, 0.7) < LEANING, "ill", "well")
THREE = np.digitize(LEANING, np.quantile(LEANING, [0.25, 0.65]))
WEIGHTS = RNG.integers(0, 4, size=90).astype(float)
SHARED = {"threshold": 0.0, "tol": 1e-3}
WEIGHTED = SHARED | {"class_weight": "balanced", "intercept_scaling": 5.0}

# A function that makes the model, and its labels.
BINARY = {
    "linear": (lambda: MultivariateSVC("f1", pos_label="ill", **WEIGHTED), TWO),
    "kernel": (lambda: MultivariateSVC("f1", kernel="rbf", pos_label="well", **WEIGHTED), TWO),
    "smoothed": (lambda: SmoothedSVC("accuracy", **WEIGHTED), TWO),
    "ratio": (lambda: AMPClassifier("f1", pos_label="well", **WEIGHTED), TWO),
}
ONE_VS_REST = {
    "one vs rest": (lambda: MultivariateSVC("f1", **WEIGHTED), THREE),
    "one vs rest, kernel": (lambda: MultivariateSVC("f1", kernel="rbf", **WEIGHTED), THREE),
}
ONE_VS_ONE = {
    "one vs one": (lambda: AUCSVC(multi_class="ovo", **SHARED), THREE),
    "one vs one, kernel": (lambda: AUCSVC(multi_class="ovo", kernel="rbf", **SHARED), THREE),
    "one vs one, squared": (lambda: AUCSVC(multi_class="ovo", norm=2, **SHARED), THREE),
}
WITH_INTERCEPT = BINARY | ONE_VS_REST
ALL = WITH_INTERCEPT | ONE_VS_ONE
LINEAR = [name for name in ALL if "kernel" not in name]


def replace_everywhere(monkeypatch, original, mutant):
    """Replace a function by a mutant in all modules except those of the certificate."""
    found = [
        (module, name)
        for home, module in list(sys.modules.items())
        if home.startswith("metricwise") and not home.startswith("metricwise.certifying")
        for name, value in list(vars(module).items())
        if value is original
    ]
    assert any(module.__name__.startswith("metricwise.estimators") for module, _ in found)
    for module, name in found:
        monkeypatch.setattr(module, name, mutant)


def replace_data(monkeypatch, model, change):
    """Let training see changed labels and weights."""
    kind, fit = type(model), type(model).fit

    def fit_on_changed_data(self, X, y, sample_weight):
        return fit(self, X, *change(y, sample_weight))

    monkeypatch.setattr(kind, "fit", fit_on_changed_data)


def replace_parameters(monkeypatch, model, **wrong):
    """Let training use other parameters than the model has."""
    kind, fit = type(model), type(model).fit

    def fit_with_wrong_parameters(self, X, y, sample_weight):
        right = {name: getattr(self, name) for name in wrong}
        return fit(self.set_params(**wrong), X, y, sample_weight).set_params(**right)

    monkeypatch.setattr(kind, "fit", fit_with_wrong_parameters)


def shift_classes(y):
    classes, codes = np.unique(y, return_inverse=True)
    return classes[(codes + 1) % classes.size]


def certify_agrees(name):
    """Return whether certify finds the bounds that a newly trained model states."""
    make, y = ALL[name]
    model = make().fit(X, y, WEIGHTS)
    results = model.result_ if isinstance(model.result_, list) else [model.result_]
    try:
        found = certify(model, X, y, WEIGHTS)
    except ValueError as error:
        assert "rain the model again" in str(error) or "the model was trained on" in str(error)
        return False
    return all(
        one.upper == pytest.approx(result.certificate.upper, rel=1e-6)
        and one.lower == pytest.approx(result.certificate.lower, rel=2e-3)
        for one, result in zip(found if isinstance(found, list) else [found], results, strict=True)
    )


@pytest.mark.parametrize("name", ALL)
def test_without_a_mutation_certify_agrees(name):
    assert certify_agrees(name)


# --------------------------------------------------------------------------------------------------------------- labels


@pytest.mark.parametrize("name", ALL)
def test_labels_shifted_by_one_class_are_detected(monkeypatch, name):
    replace_data(monkeypatch, ALL[name][0](), lambda y, weights: (shift_classes(y), weights))
    assert not certify_agrees(name)


@pytest.mark.parametrize("name", BINARY)
def test_an_exchanged_positive_class_is_detected(monkeypatch, name):
    right = targets.positive_class
    mutant = lambda classes, pos_label: classes[0] if right(classes, pos_label) == classes[1] else classes[1]
    replace_everywhere(monkeypatch, right, mutant)
    assert not certify_agrees(name)


@pytest.mark.parametrize("name", BINARY)
def test_scores_of_the_wrong_sign_are_detected(name):
    make, y = ALL[name]
    model = make().fit(X, y, WEIGHTS)
    stored = model.dual_coef_ if name == "kernel" else model.coef_
    stored *= -1.0
    model.intercept_ *= -1.0
    with pytest.raises(ValueError, match="predicts with other weights than those of its certificate"):
        certify(model, X, y, WEIGHTS)


def test_changed_classes_are_detected():
    model = MultivariateSVC("f1", pos_label="ill", **SHARED).fit(X, TWO)
    model.classes_ = model.classes_[::-1]
    with pytest.raises(ValueError, match=r"y has the labels \['ill', 'well'\] but the model was trained on"):
        certify(model, X, TWO)


# -------------------------------------------------------------------------------------------------------------- weights

WRONG_WEIGHTS = {
    "squared": lambda weights: weights**2,
    "ignored": np.ones_like,
    "zeros kept": lambda weights: np.where(weights == 0.0, 1.0, weights),
}


@pytest.mark.parametrize("wrong", WRONG_WEIGHTS)
@pytest.mark.parametrize("name", ALL)
def test_wrong_sample_weights_are_detected(monkeypatch, name, wrong):
    right = targets.sample_weights_of
    mutant = lambda X, y, sample_weight, class_weight: right(X, y, WRONG_WEIGHTS[wrong](sample_weight), class_weight)
    replace_everywhere(monkeypatch, right, mutant)
    assert not certify_agrees(name)


@pytest.mark.parametrize("name", WITH_INTERCEPT)
def test_ignored_class_weights_are_detected(monkeypatch, name):
    right = targets.sample_weights_of
    mutant = lambda X, y, sample_weight, class_weight: right(X, y, sample_weight, None)
    replace_everywhere(monkeypatch, right, mutant)
    assert not certify_agrees(name)


# ------------------------------------------------------------------------------------------------- intercept and kernel


@pytest.mark.parametrize("wrong", [{"intercept_scaling": 1.0}, {"fit_intercept": False}], ids=["scaling", "none"])
@pytest.mark.parametrize("name", WITH_INTERCEPT)
def test_ignored_intercept_parameters_are_detected(monkeypatch, name, wrong):
    replace_parameters(monkeypatch, ALL[name][0](), **wrong)
    assert not certify_agrees(name)


@pytest.mark.parametrize("name", ["linear", "kernel", "one vs rest, kernel"])
def test_an_unwanted_intercept_is_detected(monkeypatch, name):
    make, y = ALL[name]
    model = make().set_params(fit_intercept=False)
    replace_parameters(monkeypatch, model, fit_intercept=True)
    with pytest.raises(ValueError, match=r"of a constant|has a constant term"):
        certify(model.fit(X, y, WEIGHTS), X, y, WEIGHTS)


@pytest.mark.parametrize("name", [name for name in LINEAR if name in WITH_INTERCEPT])
def test_a_wrong_constant_feature_is_detected(monkeypatch, name):
    mutant = lambda X, intercept=0.0, **settings: make_design(X, intercept=min(intercept, 1.0), **settings)
    replace_everywhere(monkeypatch, make_design, mutant)
    assert not certify_agrees(name)


@pytest.mark.parametrize("name", [name for name in LINEAR if name in ONE_VS_ONE])
def test_a_constant_feature_in_a_ranking_is_detected(monkeypatch, name):
    mutant = lambda X, intercept=0.0, **settings: make_design(X, intercept=1.0, **settings)
    replace_everywhere(monkeypatch, make_design, mutant)
    assert not certify_agrees(name)


@pytest.mark.parametrize("name", [name for name in ALL if "kernel" in name])
def test_another_kernel_is_detected(monkeypatch, name):
    replace_parameters(monkeypatch, ALL[name][0](), gamma=0.7)
    assert not certify_agrees(name)


# --------------------------------------------------------------------------------------------------------- independence


@pytest.mark.parametrize("name", ALL)
def test_certify_uses_no_method_or_property_of_the_model(name):
    make, y = ALL[name]
    model = make().fit(X, y, WEIGHTS)
    expected = certify(model, X, y, WEIGHTS)

    class WithoutMethods(type(model)):
        def __getattribute__(self, attribute):
            if attribute in ("__dict__", "__class__"):
                return object.__getattribute__(self, attribute)
            raise AssertionError(f"certify asks the model for {attribute}")

    model.__class__ = WithoutMethods
    assert certify(model, X, y, WEIGHTS) == expected
