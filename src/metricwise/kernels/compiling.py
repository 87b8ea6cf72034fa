"""Compile functions that other kernels call and Python does not."""

import numba as nb

# Half of the time to compile a small function goes into its entry points for Python and C, and into its own file in the
# cache, which nobody reads: the file of the kernel that calls it contains it.
helper = nb.njit(nogil=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)
