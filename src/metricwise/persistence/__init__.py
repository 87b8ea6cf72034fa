"""Models in files, without pickle: nothing in a file is ever executed.

`metricwise.persistence.container` says what such a file looks like, `metricwise.persistence.allowed` which
classes it can hold.
"""

from __future__ import annotations

import os
import platform
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from metricwise.io.errors import ModelFileError
from metricwise.persistence.fingerprints import fingerprint

__all__ = ["ModelDescription", "ModelFileError", "describe", "fingerprint", "load", "save"]

_FORMAT = 1
_FAMILY = "metricwise model"

PathLike = str | os.PathLike[str]


@dataclass(frozen=True)
class ModelDescription:
    """What a model file says of itself.

    Parameters
    ----------
    model : str
        The class of the model.
    versions : dict
        Of metricwise, scikit-learn, numpy and python, when the model was saved.
    command : str or None
        What the model was trained by.
    data : dict or None
        The `fingerprint` of the data that it was trained on.
    sha256 : str
        The checksum of the file.
    """

    model: str
    versions: dict[str, str]
    command: str | None
    data: dict[str, Any] | None
    sha256: str


def save(model: Any, path: PathLike, *, command: str | None = None, data: Any = None) -> None:
    """Write a model to a file, as a whole or not at all.

    Parameters
    ----------
    model : estimator
        An estimator of metricwise, or one of scikit-learn, such as a pipeline, that contains some.
    path : str or path
        The file; one that is there already is replaced once the new one is complete.
    command : str, optional
        What the model was trained by, kept with it.
    data : array, data frame, sparse matrix, path of a file, or tuple of them, optional
        What the model was trained on, for instance ``(X, y)``: its fingerprint is kept with the model.

    Raises
    ------
    ModelFileError
        If something in the model cannot be saved: functions, and estimators of other packages.

    See Also
    --------
    load : Reads a model.

    Notes
    -----
    What belongs to the training and not to the model is left out: the parameters ``callback``, ``checkpoint`` and
    ``memory`` (of a pipeline) are None in the file, and ``warm_start`` has nothing to continue from.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import metricwise
    >>> from sklearn.datasets import make_classification
    >>> X, y = make_classification(100, random_state=0)
    >>> model = metricwise.MultivariateSVC("f1").fit(X, y)
    >>> path = Path(tempfile.mkdtemp()) / "model.mw"
    >>> metricwise.save(model, path, data=(X, y))
    >>> bool((metricwise.load(path).decision_function(X) == model.decision_function(X)).all())
    True
    """
    from metricwise.persistence.container import write_container
    from metricwise.persistence.trees import TreeWriter

    path = Path(path)
    _check_estimator(model)
    if command is not None and not isinstance(command, str):
        raise TypeError(f"command must be text, got {command!r}")
    writer = TreeWriter()
    try:
        writer.add(model, "model")
    except (ValueError, RecursionError) as error:
        raise ModelFileError(str(path), f"this model cannot be saved: {error}") from error
    header = {
        "family": _FAMILY,
        "format": _FORMAT,
        "model": f"{type(model).__module__}.{type(model).__qualname__}",
        "versions": _versions(),
        "command": command,
        "data": None if data is None else fingerprint(data),
    }
    write_container(path, header, {"entries": writer.entries}, writer.arrays)


def load(path: PathLike) -> Any:
    """Read a model that `save` has written.

    Whatever a file holds, nothing of it is executed, and it takes no more memory than a multiple of its size.

    Parameters
    ----------
    path : str or path
        The file.

    Returns
    -------
    estimator
        The model. With the same versions of scikit-learn and numpy it predicts the same, to the last bit.

    Raises
    ------
    ModelFileError
        If the file is no model file, is damaged, or holds something that model files do not.

    Warns
    -----
    UserWarning
        If the model was saved with another version of scikit-learn.

    See Also
    --------
    save : Writes a model.
    metricwise.persistence.describe : Returns versions, training command and fingerprint of the data.
    """
    from sklearn.base import BaseEstimator

    from metricwise.persistence.container import opened
    from metricwise.persistence.trees import TreeReader

    with _reading(path), opened(Path(path)) as file:
        versions = _description(file).versions
        note = _version_note(versions)
        if note:
            warnings.warn(f"{os.fspath(path)}: {note}", UserWarning, stacklevel=2)
        try:
            model = TreeReader(file.array).read(file.tree()["entries"])
        except Exception as error:
            before, now = versions["metricwise"], _versions()["metricwise"]
            if before == now:
                raise
            raise ValueError(
                f"it was saved by metricwise {before[:50]}, and this is {now}: use the version that wrote it ({error})"
            ) from error
        if not isinstance(model, BaseEstimator):
            raise ValueError("it holds something else than an estimator")
    return model


def describe(path: PathLike) -> ModelDescription:
    """Return what a model file says of itself, without the model.

    Parameters
    ----------
    path : str or path
        The file.

    Raises
    ------
    ModelFileError
        If the file is no model file or is damaged.
    """
    from metricwise.persistence.container import opened

    with _reading(path), opened(Path(path)) as file:
        return _description(file)


@contextmanager
def _reading(path: PathLike) -> Iterator[None]:
    """Turn whatever goes wrong with the content of a file into one error that names it."""
    try:
        yield
    except OSError as error:
        raise ModelFileError(str(path), f"it cannot be read ({error.strerror or error}): check the path") from error
    except Exception as error:  # any at all: what a file holds decides which error it leads to
        text = str(error) if isinstance(error, ValueError) else repr(error)
        raise ModelFileError(
            str(path),
            f"it cannot be loaded: {text[:500]}. Use another copy of the file, or train and save the model again",
        ) from error


def _description(file: Any) -> ModelDescription:
    header = file.header()
    if not isinstance(header, dict) or header.get("family") != _FAMILY:
        raise ValueError("it is no model file of metricwise")
    if header["format"] != _FORMAT:
        raise ValueError(
            f"its format is {str(header['format'])[:20]}, and this version of metricwise reads format {_FORMAT}: "
            "use the version that wrote it"
        )
    told = {name: header[name] for name in ("model", "versions", "command", "data")}
    found = ModelDescription(**told, sha256=file.checksum)
    texts = isinstance(found.versions, dict) and all(isinstance(text, str) for text in found.versions.values())
    if not texts or not isinstance(found.model, str):
        raise ValueError("its header is damaged")
    if not isinstance(found.command, str | None) or not isinstance(found.data, dict | None):
        raise ValueError("its header is damaged")
    return found


def _versions() -> dict[str, str]:
    import numpy as np
    import sklearn

    return {
        "metricwise": sys.modules["metricwise"].__version__,  # loaded, as this module is a part of it
        "scikit-learn": sklearn.__version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
    }


def _version_note(versions: dict[str, str]) -> str | None:
    before, now = versions["scikit-learn"], _versions()["scikit-learn"]
    if before == now:
        return None
    return (
        f"the model was saved with scikit-learn {before[:50]}, and this is {now}: its predictions may differ or fail. "
        f"Use scikit-learn {before[:50]}, or train and save the model again"
    )


def _check_estimator(model: Any) -> None:
    from sklearn.base import BaseEstimator

    if not isinstance(model, BaseEstimator):
        raise TypeError(f"model must be an estimator, got {type(model).__name__}")
