"""What identifies a training: the content of its settings and data, the same in every process.

Nothing counts by its repr, which abbreviates arrays and hides what a function computes. A measure made of a user's
function counts by its values, as it does when a model file is loaded (`metricwise.measures.function_measures`), and by
its code; other Python functions, also compiled by numba or wrapped by functools, by their code, and by the variables,
functions, classes and modules that it names. Code of installed packages counts by its name.
"""

from __future__ import annotations

import copyreg
import dis
import hashlib
import reprlib
import sys
from collections import ChainMap
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import fields
from functools import cache
from pathlib import Path
from pickle import PicklingError
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np
from scipy import sparse

from metricwise.estimators.parameters import to_plain
from metricwise.measures import get_measure
from metricwise.measures.function_measures import UserFunction

_ESTIMATOR, _CALL = "the estimator", "the data or other arguments of the call"
_NOT_DECISIVE = {"checkpoint", "every", "callback", "n_jobs", "max_seconds", "verbose"}
_PLAIN = (type(None), bool, int, float, complex, str, bytes, type(Ellipsis))  # their repr is all there is to them
_CONSTANTS = (*_PLAIN, list, tuple, dict, set, frozenset, np.ndarray)  # that the body of a class may hold
_REDUCE_PROTOCOL = 4
_HASH_DIGITS = 32
_INSTALLED = {"site-packages", "dist-packages"}  # folders
_INNER = ("py_func", "__wrapped__")  # the function that numba has compiled, or functools has wrapped
_OPTIONS = "targetoptions"  # of numba's functions
_SHARED_GENERATOR = np.random.mtrand._rand  # whose state depends on what else uses it


def digest(*parts: Any) -> str:
    """Return a hash that identifies settings and data by their content.

    Raises
    ------
    TypeError
        If the content of a part cannot be determined, as that of an iterator.

    Examples
    --------
    >>> digest(np.zeros(2)) == digest(np.zeros(2, dtype=int)), digest({1: "a", 2: "b"}) == digest({2: "b", 1: "a"})
    (False, True)
    """
    content = _Content()
    for part in parts:
        content.add(part)
    return content.hexdigest()


def identify_training(model: Any, content: Sequence[Any], converted: Mapping[str, Any] | None = None) -> dict[str, str]:
    """Return hashes of all that a training depends on, by their names in error messages.

    Parameters
    ----------
    model : estimator
        The estimator.
    content : sequence
        Hashes of the data, and further values that belong to the call.
    converted : mapping, optional
        Parameters as training uses them, where it has converted them, as an iterator that can be read only once.

    Raises
    ------
    TypeError
        If the content of a parameter cannot be determined.

    Examples
    --------
    >>> from metricwise import MultivariateSVC
    >>> one, other = (identify_training(MultivariateSVC(C=C), [42]) for C in (1.0, 2.0))
    >>> [name for name in one if one[name] != other[name]]
    ['C']
    """
    values = model.get_params(deep=False) | dict(converted or {})
    decisive = {name: value for name, value in values.items() if name not in _NOT_DECISIVE}
    parameters = {name: _identify(name, value) for name, value in sorted(decisive.items())}
    return {_ESTIMATOR: digest(type(model))} | parameters | {_CALL: digest(*content)}


def _identify(name: str, value: Any) -> str:
    try:
        return digest(get_measure(value) if name == "measure" else _read_number(value, name))
    except (TypeError, ValueError, AttributeError, NotImplementedError, PicklingError, RecursionError) as error:
        raise TypeError(
            f"a checkpoint belongs to one training, which {name}={reprlib.repr(value)} does not identify ({error}): "
            f"give {name} as numbers, text, lists, arrays, or a function or object of these alone, or train without a "
            "checkpoint"
        ) from error


def _read_number(value: Any, name: str) -> Any:
    """Return a number of any type as one type, as equal ones give equal trainings; anything else unchanged."""
    number = to_plain(value, name)
    is_whole = isinstance(number, int) and not isinstance(number, bool)
    return float(number) if is_whole and float(number) == number else number


