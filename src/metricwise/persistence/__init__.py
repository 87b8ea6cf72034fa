"""Save and load models without pickle: nothing in a file is ever executed.

`metricwise.persistence.container` describes such a file, `metricwise.persistence.tree_writer` the model in it, and
`metricwise.persistence.allowed` the classes that it can hold. `metricwise.persistence.old` reads files of earlier
versions.
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
from typing import TYPE_CHECKING, Any

from metricwise.io.errors import ModelFileError
from metricwise.persistence.fingerprints import fingerprint
from metricwise.persistence.importing import ImportFailedError

if TYPE_CHECKING:
    from metricwise.persistence.container import Container
    from metricwise.persistence.given_measures import GivenMeasures
    from metricwise.persistence.tree_reader import TreeReader

__all__ = ["ModelDescription", "ModelFileError", "describe", "fingerprint", "load", "save"]

_FAMILY = "metricwise model"
_VERSIONED = ("metricwise", "scikit-learn")  # packages whose models other versions may not read

PathLike = str | os.PathLike[str]


@dataclass(frozen=True)
class ModelDescription:
    """The header of a model file.

    Parameters
    ----------
    model : str
        The class of the model.
    versions : dict
        Versions of metricwise, scikit-learn, numpy and python that saved the model.
    command : str or None
        The command that trained the model.
    data : dict or None
        The `fingerprint` of the data that it was trained on.
    sha256 : str
        The checksum of the file.

    Examples
    --------
    >>> from metricwise.persistence import ModelDescription
    >>> ModelDescription("metricwise.MultivariateSVC", {"metricwise": "0.1.0"}, None, None, sha256="").versions
    {'metricwise': '0.1.0'}
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
    model : estimator or GuaranteeMonitor
        An estimator of metricwise, one of scikit-learn, such as a pipeline, that contains some, or a classifier of
        LightGBM, XGBoost or CatBoost, whose trees and settings are stored; or a monitor, without its model.
    path : str or path
        The file; an existing file is replaced once the new one is complete.
    command : str, optional
        The command that trained the model, stored with it.
    data : array, data frame, sparse matrix, path of a file, or tuple of them, optional
        The training data, for instance ``(X, y)``: their fingerprint is stored with the model.

    Raises
    ------
    ModelFileError
        If something in the model cannot be saved: functions, but for those of measures, and estimators of other
        packages.
    TypeError
        If ``model`` is no estimator or ``command`` is no text.

    See Also
    --------
    load : Reads a model.

    Notes
    -----
    Of a measure that `metricwise.contingency_measure` made, everything is written but the function, with the values
    of the function on a few tables: `load` takes it again.

    Parameters and the attributes that classes declare are written. What belongs to the training and not to the model
    is not: a loaded model has no ``callback``, ``checkpoint`` or ``memory`` (of a pipeline), and ``warm_start`` has
    nothing to continue from.

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
    from metricwise.persistence.old import NEWEST_FORMAT
    from metricwise.persistence.tree_reader import TreeReader
    from metricwise.persistence.tree_writer import TreeWriter

    path = Path(path)
    _check_estimator(model)
    if command is not None and not isinstance(command, str):
        raise TypeError(f"command must be text, got {command!r}")
    writer = TreeWriter()
    try:
        writer.add(model, "model")
    except (ValueError, RecursionError) as error:
        raise ModelFileError(str(path), f"this model cannot be saved: {error}") from error
    reader = TreeReader(writer.arrays.__getitem__, NEWEST_FORMAT, lambda made: made)
    try:
        reader.read(writer.entries)
    except Exception as error:
        problem = f"this model cannot be saved: {writer.places[reader.n_read]}: {_describe_refusal(error)}"
        raise ModelFileError(str(path), problem) from error
    header = {
        "family": _FAMILY,
        "format": NEWEST_FORMAT,
        "model": writer.entries[-1]["class"],
        "versions": _get_versions(),
        "command": command,
        "data": None if data is None else fingerprint(data),
    }
    write_container(path, header, {"entries": writer.entries}, writer.arrays)


