"""The three data sets: samples, and the positives of each of their binary problems."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.papers.wang2015 import profiles, vehicles
from benchmarks.papers.wang2015.actions import actions

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

VEHICLES, PROFILES, ACTIONS = "vehicles", "profiles", "actions"
NAMES = (VEHICLES, PROFILES, ACTIONS)  # in the order of the paper
TITLES = {VEHICLES: "Vehicular misbehaviour", PROFILES: "Profile injection", ACTIONS: "UT-Kinect actions"}
ATTACKERS = 300 / 1300  # of the profiles, as in the paper
MISBEHAVING = 558 / 1395  # of the vehicles, as in the paper
SEED = 0


class Problem(NamedTuple):
    """Samples, their class, and the names of the classes that are positive in a binary problem vs the rest."""

    name: str
    X: Floats
    classes: NDArray[np.int64]
    targets: dict[str, int]

    def positives(self, target: str) -> Mask:
        """Which samples are of a class."""
        return np.asarray(self.classes == self.targets[target])


def problem(name: str, n_samples: int, n_targets: int | None = None) -> Problem:
    """Return a data set; a simulated one with ``n_samples`` samples, the actions with ``n_targets`` binary problems.

    Raises
    ------
    SkippedError
        Where the data are missing.
    """
    if name == VEHICLES:
        traffic = vehicles.simulate(n_samples, MISBEHAVING, SEED)
        return Problem(name, vehicles.features(traffic), traffic.misbehaving.astype(np.int64), {"misbehaving": 1})
    if name == PROFILES:
        attackers = round(ATTACKERS * n_samples)
        rated = profiles.simulate(n_samples - attackers, attackers, seed=SEED)
        return Problem(name, profiles.features(rated.ratings), rated.attack.astype(np.int64), {"attack": 1})
    found = actions()
    return Problem(name, found.X, found.y, {kind: code for code, kind in enumerate(found.names[:n_targets])})
