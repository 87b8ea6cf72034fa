"""``metricwise warm-up``: compile all functions before they are needed, as when a container image is built."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click

from metricwise.cli.algorithms import AlgorithmName, describe_algorithms
from metricwise.cli.console import Console, Outcome, command
from metricwise.registry import EstimatorEntry, Family, entries, measure_names

_FAMILIES: tuple[Family, ...] = ("svm", "streaming", "multilabel")  # the others have no compiled functions of their own
_N_SAMPLES, _N_FEATURES, _POSITIVE_ABOVE = 200, 4, 0.8  # a fifth of the samples: some measures need few positives
# Settings other than the defaults that use functions of their own.
_SETTINGS: dict[str, tuple[dict[str, Any], ...]] = {
    "auc-svm": ({"norm": 2}, {"measure": "partial_roc_auc"}, {"measure": "average_precision"}),
    "multivariate-svm": ({"kernel": "rbf"},),
}


@click.command("warm-up", short_help="Compile all functions now.", epilog=describe_algorithms())
@click.argument("algorithms", nargs=-1, type=AlgorithmName())
@command
def warm_up(console: Console, algorithms: tuple[str, ...]) -> Outcome:
    """Compile the functions of ALGORITHMS, by default of all and of the readers of files.

    metricwise compiles a function when it is first called, which takes seconds, and stores the result. This command
    calls them on a few samples, dense and sparse, in double and single precision, with and without weights, so that no
    later process has to wait. Run it when the image of a container is built. What remains is compiled on first use:
    histograms of Dask clusters, the trees of stored boosters, samples of the label sets of a chain, and some checks of
    files and labels.
    """
    from metricwise.kernels.cache_folder import find_numba_folder

    folder = find_numba_folder()
    if folder is None:
        raise OSError("compiled functions are not stored, as numba is disabled: unset NUMBA_DISABLE_JIT")
    tasks = list(_tasks(algorithms))
    with console.progress("compile") as stage, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the samples are too few for more than that
        for number, task in enumerate(tasks):
            task()
            stage.fraction = (number + 1) / len(tasks)
    n_functions = len(list(folder.glob("*.nbi")))
    return Outcome(f"{n_functions} compiled functions in {folder}", {"functions": n_functions, "folder": str(folder)})


def _tasks(algorithms: tuple[str, ...]) -> Iterator[Callable[[], Any]]:
    """Yield calls that together use the compiled functions of the named algorithms."""
    for entry in entries(*_FAMILIES):
        if not algorithms or entry.command_name in algorithms:
            yield from _training_tasks(entry)
    yield _multiply_columns
    yield _fingerprint_samples
    yield _shuffle_samples
    if not algorithms:
        yield _read_files


def _training_tasks(entry: EstimatorEntry) -> Iterator[Callable[[], Any]]:
    matrices = _make_matrices()
    if entry.family == "multilabel":
        yield from (partial(_train_multilabel, entry, X) for X in matrices)
        return
    yield from (partial(_train, entry, X, {}) for X in matrices)
    settings = list(_SETTINGS.get(entry.command_name, ()))
    # The streaming learners take the same functions for every measure, sparse coding those of the multivariate SVM.
    if entry.family == "svm" and entry.command_name != "sparse-coding":
        settings += [{"measure": name} for name in measure_names(entry.name)]
    yield from (partial(_train, entry, matrices[0], chosen) for chosen in settings)
    if entry.family == "svm" and not entry.ranks_queries:  # samples with weights have functions of their own
        yield from (partial(_train, entry, matrices[0], chosen, weighted=True) for chosen in [{}, *settings])


def _make_matrices() -> list[Any]:
    """Return the same samples as every type of matrix for which functions are compiled."""
    import numpy as np
    from scipy import sparse

    X = np.random.default_rng(0).standard_normal((_N_SAMPLES, _N_FEATURES))
    matrices = [kind(X.astype(dtype)) for dtype in (np.float64, np.float32) for kind in (np.asarray, sparse.csr_matrix)]
    large = sparse.csr_matrix(X)  # as scipy stores matrices of more than 2^31 entries
    large.indices, large.indptr = large.indices.astype(np.int64), large.indptr.astype(np.int64)
    return [*matrices, large]


def _train(entry: EstimatorEntry, X: Any, settings: dict[str, Any], weighted: bool = False) -> None:
    first = _first_feature(X)
    y = first > _POSITIVE_ABOVE
    weights = {"sample_weight": 1.0 + (first > 0.0)} if weighted else {}
    entry.load()(**settings).fit(X, y, **weights).predict(X)


def _train_multilabel(entry: EstimatorEntry, X: Any) -> None:
    import numpy as np
    from sklearn.linear_model import LogisticRegression

    y = _first_feature(X)
    entry.load()(LogisticRegression()).fit(X, np.column_stack([y > 0.0, y > 0.5, y < 0.2])).predict(X)


def _multiply_columns() -> None:
    """Use the products of matrices with contiguous columns, which are copied for training unless they are large."""
    import numpy as np

    from metricwise.designs import make_design

    few = np.arange(2)
    for X in _make_matrices():
        if isinstance(X, np.ndarray):
            design = make_design(np.asfortranarray(X))
            for part in (design, design.take(few)):
                part.combine(part.scores(np.ones(_N_FEATURES)))


def _fingerprint_samples() -> None:
    """Use the fingerprints of dense samples, which are not compiled for a few of them."""
    import numpy as np

    from metricwise.designs import make_design
    from metricwise.kernels.hashing import FEW_ENTRIES

    shape = FEW_ENTRIES // _N_FEATURES + 1, _N_FEATURES
    for dtype in (np.float64, np.float32):
        for make in (np.ascontiguousarray, np.asfortranarray):
            make_design(make(np.zeros(shape, dtype=dtype))).fingerprints()


def _shuffle_samples() -> None:
    """Use the order of streamed samples, which is not compiled for a few of them."""
    import numpy as np

    from metricwise.kernels.random_numbers import FEW_VALUES, shuffle

    shuffle(np.arange(FEW_VALUES + 1), np.uint64(0))


def _first_feature(X: Any) -> Any:
    return X[:, [0]].toarray().ravel() if hasattr(X, "toarray") else X[:, 0]


def _read_files() -> None:
    """Read a small file of every text format."""
    import metricwise.io

    with TemporaryDirectory() as folder:
        for name, text in _FILES.items():
            path = Path(folder) / name
            path.write_text(text, encoding="utf-8")
            metricwise.io.read_table(path)


_FILES = {
    "table.csv": 'size,colour,label\n1.5,"red",1\n?,blue,0\n2e-3,red,1\n',
    "samples.svm": "+1 1:0.5 3:1e-3\n-1 2:1.25 # comment\n",
    "table.arff": "@relation r\n@attribute size numeric\n@attribute label {0,1}\n@data\n1.5,0\n2,1\n",
}