def load(path: PathLike, *, measure: Any = None) -> Any:
    """Read a model that `save` has written.

    Whatever a file holds, nothing of it is executed, and it takes no more memory than a multiple of its size.

    Parameters
    ----------
    path : str or path
        The file.
    measure : measure, name of a registered one, or several of them, optional
        The measure of the model, if `metricwise.contingency_measure` made it: files hold no functions. Several if the
        parts of the model have different ones. Without it the model predicts and explains as before, but what needs a
        value of the measure, such as ``score``, `certify` and `report`, raises an error that asks for it.

    Returns
    -------
    estimator or GuaranteeMonitor
        The model. With the same versions of scikit-learn and numpy it predicts the same: scores may differ by rounding
        errors where an array of the model was not contiguous, such as the components of a `~sklearn.decomposition.PCA`
        of sparse samples.

    Raises
    ------
    ModelFileError
        If the file is no model file, is damaged, or holds something that model files do not; if it was saved with a
        version of scikit-learn whose models the installed one cannot read; or if ``measure`` is not the one that the
        model was saved with: it must have the same name, direction and values.

    Warns
    -----
    UserWarning
        If the model was saved with another version of scikit-learn.

    See Also
    --------
    save : Writes a model.
    metricwise.persistence.describe : Returns versions, training command and fingerprint of the data.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import metricwise
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = make_classification(100, random_state=0)
    >>> cost = metricwise.contingency_measure(lambda tp, fp, fn, tn: 5 * fn + fp, "cost", greater_is_better=False)
    >>> model = metricwise.PlugInClassifier(LogisticRegression(), cost).fit(X, y)
    >>> path = Path(tempfile.mkdtemp()) / "model.mw"
    >>> metricwise.save(model, path)
    >>> bool((metricwise.load(path).predict(X) == model.predict(X)).all())
    True
    >>> metricwise.load(path, measure=cost).score(X, y) == model.score(X, y)
    True
    """
    from metricwise.persistence.container import open_container
    from metricwise.persistence.given_measures import GivenMeasures
    from metricwise.persistence.tree_reader import TreeReader  # before the file, which no failure to import is due to

    given = GivenMeasures(measure)
    with _name_file_in_errors(path), open_container(Path(path)) as file:
        header = _read_header(file)
        reader = TreeReader(file.read_array, header["format"], given.restore)
        model = _read_model(path, file, header, given, reader)
    versions = header["versions"]
    if versions["scikit-learn"] != _get_versions()["scikit-learn"]:
        warnings.warn(f"{os.fspath(path)}: {_describe_change(versions)}", UserWarning, stacklevel=2)
    return model


def _read_model(
    path: PathLike, file: Container, header: dict[str, Any], given: GivenMeasures, reader: TreeReader
) -> Any:
    """Return the model of a file, with the measures that a user gives; an error names what to do."""
    from sklearn.base import BaseEstimator

    from metricwise.persistence.given_measures import OtherMeasureError

    try:
        model = reader.read(file.read_tree()["entries"])
        given.check_all_used()
    except OtherMeasureError as error:
        raise ModelFileError(str(path), str(error)) from error
    except Exception as error:
        problem = _describe_versions(header["versions"], error)
        if problem is None:
            raise
        raise ModelFileError(str(path), problem) from error
    if not isinstance(model, BaseEstimator) and not _is_monitor(model):
        raise ValueError("its content is no estimator")
    return model


def _describe_versions(versions: dict[str, str], error: Exception) -> str | None:
    """Return which versions wrote a file that cannot be read, and what to do; None if they are those installed."""
    now = _get_versions()
    changed = [name for name in _VERSIONED if versions[name] != now[name]]
    if not changed:
        return None
    before, installed = (" and ".join(f"{name} {found[name][:50]}" for name in changed) for found in (versions, now))
    return (
        f"it was saved by {before}, and this is {installed}, which cannot read it: use the version that wrote it, or "
        f"train and save the model again ({_shorten(error)})"
    )


def _shorten(error: Exception) -> str:
    return (str(error).rstrip(".") if isinstance(error, ValueError) else repr(error))[:500]


