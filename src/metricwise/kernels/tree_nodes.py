"""The nodes of trees that compiled code follows; unlike the rest of the package, this module does not load numba."""

import numpy as np

# One record per inner node. A child below zero is the leaf of number ~child.
NODE = np.dtype([("threshold", "<f8"), ("feature", "<i4"), ("left", "<i4"), ("right", "<i4"), ("flags", "<i4")])
MISSING_LEFT, ZERO_IS_MISSING, CATEGORICAL = 1, 2, 4  # flags
