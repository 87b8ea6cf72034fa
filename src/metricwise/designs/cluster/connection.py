"""The way of numbers between coordinator and workers: directly where workers can be reached, else by the scheduler.

A client sends questions to the objects on workers (actors) through the scheduler, unless it was made with
``direct_to_workers=True``: then every score is copied twice more, in a process that has other things to do. Whether
workers can be reached from here is found out by knocking at their ports.
"""

from __future__ import annotations

import socket
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

_PATIENCE = 2.0  # seconds; a port behind a wall does not answer at all


def can_reach(addresses: Iterable[str]) -> bool:
    """Whether a connection to each of the addresses can be opened from this process.

    Examples
    --------
    >>> can_reach([]), can_reach(["tcp://127.0.0.1:1"])
    (True, False)
    """
    return all(_answers(urlsplit(address)) for address in addresses)


def _answers(parts: Any) -> bool:
    if parts.scheme not in ("tcp", "tls") or parts.port is None:
        return False  # what is behind other schemes is left to Dask
    try:
        with socket.create_connection((parts.hostname, parts.port), timeout=_PATIENCE):
            return True
    except OSError:
        return False


@contextmanager
def direct(client: Any, reachable: bool) -> Iterator[None]:
    """Let a client speak to workers directly, if it can and its user has not forbidden it; afterwards as before."""
    before = client.direct_to_workers
    if before is None:
        client.direct_to_workers = reachable
    try:
        yield
    finally:
        client.direct_to_workers = before
