"""Run jobs in parallel and show how many are done."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from operator import length_hint
from typing import Any

from sklearn.utils.parallel import Parallel, delayed

from metricwise.progress import Stage, add_stage, hide_progress
from metricwise.threads import available_cores
from metricwise.worker_threads import is_parallel_configured, run_side_by_side


class _TrackedParallel(Parallel):  # type: ignore[misc]  # scikit-learn has no types
    """Runs jobs in parallel and shows how many are done."""

    def __init__(self, n_jobs: int | None, stage: Stage, unit: str, total: int) -> None:
        super().__init__(n_jobs=n_jobs)
        self._stage, self._unit, self._total = stage, unit, total

    def print_progress(self) -> None:
        """Show the job that follows those that are done; joblib calls this whenever one is."""
        self.show(self.n_completed_tasks)

    def show(self, done: int) -> None:
        _show_done(self._stage, self._unit, self._total, done)


def _show_done(stage: Stage, unit: str, total: int, done: int) -> None:
    total = max(total, 1)
    stage.update(f"{unit} {min(done + 1, total)} of {total}", done / total)


def count_side_by_side(n_jobs: int | None) -> int:
    """Return how many short jobs run side by side, in threads; 1 unless their number is left open.

    It is left open by ``n_jobs=None`` where joblib is not configured either, and where this is no job of joblib itself.

    Parameters
    ----------
    n_jobs : int or None
        The number that the user wants.
    """
    return available_cores() if n_jobs is None and not is_parallel_configured() else 1


def run_in_parallel(
    function: Callable[..., Any],
    jobs: Iterable[tuple[Any, ...]],
    n_jobs: int | None,
    unit: str = "fold",
    total: int | None = None,
    n_side_by_side: int = 1,
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
    n_side_by_side : int
        Threads of this process that share the jobs; 1 to leave them to joblib.
    """
    total = length_hint(jobs) if total is None else total
    with add_stage() as stage:
        if n_side_by_side > 1:
            tasks = [partial(_call_silently, function, *job) for job in jobs]
            _show_done(stage, unit, total, 0)
            return run_side_by_side(tasks, n_side_by_side, partial(_show_done, stage, unit, total))
        parallel = _TrackedParallel(n_jobs, stage, unit, total)
        parallel.show(0)
        return list(parallel(delayed(function)(*job) for job in jobs))


def _call_silently(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function that shows no progress: jobs that run at the same time cannot share a line."""
    with hide_progress():
        return function(*arguments)
