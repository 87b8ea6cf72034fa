"""Sparse matrices, data frames and labels of users are valid, and have one entry per position, before they are used."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import metricwise
from metricwise import AUCSVC, FeatureSelectingSVC, MultivariateSVC, STAMPClassifier, certify, memory
from metricwise.csr import has_repeats, is_canonical
from metricwise.estimators.selection.profile import Profile
from metricwise.persistence.fingerprints import fingerprint
from metricwise.raw_inputs import check_samples, check_sparse, read_labels

RNG = np.random.default_rng(0)
X = np.round(RNG.normal(size=(60, 3)), 2) * (RNG.random((60, 3)) < 0.8)
Y = (np.abs(X[:, 0]) > 0.7).astype(int)


def repeat_entries(samples=X, kind=sparse.csr_matrix):
    """Return a matrix that holds every value in two halves, in columns that do not rise."""
    n_rows, n_columns = samples.shape
    columns = np.tile(np.r_[np.arange(n_columns)[::-1], np.arange(n_columns)], n_rows)
    halves = np.hstack([samples[:, ::-1], samples]).ravel() / 2.0
    return kind((halves, columns, np.arange(n_rows + 1) * 2 * n_columns), shape=samples.shape)


@pytest.mark.parametrize("form", ["csr", "csc", "bsr", "coo", "dia", "lil", "dok"])
@pytest.mark.parametrize("family", ["matrix", "array"])
def test_valid_matrices_of_all_formats_pass(form, family):
    matrix = getattr(sparse, f"{form}_{family}")(X)
    found = check_sparse(matrix)
    assert type(found) is type(matrix) and np.array_equal(found.toarray(), X)


def test_indices_of_other_types_and_unused_entries_pass():
    matrix = sparse.csr_matrix(X)
    for indices, indptr in ((np.uint16, np.int32), (np.int32, np.int64), (np.int64, np.int64)):
        changed = sparse.csr_matrix(X)
        changed.indices, changed.indptr = matrix.indices.astype(indices), matrix.indptr.astype(indptr)
        changed.indices, changed.data = np.append(changed.indices, indices(77)), np.append(changed.data, np.nan)
        found = check_sparse(changed)
        assert np.array_equal(found.toarray(), X) and found.data.size == matrix.data.size
        assert changed.indices.size == matrix.indices.size + 1 and changed.indices.dtype == indices


@pytest.mark.parametrize("kind", [sparse.csr_matrix, sparse.csr_array])
def test_repeated_entries_are_added_in_a_copy(kind):
    matrix = repeat_entries(kind=kind)
    matrix.has_canonical_format = True  # as SciPy notes of matrices whose arrays are changed later
    before = [part.copy() for part in (matrix.data, matrix.indices, matrix.indptr)]
    found = check_sparse(matrix)
    assert type(found) is kind and np.array_equal(found.toarray(), X) and is_canonical(found.indices, found.indptr)
    for part, old in zip((matrix.data, matrix.indices, matrix.indptr), before, strict=True):
        assert np.array_equal(part, old)


def test_repeated_blocks_are_added_in_a_copy():
    blocks = sparse.bsr_matrix(X, blocksize=(2, 3))
    parts = np.repeat(blocks.data / 2.0, 2, axis=0), np.repeat(blocks.indices, 2), blocks.indptr * 2
    repeated = sparse.bsr_matrix(parts, shape=X.shape)
    found = check_sparse(repeated)
    assert found.format == "bsr" and len(found.data) == len(blocks.data) and np.allclose(found.toarray(), X)
    model = MultivariateSVC("f1", kernel="rbf", gamma=0.5).fit(X, Y)
    assert model.decision_function(repeated) == pytest.approx(model.decision_function(X), abs=1e-9)


@pytest.mark.parametrize("make", [repeat_entries, sparse.bsr_matrix])
def test_products_add_repeated_entries_without_a_copy(make):
    matrix = make(X)
    assert check_sparse(matrix, adds_repeated=True) is matrix
    for model in (STAMPClassifier("f1"), MultivariateSVC("f1")):
        expected = model.fit(sparse.csr_matrix(X), Y).decision_function(sparse.csr_matrix(X))
        assert model.decision_function(matrix) == pytest.approx(expected, abs=1e-9)


def test_profiles_leave_unsorted_matrices_as_they_are():
    matrix = sparse.csr_matrix(X)
    matrix.indices[:2], matrix.data[:2] = matrix.indices[1::-1].copy(), matrix.data[1::-1].copy()
    matrix.has_sorted_indices = False
    for part in (matrix.data, matrix.indices, matrix.indptr):
        part.setflags(write=False)
    assert Profile.of(matrix) == Profile.of(sparse.csr_matrix(X))


def test_small_indices_become_those_that_all_learners_take():
    matrix = sparse.csr_matrix(X)
    matrix.indices, matrix.indptr = matrix.indices.astype(np.int16), matrix.indptr.astype(np.int16)
    found = check_sparse(matrix)
    assert found.indices.dtype == found.indptr.dtype == np.int32
    metricwise.OnlineMetricClassifier(measure="f1").fit(matrix, Y)  # whose learner takes no 64-bit ones


def test_canonical_matrices_are_recognised():
    for n_rows in range(1, 5):
        for case in range(40):
            columns = [np.random.default_rng(case).integers(0, 3, size) for size in RNG.integers(0, 4, n_rows)]
            indptr = np.cumsum([0, *map(len, columns)])
            expected = all(np.all(np.diff(row) > 0) for row in columns)
            assert is_canonical(np.concatenate(columns), indptr) == expected
            expected = any(len(set(row)) < len(row) for row in columns)
            assert has_repeats(np.concatenate(columns), indptr, 3) == expected


@pytest.mark.parametrize("form", ["csr_matrix", "csr_array", "csc_matrix", "csc_array"])
def test_unsorted_entries_that_are_not_repeated_are_not_copied(form):
    matrix = getattr(sparse, form)(X)
    lines = zip(matrix.indptr, matrix.indptr[1:], strict=False)
    order = np.concatenate([np.arange(begin, end)[::-1] for begin, end in lines])
    unsorted = type(matrix)((matrix.data[order], matrix.indices[order], matrix.indptr), shape=X.shape)
    assert check_sparse(unsorted) is unsorted and np.array_equal(unsorted.toarray(), X)
    assert fingerprint(unsorted) == fingerprint(matrix)
    unsorted.has_sorted_indices = True  # as SciPy notes of matrices whose arrays are changed later
    assert is_canonical(check_sparse(unsorted).indices, matrix.indptr)


def test_repeated_entries_of_very_many_columns_are_added():
    n_columns = 2**31 - 1
    matrix = sparse.csr_matrix(([1.0, 2.0, 4.0], [n_columns - 1, 0, n_columns - 1], [0, 3]), shape=(1, n_columns))
    found = check_sparse(matrix)
    assert found.indices.tolist() == [0, n_columns - 1] and found.data.tolist() == [2.0, 5.0]


def test_a_column_may_have_the_name_of_an_attribute():
    frame = pd.DataFrame({"column_names": [1.0, 1.0], "a": [2.0, 3.0]})
    assert check_samples(frame) is frame


def test_attributes_that_are_no_names_of_columns_pass():
    class Samples(np.ndarray):
        columns = None

        def column_names(self): ...

    samples = X.view(Samples)
    assert check_samples(samples) is samples
    del Samples.column_names
    assert check_samples(samples) is samples


@pytest.mark.parametrize(
    ("form", "changes"),
    [
        ("csr", {"data": np.ones(1)}),
        ("csr", {"indices": None}),
        ("bsr", {"data": np.ones((1, 2))}),
        ("coo", {"data": np.ones(1)}),
        ("dia", {"offsets": np.zeros(9, dtype=int)}),
        ("dia", {"data": np.ones((2, 3))}),
        ("lil", {"rows": np.empty(0, dtype=object)}),
    ],
)
def test_arrays_that_do_not_belong_together_raise(form, changes):
    matrix = getattr(sparse, f"{form}_matrix")(X)
    for name, value in changes.items():
        setattr(matrix, name, value)
    with pytest.raises(ValueError, match=f"X is not a valid {form.upper()} matrix"):
        check_sparse(matrix)


@pytest.mark.parametrize("kernel", ["rbf", "poly", "linear"])
@pytest.mark.parametrize("make", [repeat_entries, lambda: repeat_entries().tocsc()])
@pytest.mark.parametrize("estimator", [MultivariateSVC, AUCSVC])
def test_repeated_entries_train_predict_and_certify_as_their_sums(estimator, make, kernel):
    model = estimator(kernel=kernel, gamma=1.0).fit(sparse.csr_matrix(X), Y)
    other = estimator(kernel=kernel, gamma=1.0).fit(make(), Y)
    expected = model.decision_function(sparse.csr_matrix(X))
    assert model.decision_function(make()) == pytest.approx(expected, abs=1e-12)
    assert np.array_equal(other.decision_function(sparse.csr_matrix(X)), expected)
    assert certify(model, make(), Y) == certify(model, sparse.csr_matrix(X), Y)


@pytest.mark.parametrize(
    "convert",
    [
        *(getattr(sparse, f"{form}_matrix") for form in ("csc", "bsr", "coo", "dia", "lil")),
        lambda X: X.astype(object),
        lambda X: X.astype(str),
        lambda X: X.tolist(),
        lambda X: pd.DataFrame(X).astype("Float64"),
        lambda X: pd.DataFrame(X).convert_dtypes(dtype_backend="pyarrow"),
    ],
)
@pytest.mark.parametrize("model", [MultivariateSVC("f1"), MultivariateSVC(kernel="rbf"), FeatureSelectingSVC("f1")])
def test_certify_takes_what_fit_takes(model, convert):
    samples = convert(X)
    found, expected = certify(model.fit(samples, Y), samples, Y), model.result_.certificate
    assert found.upper == pytest.approx(expected.upper, rel=1e-6)


@pytest.mark.parametrize(
    ("samples", "y", "message"),
    [
        (X[:, 0], Y, "Expected 2D array"),
        (3.0, Y, "Expected 2D array"),
        (sparse.coo_array((60, 3)), 1, "label per sample"),
        (X, sparse.csr_matrix(Y[:, None]), "label per sample"),
        (np.where(X > 1.0, None, X), Y, "NaN"),
        (X.astype(complex), Y, "Complex data"),
        (pd.DataFrame(X).assign(word="a"), Y, "does not hold numbers"),
    ],
)
def test_certify_refuses_what_is_no_training_data(samples, y, message):
    with pytest.raises(ValueError, match=message):
        certify(MultivariateSVC("f1", threshold=0.0).fit(X, Y), samples, y)


@pytest.mark.parametrize("estimator", [MultivariateSVC(), MultivariateSVC(kernel="rbf"), STAMPClassifier()])
def test_too_many_columns_for_the_memory_are_refused(estimator, monkeypatch):
    wide = sparse.csr_matrix((np.ones(60), (np.arange(60), np.arange(60) * 1000)), shape=(60, 3_000_000))
    monkeypatch.setattr(memory, "available_bytes", lambda: 20_000_000)
    with pytest.raises(MemoryError, match=r"72MB for 3000000 features, but about 20MB of memory is free"):
        estimator.fit(wide, Y)
    estimator.fit(wide[:, :100_000], Y)


@pytest.mark.parametrize("name", ["MultivariateSVC", "STAMPClassifier", "MetricClassifier", "BinaryRelevance"])
def test_frames_that_cannot_be_read_are_explained(name):
    frame = pd.DataFrame(X, columns=["a", "b", "a"])
    with pytest.raises(ValueError, match="X has 2 columns with the name 'a'"):
        getattr(metricwise, name)().fit(frame, Y)
    polars = pytest.importorskip("polars")
    with pytest.raises(ValueError, match=r"lazy data frame.* pass X.collect\(\)"):
        getattr(metricwise, name)().fit(polars.DataFrame(X, schema=list("abc")).lazy(), Y)


def test_tables_of_pyarrow_keep_their_names():
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table([X[:, 0], X[:, 1]], names=["a", "b"])
    assert check_samples(table) is table
    with pytest.raises(ValueError, match="2 columns with the name 'a'"):
        check_samples(pyarrow.table([X[:, 0], X[:, 1]], names=["a", "a"]))


@pytest.mark.parametrize("name", ["MultivariateSVC", "STAMPClassifier", "MetricClassifier"])
def test_missing_and_new_kinds_of_texts_as_labels(name):
    words = np.where(Y == 1, "yes", "no")
    missing = pd.Series(words, dtype="string")
    missing[7] = pd.NA
    with pytest.raises(ValueError, match="y has no label at position 7"):
        getattr(metricwise, name)(pos_label="yes").fit(X, missing)
    if hasattr(np.dtypes, "StringDType"):
        texts = words.astype(np.dtypes.StringDType())
        assert read_labels(texts).dtype == words.dtype
        if name != "MetricClassifier":
            assert getattr(metricwise, name)(pos_label="yes").fit(X, texts).classes_.tolist() == ["no", "yes"]


def test_sparse_labels_of_one_dimension_are_refused_with_the_remedy():
    with pytest.raises(ValueError, match=r"y is a sparse array of one dimension: pass y\.toarray\(\)"):
        MultivariateSVC().fit(X, sparse.coo_array(Y))
