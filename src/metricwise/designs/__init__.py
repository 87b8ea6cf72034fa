"""How the data are accessed: products with the matrix of all samples, and subsets of samples."""

from metricwise.designs.base import Design, MatrixProducts, SampleAccess
from metricwise.designs.disk import BlockReader
from metricwise.designs.matrix import make_design
from metricwise.designs.partitioned import DataSource

__all__ = ["BlockReader", "DataSource", "Design", "MatrixProducts", "SampleAccess", "make_design"]
