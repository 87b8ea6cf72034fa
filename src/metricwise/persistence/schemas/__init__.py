"""Complete schemas of the classes of other packages that model files hold: a class without one is not on the list.

A schema names every attribute with its type, shape and range, and the relations between attributes. Whatever compiled
code follows (indices, sizes, types) is checked by it, so that a file that loads is safe to predict with.
"""

from __future__ import annotations

from metricwise.persistence.schemas import (
    combined,
    composition,
    encoders,
    ensembles,
    linear,
    machines,
    transformers,
    vectorizers,
)
from metricwise.persistence.schemas.schema import Schema

SCHEMAS: dict[str, Schema] = {
    **combined.SCHEMAS,
    **composition.SCHEMAS,
    **encoders.SCHEMAS,
    **ensembles.SCHEMAS,
    **linear.SCHEMAS,
    **machines.SCHEMAS,
    **transformers.SCHEMAS,
    **vectorizers.SCHEMAS,
}

__all__ = ["SCHEMAS", "Schema"]
