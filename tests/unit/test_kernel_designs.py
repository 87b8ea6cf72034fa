"""Kernel designs: the same products as explicit features whose inner products are the kernel's."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.svm import SVC

from metricwise import MultivariateSVC
from metricwise.designs import kernel_function, make_design
from metricwise.designs.base import iterate_blocks
from metricwise.designs.kernel import KernelDesign
from metricwise.designs.kernel_function import KernelFunction, KernelMatrix, check_positive
from metricwise.designs.subspace import Subspace, SubspaceDesign
from metricwise.estimators.svm.kernel import resolve_gamma
from metricwise.solvers.subspace_pursuit import draw_first_basis

RNG = np.random.default_rng(0)
N = 31
X = np.round(8 * RNG.normal(size=(N, 4))) / 8  # exact in single precision
X[RNG.random(X.shape) < 0.3] = 0.0
RBF = KernelFunction("rbf", gamma=0.3)
K = pairwise_kernels(X, metric="rbf", gamma=0.3)

SUBSETS = {
    "all": np.arange(N),
    "reversed": np.arange(N)[::-1].copy(),
    "few": np.array([7, 3, 30, 0]),
    "repeated": np.array([5, 5, 2, 11, 5, 2, 29]),
    "one": np.array([4]),
}
each_subset = pytest.mark.parametrize("indices", SUBSETS.values(), ids=SUBSETS)
each_constant = pytest.mark.parametrize("constant", [0.0, 1.0, 2.5])


def compute_features(K, constant=0.0):
    """Return features from the eigenvectors of the matrix, and the constant one."""
    values, vectors = np.linalg.eigh(K)
    features = vectors * np.sqrt(np.maximum(values, 0.0))
    return np.column_stack([features, np.full(len(K), constant)]) if constant else features


def make_kernel_design(constant, threads=1):
    return KernelDesign(K, make_design(X), np.arange(N), constant, threads)


# ------------------------------------------------------------------------------------------------------ kernel designs


@each_subset
@each_constant
def test_products_equal_those_of_explicit_features(indices, constant):
    design, features = make_kernel_design(constant).take(indices), compute_features(K, constant)[indices]
    assert design.shape == (indices.size, 2 * indices.size)
    c, other = RNG.normal(size=indices.size), RNG.normal(size=indices.size)
    f, g = design.combine(c), design.combine(other)
    w, v = features.T @ c, features.T @ other
    np.testing.assert_allclose(design.scores(f), features @ w, atol=1e-10)
    assert f @ design.covector(g) == pytest.approx(w @ v, abs=1e-10)
    assert g @ design.covector(f) == pytest.approx(w @ v, abs=1e-10)
    assert f @ design.covector(f) == pytest.approx(w @ w, abs=1e-10)
    # The representation of weights is linear.
    mixed = 2.0 * f - 0.5 * g
    np.testing.assert_allclose(design.scores(mixed), features @ (2.0 * w - 0.5 * v), atol=1e-10)
    assert mixed @ design.covector(f) == pytest.approx((2.0 * w - 0.5 * v) @ w, abs=1e-10)


@each_subset
@each_constant
def test_portable_weights_score_any_samples(indices, constant):
    whole = make_kernel_design(constant)
    design, features = whole.take(indices), compute_features(K, constant)
    c = RNG.normal(size=indices.size)
    model = design.portable(design.combine(c))
    assert model.shape == (N + 1,)
    expected = features @ (features[indices].T @ c)
    np.testing.assert_allclose(whole.scores_by(model), expected, atol=1e-10)
    for others in SUBSETS.values():
        np.testing.assert_allclose(whole.take(others).scores_by(model), expected[others], atol=1e-10)
    # Portable weights do not depend on the order of the samples.
    turned = whole.take(indices[::-1])
    np.testing.assert_allclose(turned.portable(turned.combine(c[::-1])), model, atol=1e-12)


def test_portable_weights_of_zero_are_zero():
    design = make_kernel_design(1.0).take(SUBSETS["few"])
    model = design.portable(np.zeros(design.shape[1]))
    assert not model.any() and not make_kernel_design(1.0).scores_by(model).any()


def test_take_can_be_nested_and_blocks_agree():
    design = make_kernel_design(1.0).take(SUBSETS["repeated"])
    part = design.take(np.array([6, 0, 0]))
    np.testing.assert_array_equal(part.samples, [29, 5, 5])
    assert part.matrix is K
    blocks = list(iterate_blocks(design, 3))
    np.testing.assert_array_equal(np.concatenate([block.samples for block in blocks]), design.samples)
    assert [block.shape[0] for block in blocks] == [3, 3, 1]


def test_fingerprints_follow_the_content_of_the_samples():
    copied = np.vstack([X, X[:5]])
    design = KernelDesign(RBF.between(copied, copied), make_design(copied), np.arange(N + 5), 0.0, 1)
    prints = design.fingerprints(3)
    np.testing.assert_array_equal(prints[N:], prints[:5])
    assert np.unique(prints).size == np.unique(X, axis=0).shape[0]
    np.testing.assert_array_equal(design.take(SUBSETS["repeated"]).fingerprints(3), prints[SUBSETS["repeated"]])
    np.testing.assert_array_equal(prints[:N], make_design(X).fingerprints(3))


def test_vectors_may_be_strided():
    design, c = make_kernel_design(1.0), RNG.normal(size=2 * N)[::-2]
    np.testing.assert_allclose(design.combine(c), design.combine(np.ascontiguousarray(c)), atol=1e-14)


def test_products_do_not_depend_on_the_number_of_threads():
    data = RNG.normal(size=(900, 3))
    matrix, content, c = RBF.between(data, data), make_design(data), RNG.normal(size=900)
    one, two = (KernelDesign(matrix, content, np.arange(900), 1.0, threads).combine(c) for threads in (1, 2))
    np.testing.assert_array_equal(one, two)


# ---------------------------------------------------------------------------------------------------------- subspaces


def make_subspace(basis, *, steps=1, function=RBF, data=X):
    subspace = Subspace(KernelMatrix(data, function), len(basis))
    for part in np.array_split(np.asarray(basis), steps):
        subspace.extend(part)
    return subspace


def expect_kernel_on_basis(subspace, matrix, atol=1e-7):
    """Check that inner products with basis samples are kernel values, and those of other samples its projection."""
    basis, features = subspace.basis, subspace.features
    np.testing.assert_allclose(features @ features[basis].T, matrix[:, basis], atol=atol)
    np.testing.assert_allclose(subspace.factor @ subspace.factor.T, matrix[np.ix_(basis, basis)], atol=atol)


@pytest.mark.parametrize("steps", [1, 2, 4])
def test_subspace_features_reproduce_the_kernel(steps):
    basis = np.array([4, 30, 11, 0, 7, 19, 23])
    subspace = make_subspace(basis, steps=steps)
    np.testing.assert_array_equal(subspace.basis, basis)
    assert subspace.features.shape == (N, 7)
    expect_kernel_on_basis(subspace, K)
    projection = K[:, basis] @ np.linalg.solve(K[np.ix_(basis, basis)], K[basis])
    np.testing.assert_allclose(subspace.features @ subspace.features.T, projection, atol=1e-7)


def test_a_basis_of_all_samples_reproduces_the_whole_kernel():
    distinct = np.unique(X, axis=0)
    subspace = make_subspace(np.arange(len(distinct)), steps=3, data=distinct)
    np.testing.assert_allclose(subspace.features @ subspace.features.T, RBF.between(distinct, distinct), atol=1e-7)


def test_extending_a_basis_leaves_its_features_unchanged():
    subspace = Subspace(KernelMatrix(X, RBF), 9)
    subspace.extend(np.array([4, 30, 11]))
    features, factor = subspace.features.copy(), subspace.factor.copy()
    subspace.extend(np.array([0, 7]))
    subspace.extend(np.array([19]))
    np.testing.assert_array_equal(subspace.features[:, :3], features)
    np.testing.assert_array_equal(subspace.factor[:3, :3], factor)
    assert not np.triu(subspace.factor, 1).any()


def test_coefficients_and_weights_are_inverse_maps():
    subspace = make_subspace([4, 30, 11, 0, 7], steps=2)
    w = RNG.normal(size=5)
    coefficients = subspace.coefficients(w)
    np.testing.assert_allclose(subspace.weights(coefficients), w, atol=1e-9)
    # The function that the weights represent, by its definition.
    np.testing.assert_allclose(K[:, subspace.basis] @ coefficients, subspace.features @ w, atol=1e-7)
    assert coefficients @ K[np.ix_(subspace.basis, subspace.basis)] @ coefficients == pytest.approx(w @ w, abs=1e-7)


@pytest.mark.parametrize("nearness", [0.0, 1e-9, 1e-6, 1e-3])
@pytest.mark.parametrize("dtype", [np.float64, np.float32], ids=["double", "single"])
def test_nearly_dependent_basis_samples_are_stable(nearness, dtype):
    data = np.vstack([X, X + nearness * RNG.normal(size=X.shape)]).astype(dtype)
    basis = np.r_[np.arange(12), N + np.arange(12)]
    matrix = pairwise_kernels(data.astype(np.float64), metric="rbf", gamma=0.3)
    for steps in (1, 2, 3):
        subspace = make_subspace(basis, steps=steps, data=data)
        assert np.isfinite(subspace.features).all()
        expect_kernel_on_basis(subspace, matrix, atol=1e-6)
        # No sample is longer than its kernel value.
        assert np.einsum("ij,ij->i", subspace.features, subspace.features).max() <= 1.0 + 1e-6


def test_basis_samples_within_the_span_can_be_added():
    """In a kernel of few features, further samples add nothing, and rounding errors must not fail."""
    function = KernelFunction("poly", gamma=1.0, degree=1)
    subspace = make_subspace(np.arange(12), steps=3, function=function)
    expect_kernel_on_basis(subspace, X @ X.T, atol=1e-6)
    assert np.isfinite(subspace.coefficients(RNG.normal(size=12))).all()


@each_subset
@each_constant
def test_subspace_products_equal_those_of_explicit_features(indices, constant):
    subspace = make_subspace([4, 30, 11, 0, 7])
    whole = SubspaceDesign(subspace.features, np.arange(N), constant, 1, subspace=subspace, content=make_design(X))
    design, w, c = whole.take(indices), RNG.normal(size=5 + (constant > 0)), RNG.normal(size=indices.size)
    features = np.column_stack([subspace.features, np.full(N, constant)]) if constant else subspace.features
    np.testing.assert_allclose(design.scores(w), features[indices] @ w, atol=1e-12)
    np.testing.assert_allclose(design.combine(c), features[indices].T @ c, atol=1e-12)
    np.testing.assert_array_equal(design.covector(w), w)
    np.testing.assert_array_equal(design.fingerprints(1), make_design(X).take(indices).fingerprints(1))
    model = design.portable(w)
    assert model.shape == (N + 1,) and set(np.flatnonzero(model[:-1])) <= set(subspace.basis)
    np.testing.assert_allclose(whole.scores_by(model), features @ w, atol=1e-8)
    np.testing.assert_allclose(design.scores_by(model), features[indices] @ w, atol=1e-8)
    np.testing.assert_allclose(K @ model[:-1] + model[-1], features @ w, atol=1e-6)
    blocks = list(iterate_blocks(design, 3))
    np.testing.assert_allclose(np.concatenate([block.scores(w) for block in blocks]), design.scores(w), atol=1e-12)


@pytest.mark.parametrize(("size", "n_pos"), [(6, 3), (10, 4), (1, 0), (31, 4), (30, 4), (7, 3)])
def test_a_random_basis_is_half_positive_where_possible(size, n_pos):
    positive = np.isin(np.arange(N), [3, 9, 20, 27])
    basis = draw_first_basis(np.arange(N), positive, size, np.random.default_rng(0))
    assert basis.size == size == np.unique(basis).size
    assert np.count_nonzero(positive[basis]) == n_pos


def test_a_random_basis_is_drawn_from_the_given_samples():
    positive, indices = np.arange(N) % 2 == 0, np.array([0, 1, 2, 3, 8, 10, 12])
    for size in range(1, 8):
        basis = draw_first_basis(indices, positive, size, np.random.default_rng(size))
        assert np.unique(basis).size == size and set(basis) <= set(indices)


# --------------------------------------------------------------------------------------------------- kernel functions

FUNCTIONS = {
    "rbf": {"gamma": 0.7},
    "poly": {"gamma": 0.4, "degree": 2, "coef0": 1.5},
    "sigmoid": {"gamma": 0.1, "coef0": -0.2},
}
MATRICES = {"dense": np.asarray, "csr": sparse.csr_array, "csr matrix": sparse.csr_matrix, "single": np.float32}


@pytest.mark.parametrize("kernel", FUNCTIONS)
@pytest.mark.parametrize("kind", MATRICES)
def test_kernel_values_equal_those_of_scikit_learn(kernel, kind):
    A, B = MATRICES[kind](X), MATRICES[kind](X[:6] + 1.0)
    function = KernelFunction(kernel, **FUNCTIONS[kernel])
    values = function.between(A, B)
    assert values.dtype == np.float64 and values.flags.c_contiguous
    # Samples are exact in single precision here, and so are their kernel values.
    np.testing.assert_allclose(
        values, pairwise_kernels(X, X[:6] + 1.0, metric=kernel, **FUNCTIONS[kernel]), rtol=1e-12, atol=1e-14
    )


@pytest.mark.parametrize("kind", MATRICES)
@pytest.mark.parametrize("gamma", ["scale", "auto", 0.37])
def test_gamma_scale_and_auto_equal_those_of_scikit_learn(gamma, kind):
    data, y = MATRICES[kind](X), np.arange(N) % 2
    reference = SVC(kernel="rbf", gamma=gamma).fit(data, y)
    assert resolve_gamma(gamma, "rbf", data) == pytest.approx(reference._gamma, rel=1e-6)
    model = MultivariateSVC(kernel="rbf", gamma=gamma, threshold=0.0).fit(data, y)
    assert model.gamma_ == pytest.approx(reference._gamma, rel=1e-6)


def test_gamma_of_constant_features_is_finite():
    assert resolve_gamma("scale", "rbf", np.ones((5, 3))) == 1.0
    assert SVC(kernel="rbf").fit(np.ones((5, 3)), [0, 1, 0, 1, 0])._gamma == 1.0


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("size", [1e-30, 1e-3, 1e30])
def test_gamma_scale_of_single_precision_is_that_of_double_precision(form, size):
    single = form((size * X).astype(np.float32))
    expected = resolve_gamma("scale", "rbf", single.astype(float))
    assert resolve_gamma("scale", "rbf", single) == pytest.approx(expected, rel=1e-12, abs=0.0)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("size", [1e-161, 1e160])
def test_gamma_scale_that_is_zero_or_infinite_raises(form, size):
    samples = form(size * np.array([[1.0], [2.0], [4.0]]))
    with pytest.raises(ValueError, match=r"gamma='scale' is (0|inf|nan), since the variance of X is"):
        resolve_gamma("scale", "sigmoid", samples)
    assert resolve_gamma("scale", np.dot, samples) == 1.0
    assert resolve_gamma(0.5, "sigmoid", samples) == 0.5


def test_errors_of_kernel_values_of_single_precision_are_those_of_double_precision():
    single = np.array([[1e-30, 2e-30], [3e-30, -1e-30]], dtype=np.float32)  # whose squares are zero
    function = KernelFunction("poly", gamma=1e60)
    own, expected = (
        KernelMatrix(samples, function).value_errors().of_function(np.ones(2))
        for samples in (single, single.astype(float))
    )
    np.testing.assert_array_equal(own, expected)
    assert np.all(own > 0.0)


@pytest.mark.parametrize("kind", MATRICES)
@pytest.mark.parametrize("kernel", FUNCTIONS)
def test_blocks_give_the_same_matrix(monkeypatch, kernel, kind):
    data, function = MATRICES[kind](X), KernelFunction(kernel, **FUNCTIONS[kernel])
    direct = function.between(data, data)
    sizes = []

    def count_block(self, down, across, original=KernelMatrix.block):
        sizes.append(down.size)
        return original(self, down, across)

    monkeypatch.setattr(kernel_function, "BLOCK_SAMPLES", 7)
    monkeypatch.setattr(KernelMatrix, "block", count_block)
    source = KernelMatrix(data, function)
    matrix, across = source.matrix(""), np.array([3, 30, 3])
    atol = 1e-12
    np.testing.assert_allclose(matrix, direct, atol=atol)
    np.testing.assert_allclose(matrix, matrix.T, atol=atol)
    np.testing.assert_allclose(source.columns(across), direct[:, across], atol=atol)
    assert max(sizes) == 7 and len(sizes) == 2 * 5
    np.testing.assert_allclose(source.diagonal(), np.diagonal(direct), atol=atol)


def test_blocks_of_a_precomputed_matrix_equal_its_entries():
    source = KernelMatrix(K.astype(np.float32), KernelFunction("precomputed"))
    down, across = np.array([5, 1, 5]), np.array([0, 30])
    np.testing.assert_array_equal(source.block(down, across), K.astype(np.float32)[np.ix_(down, across)])
    np.testing.assert_array_equal(source.columns(across), K.astype(np.float32)[:, across])
    np.testing.assert_array_equal(source.diagonal(), np.diagonal(K.astype(np.float32)))
    assert source.matrix("").dtype == source.diagonal().dtype == source.columns(across).dtype == np.float64


def test_callables_get_samples_and_may_return_any_dtype():
    def counts(A, B):
        return (np.abs(A).max(axis=1)[:, None] >= np.abs(B).max(axis=1)[None]).astype(int).tolist()

    values = KernelFunction(counts).between(X[:3], X[:5])
    assert values.shape == (3, 5) and values.dtype == np.float64


def test_callables_may_return_sparse_matrices():
    """The product of sparse samples is sparse."""
    data = sparse.csr_array(X)
    values = KernelFunction(lambda A, B: A @ B.T).between(data, data[:4])
    np.testing.assert_allclose(values, X @ X[:4].T, atol=1e-12)


# ---------------------------------------------------------------------------------------------------------- eigenvalues


def make_matrix_with_eigenvalues(eigenvalues, seed=0):
    """Return a dense symmetric matrix: a diagonal one under random reflections."""
    matrix, random = np.diag(eigenvalues), np.random.default_rng(seed)
    for _ in range(3):
        plane = random.normal(size=len(eigenvalues))
        plane /= np.linalg.norm(plane)
        matrix -= 2.0 * np.outer(plane, plane @ matrix)
        matrix -= 2.0 * np.outer(matrix @ plane, plane)
    return (matrix + matrix.T) / 2


@pytest.mark.parametrize("n_samples", [60, 620])
@pytest.mark.parametrize("least", [-1.0, -1e-2, -1e-4, -1e-6])
@pytest.mark.parametrize("crowd", [False, True], ids=["spread", "near zero"])
def test_negative_eigenvalues_are_found(n_samples, least, crowd):
    rest = np.geomspace(1.0, 1e-12 if crowd else 0.1, n_samples - 1)
    with pytest.raises(ValueError, match=r"not positive semi-definite: it has the eigenvalue .*\. Mend it"):
        check_positive(make_matrix_with_eigenvalues(np.r_[least, rest]), np.float64, "Mend it")


@pytest.mark.parametrize("n_samples", [60, 620])
def test_many_negative_eigenvalues_are_found(n_samples):
    spread = np.r_[np.linspace(-0.01, 0.0, n_samples - 2), 0.5, 1.0]
    with pytest.raises(ValueError, match="not positive semi-definite"):
        check_positive(make_matrix_with_eigenvalues(spread), np.float64, "")


@pytest.mark.parametrize("n_samples", [60, 620])
@pytest.mark.parametrize("rank", [1, 3, 40])
def test_rounding_errors_do_not_count_as_negative_eigenvalues(n_samples, rank):
    features = np.random.default_rng(0).normal(size=(n_samples, rank))
    for dtype in (np.float64, np.float32):
        rounded = (features @ features.T).astype(dtype)
        assert check_positive(rounded.astype(np.float64), dtype, "") is None
        assert check_positive(1e8 * rounded.astype(np.float64), dtype, "") is None
    assert check_positive(np.zeros((n_samples, n_samples)), np.float64, "") is None
    assert check_positive(np.eye(n_samples), np.float64, "") is None
