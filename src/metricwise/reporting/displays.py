"""The measure against the threshold, in the style of scikit-learn's displays."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import column_or_1d

from metricwise._typing import Floats
from metricwise.decisions.targets import choose_positive_class, count_classes
from metricwise.measures import Measure, get_measure
from metricwise.measures.checks import check_finite, check_same_length
from metricwise.measures.titles import title_of
from metricwise.reporting.evaluation import measure_curve, resolve_measure, threshold_measure
from metricwise.reporting.models import measure_of, name_of
from metricwise.reporting.predictions import NOUNS, Problem, collect_predictions, drop_weightless
from metricwise.reporting.resampling import SampleGroups
from metricwise.reporting.steps import make_steps
from metricwise.reporting.training_displays import axes_for


class MeasureCurveDisplay:
    """The measure against the threshold, with its confidence band and the threshold of the model.

    Parameters
    ----------
    thresholds, values : arrays
        The measure at every threshold.
    low, high : arrays
        Ends of the band.
    chosen : float or None
        The threshold of the model.
    measure_name : str
        Label of the axis.
    name : str, optional
        Name of the model in the legend.

    Attributes
    ----------
    ax_, figure_ : axes and figure
        Axes and figure of the plot.
    line_, band_ : artists
        The curve and its band.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> import numpy as np
    >>> from metricwise import MeasureCurveDisplay
    >>> display = MeasureCurveDisplay.from_predictions([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8], measure="f1", threshold=0.5)
    >>> float(np.max(display.values))
    0.8
    """

    def __init__(
        self,
        thresholds: Floats,
        values: Floats,
        low: Floats,
        high: Floats,
        chosen: float | None,
        measure_name: str,
        name: str | None = None,
    ) -> None:
        self.thresholds = thresholds
        self.values = values
        self.low = low
        self.high = high
        self.chosen = chosen
        self.measure_name = measure_name
        self.name = name

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw the curve.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Axes to draw on; a new figure by default.
        **kwargs
            Passed to ``ax.plot`` for the curve.

        Returns
        -------
        self
            The display, whose ``ax_`` and ``figure_`` hold the drawing.
        """
        self.ax_ = axes_for(ax)
        self.figure_ = self.ax_.figure
        (self.line_,) = self.ax_.plot(self.thresholds, self.values, **{"label": self.name, **kwargs})
        colour = self.line_.get_color()
        self.band_ = self.ax_.fill_between(self.thresholds, self.low, self.high, color=colour, alpha=0.2, linewidth=0)
        if self.chosen is not None:
            here = float(np.interp(self.chosen, self.thresholds, self.values))
            self.ax_.axvline(self.chosen, color="0.5", linewidth=1, linestyle=":")
            self.ax_.plot(self.chosen, here, "D", color=colour, markeredgecolor="white")
            self.ax_.annotate(f"{here:.3f}", (self.chosen, here), (8, 6), textcoords="offset points")
        self.ax_.set(xlabel="threshold", ylabel=self.measure_name)
        if self.name is not None:
            self.ax_.legend(loc="lower center")
        return self

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        measure: str | Measure | None = None,
        pos_label: Any = None,
        sample_weight: Any = None,
        groups: Any = None,
        confidence: float = 0.9,
        name: str | None = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the curve of a fitted classifier of two classes.

        Parameters
        ----------
        estimator : fitted classifier
            With ``predict_proba`` or ``decision_function``.
        X, y : samples and their classes
            Samples that the measure is computed on, and their classes.
        measure : str or Measure, optional
            By default the measure that the model was trained for, or F1 if it declares none.
        pos_label : label, optional
            The positive class; by default that of the model, or 1 of 0 and 1, -1 and 1, or booleans.
        sample_weight : array of shape (n_samples,), optional
            Weights of the samples.
        groups : array of shape (n_samples,), optional
            Samples that belong together, such as those of one patient, have the same entry; the band is then for
            samples of new groups.
        confidence : float, default=0.9
            Confidence level of the band.
        name : str, optional
            Name in the legend; by default the class of the model.
        ax : matplotlib axes, optional
            Axes to draw on; a new figure by default.
        **kwargs
            Passed to ``ax.plot``.

        Returns
        -------
        MeasureCurveDisplay
        """
        found = collect_predictions(estimator, X, y, pos_label, sample_weight=sample_weight, groups=groups)
        if found.kind != "binary":
            raise ValueError(
                f"a curve of the measure needs two classes, but y has {len(found.problems)} {NOUNS[found.kind]}"
            )
        given = resolve_measure(measure_of(estimator, False)[0] if measure is None else get_measure(measure), found)
        return cls._of(found.problems[0], found.groups, given, confidence, name or name_of(estimator), ax, kwargs)

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_score: ArrayLike,
        *,
        measure: str | Measure = "f1",
        threshold: float | None = None,
        pos_label: Any = None,
        sample_weight: Any = None,
        groups: Any = None,
        confidence: float = 0.9,
        name: str | None = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the curve of scores.

        Parameters
        ----------
        y_true : array
            Two classes.
        y_score : array
            Scores, greater for the positive class.
        measure : str or Measure, default="f1"
            The measure.
        threshold : float, optional
            The threshold to mark.
        pos_label : label, optional
            The positive class; by default 1 of 0 and 1, -1 and 1, or booleans. Of other classes it has to be named,
            unless the measure does not depend on it.
        sample_weight : array of shape (n_samples,), optional
            Weights of the samples.
        groups : array of shape (n_samples,), optional
            Samples that belong together, such as those of one patient, have the same entry; the band is then for
            samples of new groups.
        confidence : float, default=0.9
            Confidence level of the band.
        name : str, optional
            Name in the legend.
        ax : matplotlib axes, optional
            Axes to draw on; a new figure by default.
        **kwargs
            Passed to ``ax.plot``.

        Returns
        -------
        MeasureCurveDisplay
        """
        labels = column_or_1d(np.asarray(y_true))
        scores = check_finite(y_score, "y_score")
        check_same_length(scores, "y_score", labels, "y_true")
        scores, labels, weights, codes = drop_weightless(scores, labels, sample_weight, groups)
        classes = np.unique(labels)
        if classes.size != 2:
            raise ValueError(f"y_true must have two classes, got {classes.tolist()[:5]}")
        criterion = get_measure(measure)
        positive = choose_positive_class(classes, pos_label, criterion, count_classes(labels, classes), where="y_true")
        above = scores > (np.inf if threshold is None else threshold)
        weights = np.ones(scores.size) if weights is None else weights
        problem = Problem(str(positive), positive, labels == positive, above, scores, "score", threshold, weights)
        drawn_groups = SampleGroups.of(codes, problem.truth.astype(np.int64))
        return cls._of(problem, drawn_groups, criterion, confidence, name, ax, kwargs)

    @classmethod
    def _of(
        cls,
        problem: Problem,
        groups: SampleGroups | None,
        measure: Measure,
        confidence: float,
        name: str | None,
        ax: Any,
        kwargs: dict[str, Any],
    ) -> Self:
        criterion = threshold_measure(measure)
        steps = make_steps(problem, criterion, groups=groups)
        values, low, high = measure_curve(steps, criterion, confidence)
        title = title_of(criterion)  # type: ignore[arg-type]
        return cls(steps.thresholds, values, low, high, problem.threshold, title, name).plot(ax, **kwargs)
