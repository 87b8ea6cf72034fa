"""Linear models as text, in the formats of two programs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metricwise.io.atomic import atomic_file
from metricwise.persistence.exports.linear import LinearScores, extract_linear_scores

_SVM_LIGHT_VERSION = "V6.20"  # of the files that svm_perf_classify accepts


def export_text(model: Any, path: str | os.PathLike[str], format: str = "svmperf") -> None:
    """Write a linear model as text that other programs read.

    Parameters
    ----------
    model : estimator
        A trained linear classifier, `PlugInClassifier` around one, or a pipeline of scalers and one of these: the
        scalers become part of the weights.
    path : str or path
        The file, written as a whole or not at all.
    format : {"svmperf", "liblinear"}, default="svmperf"
        For ``svm_perf_classify``, whose predictions are then those of ``decision_function``, or for LIBLINEAR's
        ``predict``, which gives labels: the classes if they are whole numbers; else 1 and -1 for the second and the
        first of two classes, and 0, 1, 2, ... for several.

    Raises
    ------
    TypeError
        If the model is not linear in the features.
    ValueError
        If the format is unknown, or SVM-perf's is asked for and there are more than two classes.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import metricwise
    >>> from sklearn.datasets import make_classification
    >>> X, y = make_classification(100, 4, random_state=0)
    >>> path = Path(tempfile.mkdtemp()) / "model.txt"
    >>> metricwise.export_text(metricwise.MultivariateSVC("f1").fit(X, y), path, format="liblinear")
    >>> path.read_text().splitlines()[:3]
    ['solver_type L2R_L1LOSS_SVC_DUAL', 'nr_class 2', 'label 1 0']
    """
    if format not in _FORMATS:
        raise ValueError(f"format must be one of {', '.join(map(repr, _FORMATS))}, got {format!r}")
    scores = extract_linear_scores(model)
    if not (np.isfinite(scores.weights).all() and np.isfinite(scores.constants).all()):
        raise ValueError(
            "the model has NaN or infinity among its weights, which the format cannot hold: train it on scaled features"
        )
    lines = _FORMATS[format](scores)
    with atomic_file(Path(path), sequential=True) as file:
        file.writelines(f"{line}\n".encode("ascii") for line in lines)


def _format_svm_perf(scores: LinearScores) -> Iterator[str]:
    """Yield the lines of SVM-light's format: scores are a sum over support vectors minus b.

    Every weight becomes one support vector. The program keeps entries of vectors in single precision and their
    coefficients in double precision.
    """
    if scores.classes.size != 2:
        raise ValueError(
            f"SVM-perf is for two classes, and the model has {scores.classes.size}: use format='liblinear'"
        )
    weights = scores.weights[0]
    used = np.flatnonzero(weights)
    yield f"SVM-light Version {_SVM_LIGHT_VERSION}"
    yield "0 # kernel type"
    yield "3 # kernel parameter -d"
    yield "1 # kernel parameter -g"
    yield "1 # kernel parameter -s"
    yield "1 # kernel parameter -r"
    yield "empty# kernel parameter -u"
    yield f"{weights.size} # highest feature index"
    yield "0 # number of training documents"
    yield f"{used.size + 1} # number of support vectors plus 1"
    yield f"{_format_number(-scores.constants[0])} # threshold b, each following line is a SV (starting with alpha*y)"
    for column in used:
        yield f"{_format_number(weights[column])} {column + 1}:1 #"


def _format_liblinear(scores: LinearScores) -> Iterator[str]:
    """Yield the lines of LIBLINEAR's format, the constant being the weight of a last feature that is always 1."""
    labels = _number_labels(scores.classes)
    yield "solver_type L2R_L1LOSS_SVC_DUAL"
    yield f"nr_class {labels.size}"
    # Of two classes, the first label is predicted for scores above zero.
    yield f"label {' '.join(map(str, labels[::-1] if labels.size == 2 else labels))}"
    yield f"nr_feature {scores.weights.shape[1]}"
    yield "bias 1"
    yield "w"
    for row in (*scores.weights.T, scores.constants):
        yield " ".join(map(_format_number, row))


def _number_labels(classes: NDArray[Any]) -> NDArray[Any]:
    if classes.dtype.kind in "iub" or (classes.dtype.kind == "f" and np.all(classes == np.round(classes))):
        return classes.astype(np.int64)
    return np.array([-1, 1]) if classes.size == 2 else np.arange(classes.size)


def _format_number(number: float) -> str:
    """Return the shortest text that is read back as the same number."""
    return repr(float(number))


_FORMATS: dict[str, Callable[[LinearScores], Iterator[str]]] = {
    "svmperf": _format_svm_perf,
    "liblinear": _format_liblinear,
}
