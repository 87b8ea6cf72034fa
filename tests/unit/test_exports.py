"""Exported text and ONNX graphs give other programs the scores and labels of the models."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from scipy.special import expit
from sklearn.datasets import dump_svmlight_file, make_classification
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, MaxAbsScaler, MinMaxScaler, PolynomialFeatures, StandardScaler
from sklearn.svm import LinearSVC

import metricwise as mw
from metricwise.persistence.exports.linear import extract_linear_scores
from metricwise.persistence.exports.onnx_trees import convert_boosted_trees

SAMPLES, Y = make_classification(200, 6, weights=[0.7], random_state=0)
X = SAMPLES.astype(np.float32).astype(np.float64)  # exact in the single precision of other programs
MULTICLASS_X, MULTICLASS_Y = make_classification(200, 6, n_informative=4, n_classes=3, random_state=0)
WORDS = np.array(["no", "yes"])[Y]

LINEAR = {
    "multivariate SVM": lambda: mw.MultivariateSVC("f1").fit(X, Y),
    "no intercept": lambda: mw.MultivariateSVC("f1", fit_intercept=False).fit(X, Y),
    "first class": lambda: mw.MultivariateSVC("f1", pos_label=0).fit(X, Y),
    "words": lambda: mw.MultivariateSVC("f1", pos_label="yes").fit(X, WORDS),
    "sparse": lambda: mw.MultivariateSVC("f1").fit(sparse.csr_matrix(X), Y),
    "SPADE": lambda: mw.SPADEClassifier("g_mean").fit(X, Y),
    "STAMP": lambda: mw.STAMPClassifier("f1").fit(X, Y),
    "mini-batches": lambda: mw.MiniBatchSVC("f1").fit(X, Y),
    "AMP": lambda: mw.AMPClassifier("f1").fit(X, Y),
    "AUC SVM": lambda: mw.AUCSVC().fit(X, Y),
    "plug-in": lambda: mw.PlugInClassifier(LogisticRegression()).fit(X, Y),
    "plug-in, first class": lambda: mw.PlugInClassifier(LogisticRegression(), pos_label=0).fit(X, Y),
    "plug-in, decisions": lambda: mw.PlugInClassifier(LinearSVC(), pos_label="no").fit(X, WORDS),
    "plug-in, steps": lambda: mw.PlugInClassifier(SGDClassifier(loss="log_loss", random_state=0)).fit(X, Y),
    "class weights": lambda: mw.CostSensitiveClassifier(LogisticRegression()).fit(X, Y),
    "scaled": lambda: make_pipeline(StandardScaler(), mw.MultivariateSVC("f1")).fit(3.0 + 10.0 * X, Y),
    "scaled twice": lambda: make_pipeline(MinMaxScaler(), MaxAbsScaler(), mw.AUCSVC()).fit(X, Y),
    "scaled inside": lambda: mw.PlugInClassifier(make_pipeline(StandardScaler(), LogisticRegression())).fit(X, Y),
}
MULTICLASS = "multiclass"


class SvmLightText:
    """A reader of SVM-light's text: scores are the sum of alpha * <support vector, sample>, minus b."""

    def __init__(self, path: Path) -> None:
        lines = path.read_text().splitlines()
        assert lines[0] == "SVM-light Version V6.20"
        numbers = [line.split("#")[0].strip() for line in lines[1:11]]
        assert numbers[0] == "0", "the kernel must be linear"
        self.n_features, count, self.b = int(numbers[6]), int(numbers[8]), float(numbers[9])
        self.vectors = [line.split("#")[0].split() for line in lines[11:]]
        assert len(self.vectors) == count - 1

    def compute_scores(self, samples: np.ndarray) -> np.ndarray:
        total = np.zeros(len(samples))
        for alpha, *pairs in self.vectors:
            for pair in pairs:
                feature, value = pair.split(":")
                total += float(alpha) * float(value) * samples[:, int(feature) - 1]
        return total - self.b


class LiblinearText:
    """A reader of LIBLINEAR's text, with the weights of each class in a column."""

    def __init__(self, path: Path) -> None:
        head, weights = path.read_text().split("\nw\n")
        settings = dict(line.split(" ", 1) for line in head.splitlines())
        self.labels = [int(label) for label in settings["label"].split()]
        assert settings["bias"] == "1" and int(settings["nr_class"]) == len(self.labels)
        self.weights = np.array([[float(value) for value in line.split()] for line in weights.splitlines()])
        assert len(self.weights) == int(settings["nr_feature"]) + 1

    def compute_scores(self, samples: np.ndarray) -> np.ndarray:
        return samples @ self.weights[:-1] + self.weights[-1]

    def predict_labels(self, samples: np.ndarray) -> np.ndarray:
        scores = self.compute_scores(samples)
        which = np.where(scores[:, 0] > 0, 0, 1) if len(self.labels) == 2 else scores.argmax(axis=1)
        return np.array(self.labels)[which]


