"""Algorithms by the names that the command has for them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import click

from metricwise.registry import EstimatorEntry, entries

AUTO = "auto"
ON_DISK = "multivariate-svm"  # what auto means for samples on disk
SELECTING = "feature-selecting-svm"
LEARNERS = ("logistic", "boosted-trees", "extra-trees")
_FITS_OF_A_GUARANTEE = 6  # five folds, and all samples


def algorithm_names(found: Iterable[EstimatorEntry] | None = None) -> tuple[str, ...]:
    """Return the names that the command has for estimators; for all of them by default."""
    return tuple(entry.command_name for entry in (entries() if found is None else found))


def entry_of_algorithm(algorithm: str) -> EstimatorEntry:
    """Return the estimator that an algorithm of the command is."""
    return next(entry for entry in entries() if entry.command_name == algorithm)


def describe_algorithms() -> str:
    """Return a line for every algorithm, for the help of the command."""
    lines = (f"{entry.command_name:22} {entry.description}" for entry in entries())
    return "\n".join(["\b", "Algorithms:", *lines])


class AlgorithmName(click.ParamType):
    """An estimator of the registry by the name that the command has for it."""

    name = "algorithm"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the name, if there is such an algorithm."""
        if value not in algorithm_names():
            self.fail(f"{value!r} is not one of {', '.join(algorithm_names())}.", param, ctx)
        return str(value)


@dataclass(frozen=True)
class Settings:
    """What a model is to be trained for, and how."""

    measure: str
    learner: str = "logistic"
    C: float | None = None
    n_features: int | None = None
    subject_to: tuple[Any, ...] = ()
    confidence: float = 0.95
    time_budget: float | None = None
    checkpoint: str | None = None
    every: int | None = None
    seed: int = 0
    pos_label: Any = None
    callback: Callable[[Any], Any] | None = None


def check_usage(algorithm: str, settings: Settings, several: bool, stream: bool, disk: bool) -> None:
    """Raise a usage error if options do not go together."""
    entry = entry_of_algorithm(algorithm)
    if settings.time_budget is not None and entry.family in ("wrapper", "multilabel"):
        raise click.UsageError(f"--time-budget has no meaning for {algorithm}: leave it out")
    if settings.n_features is not None and algorithm != SELECTING:
        raise click.UsageError(f"--n-features is for {SELECTING}: leave it out")
    if settings.checkpoint is not None and not entry.checkpoints and not stream:
        keeping = ", ".join(algorithm_names(entries(checkpoints=True)))
        raise click.UsageError(f"--checkpoint is for {keeping} and --stream: leave it out")
    if settings.checkpoint is not None and settings.subject_to:
        raise click.UsageError("--checkpoint keeps one training, and --subject-to makes several: leave one out")
    if stream and disk:
        raise click.UsageError("--stream reads the samples in their order, --disk as often as needed: leave one out")
    if stream:
        fitting = (AUTO, *algorithm_names(entries(trains_on="stream")))
        _check_location("--stream", fitting, algorithm, settings, several)
    if disk:
        _check_location("--disk", algorithm_names(entries(trains_on="disk")), algorithm, settings, several)
    _check_targets(entry, settings, several)


def _check_targets(entry: EstimatorEntry, settings: Settings, several: bool) -> None:
    """Raise a usage error if the number of targets does not suit the algorithm."""
    if several and (entry.family in ("svm", "streaming") or entry.command_name in ("cost-sensitive", "adapted-svm")):
        fitting = ", ".join([AUTO, "plug-in", *algorithm_names(entries("multilabel"))])
        raise click.UsageError(f"{entry.command_name} takes one --target; several are for {fitting}")
    if several and settings.subject_to:
        raise click.UsageError("--subject-to takes one --target: train a model for each")
    if not several and entry.family == "multilabel":
        raise click.UsageError(f"{entry.command_name} takes several --target columns of zeros and ones")


def _check_location(option: str, fitting: tuple[str, ...], algorithm: str, settings: Settings, several: bool) -> None:
    """Raise a usage error if samples that are not in memory do not suit the other options."""
    if algorithm not in fitting:
        raise click.UsageError(f"{option} is for {', '.join(fitting)}: name one of them")
    if settings.subject_to:
        raise click.UsageError(f"--subject-to needs all samples at once: leave {option} out")
    if several:
        raise click.UsageError(f"{option} takes one --target: train a model for each, or leave {option} out")


def build(algorithm: str, settings: Settings, X: Any) -> Any:
    """Return an estimator that takes samples such as these, with what prepares them."""
    model = _without_constraints(algorithm, settings, X)
    if not settings.subject_to:
        return model
    # The plug-in keeps the constraints itself; around any other model it chooses the threshold that does.
    learner = _learner(settings, X) if algorithm == "plug-in" else model
    guarantee = {"subject_to": list(settings.subject_to), "confidence": settings.confidence}
    return entry_of_algorithm("plug-in").load()(learner, settings.measure, **guarantee, **_common(settings))


