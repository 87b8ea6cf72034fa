"""Objectives of training in exact arithmetic, by their definitions: the proof of every bound of a certificate.

Parameters and samples are taken as the numbers that they are in double precision; exponentials have 120 digits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from fuzzing.exact_losses import average_squared_pairs, find_slack, has_exact_loss, sum_hinge
from metricwise.measures.ranking_capabilities import RanksPairs, find_roc_region
from metricwise.results import Objective

Floats = NDArray[np.float64]
_DIGITS = 130
_SHORTEST = 1 << 400
_LARGEST_EXPONENT = 5000  # beyond, an exponential is 0 to more digits than anything here has
# A cube of a product of 5 features is rounded fewer than 300 times, by 2^-53 each, and a sum of 11 samples a few times.
_ROUNDING = 1e-13  # of the sum of the absolute terms
_SEARCH = 5e-12  # of loss and scores: certificates allow a search over labellings to miss the largest value by 4e-12


def make_fractions(values: Any) -> list[Fraction]:
    """Return numbers as they are."""
    return [Fraction(float(value)) for value in values]


def _multiply(left: Sequence[Fraction], right: Sequence[Fraction]) -> Fraction:
    return sum((a * b for a, b in zip(left, right, strict=True)), Fraction(0))


# ----------------------------------------------------------------------------------------------------------- functions


class Functions(Protocol):
    """Functions of samples that are given by weights."""

    def compute(self, w: Floats) -> tuple[list[Fraction], Fraction]:
        """Return the values at all samples, and the square of the norm."""
        ...

    def measure_sizes(self, w: Floats) -> tuple[Floats, float]:
        """Return the sums of the absolute terms of both, in double precision."""
        ...


class LinearFunctions:
    """X w, with a constant last column if it is not zero."""

    def __init__(self, X: Floats, constant: float) -> None:
        self._X = np.column_stack([X, np.full(len(X), constant)]) if constant else X
        self._rows = [make_fractions(row) for row in self._X]

    def compute(self, w: Floats) -> tuple[list[Fraction], Fraction]:
        weights = make_fractions(w)
        return [_multiply(row, weights) for row in self._rows], _multiply(weights, weights)

    def measure_sizes(self, w: Floats) -> tuple[Floats, float]:
        return np.abs(self._X) @ np.abs(w), float(w @ w)


class KernelFunctions:
    """Sums of kernel values with all samples, and a constant; weights are the coefficients and the constant."""

    def __init__(self, X: Floats, constant: float, kernel: str, settings: dict[str, float], is_centred: bool) -> None:
        self._constant, self._kernel, self._settings = Fraction(constant), kernel, settings
        rows = [make_fractions(row) for row in X]
        self._matrix = [[self._evaluate(left, right) for right in rows] for left in rows]
        centred = X - X.mean(axis=0) if is_centred and kernel == "rbf" else X
        self._squares = (centred**2).sum(axis=1)

    def _evaluate(self, left: list[Fraction], right: list[Fraction]) -> Fraction:
        gamma = Fraction(self._settings["gamma"])
        if self._kernel == "rbf":
            difference = [a - b for a, b in zip(left, right, strict=True)]
            return compute_exponential(-gamma * _multiply(difference, difference))
        base = gamma * _multiply(left, right) + Fraction(self._settings["coef0"])
        if self._kernel == "poly":
            return base ** int(self._settings["degree"])
        grown = compute_exponential(-2 * abs(base))
        return _shorten((1 - grown) / (1 + grown)) * (1 if base > 0 else -1)

    def compute(self, w: Floats) -> tuple[list[Fraction], Fraction]:
        *coefficients, constant = make_fractions(w)
        values = [_multiply(row, coefficients) for row in self._matrix]
        of_constant = (constant / self._constant) ** 2 if self._constant else Fraction(0)
        return [value + constant for value in values], _multiply(coefficients, values) + of_constant

    def measure_sizes(self, w: Floats) -> tuple[Floats, float]:
        coefficients, constant = np.abs(w[:-1]), abs(float(w[-1]))
        scores = self._list_value_sizes() @ coefficients
        of_constant = (constant / float(self._constant)) ** 2 if self._constant else 0.0
        return scores + constant, 2.0 * float(coefficients @ scores) + of_constant

    def _list_value_sizes(self) -> Floats:
        """Return what the rounding errors of kernel values are relative to.

        Inner products are at most the products of norms. Distances are taken apart into squares.
        """
        gamma = abs(self._settings["gamma"])
        if self._kernel == "rbf":
            exponents = 4.0 * gamma * _ROUNDING * (self._squares[:, None] + self._squares[None, :])
            return np.asarray(1.0 + np.expm1(np.minimum(exponents, 700.0)) / _ROUNDING)
        bases = np.sqrt(gamma * self._squares + abs(self._settings["coef0"]))
        return np.asarray(np.outer(bases, bases) ** (self._settings["degree"] if self._kernel == "poly" else 1.0))


def compute_exponential(exponent: Fraction) -> Fraction:
    """Return the exponential of a number that is not positive, to 120 digits after the point."""
    if exponent < -_LARGEST_EXPONENT:
        return Fraction(0)
    with localcontext() as context:
        context.prec = _DIGITS
        return _shorten(Fraction((Decimal(exponent.numerator) / Decimal(exponent.denominator)).exp()))


def _shorten(value: Fraction) -> Fraction:
    """Return a number up to 2^-400; denominators other than powers of two would multiply in sums."""
    return Fraction(round(value * _SHORTEST), _SHORTEST)


# ---------------------------------------------------------------------------------------------------------- objectives


@dataclass(frozen=True)
class ExactObjective:
    """J(w) = 1/2 |w|^2 + C times the mistakes, pairs or squared pairs that training counts.

    Parameters
    ----------
    functions : Functions
        Scores and norms of weights.
    copies : array of int of shape (n_samples,)
        How often every sample counts.
    positive : array of bool of shape (n_samples,)
        Labels of the samples.
    measure : Measure
        The measure whose loss is bounded.
    C : float
        Cost of a mistake.
    positive_weight : float, optional
        Weight of a positive, where a weighted accuracy is trained for instead of the measure.
    is_squared : bool
        Whether pairs have squared losses.
    """

    functions: Functions
    copies: NDArray[np.int64]
    positive: NDArray[np.bool_]
    measure: Any
    C: float
    positive_weight: float | None = None
    is_squared: bool = False

    def compute(self, w: Floats) -> Fraction:
        """Return J(w)."""
        scores, square = self.functions.compute(w)
        pos, neg = self._repeat(scores, True), self._repeat(scores, False)
        return square / 2 + Fraction(self.C) * self._sum_losses(pos, neg)

    def _repeat(self, scores: list[Fraction], label: bool) -> list[Fraction]:
        chosen = zip(scores, self.copies, self.positive, strict=True)
        return [score for score, copies, own in chosen if own == label for _ in range(copies)]

    def _sum_losses(self, pos: list[Fraction], neg: list[Fraction]) -> Fraction:
        if self.positive_weight is not None:
            heavier, n_samples = Fraction(self.positive_weight), len(pos) + len(neg)
            scale = n_samples / (heavier * len(pos) + len(neg))
            return sum_hinge(pos, neg, ([scale * heavier] * len(pos), [scale] * len(neg)))
        if self.is_squared:
            return (len(pos) + len(neg)) * average_squared_pairs(pos, neg)
        mistakes = Fraction(float(self.measure.mistakes_per_loss(float(len(pos)), float(len(neg)))))
        return mistakes * find_slack(self.measure, mistakes, pos, neg)

    def bound_rounding(self, w: Floats) -> float:
        """Return by how much the rounding errors of a careful computation may make an upper bound exceed J(w)."""
        searches = not self.is_squared and not isinstance(self.measure, RanksPairs)
        scores = np.abs([float(score) for score in self.functions.compute(w)[0]])
        with np.errstate(all="ignore"):
            sizes, square = self.functions.measure_sizes(w)
            total = _ROUNDING * (square + self.C * self._sum_terms(scores, sizes))
            total += _SEARCH * self.C * self._sum_terms(scores, scores) if searches else 0.0
        return float(total) if np.isfinite(total) else np.inf

    def _sum_terms(self, scores: Floats, sizes: Floats) -> float:
        """Return the sum of the absolute terms of the losses, given absolute scores and the sizes of their terms."""
        n_samples, largest = int(self.copies.sum()), float(sizes.max())
        if self.is_squared:  # whose slope is a margin, and whose curvature is that of a square
            return 16.0 * n_samples * ((1.0 + float(scores.max())) * (1.0 + largest) + _ROUNDING * largest**2)
        region = find_roc_region(self.measure)
        if region is not None:
            return n_samples * (1.0 + 2.0 * largest) / region.largest_area
        n_pos = float(self.copies[self.positive].sum())
        mistakes = float(self.measure.mistakes_per_loss(n_pos, n_samples - n_pos))
        heaviest = n_samples if self.positive_weight is not None else 1.0  # of all weights with the sum n_samples
        return 2.0 * max(mistakes, float(n_samples)) + heaviest * float(self.copies @ sizes)


def make_objective(model: Any, X: Floats, y: Any, weights: Any, is_sparse: bool) -> ExactObjective | None:
    """Return the objective of a fitted binary model; None if it has no exact form here."""
    problem, measure = model.result_.problem, model.measure_
    if problem.objective not in (Objective.SLACK, Objective.SQUARED_PAIRS) or not has_exact_loss(measure):
        return None
    has_constant = getattr(model, "fit_intercept", False) and find_roc_region(measure) is None
    constant = float(model.intercept_scaling) if has_constant else 0.0
    kernel = getattr(model, "kernel", "linear")
    functions: Functions = LinearFunctions(X, constant)
    if kernel != "linear":
        settings = {"gamma": float(model.gamma_), "coef0": float(model.coef0), "degree": float(model.degree)}
        functions = KernelFunctions(X, constant, kernel, settings, is_centred=not is_sparse)
    copies = np.ones(len(y), dtype=np.int64) if weights is None else np.asarray(weights).astype(np.int64)
    is_squared = problem.objective is Objective.SQUARED_PAIRS
    positive = np.asarray(y == model.classes_[1])
    return ExactObjective(functions, copies, positive, measure, model.C, problem.positive_weight, is_squared)