@pytest.fixture(scope="module")
def linear() -> dict[str, Any]:
    multiclass = mw.MultivariateSVC("f1", multi_class="ovr").fit(MULTICLASS_X, MULTICLASS_Y)
    return {name: make() for name, make in LINEAR.items()} | {MULTICLASS: multiclass}


@pytest.mark.parametrize("name", LINEAR)
def test_svm_perf_text_gives_the_scores(linear: dict[str, Any], tmp_path: Path, name: str) -> None:
    mw.export_text(linear[name], tmp_path / "model", format="svmperf")
    found = SvmLightText(tmp_path / "model").compute_scores(X)
    assert np.allclose(found, linear[name].decision_function(X), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", LINEAR)
def test_liblinear_text_gives_the_scores_and_labels(linear: dict[str, Any], tmp_path: Path, name: str) -> None:
    mw.export_text(linear[name], tmp_path / "model", format="liblinear")
    found, labels = LiblinearText(tmp_path / "model"), linear[name].predict(X)
    assert np.allclose(found.compute_scores(X)[:, 0], linear[name].decision_function(X), rtol=1e-9, atol=1e-9)
    whole = np.where(labels == "yes", 1, -1) if labels.dtype.kind == "U" else labels
    assert np.array_equal(found.predict_labels(X), whole)


def test_multiclass_models_are_exported_as_liblinear_text_only(linear: dict[str, Any], tmp_path: Path) -> None:
    model = linear[MULTICLASS]
    mw.export_text(model, tmp_path / "model", format="liblinear")
    assert np.array_equal(LiblinearText(tmp_path / "model").predict_labels(MULTICLASS_X), model.predict(MULTICLASS_X))
    with pytest.raises(ValueError, match="SVM-perf is for two classes, and the model has 3: use format='liblinear'"):
        mw.export_text(model, tmp_path / "other", format="svmperf")
    assert not (tmp_path / "other").exists()


def test_a_model_with_zero_weights_can_be_exported(tmp_path: Path) -> None:
    model = mw.MultivariateSVC("f1").fit(X, Y)
    model.coef_ = np.zeros_like(model.coef_)
    mw.export_text(model, tmp_path / "model")
    assert np.allclose(SvmLightText(tmp_path / "model").compute_scores(X), model.decision_function(X))


@pytest.mark.skipif(shutil.which("svm_perf_classify") is None, reason="svm_perf_classify is not on the path")
@pytest.mark.parametrize("name", ["multivariate SVM", "first class", "STAMP", "plug-in", "scaled"])
def test_svm_perf_computes_the_same_scores(linear: dict[str, Any], tmp_path: Path, name: str) -> None:
    mw.export_text(linear[name], tmp_path / "model", format="svmperf")
    dump_svmlight_file(X, np.where(Y == 1, 1, -1), str(tmp_path / "samples"), zero_based=False)
    command = ["svm_perf_classify", str(tmp_path / "samples"), str(tmp_path / "model"), str(tmp_path / "found")]
    subprocess.run(command, check=True, capture_output=True)
    expected = linear[name].decision_function(X)
    assert np.allclose(np.loadtxt(tmp_path / "found"), expected, rtol=1e-12, atol=1e-8)  # it prints eight digits


@pytest.mark.parametrize("name", [*LINEAR, MULTICLASS])
def test_liblinear_computes_the_same_scores_and_labels(linear: dict[str, Any], tmp_path: Path, name: str) -> None:
    tool = pytest.importorskip("liblinear.liblinearutil", reason="liblinear-official is not installed")
    model, samples = linear[name], MULTICLASS_X if name == MULTICLASS else X
    mw.export_text(model, tmp_path / "model", format="liblinear")
    labels, _, scores = tool.predict([], samples.tolist(), tool.load_model(str(tmp_path / "model")), "-q")
    assert np.allclose(np.squeeze(scores), model.decision_function(samples), rtol=1e-9, atol=1e-9)
    expected = model.predict(samples)
    assert np.array_equal(labels, np.where(expected == "yes", 1, -1) if expected.dtype.kind == "U" else expected)


NOT_LINEAR = {
    "kernel": lambda: mw.MultivariateSVC("f1", kernel="rbf").fit(X, Y),
    "trees": lambda: mw.PlugInClassifier(RandomForestClassifier(3)).fit(X, Y),
    "bayes": lambda: mw.PlugInClassifier(GaussianNB()).fit(X, Y),
    "batch": lambda: mw.PlugInClassifier(LogisticRegression(), threshold="batch").fit(X, Y),
    "squares": lambda: make_pipeline(PolynomialFeatures(), mw.AUCSVC()).fit(X, Y),
    "clipped": lambda: make_pipeline(MinMaxScaler(clip=True), mw.AUCSVC()).fit(X, Y),
    "huber": lambda: mw.PlugInClassifier(SGDClassifier(loss="modified_huber")).fit(X, Y),
    "model selection": lambda: mw.MetricClassifier("f1", candidates=["extra_trees"]).fit(X, Y),
}


@pytest.mark.parametrize("name", NOT_LINEAR)
def test_nonlinear_models_raise(tmp_path: Path, name: str) -> None:
    with pytest.raises(TypeError, match="is not linear in the features"):
        mw.export_text(NOT_LINEAR[name](), tmp_path / "model")
    assert not (tmp_path / "model").exists()


def test_unknown_formats_are_named(linear: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="format must be one of 'svmperf', 'liblinear', got 'pmml'"):
        mw.export_text(linear["STAMP"], tmp_path / "model", format="pmml")


def test_linear_scores_include_the_scalers_of_a_pipeline(linear: dict[str, Any]) -> None:
    scaled = linear["scaled"]
    raw = 3.0 + 10.0 * X
    assert np.allclose(extract_linear_scores(scaled).compute(raw), scaled.decision_function(raw), rtol=1e-9, atol=1e-9)


# ---------------------------------------------------------------------------------------------------------------- ONNX

PLUG_IN = {
    "forest": lambda: mw.PlugInClassifier(RandomForestClassifier(10, random_state=0)).fit(X, Y),
    "boosted trees": lambda: mw.PlugInClassifier(
        GradientBoostingClassifier(n_estimators=10, random_state=0), pos_label="no"
    ).fit(X, WORDS),
    "bayes": lambda: mw.PlugInClassifier(GaussianNB()).fit(X, Y),
    "forest of a pipeline": lambda: mw.PlugInClassifier(
        make_pipeline(MinMaxScaler(), "passthrough", StandardScaler(), RandomForestClassifier(5, random_state=0))
    ).fit(X, Y),
    "forest behind a scaler": lambda: make_pipeline(
        StandardScaler(), mw.PlugInClassifier(RandomForestClassifier(5, random_state=0))
    ).fit(X, Y),
}


def _run_onnx(model: Any, samples: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    graph = mw.to_onnx(model, samples)
    session = runtime.InferenceSession(graph.SerializeToString(), providers=["CPUExecutionProvider"])
    labels, scores = session.run(["label", "scores"], {"X": samples})
    return labels, scores


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", [*LINEAR, MULTICLASS])
def test_onnx_graphs_of_linear_models_compute_the_same(linear: dict[str, Any], name: str, dtype: Any) -> None:
    pytest.importorskip("skl2onnx", reason="skl2onnx is not installed")
    model, samples = linear[name], MULTICLASS_X if name == MULTICLASS else X
    samples = samples.astype(dtype)
    labels, scores = _run_onnx(model, samples)
    tolerance = 1e-9 if dtype == np.float64 else 1e-4  # scalers use single precision, too
    assert np.array_equal(labels, model.predict(samples))
    assert np.allclose(scores, model.decision_function(samples), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", PLUG_IN)
def test_onnx_graphs_of_plug_in_models_compute_the_same(name: str) -> None:
    pytest.importorskip("skl2onnx", reason="skl2onnx is not installed")
    model, samples = PLUG_IN[name](), X.astype(np.float32)
    labels, scores = _run_onnx(model, samples)
    assert np.array_equal(labels, model.predict(samples))
    # Probabilities are compared because log-odds of those near one lose digits in single precision.
    assert np.allclose(expit(scores), expit(model.decision_function(samples)), rtol=0.0, atol=1e-5)


def select(y: Any = Y, measure: str = "f1", **settings: Any) -> Any:
    samples = MULTICLASS_X if y is MULTICLASS_Y else X
    return mw.MetricClassifier(measure, **settings).fit(samples, y)


SELECTED = {
    "one linear": lambda: select(candidates={"logistic": LogisticRegression()}),
    "first class": lambda: select(WORDS, candidates={"logistic": LogisticRegression()}, pos_label="no"),
    "trees": lambda: select(candidates={"forest": RandomForestClassifier(10, random_state=0)}),
    "average": lambda: select(
        candidates={"bayes": GaussianNB(), "svm": LinearSVC(), "forest": RandomForestClassifier(10, random_state=0)}
    ),
    "multiclass": lambda: select(MULTICLASS_Y, "f1_macro", candidates={"bayes": GaussianNB()}),
    "multiclass, decisions": lambda: select(MULTICLASS_Y, "f1_macro", candidates={"svm": LinearSVC()}),
}


@pytest.mark.parametrize("name", SELECTED)
def test_onnx_graphs_of_selected_models_compute_the_same(name: str) -> None:
    pytest.importorskip("skl2onnx", reason="skl2onnx is not installed")
    model = SELECTED[name]()
    samples = (MULTICLASS_X if "multiclass" in name else X).astype(np.float32)
    labels, scores = _run_onnx(model, samples)
    assert np.array_equal(labels, model.predict(samples))
    assert np.allclose(scores, model.decision_function(samples), rtol=1e-3, atol=1e-3)


# Histogram-based boosting compares in double precision; some values are missing, and missed in training.
HOLES = np.where(np.random.default_rng(0).uniform(size=X.shape) < 0.1, np.nan, SAMPLES)
MULTICLASS_HOLES = np.where(np.random.default_rng(1).uniform(size=MULTICLASS_X.shape) < 0.1, np.nan, MULTICLASS_X)
BOOSTING = HistGradientBoostingClassifier(max_iter=15, min_samples_leaf=5, random_state=0)
BOOSTED = {
    "plug-in": lambda: mw.PlugInClassifier(BOOSTING).fit(HOLES, Y),
    "plug-in, first class": lambda: mw.PlugInClassifier(BOOSTING, pos_label="no").fit(HOLES, WORDS),
    "plug-in, steps": lambda: mw.PlugInClassifier(make_pipeline(StandardScaler(), BOOSTING)).fit(HOLES, Y),
    "no missing values": lambda: mw.PlugInClassifier(BOOSTING).fit(SAMPLES, Y),
    "class weights": lambda: mw.CostSensitiveClassifier(BOOSTING).fit(HOLES, Y),
    "model selection": lambda: mw.MetricClassifier("f1", candidates=["boosted_trees"]).fit(SAMPLES, Y),
    "model selection, multiclass": lambda: mw.MetricClassifier("f1_macro", candidates={"trees": BOOSTING}).fit(
        MULTICLASS_HOLES, MULTICLASS_Y
    ),
}


@pytest.mark.parametrize("name", BOOSTED)
def test_onnx_graphs_of_boosted_trees_compute_the_same(name: str) -> None:
    pytest.importorskip("skl2onnx", reason="skl2onnx is not installed")
    model, seen = BOOSTED[name](), MULTICLASS_HOLES if "multiclass" in name else HOLES
    random = np.random.default_rng(2)
    samples = np.concatenate([seen, seen[random.permutation(len(seen))], np.full((1, seen.shape[1]), np.nan)])
    samples[: len(seen)] += random.normal(size=seen.shape)
    labels, scores = _run_onnx(model, samples)
    assert np.array_equal(labels, model.predict(samples))
    assert np.allclose(scores, model.decision_function(samples), rtol=1e-5, atol=1e-5)


def test_onnx_probabilities_of_boosted_trees_are_exact_at_their_thresholds() -> None:
    skl2onnx = pytest.importorskip("skl2onnx", reason="skl2onnx is not installed")
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    known = HOLES.copy()
    known[:, 0] = np.where(Y + np.arange(len(Y)) % 3 > 1, np.nan, 1.0)  # split by whether it is missing, at infinity
    for target in (Y, WORDS, np.arange(len(Y)) % 3):
        model = HistGradientBoostingClassifier(max_iter=15).fit(known, target)
        nodes = np.concatenate([tree.nodes for trees in model._predictors for tree in trees])
        assert np.isinf(nodes["num_threshold"]).any()
        thresholds = nodes[(nodes["is_leaf"] == 0) & np.isfinite(nodes["num_threshold"])]
        samples = np.repeat(known[:2], thresholds.size, axis=0)
        for half, direction in zip(np.split(samples, 2), (-np.inf, np.inf), strict=True):
            half[np.arange(thresholds.size), thresholds["feature_idx"]] = np.nextafter(
                thresholds["num_threshold"], direction
            )
        with convert_boosted_trees():
            graph = skl2onnx.to_onnx(model, samples[:1], options={"zipmap": False}, target_opset=21)
        session = runtime.InferenceSession(graph.SerializeToString(), providers=["CPUExecutionProvider"])
        labels, chances = session.run(None, {"X": samples})
        assert np.array_equal(labels, model.predict(samples))
        np.testing.assert_allclose(chances, model.predict_proba(samples), rtol=0.0, atol=1e-7)


def test_the_converter_of_boosted_trees_is_ours_only_while_it_is_needed() -> None:
    pytest.importorskip("skl2onnx", reason="skl2onnx is not installed")
    from skl2onnx._supported_operators import sklearn_operator_name_map as names

    before = names[HistGradientBoostingClassifier]
    with pytest.raises(RuntimeError), convert_boosted_trees():
        assert names[HistGradientBoostingClassifier] != before
        raise RuntimeError
    assert names[HistGradientBoostingClassifier] == before


def test_boosted_trees_that_split_categories_have_no_graph() -> None:
    pytest.importorskip("skl2onnx", reason="skl2onnx is not installed")
    samples = np.column_stack([X, np.arange(len(Y)) % 5])
    target = np.isin(samples[:, -1], (1, 4)).astype(int)
    model = mw.PlugInClassifier(HistGradientBoostingClassifier(max_iter=3, categorical_features=[6])).fit(
        samples, target
    )
    with pytest.raises(
        TypeError, match=r"^boosted trees that split categories have no operator in ONNX: encode the cat"
    ):
        mw.to_onnx(model, samples)


def test_text_of_a_selected_linear_model_gives_its_labels(tmp_path: Path) -> None:
    for name in ("one linear", "first class"):
        model = SELECTED[name]()
        mw.export_text(model, tmp_path / "model", format="liblinear")
        labels = np.where(LiblinearText(tmp_path / "model").predict_labels(X) == 1, *model.classes_[::-1])
        assert np.array_equal(labels, model.predict(X))


def test_models_without_a_graph_raise() -> None:
    pytest.importorskip("skl2onnx", reason="skl2onnx is not installed")
    with pytest.raises(TypeError, match="is not linear in the features"):
        mw.to_onnx(NOT_LINEAR["kernel"](), X)
    with pytest.raises(TypeError, match="MultivariateSVC, which was selected, has neither probabilities nor scores"):
        mw.to_onnx(mw.MetricClassifier("f1", candidates={"svm": mw.MultivariateSVC("f1", kernel="rbf")}).fit(X, Y), X)
    with pytest.raises(TypeError, match="ExtraTreesClassifier, which was selected, was trained with missing values"):
        gaps = np.where(np.arange(X.size).reshape(X.shape) % 9, X, np.nan)
        mw.to_onnx(mw.MetricClassifier("f1", candidates=["extra_trees"], cv=2).fit(gaps, Y), gaps)
    with pytest.raises(TypeError, match="to_onnx is for classes, and the model is multilabel"):
        labels = np.column_stack([Y, 1 - Y])
        mw.to_onnx(mw.MetricClassifier("f1_macro", candidates={"bayes": GaussianNB()}).fit(X, labels), X)
    with pytest.raises(TypeError, match="threshold does not depend on the batch"):
        mw.to_onnx(NOT_LINEAR["batch"](), X)
    with pytest.raises(TypeError, match=r"skl2onnx .* cannot convert this Pipeline"):
        mw.to_onnx(make_pipeline(FunctionTransformer(np.tanh), LINEAR["AMP"]()), X)
    with pytest.raises(TypeError, match="is for models of metricwise, got LogisticRegression"):
        mw.to_onnx(LogisticRegression().fit(X, Y), X)
    with pytest.raises(TypeError, match="X must be a dense array of samples in single or double precision"):
        mw.to_onnx(LINEAR["AMP"](), X.astype(int))


class _OtherThreshold(LogisticRegression):
    """A classifier of another package that happens to name its attributes as `PlugInClassifier` does."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> _OtherThreshold:
        super().fit(X, y, sample_weight)
        self.estimator_, self.threshold_ = GaussianNB().fit(X, y), 0.0
        return self


def test_attributes_do_not_make_a_plug_in_of_another_classifier() -> None:
    X, y = make_classification(100, random_state=0)
    model = _OtherThreshold().fit(X, y)
    np.testing.assert_allclose(extract_linear_scores(model).compute(X), model.decision_function(X))
