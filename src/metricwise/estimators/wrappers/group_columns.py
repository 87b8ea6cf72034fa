"""Columns of groups that reach the learner as features: name them where it takes no texts, or has not seen them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from metricwise._sklearn import take_samples
from metricwise._typing import Floats, Labels
from metricwise.decisions.group_decision import GroupPlan
from metricwise.decisions.guarantees import UnreachableGuaranteeError
from metricwise.decisions.scoring import fit_copy

_SAMPLES_TO_TRY = 50  # of each class, to find out whether a learner takes texts


def refuse_unknown_columns(plan: GroupPlan | None, learner: Any, sensitive_features: Any) -> None:
    """Raise if groups are a column of X that a classifier, which is trained already, has not been trained with.

    Parameters
    ----------
    plan : GroupPlan or None
        The constraints by group.
    learner : classifier
        Trained already.
    sensitive_features
        Groups that are given beside X; None if they are columns of X.

    Raises
    ------
    ValueError
        If there is such a column; the message says how to give the groups.
    """
    known = getattr(learner, "feature_names_in_", None)
    if plan is None or sensitive_features is not None or known is None:
        return
    unknown = [column.name for column in plan.columns if column.name not in list(known)]
    if unknown:
        raise ValueError(
            f"the trained {type(learner).__name__} has no feature {unknown[0]!r}, which groups are by: "
            f"{_describe_separation(unknown)}"
        )


@contextmanager
def explain_refused_texts(
    plan: GroupPlan | None, learner: Any, X: Any, y: Labels, sensitive_features: Any
) -> Iterator[None]:
    """Raise an error that says what to do with columns of texts if training fails because groups are one of them.

    Parameters
    ----------
    plan : GroupPlan or None
        The constraints by group.
    learner : classifier
        That is trained in the body of the with statement.
    X, y
        Its samples.
    sensitive_features
        Groups that are given beside X; None if they are columns of X.

    Raises
    ------
    ValueError
        If the learner takes numbers only.
    """
    try:
        yield
    except UnreachableGuaranteeError:
        raise
    except (TypeError, ValueError) as error:
        texts = [] if plan is None or sensitive_features is not None else _list_texts(X)
        groups = [] if plan is None else [column.name for column in plan.columns if column.name in texts]
        if not groups or not _refuses_texts(learner, X, y, texts):
            raise
        raise ValueError(_describe_refusal(learner, groups, texts)) from error


def _describe_refusal(learner: Any, groups: list[str], texts: list[Any]) -> str:
    others = [name for name in texts if name not in groups]
    too = f". Texts of {_quote(others)} must be encoded in either case" if others else ""
    return (
        f"groups are by {_quote(groups)}, a column of X with texts, and {type(learner).__name__} takes numbers only. "
        f"Either {_describe_separation(groups)}; or keep it as a feature and encode it in a pipeline: make_pipeline("
        f"make_column_transformer((OneHotEncoder(handle_unknown='ignore'), [{_quote(texts)}]), "
        f"remainder='passthrough'), {type(learner).__name__}(...)){too}"
    )


def _describe_separation(names: list[str]) -> str:
    """Return how to give groups that are no features."""
    columns = f"[{_quote(names)}]"
    return f"leave it out of the features: fit(X.drop(columns={columns}), y, sensitive_features=X[{columns}])"


def _quote(names: list[Any]) -> str:
    return ", ".join(map(repr, names))


def _list_texts(X: Any) -> list[Any]:
    """Return the columns of a data frame that are no numbers."""
    return [name for name in getattr(X, "columns", ()) if np.asarray(X[name]).dtype.kind not in "biuf"]


def _refuses_texts(learner: Any, X: Any, y: Labels, texts: list[Any]) -> bool:
    """Return whether a learner can be trained with numbers in place of texts, and not with the texts."""
    first = np.sort(np.concatenate([np.flatnonzero(y == one)[:_SAMPLES_TO_TRY] for one in np.unique(y)]))
    samples, labels = take_samples(X, first), y[first]
    return not _can_fit(learner, samples, labels) and _can_fit(learner, _number_texts(samples, texts), labels)


def _can_fit(learner: Any, X: Any, y: Labels) -> bool:
    try:
        fit_copy(learner, X, y, None)
    except (TypeError, ValueError):
        return False
    return True


def _number_texts(X: Any, texts: list[Any]) -> Any:
    """Return samples with a number for each text; as an array if the data frame is none of pandas."""

    def number(name: Any) -> Floats:
        values = np.asarray(X[name])
        if name not in texts:
            return values.astype(np.float64)
        return np.unique(values.astype(np.str_), return_inverse=True)[1].ravel().astype(np.float64)

    if hasattr(X, "iloc"):
        numbered = X.copy()
        for name in texts:
            numbered[name] = number(name)
        return numbered
    return np.column_stack([number(name) for name in X.columns])
