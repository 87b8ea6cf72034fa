"""How the data are touched: two products with a vector, and subsets of rows."""

from metricwise.designs.base import Design, make_design

__all__ = ["Design", "make_design"]