class _Content:
    """A hash of values, each of which is written with its type and its length."""

    def __init__(
        self, enclosing: Sequence[int] = (), definitions: MutableMapping[int, tuple[int, Any]] | None = None
    ) -> None:
        self._hash = hashlib.sha256()
        self._enclosing = list(enclosing)  # objects that are being written: one may refer to itself
        # Functions and classes, with their numbers, which are written once. Other objects that are equal may be the
        # same object in one process and copies in another, as constants of compiled code are.
        self._definitions = ChainMap({}, {} if definitions is None else definitions)

    def hexdigest(self) -> str:
        return self._hash.hexdigest()[:_HASH_DIGITS]

    def add(self, value: Any) -> None:
        """Write a value by its content."""
        if type(value) in _PLAIN:
            self._write(type(value).__name__, repr(value).encode())
        elif id(value) in self._definitions:
            self._write("definition", str(self._definitions[id(value)][0]).encode())
        elif isinstance(value, FunctionType | type):
            self._definitions[id(value)] = len(self._definitions), value
            self._add_compound(value)
        elif id(value) in self._enclosing:
            self._write("enclosing", str(self._enclosing.index(id(value))).encode())
        else:
            self._enclosing.append(id(value))
            self._add_compound(value)
            self._enclosing.pop()

    def _write(self, kind: str, content: bytes = b"") -> None:
        self._hash.update(f"{kind} {len(content)}\0".encode())
        self._hash.update(content)

    def _add_all(self, kind: str, *values: Any) -> None:
        self._write(f"{kind} of {len(values)}")
        for value in values:
            self.add(value)

    def _add_compound(self, value: Any) -> None:
        for kinds, add in _WRITERS:
            if isinstance(value, kinds):
                add(self, value)
                return
        inner = next((held for name in _INNER if isinstance(held := getattr(value, name, None), FunctionType)), None)
        if inner is not None:  # pickle would store a number of the process, or a name
            self._add_all("wrapped", type(value), inner, getattr(value, _OPTIONS, None))
        elif hasattr(value, "__array__"):  # data frames and their columns
            self._add_all("table", type(value), list(getattr(value, "columns", ())), np.asarray(value))
        else:
            self._add_object(value)

    def _add_array(self, array: Any) -> None:
        if array.dtype.hasobject:
            self._add_all("objects", array.shape, array.tolist())
        else:
            self._write(f"array {array.dtype.descr} {array.shape}", np.ascontiguousarray(array).tobytes())
        if isinstance(array, np.ma.MaskedArray):
            self._add_all("mask", np.ma.getmaskarray(array))

    def _add_sparse(self, matrix: Any) -> None:
        rows = matrix.tocsr()
        self._add_all("sparse", matrix.format, matrix.shape, rows.data, rows.indices, rows.indptr)

    def _add_sequence(self, values: Any) -> None:
        self._add_all(type(values).__name__, *values)
        if type(values) not in (list, tuple):
            self.add(type(values))

    def _add_unordered(self, values: Any) -> None:
        """Write the entries of a set or a dict in an order that is the same in every process."""
        entries = values.items() if isinstance(values, dict) else values
        self._add_all(type(values).__name__, *sorted(self._digest_within(entry) for entry in entries))

    def _digest_within(self, entry: Any) -> str:
        content = _Content(self._enclosing, self._definitions)
        content.add(entry)
        return content.hexdigest()

    def _add_function_measure(self, measure: UserFunction) -> None:
        self._add_object(measure.stored_form())
        held = (getattr(measure, field.name) for field in fields(measure))
        # Two functions may agree on the tables by which model files recognise one.
        self._add_all("functions", *(value for value in held if isinstance(value, FunctionType)))

    def _add_function(self, function: FunctionType) -> None:
        if _is_installed(str(function.__module__)) and _find_by_name(function) is function:
            self._write("function", f"{function.__module__}.{function.__qualname__}".encode())
            return
        cells = [cell.cell_contents for cell in function.__closure__ or ()]
        used = sorted(_global_names(function.__code__) & function.__globals__.keys())
        self._add_all("function", function.__code__, function.__defaults__, function.__kwdefaults__, cells)
        self._add_all("globals", *((name, function.__globals__[name]) for name in used))
        self._add_all("attributes", vars(function))

    def _add_code(self, code: CodeType) -> None:
        names = code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars
        counts = code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags
        self._add_all("code", code.co_code, code.co_exceptiontable, names, counts, code.co_consts)

    def _add_class(self, cls: type) -> None:
        self._write("class", f"{cls.__module__}.{cls.__qualname__}".encode())
        for one in cls.__mro__:
            if not _is_installed(one.__module__):
                self._add_all("members", *sorted(_members(one), key=lambda member: member[0]))

    def _add_module(self, module: ModuleType) -> None:
        self._write("module", module.__name__.encode())
        if not _is_installed(module.__name__):
            if getattr(module, "__file__", None) is None:
                raise TypeError(f"module {module.__name__} has no file")
            self._write("file", Path(str(module.__file__)).read_bytes())

    def _add_random_state(self, generator: np.random.RandomState) -> None:
        is_shared = generator is _SHARED_GENERATOR
        self._add_all("random state", None if is_shared else generator.get_state(legacy=False))

    def _add_generator(self, generator: np.random.Generator) -> None:
        self._add_all("generator", generator.bit_generator.state)

    def _add_object(self, value: Any) -> None:
        """Write what pickle would store of an object."""
        reduce = copyreg.dispatch_table.get(type(value))
        reduced = value.__reduce_ex__(_REDUCE_PROTOCOL) if reduce is None else reduce(value)
        if isinstance(reduced, str):  # a global name
            self._add_all("named", type(value), getattr(value, "__module__", None), reduced)
        else:
            self._add_all("object", type(value), *(_as_list(part) for part in reduced))


