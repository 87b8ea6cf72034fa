"""The only compiled code of the library: plain cached functions with C-like signatures.

Importing a module of this package loads numba, so callers import it where they first need it.
"""

from metricwise.kernels.cache_folder import ensure_cache_folder

# Before the first function is declared, as numba then looks for the place of its compiled form.
ensure_cache_folder()
