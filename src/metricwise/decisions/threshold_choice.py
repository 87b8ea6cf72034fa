"""Strategies that estimate a threshold from out-of-fold scores.

The measure as a function of the threshold, computed on out-of-fold scores, is a noisy curve, and the location of its
maximum is noisier still. All strategies consider every threshold that separates samples:

- "max" takes the maximum of the curve.
- "bagged" takes the maximum on each of many resamples (a Bayesian bootstrap) and averages them, as shares of samples
  predicted positive: such an average does not depend on the scale of the scores.
- "expected" trusts the probabilities: it maximises the measure of the expected contingency table.
- "auto" is "bagged", shrunk towards as many predicted positives as there are positives, with the weight of ten minority
  samples, so that the curve counts more as data grow (for measures whose two kinds of mistakes cost about the same);
  and shrunk a little towards "expected". The latter average is one of log-probabilities: a threshold very near 1, as
  overconfident models have it, is shrunk strongly, any other slightly.
- "batch" also uses the samples to be predicted (`BatchRule`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

import numpy as np
from scipy.special import expit, gammaincinv, logit

from metricwise._typing import Floats, Mask
from metricwise.inference.threshold import BLOCK, Candidates
from metricwise.measures.base import CountsTable

Strategy = Literal["auto", "max", "bagged", "expected"]

# Weight of the expected threshold in "auto". Chosen on some 150 problems: without it, models that separate their
# training samples go wrong; with 0.3 and more, so do those whose probabilities are far from calibrated.
_TRUST = 0.1
# Minority samples that the rule "as many predicted positives as positives" is worth.
_PRIOR_SAMPLES = 10.0
_ALIKE = 3.0  # largest ratio of the costs of two mistakes that count as about the same
_MOST_RESAMPLES, _FEWEST_RESAMPLES = 100, 25
_RESAMPLED_VALUES = 4_000_000  # samples times resamples, above which there are fewer resamples
_TAIL = 0.05


class ThresholdChoice(NamedTuple):
    """A threshold, and the interval of 90 % of the thresholds from resamples."""

    threshold: float
    interval: tuple[float, float]


def choose_threshold(
    strategy: Strategy,
    measure: CountsTable,
    positive: Mask,
    log_odds: Floats,
    weights: Floats | None = None,
    seed: int = 0,
) -> ThresholdChoice:
    """Choose a threshold on out-of-fold log-odds.

    Parameters
    ----------
    strategy : {"auto", "max", "bagged", "expected"}
        The maximum of the curve ("max"), its average over resamples ("bagged"), the maximum of the measure that the
        probabilities expect ("expected"), or a mixture of the last two ("auto").
    measure : CountsTable
        A function of the contingency table.
    positive : array of bool
        The truth.
    log_odds : array
        Log-odds of each sample. "max" and "bagged" use their order only.
    weights : array, optional
        Weights of the samples; a sample of weight 2 counts as two such samples.
    seed : int
        Seeds the resamples.

    Examples
    --------
    >>> import numpy as np
    >>> from metricwise.measures import FBeta
    >>> random = np.random.default_rng(0)
    >>> log_odds = random.normal(-2.0, 2.0, 500)
    >>> positive = random.random(500) < 1.0 / (1.0 + np.exp(-log_odds))
    >>> for strategy in ("max", "bagged", "expected", "auto"):
    ...     print(strategy, round(choose_threshold(strategy, FBeta(), positive, log_odds).threshold, 2))
    max -0.75
    bagged -0.72
    expected -0.76
    auto -0.71
    """
    candidates = Candidates.of(positive, log_odds, weights)
    if strategy == "expected":
        return _expected_choice(candidates, measure, seed)
    chosen = np.array([candidates.best(candidates.values(measure, *drawn)) for drawn in resamples(candidates, seed)])
    low, high = np.quantile(candidates.thresholds(chosen), [_TAIL, 1.0 - _TAIL])
    if strategy == "max":
        best = candidates.best(candidates.values(measure))
        return ThresholdChoice(float(candidates.thresholds(best)), (float(low), float(high)))
    shares = candidates.shares()
    mean = float(np.mean(_log_odds_of(shares[chosen], candidates)))
    if strategy == "auto":
        mean = _towards_break_even(mean, measure, candidates)
    middle = candidates.threshold_of_share(float(expit(mean)), shares)
    if strategy == "bagged":
        return ThresholdChoice(middle, (float(low), float(high)))
    expected = expected_threshold(measure, log_odds, weights)
    # Where samples are few, the shrunk threshold may lie outside of the resamples' interval, which is then extended.
    found = (middle, min(float(low), middle), max(float(high), middle))
    threshold, least, most = (mix_log_odds([bound, expected], [1.0 - _TRUST, _TRUST]) for bound in found)
    return ThresholdChoice(threshold, (least, most))


def expected_threshold(measure: CountsTable, log_odds: Floats, weights: Floats | None = None) -> float:
    """Return the threshold with the largest measure of the expected table, if the log-odds are calibrated.

    Examples
    --------
    >>> import numpy as np
    >>> from metricwise.measures import Accuracy
    >>> expected_threshold(Accuracy(), np.array([-2.0, -1.0, 0.5, 3.0]))
    -0.25
    """
    candidates = _expected_candidates(log_odds, weights)
    return float(candidates.thresholds(candidates.best(candidates.values(measure))))


def _log_odds_of(shares: Floats, candidates: Candidates) -> Floats:
    """Return shares of samples in log-odds; none and all count as half a sample more and less."""
    least = min(0.5, 0.5 / float(candidates.positives.sum() + candidates.negatives.sum()))
    values: Floats = logit(np.clip(shares, least, 1.0 - least))
    return values


def _towards_break_even(mean: float, measure: CountsTable, candidates: Candidates) -> float:
    """Draw the share of samples predicted positive, in log-odds, towards the share of positives."""
    n_pos, n_neg = float(candidates.positives.sum()), float(candidates.negatives.sum())
    if not has_similar_mistake_costs(measure, n_pos, n_neg):
        return mean
    weight = _PRIOR_SAMPLES / (_PRIOR_SAMPLES + min(n_pos, n_neg))
    own = float(_log_odds_of(np.array(n_pos / (n_pos + n_neg)), candidates))
    return (1.0 - weight) * mean + weight * own


def has_similar_mistake_costs(measure: CountsTable, n_pos: float, n_neg: float) -> bool:
    """Return whether a missed positive and a false alarm cost about the same if a quarter of the positives is missed.

    Examples
    --------
    >>> from metricwise.measures import FBeta, GMean
    >>> has_similar_mistake_costs(FBeta(), 20.0, 980.0), has_similar_mistake_costs(GMean(), 20.0, 980.0)
    (True, False)
    """
    wrong = 0.25 * min(n_pos, n_neg)
    step = 1e-3 * wrong
    tp, fp, fn, tn = n_pos - wrong, wrong, wrong, n_neg - wrong
    here = float(measure.value(tp, fp, fn, tn))
    missed = here - float(measure.value(tp - step, fp, fn + step, tn))
    alarm = here - float(measure.value(tp, fp + step, fn, tn - step))
    return bool(missed > 0.0 and alarm > 0.0 and 1.0 / _ALIKE <= missed / alarm <= _ALIKE)


def mix_log_odds(log_odds: list[float], weights: list[float]) -> float:
    """Return the log-odds whose log-probability is the weighted mean of the given log-probabilities.

    Examples
    --------
    >>> round(mix_log_odds([-2.0, -1.0], [0.5, 0.5]), 3), round(mix_log_odds([20.0, -1.0], [0.5, 0.5]), 3)
    (-1.523, 0.074)
    """
    mean = float(np.average(-np.logaddexp(0.0, -np.array(log_odds)), weights=weights))
    # log p - log(1 - p); where the probability rounds to 1, the mean of the log-odds, all of them large.
    return mean - float(np.log(-np.expm1(mean))) if mean < -1e-15 else float(np.average(log_odds, weights=weights))


def resamples(candidates: Candidates, seed: int) -> Iterator[tuple[Floats, Floats]]:
    """Yield weights of the positives and negatives of each score in resamples of the samples (a Bayesian bootstrap).

    The weight of samples with one score is drawn as a whole, from a gamma distribution with that many degrees of
    freedom, so that a sample of weight two and the same sample twice give the same numbers.
    """
    random = np.random.default_rng(seed)
    size = candidates.positives.size
    for _ in range(int(np.clip(_RESAMPLED_VALUES // max(size, 1), _FEWEST_RESAMPLES, _MOST_RESAMPLES))):
        yield draw_weights(candidates.positives, random), draw_weights(candidates.negatives, random)


def draw_weights(shape: Floats, random: np.random.Generator) -> Floats:
    """Return weights drawn from gamma distributions of the given shapes; zero where that is zero."""
    drawn = np.zeros(shape.size)
    for start in range(0, shape.size, BLOCK):
        _draw_block(shape[start : start + BLOCK], random, drawn[start : start + BLOCK])
    return drawn


def _draw_block(shape: Floats, random: np.random.Generator, drawn: Floats) -> None:
    present = np.flatnonzero(shape > 0.0)
    chance = random.random(present.size)
    single = shape[present] == 1.0
    drawn[present[single]] = -np.log1p(-chance[single])  # the most frequent case by far, in closed form
    drawn[present[~single]] = gammaincinv(shape[present[~single]], chance[~single])


def _expected_candidates(log_odds: Floats, weights: Floats | None) -> Candidates:
    """Return the candidates with the positives and negatives that the probabilities expect."""
    weight = np.ones(log_odds.size) if weights is None else weights
    whole = Candidates.of(np.ones(log_odds.size, dtype=bool), log_odds, weight)
    chance = expit(whole.edges[1:-1])
    return Candidates(whole.edges, whole.positives * chance, whole.positives * (1.0 - chance))


def _expected_choice(candidates: Candidates, measure: CountsTable, seed: int) -> ThresholdChoice:
    total = candidates.positives + candidates.negatives
    chance = expit(candidates.edges[1:-1])
    pooled = Candidates(candidates.edges, total, np.zeros(total.size))
    best = candidates.best(candidates.values(measure, total * chance, total * (1.0 - chance)))
    drawn = [
        candidates.best(candidates.values(measure, weight * chance, weight * (1.0 - chance)))
        for weight, _ in resamples(pooled, seed)
    ]
    low, high = np.quantile(candidates.thresholds(np.array(drawn)), [_TAIL, 1.0 - _TAIL])
    return ThresholdChoice(float(candidates.thresholds(best)), (float(low), float(high)))
