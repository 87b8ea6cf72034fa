"""STAMP as a scikit-learn classifier."""

from __future__ import annotations

from typing import Any

from metricwise.estimators.streaming.base import StreamingClassifier
from metricwise.solvers.stamp import Stamp


class STAMPClassifier(StreamingClassifier):
    """Linear classifier for ratios of affine functions of the rates, learnt sample by sample (Narasimhan et al. 2015).

    F-beta, Jaccard, Gower-Legendre, accuracy, Cohen's kappa, or a ratio of your own (`contingency_measure` with
    ``ratio``). A sample costs time proportional to its entries that are not zero; memory does not depend on the number
    of samples. On Dask collections it learns as `SPADEClassifier` does.

    Parameters
    ----------
    measure : str or Measure, default="f1"
        What to train for: a name from ``metricwise.measure_names("STAMPClassifier")`` or such a measure.
    eta0, alpha, schedule, prior, threshold, n_passes, tol, patience, validation_fraction, max_seconds, fit_intercept
        As in `SPADEClassifier`.
    multi_class, pos_label, n_jobs, random_state, checkpoint, every, callback, n_shards
        As in `SPADEClassifier`.

    Attributes
    ----------
    coef_, intercept_, threshold_, classes_, measure_, n_features_in_, feature_names_in_
        As in `MultivariateSVC`.
    n_iter_ : int
        Passes over the data.
    result_ : StreamResult
        Status, samples seen, and the history of the measure and of the challenge level.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from metricwise import STAMPClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = STAMPClassifier("jaccard").fit(X, y)
    >>> model.score(X, y) > 0.9
    True
    """

    def _learner(self, measure: Any) -> Stamp:
        return Stamp(measure, self._settings())
