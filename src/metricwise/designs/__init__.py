"""How the data are touched: two products with a vector, and subsets of rows."""

from metricwise.designs.base import Design, make_design
from metricwise.designs.chunked import ChunkSource

__all__ = ["ChunkSource", "Design", "make_design"]
