"""The multivariate support vector machine on mini-batches, as a scikit-learn classifier."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from pathlib import Path
from typing import Any, ClassVar

from metricwise._sklearn import Interval
from metricwise.estimators.streaming.base import StreamingClassifier
from metricwise.measures import Measure
from metricwise.measures.base import CountsTopSamples
from metricwise.results import StreamEntry
from metricwise.solvers.mini_batches import MiniBatches
from metricwise.solvers.point_updates import Schedule


class MiniBatchSVC(StreamingClassifier):
    r"""Linear classifier for every measure with a most violated labelling, learnt from buffers (Kar et al. 2014).

    The surrogate of `MultivariateSVC` on a buffer of samples gives a gradient; one step is made per buffer. That is the
    method 1PMB. A buffer estimates a measure less well than all samples do, so where `SPADEClassifier` or
    `STAMPClassifier` fit the measure they are the better choice; this one also serves break-even point,
    precision and recall at k, ROC areas, Matthews correlation and any function of the table. For average precision,
    logistic regression by ``SGDClassifier(loss="log_loss", average=True)`` has ranked better in one pass.

    Parameters
    ----------
    measure : str or Measure, default="f1"
        The measure to train for: a name from ``metricwise.measure_names("MiniBatchSVC")`` or such a measure. Numbers of
        top samples must be given as shares of the positives, since the samples of a stream are not counted ahead.
    batch_size : int, default=1000
        Samples of a buffer; in `fit` at most an eighth of the samples. It grows, up to eight times, until it holds both
        classes.
    eta0 : float, default=1.0
        The first step. With the adaptive schedule a step of 1 would, on average, change a sample's own score by one.
    alpha : float, default=1e-4
        Strength of the regulariser.
    schedule : {"adaptive", "paper"}, default="adaptive"
        "adaptive" standardises dense features (scales sparse ones) as samples come and never steps beyond the margin of
        a sample, so that raw features of any size are fine. "paper" uses the features unchanged, with steps ``eta0 /
        sqrt(b)`` at buffer b and the plain average of all models.
    prior : float, optional
        Not used; the labelling of a buffer counts its positives.
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
        Status, samples seen, and the history of the measure and of the slack of the last buffer.

    See Also
    --------
    metricwise.MultivariateSVC : Minimises the same surrogate on all samples, with a certificate.
    metricwise.STAMPClassifier : Learns for ratios of the rates, such as F1, sample by sample.
    metricwise.SPADEClassifier : Learns for concave functions of the rates, such as the G-mean, sample by sample.

    Notes
    -----
    The objective is :math:`\tfrac{\alpha}{2} \lVert w \rVert^2` plus the mean over buffers of :math:`R(w) = \max_{y'}
    [\Delta(y', y) + \frac{1}{2u} \sum_i (y'_i - y_i) s_i]`, where :math:`\Delta` is 1 - measure on the samples of one
    buffer, u the number of mistakes of a full loss, :math:`s_i` are scores and :math:`y_i = \pm 1` labels. The models
    of all steps are averaged.

    References
    ----------
    .. [1] P. Kar, H. Narasimhan and P. Jain (2014). Online and stochastic gradient methods for non-decomposable loss
       functions. *Advances in Neural Information Processing Systems* 27, 694-702. Method 1PMB.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from metricwise import MiniBatchSVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = MiniBatchSVC("prbep", batch_size=100).fit(X, y)
    >>> model.score(X, y) > 0.9
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **StreamingClassifier._parameter_constraints,
        "batch_size": [Interval(Integral, 2, None, closed="left")],
    }

    def __init__(
        self,
        measure: str | Measure = "f1",
        *,
        batch_size: int = 1000,
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
            verbose=verbose,
        )
        self.batch_size = batch_size

    def _check_measure(self) -> Measure:
        measure = super()._check_measure()
        if isinstance(measure, CountsTopSamples) and measure.relative_to(1.0) != measure.relative_to(2.0):
            raise ValueError(
                f"measure {measure!r} counts top samples, but a stream has no number of samples: give k as a share of "
                "the positives, for example k=2.0 for twice as many"
            )
        return measure

    def _make_learner(self, measure: Any) -> MiniBatches:
        return MiniBatches(measure, self._settings(), int(self.batch_size))
