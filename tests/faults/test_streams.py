"""Invalid chunks, files and parameters raise a clear error and leave the model unchanged, fitted or not."""

from __future__ import annotations

import pickle
import re

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.utils._param_validation import InvalidParameterError

from metricwise import FBeta, MiniBatchSVC, PrecisionAtK, RecallAtK, SPADEClassifier, STAMPClassifier
from metricwise.io import MalformedLineError, stream

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 4))
Y = (X @ [1.0, -1.0, 0.5, 0.0] + 0.3 * RNG.normal(size=300) > 0.4).astype(int)

MODELS = {
    "spade": SPADEClassifier("q_mean"),
    "stamp": STAMPClassifier("f1"),
    "batches": MiniBatchSVC("f1", batch_size=20),
}
each_model = pytest.mark.parametrize("name", MODELS)


def make_model(name, **settings):
    return type(MODELS[name])(**{**MODELS[name].get_params(deep=False), **settings})


def fit_first_samples(name, data=X, labels=Y, **settings):
    return make_model(name, **settings).partial_fit(data[:200], labels[:200], classes=np.unique(labels))


def expect_error(model, call, error, match):
    """Check that a call raises with a message and leaves the model unchanged."""
    fitted = hasattr(model, "classes_")
    before = pickle.dumps(vars(model))
    with pytest.raises(error, match=match):
        call(model)
    assert pickle.dumps(vars(model)) == before
    if fitted:
        assert model.result_.n_samples > 0
        return
    with pytest.raises(NotFittedError):
        model.predict(X)
    assert not any(hasattr(model, name) for name in ("coef_", "threshold_", "result_", "n_features_in_"))


def make_samples_with(value):
    data = X[:10].copy()
    data[3, 1] = value
    return data


FRAME = pd.DataFrame(X, columns=["a", "b", "c", "d"])
REORDERED_FRAME = FRAME[["d", "c", "b", "a"]]

# Calls of a model trained on 200 dense samples with the labels 0 and 1, and the messages of the errors they raise.
INVALID_CALLS = {
    "unknown label": (lambda m: m.partial_fit(X[:3], [0, 1, 7]), r"y\[2\] is 7, a label not among classes=\[0, 1\]"),
    "label of another type": (lambda m: m.partial_fit(X[:2], ["no", "0"]), r"y\[0\] is 'no', a label not among"),
    "numbers for labels": (lambda m: m.partial_fit(X[:2], [0.5, 1.2]), "Unknown label type: continuous"),
    "features": (lambda m: m.partial_fit(X[:9, :3], Y[:9]), "X has 3 features, but .* is expecting 4 features"),
    "nan": (lambda m: m.partial_fit(make_samples_with(np.nan), Y[:10]), "Input X contains NaN"),
    "infinity": (lambda m: m.partial_fit(make_samples_with(-np.inf), Y[:10]), "Input X contains infinity"),
    "nan label": (lambda m: m.partial_fit(X[:2], [0.0, np.nan]), "y.* contains NaN"),
    "empty": (lambda m: m.partial_fit(X[:0], Y[:0]), r"0 sample\(s\)"),
    "one dimension": (lambda m: m.partial_fit(X[0], Y[:1]), "Expected 2D array, got 1D array"),
    "sparse": (lambda m: m.partial_fit(sparse.csr_array(X), Y), "samples learnt from before were dense, these are not"),
    "other classes": (lambda m: m.partial_fit(X, Y, classes=[0, 1, 2]), r"\[0, 1, 2\] is not the same as on last call"),
    "negative weights": (lambda m: m.partial_fit(X[:2], Y[:2], sample_weight=[1.0, -1.0]), "Negative values"),
    "nan weights": (lambda m: m.partial_fit(X[:2], Y[:2], sample_weight=[1.0, np.nan]), "sample_weight contains NaN"),
    "lengths": (lambda m: m.partial_fit(X[:5], Y[:4]), "inconsistent numbers of samples"),
    "length of weights": (
        lambda m: m.partial_fit(X[:5], Y[:5], sample_weight=[1.0] * 4),
        r"sample_weight.shape == \(4",
    ),
    "table of labels": (lambda m: m.partial_fit(X[:5], np.zeros((5, 2))), "1d array"),
    "one class in fit": (lambda m: m.fit(X[:, :3], np.zeros(300)), "only one class"),
    "no weight in fit": (lambda m: m.fit(X[:, :3], Y, sample_weight=np.zeros(300)), "zero"),
    "generator, two passes": (
        lambda m: m.fit_stream(iter([(X, Y)]), n_passes=2),
        "source can be read once only, but n_passes=2: give a path or a list",
    ),
    "no passes": (lambda m: m.fit_stream([(X, Y)], n_passes=0), "n_passes must be a whole number of at least 1, got 0"),
    "half a pass": (lambda m: m.fit_stream([(X, Y)], n_passes=0.5), "n_passes must be a whole number"),
    "no chunks": (lambda m: m.fit_stream([]), "list has no samples"),
    "one class at first": (lambda m: m.fit_stream([(X, 0 * Y)]), "first chunk of list has samples of one class only"),
    "later chunk": (lambda m: m.fit_stream([(X, Y), (X[:, :2], Y)]), "X has 2 features"),
    "later label": (lambda m: m.fit_stream([(X, Y), (X, Y + 1)]), r"y\[\d+\] is 2, a label not among classes"),
}
INVALID_SOURCES = {
    "no chunk": (lambda m: m.fit_stream([X]), "chunk 0 of source is ndarray: it must be"),
    "no source": (lambda m: m.fit_stream(3), "source must be a path, a metricwise.io.Stream or an iterable"),
    "options": (
        lambda m: m.fit_stream([(X, Y)], chunk_rows=5),
        "'chunk_rows': options of a file, but source is no path",
    ),
}


