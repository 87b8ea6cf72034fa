"""Validation of probabilities and samples; every message names the entry and what to do about it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from metricwise._typing import Floats
from metricwise.kernels.fmeasure import first_not_binary
from metricwise.measures.checks import check_positive

_ROUNDING = 1e-9  # by which sums and products of probabilities may exceed 1 or fall below 0
_CONSISTENT = 1e-5  # by which totals of probabilities in single precision may differ


def split_beta(beta: object) -> tuple[float, float]:
    """Return beta^2 / (1 + beta^2) and 1 / (1 + beta^2); ValueError unless beta is a positive number."""
    number = check_positive(beta, "beta")
    if number <= 1.0:
        square = number * number
        return square / (1.0 + square), 1.0 / (1.0 + square)
    inverse = (1.0 / number) ** 2  # the square of a huge beta would overflow
    return 1.0 / (1.0 + inverse), inverse / (1.0 + inverse)


def check_probabilities(values: ArrayLike, name: str, dimensions: tuple[int, ...], axes: tuple[str, ...]) -> Floats:
    """Return probabilities as a contiguous array of floats.

    ``dimensions`` are the permitted numbers of dimensions, ``axes`` the names of the last of them, for messages.
    """
    array = np.asarray(values)
    if array.dtype.kind not in "biuf":
        raise ValueError(f"{name} must be an array of real numbers, got dtype {array.dtype}.")
    if array.ndim not in dimensions:
        expected = " or ".join(f"({', '.join(axes[len(axes) - d :])})" if d else "a number" for d in dimensions)
        raise ValueError(f"{name} must be of shape {expected}, got an array of shape {array.shape}.")
    if axes[-1] != "instances" and array.shape[-1] == 0:
        raise ValueError(f"{name} has no {axes[-1]}; got an array of shape {array.shape}.")
    floats = np.ascontiguousarray(array, dtype=np.float64).reshape(array.shape)
    # Comparisons with NaN are false, so that this catches it as well.
    good = (floats >= -_ROUNDING) & (floats <= 1.0 + _ROUNDING)
    if not good.all():
        at = np.unravel_index(int(np.argmin(good)), floats.shape)
        raise ValueError(
            f"{name} must hold probabilities from 0 to 1, but {describe_entry(name, at, axes)} is {floats[at]}; "
            "turn scores into probabilities first, and remove or repair missing values."
        )
    return np.clip(floats, 0.0, 1.0)


def describe_entry(name: str, at: tuple[Any, ...], axes: tuple[str, ...]) -> str:
    """Return the description of one entry of an array: ``p[3, 7] (instance 3, label 7)``."""
    if not at:
        return name
    words = [word.removesuffix("s") for word in axes[len(axes) - len(at) :]]
    index = [int(i) for i in at]
    where = ", ".join(f"{word} {i + (word == 'size')}" for word, i in zip(words, index, strict=True))
    return f"{name}[{', '.join(map(str, index))}] ({where})"


def check_joint(joint: ArrayLike, p_zero: ArrayLike, consistent: bool) -> tuple[Floats, Floats, bool]:
    """Return P for a batch, p_zero for a batch, and whether it was one instance; ValueError where they do not fit."""
    axes = ("instances", "labels", "sizes")
    mass = check_probabilities(joint, "P", (2, 3), axes)
    if mass.shape[-1] != mass.shape[-2]:
        raise ValueError(
            f"P must have as many columns (sizes 1 to m) as rows (labels), got an array of shape {mass.shape}; "
            "sizes that cannot occur are columns of zeros."
        )
    single = mass.ndim == 2
    zero = check_probabilities(p_zero, "p_zero", (0,) if single else (1,), ("instances",))
    mass, zero = (mass[None], zero.reshape(1)) if single else (mass, zero)
    if len(mass) != len(zero):
        raise ValueError(f"P has {len(mass)} instances but p_zero has {len(zero)}; pass one value per instance.")
    if consistent:
        _check_joint(mass, zero, single)
    return mass, zero, single


def _check_joint(mass: Floats, zero: Floats, single: bool) -> None:
    """Raise ValueError unless P and p_zero can belong to a distribution of label sets."""
    m = mass.shape[-1]
    of_size = mass.sum(axis=1) / np.arange(1, m + 1)
    totals = of_size.sum(axis=1) + zero
    hint = "pass consistent=False if the entries of P were estimated one by one"
    wrong = np.abs(totals - 1.0) > _CONSISTENT
    if wrong.any():
        bad = int(np.argmax(wrong))
        where = "" if single else f" of instance {bad}"
        raise ValueError(
            f"P and p_zero{where} do not belong to one distribution: p_zero + sum of P[i, s - 1] / s is {totals[bad]}, "
            "but the probabilities of all numbers of labels add up to 1. P[i, s - 1] is the joint probability of "
            f"label i and of s labels in all, not a conditional one; {hint}."
        )
    above = mass > of_size[:, None, :] + _CONSISTENT
    if above.any():
        at = tuple(int(i) for i in np.unravel_index(int(np.argmax(above)), above.shape))
        value, size = mass[at], of_size[at[0], at[2]]
        name = describe_entry("P", at[1:] if single else at, ("instances", "labels", "sizes"))
        raise ValueError(
            f"{name} is {value}, more than the probability {size} of that many labels, which is the sum of the column "
            f"divided by the size; {hint}."
        )


def check_samples(samples: ArrayLike) -> tuple[NDArray[np.int8], bool]:
    """Return samples of label sets as instances x samples x labels, and whether it was one instance."""
    axes = ("instances", "samples", "labels")
    array = np.asarray(samples)
    if array.dtype.kind not in "biuf":
        raise ValueError(f"samples must be an array of 0 and 1, got dtype {array.dtype}.")
    if array.ndim not in (2, 3):
        raise ValueError(
            f"samples must be of shape (samples, labels) or (instances, samples, labels), got an array of shape "
            f"{array.shape}."
        )
    if 0 in array.shape[-2:]:
        raise ValueError(f"samples must hold at least one sample of at least one label, got shape {array.shape}.")
    bad = first_not_binary(np.ascontiguousarray(array).ravel())
    if bad >= 0:
        at = np.unravel_index(bad, array.shape)
        raise ValueError(
            f"samples must hold 0 and 1, but {describe_entry('samples', at, axes)} is {array[at]}; "
            "draw label sets, not probabilities."
        )
    binary = np.ascontiguousarray(array).astype(np.int8, copy=False)
    return (binary[None], True) if array.ndim == 2 else (binary, False)
