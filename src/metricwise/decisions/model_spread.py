"""The spread between models of the same kind, estimated from folds (random effects).

The final model differs from the fold models that were evaluated: it is trained, and its threshold is chosen, on other
samples. Its rate on a class therefore differs from theirs, however many new samples there are. The spread of the folds'
rates beyond binomial variation estimates by how much. Folds are few, so the estimate is a posterior: a flat prior on
the standard deviation of the log-odds, up to a largest one, updated by the folds. The log-odds of folds are taken as
normal, with half a sample added to each cell; where samples are too few for that, the folds carry next to no
information.
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit, logit, softmax

from metricwise._typing import Floats

SPREADS: Floats = np.linspace(0.0, 0.4, 17)
_EDGE = 1e-12  # of a share, whose log-odds are finite


def spread_posterior(found: Floats, total: Floats) -> Floats:
    """Return the posterior probability of each of `SPREADS`.

    Parameters
    ----------
    found : array
        Samples of a class that are predicted positive, per fold.
    total : array
        Samples of the class, per fold.

    Examples
    --------
    >>> import numpy as np
    >>> total = np.full(5, 1000.0)
    >>> for found in ([201.0, 199.0, 200.0, 202.0, 198.0], [120.0, 300.0, 200.0, 250.0, 150.0]):
    ...     print(SPREADS[spread_posterior(np.array(found), total).argmax()].round(3))
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


def draw_other_models(shares: Floats, found: Floats, total: Floats, random: np.random.Generator) -> Floats:
    """Draw the rates of a class that other models of the same kind would have.

    Parameters
    ----------
    shares : array
        Rates drawn given the samples of all folds.
    found, total : arrays
        Samples of the class that are predicted positive, and all samples of the class, per fold.
    random : Generator
        Random generator.
    """
    spreads = random.choice(SPREADS, shares.size, p=spread_posterior(found, total))
    moves = spreads * random.standard_normal(shares.size)
    return np.asarray(expit(logit(np.clip(shares, _EDGE, 1.0 - _EDGE)) + moves))
