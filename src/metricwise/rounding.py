"""Bounds of rounding errors: what floating-point sums may differ by from exact ones (Higham 2002, Chapter 3).

A sum or inner product of k terms, in any order, differs from the exact one by at most

    gamma(k) * sum of the absolute terms,    gamma(k) = k u / (1 - k u),    u = 2^-53.

A certificate is widened by such bounds, so that it holds in exact arithmetic: where terms are much larger than their
sum, it is wide, and never wrong.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from metricwise._typing import Floats, Mask

_UNIT = 2.0**-53
LONG_ROUNDING = float(np.finfo(np.longdouble).eps / np.finfo(np.float64).eps)  # of the rounding of doubles
STEPS = 64  # operations on a value other than those of a sum
_SEARCH = 4e-12  # of the slack's terms: by how much a search for the largest value may miss it, which ends at ties
_LARGEST_EXPONENT = 350.0  # the exponential of twice as much is still finite


def gamma(n_terms: float) -> float:
    """Return the bound of the relative error of a sum of ``n_terms`` terms; infinity if there is none."""
    share = n_terms * _UNIT
    return share / (1.0 - share) if share < 1.0 else np.inf


def replace_nan_bounds(upper: float, lower: float, loss_bound: float) -> tuple[float, float, float]:
    """Return the bounds of an objective that is not negative, in the order of a certificate, without NaN.

    Differences of infinite terms are NaN, and prove nothing. Neither do bounds that exceed each other, so that zero is
    then the only lower bound that is left.
    """
    upper, loss_bound = (np.inf if np.isnan(value) else float(value) for value in (upper, loss_bound))
    return upper, float(lower) if 0.0 < lower <= upper else 0.0, loss_bound


def sum_error(weights: Floats) -> float:
    """Return by how much partial sums of weights may differ from the exact ones; whole numbers add up exactly."""
    total = float(weights.sum())
    is_exact = total < 1.0 / _UNIT and bool(np.all(weights == np.floor(weights)))
    return 0.0 if is_exact else gamma(2 * weights.size + STEPS) * total


class RoundingErrors(NamedTuple):
    """By how much scores X w, the square of w and that of g = X' c may differ from the exact ones."""

    scores: Floats
    square: float
    combination: float


def linear_errors(w: Floats, g: Floats, sizes: tuple[Floats, Floats], n_terms: float) -> RoundingErrors:
    """Return the errors of products with a matrix X.

    Parameters
    ----------
    w, g : arrays
        Weights, and a combination of samples.
    sizes : tuple of arrays
        Abs(X) abs(w), and abs(X)' m, where m bounds the absolute coefficients of g.
    n_terms : float
        Every coefficient of g is a sum of ``n_terms`` terms, the absolute values of which sum to m at most.
    """
    of_samples, of_columns = sizes
    relative = gamma(w.size + STEPS)
    combination = combination_error(g, of_columns, of_samples.size + n_terms)
    return RoundingErrors(relative * of_samples, relative * float(w @ w), combination)


def combination_error(g: Floats, of_columns: Floats, n_terms: float) -> float:
    """Return the error of the square of g: its entries have ``n_terms`` terms, of absolute sum ``of_columns``."""
    errors = gamma(n_terms + STEPS) * of_columns
    return float(2.0 * np.abs(g) @ errors + errors @ errors + gamma(g.size + STEPS) * (g @ g))


@dataclass(frozen=True)
class ValueErrors:
    """Errors of kernel values: that of samples i and j is at most the sum of left_i right_j over pairs of vectors."""

    factors: tuple[tuple[Floats, Floats], ...]

    def of_function(self, coefficients: Floats) -> Floats:
        """Return the error of a function's value at every sample, given its absolute coefficients."""
        total = np.zeros(coefficients.size)
        for left, right in self.factors:
            total += left * float(right @ coefficients)
        return total


def kernel_errors(kernel: Any, settings: Mapping[str, float], squares: Floats, n_features: int) -> ValueErrors:
    """Return the errors of the values of a kernel; those of a function that was given, or of a matrix, are exact.

    ``squares`` are the squared norms of the samples that distances or inner products are computed of. Inner products
    are at most the products of norms, and (a b + c)^2 is at most (a^2 + c)(b^2 + c).
    """
    if kernel not in ("rbf", "poly", "sigmoid"):
        return ValueErrors(())
    relative, ones = gamma(n_features + STEPS), np.ones(squares.size)
    if kernel == "rbf":
        grown = np.expm1(np.minimum(4.0 * abs(settings["gamma"]) * relative * squares, _LARGEST_EXPONENT))
        return ValueErrors(((grown + gamma(STEPS), ones), (1.0 + grown, grown)))
    bases = abs(settings["gamma"]) * squares + abs(settings["coef0"])
    if kernel == "sigmoid":
        # A hyperbolic tangent rises no faster than its argument, and is no larger.
        return ValueErrors((((relative + gamma(STEPS)) * np.sqrt(bases), np.sqrt(bases)),))
    degree = float(settings["degree"])
    # A power below one has no bounded slope, but differences of powers are at most the power of the difference.
    share = relative**degree if degree < 1.0 else gamma(degree * (n_features + STEPS)) + gamma(STEPS)
    sizes = bases ** (0.5 * degree)
    return ValueErrors(((share * sizes, sizes),))


