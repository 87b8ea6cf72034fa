"""The connection to a Dask cluster: direct to its workers where they can be reached, and what is lost with it.

A client sends requests to the objects on workers (actors) through the scheduler, unless it was made with
``direct_to_workers=True``. Every array is then copied twice more, by a process that has other work to do. Whether the
workers can be reached from this process is tested by opening connections to their ports.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Self, TypeVar
from urllib.parse import SplitResult, urlsplit

from metricwise.designs.cluster.lost_workers import explain_killed_worker

_TIMEOUT = 2.0  # seconds; a port behind a firewall does not answer at all

T = TypeVar("T")


class SchedulerLostError(ConnectionError):
    """The scheduler of a Dask cluster was lost, and with it the samples that its workers kept."""

    @classmethod
    def caused_by(cls, cause: BaseException) -> Self:
        """Return the error with a message that names its cause."""
        return cls(
            f"the scheduler of the Dask cluster was lost ({type(cause).__name__}: {cause}), and with it the samples "
            "that its workers kept. Connect a new client, build the Dask collections with it and call fit again; with "
            "checkpoint='run.npz' training resumes where it stopped"
        )


def run_on_cluster(client: Any, action: Callable[[], T]) -> T:
    """Return the result of an action that uses a client.

    Raises
    ------
    SchedulerLostError
        If a future is cancelled, which happens when the scheduler forgets everything.
    WorkerMemoryError
        If a task has ended all workers that it was given to.
    """
    from distributed import CancelledError
    from distributed.scheduler import KilledWorker

    try:
        with client.as_current():  # waiting, and the actors that are received, use the current client
            return action()
    except CancelledError as error:
        raise SchedulerLostError.caused_by(error) from error
    except KilledWorker as error:
        raise explain_killed_worker(error) from error


def can_reach(addresses: Iterable[str]) -> bool:
    """Return whether a connection to each of the addresses can be opened from this process.

    Examples
    --------
    >>> can_reach([]), can_reach(["tcp://127.0.0.1:1"])
    (True, False)
    """
    return all(_accepts_connections(urlsplit(address)) for address in addresses)


def _accepts_connections(address: SplitResult) -> bool:
    if address.scheme not in ("tcp", "tls") or address.port is None:
        return False  # other schemes are left to Dask
    try:
        with socket.create_connection((address.hostname, address.port), timeout=_TIMEOUT):
            return True
    except OSError:
        return False


@contextmanager
def connect_directly(client: Any, is_reachable: bool) -> Iterator[None]:
    """Let a client send to reachable workers directly, unless its user decided; restore the setting at the end."""
    before = client.direct_to_workers
    if before is None:
        client.direct_to_workers = is_reachable
    try:
        yield
    finally:
        client.direct_to_workers = before
