"""The context of a benchmark run, and the error for what cannot be measured."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


class SkippedError(Exception):
    """Raised when a row of the report cannot be measured; the report repeats the reason."""


@dataclass(frozen=True)
class Context:
    """Settings of one run.

    Parameters
    ----------
    quick : bool
        Whether to run few and small problems only, to try the benchmarks out.
    figures : Path
        Folder of the plots.
    threads : int
        Number of threads to use at most.
    peer_cache : Path, optional
        File that caches the results of slow peers, by model of processor.
    """

    quick: bool
    figures: Path
    threads: int
    peer_cache: Path | None = None

    @property
    def thread_counts(self) -> tuple[int, ...]:
        """Numbers of threads to measure: one, and all."""
        return tuple(sorted({1, self.threads}))
