"""Sequences of the UT-Kinect data as samples: histograms of the positions of body joints (after Xia et al. 2012)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.data import load

Floats = NDArray[np.float64]

AZIMUTHS, ELEVATIONS, PARTS = 6, 4, 2  # bins around the body, bins from below to above it, parts of a sequence
HIP, LEFT_HIP, RIGHT_HIP, NECK = 0, 12, 16, 2
# Head, elbows, wrists, hands, knees, ankles and feet: the joints near the hips hardly move about them.
MOVING = (3, 5, 6, 7, 9, 10, 11, 13, 14, 15, 17, 18, 19)


class Actions(NamedTuple):
    """One sample per sequence, the number of its action, and the names of the actions."""

    X: Floats
    y: NDArray[np.int64]
    names: list[str]


def actions() -> Actions:
    """Return all sequences.

    Raises
    ------
    SkippedError
        Where the data are missing.
    """
    data: dict[str, Any] = load("utkinect")
    frames = np.asarray(data["X"], dtype=np.float64).reshape(len(data["y"]), -1, 3)
    samples, labels = [], []
    for sequence in np.unique(data["sequence"]):
        mine = data["sequence"] == sequence
        samples.append(histograms(frames[mine]))
        labels.append(int(data["y"][mine][0]))
    return Actions(np.array(samples), np.array(labels), [str(name).replace("_", " ") for name in data["label_names"]])


def histograms(frames: Floats) -> Floats:
    """Return the features of a sequence: for each part of it, the share of joint positions in each bin.

    Parameters
    ----------
    frames : array of shape (frames, joints, 3)
        Positions: to the side, up, and away from the camera.
    """
    bins = [_shares(part) for part in np.array_split(turn_to_front(frames), PARTS)]
    return np.concatenate(bins)


def turn_to_front(frames: Floats) -> Floats:
    """Return positions as seen from the hip centre of a body that is turn_to_front to face in one direction.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> body = rng.normal(size=(3, 20, 3))
    >>> turn = np.array([[0.6, 0.0, 0.8], [0.0, 1.0, 0.0], [-0.8, 0.0, 0.6]])
    >>> bool(np.allclose(turn_to_front(body), turn_to_front(body @ turn + [1.0, 2.0, 3.0])))
    True
    """
    seen = frames - frames[:, [HIP]]
    across = frames[:, RIGHT_HIP] - frames[:, LEFT_HIP]
    angle = np.arctan2(across[:, 2], across[:, 0])
    cosine, sine = np.cos(angle)[:, None], np.sin(angle)[:, None]
    side, up, away = np.moveaxis(seen, 2, 0)
    return np.stack([cosine * side + sine * away, up, cosine * away - sine * side], axis=2)


def _shares(frames: Floats) -> Floats:
    """Return the shares of positions in bins of direction; a position counts for the two nearest bins of each angle."""
    side, up, away = np.moveaxis(frames[:, MOVING], 2, 0)
    azimuth = np.arctan2(away, side) / (2.0 * np.pi) % 1.0 * AZIMUTHS
    elevation = (np.arctan2(up, np.hypot(side, away)) / np.pi + 0.5) * (ELEVATIONS - 1)
    counts = np.zeros((AZIMUTHS, ELEVATIONS))
    around, above = np.floor(azimuth).astype(int), np.floor(elevation).astype(int)
    for step in (0, 1):
        for rise in (0, 1):
            share = np.abs(1 - step - azimuth + around) * np.abs(1 - rise - elevation + above)
            bins = (around + step) % AZIMUTHS, np.minimum(above + rise, ELEVATIONS - 1)
            np.add.at(counts, bins, share)
    return np.asarray(counts.ravel() / azimuth.size)
