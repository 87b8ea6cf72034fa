"""Invalid input of MultivariateSVC and certify raises an error that names the argument and the remedy."""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils._param_validation import InvalidParameterError

from metricwise import (
    AdaptedSVC,
    FBeta,
    Jaccard,
    MultivariateSVC,
    PlugInClassifier,
    PrecisionAtK,
    RecallAtK,
    STAMPClassifier,
    certify,
)
from metricwise.measures import HasViolatedLabelling, NeedsConstraint, get_measure, registered_names

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 4))
Y = (X @ [1.0, -1.0, 0.5, 0.0] + 0.3 * RNG.normal(size=60) > 0.4).astype(int)
TRAINABLE = registered_names(HasViolatedLabelling)


def expect_error(error, match, X=X, y=Y, sample_weight=None, **settings):
    with pytest.raises(error, match=match):
        MultivariateSVC(**settings).fit(X, y, sample_weight=sample_weight)


# ----------------------------------------------------------------------------------------------------------- the data


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("make", [np.array, sparse.csr_array, lambda data: data.astype(np.float32)])
def test_nan_and_infinity_raise(bad, make):
    data = X.copy()
    data[3, 1] = bad
    message = "Input X contains NaN" if np.isnan(bad) else "Input X contains infinity"
    expect_error(ValueError, message, X=make(data))
    model = MultivariateSVC(threshold=0.0).fit(X, Y)
    with pytest.raises(ValueError, match=message):
        model.predict(make(data))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (X[:0], r"0 sample\(s\).*minimum of 2 is required"),
        (X[:, :0], r"0 feature\(s\).*minimum of 1 is required"),
        (X[:, 0], r"Expected 2D array, got 1D array.*(?s:.*)Reshape your data"),
        (X[None], "expected 2d|dim 3|Found array with dim"),
        (np.array([["a", "b"]] * 60), "could not convert string to float|numeric"),
        (X + 1j, "Complex data not supported"),
    ],
    ids=["no samples", "no features", "one dimension", "three dimensions", "text", "complex"],
)
def test_invalid_shapes_and_types_of_X_raise(data, message):
    expect_error(ValueError, message, X=data, y=Y[: len(data)])


def test_empty_frames_and_frames_with_text_raise():
    frame = pd.DataFrame({"age": X[:, 0], "colour": np.where(Y > 0, "red", "blue")})
    expect_error(ValueError, "column 'colour' of X holds text.*OneHotEncoder", X=frame, y=Y)
    expect_error(ValueError, r"0 sample\(s\).*how the data frame was read", X=frame[:0], y=Y[:0])
    expect_error(ValueError, r"0 feature\(s\).*how the data frame was read", X=frame[[]], y=Y)


def test_a_single_sample_raises():
    expect_error(ValueError, r"1 sample.*minimum of 2 is required", X=X[:1], y=Y[:1])


def test_inconsistent_lengths_raise():
    expect_error(ValueError, r"inconsistent numbers of samples: \[60, 59\]", y=Y[:-1])


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.zeros(60, dtype=int), "y has only one class.*0.*at least two classes"),
        (np.full(60, "yes"), "y has only one class.*yes.*at least two classes"),
        (X[:, 0], "Unknown label type: continuous"),
        (np.where(np.arange(60) == 3, np.nan, Y), "Input y contains NaN"),
        (np.column_stack([Y, Y]), "y should be a 1d array"),
        (None, "requires y to be passed, but the target y is None"),
    ],
    ids=["one class", "one class of text", "numbers", "missing", "two columns", "none"],
)
def test_invalid_targets_raise(y, message):
    expect_error(ValueError, message, y=y)


@pytest.mark.parametrize("make", [MultivariateSVC, STAMPClassifier, partial(PlugInClassifier, LogisticRegression())])
def test_labels_that_numpy_cannot_distinguish_raise(make):
    y = np.empty(40, dtype=object)
    y[:] = ["a", "a\0"] * 20
    with pytest.raises(ValueError, match=r"label 'a\\x00' of y ends in a NUL character"):
        make().fit(np.arange(80.0).reshape(40, 2), y)


def test_zero_weights_that_leave_one_class_raise():
    expect_error(ValueError, "y has only one class.*at least two classes", sample_weight=Y.astype(float))
    expect_error(ValueError, "y has only one class.*at least two classes", class_weight={0: 0.0, 1: 1.0})


def test_multiclass_targets_raise_if_switched_off():
    y = np.arange(60) % 3
    expect_error(ValueError, r"multi_class='off'.*3 classes.*set multi_class='ovr'", y=y, multi_class="off")


