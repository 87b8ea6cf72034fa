"""How the data are touched: two products with a vector, and subsets of samples."""

from metricwise.designs.base import Design, make_design
from metricwise.designs.chunked import ChunkSource
from metricwise.designs.disk import StoredRows

__all__ = ["ChunkSource", "Design", "StoredRows", "make_design"]
