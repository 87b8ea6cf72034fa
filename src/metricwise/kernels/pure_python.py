"""What kernels need to run without a compiler, as ``NUMBA_DISABLE_JIT=1`` asks: slow, but open to a debugger."""

from collections.abc import Callable
from typing import TypeVar

import numba as nb
import numpy as np

F = TypeVar("F", bound=Callable[..., object])


def allow_overflow(function: F) -> F:
    """Return a kernel whose unsigned sums and products wrap around on purpose; as Python, it does so without warnings.

    A compiled function is returned as it is: only NumPy's own numbers warn.
    """
    return np.errstate(over="ignore")(function) if nb.config.DISABLE_JIT else function