def largest_coefficients(
    positive: Mask, weights: Floats, u: float, roc_region: tuple[float, float, float] | None
) -> Floats:
    """Return the largest absolute coefficient of every sample in any labelling.

    A labelling changes the label of a sample, whose coefficient then is its weight over u. In a ranking, a positive is
    placed below all top negatives at most, and a top negative above all positives that count. ``roc_region`` is made of
    the least and the largest false positive rate that count, and of the least true positive rate.
    """
    if roc_region is None:
        return weights / u
    low, high, least = roc_region
    n_pos, n_neg = float(weights[positive].sum()), float(weights[~positive].sum())
    of_positives = high / (n_pos * (1.0 - least) * (high - low))
    scales: Floats = np.where(positive, of_positives, 1.0 / (n_neg * (high - low)))
    return weights * scales


class SlackTerms(NamedTuple):
    """Sizes of the terms of a slack.

    Parameters
    ----------
    loss : float
        Sum of the absolute terms of the largest loss.
    scores : float
        Sum of the absolute products of coefficients and scores.
    moved : float
        By how much errors of the scores may change the sum of these products.
    n_samples : int
        Number of samples, or of copies of samples where each has a term of its own.
    search : float, optional
        By how much the largest value may be missed by a search that compares rounded sums.
    """

    loss: float
    scores: float
    moved: float
    n_samples: int
    search: float = 0.0


def slack_error(terms: SlackTerms, *, ranks: bool) -> float:
    """Return by how much a slack may differ from the exact one at the exact scores; that of a ranking adds up pairs."""
    # A search that climbs along sorted samples stops where rounding hides a rise. The slack is concave there, so that
    # every later sample adds no more than the hidden rise: one rounding error per sample.
    own = gamma(8 * terms.n_samples + STEPS) + (0.0 if ranks else _SEARCH)
    return terms.moved * (1.0 + gamma(terms.n_samples)) + own * (terms.loss + terms.scores) + terms.search


def placing_error(n_pos: int, n_neg: int, largest_score: float) -> float:
    """Return by how much a ranking found negative by negative may be less violated than the most violated one.

    The violation of a negative j is a sum over positives of f(i, i + j - 1) - f(i, i + j) - (s_i - t_j) / (n+ n-). If
    its place is found by sums with an error e, it is less violated there by 2 e at most. Negatives that are then looked
    for on one side of it only may lose as much: gains are convex in the rank, so that it pays the less to move a
    negative up, the later the negative is. In every round, ranges of negatives are halved by one that is placed, with
    no more of them after it than before it, where e is no smaller. Hence a round costs at most twice the sum of 2 e
    over all negatives. The error e has three parts: of the differences of gains, which fall with j and add up to one
    over all negatives; of the scores; and of the gains themselves, if their differences are rounded relative to them,
    which add up to one at most for every negative.

    Parameters
    ----------
    n_pos, n_neg : int
        Copies of positives and of negatives.
    largest_score : float
        Largest absolute score.
    """
    errors = gamma(n_pos + STEPS) * (1.0 + 2.0 * largest_score) + gamma(STEPS) * 2.0 * n_neg
    return 4.0 * (n_neg.bit_length() + 1) * errors * (1.0 + gamma(STEPS))


def widen_restricted(
    terms: SlackTerms, coefficients: Floats, scores: Floats, weight_errors: tuple[float, float]
) -> SlackTerms:
    """Return the terms of a slack over labellings of a certain size, which rounded sums of weights miss or exceed.

    A unit of weight changes such a slack by no more than 1/u for the loss and the largest score over u.
    """
    if not any(weight_errors):
        return terms
    return terms._replace(loss=terms.loss + float(coefficients.sum()) * (1.0 + float(np.abs(scores).max())))