@each_model
@pytest.mark.parametrize("case", INVALID_CALLS)
def test_invalid_chunks_raise(name, case):
    expect_error(fit_first_samples(name), INVALID_CALLS[case][0], ValueError, INVALID_CALLS[case][1])


@each_model
@pytest.mark.parametrize("case", INVALID_SOURCES)
def test_invalid_sources_raise(name, case):
    for model in (fit_first_samples(name), make_model(name)):
        expect_error(model, INVALID_SOURCES[case][0], TypeError, INVALID_SOURCES[case][1])


INVALID_FIRST_CALLS = {
    "no classes": (lambda m: m.partial_fit(X, Y), "classes must be given in the first call of partial_fit"),
    "one class": (lambda m: m.partial_fit(X, 0 * Y, classes=[0]), r"classes has 1 label\(s\), \[0\]: training needs"),
    "unknown label": (
        lambda m: m.partial_fit(X, Y, classes=[1, 2]),
        r"y\[0\] is 0, a label not among classes=\[1, 2\]",
    ),
    "nan": (lambda m: m.partial_fit(make_samples_with(np.nan), Y[:10], classes=[0, 1]), "Input X contains NaN"),
    "empty": (lambda m: m.partial_fit(X[:0], Y[:0], classes=[0, 1]), r"0 sample\(s\)"),
    "weights": (lambda m: m.partial_fit(X[:2], Y[:2], [0, 1], [-1, 1]), "Negative values"),
    "one class in fit": (lambda m: m.fit(X, 0 * Y), "only one class"),
}


@each_model
@pytest.mark.parametrize("case", INVALID_FIRST_CALLS)
def test_invalid_first_calls_raise(name, case):
    expect_error(make_model(name), INVALID_FIRST_CALLS[case][0], ValueError, INVALID_FIRST_CALLS[case][1])


@each_model
def test_single_samples_and_single_classes_are_accepted(name):
    """A stream may provide one sample at a time once its labels are known."""
    model = make_model(name).partial_fit(X[Y == 1], Y[Y == 1], classes=[0, 1]).partial_fit(X[:1], Y[:1])
    assert np.isfinite(model.coef_).all() and model.result_.n_samples == np.count_nonzero(Y) + 1


@each_model
def test_an_unknown_pos_label_raises(name):
    match = r"pos_label=5 is not a label of y, whose labels are \[0, 1\]"
    for call in CALLS.values():
        expect_error(make_model(name, pos_label=5), call, ValueError, match)


