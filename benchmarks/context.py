"""What every benchmark is given, and what it raises when it cannot measure a row."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


class SkippedError(Exception):
    """A row cannot be measured here; the message says why, and the report repeats it."""


@dataclass(frozen=True)
class Context:
    """The circumstances of one run.

    Parameters
    ----------
    quick : bool
        Few and small rows, to try the benchmarks out.
    figures : Path
        Folder the plots are written to.
    threads : int
        Cores this process may use.
    peer_cache : Path, optional
        File with the results of slow peers from an earlier run on the same kind of machine.
    """

    quick: bool
    figures: Path
    threads: int
    peer_cache: Path | None = None

    @property
    def thread_counts(self) -> tuple[int, ...]:
        """One thread and all of them."""
        return tuple(sorted({1, self.threads}))