@pytest.mark.parametrize("convert", ["tocsc", "tocoo", "tolil", "todok", "tobsr"])
def test_other_sparse_formats_are_accepted(convert):
    data = getattr(sparse.csr_array(X), convert)()
    model = MultivariateSVC(threshold=0.0).fit(data, Y)
    expected = MultivariateSVC(threshold=0.0).fit(sparse.csr_array(X), Y)
    np.testing.assert_array_equal(model.coef_, expected.coef_)
    np.testing.assert_array_equal(model.predict(data), expected.predict(X))


# -------------------------------------------------------------------------------------------------------- the weights


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.where(np.arange(60) == 5, -1.0, 1.0), "Negative values in data passed to `sample_weight`"),
        (np.zeros(60), "sample_weight is zero for every sample"),
        (np.ones(59), r"sample_weight.*shape.*\(59,\).*\(60,\)"),
        (np.ones((60, 2)), r"[sS]ample[ _]weight.*(1D|2D|scalar)"),
        (np.full(60, np.nan), "sample_weight contains NaN"),
        (np.full(60, np.inf), "sample_weight contains infinity"),
        (["heavy"] * 60, "could not convert string to float|[Uu]nable to convert"),
    ],
    ids=["negative", "zero", "short", "two columns", "NaN", "infinity", "text"],
)
def test_invalid_sample_weights_raise(weights, message):
    expect_error(ValueError, message, sample_weight=weights)


@pytest.mark.parametrize("wrong", ["balance", 3.0, [1.0, 2.0]])
def test_invalid_class_weights_raise(wrong):
    expect_error(InvalidParameterError, "'class_weight' parameter.*'balanced'", class_weight=wrong)


def test_class_weights_of_unknown_labels_raise():
    expect_error(ValueError, r"classes.*\[?7|class_weight", class_weight={7: 2.0, 8: 1.0})


# --------------------------------------------------------------------------------------------------------- parameters


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("C", [0.0, -1.0, np.nan, np.inf, "1", None]),
        ("kernel", ["gaussian", "Linear", None, 1]),
        ("threshold", ["best", None, [0.0], np.nan, np.inf]),
        ("tol", [0.0, -1e-3, np.nan, "small", None]),
        ("max_iter", [0, -1, 10.5, "many", None]),
        ("max_seconds", [0.0, -1.0, np.nan, "long"]),
        ("fit_intercept", ["yes", 2]),
        ("intercept_scaling", [0.0, -1.0, np.nan, None]),
        ("multi_class", ["multinomial", 3]),
        ("cv", [0, 1, -3, "five", 2.5]),
        ("warm_start", ["no"]),
        ("n_jobs", [0, -2, 1.5, "all"]),
        ("random_state", [-1, "seed", 1.5]),
        ("callback", ["print", 3]),
    ],
)
def test_invalid_parameters_are_named(name, values):
    for value in values:
        with pytest.raises((InvalidParameterError, ValueError), match=f"'?{name}'?.*") as caught:
            MultivariateSVC(**{name: value}).fit(X, Y)
        assert "must be" in str(caught.value) or "should be" in str(caught.value), (name, value, str(caught.value))


def test_an_unknown_kernel_raises_and_names_the_known_ones():
    expect_error(InvalidParameterError, "'kernel' parameter.*'linear'.*[Gg]ot 'gaussian'", kernel="gaussian")


@pytest.mark.parametrize(
    ("name", "hint"), [("F_1", None), ("f11", "f1"), ("jacard", "jaccard"), ("acuracy", "accuracy")]
)
def test_similar_names_of_measures_are_suggested(name, hint):
    if hint is None:
        assert MultivariateSVC(name, threshold=0.0).fit(X, Y).measure_ == FBeta(1.0)
        return
    expect_error(ValueError, f"no measure '{name}'; did you mean '{hint}'", measure=name)


def test_a_measure_class_raises():
    expect_error(TypeError, r"measure is the class Jaccard; call it to get a measure: Jaccard\(\)", measure=Jaccard)


@pytest.mark.parametrize("value", [None, 3, lambda tp, fp, fn, tn: tp, ["f1"]])
def test_other_types_of_measures_raise(value):
    expect_error(TypeError, r"measure must be the name of a measure or a measure.*contingency_measure", measure=value)


@pytest.mark.parametrize(
    "name",
    [name for name in registered_names() if not isinstance(get_measure(name), HasViolatedLabelling | NeedsConstraint)],
)
def test_measures_without_an_oracle_raise_and_name_those_with_one(name):
    with pytest.raises(TypeError, match=f"measure '{name}' lacks what MultivariateSVC needs") as caught:
        MultivariateSVC(name).fit(X, Y)
    assert all(fitting in str(caught.value) for fitting in TRAINABLE)
    assert "estimators for it:" in str(caught.value) and "PlugInClassifier" in str(caught.value)


