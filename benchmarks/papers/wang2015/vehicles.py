"""Simulate vehicles that broadcast position and speed, some of them falsely.

Vehicles drive on a ring road of two lanes, at speeds that depend on how dense the traffic is where they are. Twice a
second each broadcasts a beacon with its position and speed. What is claimed is collected from all who heard it. The
vehicle that is nearest at the start listens: it receives a beacon or not, and how strong, which depends on the true
distance. It also hands over packets to be passed on. Vehicles that misbehave falsify their beacons in one of five ways,
by more or by less, and pass on fewer packets.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

ROAD = 10_000.0  # metres
LANE = 3.5
INTERVAL = 0.5  # seconds between beacons
BEACONS = 60
RANGE = 300.0  # metres a beacon reaches, about
POWER, DECAY, SHADOW = -40.0, 2.4, 4.0  # dBm at one metre, exponent of distance, dB of what stands between
KINDS = (
    "a position drawn back to an earlier one",
    "a position with a constant offset",
    "a position with random errors",
    "a speed with random errors",
    "beacons of some seconds ago",
)
FEATURES = (
    "share of beacons received",
    "share of packets passed on",
    "mean signal strength",
    "standard deviation of signal strength",
    "mean difference between the distance claimed and that of the signal (logarithms)",
    "standard deviation of that difference",
    "correlation of signal strength and the logarithm of the distance claimed",
    "mean speed claimed minus that of the vehicles near the claimed position",
    "standard deviation of the speed claimed",
    "root mean square of speed claimed minus speed of the positions claimed",
    "largest such difference",
    "share of beacons from beyond the range",
    "largest acceleration claimed",
    "root mean square distance from the middle of the nearest lane",
    "standard deviation of the steps between positions claimed",
)


class Traffic(NamedTuple):
    """The observations of every vehicle, arrays of vehicles by beacons, and which of them misbehave.

    Parameters
    ----------
    along, across, speed : array
        Claimed: metres along the road, beside its axis, and metres per second.
    own : array
        The listener's position along the road and beside its axis, the last axis.
    strength : array
        Signal strength in dBm, NaN where a beacon was not received.
    passed : array
        Share of the packets passed on, per vehicle.
    misbehaving : array of bool
        The truth.
    """

    along: Floats
    across: Floats
    speed: Floats
    own: Floats
    strength: Floats
    passed: Floats
    misbehaving: Mask


def simulate(n_vehicles: int, share: float = 0.4, seed: int = 0) -> Traffic:
    """Return the observations of ``n_vehicles`` vehicles, of which a share misbehaves, equally many of each kind."""
    rng = np.random.default_rng(seed)
    misbehaving = rng.permutation(n_vehicles) < round(share * n_vehicles)
    along, across, speed = _drive(n_vehicles, rng)
    listener = _nearest(along[:, 0])
    own = np.stack([along[listener], across[listener]], axis=2)
    strength = _receive(along, across, own, rng)
    claims = _measure_claims(along, across, speed, rng)
    for position, vehicle in enumerate(np.flatnonzero(misbehaving)):
        for claim, false in zip(claims, _falsify(position % len(KINDS), claims, int(vehicle), rng), strict=True):
            claim[vehicle] = false
    chance = np.where(misbehaving, rng.beta(8.0, 2.0, n_vehicles), rng.beta(14.0, 2.0, n_vehicles))
    passed = rng.binomial(40, chance) / 40.0
    return Traffic(*claims, own, strength, passed, misbehaving)


def _drive(count: int, rng: np.random.Generator) -> tuple[Floats, Floats, Floats]:
    """Return the true path of every vehicle: along and across the road, and its speed."""
    start, lane = rng.uniform(0.0, ROAD, count), rng.integers(0, 2, count)
    wish = rng.normal(0.0, 2.0, count)
    along, speed = np.empty((count, BEACONS)), np.empty((count, BEACONS))
    position, now = start, _flow(start) + wish
    for beacon in range(BEACONS):
        along[:, beacon], speed[:, beacon] = position, now
        push = 0.3 * (_flow(position) + wish - now) + rng.normal(0.0, 0.8, count)
        now = np.maximum(now + INTERVAL * push, 0.0)
        position = position + INTERVAL * now
    across = LANE * (lane[:, None] - 0.5) + rng.normal(0.0, 0.3, (count, 1)) * np.ones(BEACONS)
    return along, across, speed


def _flow(position: Floats) -> Floats:
    """Return the usual speed at positions: traffic is slow around the quarters of the road."""
    return 18.0 + 8.0 * np.cos(8.0 * np.pi * position / ROAD)


def _nearest(position: Floats) -> NDArray[np.int64]:
    apart = np.abs(_around(position[:, None] - position))
    np.fill_diagonal(apart, np.inf)
    return np.asarray(apart.argmin(axis=1))


def _around(difference: Floats) -> Floats:
    """Return signed differences of positions along the shorter arc of the ring."""
    return (difference + ROAD / 2.0) % ROAD - ROAD / 2.0


def _distance(along: Floats, across: Floats, own: Floats) -> Floats:
    return np.maximum(np.hypot(_around(along - own[..., 0]), across - own[..., 1]), 1.0)


def _receive(along: Floats, across: Floats, own: Floats, rng: np.random.Generator) -> Floats:
    """Return signal strengths; what stands between changes slowly, and weak beacons are lost more often."""
    distance = _distance(along, across, own)
    shadow = np.empty_like(distance)
    shadow[:, 0] = rng.normal(0.0, SHADOW, len(distance))
    for beacon in range(1, BEACONS):
        shadow[:, beacon] = 0.95 * shadow[:, beacon - 1] + rng.normal(0.0, SHADOW * 0.3122, len(distance))
    strength = POWER - 10.0 * DECAY * np.log10(distance) + shadow + rng.normal(0.0, 1.0, distance.shape)
    weakest = POWER - 10.0 * DECAY * np.log10(RANGE)
    heard = rng.random(distance.shape) < 0.97 / (1.0 + np.exp((weakest - strength) / 2.0))
    heard[:, :5] = True  # a vehicle that nobody heard is not known
    return np.where(heard, strength, np.nan)


def _measure_claims(
    along: Floats, across: Floats, speed: Floats, rng: np.random.Generator
) -> tuple[Floats, Floats, Floats]:
    """Return honest claims: a satellite position that drifts, worse for some vehicles, and a speed from the wheels."""
    quality = np.exp(rng.normal(0.0, 0.7, (len(along), 1)))
    shifts = quality * rng.normal(0.0, 1.5, (2, len(along), 1))
    jitter = quality * rng.normal(0.0, 0.25, (2, *along.shape))
    return (
        along + shifts[0] + jitter[0],
        across + 0.3 * (shifts[1] + jitter[1]),
        np.maximum(speed + rng.normal(0.0, 0.3, speed.shape), 0.0),
    )


def _falsify(
    kind: int, claims: tuple[Floats, Floats, Floats], vehicle: int, rng: np.random.Generator
) -> tuple[Floats, Floats, Floats]:
    """Return the false claims of a vehicle; the size of the errors varies from hardly any to gross."""
    along, across, speed = (claim[vehicle].copy() for claim in claims)
    size = np.exp(rng.normal(0.0, 1.0))
    begin = rng.integers(0, BEACONS // 2)  # honest until then
    false = np.arange(BEACONS) >= begin
    if kind == 0:
        along[false] += (along[begin] - along[false]) * min(0.2 * size, 1.0)
    elif kind == 1:
        along[false] += rng.choice([-1.0, 1.0]) * 20.0 * size
    elif kind == 2:
        along[false] += 1.0 * size * rng.normal(size=false.sum())
    elif kind == 3:
        speed[false] = np.maximum(speed[false] + 1.0 * size * rng.normal(size=false.sum()), 0.0)
    else:
        late = np.maximum(np.arange(BEACONS) - round(2.0 * size), 0)
        along[false], across[false], speed[false] = along[late][false], across[late][false], speed[late][false]
    return along, across, speed


def features(traffic: Traffic) -> Floats:
    """Return one sample per vehicle, with the columns of `FEATURES`; who misbehaves is not used."""
    heard = ~np.isnan(traffic.strength)
    strength = np.where(heard, traffic.strength, 0.0)
    distance = _distance(traffic.along, traffic.across, traffic.own)
    gap = np.log(distance) - (POWER - strength) / (10.0 * DECAY) * np.log(10.0)
    steps = np.diff(traffic.along, axis=1) / INTERVAL
    unlike = traffic.speed[:, :-1] - steps
    lane = np.abs(np.abs(traffic.across) - LANE / 2.0)
    columns = [
        heard.mean(axis=1),
        traffic.passed,
        _mean(strength, heard),
        _spread(strength, heard),
        _mean(gap, heard),
        _spread(gap, heard),
        _correlation(strength, np.log(distance), heard),
        traffic.speed.mean(axis=1) - _speed_nearby(traffic),
        traffic.speed.std(axis=1),
        np.sqrt((unlike**2).mean(axis=1)),
        np.abs(unlike).max(axis=1),
        (distance > RANGE).mean(axis=1),
        np.abs(np.diff(traffic.speed, axis=1)).max(axis=1) / INTERVAL,
        np.sqrt((lane**2).mean(axis=1)),
        steps.std(axis=1),
    ]
    return np.column_stack(columns)


def _mean(values: Floats, heard: Mask) -> Floats:
    return np.asarray(np.where(heard, values, 0.0).sum(axis=1) / heard.sum(axis=1))


def _spread(values: Floats, heard: Mask) -> Floats:
    return np.sqrt(_mean((values - _mean(values, heard)[:, None]) ** 2, heard))


def _correlation(first: Floats, second: Floats, heard: Mask) -> Floats:
    product = (first - _mean(first, heard)[:, None]) * (second - _mean(second, heard)[:, None])
    return np.asarray(_mean(product, heard) / np.maximum(_spread(first, heard) * _spread(second, heard), 1e-12))


def _speed_nearby(traffic: Traffic, nearest: int = 8) -> Floats:
    """Return the mean speed claimed by the vehicles nearest to the mean claimed position."""
    position, speed = traffic.along.mean(axis=1), traffic.speed.mean(axis=1)
    apart = np.abs(_around(position[:, None] - position))
    np.fill_diagonal(apart, np.inf)
    near = np.argsort(apart, axis=1)[:, : min(nearest, len(position) - 1)]
    return np.asarray(speed[near].mean(axis=1))
