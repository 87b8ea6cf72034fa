"""What identifies a training: the content of its settings and data, the same in every process.

Nothing counts by its repr, which abbreviates arrays and hides what a function computes. A measure made of a user's
function counts by its values, as it does when a model file is loaded (`metricwise.measures.function_measures`), and by
its code; other Python functions by their code, and by all that it refers to. Code of installed packages counts by its
name.
"""

from __future__ import annotations

import dis
import hashlib
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields
from functools import cache
from importlib.metadata import packages_distributions
from pickle import PicklingError
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np
from scipy import sparse

from metricwise.measures import get_measure
from metricwise.measures.function_measures import UserFunction

_NOT_DECISIVE = {"checkpoint", "every", "callback", "n_jobs", "max_seconds", "verbose"}
_PLAIN = (type(None), bool, int, float, complex, str, bytes, type(Ellipsis))  # their repr is all there is to them
_REDUCE_PROTOCOL = 4
_HASH_DIGITS = 32


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


def settings_of(model: Any) -> list[tuple[str, str]]:
    """Return the parameters of an estimator that its training depends on, each with the hash of its content.

    Raises
    ------
    TypeError
        If the content of a parameter cannot be determined.
    """
    decisive = {name: value for name, value in model.get_params(deep=False).items() if name not in _NOT_DECISIVE}
    return [("", digest(type(model))), *((name, _identify(name, value)) for name, value in sorted(decisive.items()))]


def _identify(name: str, value: Any) -> str:
    try:
        return digest(get_measure(value) if name == "measure" else value)  # a registered name may get another measure
    except (TypeError, ValueError, AttributeError, NotImplementedError, PicklingError) as error:
        raise TypeError(
            f"a checkpoint belongs to one training, which {name}={value!r} does not identify ({error}): give {name} as "
            "numbers, text, lists, arrays, or a function or object of these alone, or train without a checkpoint"
        ) from error


class _Content:
    """A hash of values, each of which is written with its type and its length."""

    def __init__(self, enclosing: Sequence[int] = ()) -> None:
        self._hash = hashlib.sha256()
        self._enclosing = list(enclosing)  # objects that are being written: one may refer to itself

    def hexdigest(self) -> str:
        return self._hash.hexdigest()[:_HASH_DIGITS]

    def add(self, value: Any) -> None:
        """Write a value by its content."""
        if type(value) in _PLAIN:
            self._write(type(value).__name__, repr(value).encode())
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
        if hasattr(value, "__array__"):  # data frames and their columns
            self._add_all("table", type(value), list(getattr(value, "columns", ())), np.asarray(value))
        else:
            self._add_object(value)

    def _add_array(self, array: Any) -> None:
        if array.dtype.hasobject:
            self._add_all("objects", array.shape, array.tolist())
        else:
            self._write(f"array {array.dtype.descr} {array.shape}", np.ascontiguousarray(array).tobytes())

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
        content = _Content(self._enclosing)
        content.add(entry)
        return content.hexdigest()

    def _add_function_measure(self, measure: UserFunction) -> None:
        self._add_object(measure.stored_form())
        held = (getattr(measure, field.name) for field in fields(measure))
        # Two functions may agree on the tables by which model files recognise one.
        self._add_all("functions", *(value for value in held if isinstance(value, FunctionType)))

    def _add_function(self, function: FunctionType) -> None:
        if _is_installed(function) and _find_by_name(function) is function:
            self._write("function", f"{function.__module__}.{function.__qualname__}".encode())
            return
        cells = [cell.cell_contents for cell in function.__closure__ or ()]
        used = sorted(_global_names(function.__code__) & function.__globals__.keys())
        self._add_all("function", function.__code__, function.__defaults__, function.__kwdefaults__, cells)
        self._add_all("globals", *((name, function.__globals__[name]) for name in used))

    def _add_code(self, code: CodeType) -> None:
        names = code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars
        counts = code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags
        self._add_all("code", code.co_code, code.co_exceptiontable, names, counts, code.co_consts)

    def _add_class(self, cls: type) -> None:
        self._write("class", f"{cls.__module__}.{cls.__qualname__}".encode())
        for one in cls.__mro__:
            if not _is_installed(one):
                self._add_all("members", *sorted(_members(one), key=lambda member: member[0]))

    def _add_random_state(self, generator: np.random.RandomState) -> None:
        self._add_all("random state", generator.get_state(legacy=False))

    def _add_generator(self, generator: np.random.Generator) -> None:
        self._add_all("generator", generator.bit_generator.state)

    def _add_object(self, value: Any) -> None:
        """Write what pickle would store of an object."""
        reduced = value.__reduce_ex__(_REDUCE_PROTOCOL)
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
    (ModuleType, lambda content, value: content._write("module", value.__name__.encode())),
    (np.random.RandomState, _Content._add_random_state),
    (np.random.Generator, _Content._add_generator),
    (Iterator, _refuse_iterator),
    ((list, tuple), _Content._add_sequence),
    ((dict, set, frozenset), _Content._add_unordered),
)


@cache
def _installed_packages() -> frozenset[str]:
    """Return the packages whose code counts by its name."""
    own = __name__.partition(".")[0]
    return frozenset(
        {own, *sys.builtin_module_names, *sys.stdlib_module_names, *packages_distributions()} - {"__main__"}
    )


def _is_installed(definition: Any) -> bool:
    return str(definition.__module__).partition(".")[0] in _installed_packages()


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
    """Yield the functions and the plain constants of the body of a class."""
    for name, member in vars(cls).items():
        inner = member.fget if isinstance(member, property) else getattr(member, "__func__", member)
        is_constant = type(inner) in _PLAIN and not name.startswith("__")
        if isinstance(inner, FunctionType) or is_constant:
            yield name, inner
