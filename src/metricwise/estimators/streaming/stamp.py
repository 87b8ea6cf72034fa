"""STAMP as a scikit-learn classifier."""

from __future__ import annotations

from typing import Any

from metricwise.estimators.streaming.base import StreamingClassifier
from metricwise.solvers.stamp import Stamp


class STAMPClassifier(StreamingClassifier):
    r"""Linear classifier for ratios of affine functions of the rates, learnt sample by sample (Narasimhan et al. 2015).

    F-beta, Jaccard, Gower-Legendre, accuracy, Cohen's kappa, or a ratio of your own (`contingency_measure` with
    ``ratio``). A sample costs time proportional to its entries that are not zero; memory does not depend on the number
    of samples. Samples of a Dask collection are learnt from where they are, in shards
    that are averaged after every pass: that is not the algorithm of the paper.

    Parameters
    ----------
    measure : str or Measure, default="f1"
        The measure to train for: a name from ``metricwise.measure_names("STAMPClassifier")`` or such a measure.
    eta0 : float, default=1.0
        The first step. With the adaptive schedule a step of 1 would, on average, change a sample's own score by one.
    alpha : float, default=1e-4
        Strength of the regulariser.
    schedule : {"adaptive", "paper"}, default="adaptive"
        "adaptive" standardises dense features (scales sparse ones) as samples come and never steps beyond the margin of
        a sample, so that raw features of any size are fine. "paper" uses the features unchanged, with steps ``eta0 /
        sqrt(t)`` at sample t and the plain average of all models.
    prior : float, optional
        The share of positives, if known; estimated as samples come by default.
    threshold : {"stream"} or float, default="stream"
        Threshold of the scores. "stream" is the best one for the measure on samples not (yet) learnt from: those held
        out by `fit` or, in a stream, recent samples before they are learnt from. A number is used unchanged.
    n_passes : int, default=25
        Largest number of passes of `fit`.
    tol : float, default=1e-3
        Passes end when the measure on held-out samples has not risen by this much for ``patience`` passes. Negative:
        make all passes.
    patience : int, default=5
        Passes without an improvement of ``tol`` after which training ends.
    validation_fraction : float, default=0.1
        Share of the samples that `fit` holds out, at most 20 thousand; none if that leaves fewer than ten of a class.
    max_seconds : float, optional
        About how long training may take.
    fit_intercept : bool, default=True
        Whether scores have a constant term.
    multi_class : {"ovr", "off"} or None, default="ovr"
        One binary problem per class vs the rest; "off" or None: an error for more than two classes.
    pos_label : label, optional
        The positive class of two; by default 1 of the classes 0 and 1, -1 and 1, or booleans. Of others it has to be
        named, unless the measure treats both alike (accuracy, G-mean, ROC area, ...).
    n_jobs : int, optional
        Threads for the scores of held-out samples. None and -1 mean all cores this process may use.
    random_state : int, RandomState instance or None, default=0
        Seeds the order of the samples and the choice of held-out samples.
    checkpoint : str or path, optional
        Where `fit` and `fit_stream` write their progress. If the file exists, they resume from it, and end with the
        same model as without interruption; it is removed at the end.
    every : int, default=1000000
        Samples between checkpoints.
    callback : callable, optional
        Called with a `StreamEntry` after every evaluation; a true answer stops training.
    n_shards : int, default=8
        For Dask collections: number of shards that the chunks are divided into (one per chunk, if there are fewer);
        shards are trained in parallel and averaged after every pass. The model depends on this number, not on the
        cluster; the total number of threads of all workers keeps all of them busy.
    verbose : int or None, default=None
        Progress of training that takes more than two seconds: a bar on terminals and in notebooks (None), also lines
        where standard error is neither (1), or nothing (0).

    Attributes
    ----------
    coef_ : array of shape (1, n_features) or (n_classes, n_features)
        Weights of the features, towards ``classes_[1]`` in a binary problem.
    intercept_ : array of shape (1,) or (n_classes,)
        Constant terms of the scores.
    threshold_ : float or array of shape (n_classes,)
        Thresholds, which `decision_function` subtracts from the scores; assign others to predict with them.
    classes_ : array
        The labels, sorted.
    measure_ : Measure
        The measure that the model was trained for.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : array
        Names of the features, if the samples had names.
    n_iter_ : int
        Passes over the data.
    result_ : StreamResult
        Status, samples seen, and the history of the measure and of the challenge level.

    See Also
    --------
    metricwise.SPADEClassifier : Learns for concave functions of the rates, such as the G-mean.
    metricwise.OnlineMetricClassifier : Decides the samples of a stream by any learner with ``partial_fit``.
    metricwise.AMPClassifier : Maximises the same measures on samples in memory, on disk or on a cluster.

    Notes
    -----
    The measure is :math:`M = (a_0 + a_1 P + a_2 N) / (b_0 + b_1 P + b_2 N)` of the true positive rate P and the true
    negative rate N. It is above the challenge level v if and only if :math:`(a_1 - v b_1) P + (a_2 - v b_2) N + a_0 - v
    b_0 > 0`. Epochs learn with these costs of the classes, in place of rates with the rewards :math:`\min(1, s)` and
    :math:`\min(1, -s)` of scores, then set v to the measure of samples that they did not learn from (Algorithm 3 of
    [1]_). Each epoch is twice as long as the one before.

    References
    ----------
    .. [1] H. Narasimhan, P. Kar and P. Jain (2015). Optimizing non-decomposable performance measures: a tale of two
       classes. *Proceedings of the 32nd International Conference on Machine Learning*, 199-208. Algorithm 3.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from metricwise import STAMPClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = STAMPClassifier("jaccard").fit(X, y)
    >>> model.score(X, y) > 0.9
    True
    """

    def _make_learner(self, measure: Any) -> Stamp:
        return Stamp(measure, self._settings())