def slack_dual(cost: float, loss: float, square: float, terms: tuple[float, int, int]) -> float:
    """Return a lower bound of 1/2 |w|^2 + cost * slack over all weights w, from a combination of labellings.

    Parameters
    ----------
    cost : float
        Cost of the slack.
    loss : float
        The combined loss.
    square : float
        Bound of the square of ``cost`` times the combination of samples, rounding errors included.
    terms : tuple of float, int and int
        Sum of the absolute terms of the largest loss, number of samples, and number of labellings.
    """
    loss_size, n_samples, n_labellings = terms
    # Coefficients that rounding leaves a little too large belong to no labelling; they count as a larger loss.
    rounding = gamma(8 * (n_samples + n_labellings) + STEPS) * (loss_size + abs(loss))
    return cost * (loss - rounding) - 0.5 * square * (1.0 + gamma(STEPS))


def squared_pairs_sizes(positive: Mask, weights: Floats, scores: Floats) -> tuple[float, Floats]:
    """Return the sums of absolute terms of the mean squared loss of pairs, and of its derivative by every score.

    Sums over sorted scores take 1 - (s_i - s_j) apart into parts of i and of j, relative to some score between them.
    """
    shares = weights / np.where(positive, weights[positive].sum(), weights[~positive].sum())
    # No sum takes scores relative to one that is further away than these are from each other.
    sizes = 2.0 + np.abs(scores - scores[positive].min()) + np.abs(scores - scores[~positive].max())
    means = [float(shares[part] @ sizes[part]) for part in (positive, ~positive)]
    squares = [float(shares[part] @ sizes[part] ** 2) for part in (positive, ~positive)]
    slopes: Floats = 2.0 * shares * (sizes + np.where(positive, means[1], means[0]))
    return squares[0] + 2.0 * means[0] * means[1] + squares[1], slopes


def widen_squared_pairs(loss: float, positive: Mask, weights: Floats, score_errors: Floats, size: float) -> float:
    """Return an upper bound of the mean squared loss of pairs at the exact scores, given that at computed ones.

    Its root is a norm of the losses, which change by no more than their scores do.
    """
    parts = [(weights[part], score_errors[part]) for part in (positive, ~positive)]
    moved = sum(float(np.sqrt(own @ errors**2 / own.sum())) for own, errors in parts)
    return (float(np.sqrt(loss + gamma(8 * weights.size + STEPS) * size)) + moved) ** 2 * (1.0 + gamma(STEPS))


def squared_pairs_dual(
    cost: float, loss: float, slopes: Floats, scores: Floats, sizes: tuple[float, Floats], square: float
) -> float:
    """Return a lower bound of 1/2 |w|^2 + cost * mean squared loss of pairs over all weights w.

    The multipliers 2 max(0, 1 - (s_i - s_j)) of the pairs, at any scores s, have the dual value

        cost * (loss - slopes . s) - 1/2 |cost X' slopes|^2,

    the loss and its slopes being those at s. ``square`` bounds the last term's square, errors included.
    """
    loss_size, slope_sizes = sizes
    error = gamma(8 * scores.size + STEPS) * (loss_size + 2.0 * float(slope_sizes @ np.abs(scores)))
    return cost * (loss - float(slopes @ scores) - error) * (1.0 - gamma(STEPS)) - 0.5 * square * (1.0 + gamma(STEPS))


class Bounded(NamedTuple):
    """A number, and by how much it may differ from the exact one."""

    value: float
    error: float


def mean_reward(margins: Floats, errors: Floats, weights: Floats) -> Bounded:
    """Return the weighted mean of min(1, margin)."""
    rewards, total = np.minimum(margins, 1.0), float(weights.sum())
    rounding = gamma(2 * margins.size + STEPS) * float(weights @ np.abs(rewards)) / total
    moved = float(weights @ errors) / total * (1.0 + gamma(2 * margins.size + STEPS))
    return Bounded(float(weights @ rewards) / total, moved + rounding)


def affine(coefficients: Floats, rates: tuple[Bounded, Bounded]) -> Bounded:
    """Return c0 + c1 P + c2 N."""
    parts = coefficients * np.array([1.0, rates[0].value, rates[1].value])
    moved = float(np.abs(coefficients[1:]) @ [rate.error for rate in rates])
    return Bounded(float(parts.sum()), moved + gamma(STEPS) * (float(np.abs(parts).sum()) + moved))


def ratio_above(numerator: Bounded, denominator: Bounded) -> float:
    """Return a number that the exact ratio exceeds; minus infinity where the denominator may be zero or less."""
    if not denominator.value > denominator.error:
        return -np.inf
    least = numerator.value - numerator.error
    ratio = least / (denominator.value + np.copysign(denominator.error, least))
    return float(ratio - gamma(STEPS) * abs(ratio))


def loss_above(level: float) -> float:
    """Return a number that 1 - level does not exceed: the difference is rounded up."""
    return float(np.nextafter(1.0 - level, np.inf))
