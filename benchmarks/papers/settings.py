"""Settings of the two methods as powers of two: the grids to search, and the choice of one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

# Powers of two by which a grid grows at a time.
_WIDER_C = 4
_WIDER_J = 2
_TIED = 1e-12


class Setting(NamedTuple):
    """The regularisation 2**c, and the cost factor 2**j of the positives (0 for methods without one)."""

    c: int
    j: int = 0


@dataclass(frozen=True)
class Grid:
    """Exponents from the first to the last, both included, ``step`` apart."""

    c: tuple[int, int] = (-6, 6)
    j: tuple[int, int] = (0, 0)
    step: int = 1

    def settings(self) -> list[Setting]:
        """Return all settings, by rising regularisation."""
        return [Setting(c, j) for c in self._exponents(self.c) for j in self._exponents(self.j)]

    def _exponents(self, ends: tuple[int, int]) -> range:
        return range(ends[0], ends[1] + 1, self.step)

    def widen(self, setting: Setting) -> Grid:
        """Return the grid extended on the sides on which a setting lies; the same grid if it lies inside."""
        c = _widen(self.c, self._exponents(self.c), setting.c, _WIDER_C)
        j = _widen(self.j, self._exponents(self.j), setting.j, _WIDER_J)
        return replace(self, c=c, j=j)


def _widen(ends: tuple[int, int], exponents: range, exponent: int, by: int) -> tuple[int, int]:
    if len(exponents) == 1:
        return ends
    low, high = ends
    return (low - by if exponent == exponents[0] else low, high + by if exponent == exponents[-1] else high)


def best_setting(values: Mapping[Setting, float]) -> Setting:
    """Return the setting with the greatest value; of tied settings the most central one.

    A class with few positives is judged by a handful of samples, and many settings are tied. The most central one
    is furthest from where they fail.

    Examples
    --------
    >>> best_setting({Setting(-1): 0.5, Setting(0): 0.9, Setting(1): 0.9, Setting(2): 0.9})
    Setting(c=1, j=0)
    """
    best = max(values.values())
    return _most_central([setting for setting, value in values.items() if value >= best - _TIED])


def most_frequent(chosen: Collection[Setting]) -> Setting:
    """Return the setting chosen most often; of tied settings the most central one."""
    counts = Counter(chosen)
    most = max(counts.values())
    return _most_central([setting for setting, count in counts.items() if count == most])


def _most_central(settings: list[Setting]) -> Setting:
    ordered = sorted(settings)
    points = np.array(ordered, dtype=np.float64)
    distances = ((points - points.mean(axis=0)) ** 2).sum(axis=1)
    return ordered[int(np.argmin(distances))]
