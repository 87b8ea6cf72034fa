"""Labelled rows from files larger than memory, in chunks: svmlight, CSV and Parquet.

Nothing heavy is loaded before the first file is opened.
"""

from metricwise.io.chunks import Chunk
from metricwise.io.errors import MalformedLineError
from metricwise.io.streaming import Stream, stream

__all__ = ["Chunk", "MalformedLineError", "Stream", "stream"]
