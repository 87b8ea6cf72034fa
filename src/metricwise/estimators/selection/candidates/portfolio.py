"""The portfolio: all candidates that fit a problem, in the order of their expected value."""

from __future__ import annotations

from typing import Any, NamedTuple

from metricwise.estimators.selection.candidates.boosters import (
    describe_absence,
    make_catboost,
    make_lightgbm,
    make_xgboost,
)
from metricwise.estimators.selection.candidates.candidate import Candidate, Maker, Problem
from metricwise.estimators.selection.candidates.kernels import make_rbf
from metricwise.estimators.selection.candidates.linear import (
    make_auc_svm,
    make_linear_svm,
    make_logistic,
    make_multivariate_svm,
    make_streams,
)
from metricwise.estimators.selection.candidates.pretrained import make_tabicl, make_tabpfn
from metricwise.estimators.selection.candidates.trees import make_boosted_trees, make_extra_trees
from metricwise.estimators.selection.packages import AbsentPackageError

# In the order in which they run: fast ones first, so that there is always a result.
_MAKERS: dict[str, Maker] = {
    "logistic": make_logistic,
    "boosted_trees": make_boosted_trees,
    "extra_trees": make_extra_trees,
    "lightgbm": make_lightgbm,
    "xgboost": make_xgboost,
    "catboost": make_catboost,
    "rbf": make_rbf,
}
_OF_TWO_CLASSES: dict[str, Maker] = {
    "linear_svm": make_linear_svm,
    "multivariate_svm": make_multivariate_svm,
    "auc_svm": make_auc_svm,
    "streams": make_streams,
}
_ONE_VS_REST = {name: _OF_TWO_CLASSES[name] for name in ("linear_svm", "multivariate_svm")}
_MOST_CLASSES = 10  # that SVMs are separated from the rest for, one after the other, unless they are named
_BY_NAME_ONLY: dict[str, Maker] = {"tabicl": make_tabicl, "tabpfn": make_tabpfn}
AUTO = (*_MAKERS, *_OF_TWO_CLASSES)
NAMES = (*AUTO, *_BY_NAME_ONLY)


class Portfolio(NamedTuple):
    """Candidates, and those whose packages are absent: what a user misses, by name."""

    candidates: list[Candidate]
    absent: dict[str, str]


def make_portfolio(wanted: Any, problem: Problem) -> Portfolio:
    """Return the candidates: all that fit ("auto"), those of a list of names, or a dictionary's own estimators.

    Parameters
    ----------
    wanted : "auto", list of str or dict
        Which candidates. Packages that are not installed are left out of "auto" only.
    problem : Problem
        What they are made for.

    Raises
    ------
    ValueError
        If there is no candidate, a name is unknown, or nothing that is wanted fits the measure and the samples.
    ImportError
        If a name in a list needs a package that is not installed.
    FileNotFoundError
        If it needs weights that are not on disk.
    """
    if not wanted:
        raise ValueError("candidates is empty: use 'auto', a list of names, or a dictionary of your own estimators")
    if isinstance(wanted, dict):
        return Portfolio([Candidate(str(name), estimator) for name, estimator in wanted.items()], {})
    is_auto = isinstance(wanted, str) and wanted == "auto"
    names = AUTO if is_auto else wanted
    _refuse_unknown(names)
    of_two = _OF_TWO_CLASSES if problem.is_binary else {}
    few_classes = problem.n_outputs <= _MOST_CLASSES or not is_auto
    of_several = _ONE_VS_REST if problem.is_multiclass and few_classes else {}
    makers = {**_MAKERS, **_BY_NAME_ONLY, **of_two, **of_several}
    found, absent = [], {}
    for name in names:
        if name not in makers:
            continue
        try:
            found += list(makers[name](problem))
        except AbsentPackageError as error:
            if not is_auto:
                raise AbsentPackageError(f"candidate {name!r} is {error}") from error
            absent[name] = describe_absence(str(error))
    if not found:
        raise ValueError(
            f"none of the candidates {', '.join(names)} fits measure {problem.measure.name!r} and these samples: use "
            "candidates='auto', or a dictionary of your own estimators"
        )
    return Portfolio(found, absent)


def _refuse_unknown(names: Any) -> None:
    if isinstance(names, str):
        raise ValueError(f"candidates must be 'auto', or a list of names such as [{names!r}]; got {names!r}")
    unknown = [name for name in names if name not in NAMES]
    if unknown:
        raise ValueError(
            f"candidates must be 'auto', a dictionary of estimators, or some of {NAMES}; got {unknown[0]!r}"
        )