def _without_constraints(algorithm: str, settings: Settings, X: Any) -> Any:
    entry = entry_of_algorithm(algorithm)
    if entry.family == "selection":
        return _selection(entry, settings)
    if entry.family == "multilabel":
        return _multilabel(entry, settings, X)
    if algorithm == "adapted-svm":
        return entry.load()(settings.measure, C=settings.C or 1.0, **_common(settings))
    if entry.family == "wrapper":
        return entry.load()(_learner(settings, X), settings.measure, **_common(settings))
    return _prepared(X, trained(algorithm, settings))


def _selection(entry: EstimatorEntry, settings: Settings) -> Any:
    """Return model selection; under constraints its time is shared among the fits of the folds."""
    budget, callback = settings.time_budget, settings.callback
    if settings.subject_to:
        budget, callback = (None if budget is None else budget / _FITS_OF_A_GUARANTEE), None
    return entry.load()(settings.measure, time_budget=budget, callback=callback, **_common(settings))


def trained(algorithm: str, settings: Settings) -> Any:
    """Return an estimator that is trained for the measure on numbers."""
    entry = entry_of_algorithm(algorithm)
    cost = "C3" if algorithm == "sparse-coding" else "C"  # of a mistake
    given: dict[str, Any] = {"max_seconds": settings.time_budget, cost: settings.C, "n_features": settings.n_features}
    if entry.family == "streaming":
        if settings.C is not None:
            raise click.UsageError(f"-C has no meaning for {algorithm}: leave it out")
        given |= {"every": settings.every}
    if entry.checkpoints:
        given |= {"checkpoint": settings.checkpoint}
    return entry.load()(
        measure=settings.measure,
        **{key: value for key, value in given.items() if value is not None},
        **_common(settings),
    )


def _multilabel(entry: EstimatorEntry, settings: Settings, X: Any) -> Any:
    """Return a multilabel estimator, with the rule that serves the measure."""
    from metricwise.measures import Accuracy, Averaged, FBeta, get_measure

    measure: Any = get_measure(settings.measure)
    base = measure.base if isinstance(measure, Averaged) else measure
    average = measure.average if isinstance(measure, Averaged) else "macro"
    per_sample = {"binary-relevance": "meuf", "classifier-chain": "gfm"}.get(entry.command_name, "meuf")
    rules = {"samples": per_sample, "macro": "macro_f", "micro": "micro_f"}
    common: dict[str, Any] = {"random_state": settings.seed}
    if isinstance(base, FBeta) and average in rules:
        common |= {"inference": rules[average], "beta": base.beta}
    elif isinstance(base, Accuracy):
        common |= {"inference": "hamming"}
    else:
        raise click.UsageError(
            f"{entry.command_name} chooses labels for f1_samples, f1_macro, f1_micro (or another beta) and accuracy, "
            f"not for {settings.measure}: use auto or plug-in"
        )
    return _learner(settings, X, lambda learner: entry.load()(estimator=learner, **common))


def _common(settings: Settings) -> dict[str, Any]:
    return {"random_state": settings.seed, "pos_label": settings.pos_label}


def _prepared(X: Any, learner: Any) -> Any:
    """Return a learner that wants scaled numbers, behind what makes them."""
    from metricwise.estimators.selection.preprocessing import for_numbers
    from metricwise.estimators.selection.profile import Profile

    return for_numbers(Profile.of(X), learner)


def _learner(settings: Settings, X: Any, wrapped: Callable[[Any], Any] = lambda learner: learner) -> Any:
    """Return the classifier that a plug-in makes aware of the measure; ``wrapped`` goes between it and its rows."""
    from metricwise.estimators.selection.preprocessing import for_trees
    from metricwise.estimators.selection.profile import Profile

    if settings.learner == "logistic":
        from sklearn.linear_model import LogisticRegression

        return _prepared(X, wrapped(LogisticRegression(C=settings.C or 1.0, max_iter=1000)))
    if settings.C is not None:
        raise click.UsageError(f"-C has no meaning for {settings.learner}: leave it out")
    from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier

    profile = Profile.of(X)
    if settings.learner == "extra-trees":
        return for_trees(profile, wrapped(ExtraTreesClassifier(100, random_state=settings.seed)))
    if profile.is_wide:
        raise ValueError(
            "boosted-trees takes no sparse rows of so many features: use --learner logistic or extra-trees"
        )
    columns = list(range(len(profile.categorical))) or None
    learner = HistGradientBoostingClassifier(categorical_features=columns, random_state=settings.seed)
    return for_trees(profile, wrapped(learner))


def for_stream(measure: str) -> str:
    """Return the streaming algorithm that suits a measure: the first of the registry that fits."""
    from metricwise.measures import get_measure

    found = get_measure(measure)
    return next(entry.command_name for entry in entries("streaming") if entry.fits(found))


def label_of(text: str | None, classes: Any) -> Any:
    """Return the label that is written like a text; None without one."""
    if text is None:
        return None
    for label in list(classes):
        if str(label) == text or (isinstance(label, float) and label.is_integer() and str(int(label)) == text):
            return label
    raise ValueError(f"--pos-label {text} is none of the labels: {', '.join(str(label) for label in classes)}")
