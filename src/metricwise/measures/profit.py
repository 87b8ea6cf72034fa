"""Profit: an amount for every outcome of a decision, the same for all samples or one per sample."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from numbers import Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from metricwise._state import stored_fields
from metricwise._typing import Floats, Mask
from metricwise.measures.checks import LARGEST_AMOUNT, LEAST_AMOUNT, check_labels, shorten, to_float
from metricwise.measures.expressions import parse_expression
from metricwise.measures.rate_capabilities import Ratio
from metricwise.measures.tables import EvaluatesTable, divide

OUTCOMES = ("tp", "fp", "fn", "tn")
Amount = float | str


class Amounts(NamedTuple):
    """What each sample earns as a true positive, false positive, false negative and true negative."""

    tp: Floats
    fp: Floats
    fn: Floats
    tn: Floats

    @property
    def gain_if_positive(self) -> Floats:
        """What predicting a positive sample positive earns more than predicting it negative."""
        return self.tp - self.fn

    @property
    def gain_if_negative(self) -> Floats:
        """What predicting a negative sample negative earns more than predicting it positive."""
        return self.tn - self.fp

    def stakes_of_open(self, truth: Mask) -> Floats:
        """Return what a wrong decision about each sample loses; 0 where one decision is right whatever the truth."""
        positive, negative = self.gain_if_positive, self.gain_if_negative
        found: Floats = np.where((positive > 0.0) & (negative > 0.0), np.where(truth, positive, negative), 0.0)
        return found

    def earned(self, truth: Mask, predicted: Any) -> Floats:
        """Return what each sample earns; ``predicted`` may be one decision for all."""
        found: Floats = np.where(truth, np.where(predicted, self.tp, self.fn), np.where(predicted, self.fp, self.tn))
        return found


@stored_fields(version=1)
@dataclass(frozen=True)
class Profit(EvaluatesTable):
    """The profit of decisions: what true and false positives and negatives earn, costs being negative.

    `score` is the total over the samples; greater is better. Amounts that are numbers make it a linear function of the
    contingency table, which every estimator that takes costs can be trained for. Amounts per sample, by columns of
    X or by arrays given to ``fit``, are for `PlugInClassifier`, `MetricClassifier` and `CostSensitiveClassifier`.

    Parameters
    ----------
    tp, fp, fn, tn : float or str, default=0.0
        What a true positive, a false positive, a false negative and a true negative earn: a number, the name of
        a column of X, or arithmetic over columns such as "0.1*amount - 5" (``+ - * /``, ``abs``, ``min``, ``max``; a
        name with spaces stands between backticks).

    Examples
    --------
    >>> from metricwise import Profit
    >>> Profit(tp=20.0, fp=-5.0).score([1, 1, 0, 0], [1, 0, 1, 0])
    15.0
    >>> Profit(tp="0.1*amount - 5", fp=-5, fn="-amount").columns
    ('amount',)
    """

    tp: Amount = 0.0
    fp: Amount = 0.0
    fn: Amount = 0.0
    tn: Amount = 0.0

    name: ClassVar[str] = "profit"

    def __post_init__(self) -> None:
        for outcome in OUTCOMES:
            object.__setattr__(self, outcome, _check_amount(getattr(self, outcome), outcome))

    @property
    def has_numbers_only(self) -> bool:
        """Whether all samples have the same amounts."""
        return not any(isinstance(amount, str) for amount in self._amounts)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns that the amounts are computed from."""
        texts = [amount for amount in self._amounts if isinstance(amount, str)]
        return tuple(dict.fromkeys(name for text in texts for name in parse_expression(text).columns))

    @property
    def _amounts(self) -> tuple[Amount, ...]:
        return self.tp, self.fp, self.fn, self.tn

    @property
    def _numbers(self) -> tuple[float, float, float, float]:
        """The amounts of all samples; TypeError if samples have their own."""
        tp, fp, fn, tn = self._amounts
        if isinstance(tp, str) or isinstance(fp, str) or isinstance(fn, str) or isinstance(tn, str):
            text = next(amount for amount in self._amounts if isinstance(amount, str))
            raise TypeError(
                f"the profit has an amount per sample, {text!r}, and is no function of the contingency table: use "
                "PlugInClassifier, MetricClassifier or CostSensitiveClassifier, or amounts that are numbers"
            )
        return tp, fp, fn, tn

    @property
    def unit(self) -> float:
        """What the costlier mistake loses: the scale of `value`."""
        tp, fp, fn, tn = self._numbers
        dearest = max(tp - fn, tn - fp)
        return dearest if dearest > 0.0 else 1.0

    def _value(self, tp: Floats, fp: Floats, fn: Floats, tn: Floats) -> Floats:
        earned = sum(amount * count for amount, count in zip(self._numbers, (tp, fp, fn, tn), strict=True))
        return 1.0 + divide(earned, self.unit * (tp + fp + fn + tn))

    def total_of_value(self, value: Any, n_samples: float) -> Any:
        """Return the profit of ``n_samples`` samples that have a value: 1 plus the profit per sample and unit."""
        # Rounded, since adding 1 has lost the last digits of the profit.
        return np.round(self.unit * n_samples * np.subtract(value, 1.0), 9)[()]

    def score(self, y: ArrayLike, response: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the profit of predicted labels ``response`` given the true labels ``y``.

        Both hold 0 and 1, -1 and 1, or booleans.

        Parameters
        ----------
        y : array of shape (n_samples,)
            True labels: 0 and 1, -1 and 1, or booleans.
        response : array of shape (n_samples,)
            Predicted labels, in the same form.
        sample_weight : array of shape (n_samples,), optional
            Weights of the samples; by default all are 1.

        Returns
        -------
        float
            The profit, summed over the samples.
        """
        truth, predicted, weights = check_labels(y, response, sample_weight)
        return float(weights @ Amounts(*map(np.asarray, self._numbers)).earned(truth, predicted))

    @property
    def mistake_costs(self) -> tuple[float, float]:
        """What missing a positive and a false alarm lose, in units of the costlier one."""
        tp, fp, fn, tn = self._numbers
        return (tp - fn) / self.unit, (tn - fp) / self.unit

    def ratio(self, theta: float) -> Ratio:
        """Return the coefficients of the value at theta = n-/n+."""
        tp, fp, fn, tn = (amount / self.unit for amount in self._numbers)
        total = 1.0 + theta
        return Ratio(total + fn + theta * fp, tp - fn, theta * (tn - fp), total, 0.0, 0.0)

    def mistakes_per_loss(self, n_pos: float, n_neg: float) -> float:
        """Return the number of missed positives that make up a loss of one.

        Raises
        ------
        ValueError
            If one decision is always right.
        """
        refuse_certain_decision(*self._numbers)
        return (n_pos + n_neg) / self.mistake_costs[0]


@stored_fields(version=1)
@dataclass(frozen=True)
class SampleProfit(Profit):
    """A profit with amounts per sample, scaled by the samples that a model was trained with.

    Parameters
    ----------
    tp, fp, fn, tn : float or str
        What a sample earns as a true positive, false positive, false negative and true negative: a number, or
        arithmetic over columns as text.
    given : tuple of str
        The amounts that were arrays in training.
    best : float
        What a sample earns on average if all decisions are right.
    stake : float
        What a wrong decision loses on average.

    Examples
    --------
    >>> from metricwise.measures import SampleProfit
    >>> profit = SampleProfit(tp=5.0, fp=-1.0, fn=-10.0, tn=0.0, given=("tp",), best=2.0, stake=4.0)
    >>> profit.value_of_mean(1.0), float(profit.total_of_value(0.75, n_samples=100))
    (0.75, 100.0)
    """

    given: tuple[str, ...] = ()
    best: float = 0.0
    stake: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not set(self.given) <= set(OUTCOMES) or not (self.stake > 0.0 and math.isfinite(self.best + self.stake)):
            raise ValueError("the scale of a profit is damaged")

    @classmethod
    def scale(cls, profit: Profit, amounts: Amounts, truth: Mask, weights: Floats, given: tuple[str, ...]) -> Any:
        """Return a profit with the scale of training samples.

        Parameters
        ----------
        profit : Profit
            The profit to scale.
        amounts : Amounts
            What each training sample earns, by outcome.
        truth : array of bool
            Which training samples are positive.
        weights : array
            Weights of the training samples.
        given : tuple of str
            The amounts that were given as arrays.

        Returns
        -------
        SampleProfit
            The profit with the scale of these samples.

        Raises
        ------
        ValueError
            If no decision matters for any of the samples.
        """
        earned = amounts.earned(truth, True), amounts.earned(truth, False)
        best, worst = (float(np.average(pick(*earned), weights=weights)) for pick in (np.maximum, np.minimum))
        if best <= worst:
            raise ValueError(
                "every sample earns the same whether it is predicted positive or negative: the amounts tp and fn, and "
                "fp and tn, must differ"
            )
        own = {one.name: getattr(profit, one.name) for one in fields(Profit)}
        return cls(**own, given=given, best=best, stake=best - worst)

    @property
    def has_numbers_only(self) -> bool:
        """Whether all samples have the same amounts: never."""
        return False

    @property
    def _numbers(self) -> tuple[float, float, float, float]:
        if not self.given:
            return super()._numbers
        raise TypeError(
            f"the profit has an amount per sample, given as the array {self.given[0]!r}, and is no function of the "
            "contingency table: use PlugInClassifier, MetricClassifier or CostSensitiveClassifier"
        )

    def value_of_mean(self, mean: Any) -> Any:
        """Return the value of a mean profit per sample: 1 if all decisions are right, 0 if all are wrong.

        Parameters
        ----------
        mean : float or array
            The mean profit per sample.

        Returns
        -------
        float or array
            Its value.
        """
        return 1.0 - (self.best - mean) / self.stake

    def total_of_value(self, value: Any, n_samples: float) -> Any:
        """Return the profit of ``n_samples`` samples that have a value."""
        return np.round(n_samples * (self.best - self.stake * np.subtract(1.0, value)), 9)[()]


def refuse_certain_decision(tp: float, fp: float, fn: float, tn: float) -> None:
    """Raise a ValueError if one decision is right for every sample, whatever its probability.

    Examples
    --------
    >>> refuse_certain_decision(tp=-1.0, fp=-5.0, fn=0.0, tn=0.0)
    Traceback (most recent call last):
        ...
    ValueError: one decision is always right, to predict negative: a true positive earns -1, a false negative 0, ...
    """
    if tp > fn and tn > fp:
        return
    right = "positive" if tp >= fn and fp > tn else "negative"
    always = f"one decision is always right, to predict {right}"
    if tp < fn and tn < fp:
        always = "wrong predictions earn more than right ones"
    raise ValueError(
        f"{always}: a true positive earns {tp:g}, a false negative {fn:g}, a true negative {tn:g} and a false positive "
        f"{fp:g}; tp must exceed fn, and tn must exceed fp (costs are negative amounts)"
    )


def _check_amount(amount: Any, outcome: str) -> Amount:
    """Return an amount as a number or as text that can be parsed."""
    if isinstance(amount, str):
        try:
            expression = parse_expression(amount)
        except ValueError as error:
            raise ValueError(f"{outcome} of the profit: {error}") from error
        return amount if expression.columns else _check_amount(_evaluate_constant(amount), outcome)
    if np.ndim(amount) > 0:
        raise TypeError(
            f"{outcome} of the profit is a number, the name of a column or an expression; give an array of one amount "
            f"per sample to fit, predict and score: fit(X, y, {outcome}=array)"
        )
    if isinstance(amount, bool | np.bool_) or not isinstance(amount, Real) or not math.isfinite(to_float(amount)):
        raise ValueError(f"{outcome} of the profit must be a finite number or an expression, got {shorten(amount)}")
    number = float(amount)
    if number != 0.0 and not LEAST_AMOUNT <= abs(number) <= LARGEST_AMOUNT:
        raise ValueError(
            f"{outcome} of the profit is {number:g}, and amounts are 0 or between {LEAST_AMOUNT:g} and "
            f"{LARGEST_AMOUNT:g} in size: state all of them in another unit"
        )
    return number


def _evaluate_constant(text: str) -> float:
    with np.errstate(all="ignore"):
        return float(parse_expression(text).evaluate({}))


def parse_profit(text: str) -> Profit:
    """Return the profit that a text such as ``tp=0.1*amount - 5, fp=-5, fn=-amount`` describes; others earn 0.

    Raises
    ------
    ValueError
        If a part names no outcome, or its amount is no number and no arithmetic over columns.

    Examples
    --------
    >>> parse_profit("tp=max(amount, 20)/2, fp=-5")
    Profit(tp='max(amount, 20)/2', fp=-5.0, fn=0.0, tn=0.0)
    """
    amounts: dict[str, str] = {}
    for part in _split_outside(text):
        outcome, sign, amount = part.partition("=")
        name = outcome.strip().lower()
        if not sign or name not in OUTCOMES or name in amounts:
            why = "is there twice" if name in amounts else f"names none of the outcomes {', '.join(OUTCOMES)}"
            raise ValueError(
                f"{part.strip()!r} of the profit {text!r} {why}: write 'tp=0.1*amount - 5, fp=-5, fn=-amount, tn=0'"
            )
        amounts[name] = amount.strip()
    return Profit(**amounts)


def _split_outside(text: str) -> list[str]:
    """Split a text at commas that are neither in parentheses nor between backticks."""
    parts, depth, is_quoted = [""], 0, False
    for sign in text:
        is_quoted ^= sign == "`"
        if not is_quoted:
            depth += (sign == "(") - (sign == ")")
        if sign == "," and depth == 0 and not is_quoted:
            parts.append("")
        else:
            parts[-1] += sign
    return parts
