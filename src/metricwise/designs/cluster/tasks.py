"""Functions of chunks on the workers of a cluster, as tasks that Dask can compute again.

What needs a chunk for longer than a product, such as a pass of learning, runs on the worker that has the chunk: chunks
stay, and arguments and results travel. A task depends on its arguments only, so that neither the worker that runs it
nor the loss of one changes its result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from metricwise.designs.cluster.source import DaskSource


def _return_value(value: Any) -> Any:
    return value


def _return_value_beside(chunk: Any, value: Any) -> Any:
    return value


class WorkerTasks:
    """Runs functions on the workers that have the chunks of a source.

    Parameters
    ----------
    source : DaskSource
        The chunks.
    """

    def __init__(self, source: DaskSource) -> None:
        self.source = source

    def keep(self, value: Any, n_bytes: int, beside: int | None = None) -> Any:
        """Return the future of a value that is passed to several tasks; it is sent once.

        Parameters
        ----------
        value : object
            Anything that can be pickled. It is stored with the task, and so survives the worker that received it.
        n_bytes : int
            Size of its arrays, which is added to the bytes moved.
        beside : int, optional
            The chunk whose worker is to keep it.
        """
        self.source.pool.bytes_moved += n_bytes
        if beside is None:
            return self.submit(_return_value, value)
        return self.on_chunk(beside, _return_value_beside, value)

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Return the future of a function of values and futures."""
        return self.source.pool.run(lambda client: client.submit(function, *arguments, pure=False))

    def on_chunk(self, k: int, function: Callable[..., Any], *arguments: Any) -> Any:
        """Return the future of ``function(chunk, *arguments)``."""
        return self.submit(function, self.source.futures[k], *arguments)

    def answers(self, futures: Sequence[Any], n_bytes: Callable[[Any], int]) -> list[Any]:
        """Return the results of tasks, once all are finished; ``n_bytes`` returns the size of a result."""
        found: list[Any] = self.source.pool.run(lambda client: client.gather(list(futures)))
        self.source.pool.bytes_moved += sum(n_bytes(answer) for answer in found)
        return found
