"""Ask the processor to fetch memory before it is needed."""

from typing import Any

import numba as nb
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from metricwise.kernels.compiling import kernel

_LINE = 64  # bytes that are fetched at once
_MOST_LINES = 8  # after that, the processor prefetches by itself
_FOR_READING, _TO_ALL_CACHES, _DATA = 0, 3, 1  # the arguments of the instruction


@intrinsic
def _fetch_line(typing_context: Any, address: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [pointer, number, number, number])
        instruction = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
        settings = [number(_FOR_READING), number(_TO_ALL_CACHES), number(_DATA)]
        builder.call(instruction, [builder.inttoptr(arguments[0], pointer), *settings])
        return context.get_dummy_value()

    return types.void(types.uintp), code


# An intrinsic exists in compiled code only; as Python, there is nothing to wait for.
_fetch = (lambda address: None) if nb.config.DISABLE_JIT else _fetch_line


@kernel(inline="always")
def prefetch(array, start, stop):
    """Start to load the contiguous entries ``array[start:stop]`` into the cache; nothing else changes."""
    begin, size = array.ctypes.data, array.itemsize
    first, last = start * size, stop * size
    if last > first + _MOST_LINES * _LINE:
        last = first + _MOST_LINES * _LINE
    for place in range(first, last, _LINE):
        _fetch(nb.uintp(begin + place))
