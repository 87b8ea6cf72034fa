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

_BUFFERS_A_PASS = 8


class MiniBatchSVC(StreamingClassifier):
    """Linear classifier for every measure with a most violated labelling, learnt from buffers (Kar et al. 2014).

    The surrogate of `MultivariateSVC` on a buffer of samples gives a gradient; one step is made a buffer. That is the
    method 1PMB. A buffer says less of a measure than all samples do, so where `SPADEClassifier` or `STAMPClassifier`
    fit the measure they are the better choice; this one also serves break-even point, precision and recall at k, ROC
    areas, Matthews correlation and any function of the table.

    Parameters
    ----------
    measure : str or Measure, default="f1"
        What to train for: a name from ``metricwise.measure_names("MiniBatchSVC")`` or such a measure. Numbers of top
        samples must be given as shares of the positives, since the samples of a stream are not counted ahead.
    batch_size : int, default=1000
        Samples of a buffer; in `fit` at most an eighth of the samples. It grows, up to eight times, until it holds both
        classes.
    eta0, alpha, schedule, prior, threshold, n_passes, tol, patience, validation_fraction, max_seconds, fit_intercept
        As in `SPADEClassifier`; ``prior`` is not used.
    multi_class, pos_label, n_jobs, random_state, checkpoint, every, callback
        As in `SPADEClassifier`.

    Attributes
    ----------
    coef_, intercept_, threshold_, classes_, measure_, n_features_in_, feature_names_in_
        As in `MultivariateSVC`.
    n_iter_ : int
        Passes over the data.
    result_ : StreamResult
        Status, samples seen, and the history of the measure and of the slack of the last buffer.

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
        )
        self.batch_size = batch_size

    def _checked_measure(self) -> Measure:
        measure = super()._checked_measure()
        if isinstance(measure, CountsTopSamples) and measure.relative_to(1.0) != measure.relative_to(2.0):
            raise ValueError(
                f"measure {measure!r} counts top samples, but a stream has no number of samples: give k as a share of "
                "the positives, for example k=2.0 for twice as many"
            )
        return measure

    def _learner(self, measure: Any, n_samples: int | None = None) -> MiniBatches:
        rows = int(self.batch_size)
        if n_samples is not None:
            rows = min(rows, max(n_samples // _BUFFERS_A_PASS, 2))
        return MiniBatches(measure, self._settings(), rows)
