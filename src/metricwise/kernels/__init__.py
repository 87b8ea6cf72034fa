"""The only compiled code of the library: plain cached functions with C-like signatures.

Importing a module of this package loads numba, so callers import it where they first need it.
"""
