"""The most violated labelling of a measure, from scores."""

from metricwise.oracles.base import Labelling, Oracle
from metricwise.oracles.factory import make_oracle

__all__ = ["Labelling", "Oracle", "make_oracle"]
