"""Labelled rows from files: as a whole, or larger than memory and in chunks.

Nothing heavy is loaded before the first file is opened.
"""

from metricwise.io.chunks import Chunk
from metricwise.io.errors import MalformedLineError
from metricwise.io.hashing import HashedColumns
from metricwise.io.on_disk import DiskData, open
from metricwise.io.streaming import Stream, stream
from metricwise.io.tables import Table, read_table

__all__ = [
    "Chunk",
    "DiskData",
    "HashedColumns",
    "MalformedLineError",
    "Stream",
    "Table",
    "open",
    "read_table",
    "stream",
]
