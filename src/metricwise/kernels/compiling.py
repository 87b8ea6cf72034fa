"""How kernels are compiled."""

from functools import partial
from typing import Any

import numba as nb

# Division by zero gives infinity or NaN: a fifth of the time to compile would go into checks that raise exceptions.
_compile: Any = partial(nb.njit, nogil=True, error_model="numpy")

# A function that Python calls; the compiled code is stored in the cache.
kernel: Any = partial(_compile, cache=True)

# A function that other kernels call and Python does not. Half of the time to compile a small one would go into its
# entry points for Python and C, and into its own file in the cache, which nobody reads: the file of the kernel that
# calls it contains it.
helper: Any = _compile(no_cpython_wrapper=True, no_cfunc_wrapper=True)