def _describe_refusal(error: Exception) -> str:
    """Return why a part of a trained model, which no file has damaged, cannot be saved."""
    from metricwise.persistence.schemas.schema import WrongValueError

    if isinstance(error, WrongValueError):
        return error.refusal
    problem = _shorten(error)
    if problem.endswith(" damaged"):  # the message about a file
        return "its attributes do not fit together: train it again, and save it before they are changed"
    return problem


def describe(path: PathLike) -> ModelDescription:
    """Return the header of a model file without reading the model.

    Parameters
    ----------
    path : str or path
        The file.

    Returns
    -------
    ModelDescription
        The class of the model, versions, command, data and checksum.

    Raises
    ------
    ModelFileError
        If the file is no model file or is damaged.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from sklearn.datasets import make_classification
    >>> from metricwise import MultivariateSVC, save
    >>> from metricwise.persistence import describe
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "model.mw")
    ...     save(MultivariateSVC().fit(*make_classification(random_state=0)), path)
    ...     describe(path).model
    'metricwise.MultivariateSVC'
    """
    from metricwise.persistence.container import open_container

    with _name_file_in_errors(path), open_container(Path(path)) as file:
        header = _read_header(file)
        stated = {name: header[name] for name in ("model", "versions", "command", "data")}
        return ModelDescription(**stated, sha256=file.checksum)


@contextmanager
def _name_file_in_errors(path: PathLike) -> Iterator[None]:
    """Convert any error about the content of a file into one that names the file."""
    try:
        yield
    except (ModelFileError, ImportFailedError):
        raise
    except OSError as error:
        raise ModelFileError(str(path), f"it cannot be read ({error.strerror or error}): check the path") from error
    except Exception as error:  # of any kind: it depends on the content of the file
        raise ModelFileError(
            str(path),
            f"it cannot be loaded: {_shorten(error)}. Use another copy of the file, or train and save the model again",
        ) from error


def _read_header(file: Container) -> dict[str, Any]:
    """Return the header of a file; ValueError if it is damaged or of a format that is not known."""
    from metricwise.persistence.old import NEWEST_FORMAT

    header = file.read_header()
    if not isinstance(header, dict) or header.get("family") != _FAMILY:
        raise ValueError("it is no model file of metricwise")
    versions, command, data = (header[name] for name in ("versions", "command", "data"))
    has_versions = isinstance(versions, dict) and all(isinstance(versions.get(name), str) for name in _VERSIONED)
    has_texts = isinstance(header["model"], str) and isinstance(command, str | None)
    if not has_versions or not has_texts or not isinstance(data, dict | None):
        raise ValueError("its header is damaged")
    if header["format"] not in range(1, NEWEST_FORMAT + 1):
        raise ValueError(
            f"its format is {str(header['format'])[:20]}, and this metricwise reads formats up to {NEWEST_FORMAT}: "
            f"use metricwise {versions['metricwise'][:50]}, which wrote it, or a later one"
        )
    return header


def _get_versions() -> dict[str, str]:
    import numpy as np
    import sklearn

    return {
        "metricwise": sys.modules["metricwise"].__version__,  # this module is a part of it, so it is imported
        "scikit-learn": sklearn.__version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
    }


def _describe_change(versions: dict[str, str]) -> str:
    before, now = versions["scikit-learn"][:50], _get_versions()["scikit-learn"]
    return (
        f"the model was saved with scikit-learn {before}, and this is {now}: its predictions may differ or fail. "
        f"Use scikit-learn {before}, or train and save the model again"
    )


def _check_estimator(model: Any) -> None:
    from sklearn.base import BaseEstimator

    from metricwise.persistence.boosters.conversion import find_learner

    if not isinstance(model, BaseEstimator) and find_learner(model) is None and not _is_monitor(model):
        raise TypeError(f"model must be an estimator, got {type(model).__name__}")


def _is_monitor(thing: Any) -> bool:
    from metricwise.decisions.monitor import GuaranteeMonitor

    return isinstance(thing, GuaranteeMonitor)
