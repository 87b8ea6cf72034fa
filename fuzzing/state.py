"""The progress of campaigns, by seed and kind, in a file, so that the next one goes on where the last has ended."""

from __future__ import annotations

import json
import os
from pathlib import Path

_SEEDS_PER_CAMPAIGN = 10**9


class State:
    """How many cases of every kind the campaigns of a seed have run.

    Parameters
    ----------
    path : Path
        The file.
    seed : int
        The seed of the campaign.
    """

    def __init__(self, path: Path, seed: int) -> None:
        self.path = path
        self.seed = seed
        self._done: dict[str, dict[str, int]] = {}
        if path.exists():
            self._done = json.loads(path.read_text(encoding="utf-8"))

    def first_seed(self, kind: str) -> int:
        """Return the seed of the first case of a kind that was not run."""
        return self.seed * _SEEDS_PER_CAMPAIGN + self._done.get(str(self.seed), {}).get(kind, 0)

    def add(self, kind: str, n_cases: int) -> None:
        """Record cases as run."""
        own = self._done.setdefault(str(self.seed), {})
        own[kind] = own.get(kind, 0) + n_cases
        self.path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = self.path.with_suffix(".partial")
        unfinished.write_text(json.dumps(self._done, indent=1), encoding="utf-8")
        os.replace(unfinished, self.path)
