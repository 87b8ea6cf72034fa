"""Simulated ratings with injected profiles, and the features of every user (after Burke et al. 2006).

Genuine users rate by a model of latent factors. Attackers want a target item to be recommended: they give it the best
rating, and rate filler items so as to look like a user. A *random* attack draws the ratings of its fillers around the
mean of all ratings, an *average* attack around the mean of each item.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

LOWEST, BEST = 1.0, 5.0
FACTORS = 6
TARGETS = 5  # items that are pushed, among those rated seldom
NEIGHBOURS = 25
FEATURES = (
    "mean deviation from the items' means, divided by the items' numbers of ratings (RDMA)",
    "the same, summed (WDA)",
    "the same mean with squared numbers of ratings (WDMA)",
    "mean correlation with the 25 users most alike (DegSim)",
    "deviation of the number of ratings from the average number (LengthVar)",
    "number of ratings, logarithm",
    "mean squared deviation from the items' means without the best ratings (MeanVar)",
    "mean of the best ratings minus mean of the others, from the items' means (FMTD)",
    "correlation with the items' means",
    "standard deviation of the ratings",
    "entropy of the ratings",
    "share of best ratings",
    "mean popularity (logarithm of the number of ratings) of the items rated",
    "standard deviation of that popularity",
    "correlation of ratings with popularity",
)


class Ratings(NamedTuple):
    """Ratings by user and item, NaN where there is none; which users attack, and which by an average attack."""

    ratings: Floats
    attack: Mask
    average: Mask


def simulate(n_genuine: int, n_attackers: int, n_items: int = 400, seed: int = 0) -> Ratings:
    """Return genuine users and attackers, half of them random and half average, in random order."""
    rng = np.random.default_rng(seed)
    popularity = _popularity(n_items, rng)
    genuine = _genuine(n_genuine, popularity, rng)
    attackers = _attackers(n_attackers, genuine, popularity, rng)
    order = rng.permutation(n_genuine + n_attackers)
    attack, average = order >= n_genuine, order >= n_genuine + n_attackers // 2
    return Ratings(np.vstack([genuine, attackers])[order], attack, average)


def _popularity(n_items: int, rng: np.random.Generator) -> Floats:
    """Return the shares of items among all ratings: few are rated often."""
    shares = (1.0 + rng.permutation(n_items)) ** -0.8
    return np.asarray(shares / shares.sum())


def _genuine(n_users: int, popularity: Floats, rng: np.random.Generator) -> Floats:
    n_items = popularity.size
    tastes, traits = rng.normal(size=(n_users, FACTORS)), rng.normal(size=(n_items, FACTORS))
    quality = 0.4 * rng.normal(size=n_items) + 0.15 * np.log(popularity * n_items)
    liking = 3.6 + 0.4 * rng.normal(size=(n_users, 1)) + quality + 0.6 * tastes @ traits.T / np.sqrt(FACTORS)
    given = _whole(liking + 0.7 * rng.normal(size=liking.shape))
    chosen = popularity * np.exp(0.5 * (liking - liking.mean()))  # people rate what they expect to like
    return np.where(_draw_items(chosen, _lengths(n_users, n_items, rng), rng), given, np.nan)


def _attackers(count: int, genuine: Floats, popularity: Floats, rng: np.random.Generator) -> Floats:
    """Return profiles, the first half of random, the others of average attacks."""
    n_items = popularity.size
    overall = np.nanmean(genuine), np.nanstd(genuine)
    means, spreads = _by_item(genuine)
    average = (np.arange(count) >= count // 2)[:, None]
    centre, spread = np.where(average, means, overall[0]), np.where(average, spreads, overall[1])
    given = _whole(centre + spread * rng.normal(size=(count, n_items)))
    # Fillers are popular items in part, as attackers know what people rate.
    blend = rng.uniform(0.3, 1.0, size=(count, 1))
    fillers = _draw_items(popularity**blend * np.ones((count, n_items)), _lengths(count, n_items, rng), rng)
    attackers = np.where(fillers, given, np.nan)
    seldom = np.argsort(popularity)[: n_items // 2]
    targets = rng.choice(seldom, TARGETS, replace=False)
    attackers[np.arange(count), targets[np.arange(count) % TARGETS]] = BEST
    return attackers


def _lengths(n_users: int, n_items: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return how many items users rate: 30 in the median, few of them very many."""
    return np.clip(np.exp(rng.normal(np.log(30.0), 0.5, size=n_users)), 10, n_items // 2).astype(np.int64)


def _draw_items(probabilities: Floats, lengths: NDArray[np.int64], rng: np.random.Generator) -> Mask:
    """Draw for every user as many items as its length, without replacement and by their probabilities."""
    keys = np.log(probabilities) + rng.gumbel(size=probabilities.shape)
    ranks = np.argsort(np.argsort(-keys, axis=1), axis=1)
    return np.asarray(ranks < lengths[:, None])


def _whole(ratings: Floats) -> Floats:
    return np.clip(np.rint(ratings), LOWEST, BEST)


def _by_item(ratings: Floats) -> tuple[Floats, Floats]:
    """Return mean and standard deviation of every item's ratings, shrunk towards those of all items by two ratings."""
    rated = ~np.isnan(ratings)
    counts, filled = rated.sum(axis=0), np.where(rated, ratings, 0.0)
    mean, spread = np.nanmean(ratings), np.nanstd(ratings)
    means = (filled.sum(axis=0) + 2.0 * mean) / (counts + 2.0)
    squares = (np.where(rated, (ratings - means) ** 2, 0.0).sum(axis=0) + 2.0 * spread**2) / (counts + 2.0)
    return means, np.sqrt(squares)


def features(ratings: Floats) -> Floats:
    """Return one sample per user, with the columns of `FEATURES`; who is an attacker is not used.

    Parameters
    ----------
    ratings : array of shape (users, items)
        NaN where there is none; every user has some.
    """
    rated = ~np.isnan(ratings)
    lengths, counts = rated.sum(axis=1), np.maximum(rated.sum(axis=0), 1)
    means, _ = _by_item(ratings)
    deviations = np.where(rated, ratings - means, 0.0)
    apart, best = np.abs(deviations), ratings == BEST
    others = rated & ~best
    columns = [
        (apart / counts).sum(axis=1) / lengths,
        (apart / counts).sum(axis=1),
        (apart / counts**2).sum(axis=1) / lengths,
        _degree_of_similarity(deviations, rated),
        np.abs(lengths - lengths.mean()) / ((lengths - lengths.mean()) ** 2).sum(),
        np.log(lengths),
        _mean_where(deviations**2, others),
        _mean_where(deviations, best) - _mean_where(deviations, others),
        _correlation(ratings, np.broadcast_to(means, ratings.shape), rated),
        np.nanstd(ratings, axis=1),
        _entropy(ratings, lengths),
        best.sum(axis=1) / lengths,
    ]
    popularity = np.broadcast_to(np.log(counts), ratings.shape)
    centre = _mean_where(popularity, rated)
    spread = np.sqrt(_mean_where((popularity - centre[:, None]) ** 2, rated))
    return np.column_stack([*columns, centre, spread, _correlation(ratings, popularity, rated)])


def _degree_of_similarity(deviations: Floats, rated: Mask) -> Floats:
    """Return the mean of the largest correlations with other users, over the items that both rated."""
    weights = rated.astype(np.float64)
    products, squares = deviations @ deviations.T, deviations**2 @ weights.T
    common = weights @ weights.T
    alike = products / np.sqrt(np.maximum(squares * squares.T, 1e-12))
    alike *= np.minimum(common / 10.0, 1.0)  # few items in common are not reliable
    np.fill_diagonal(alike, -np.inf)
    nearest = min(NEIGHBOURS, len(alike) - 1)
    return np.asarray(np.sort(alike, axis=1)[:, -nearest:].mean(axis=1))


def _mean_where(values: Floats, chosen: Mask) -> Floats:
    """Return the means over chosen entries of every row, 0 where there is none."""
    return np.asarray(np.where(chosen, values, 0.0).sum(axis=1) / np.maximum(chosen.sum(axis=1), 1))


def _correlation(first: Floats, second: Floats, chosen: Mask) -> Floats:
    """Return the correlation over chosen entries of every row, 0 where one side does not vary."""
    ours = np.where(chosen, first - _mean_where(first, chosen)[:, None], 0.0)
    theirs = np.where(chosen, second - _mean_where(second, chosen)[:, None], 0.0)
    scale = np.sqrt((ours**2).sum(axis=1) * (theirs**2).sum(axis=1))
    return np.asarray((ours * theirs).sum(axis=1) / np.maximum(scale, 1e-12))


def _entropy(ratings: Floats, lengths: NDArray[np.int64]) -> Floats:
    entropy = np.zeros(len(ratings))
    for value in np.arange(LOWEST, BEST + 1.0):
        share = (ratings == value).sum(axis=1) / lengths
        entropy -= share * np.log(np.where(share > 0.0, share, 1.0))
    return entropy
