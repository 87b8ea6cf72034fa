"""What the certificate of a training is worth, in words."""

from __future__ import annotations

from metricwise.reporting.markup import number
from metricwise.results import Result, Status

_TINY = 1e-4  # relative gaps below it are shown as "less than"


def describe_optimality(result: Result, measure: str) -> str:
    """Describe how near a training is to the optimum of its objective, and what that says about the measure.

    Parameters
    ----------
    result : Result
        The result of a batch training.
    measure : str
        Name of the measure.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from metricwise import MultivariateSVC
    >>> X, y = make_classification(200, random_state=0)
    >>> describe_optimality(MultivariateSVC("f1", tol=1e-3).fit(X, y).result_, "F1")  # doctest: +ELLIPSIS
    'Certified: no weights have an objective more than 0.0... % below that of this model. That bounds the training ...'
    """
    bounds = result.certificate
    if result.fallback is not None:
        return (
            f"The surrogate of the {measure} is degenerate on these data. The scores are those of the "
            f"{name_objective(result, measure)}, and their threshold is chosen for the {measure}. The certificate is "
            f"that of this accuracy, and says nothing about the {measure}."
        )
    if not bounds.is_bounded:
        return f"Its objective fell to {bounds.upper:.6g}; it is not convex, and no bound of it is known."
    if result.status is Status.DEGENERATE:
        return (
            "The surrogate is degenerate on these data: weights of zero have as small an objective, so that the scores "
            f"carry little information. The certificate holds, but says nothing about the {measure}."
        )
    gap = f"{100.0 * bounds.relative:.2g}" if bounds.relative >= _TINY else f"{100.0 * _TINY:g}"
    return (
        f"Certified: no weights have an objective more than {gap} % below that of this model. That bounds the training "
        f"objective, not the {measure} of new samples."
    )


def name_objective(result: Result, measure: str) -> str:
    """Return the name of what a training minimised.

    Parameters
    ----------
    result : Result
        The result of a batch training.
    measure : str
        Name of the measure.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from metricwise import MultivariateSVC
    >>> X, y = make_classification(200, random_state=0)
    >>> name_objective(MultivariateSVC("f1").fit(X, y).result_, "f1")
    'surrogate of f1'
    """
    if result.fallback is not None:
        return f"accuracy with {result.fallback.positive_weight:.3g} times the weight for positives"
    return f"surrogate of {measure}" + (", degenerate" if result.is_degenerate else "")


def describe_worth(measure: str, samples: str, value: float, constant: float) -> str:
    """Compare the measure of a model with that of the best constant prediction, in a sentence.

    Parameters
    ----------
    measure : str
        Name of the measure.
    samples : str
        Description of the samples.
    value, constant : float
        The measure of the model, and that of the best constant prediction.

    Examples
    --------
    >>> describe_worth("F1", "the training samples", 0.0, 0.1818)
    'On the training samples its F1 is 0.000; the best constant prediction has 0.182.'
    """
    return f"On {samples} its {measure} is {number(value)}; the best constant prediction has {number(constant)}."
