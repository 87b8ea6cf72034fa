"""Functions of chunks on the workers of a cluster, as tasks that Dask can compute again.

What needs a chunk for longer than a product, such as a pass of learning, goes to the worker that has the chunk: chunks
stay, and what a function is given and returns travels. A task depends on its arguments alone, so that neither the
worker that runs it nor the loss of one changes what it returns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from metricwise.designs.cluster.source import DaskSource


def _same(value: Any) -> Any:
    return value


def _beside(chunk: Any, value: Any) -> Any:
    return value


class ChunkTasks:
    """Runs functions on the workers that have the chunks of a source.

    Parameters
    ----------
    source : DaskSource
        The chunks.
    """

    def __init__(self, source: DaskSource) -> None:
        self.source = source

    def keep(self, value: Any, n_bytes: int, beside: int | None = None) -> Any:
        """Return the future of a value that several tasks are given: it leaves this process once.

        Parameters
        ----------
        value : object
            Anything that can be pickled. It is kept with the task, and so survives the worker that got it.
        n_bytes : int
            Size of its arrays, which is added to the bytes moved.
        beside : int, optional
            The chunk on whose worker it is to be.
        """
        self.source.bytes_moved += n_bytes
        return self.submit(_same, value) if beside is None else self.on_chunk(beside, _beside, value)

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Return the future of a function of values and futures."""
        return self.source.on_cluster(lambda client: client.submit(function, *arguments, pure=False))

    def on_chunk(self, k: int, function: Callable[..., Any], *arguments: Any) -> Any:
        """Return the future of ``function(chunk, *arguments)``."""
        return self.submit(function, self.source.futures[k], *arguments)

    def answers(self, futures: Sequence[Any], n_bytes: Callable[[Any], int]) -> list[Any]:
        """Return what the tasks have returned, once all have; ``n_bytes`` tells the size of an answer."""
        found: list[Any] = self.source.on_cluster(lambda client: client.gather(list(futures)))
        self.source.bytes_moved += sum(n_bytes(answer) for answer in found)
        return found
