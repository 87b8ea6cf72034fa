"""Model files whose attributes would make compiled code fail, start processes or exhaust memory are refused."""

from __future__ import annotations

import time
import tracemalloc
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.feature_selection import SelectFromModel
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

import metricwise as mw
from fuzzing.model_files import read_archive, write_archive
from tests.faults.forged_models import assert_load_raises
from tests.unit import sklearn_models as stock

_MODELS = (
    "boosting, classes",
    "columns",
    "count",
    "hashed records",
    "histograms, categories",
    "neighbours",
    "network",
    "one-hot, infrequent",
    "polynomial",
    "records",
    "TF-IDF",
)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("models")
    found = {}
    for name in _MODELS:
        model, _ = stock.MODELS[name]()
        found[name] = folder / f"{name}.mw"
        mw.save(model, found[name])
    own = {"linear": mw.MultivariateSVC("f1"), "stream": mw.SPADEClassifier("g_mean")}
    own["plug-in"] = mw.PlugInClassifier(LinearSVC(), threshold="batch", cv=2)
    own["online"] = mw.OnlineMetricClassifier()
    for name, model in own.items():
        found[name] = folder / f"{name}.mw"
        mw.save(model.fit(stock.X, stock.y), found[name])
    return found


def _change(path: Path, name: str, target: Path, **fields: Any) -> Path:
    """Write a file in which attributes of the objects of a class are others; return its path."""
    header, model, arrays = read_archive(path)
    named = [entry for entry in model["entries"] if entry.get("class", "").endswith(f".{name}")]
    objects = [entry for entry in named if set(fields) <= set(entry["fields"])]  # templates are not fitted
    assert objects
    for entry in objects:
        entry["fields"] |= fields
    target.write_bytes(write_archive(header, model, arrays))
    return target


