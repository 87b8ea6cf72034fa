"""Data frames of words and categories, for models that were trained on hashed columns of a file."""

from __future__ import annotations

from typing import Any

_RULE = "hashed_columns_"


def hash_frame(estimator: Any, X: Any) -> Any:
    """Return the features of a data frame by the rule of training; other samples, and without a rule, X itself."""
    rule = vars(estimator).get(_RULE)
    return X if rule is None or not hasattr(X, "columns") else rule.transform(X)


def forget_hashing(estimator: Any) -> None:
    """Forget the rule of an earlier training."""
    vars(estimator).pop(_RULE, None)
