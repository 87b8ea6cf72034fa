"""Label matrices: from what users pass to columns, and back."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.multiclass import type_of_target

from metricwise._typing import LabelMatrix
from metricwise.raw_inputs import read_labels


def validate_label_matrix(y: Any) -> LabelMatrix:
    """Return labels as a dense array of 0 and 1; raise a ValueError that names the first wrong entry.

    Parameters
    ----------
    y : array, data frame or sparse matrix of shape (n_samples, n_labels)
        Ones where a sample has a label.
    """
    if y is None:
        raise ValueError("this estimator requires y to be passed, but the target y is None")
    y = read_labels(y)
    try:
        values = y.toarray() if sparse.issparse(y) else np.asarray(y)
    except ValueError as error:  # samples of different lengths
        raise ValueError(
            "y must have a column of 0 and 1 for every label: convert lists of labels with MultiLabelBinarizer"
        ) from error
    if values.ndim != 2:
        kind = type_of_target(values) if values.ndim == 1 and values.size else "unknown"
        raise ValueError(
            "y must have a row of 0 and 1 for every sample of X and a column for every label, got an array of shape "
            f"{values.shape} ({kind} target): convert lists of labels with MultiLabelBinarizer"
        )
    if values.shape[1] == 0:
        raise ValueError("y has no columns: training needs at least one label")
    try:
        numbers = values.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"y holds something that is no number ({error}): its entries must be 0 or 1") from error
    wrong = np.argwhere((numbers != 0.0) & (numbers != 1.0))
    if wrong.size:
        row, column = wrong[0]
        raise ValueError(
            f"y[{row}, {column}] is {values[row : row + 1, column].tolist()[0]!r}: its entries must be 0 or 1"
        )
    return np.ascontiguousarray(numbers, dtype=np.int8)


def restore_sparsity(labels: LabelMatrix, is_sparse: bool) -> Any:
    """Return predicted labels as a CSR matrix if the labels of training were sparse."""
    return sparse.csr_matrix(labels) if is_sparse else labels.astype(np.int64)


def read_label_names(y: Any) -> tuple[Any, ...]:
    """Return the column names of a data frame of labels; empty for other targets, whose labels have numbers.

    Raises
    ------
    ValueError
        If two columns have one name.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> read_label_names(pd.DataFrame({"spam": [0, 1], "urgent": [1, 1]})), read_label_names(np.eye(2))
    (('spam', 'urgent'), ())
    """
    columns = getattr(y, "columns", None)
    if columns is None or np.ndim(y) != 2 or np.shape(y)[1] < 2:
        return ()
    names = tuple(name.item() if isinstance(name, np.generic) else name for name in columns)
    if not all(isinstance(name, str | int | float) for name in names):
        names = tuple(map(str, names))
    repeated = next((name for name in names if names.count(name) > 1), None)
    if repeated is not None:
        raise ValueError(f"y has two columns with the name {repeated!r}: give every label a name of its own")
    return names
