"""SPADE as a scikit-learn classifier."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from metricwise.estimators.streaming.base import StreamingClassifier
from metricwise.measures import Measure
from metricwise.results import StreamEntry
from metricwise.solvers.point_updates import Schedule
from metricwise.solvers.spade import Spade


class SPADEClassifier(StreamingClassifier):
    r"""Linear classifier for concave functions of the two rates, learnt sample by sample (Narasimhan et al. 2015).

    G-mean, H-mean, Q-mean, the minimum of the rates and their mean. A sample costs time proportional to its entries
    that are not zero; memory does not depend on the number of samples. Samples of a Dask collection are learnt from
    where they are, in shards that are averaged after every pass: that is not the algorithm of the paper.

    Parameters
    ----------
    measure : str or Measure, default="g_mean"
        The measure to train for: a name from ``metricwise.measure_names("SPADEClassifier")`` or such a measure.
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
        Status, samples seen, the history of the measure and of the dual variables alpha and beta, and on a cluster the
        bytes moved.

    See Also
    --------
    metricwise.STAMPClassifier : Learns for ratios of the rates, such as F1.
    metricwise.OnlineMetricClassifier : Decides the samples of a stream by any learner with ``partial_fit``.

    Notes
    -----
    A concave measure :math:`\Psi(P, N)` is the least of :math:`\alpha P + \beta N - \Psi^*(\alpha, \beta)` over a
    region of slopes (Table 1 of [1]_). With the mean of :math:`\min(1, s)` over the positives as P and that of
    :math:`\min(1, -s)` over the negatives as N, each sample moves the weights up, with the cost :math:`\alpha / p` of a
    positive or :math:`\beta / (1 - p)` of a negative at the share p of positives, and the slopes down, followed by
    their projection onto the region (Algorithm 1).

    References
    ----------
    .. [1] H. Narasimhan, P. Kar and P. Jain (2015). Optimizing non-decomposable performance measures: a tale of two
       classes. *Proceedings of the 32nd International Conference on Machine Learning*, 199-208. Algorithm 1.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from metricwise import SPADEClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = SPADEClassifier("g_mean").fit(X, y)
    >>> model.score(X, y) > 0.95
    True
    >>> stream = SPADEClassifier("g_mean")
    >>> for start in range(0, len(y), 100):
    ...     stream = stream.partial_fit(X[start : start + 100], y[start : start + 100], classes=[0, 1])
    >>> stream.result_.n_samples
    569
    """

    def __init__(
        self,
        measure: str | Measure = "g_mean",
        *,
        eta0: float = 1.0,
        alpha: float = 1e-4,
        schedule: Schedule = "adaptive",
        prior: float | None = None,
        threshold: str | float = "stream",
        n_passes: int = 25,
        tol: float = 1e-3,
        patience: int = 5,
        validation_fraction: float = 0.1,
        max_seconds: float | None = None,
        fit_intercept: bool = True,
        multi_class: str | None = "ovr",
        pos_label: Any = None,
        n_jobs: int | None = None,
        random_state: Any = 0,
        checkpoint: str | Path | None = None,
        every: int = 1_000_000,
        callback: Callable[[StreamEntry], Any] | None = None,
        n_shards: int = 8,
        verbose: int | None = None,
    ) -> None:
        super().__init__(
            measure,
            eta0=eta0,
            alpha=alpha,
            schedule=schedule,
            prior=prior,
            threshold=threshold,
            n_passes=n_passes,
            tol=tol,
            patience=patience,
            validation_fraction=validation_fraction,
            max_seconds=max_seconds,
            fit_intercept=fit_intercept,
            multi_class=multi_class,
            pos_label=pos_label,
            n_jobs=n_jobs,
            random_state=random_state,
            checkpoint=checkpoint,
            every=every,
            callback=callback,
            n_shards=n_shards,
            verbose=verbose,
        )

    def _make_learner(self, measure: Any) -> Spade:
        return Spade(measure, self._settings())
