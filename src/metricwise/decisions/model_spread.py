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
    found : array of shape (n_folds,) or (n_folds, n_classes)
        Samples of a class that are predicted positive, per fold. Several classes share one spread.
    total : array of the same shape
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
    found, total = found.reshape(len(found), -1), total.reshape(len(total), -1)
    some = total > 0.0
    known = some.any(axis=0)
    found, missed, some = found[:, known], (total - found)[:, known], some[:, known]
    centres = np.log((found + 0.5) / (missed + 0.5))
    variances = 1.0 / (found + 0.5) + 1.0 / (missed + 0.5) + SPREADS[:, None, None] ** 2  # by spread, fold and class
    # Of normal distributions with a common mean per class, which is integrated out.
    weights = np.where(some, 1.0 / variances, 0.0)
    precision = weights.sum(axis=1)
    mean = np.sum(centres * weights, axis=1) / precision
    squares = np.sum((centres - mean[:, None]) ** 2 * weights, axis=1)
    logs = squares + np.where(some, np.log(variances), 0.0).sum(axis=1) + np.log(precision)
    return np.asarray(softmax(-0.5 * logs.sum(axis=1)))


def draw_other_models(shares: Floats, found: Floats, total: Floats, random: np.random.Generator) -> Floats:
    """Draw the rates of classes that other models of the same kind would have.

    Parameters
    ----------
    shares : array of shape (n_draws,) or (n_draws, n_classes)
        Rates drawn given the samples of all folds.
    found, total : arrays of shape (n_folds,) or (n_folds, n_classes)
        Samples of each class that are predicted positive, and all samples of the class, per fold.
    random : Generator
        Random generator.
    """
    spreads = random.choice(SPREADS, len(shares), p=spread_posterior(found, total))
    moves = (spreads * random.standard_normal(shares.T.shape)).T
    return np.asarray(expit(logit(np.clip(shares, _EDGE, 1.0 - _EDGE)) + moves))
