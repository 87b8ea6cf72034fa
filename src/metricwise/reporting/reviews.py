"""Who is sent to review, and what that buys: for the report and for ``metricwise evaluate``.

The measures of a model that sends samples to review are those of the samples it decides. What the reviews buy is shown
by windows of other shares, which predict positives and negatives in the same ratio as the model: none of them is chosen
by the labels of the evaluated samples.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from metricwise._sklearn import check_sample_weight, take_samples
from metricwise._typing import Floats, Mask
from metricwise.decisions.review_window import NEGATIVE, POSITIVE, REVIEW
from metricwise.measures import Measure, Share
from metricwise.measures.base import CountsTable, RestrictsLabellings, show_value
from metricwise.measures.titles import title_of
from metricwise.reporting.markup import Markup, figure, number, paragraph, percent, section, table, tally
from metricwise.reporting.models import layers
from metricwise.reporting.svg import Chart

_N_SHARES = 41
_WIDEST = 0.6  # share of reviews up to which the chart goes, unless the model reviews more
_KINDS = {POSITIVE: "predicted positive", NEGATIVE: "predicted negative", REVIEW: "sent to review"}


class Decided(NamedTuple):
    """The samples that a model decides, with their weights and groups, and what it sends to review; None if nothing."""

    X: Any
    y: Any
    sample_weight: Any
    groups: Any
    reviews: Reviews | None


@dataclass(frozen=True)
class Reviews:
    """Samples by what a model does with them.

    Attributes
    ----------
    truth : array of bool
        Which samples are positive.
    scores : array
        Scores of the samples, also of those in the window.
    codes : array of int
        `POSITIVE`, `NEGATIVE` or `REVIEW` for each sample.
    weights : array
        Weights of the samples.
    """

    truth: Mask
    scores: Floats
    codes: Any
    weights: Floats

    @property
    def n_reviewed(self) -> int:
        """The number of samples that are reviewed."""
        return int(np.count_nonzero(self.codes == REVIEW))

    @property
    def share(self) -> float:
        """The share of the samples that are reviewed."""
        return float(np.average(self.codes == REVIEW, weights=self.weights))

    def count(self, code: int) -> tuple[float, float]:
        """Return the weight of the samples of a kind, and the share of positives among them (NaN without samples)."""
        own = self.codes == code
        total = float(self.weights[own].sum())
        return total, float(self.weights[own & self.truth].sum() / total) if total else float("nan")

    @property
    def predicts_both(self) -> bool:
        """Whether samples are predicted positive and others negative; if not, the measure of all means little."""
        return self.count(POSITIVE)[0] > 0.0 and self.count(NEGATIVE)[0] > 0.0

    def tables_at(self, shares: Floats) -> tuple[Floats, ...]:
        """Return tp, fp, fn, tn outside of windows that hold the given shares of the samples.

        The ratio of samples predicted positive to those predicted negative stays that of the model.
        """
        order = np.argsort(-self.scores, kind="stable")
        weight, truth = self.weights[order], self.truth[order]
        total, found, wrong = (
            np.concatenate([[0.0], np.cumsum(one)]) for one in (weight, weight * truth, weight * ~truth)
        )
        n_positive, n_negative = self.count(POSITIVE)[0], self.count(NEGATIVE)[0]
        ratio = n_positive / max(n_positive + n_negative, np.finfo(float).tiny)
        above = (1.0 - shares) * ratio * total[-1]
        below = total[-1] - (1.0 - shares) * (1.0 - ratio) * total[-1]
        tp, fp, missed, rejected = (
            np.interp(ends, total, counts)
            for ends, counts in ((above, found), (above, wrong), (below, found), (below, wrong))
        )
        return tp, fp, found[-1] - missed, wrong[-1] - rejected

    def values_at(self, measure: Measure, shares: Floats) -> Floats | None:
        """Return the measure of the samples outside of windows of given shares; None if it is none of the table."""
        return _evaluate(measure, self.tables_at(shares))

    def value(self, measure: Measure) -> float | None:
        """Return the measure of the samples that are decided; None if it is none of the table."""
        above, below = self.codes == POSITIVE, self.codes == NEGATIVE
        cells = above & self.truth, above & ~self.truth, below & self.truth, below & ~self.truth
        found = _evaluate(measure, tuple(np.array([self.weights[cell].sum()]) for cell in cells))
        return None if found is None else float(found[0])


def _evaluate(measure: Measure, tables: tuple[Floats, ...]) -> Floats | None:
    """Return a measure of tables as users see it; None if it is no function of the table."""
    if not isinstance(measure, CountsTable) or isinstance(measure, RestrictsLabellings):
        return None
    values = np.asarray(measure.value(*tables), dtype=np.float64)
    sizes = np.sum(tables, axis=0)
    return np.array([float(show_value(measure, *one)) for one in zip(values, sizes, strict=True)])


def find_review_label(model: Any) -> Any:
    """Return the label of samples to review; None if a model decides all of them.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> find_review_label(LogisticRegression()) is None
    True
    """
    return next((layer.review_label_ for layer in layers(model) if hasattr(layer, "review_label_")), None)


def set_reviews_aside(model: Any, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Decided:
    """Return the samples that a model decides, and what it sends to review.

    Parameters
    ----------
    model : fitted classifier
        The model; one that decides all samples gets them back.
    X, y, sample_weight, groups
        Samples, labels, weights and groups.

    Raises
    ------
    ValueError
        If all samples are sent to review.
    """
    if find_review_label(model) is None:
        return Decided(X, y, sample_weight, groups, None)
    reviews = _collect(model, X, y, sample_weight)
    decided = np.flatnonzero(reviews.codes != REVIEW)
    if not decided.size:
        raise ValueError(
            f"the model sends all {reviews.codes.size} samples to review, so that there is nothing to evaluate"
        )
    weights, codes = (None if one is None else np.asarray(one)[decided] for one in (sample_weight, groups))
    return Decided(take_samples(X, decided), take_samples(y, decided), weights, codes, reviews)


def _collect(model: Any, X: Any, y: Any, sample_weight: Any) -> Reviews:
    triage = next(layer for layer in layers(model) if hasattr(layer, "review_label_"))
    is_last_step = hasattr(model, "steps") and model.steps[-1][1] is triage
    scores = triage._scores(model[:-1].transform(X) if is_last_step else X)
    codes = triage._decision.window.assign(scores)
    return Reviews(triage._task.encode(np.asarray(y)), scores, codes, check_sample_weight(sample_weight, X))


def describe_reviews(reviews: Reviews, measure: Measure) -> str:
    """Return in a sentence who is sent to review, and what the measure of all samples would be without.

    Examples
    --------
    >>> import numpy as np
    >>> from metricwise.measures import Accuracy
    >>> truth, codes = np.array([True, True, False, False]), np.array([2, 1, 1, 0])
    >>> found = Reviews(truth, np.array([3.0, 1.0, 2.0, 0.0]), codes, np.ones(4))
    >>> describe_reviews(found, Accuracy())
    '2 of 4 samples (50 %) are sent to review, 50 % of them positive; accuracy is 1.000 of the others, and 0.500 of \
all samples without reviews.'
    """
    count, positive = reviews.count(REVIEW)
    who = (
        f"{tally(count)} of {tally(float(reviews.weights.sum()))} samples ({percent(reviews.share)}) are sent to review"
    )
    own = reviews.value(measure)
    without = reviews.values_at(measure, np.array([0.0])) if reviews.predicts_both else None
    positives = f", {percent(positive)} of them positive" if count else ""
    if own is None or without is None or not count:
        return f"{who}{positives}."
    values = f"{title_of(measure)} is {number(own)} of the others, and {number(float(without[0]))} of all samples"
    return f"{who}{positives}; {values} without reviews."


def review_section(reviews: Reviews | None, measure: Measure) -> Markup | None:
    """Return the section of a report about the samples that are sent to review; None if a model decides all."""
    if reviews is None:
        return None
    total = float(reviews.weights.sum())
    rows = []
    for code, kind in _KINDS.items():
        count, positive = reviews.count(code)
        rows.append([kind, tally(count), percent(count / total), percent(positive) if count else "none"])
    words = "All other parts of this page are about the samples that the model decides itself."
    return section(
        "reviews",
        "Samples sent to review",
        paragraph(describe_reviews(reviews, measure), " ", words),
        table("What becomes of the samples", ["samples", "number", "share", "positive among them"], rows),
        *_draw(reviews, measure),
    )


def _draw(reviews: Reviews, measure: Measure) -> list[Markup]:
    shares = np.linspace(0.0, min(0.95, max(_WIDEST, reviews.share)), _N_SHARES)
    own = reviews.values_at(measure, shares) if reviews.predicts_both else None
    lines = [] if own is None else [(title_of(measure), own, "first")]
    for name, code, style in (("precision", POSITIVE, "second"), ("npv", NEGATIVE, "second dashed")):
        values = reviews.values_at(Share(name), shares)
        if values is not None and reviews.count(code)[0] and name != measure.name:
            lines.append((title_of(Share(name)), values, style))
    known = [values[np.isfinite(values)] for _, values, _ in lines]
    if not known or not all(one.size for one in known):
        return []
    low, high = float(min(one.min() for one in known)), float(max(one.max() for one in known))
    ends = low - 0.05 * max(high - low, 0.02), high + 0.05 * max(high - low, 0.02)
    words = "; ".join(f"{name} from {number(v[0])} without reviews to {number(v[-1])}" for name, v, _ in lines)
    chart = Chart(
        "What reviews buy", words, "share sent to review", "value for all others", (0.0, float(shares[-1])), ends
    )
    for k, (name, values, style) in enumerate(lines):
        chart.line(shares, values, style)
        at = _N_SHARES - 4 - 8 * k
        chart.label(float(shares[at]), float(values[at]), name, "end", dy=-6, style="soft")
    chart.segment((reviews.share, ends[0]), (reviews.share, ends[1]), "faint")
    chart.label(reviews.share, ends[0], "this model", dx=6, dy=-6, style="strong")
    caption = (
        "The samples that are decided, if another share is sent to review, and the same share of all others "
        "is predicted positive."
    )
    return [figure(chart.render(), caption)]
