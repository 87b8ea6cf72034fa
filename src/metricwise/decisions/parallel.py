"""Run jobs in parallel and show how many are done."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from operator import length_hint
from typing import Any

from sklearn.utils.parallel import Parallel, delayed

from metricwise.progress import Stage, add_stage


class _TrackedParallel(Parallel):  # type: ignore[misc]  # scikit-learn has no types
    """Runs jobs in parallel and shows how many are done."""

    def __init__(self, n_jobs: int | None, stage: Stage, unit: str, total: int) -> None:
        super().__init__(n_jobs=n_jobs)
        self._stage, self._unit, self._total = stage, unit, total

    def print_progress(self) -> None:
        """Show the job that follows those that are done; joblib calls this whenever one is."""
        self.show(self.n_completed_tasks)

    def show(self, done: int) -> None:
        total = max(self._total, 1)
        self._stage.update(f"{self._unit} {min(done + 1, total)} of {total}", done / total)


def run_in_parallel(
    function: Callable[..., Any],
    jobs: Iterable[tuple[Any, ...]],
    n_jobs: int | None,
    unit: str = "fold",
    total: int | None = None,
) -> list[Any]:
    """Return what a function returns for the arguments of every job, in the order of the jobs.

    Parameters
    ----------
    function : callable
        Called once per job.
    jobs : iterable of tuple
        Arguments of the calls.
    n_jobs : int or None
        Calls in parallel.
    unit : str
        What a job is, for the progress.
    total : int, optional
        How many jobs there are, if the iterable does not know.
    """
    with add_stage() as stage:
        parallel = _TrackedParallel(n_jobs, stage, unit, length_hint(jobs) if total is None else total)
        parallel.show(0)
        return list(parallel(delayed(function)(*job) for job in jobs))
