"""The public parameters and fitted attributes of a model that certificates read, as plain values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from metricwise._typing import Floats, Indices, Labels
from metricwise.measures.ranking_capabilities import Ranks
from metricwise.registry import entries, entry_of, join_names
from metricwise.results import Objective, Result

# The parameters of each kernel, named as in scikit-learn's `pairwise_kernels`.
_KERNEL_PARAMETERS = {"rbf": ("gamma",), "poly": ("gamma", "degree", "coef0"), "sigmoid": ("gamma", "coef0")}


@dataclass(frozen=True)
class FittedKernel:
    """A kernel, its parameters, and the support vectors.

    Parameters
    ----------
    function : str or callable
        A kernel name of scikit-learn, "precomputed", or a function of two arrays of samples.
    parameters : mapping
        The parameters of the kernel.
    gamma : float or str
        The parameter ``gamma``, before it is resolved to a number.
    support : array of int
        The training samples with coefficients.
    support_vectors : array, sparse matrix or None
        The support vectors; None for a precomputed kernel.
    """

    function: str | Callable[[Any, Any], Any]
    parameters: Mapping[str, float]
    gamma: str | float
    support: Indices
    support_vectors: Any


@dataclass(frozen=True)
class FittedModel:
    """A fitted model's public parameters and attributes.

    Parameters
    ----------
    name : str
        The class of the model.
    C : float
        Cost of a mistake.
    measure : Measure
        The measure that it was trained for.
    class_weight, multi_class, pos_label
        Parameters of the estimator; None if it has no such parameter.
    constant : float
        Value of the constant feature, whose weight gives the intercept; 0 if there is none.
    n_features : int
        Number of features in training.
    classes : array
        Labels.
    coefficients : array of shape (n_problems, n_features) or (n_problems, n_support)
        ``coef_``, or ``dual_coef_`` with a kernel.
    intercepts : array of shape (n_problems,)
        Constant terms of the scores.
    results : tuple of Result
        One per binary problem.
    kernel : FittedKernel, optional
        None for linear models.
    ranks_queries : bool
        Whether it was trained on queries, and has no classes.
    """

    name: str
    C: float
    measure: Any
    class_weight: Any
    multi_class: str | None
    pos_label: Any
    constant: float
    n_features: int
    classes: Labels
    coefficients: Floats
    intercepts: Floats
    results: tuple[Result, ...]
    kernel: FittedKernel | None
    ranks_queries: bool = False

    @property
    def trains_jointly(self) -> bool:
        """Whether the weights of all classes were trained in one problem."""
        return self.multi_class == "joint" and self.classes.size > 2

    @property
    def needs_samples_in_memory(self) -> bool:
        """Whether the certificate selects single samples or columns."""
        return (
            self.kernel is not None
            or self.ranks_queries
            or any(result.problem.columns is not None for result in self.results)
        )


def read_model(model: Any) -> FittedModel:
    """Return the public parameters and attributes of a fitted model.

    They are read from the instance dictionary: no property or method of the class runs.
    """
    results = _read_results(model)
    values = vars(model)
    _check_objective(values, results)
    is_linear = values.get("kernel", "linear") == "linear"
    return FittedModel(
        name=type(model).__name__,
        C=float(values["C"]),  # parameters may be of other types, and half precision would round the bounds
        measure=values["measure_"],
        class_weight=values.get("class_weight"),
        multi_class=values.get("multi_class"),
        pos_label=values.get("pos_label"),
        constant=_derive_constant(values),
        n_features=int(values["n_features_in_"]),
        classes=values.get("classes_", np.empty(0)),
        coefficients=values["coef_" if is_linear else "dual_coef_"],
        intercepts=values["intercept_"],
        results=results,
        kernel=None if is_linear else _read_kernel(values),
        ranks_queries=_ranks_queries(model),
    )


def _ranks_queries(model: Any) -> bool:
    entry = entry_of(model)
    return entry is not None and entry.ranks_queries


def _read_results(model: Any) -> tuple[Result, ...]:
    """Return the results of a model, one per binary problem; raise if there are none, or if they have no bounds."""
    entry = entry_of(model)
    found = None if entry is None else vars(model).get("result_")
    results = tuple(found) if isinstance(found, list) else (found,)
    if any(isinstance(one, Result) and one.problem.objective is Objective.SPARSE_CODING for one in results):
        raise ValueError(
            "joint sparse coding is not convex, and has no bound to recompute: certify MultivariateSVC on its codes, "
            "model.transform(X)"
        )
    if entry is None or not entry.has_certificate:
        certified = join_names(one for one in entries() if one.has_certificate)
        raise ValueError(f"{type(model).__name__} has no bounds to recompute: certify takes a fitted {certified}")
    if found is None:
        raise ValueError("model is not fitted: call its fit method before certify")
    return results


def _check_objective(values: Mapping[str, Any], results: tuple[Result, ...]) -> None:
    """Raise unless the results bound the objective of the parameters."""
    if values.get("pairs", "exact") != "exact":
        raise ValueError("the certificate of clustered pairs is that of the clusters: train with pairs='exact'")
    norm = values.get("norm", 1)
    for objective in (result.problem.objective for result in results):
        if (objective is Objective.SQUARED_PAIRS) != (norm == 2):
            raise ValueError(
                f"norm={norm}, but the result bounds the objective {objective.value!r}: train the model again"
            )


def _derive_constant(values: Mapping[str, Any]) -> float:
    """Return the value of the constant feature; rankings do not depend on one, and have none."""
    if not values.get("fit_intercept", False) or isinstance(values["measure_"], Ranks):
        return 0.0
    return float(values["intercept_scaling"])


def _read_kernel(values: Mapping[str, Any]) -> FittedKernel:
    function = values["kernel"]
    known = {"gamma": float(values["gamma_"]), "degree": int(values["degree"]), "coef0": float(values["coef0"])}
    names = () if callable(function) else _KERNEL_PARAMETERS.get(function, ())
    parameters = {name: known[name] for name in names}
    return FittedKernel(function, parameters, values["gamma"], values["support_"], values["support_vectors_"])
