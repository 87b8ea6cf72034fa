"""How kernels are compiled."""

import gc
import logging
from contextlib import suppress
from functools import partial
from typing import Any

import numba as nb
from numba.core import event
from numba.core.caching import FunctionCache
from numba.core.dispatcher import Dispatcher

_LOG = logging.getLogger("metricwise")

# Division by zero gives infinity or NaN: a fifth of the time to compile would go into checks that raise exceptions. No
# entry points for C, which nobody calls.
_compile: Any = partial(nb.njit, nogil=True, error_model="numpy", no_cfunc_wrapper=True)


class _KernelCache(FunctionCache):  # type: ignore[misc]  # numba has no types
    """Compiled functions on disk. Those that cannot be read, as their files are damaged, are compiled and stored again.

    numba raises what its reading of the file raises, whenever the function is called, until somebody removes the file.
    """

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            return super().load_overload(sig, target_context)
        except Exception as error:  # of any kind: it depends on the content of the files
            name = self._py_func.__name__
            _LOG.warning(
                "the compiled %s in %s cannot be read and is compiled again (%r)", name, self.cache_path, error
            )
            with suppress(OSError):  # a folder that cannot be written to
                self.flush()  # storing a function reads the index, which may be what is damaged
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            super().save_overload(sig, data)
        except Exception as error:  # a full disk, a folder that has become unwritable, or an index that is damaged
            _LOG.warning("the compiled %s cannot be stored in %s (%r)", self._py_func.__name__, self.cache_path, error)


def kernel(function: Any = None, **options: Any) -> Any:
    """Compile a function that Python calls; the compiled code is stored in the cache.

    Optional arrays are None where they are not given: numba then compiles a function without the branches that read
    them.
    """
    if function is None:
        return partial(kernel, **options)
    compiled = _compile(function, **options)
    if isinstance(compiled, Dispatcher):  # not with NUMBA_DISABLE_JIT
        dispatcher: Any = compiled
        dispatcher._cache = _KernelCache(function)  # as its `enable_caching` does with numba's class
    return compiled


# A function that other kernels call and Python does not. Half of the time to compile a small one would go into its
# entry point for Python, and into its own file in the cache, which nobody reads: the file of the kernel that calls it
# contains it. It is optimised anew with every function that calls it, directly or not, so helpers call few others. For
# the same reason they compare instead of calling max or min, which numba compiles as functions, too.
helper: Any = _compile(no_cpython_wrapper=True)


class _PausedCollector(event.Listener):  # type: ignore[misc]  # numba has no types
    """Pause Python's collector of reference cycles while a kernel of this package is compiled.

    The compiler makes millions of objects and few cycles: about a tenth of the first fit would go into looking for
    them. numba holds its lock during these events, so that they nest and never interleave.
    """

    def __init__(self) -> None:
        self._depth = 0
        self._resumes = False

    def on_start(self, event: Any) -> None:
        if _is_own(event):
            if self._depth == 0:
                self._resumes = gc.isenabled()
                gc.disable()
            self._depth += 1

    def on_end(self, event: Any) -> None:
        if _is_own(event):
            self._depth -= 1
            if self._depth == 0 and self._resumes:
                gc.enable()


def _is_own(event: Any) -> bool:
    return str(event.data["dispatcher"].py_func.__module__).startswith("metricwise.")


event.register("numba:compile", _PausedCollector())