@each_model
def test_reordered_features_raise_and_fit_stream_replaces_the_names(name):
    model = make_model(name).partial_fit(FRAME, Y, classes=[0, 1])
    expect_error(model, lambda m: m.partial_fit(REORDERED_FRAME, Y), ValueError, "feature names should match")
    assert model.feature_names_in_.tolist() == ["a", "b", "c", "d"]
    model.fit_stream([(X, Y)])
    assert not hasattr(model, "feature_names_in_")


@each_model
def test_dense_samples_after_sparse_ones_raise(name):
    model = fit_first_samples(name, sparse.csr_matrix(X))
    expect_error(model, lambda m: m.partial_fit(X, Y), ValueError, "samples learnt from before were sparse")


@each_model
def test_multiclass_targets_raise_if_switched_off(name):
    labels = np.arange(300) % 3
    model = make_model(name, multi_class="off")
    expect_error(model, lambda m: m.partial_fit(X, labels, classes=[0, 1, 2]), ValueError, "Only binary")
    expect_error(model, lambda m: m.fit(X, labels), ValueError, "Only binary")
    expect_error(model, lambda m: m.fit_stream([(X, labels)]), ValueError, "Only binary")


# ------------------------------------------------------------------------------------------------ measures, parameters

CALLS = {
    "fit": lambda m: m.fit(X, Y),
    "partial_fit": lambda m: m.partial_fit(X, Y, classes=[0, 1]),
    "fit_stream": lambda m: m.fit_stream([(X, Y)]),
}
each_call = pytest.mark.parametrize("call", CALLS)


@each_call
@pytest.mark.parametrize(
    ("model", "match"),
    [
        (
            SPADEClassifier("f1"),
            "'f1' lacks what SPADEClassifier needs.*STAMPClassifier.*SPADEClassifier takes.*g_mean",
        ),
        (SPADEClassifier(FBeta(beta=3)), "lacks what SPADEClassifier needs.*STAMPClassifier"),
        (STAMPClassifier("g_mean"), "'g_mean' lacks what STAMPClassifier needs.*SPADEClassifier.*takes: .*f1"),
        (STAMPClassifier("roc_auc"), "'roc_auc' lacks what STAMPClassifier needs.*MiniBatchSVC"),
        (MiniBatchSVC("recall_at_precision"), "'recall_at_precision' lacks what MiniBatchSVC needs"),
    ],
    ids=["spade-f1", "spade-f3", "stamp-gmean", "stamp-auc", "batches-recall"],
)
def test_measures_without_the_needed_capability_raise(call, model, match):
    expect_error(model, CALLS[call], TypeError, match)


@each_call
def test_unknown_measures_raise(call):
    expect_error(SPADEClassifier("gmeen"), CALLS[call], ValueError, "gmeen")


@each_call
@pytest.mark.parametrize("measure", [PrecisionAtK(k=10), RecallAtK(k=10)], ids=["precision", "recall"])
def test_k_as_a_number_of_samples_raises(call, measure):
    match = "counts top samples, but a stream has no number of samples: give k as a share of the positives"
    expect_error(MiniBatchSVC(measure), CALLS[call], ValueError, match)


INVALID_PARAMETERS = {
    "eta0": [0.0, -1.0, "1"],
    "alpha": [-1e-9, None],
    "schedule": ["other", None],
    "prior": [0.0, 1.0],
    "threshold": ["best", None, float("nan")],
    "n_passes": [0, 2.5],
    "tol": [None, float("nan")],
    "patience": [0],
    "validation_fraction": [0.0, 0.5],
    "max_seconds": [0.0],
    "fit_intercept": [3],
    "multi_class": ["ovo"],
    "n_jobs": [0, -2],
    "random_state": ["seed"],
    "checkpoint": [3],
    "every": [0, 1.5],
    "callback": [3],
}


@each_model
@each_call
@pytest.mark.parametrize(
    ("parameter", "value"), [(key, value) for key, values in INVALID_PARAMETERS.items() for value in values]
)
def test_invalid_parameters_are_named(name, call, parameter, value):
    expect_error(
        make_model(name, **{parameter: value}), CALLS[call], InvalidParameterError, f"The '{parameter}' parameter"
    )


@each_call
@pytest.mark.parametrize("value", [1, 0, 10.5])
def test_invalid_batch_sizes_are_named(call, value):
    expect_error(MiniBatchSVC(batch_size=value), CALLS[call], InvalidParameterError, "The 'batch_size' parameter")


