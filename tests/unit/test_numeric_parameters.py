"""Numeric parameters of any real type are trained with as Python's numbers, and returned as they were given."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from metricwise import (
    BinaryRelevance,
    GuaranteeMonitor,
    MultivariateSVC,
    PartialAuc,
    PlugInClassifier,
    Profit,
    Share,
    STAMPClassifier,
    TwoWayPartialAuc,
    adapt_prior,
    certify,
    load,
    save,
    score_queries,
)
from metricwise.decisions.outcomes import as_scores
from metricwise.io.errors import ModelFileError
from metricwise.measures.checks import as_real

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(40, 3))
Y = (X[:, 0] + 0.5 * RANDOM.normal(size=40) > 0).astype(int)


@pytest.mark.parametrize("half", [Fraction(1, 2), np.float16(0.5), np.longdouble(0.5)])
def test_halves_of_every_type_train_the_same_model(half):
    model = MultivariateSVC("f1", C=half, threshold=half).fit(X, Y)
    plain = MultivariateSVC("f1", C=0.5, threshold=0.5).fit(X, Y)
    assert np.array_equal(model.coef_, plain.coef_)
    assert model.get_params()["C"] is half
    assert clone(model).C is half
    assert certify(model, X, Y) == certify(plain, X, Y)


@pytest.mark.parametrize("half", [Fraction(1, 2), np.float16(0.5), np.longdouble(0.5), np.float64(0.5)])
def test_models_with_numbers_of_every_type_are_saved(half, tmp_path):
    for model in (MultivariateSVC("f1", C=half, threshold=half), STAMPClassifier("f1", alpha=half)):
        save(model.fit(X, Y), tmp_path / "model.mw")
        loaded = load(tmp_path / "model.mw")
        assert np.array_equal(loaded.predict(X), model.predict(X))
        assert np.array_equal(loaded.fit(X, Y).coef_, model.coef_)


def test_attributes_of_extended_precision_are_refused_by_name(tmp_path):
    model = LogisticRegression(C=np.longdouble(0.5)).fit(X, Y)
    with pytest.raises(ModelFileError, match=r"model\.C is of the type numpy\.longdouble"):
        save(model, tmp_path / "model.mw")


@pytest.mark.parametrize("true", [True, np.True_])
def test_a_class_weight_of_true_is_one(true):
    model = MultivariateSVC("f1", class_weight={0: true, 1: 2}).fit(X, Y)
    assert np.array_equal(model.coef_, MultivariateSVC("f1", class_weight={0: 1, 1: 2}).fit(X, Y).coef_)


@pytest.mark.parametrize("one", [Fraction(1), np.float16(1), np.int8(1)])
def test_kernel_machines_predict_with_numbers_of_every_type(one):
    model = MultivariateSVC(kernel="poly", degree=2, coef0=one, gamma=one).fit(X, Y)
    plain = MultivariateSVC(kernel="poly", degree=2, coef0=1.0, gamma=1.0).fit(X, Y)
    assert np.array_equal(model.decision_function(X), plain.decision_function(X))
    assert certify(model, X, Y) == certify(plain, X, Y)


@pytest.mark.parametrize("half", [Fraction(1, 2), np.float16(0.5), np.longdouble(0.5)])
def test_streams_and_labels_take_numbers_of_every_type(half):
    stream = STAMPClassifier(alpha=half, eta0=half).partial_fit(X, Y, classes=[0, 1])
    assert np.array_equal(stream.coef_, STAMPClassifier(alpha=0.5, eta0=0.5).partial_fit(X, Y, classes=[0, 1]).coef_)
    labels = np.column_stack([Y, 1 - Y])
    assert BinaryRelevance(beta=half).fit(X, labels).predict(X).shape == labels.shape


@pytest.mark.parametrize("huge", [10**400, -(10**400), np.longdouble("1e4000")], ids=["int", "negative", "extended"])
@pytest.mark.parametrize("name", ["C", "tol", "max_iter", "threshold"])
def test_numbers_beyond_double_precision_are_refused(name, huge):
    with pytest.raises(ValueError, match=f"{name} is a number beyond double precision"):
        MultivariateSVC(**{name: huge}).fit(X, Y)


@pytest.mark.parametrize("two", [Decimal(2), np.array(2.0), np.array(2), Fraction(2), np.float32(2)])
def test_decimals_and_arrays_without_dimensions_are_numbers(two):
    assert type(as_real(two, "n")) is float and as_real(two, "n") == 2.0
    assert LOGISTIC.score_interval(n_samples=two) == LOGISTIC.score_interval(n_samples=2)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        *((one, "n is not a number") for one in ("2", True, np.array(True), np.array("2"), None, np.ones(1), np.nan)),
        *((Decimal(one), "n is not a number") for one in ("nan", "snan")),
        *((one, "n is beyond double precision") for one in (10**400, Fraction(-(10**400)), Decimal("1e400"))),
        (-(10**400), "n is beyond double precision: -inf"),
        ([10**5000], "n is not a number: a list"),
    ],
    ids=lambda one: type(one).__name__,
)
def test_what_is_no_number_is_told_from_what_is_too_large(value, message):
    with pytest.raises(ValueError, match=message):
        as_real(value, "n")


HUGE = 10**400
LOGISTIC = PlugInClassifier(LogisticRegression(), "f1").fit(X, Y)


@pytest.mark.parametrize(
    "call",
    [
        lambda: PartialAuc("a"),
        lambda: Share(np.array(0.5)),
        lambda: PartialAuc(None),
        lambda: PartialAuc(0, HUGE),
        lambda: TwoWayPartialAuc(HUGE, 0.5),
        lambda: GuaranteeMonitor("precision>=0.9", alpha=HUGE),
        lambda: GuaranteeMonitor(("precision", ">=", HUGE)),
        lambda: as_scores([0.0, HUGE], 2),
        lambda: MultivariateSVC().fit(X, Y, sample_weight=[HUGE] * len(Y)),
        lambda: MultivariateSVC(class_weight={0: HUGE}).fit(X, Y),
        lambda: MultivariateSVC(class_weight={0: [1], 1: 1}).fit(X, Y),
        lambda: LOGISTIC.score_interval(n_samples=HUGE),
        lambda: LOGISTIC.score_interval(n_samples=float("nan")),
        lambda: LOGISTIC.score_interval(n_samples=1.5),
        lambda: LOGISTIC.score_interval(confidence="a"),
        lambda: adapt_prior(LOGISTIC, prior=HUGE),
        lambda: adapt_prior(LOGISTIC, prior={0: HUGE, 1: 0.5}),
        lambda: adapt_prior(LOGISTIC, prior={0: "a", 1: "b"}),
        lambda: setattr(clone(LOGISTIC).fit(X, Y), "threshold_", HUGE),
        lambda: PlugInClassifier(LogisticRegression(), Profit(tp=1, fp=-1)).fit(X, Y, tp=[HUGE] * len(Y)),
        lambda: BinaryRelevance().fit(X[:2], [[0, 1], [1, HUGE]]),
        lambda: BinaryRelevance().fit(X[:2], [[0, 1], [1, Fraction(1, 3)]]),
        lambda: certify(MultivariateSVC().fit(X, Y), X, Y, [HUGE] * len(Y)),
    ],
)
def test_values_that_are_no_double_raise_a_clear_error(call):
    words = (
        "must be|must lie|is a probability|Fraction|no number|not a number|must have|beyond double|a share is one of"
    )
    with pytest.raises(ValueError, match=words):
        call()


def test_names_of_queries_may_be_numbers_of_any_size():
    value = score_queries("ndcg", [0, 1, 1, 0], [0.1, 0.2, 0.3, 0.4], [HUGE, HUGE, 1, 1])
    assert value == score_queries("ndcg", [0, 1, 1, 0], [0.1, 0.2, 0.3, 0.4], [2, 2, 1, 1])


def test_parameters_that_a_callback_sets_stay():
    model = MultivariateSVC(C=np.float32(1), max_iter=30, tol=Fraction(1, 1000))
    model.callback = lambda entry: model.set_params(C=5.0, max_iter=77)
    model.fit(X, Y)
    assert (model.C, model.max_iter, model.tol) == (5.0, 77, Fraction(1, 1000))
