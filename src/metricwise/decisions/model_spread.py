"""How far apart models of the same kind are, told by folds.

The model that is kept is another one than those that were judged: it has learnt from other samples, and its threshold
was chosen on other samples. Of a class it will find a somewhat larger or smaller share than they did, even of endlessly
many samples. By how much is seen in how far the shares of the folds differ beyond what the chance of their samples
explains. Folds are few, so that this is known roughly: all standard deviations on the scale of log-odds up to a largest
one are alike before the folds have spoken (a flat prior, as for few groups), and have chances after. Log-odds of folds
are taken as normal, with half a sample more in each cell; where samples are so few that they are not, they say next to
nothing.
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit, logit, softmax

from metricwise._typing import Floats

SPREADS: Floats = np.linspace(0.0, 0.4, 17)
_EDGE = 1e-12  # of a share, whose log-odds are finite


def spread_chances(found: Floats, total: Floats) -> Floats:
    """Return the chance of each of `SPREADS`.

    Parameters
    ----------
    found : array
        Samples of a class that are predicted positive, of every fold.
    total : array
        Samples of the class, of every fold.

    Examples
    --------
    >>> import numpy as np
    >>> total = np.full(5, 1000.0)
    >>> for found in ([201.0, 199.0, 200.0, 202.0, 198.0], [120.0, 300.0, 200.0, 250.0, 150.0]):
    ...     print(SPREADS[spread_chances(np.array(found), total).argmax()].round(3))
    0.0
    0.4
    """
    some = total > 0.0
    if not some.any():
        return np.full(SPREADS.size, 1.0 / SPREADS.size)
    found, missed = found[some], (total - found)[some]
    centres = np.log((found + 0.5) / (missed + 0.5))
    variances = 1.0 / (found + 0.5) + 1.0 / (missed + 0.5) + SPREADS[:, None] ** 2  # by spread and fold
    # Of normal distributions with a common mean, which is integrated out.
    precision = np.sum(1.0 / variances, axis=1)
    mean = np.sum(centres / variances, axis=1) / precision
    squares = np.sum((centres - mean[:, None]) ** 2 / variances, axis=1)
    logs = -0.5 * (squares + np.log(variances).sum(axis=1) + np.log(precision))
    return np.asarray(softmax(logs))


def of_other_models(shares: Floats, found: Floats, total: Floats, random: np.random.Generator) -> Floats:
    """Return shares of a class as other models would find them.

    Parameters
    ----------
    shares : array
        Drawn given the samples of all folds.
    found, total : arrays
        Of every fold; see `spread_chances`.
    random : Generator
        Draws a spread, and a move by it, for each of the shares.
    """
    spreads = random.choice(SPREADS, shares.size, p=spread_chances(found, total))
    moves = spreads * random.standard_normal(shares.size)
    return np.asarray(expit(logit(np.clip(shares, _EDGE, 1.0 - _EDGE)) + moves))
