"""Names of array types that signatures use everywhere."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
"""Scores, weights, coefficients."""
Mask: TypeAlias = NDArray[np.bool_]
"""One boolean per sample: positive or not, predicted positive or not."""
Indices: TypeAlias = NDArray[np.int64]
"""Positions of samples, features or chunks."""
Integers: TypeAlias = NDArray[np.int64]
"""Counts, and codes of classes."""
Labels: TypeAlias = NDArray[Any]
"""Class labels as the user gave them."""
LabelMatrix: TypeAlias = NDArray[np.int8]
"""Zeros and ones, one column per label."""
Hashes: TypeAlias = NDArray[np.uint64]
"""Fingerprints of samples."""
