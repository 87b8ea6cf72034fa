"""Displays of training in the style of scikit-learn; matplotlib is loaded when one is drawn."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np

from metricwise.measures.titles import title_of
from metricwise.reporting.models import leaderboard_of, measure_of, name_of, results_of
from metricwise.results import Result, StreamResult


def axes_for(ax: Any) -> Any:
    """Return the axes given, or those of a new figure."""
    if ax is not None:
        return ax
    from matplotlib import pyplot

    return pyplot.subplots()[1]


class ConvergenceDisplay:
    """The history of a training: both bounds of the objective, or the measure of a stream on samples not learnt from.

    Parameters
    ----------
    result : Result or StreamResult
        Result of a training, such as ``model.result_``.
    by : {"iteration", "seconds"}, default="iteration"
        Quantity of the horizontal axis; a stream has samples instead of iterations.

    Attributes
    ----------
    ax_, figure_ : axes and figure
        Axes and figure of the plot.
    lines_ : list of artists
        The objective and its lower bound, or the measure.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from sklearn.datasets import make_classification
    >>> from metricwise import ConvergenceDisplay, MultivariateSVC
    >>> X, y = make_classification(200, random_state=0)
    >>> display = ConvergenceDisplay.from_estimator(MultivariateSVC("f1").fit(X, y), by="seconds")
    >>> display.ax_.get_xlabel(), len(display.lines_)
    ('seconds', 2)
    """

    def __init__(self, result: Result | StreamResult, by: Literal["iteration", "seconds"] = "iteration") -> None:
        if by not in ("iteration", "seconds"):
            raise ValueError(f"by must be 'iteration' or 'seconds', got {by!r}")
        if not len(result.history):
            raise ValueError("the training has no history to be drawn")
        self.result = result
        self.by = by

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw the history.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Axes to draw on; a new figure by default.
        **kwargs
            Passed to ``ax.plot``.

        Returns
        -------
        self
            The display, whose ``ax_`` and ``figure_`` hold the drawing.
        """
        self.ax_ = axes_for(ax)
        self.figure_ = self.ax_.figure
        draw = self._plot_stream if isinstance(self.result, StreamResult) else self._plot_bounds
        self.lines_ = draw(kwargs)
        return self

    def _plot_bounds(self, kwargs: dict[str, Any]) -> list[Any]:
        entries: Any = self.result.history
        x = [getattr(entry, self.by) for entry in entries]
        upper, lower = [entry.objective for entry in entries], [entry.lower for entry in entries]
        lines = self.ax_.plot(x, upper, **{"label": "objective of the model", **kwargs})
        if np.isfinite(lower[-1]):
            lines += self.ax_.plot(x, lower, "--", label="no weights are better")
        self.ax_.set(xlabel=self.by, ylabel="objective", ylim=(min(0.0, upper[-1]), None))
        self.ax_.legend()
        return list(lines)

    def _plot_stream(self, kwargs: dict[str, Any]) -> list[Any]:
        entries: Any = self.result.history
        seconds = self.by == "seconds"
        x = [entry.seconds if seconds else entry.n_samples for entry in entries]
        (line,) = self.ax_.plot(x, [entry.measure for entry in entries], **kwargs)
        self.ax_.set(xlabel="seconds" if seconds else "samples", ylabel="measure on samples not learnt from")
        return [line]

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, by: Literal["iteration", "seconds"] = "iteration", ax: Any = None, **kwargs: Any
    ) -> Self:
        """Draw the history of a model's training.

        Parameters
        ----------
        estimator : fitted classifier
            With ``result_``, or a pipeline or search that ends in one; the first binary problem if there are several.
        by : {"iteration", "seconds"}, default="iteration"
            Quantity of the horizontal axis.
        ax : matplotlib axes, optional
            Axes to draw on; a new figure by default.
        **kwargs
            Passed to ``ax.plot``.

        Returns
        -------
        ConvergenceDisplay
        """
        results = results_of(estimator)
        if not results:
            raise ValueError(f"{name_of(estimator)} keeps no result_ of its training, so there is nothing to draw")
        return cls(results[0], by).plot(ax, **kwargs)


class LeaderboardDisplay:
    """The candidates of a `MetricClassifier` with their intervals, the best at the top.

    Parameters
    ----------
    records : list of dict
        Records of the evaluated candidates.
    measure_name : str
        Label of the axis.

    Attributes
    ----------
    ax_, figure_ : axes and figure
        Axes and figure of the plot.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from sklearn.datasets import make_classification
    >>> from metricwise import LeaderboardDisplay, MetricClassifier
    >>> X, y = make_classification(300, random_state=0)
    >>> model = MetricClassifier("f1", candidates=["logistic"]).fit(X, y)
    >>> LeaderboardDisplay.from_estimator(model).ax_.get_xlabel()
    'F1, out of fold'
    """

    def __init__(self, records: list[dict[str, Any]], measure_name: str) -> None:
        self.records = records
        self.measure_name = measure_name

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw the candidates.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Axes to draw on; a new figure by default.
        **kwargs
            Passed to ``ax.errorbar``.

        Returns
        -------
        self
            The display, whose ``ax_`` and ``figure_`` hold the drawing.
        """
        self.ax_ = axes_for(ax)
        self.figure_ = self.ax_.figure
        ranked = sorted(self.records, key=lambda record: record["value"])
        for k, record in enumerate(ranked):
            below, above = record["value"] - record["low"], record["high"] - record["value"]
            colour = "C0" if record["weight"] else "0.6"
            whiskers = [[max(below, 0.0)], [max(above, 0.0)]]
            self.ax_.errorbar(record["value"], k, xerr=whiskers, **{"fmt": "o", "color": colour, **kwargs})
        self.ax_.set(xlabel=f"{self.measure_name}, out of fold", yticks=range(len(ranked)))
        self.ax_.set_yticklabels([_candidate_label(record) for record in ranked])
        return self

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None, **kwargs: Any) -> Self:
        """Draw the candidates of a fitted `MetricClassifier`.

        Parameters
        ----------
        estimator : MetricClassifier
            A fitted MetricClassifier, or a pipeline or search that ends in one.
        ax : matplotlib axes, optional
            Axes to draw on; a new figure by default.
        **kwargs
            Passed to ``ax.errorbar``.

        Returns
        -------
        LeaderboardDisplay
        """
        evaluated = [record for record in leaderboard_of(estimator) if np.isfinite(record["value"])]
        if not evaluated:
            raise ValueError(f"{name_of(estimator)} has no leaderboard: only a fitted MetricClassifier has one")
        return cls(evaluated, title_of(measure_of(estimator, False)[0])).plot(ax, **kwargs)


def _candidate_label(record: dict[str, Any]) -> str:
    settings = ", ".join(f"{name}={value}" for name, value in record["settings"].items())
    chosen = " (chosen)" if record["weight"] else ""
    return f"{record['candidate']} {settings}".strip() + chosen