def test_some_measures_have_no_oracle():
    assert {"recall_at_precision", "precision_at_recall"} <= set(registered_names()) - set(TRAINABLE)


@pytest.mark.parametrize("measure", [PrecisionAtK(61), RecallAtK(61), PrecisionAtK(100.0)], ids=repr)
def test_k_beyond_the_number_of_samples_raises(measure):
    expect_error(ValueError, r"k=.* predicted positives but there are only 60 samples; choose k <= 60", measure=measure)


def test_k_beyond_the_size_of_a_fold_is_accepted():
    """Folds with fewer than k samples use the same fraction of their samples."""
    model = MultivariateSVC(PrecisionAtK(55)).fit(X, Y)
    assert np.isfinite(model.threshold_)


def test_k_beyond_the_test_samples_selects_the_same_fraction():
    """Splits may test only part of the samples: the threshold selects the same fraction of these."""
    splits = [(np.arange(20, 60), np.arange(20))]
    model = MultivariateSVC(PrecisionAtK(30), cv=splits).fit(X, Y)
    assert np.mean(model.decision_function(X[:20]) > 0) == pytest.approx(0.5, abs=0.35)


def test_an_unknown_pos_label_raises():
    expect_error(ValueError, r"pos_label='yes' is not a label of y, whose labels are \[0, 1\]", pos_label="yes")
    expect_error(ValueError, r"pos_label=2 is not a label of y, whose labels are \[0, 1\]", pos_label=2)


@pytest.mark.parametrize(
    "splits",
    [
        [(np.arange(60), np.arange(0))],
        [(np.flatnonzero(Y == 1), np.flatnonzero(Y == 0))],
        [],
    ],
    ids=["no test samples", "one class in training", "no split"],
)
def test_unusable_splits_warn(splits):
    """The model is usable whatever is wrong with the given splits."""
    with pytest.warns(UserWarning, match="threshold='cv'"):
        model = MultivariateSVC(cv=splits).fit(X, Y)
    assert np.isfinite(model.threshold_)


# --------------------------------------------------------------------------------------------------------- prediction


@pytest.mark.parametrize("method", ["predict", "decision_function"])
def test_unfitted_models_raise(method):
    with pytest.raises(NotFittedError, match=r"not fitted yet\. Call 'fit'"):
        getattr(MultivariateSVC(), method)(X)
    with pytest.raises(NotFittedError, match=r"not fitted yet\. Call 'fit'"):
        MultivariateSVC().score(X, Y)
    with pytest.raises(ValueError, match="model is not fitted: call its fit method"):
        certify(MultivariateSVC(), X, Y)


def test_a_failed_fit_leaves_the_model_unfitted():
    model = MultivariateSVC()
    with pytest.raises(ValueError, match="one class"):
        model.fit(X, np.zeros(60))
    with pytest.raises(NotFittedError):
        model.predict(X)


def test_another_number_of_features_raises():
    model = MultivariateSVC(threshold=0.0).fit(X, Y)
    for data in (X[:, :3], np.column_stack([X, X]), sparse.csr_array(X[:, :3])):
        with pytest.raises(ValueError, match=r"X has \d features, but MultivariateSVC is expecting 4 features"):
            model.predict(data)


def test_certify_raises_for_data_of_another_shape():
    model = MultivariateSVC(threshold=0.0).fit(X, Y)
    with pytest.raises(ValueError, match="X has 60 samples but y has 59"):
        certify(model, X, Y[:-1])
    with pytest.raises(ValueError, match="X has 3 columns but the model was trained on 4"):
        certify(model, X[:, :3], Y)


@pytest.mark.parametrize(
    "model",
    [
        STAMPClassifier("f1"),
        PlugInClassifier(LogisticRegression(), "f1"),
        AdaptedSVC("f1", [("line", LogisticRegression())]),
        make_pipeline(StandardScaler(), MultivariateSVC("f1")),
        LogisticRegression(),
    ],
    ids=lambda model: type(model).__name__,
)
def test_certify_raises_for_models_without_bounds(model):
    with pytest.raises(ValueError, match=r"no bounds to recompute: certify takes a fitted MultivariateSVC.* AMPClass"):
        certify(model.fit(X, Y), X, Y)


def test_certify_raises_for_invalid_sample_weights():
    model = MultivariateSVC(threshold=0.0).fit(X, Y)
    with pytest.raises(ValueError, match=r"sample_weight has the shape \(59,\) but y has 60 labels"):
        certify(model, X, Y, np.ones(59))
    with pytest.raises(ValueError, match="sample_weight has negative, NaN or infinite values"):
        certify(model, X, Y, -np.ones(60))
