"""Validate class labels and weights of users for solvers, and decide which class is positive."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets

from metricwise._sklearn import check_sample_weight, check_weight_range
from metricwise._typing import Floats
from metricwise.decisions.groups import find_missing
from metricwise.measures import Measure, is_symmetric
from metricwise.measures.checks import as_real

# What ``pos_label`` may be: one label, of any type that labels have; scikit-learn's validation of parameters reads it.
POSITIVE_CLASS: list[Any] = [str, bytes, Real, np.generic, None]


def classes_of(y: NDArray[Any], weights: Floats) -> NDArray[Any]:
    """Return the sorted labels that have weight; raise unless there are two or more."""
    _refuse_missing_labels(y)
    check_classification_targets(y)
    classes = distinct_labels(y[weights > 0.0])
    if classes.size < 2:
        nothing = "no sample with a weight above zero" if y.size else "no samples"
        found = f"only one class, {classes.tolist()[0]!r}" if classes.size else nothing
        raise ValueError(f"y has {found}: training needs samples of at least two classes")
    return classes


def distinct_labels(labels: NDArray[Any]) -> NDArray[Any]:
    """Return the sorted labels; ValueError if a text ends in NUL characters, which comparisons of NumPy ignore.

    Examples
    --------
    >>> distinct_labels(np.array(["b", "a", "b"]))
    array(['a', 'b'], dtype='<U1')
    """
    found: NDArray[Any] = np.unique(labels)
    padded = [label for label in found.tolist() if isinstance(label, str) and label.endswith("\0")]
    if padded:
        raise ValueError(
            f"the label {padded[0]!r} of y ends in a NUL character, so that NumPy cannot distinguish it from the same "
            "text without: remove these characters, or encode y with sklearn.preprocessing.LabelEncoder"
        )
    return found


def _refuse_missing_labels(y: NDArray[Any]) -> None:
    if y.ndim == 1 and y.dtype == object and (missing := find_missing(y)).size:
        raise ValueError(
            f"y is missing for {missing.size} of {y.size} samples, the first at position {missing[0]}: label these "
            "samples, or leave them out"
        )


def refuse_unknown_labels(y: NDArray[Any], classes: NDArray[Any]) -> None:
    """Raise a ValueError if no label is one of the classes, as if they were read as texts instead of numbers.

    Examples
    --------
    >>> refuse_unknown_labels(np.array(["0", "1"]), np.array([0, 1]))
    Traceback (most recent call last):
        ...
    ValueError: y has the labels ['0', '1'], and the model knows [0, 1]: convert y to the labels of training
    """
    labels = list(dict.fromkeys(y.ravel().tolist()))
    if labels and not set(labels) & set(classes.tolist()):
        raise ValueError(
            f"y has the labels {labels[:10]}, and the model knows {classes.tolist()[:10]}: convert y to the labels of "
            "training"
        )


def two_classes(y: NDArray[Any], weights: Floats | None, who: str) -> NDArray[Any]:
    """Return the two labels that have weight; raise an error that names alternatives if there are more."""
    several = f"{y.shape[1]} columns" if y.ndim == 2 and y.shape[1] > 1 else ""
    if not several:
        labels = y.ravel()
        classes = classes_of(labels, np.ones(labels.size) if weights is None else weights)
        if classes.size == 2:
            return classes
        several = f"{classes.size} classes"
    raise ValueError(
        f"Only binary classification is supported. y has {several}: use OneVsRestClassifier({who}(...)), or "
        "PlugInClassifier, which takes several classes and labels"
    )


def sample_weights_of(X: Any, y: NDArray[Any], sample_weight: Any, class_weight: Any) -> Floats:
    """Return the weight of every sample, not negative, from sample and class weights."""
    weights = check_sample_weight(sample_weight, X)
    if isinstance(class_weight, Mapping):
        class_weight = {label: _as_weight(one, label) for label, one in class_weight.items()}
    if class_weight is not None:
        weights = weights * compute_sample_weight(class_weight, y)
        check_weight_range(weights)
    return np.asarray(weights, dtype=np.float64)


def _as_weight(value: Any, label: Any) -> float:
    """Return the weight of a class; True is 1, as it is for scikit-learn."""
    return as_real(int(value) if isinstance(value, bool | np.bool_) else value, f"class_weight of {label!r}")


def positives_of_problems(classes: NDArray[Any], pos_label: Any, multi_class: str | None) -> list[Any]:
    """Return the label of the positives of every binary problem: one of two classes, or each class vs the rest."""
    if classes.size == 2:
        return [positive_class(classes, pos_label)]
    if multi_class != "ovr":
        raise ValueError(
            f"Only binary classification is supported with multi_class={multi_class!r}, but y has {classes.size} "
            "classes: set multi_class='ovr' to train one classifier per class"
        )
    return list(classes)


def positive_class(classes: NDArray[Any], pos_label: Any) -> Any:
    """Return the positive class of two: ``pos_label``, or the last in order if that is None."""
    if pos_label is None:
        return classes[1]
    if pos_label not in classes:
        raise ValueError(f"pos_label={pos_label!r} is not a label of y, whose labels are {classes.tolist()}")
    return pos_label


def choose_positive_class(
    classes: NDArray[Any],
    pos_label: Any,
    measure: Measure,
    counts: Sequence[int],
    *,
    is_constrained: bool = False,
    where: str = "y",
) -> Any:
    """Return the positive class of two; ValueError if the measure depends on it and it can only be guessed.

    Parameters
    ----------
    classes : array of two labels
        The classes, sorted.
    pos_label : label or None
        The class that the user names. If None, it is the last: the one of 0 and 1, -1 and 1, or booleans.
    measure : Measure
        What predictions are judged by; a symmetric measure needs no positive class.
    counts : sequence of two numbers
        Samples of both classes, for the message.
    is_constrained : bool
        Whether there are constraints beside the measure; those on precision, recall and the like need the class.
    where : str
        Where the labels are, for the message.

    Examples
    --------
    >>> from metricwise.measures import Accuracy, FBeta
    >>> classes = np.array(["fraud", "legit"])
    >>> choose_positive_class(classes, None, FBeta(), counts=[1, 3])
    Traceback (most recent call last):
        ...
    ValueError: f1 depends on which class is positive, and y does not show it: its classes are 'fraud' (1 sample, the \
rarer) and 'legit' (3 samples). Name the positive class, usually the rarer: pos_label='fraud'
    >>> print(choose_positive_class(classes, "fraud", FBeta(), counts=[1, 3]))
    fraud
    >>> print(choose_positive_class(classes, None, Accuracy(), counts=[1, 3]))
    legit
    """
    depends_on_it = is_constrained or not is_symmetric(measure)
    if pos_label is None and depends_on_it and not names_positive_class(classes):
        what = "a constraint" if is_symmetric(measure) else measure.name
        raise ValueError(_explain_missing_pos_label(what, classes.tolist(), list(counts), where))
    return positive_class(classes, pos_label)


def count_classes(y: NDArray[Any], classes: NDArray[Any]) -> list[int]:
    """Return how many samples each class has."""
    return [int(np.count_nonzero(y == label)) for label in classes]


def names_positive_class(classes: NDArray[Any]) -> bool:
    """Whether two labels show by themselves which is positive: 0 and 1, -1 and 1, or booleans, also as text.

    Examples
    --------
    >>> names_positive_class(np.array([-1, 1])), names_positive_class(np.array(["False", "True"]))
    (True, True)
    >>> names_positive_class(np.array(["no", "yes"]))
    False
    """
    labels = {label.lower() if isinstance(label, str) else label for label in classes.tolist()}
    return labels in ({0, 1}, {-1, 1}, {"false", "true"})


def share_positive_class(estimator: Any, classes: NDArray[Any], positive: Any, measure: Measure) -> Any:
    """Return a classifier that is trained for a positive class: a copy if a parameter ``pos_label`` of it is None.

    The class is not passed on where nobody has named it: labels that show it themselves, or a symmetric measure.
    """
    is_default = positive == classes[1] and (names_positive_class(classes) or is_symmetric(measure))
    parameters = {} if is_default else estimator.get_params()
    unnamed = [name for name, value in parameters.items() if name.split("__")[-1] == "pos_label" and value is None]
    return clone(estimator).set_params(**dict.fromkeys(unnamed, positive)) if unnamed else estimator


def describe_positive_class(
    label: Any, share: float, measure: Measure | None = None, *, is_estimated: bool = False
) -> str:
    """Return in a sentence which class is positive, how frequent it is, and whether the measure depends on it.

    The share ``is_estimated`` for streams, of which some samples are not counted.

    Examples
    --------
    >>> from metricwise.measures import Accuracy
    >>> describe_positive_class("fraud", 0.0123)
    "The positive class is 'fraud' (1.23 % of the samples)."
    >>> describe_positive_class(1, 0.5, Accuracy())
    'The positive class is 1 (50 % of the samples); accuracy does not depend on it.'
    """
    is_free = measure is not None and is_symmetric(measure)
    independent = f"; {measure.name} does not depend on it" if measure is not None and is_free else ""
    shown = f"about {100.0 * share:.2g}" if is_estimated else f"{100.0 * share:.3g}"
    return f"The positive class is {np.asarray(label).item()!r} ({shown} % of the samples){independent}."


def refuse_pos_label(pos_label: Any, several: str) -> None:
    """Raise a ValueError if a positive class is named although there are several classes or labels."""
    if pos_label is not None:
        raise ValueError(
            f"pos_label={pos_label!r} is for two classes, but y has {several}: leave pos_label out, or train for one "
            "of them vs the rest"
        )


def _explain_missing_pos_label(what: str, classes: list[Any], counts: list[int], where: str) -> str:
    """Return an error that lists the classes with their counts, says which is rarer, and what to write."""
    samples = [f"{count:,} sample{'' if count == 1 else 's'}" for count in counts]
    remedy = f"Name the positive class: pos_label={classes[0]!r} or pos_label={classes[1]!r}"
    if counts[0] != counts[1]:
        rarer = int(counts[1] < counts[0])
        samples[rarer] += ", the rarer"
        remedy = f"Name the positive class, usually the rarer: pos_label={classes[rarer]!r}"
    return (
        f"{what} depends on which class is positive, and {where} does not show it: its classes are "
        f"{classes[0]!r} ({samples[0]}) and {classes[1]!r} ({samples[1]}). {remedy}"
    )
