"""The threads of learners that have a parameter for them: neither BLAS nor OpenMP limits reach these."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

from sklearn.base import clone
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC, LinearSVC, NuSVC

from metricwise._typing import Floats, Integers, Labels
from metricwise.decisions.task import Task
from metricwise.memory import release_freed_memory
from metricwise.threads import available_threads, limit_threads, threads_for

# By the package or module that defines a learner. Their default is one thread or all cores, whatever else runs.
_PARAMETERS = {
    "lightgbm": "n_jobs",
    "xgboost": "n_jobs",
    "catboost": "thread_count",
    ExtraTreesClassifier.__module__: "n_jobs",  # that of all forests
    "metricwise.estimators.selection.booster": "n_jobs",
}
_ALIASES = ("num_threads", "num_thread", "nthread", "nthreads")  # other names that users may have set


def set_threads(estimator: Any, n_threads: int) -> Any:
    """Return an untrained copy of an estimator whose learners train on so many threads.

    LightGBM, XGBoost, CatBoost and forests are recognised, also inside pipelines and other estimators. A number of
    threads that the user has chosen stays.

    Parameters
    ----------
    estimator : estimator
        A learner, or a pipeline or another estimator that contains some.
    n_threads : int
        The number of threads.

    Examples
    --------
    >>> from sklearn.ensemble import ExtraTreesClassifier
    >>> from sklearn.pipeline import make_pipeline
    >>> set_threads(make_pipeline(ExtraTreesClassifier()), 2)[-1].n_jobs
    2
    >>> set_threads(ExtraTreesClassifier(n_jobs=4), 2).n_jobs
    4
    """
    copy, names = clone(estimator), _open_parameters(estimator)
    return copy.set_params(**dict.fromkeys(names, n_threads)) if names else copy


def shares_random_numbers(estimator: Any) -> bool:
    """Return whether copies of an estimator, trained at the same time in threads, draw from the same random numbers.

    Liblinear and libsvm have one generator per process: it is seeded by every training, and so is not theirs alone if
    several run at a time.

    Parameters
    ----------
    estimator : estimator
        A learner, or a pipeline or another estimator that contains some.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.svm import SVC, LinearSVC
    >>> shares_random_numbers(make_pipeline(LinearSVC())), shares_random_numbers(SVC())
    (True, False)
    """
    learners = [estimator, *(one for one in estimator.get_params(deep=True).values() if hasattr(one, "get_params"))]
    return any(
        isinstance(one, LinearSVC)
        or (isinstance(one, LogisticRegression) and one.solver == "liblinear")
        or (isinstance(one, SVC | NuSVC) and one.probability is True)
        for one in learners
    )


def fit_on_threads(
    task: Task,
    estimator: Any,
    X: Any,
    y: Labels,
    weights: Floats | None,
    groups: Integers | None = None,
) -> Any:
    """Train a candidate on one thread for few samples, and on all available ones otherwise.

    Parameters
    ----------
    task : Task
        Trains a copy of the estimator, or one per label.
    estimator : classifier
        The candidate.
    X : samples
        The samples.
    y : array
        Their labels.
    weights, groups : arrays, optional
        Weights and groups of the samples.
    """
    n_threads = threads_for(len(y))
    if n_threads is None:
        release_freed_memory()  # of what other learners, and the judging of their scores, have needed
    with limit_threads(n_threads):
        model = task.fit(set_threads(estimator, available_threads()), X, y, weights, groups=groups)
    if n_threads is None:
        release_freed_memory()
    return model


def restore_threads(models: Sequence[Any], estimator: Any) -> None:
    """Give trained models the threads of the estimator that they were made of, not those of this machine.

    CatBoost refuses to change those of a trained model, and predicts on all cores whatever they are.

    Parameters
    ----------
    models : sequence of classifier
        Trained by `fit_on_threads`.
    estimator : classifier
        The candidate that it was given.
    """
    values = {name: value for name, value in _open_parameters(estimator).items() if not name.endswith("thread_count")}
    for model in models if values else ():
        model.set_params(**values)


def _open_parameters(estimator: Any) -> dict[str, Any]:
    """Return the parameters for threads that the user has not set, with their values."""
    parameters = estimator.get_params(deep=True)
    inner = {f"{name}__": one for name, one in parameters.items() if hasattr(one, "get_params")}
    found = {}
    for prefix, learner in {"": estimator, **inner}.items():
        name = _thread_parameter(type(learner))
        if name is None or any(f"{prefix}{alias}" in parameters for alias in _ALIASES):
            continue
        declared = inspect.signature(type(learner)).parameters.get(name)
        if declared is None and f"{prefix}{name}" not in parameters:
            continue  # a subclass without the parameter
        value = parameters.get(f"{prefix}{name}")  # CatBoost lists only what is set
        if value == (None if declared is None else declared.default):
            found[f"{prefix}{name}"] = value
    return found


def _thread_parameter(kind: type) -> str | None:
    """Return the name of the parameter for threads; None for learners that have none."""
    modules = [base.__module__ for base in kind.__mro__]
    for module, name in _PARAMETERS.items():
        if any(one == module or one.startswith(f"{module}.") for one in modules):
            return name
    return None