# ---------------------------------------------------------------------------------------------------------------- files


def write_file(folder, kind, replacements=()):
    """Write all samples to a file, with some lines replaced; return its path."""
    lines = [f"{label} 1:{x[0]:.4f} 3:{x[2]:.4f}" for x, label in zip(X, Y, strict=True)]
    if kind == "csv":
        lines = [",".join([*(f"{value:.4f}" for value in x), str(label)]) for x, label in zip(X, Y, strict=True)]
    for number, text in replacements:
        lines[number - 1] = text
    path = folder / f"rows.{kind}"
    path.write_text("\n".join(lines) + "\n")
    return path


MALFORMED = {
    "svm": [(250, "1 1:0.5 3:many")],
    "csv": [(250, "0.1,0.2,many,0.4,1")],
}


@each_model
@pytest.mark.parametrize("kind", MALFORMED)
@pytest.mark.parametrize("n_passes", [1, 2])
def test_malformed_lines_are_located(tmp_path, name, kind, n_passes):
    path = write_file(tmp_path, kind, MALFORMED[kind])
    model = fit_first_samples(name, X if kind == "csv" else sparse.csr_matrix(X))
    match = re.escape(f"{path}, line 250, column ") + r"\d+: .*many"
    call = {"source": path, "chunk_rows": 50, "n_passes": n_passes}
    expect_error(model, lambda m: m.fit_stream(**call), MalformedLineError, match)
    expect_error(make_model(name), lambda m: m.fit_stream(**call), MalformedLineError, match)


@pytest.mark.parametrize("kind", MALFORMED)
def test_malformed_lines_can_be_skipped(tmp_path, kind):
    source = stream(write_file(tmp_path, kind, MALFORMED[kind]), chunk_rows=50, on_error="skip")
    model = SPADEClassifier("q_mean")
    with pytest.warns(UserWarning, match="1 malformed line was left out; the first: .*line 250"):
        model.fit_stream(source)
    assert model.result_.n_samples == 299 == source.n_rows
    assert source.skipped == 1 and "line 250, column" in source.skipped_lines[0]


@each_model
def test_invalid_paths_and_files_raise(tmp_path, name):
    model = fit_first_samples(name)
    expect_error(model, lambda m: m.fit_stream(tmp_path), IsADirectoryError, "is a directory: give the path of a file")
    missing = tmp_path / "missing.svm"
    expect_error(model, lambda m: m.fit_stream(missing), FileNotFoundError, "missing.svm does not exist")
    (tmp_path / "empty.svm").touch()
    expect_error(model, lambda m: m.fit_stream(tmp_path / "empty.svm"), ValueError, "empty.svm has no rows")
    (tmp_path / "bytes.xyz").write_bytes(b"\0\1\2\xff" * 50)
    expect_error(model, lambda m: m.fit_stream(tmp_path / "bytes.xyz"), ValueError, "pass format=")
    (tmp_path / "rows.xyz").write_text("1 1:1\n")  # recognised by its content
    expect_error(
        make_model(name), lambda m: m.fit_stream(tmp_path / "rows.xyz"), ValueError, "samples of one class only"
    )


def test_a_first_chunk_of_one_class_raises_and_names_the_file(tmp_path):
    path = write_file(tmp_path, "svm")
    path.write_text("1 1:1\n" * 60 + path.read_text())
    match = re.escape(f"the first chunk of {path} has samples of one class only, [1]: give all labels as classes=[...]")
    expect_error(make_model("spade"), lambda m: m.fit_stream(path, chunk_rows=50), ValueError, match)
    model = make_model("spade").fit_stream(path, chunk_rows=50, classes=[0.0, 1.0])
    assert model.result_.n_samples == 360


class _Lines(list):
    """A list of chunks whose attributes have names that streams of files use, too."""

    chunks, n_rows, path = "by day", "unknown", None


def test_a_source_is_no_stream_for_its_attributes():
    expected = STAMPClassifier("f1").fit_stream([(X, Y)] * 3)
    model = STAMPClassifier("f1").fit_stream(_Lines([(X, Y)] * 3))
    np.testing.assert_array_equal(model.coef_, expected.coef_)
