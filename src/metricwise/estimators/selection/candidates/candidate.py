"""A candidate: a learner with its settings, and the problem that it is made for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from metricwise.estimators.selection.profile import Profile
from metricwise.measures import Measure

Settings = dict[str, Any]


@dataclass(frozen=True)
class Problem:
    """What candidates are made for.

    Attributes
    ----------
    profile : Profile
        The shape and the kind of the samples.
    measure : Measure
        What predictions are judged by.
    n_outputs : int
        Scores that are predicted per sample: one of two classes, otherwise one per class or label.
    is_multilabel : bool
        Whether samples have sets of labels, each of which is learnt by a model of its own.
    seed : int
        Seeds the learners.
    """

    profile: Profile
    measure: Measure
    n_outputs: int = 1
    is_multilabel: bool = False
    seed: int = 0

    @property
    def is_binary(self) -> bool:
        """Whether there are two classes."""
        return self.n_outputs == 1 and not self.is_multilabel

    @property
    def is_multiclass(self) -> bool:
        """Whether there are more than two classes."""
        return self.n_outputs > 1 and not self.is_multilabel


@dataclass(frozen=True)
class Candidate:
    """A learner with its name, its settings, and the growth of its time with the samples.

    ``last`` is trained on all samples if the candidate is selected, which takes ``last_cost`` times as long; None for
    the same estimator. A learner that needs many samples, and takes nearly as long for few, runs from ``least_samples``
    on. One that needs many times the memory of its samples is trained on ``most_samples`` of them. Settings that may
    gain more from more samples than others of the learner (``gains_later``) are not judged by few.
    """

    name: str
    estimator: Any
    settings: Settings = field(default_factory=dict)
    growth: float = 1.0  # exponent
    last: Any = None
    last_cost: float = 1.0
    least_samples: int = 0
    most_samples: int | None = None
    gains_later: bool = False

    def change_estimators(self, change: Callable[[Any], Any]) -> Candidate:
        """Return the candidate with other estimators, made of its own."""
        last = None if self.last is None else change(self.last)
        return replace(self, estimator=change(self.estimator), last=last)

    @property
    def shown_settings(self) -> Settings:
        """The settings, with the number of samples if it is limited.

        Examples
        --------
        >>> Candidate("linear SVM", None, {"C": 1.0}, most_samples=50_000).shown_settings
        {'C': 1.0, 'samples': 50000}
        """
        return self.settings if self.most_samples is None else self.settings | {"samples": self.most_samples}

    @property
    def title(self) -> str:
        """The name with the settings.

        Examples
        --------
        >>> Candidate("logistic regression", None, {"C": 0.1}).title
        'logistic regression (C=0.1)'
        """
        settings = ", ".join(f"{name}={value}" for name, value in self.shown_settings.items())
        return f"{self.name} ({settings})" if settings else self.name

    @property
    def final(self) -> Any:
        """The estimator that is trained on all samples."""
        return self.estimator if self.last is None else self.last


Maker = Callable[[Problem], Iterator[Candidate]]