def _fit_sparse_machine(**settings: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # of probability
        return SVC(**settings).fit(stock.SPARSE, stock.y)


@pytest.mark.parametrize("model", [KNeighborsClassifier(), SVC()], ids=lambda model: type(model).__name__)
def test_sparse_matrices_with_rows_beyond_the_end_are_refused(tmp_path: Path, model: Any) -> None:
    path = tmp_path / "x.mw"
    mw.save(model.fit(stock.SPARSE, stock.y), path)
    header, tree, arrays = read_archive(path)
    matrix = next(entry for entry in tree["entries"] if entry["kind"] == "sparse")
    number = tree["entries"][matrix["indptr"]["at"]]["number"]
    arrays[number][1:-1], arrays[number][-1] = 2**30, 0
    path.write_bytes(write_archive(header, tree, arrays))
    assert_load_raises(path, "a sparse matrix is damaged: indptr must rise")


@pytest.mark.parametrize("difference", [-3, -1, 1, 10**6])
def test_trees_with_another_depth_are_refused(tmp_path: Path, difference: int) -> None:
    path = tmp_path / "x.mw"
    mw.save(DecisionTreeClassifier().fit(stock.X, stock.y), path)
    header, tree, arrays = read_archive(path)
    (entry,) = (entry for entry in tree["entries"] if entry["kind"] == "tree")
    entry["max_depth"] += difference
    path.write_bytes(write_archive(header, tree, arrays))
    assert_load_raises(path, "a decision tree is damaged")


def test_trees_whose_nodes_have_two_parents_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.mw"
    mw.save(DecisionTreeClassifier().fit(stock.X, stock.y), path)
    header, tree, arrays = read_archive(path)
    nodes = next(array for array in arrays.values() if array.dtype.names is not None)
    nodes["left_child"][0] = nodes["right_child"][0]
    path.write_bytes(write_archive(header, tree, arrays))
    assert_load_raises(path, "a decision tree is damaged")


@pytest.mark.parametrize("changed", [("probability", "_effective_probability"), ("probability",)], ids=str)
@pytest.mark.parametrize("before", [False, True])
def test_machines_whose_flags_and_probabilities_differ_are_refused(
    tmp_path: Path, before: bool, changed: tuple[str, ...]
) -> None:
    path = tmp_path / "x.mw"
    mw.save(_fit_sparse_machine(probability=before), path)
    assert mw.load(path).probability == before
    header, tree, arrays = read_archive(path)
    tree["entries"][-1]["fields"] |= {key: not before for key in changed if key in tree["entries"][-1]["fields"]}
    path.write_bytes(write_archive(header, tree, arrays))
    assert_load_raises(path, "a kernel machine is damaged")


def test_linear_models_whose_weights_have_several_precisions_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.mw"
    mw.save(SGDClassifier(average=True).fit(stock.X, stock.y), path)
    header, tree, arrays = read_archive(path)
    place = tree["entries"][-1]["fields"]["_standard_coef"]["at"]
    number = tree["entries"][place]["number"]
    arrays[number] = arrays[number].astype(np.float32)
    path.write_bytes(write_archive(header, tree, arrays))
    assert_load_raises(path, "weights have several precisions")


_TERMS = {"is": "dict", "items": [["red", 0], ["bird", 10**8]]}


@pytest.mark.parametrize(
    ("model", "name", "fields"),
    [
        ("count", "CountVectorizer", {"vocabulary_": _TERMS}),
        ("TF-IDF", "TfidfVectorizer", {"vocabulary_": _TERMS}),
        ("records", "DictVectorizer", {"vocabulary_": _TERMS, "feature_names_": ["red", "bird"]}),
        ("one-hot, infrequent", "OneHotEncoder", {"_n_features_outs": [1, 1]}),
        ("one-hot, infrequent", "OneHotEncoder", {"_infrequent_indices": [None, None]}),
        ("boosting, classes", "DummyClassifier", {"_strategy": "uniform"}),
        ("boosting, classes", "DummyClassifier", {"n_classes_": 1}),
        ("histograms, categories", "HistGradientBoostingClassifier", {"n_features_in_": 400}),
        ("histograms, categories", "HistGradientBoostingClassifier", {"_preprocessor": None}),
        ("histograms, categories", "ColumnTransformer", {"sparse_output_": True}),
        ("network", "AdamOptimizer", {"ms": []}),
        ("network", "MLPClassifier", {"hidden_layer_sizes": {"is": "tuple", "items": [3, 3]}}),
        ("boosting, classes", "DecisionTreeRegressor", {"n_outputs_": 2**40}),
        ("plug-in", "Binary", {"positive": 2}),
        ("plug-in", "Binary", {"positive": {"is": "tuple", "items": []}}),
        ("online", "Binary", {"positive": 2}),
        ("online", "SGDClassifier", {"average": 1 << 40}),
        ("online", "Binary", {"positive": {"is": "tuple", "items": []}}),
        ("neighbours", "KNeighborsClassifier", {"_y": {"is": "entry", "at": 0}}),
        ("hashed records", "FeatureHasher", {"n_features": 0}),
        ("polynomial", "PolynomialFeatures", {"degree": 9}),
        ("polynomial", "PolynomialFeatures", {"n_output_features_": 10**9}),
        ("count", "CountVectorizer", {"input": "filename"}),
        ("count", "CountVectorizer", {"token_pattern": "(a+)+$"}),
        ("count", "CountVectorizer", {"encoding": "idna"}),
        ("columns", "ColumnTransformer", {"sparse_output_": 3}),
        ("columns", "StandardScaler", {"n_features_in_": 7}),
    ],
    ids=str,
)
def test_attributes_that_compiled_code_follows_are_refused(
    files: dict[str, Path], tmp_path: Path, model: str, name: str, fields: dict[str, Any]
) -> None:
    assert_load_raises(_change(files[model], name, tmp_path / "x.mw", **fields), "cannot be loaded")


def test_streams_without_their_model_are_refused(files: dict[str, Path], tmp_path: Path) -> None:
    header, tree, arrays = read_archive(files["stream"])
    (stream,) = (entry for entry in tree["entries"] if "_model" in entry.get("fields", {}))
    del stream["fields"]["_model"]
    path = tmp_path / "x.mw"
    path.write_bytes(write_archive(header, tree, arrays))
    assert_load_raises(path, "lacks its attribute '_model'")


def test_streams_with_more_states_than_problems_are_refused(files: dict[str, Path], tmp_path: Path) -> None:
    _, tree, _ = read_archive(files["stream"])
    (model,) = (entry for entry in tree["entries"] if entry.get("class") == "metricwise.StreamModel")
    states = model["fields"]["states"]
    doubled = {"is": "tuple", "items": 2 * states["items"]}
    path = _change(files["stream"], "StreamModel", tmp_path / "x.mw", states=doubled)
    assert_load_raises(path, "weights, thresholds and classes do not fit together")


@pytest.mark.parametrize(
    ("name", "array", "value"),
    [
        ("RunningCalibration", "counts", 1e300),
        ("RunningCalibration", "counts", 1e17),
        ("RunningCalibration", "positives", 100.0),
        ("RunningCalibration", "slopes", 1e200),
        ("RunningCounts", "counts", 1e16),
        ("RunningCounts", "pending", 1e300),
    ],
    ids=str,
)
def test_sums_beyond_those_of_streams_are_refused(
    files: dict[str, Path], tmp_path: Path, name: str, array: str, value: float
) -> None:
    header, tree, arrays = read_archive(files["online"])
    (running,) = (entry for entry in tree["entries"] if entry.get("class") == f"metricwise.{name}")
    arrays[tree["entries"][running["fields"][array]["at"]]["number"]][:] = value
    path = tmp_path / "x.mw"
    path.write_bytes(write_archive(header, tree, arrays))
    assert_load_raises(path, "its running counts, rules and classes do not fit together")


@pytest.mark.parametrize("changed", [{"squares": 1e300}, {"position": 1 << 50, "renewal": 1 << 51}], ids=str)
def test_counts_beyond_those_of_streams_are_refused(
    files: dict[str, Path], tmp_path: Path, changed: dict[str, Any]
) -> None:
    path = _change(files["online"], "RunningCounts", tmp_path / "x.mw", **changed)
    assert_load_raises(path, "its running counts, rules and classes do not fit together")


def _with_measure(model: Any, measure: Any, path: Path) -> Path:
    """Write the file of a model whose fitted measure is another, without its check; return the path."""
    names = {f"metricwise.{type(one).__name__}" for one in (getattr(model, "measure_", None), mw.FBeta(), mw.NDCG())}
    mw.save(model, path)
    mw.save(mw.PlugInClassifier(LogisticRegression(), measure), path.with_suffix(".measure"))
    header, tree, arrays = read_archive(path)
    other = read_archive(path.with_suffix(".measure"))[1]["entries"]
    (replaced,) = (entry for entry in other if entry.get("class") == f"metricwise.{type(measure).__name__}")
    for entry in tree["entries"]:
        if entry.get("class") in names:
            entry |= {key: replaced[key] for key in ("class", "version", "fields")}
    path.write_bytes(write_archive(header, tree, arrays))
    return path


_COSTS = mw.CostMatrix([[0.0, 1.0], [5.0, 0.0]])
_AREA = mw.get_measure("roc_auc")


@pytest.mark.parametrize(
    ("make", "measure"),
    [
        (lambda: mw.SPADEClassifier("g_mean"), _AREA),
        (lambda: mw.STAMPClassifier("f1"), _AREA),
        (lambda: mw.MiniBatchSVC("f1"), _COSTS),
        (lambda: mw.OnlineMetricClassifier(), _AREA),
        (lambda: mw.OnlineMetricClassifier(), _COSTS),
        (lambda: mw.AMPClassifier("f1"), mw.get_measure("prbep")),
        (lambda: mw.AUCSVC(measure="roc_auc"), mw.FBeta()),
        (lambda: mw.MultivariateSVC("f1"), _COSTS),
        (lambda: mw.SmoothedSVC("accuracy"), _COSTS),
        (lambda: mw.FeatureSelectingSVC("f1"), _COSTS),
        (lambda: mw.TriageClassifier(LogisticRegression(), measure="f1", cv=2), _AREA),
        (lambda: mw.PlugInClassifier(LogisticRegression(), "f1", cv=2), _COSTS),
    ],
)
def test_measures_that_a_class_is_not_trained_for_are_refused(tmp_path: Path, make: Any, measure: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = _with_measure(make().fit(stock.X, stock.y), measure, tmp_path / "x.mw")
    assert_load_raises(path, "damaged")


@pytest.mark.parametrize("count", ["position", "observed"])
def test_streams_whose_counts_are_full_learn_no_more(files: dict[str, Path], tmp_path: Path, count: str) -> None:
    full = {"position": 2**52, "next_landmark": 2**53} if count == "position" else {count: 2**53}
    loaded = mw.load(_change(files["stream"], "StreamState", tmp_path / "x.mw", **full))
    with pytest.raises(ValueError, match="more samples cannot be counted after those of the stream"):
        loaded.partial_fit(stock.X, stock.y)
    mw.save(loaded, tmp_path / "again.mw")


def test_streams_that_count_scores_which_they_lack_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.mw"
    mw.save(mw.MiniBatchSVC("f1").partial_fit(stock.X[:9], stock.y[:9], classes=[0, 1]), path)
    header, tree, arrays = read_archive(path)
    (state,) = (entry for entry in tree["entries"] if entry.get("class") == "metricwise.StreamState")
    arrays[tree["entries"][state["fields"]["n_scores"]["at"]]["number"]][:] = 1
    path.write_bytes(write_archive(header, tree, arrays))
    assert_load_raises(path, "'score_weights' are zero where scores are kept")


@pytest.mark.parametrize("path", ["estimators_samples_.coef_", "__class__.coef_", "coef_.T", "_x.coef_"])
def test_paths_that_compute_or_lead_outside_are_refused(tmp_path: Path, path: str) -> None:
    mw.save(SelectFromModel(LogisticRegression()).fit(stock.X, stock.y), tmp_path / "x.mw")
    changed = _change(tmp_path / "x.mw", "SelectFromModel", tmp_path / "y.mw", importance_getter=path)
    assert_load_raises(changed, "'importance_getter' of a SelectFromModel is damaged")


def test_scores_that_are_nan_raise_where_batches_choose_a_threshold(files: dict[str, Path]) -> None:
    model = mw.load(files["plug-in"])
    model.estimator_.coef_[:] = np.nan
    with pytest.raises(ValueError, match="decision_function returned NaN or infinity for 60 of 60 samples"):
        model.predict(stock.X)


def test_refused_values_are_not_shown(files: dict[str, Path], tmp_path: Path) -> None:
    header, tree, arrays = read_archive(files["columns"])
    steps = tree["entries"][-1]["fields"]["steps"]
    steps[:] = [steps[0]] * 4000
    (tmp_path / "x.mw").write_bytes(write_archive(header, tree, arrays))
    start = time.perf_counter()
    assert_load_raises(tmp_path / "x.mw", "'steps' of a Pipeline is damaged")
    assert time.perf_counter() - start < 5.0


def test_loaded_models_start_no_processes(files: dict[str, Path], tmp_path: Path) -> None:
    path = _change(files["columns"], "ColumnTransformer", tmp_path / "x.mw", n_jobs=40)
    assert mw.load(path)[0].n_jobs == 1
    assert mw.load(files["columns"])[0].n_jobs is None


def test_references_to_one_array_share_it(files: dict[str, Path], tmp_path: Path) -> None:
    header, model, arrays = read_archive(files["linear"])
    arrays[1000] = np.zeros(1 << 17)
    last = model["entries"].pop()
    start = len(model["entries"])
    model["entries"] += [{"kind": "array", "number": 1000}] * 4000
    last["fields"]["random_state"] = [{"is": "entry", "at": start + k} for k in range(4000)]
    path = tmp_path / "x.mw"
    path.write_bytes(write_archive(header, {"entries": [*model["entries"], last]}, arrays))
    assert path.stat().st_size < 2e6
    tracemalloc.start()
    assert_load_raises(path, "cannot be loaded")
    assert tracemalloc.get_traced_memory()[1] < 50e6
    tracemalloc.stop()


def test_nested_sets_are_refused(files: dict[str, Path], tmp_path: Path) -> None:
    nested: Any = {"is": "frozenset", "items": []}
    for _ in range(30):
        nested = {"is": "frozenset", "items": [nested, {"is": "tuple", "items": [nested]}]}
        if len(str(nested)) > 1e5:
            break
    path = _change(files["linear"], "MultivariateSVC", tmp_path / "x.mw", random_state=nested)
    assert_load_raises(path, "where a number or text belongs")
