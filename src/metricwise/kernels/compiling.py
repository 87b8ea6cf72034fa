"""How kernels are compiled."""

from functools import partial
from typing import Any

import numba as nb

# Division by zero gives infinity or NaN: a fifth of the time to compile would go into checks that raise exceptions. No
# entry points for C, which nobody calls.
_compile: Any = partial(nb.njit, nogil=True, error_model="numpy", no_cfunc_wrapper=True)

# A function that Python calls; the compiled code is stored in the cache. Optional arrays are None where they are not
# given: numba then compiles a function without the branches that read them.
kernel: Any = partial(_compile, cache=True)

# A function that other kernels call and Python does not. Half of the time to compile a small one would go into its
# entry point for Python, and into its own file in the cache, which nobody reads: the file of the kernel that calls it
# contains it. It is optimised anew with every function that calls it, directly or not, so helpers call few others. For
# the same reason they compare instead of calling max or min, which numba compiles as functions, too.
helper: Any = _compile(no_cpython_wrapper=True)
