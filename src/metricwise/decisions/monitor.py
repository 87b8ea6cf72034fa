"""Watch whether a guarantee is kept while outcomes arrive."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from metricwise._state import StoredState
from metricwise._typing import Mask
from metricwise.decisions.betting import LEAST_ALPHA, check_countable
from metricwise.decisions.binary import ThresholdRule
from metricwise.decisions.class_outcomes import Kind, encode_class_outcomes
from metricwise.decisions.group_constraints import separate_constraints
from metricwise.decisions.guarantee_watch import GuaranteeStatus, GuaranteeWatch, History
from metricwise.decisions.guarantees import Constraint, parse_constraints
from metricwise.decisions.monitor_table import show_monitor
from metricwise.decisions.outcomes import Classes, Position, as_scores, check_order, encode_outcomes, leave_out_reviews
from metricwise.decisions.profit import ProfitDecision
from metricwise.decisions.score_reference import ScoreReference, ScoreWatch
from metricwise.measures.checks import shorten, to_float


class GuaranteeMonitor:
    r"""Watch whether guarantees are kept on new samples, with few false alarms however long the watch lasts.

    Give it the true labels of samples when they become known, beside the predicted ones. It may be looked at after
    every outcome: the probability that it ever raises an alarm while all guarantees are kept is at most ``alpha``.

    Parameters
    ----------
    guarantee : fitted classifier, str, tuple or list
        What to watch: a `PlugInClassifier`, `MetricClassifier` or `TriageClassifier` that was trained with
        ``subject_to`` (or for `RecallAtPrecision` or `PrecisionAtRecall`), all of whose constraints are watched; a
        constraint such as "precision>=0.9" or ``("precision", ">=", 0.9)``; or a list of constraints. Shares of the
        labels are "precision", "recall", "specificity", "npv", "false_positive_rate", "positive_rate" and "accuracy".
        Multiclass and multilabel guarantees are watched one by one, each of its class or label; they need a model.
    alpha : float, default=0.05
        Probability of a false alarm, of all guarantees together; 1e-12 or more. Intervals hold with probability
        1 - alpha.

    Attributes
    ----------
    alarm : bool
        Whether a guarantee has been broken: at some time its share was not as guaranteed. It stays raised.
    interval : pair of float, or dict of them
        Confidence sequence of the average share of the outcomes so far; with several guarantees, one for each by its
        text, such as "precision >= 0.9". At all times together, the intervals of all guarantees contain the averages
        with probability 1 - alpha. After a change the average moves slowly, so an alarm can come before the interval
        excludes the guarantee.
    n_seen : int
        Outcomes seen; those that a `TriageClassifier` sent to review do not count.
    status : list of GuaranteeStatus
        For each guarantee ``guarantee``, ``n_counted``, ``share``, ``interval``, ``wealth`` and ``alarm_at``.
    score_warning : bool or None
        Whether scores are no longer distributed as they were on the samples that the guarantee was tested on; false
        with probability at most ``alpha``, apart from that of the alarm. No label is needed, so it can come long before
        an alarm; but scores can change while the guarantee is kept, and the guarantee can break while they do not. None
        if there is nothing to compare with: ``guarantee`` is no model, or has no guarantee (``confidence=None``).
    n_scores_seen : int
        Scores seen.

    See Also
    --------
    metricwise.PlugInClassifier : Makes guarantees for any classifier.
    metricwise.save : Stores a monitor, too; `metricwise.load` returns one that goes on as if it had not been stored.

    Notes
    -----
    A guarantee states that an outcome is as wanted with probability q or more, given all outcomes before it. The
    monitor bets against this: the wealth :math:`K_t = \prod_{i \le t} (1 + \lambda_i (q - x_i))`, of outcomes
    :math:`x_i \in \{0, 1\}` that count, does not grow on average as long as the guarantee is kept, so it ever reaches
    :math:`1 / \alpha` with probability at most :math:`\alpha` [1]_. Bets of six sizes that start at every outcome are
    mixed, which finds a drop after a long time without one nearly as fast as one at the start. With k guarantees each
    is watched at :math:`\alpha / k`.

    References
    ----------
    .. [1] I. Waudby-Smith and A. Ramdas (2024). Estimating means of bounded random variables by betting. *Journal of
       the Royal Statistical Society B* 86, 1-27.
    .. [2] S. R. Howard, A. Ramdas, J. McAuliffe and J. Sekhon (2021). Time-uniform, nonparametric, nonasymptotic
       confidence sequences. *Annals of Statistics* 49, 1055-1080.
    .. [3] J. Shin, A. Ramdas and A. Rinaldo (2024). E-detectors: a nonparametric framework for sequential change
       detection. *New England Journal of Statistics in Data Science* 2, 229-260. Bets that start at every outcome.

    Examples
    --------
    >>> import numpy as np
    >>> from metricwise import GuaranteeMonitor
    >>> random = np.random.default_rng(0)
    >>> monitor = GuaranteeMonitor(("precision", ">=", 0.9))
    >>> monitor.update(random.random(500) < 0.93, np.ones(500)).alarm
    False
    >>> monitor.update(random.random(500) < 0.75, np.ones(500)).alarm
    True
    >>> monitor.n_seen, monitor.status[0].alarm_at
    (1000, 699)
    """

    __stored_state__: ClassVar[StoredState] = StoredState(
        version=2,
        attributes=("alpha", "n_seen", "_watches", "_scores", "_labels", "_positive", "_points_up", "_last", "_kind"),
    )

    alpha: float
    n_seen: int
    _watches: list[GuaranteeWatch]
    _scores: ScoreWatch | None
    _labels: list[Any]
    _positive: Any
    _points_up: bool
    _last: Position | None
    _kind: Kind

    def __init__(self, guarantee: Any, alpha: float = 0.05) -> None:
        if isinstance(alpha, bool) or not isinstance(alpha, Real) or not 0.0 < to_float(alpha) < 1.0:
            raise ValueError(f"alpha must lie between 0 and 1, got {shorten(alpha)}; write 5 percent as 0.05")
        if alpha < LEAST_ALPHA:
            raise ValueError(
                f"alpha={alpha!r} is below {LEAST_ALPHA:g}, and so rare a false alarm cannot be told from none: choose "
                f"alpha >= {LEAST_ALPHA:g}, such as 0.05"
            )
        is_model = hasattr(guarantee, "fit") or hasattr(guarantee, "predict")
        source = _read_model(guarantee) if is_model else _Source(_read_constraints(guarantee))
        self.alpha = float(alpha)
        self.n_seen = 0
        each = self.alpha / len(source.constraints)
        self._watches = [GuaranteeWatch(constraint, each) for constraint in source.constraints]
        self._scores = None if source.reference is None else ScoreWatch.start(source.reference, self.alpha)
        self._labels, self._positive = source.classes
        self._points_up = source.points_up
        self._last = None
        self._kind = source.kind

    def __repr__(self) -> str:
        guarantees = [watch.constraint for watch in self._watches]
        return f"GuaranteeMonitor({', '.join(map(str, guarantees))}; {self.n_seen} outcomes, alarm={self.alarm})"

    def _repr_html_(self) -> str:
        return show_monitor(self)

    def update(self, y_true: Any, y_pred: Any, scores: Any = None, *, order: Any = None) -> Self:
        """Take outcomes into account, in their order; all or, if there is an error, none.

        Parameters
        ----------
        y_true : label or array of shape (n_outcomes,) or (n_outcomes, n_labels)
            True labels: those of the model or, without a model, 0 and 1, -1 and 1, or booleans. A matrix of zeros and
            ones for a multilabel model.
        y_pred : label or array of shape (n_outcomes,) or (n_outcomes, n_labels)
            Predicted labels.
        scores : float or array of shape (n_outcomes,) or (n_outcomes, n_classes), optional
            The model's ``decision_function`` of the samples, for `score_warning`. Leave them out if `update_scores` had
            them when they were predicted.
        order : number, date, text, or array of shape (n_outcomes,), optional
            Times or ascending numbers of the outcomes. Outcomes that are out of order, or do not follow those seen
            before, such as a batch that is given twice, are then refused.

        Returns
        -------
        self
            The monitor itself, so that calls can be chained.
        """
        labels, outcomes, n_given = self._encode(y_true, y_pred)
        check_countable(self.n_seen, n_given)
        last = self._last if order is None else check_order(order, n_given, self._last)
        if scores is not None:
            self._bet_on_scores(scores, n_given)
        for watch, (truth, predicted) in zip(self._watches, outcomes, strict=True):
            watch.update(truth, predicted, self.n_seen)
        self.n_seen += outcomes[0][0].size
        self._labels, self._last = labels, last
        return self

    def _encode(self, y_true: Any, y_pred: Any) -> tuple[list[Any], list[tuple[Mask, Mask]], int]:
        """Return the labels known from now on, truth and predictions as each guarantee counts them, and their number.

        Samples that were sent to review count in the number only.
        """
        if self._kind != "binary":
            found = encode_class_outcomes(y_true, y_pred, self._labels, self._kind)
            outcomes = [found.of(watch.constraint) for watch in self._watches]
            return self._labels, outcomes, outcomes[0][0].size
        labels, review = self._labels[:2], self._labels[2:]
        y_true, y_pred, n_given = leave_out_reviews(y_true, y_pred, review)
        truth, predicted, classes = encode_outcomes(y_true, y_pred, Classes(tuple(labels), self._positive))
        return [*classes.labels, *review], [(truth, predicted)] * len(self._watches), n_given

    def update_scores(self, scores: Any) -> Self:
        """Compare scores of samples whose labels are not known yet with those that the guarantee was tested on.

        Parameters
        ----------
        scores : float or array of shape (n_samples,) or (n_samples, n_classes)
            The model's ``decision_function`` of the samples.

        Returns
        -------
        self
            The monitor itself, so that calls can be chained.
        """
        self._bet_on_scores(scores, None)
        return self

    def _bet_on_scores(self, scores: Any, n_outcomes: int | None) -> None:
        if self._scores is None:
            raise ValueError(
                "there are no scores to compare with: give a model that was trained with subject_to and a confidence "
                "as the guarantee, or leave the scores out"
            )
        checked = as_scores(scores, n_outcomes, None if self._kind == "binary" else len(self._labels))
        check_countable(self._scores.n_seen, len(checked))
        self._scores.update(checked if self._points_up else -checked)

    @property
    def alarm(self) -> bool:
        """Whether a guarantee has been broken."""
        return any(watch.alarm_at is not None for watch in self._watches)

    @property
    def status(self) -> list[GuaranteeStatus]:
        """What is known about each guarantee."""
        return [watch.status for watch in self._watches]

    @property
    def interval(self) -> Any:
        """Confidence sequence of the average share, one per guarantee if there are several."""
        found = {one.guarantee: one.interval for one in self.status}
        return found if len(found) > 1 else next(iter(found.values()))

    @property
    def score_warning(self) -> bool | None:
        """Whether the scores have changed; None if there is nothing to compare them with."""
        return None if self._scores is None else self._scores.warning_at is not None

    @property
    def n_scores_seen(self) -> int:
        """Number of scores seen."""
        return 0 if self._scores is None else self._scores.n_seen

    @property
    def score_warning_at(self) -> int | None:
        """How many scores had been seen when `score_warning` was given; None if it was not."""
        return None if self._scores is None else self._scores.warning_at

    def history(self) -> list[History]:
        """Return the course of each guarantee, at up to 256 evenly spaced numbers of counted outcomes.

        Returns
        -------
        list of History
            One per guarantee, in the order of the constraints.
        """
        return [watch.history for watch in self._watches]

    @property
    def watches(self) -> tuple[GuaranteeWatch, ...]:
        """The bets against each guarantee."""
        return tuple(self._watches)

    def is_like(self, other: GuaranteeMonitor) -> bool:
        """Return whether another monitor watches the same guarantees of the same model at the same alpha.

        Parameters
        ----------
        other : GuaranteeMonitor
            The other monitor.

        Returns
        -------
        bool
            Whether guarantees, model and alpha are the same.
        """
        return bool(
            self.alpha == other.alpha
            and [watch.constraint for watch in self._watches] == [watch.constraint for watch in other._watches]
            and self._kind == other._kind
            and (self._kind == "binary" or self._labels == other._labels)
            and self._positive == other._positive
            and self._points_up == other._points_up
            and _same_reference(self._scores, other._scores)
        )


def find_constraints(model: Any) -> list[Constraint]:
    """Return the constraints that a fitted classifier was trained with; none if it is not fitted or has none.

    Constraints by group count as those on all samples that follow from them.
    """
    if not hasattr(model, "subject_to") or not hasattr(model, "_decision"):
        return []
    aim = model._task.aim(ThresholdRule(subject_to=separate_constraints(model.subject_to).implied))
    return [] if aim is None else list(aim.constraints)


def find_pooled_constraints(model: Any) -> list[Constraint]:
    """Return the constraints on all samples that a fitted classifier was trained with, without those by group."""
    found = find_constraints(model)
    n_by_group = len(separate_constraints(model.subject_to).bounds) if found else 0
    return found[: len(found) - n_by_group]  # what constraints by group imply comes last


class _Source(NamedTuple):
    """What a monitor needs to know of a guarantee."""

    constraints: list[Constraint]
    classes: Any = ([1], 1)
    points_up: bool = True
    reference: ScoreReference | None = None
    kind: Kind = "binary"


def _read_constraints(given: Any) -> list[Constraint]:
    try:
        _refuse_groups(given)
        constraints = parse_constraints(given)
    except TypeError as error:
        raise ValueError(_describe_wanted(given)) from error
    if not constraints:
        raise ValueError(_describe_wanted(given))
    named = next((one for one in constraints if one.of_class is not None), None)
    if named is not None:
        raise ValueError(
            f"{str(named)!r} is about one of several classes or labels, which only a model knows: give a classifier "
            f"trained with subject_to={str(named)!r} as the guarantee"
        )
    return _refuse_repeated(constraints)


def _refuse_groups(subject_to: Any) -> None:
    """Raise if a constraint is by group."""
    by_group = separate_constraints(subject_to).by_group
    if by_group:
        raise ValueError(
            f"{by_group[0]} is by group, and a monitor watches all outcomes together: make one monitor per group of "
            f"{by_group[0].by!r}, such as GuaranteeMonitor('{by_group[0].constraint}'), and give it the outcomes of "
            "that group"
        )


def _describe_wanted(given: Any) -> str:
    return (
        f"{given!r} is no guarantee: give a classifier trained with subject_to, 'precision>=0.9', "
        "('precision', '>=', 0.9), or a list of these"
    )


def _refuse_repeated(constraints: list[Constraint]) -> list[Constraint]:
    texts = [str(one) for one in constraints]
    repeated = next((text for text in texts if texts.count(text) > 1), None)
    if repeated is not None:
        raise ValueError(f"{repeated} is given twice: give each guarantee once")
    return constraints


def _read_model(model: Any) -> _Source:
    """Return what a monitor needs to know of a fitted classifier, which may be the last step of a pipeline."""
    model = model.steps[-1][1] if hasattr(model, "steps") else model
    name = type(model).__name__
    if not hasattr(model, "subject_to"):
        raise ValueError(
            f"a {name} makes no guarantee: give a PlugInClassifier or MetricClassifier trained with subject_to, or the "
            "constraint itself, such as 'precision>=0.9'"
        )
    if not hasattr(model, "_decision"):
        raise ValueError(f"the {name} is not fitted: call fit first")
    task, decision = model._task, model._decision
    _refuse_groups(model.subject_to)
    constraints = find_constraints(model)
    if not constraints:
        raise ValueError(
            f"the {name} was trained without subject_to, so that there is no guarantee to watch: train it with "
            "subject_to='precision>=0.9', or give the constraint itself in place of the model"
        )
    reference: ScoreReference | None = decision.reference
    if not task.is_binary:
        kind: Kind = "multilabel" if task.is_multilabel else "multiclass"
        shifted = None if reference is None else reference.shift(decision.threshold)
        return _Source(_refuse_repeated(constraints), (task.names, None), reference=shifted, kind=kind)
    if reference is not None:
        # Cuts of a profit are of margins already, from which its shift is subtracted.
        is_profit = isinstance(decision, ProfitDecision)
        margins = reference.cuts - decision.threshold if is_profit else decision.margins(reference.cuts)
        reference = ScoreReference(margins, reference.n_above, reference.n_samples)
    review = [model.review_label_] if hasattr(model, "review_label_") else []
    classes = ([*task.classes.tolist(), *review], np.asarray(task.positive).item())
    return _Source(_refuse_repeated(constraints), classes, task.points_up, reference)


def _same_reference(first: ScoreWatch | None, second: ScoreWatch | None) -> bool:
    if first is None or second is None:
        return first is second
    one, other = first.reference, second.reference
    return one.n_samples == other.n_samples and np.array_equal(one.cuts, other.cuts)
