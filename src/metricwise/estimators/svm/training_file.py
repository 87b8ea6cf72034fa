"""The file from which an interrupted training resumes: the states of all solver runs of one call of `fit`."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from metricwise.estimators.checkpoints import Checkpoint, check_writable
from metricwise.results import Result
from metricwise.solvers import Limits, run
from metricwise.solvers.saved import Arrays

_SECONDS_BETWEEN_SAVES = 30.0


class TrainingFile:
    """Keeps the states of solver runs, which are numbered in their order; the same training has the same order.

    Parameters
    ----------
    path : str or Path
        Of the file. Written every half minute, and if training fails; removed when it is finished.
    training : mapping
        Identifies this training (`metricwise.estimators.training_identity.identify_training`).
    """

    def __init__(self, path: str | Path, training: Mapping[str, str]) -> None:
        self.path = Path(path)
        check_writable(self.path)
        self._checkpoint = Checkpoint(self.path, training)
        self._runs: dict[int, Arrays] = dict(enumerate(self._checkpoint.load()))
        self._number = -1
        self._saved_at = time.monotonic()

    def run(self, solver: Any, problem: Any, limits: Limits, state: Any, callback: Any) -> tuple[Result, Any]:
        """Run a solver as `metricwise.solvers.run` does, from its state in the file if there is one."""
        self._number += 1
        latest: list[Any] = []

        def watch(state: Any) -> None:
            latest[:] = [state]
            if time.monotonic() - self._saved_at > _SECONDS_BETWEEN_SAVES:
                self._save(solver, state)

        if self._number in self._runs:
            with self._checkpoint.naming_damage():
                state = solver.restored(problem, self._runs[self._number], limits)
        try:
            result, state = run(solver, problem, limits, state, callback, watch)
        except Exception as error:
            if latest:  # every product leaves the state of a solver whole, whether it succeeds or not
                self._save_after(error, solver, latest[0])
            if not isinstance(error, ConnectionError):
                raise
            raise type(error)(
                f"{error}. Training so far is kept in {str(self.path)!r}: with the same parameters, samples and labels "
                "it goes on from there"
            ) from error
        self._runs[self._number] = solver.saved(state)
        return result, state

    def _save(self, solver: Any, state: Any) -> None:
        self._runs[self._number] = solver.saved(state)
        self._checkpoint.save(list(self._runs.values()))
        self._saved_at = time.monotonic()

    def _save_after(self, error: Exception, solver: Any, state: Any) -> None:
        """Save the state of a training that failed; a failure to do so is noted on the error, and does not hide it."""
        try:
            self._save(solver, state)
        except OSError as problem:
            error.add_note(f"checkpoint {str(self.path)!r} could not be written either ({problem})")

    def finish(self) -> None:
        """Remove the file: the training is over."""
        self._checkpoint.remove()