def _as_list(part: Any) -> Any:
    """Return a list for one of the iterators by which pickle describes the entries of a container."""
    return list(part) if isinstance(part, Iterator) else part


def _refuse_iterator(content: _Content, value: Any) -> None:
    raise TypeError(f"{type(value).__name__} can be read only once")


# The first that fits writes a value.
_WRITERS: tuple[tuple[Any, Callable[[_Content, Any], None]], ...] = (
    (np.ndarray, _Content._add_array),
    ((sparse.spmatrix, sparse.sparray), _Content._add_sparse),
    (np.generic, lambda content, value: content._add_array(np.asarray(value))),
    (UserFunction, _Content._add_function_measure),
    (FunctionType, _Content._add_function),
    (CodeType, _Content._add_code),
    (type, _Content._add_class),
    (ModuleType, _Content._add_module),
    (np.random.RandomState, _Content._add_random_state),
    (np.random.Generator, _Content._add_generator),
    (Iterator, _refuse_iterator),
    ((list, tuple), _Content._add_sequence),
    ((dict, set, frozenset), _Content._add_unordered),
)


def _is_installed(module: str) -> bool:
    return _is_installed_package(module.partition(".")[0])


@cache
def _is_installed_package(name: str) -> bool:
    """Return whether code of a package counts by its name: of Python's own, of this one and of installed ones."""
    if name in {__name__.partition(".")[0], *sys.builtin_module_names, *sys.stdlib_module_names}:
        return True
    module = sys.modules.get(name)
    places = [getattr(module, "__file__", None), *getattr(module, "__path__", ())]
    return name != "__main__" and any(_INSTALLED & set(Path(place).parts) for place in places if place)


def _find_by_name(function: FunctionType) -> Any:
    """Return what a module has under the name of a function."""
    found: Any = sys.modules.get(function.__module__)
    for name in function.__qualname__.split("."):
        found = getattr(found, name, None)
    return found


def _global_names(code: CodeType) -> set[str]:
    """Return the names of the global variables that code reads, nested functions included."""
    found = {step.argval for step in dis.get_instructions(code) if step.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
    return found.union(*(_global_names(part) for part in code.co_consts if isinstance(part, CodeType)))


def _members(cls: type) -> Iterator[tuple[str, Any]]:
    """Yield the functions and the constants of the body of a class."""
    for name, member in vars(cls).items():
        inner = member.fget if isinstance(member, property) else getattr(member, "__func__", member)
        is_constant = isinstance(inner, _CONSTANTS) and not name.startswith("__")
        if isinstance(inner, FunctionType) or is_constant:
            yield name, inner
