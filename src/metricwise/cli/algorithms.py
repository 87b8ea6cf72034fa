"""Map the command's algorithm names to estimators, and build them from the options."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import click

from metricwise.cli import reviews
from metricwise.registry import EstimatorEntry, entries

if TYPE_CHECKING:
    from metricwise.estimators.selection.profile import Profile

AUTO = "auto"
SELECTING = "feature-selecting-svm"
LEARNERS = ("logistic", "boosted-trees", "extra-trees")
_FITS_PER_GUARANTEE = 6  # one fit per fold, and the final fit


def algorithm_names(found: Iterable[EstimatorEntry] | None = None) -> tuple[str, ...]:
    """Return the command-line names of registry entries, by default of all."""
    return tuple(entry.command_name for entry in (entries() if found is None else found))


def find_algorithm(algorithm: str) -> EstimatorEntry:
    """Return the registry entry with this command-line name."""
    return next(entry for entry in entries() if entry.command_name == algorithm)


def default_measure(algorithm: str) -> str:
    """Return the measure that an algorithm is trained for unless another is given.

    Examples
    --------
    >>> default_measure("auto"), default_measure("ranking-svm")
    ('f1', 'ndcg')
    """
    return "ndcg" if find_algorithm(algorithm).ranks_queries else "f1"


def describe_algorithms() -> str:
    """Return the list of algorithms for the help text, one line per algorithm."""
    lines = (f"{entry.command_name:22} {entry.description}" for entry in entries())
    return "\n".join(["\b", "Algorithms:", *lines])


class AlgorithmName(click.ParamType):
    """The command-line name of an estimator."""

    name = "algorithm"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the name, or fail if no algorithm has it."""
        if value not in algorithm_names():
            self.fail(f"{value!r} is not one of {', '.join(algorithm_names())}.", param, ctx)
        return str(value)


@dataclass(frozen=True)
class Settings:
    """Options of training: the measure, the hyperparameters, the positive class, and whether samples are in groups."""

    measure: str
    learner: str = "logistic"
    C: float | None = None
    n_features: int | None = None
    subject_to: tuple[Any, ...] = ()
    confidence: float | None = None
    group_thresholds: bool = False
    time_budget: float | None = None
    checkpoint: str | None = None
    every: int | None = None
    seed: int = 0
    pos_label: Any = None
    is_grouped: bool = False
    review_share: float | None = None
    abstain: bool = False

    @property
    def wants_reviews(self) -> bool:
        """Whether samples are sent to review."""
        return self.abstain or self.review_share is not None


def check_stream_options(
    stream: bool, disk: bool, passes: int, classes: str | None, on_error: str, groups: str | int | None
) -> None:
    """Raise a usage error if an option would have no effect."""
    if groups is not None and (stream or disk):
        raise click.UsageError("--groups is for samples in memory: leave --stream and --disk out, or --groups")
    if not stream and (passes != 1 or classes is not None):
        name = "--classes" if passes == 1 else "--passes"
        raise click.UsageError(f"{name} is for --stream: add it, or leave {name} out")
    if on_error == "skip" and not (stream or disk):
        raise click.UsageError("--on-error is for --stream and --disk: add one of them, or correct the file")


def deduct_seconds(settings: Settings, seconds: float) -> Settings:
    """Return settings with the time budget that is left after reading and imports; training has half of it at least.

    Examples
    --------
    >>> deduct_seconds(Settings("f1", time_budget=10.0), 2.0).time_budget
    8.0
    >>> deduct_seconds(Settings("f1", time_budget=10.0), 60.0).time_budget
    5.0
    """
    budget = settings.time_budget
    return settings if budget is None else replace(settings, time_budget=max(budget - seconds, 0.5 * budget))


def check_usage(algorithm: str, settings: Settings, is_multilabel: bool, stream: bool, disk: bool) -> None:
    """Raise a usage error if options contradict each other."""
    entry = find_algorithm(algorithm)
    if settings.time_budget is not None and entry.family in ("wrapper", "multilabel"):
        raise click.UsageError(f"--time-budget has no effect on {algorithm}: leave it out")
    if settings.n_features is not None and algorithm != SELECTING:
        raise click.UsageError(f"--n-features is for {SELECTING}: leave it out")
    if settings.checkpoint is not None and not entry.has_checkpoints and not (stream and algorithm == AUTO):
        supported = ", ".join(algorithm_names(entries(has_checkpoints=True)))
        raise click.UsageError(f"--checkpoint is for {supported} and --stream: leave it out")
    if settings.checkpoint is not None and settings.subject_to:
        raise click.UsageError("--checkpoint stores one fit, and --subject-to needs one fit per fold: leave one out")
    reviews.check_usage(entry, settings, is_multilabel, stream or disk)
    _check_confidence(entry, settings)
    _check_group_thresholds(settings)
    if entry.ranks_queries:
        _check_ranker(algorithm, settings)
    if stream and disk:
        raise click.UsageError("--stream reads the samples in their order, --disk as often as needed: leave one out")
    if stream:
        fitting = (AUTO, *algorithm_names(entries(trains_on="stream")))
        _check_location("--stream", fitting, algorithm, settings, is_multilabel)
    if disk:
        _check_location("--disk", algorithm_names(entries(trains_on="disk")), algorithm, settings, is_multilabel)
    _check_targets(entry, settings, is_multilabel)


def _check_ranker(algorithm: str, settings: Settings) -> None:
    """Raise a usage error if an option is for classifiers."""
    for option, value in (("--pos-label", settings.pos_label), ("--subject-to", settings.subject_to or None)):
        if value is not None:
            raise click.UsageError(f"{option} is for classifiers, and {algorithm} ranks by relevance: leave it out")


def _check_confidence(entry: EstimatorEntry, settings: Settings) -> None:
    """Raise a usage error if a confidence is given without a constraint."""
    if settings.confidence is None or settings.subject_to:
        return
    from metricwise.decisions.binary import make_aim
    from metricwise.measures import get_measure

    if not entry.has_guarantees or not make_aim(get_measure(settings.measure), None).constraints:
        raise click.UsageError(
            "--confidence is for --subject-to, and for measures such as recall@precision:0.9: leave it out"
        )


def _check_group_thresholds(settings: Settings) -> None:
    """Raise a usage error if thresholds per group are asked for without constraints by group."""
    from metricwise.decisions.group_constraints import separate_constraints

    if settings.group_thresholds and not separate_constraints(settings.subject_to).by_group:
        raise click.UsageError(
            '--group-thresholds is for --subject-to "recall>=0.8 by region" and the like: add one, or leave it out'
        )


def _check_targets(entry: EstimatorEntry, settings: Settings, is_multilabel: bool) -> None:
    """Raise a usage error if the algorithm does not take this number of targets."""
    if is_multilabel and (
        entry.family == "svm"
        or (entry.family == "streaming" and entry.is_linear)
        or entry.command_name in ("cost-sensitive", "adapted-svm")
    ):
        fitting = ", ".join([AUTO, "plug-in", *algorithm_names(entries("multilabel"))])
        raise click.UsageError(f"{entry.command_name} takes one --target; multilabel targets are for {fitting}")
    if is_multilabel and settings.pos_label is not None:
        raise click.UsageError("--pos-label is for one --target of two classes: leave it out")
    if is_multilabel and settings.subject_to and not entry.has_guarantees:
        fitting = ", ".join(algorithm_names(one for one in entries() if one.has_guarantees))
        raise click.UsageError(f"--subject-to with several --target columns is for {fitting}: name one by --algorithm")
    if not is_multilabel and entry.family == "multilabel":
        raise click.UsageError(f"{entry.command_name} takes two or more --target columns of zeros and ones")


def _check_location(
    option: str, fitting: tuple[str, ...], algorithm: str, settings: Settings, is_multilabel: bool
) -> None:
    """Raise a usage error if other options need the samples in memory."""
    if algorithm not in fitting:
        raise click.UsageError(f"{option} is for {', '.join(fitting)}: name one of them")
    if settings.subject_to and (algorithm != AUTO or option == "--stream"):
        instead = "" if option == "--stream" else f", or use --algorithm {AUTO}"
        raise click.UsageError(f"--subject-to needs all samples at once: leave {option} out{instead}")
    if is_multilabel:
        raise click.UsageError(f"{option} takes one --target: train a model for each, or leave {option} out")


def build_estimator(algorithm: str, settings: Settings, X: Any) -> Any:
    """Return an unfitted estimator with the preprocessing that X needs."""
    entry = find_algorithm(algorithm)
    if settings.wants_reviews and not entry.sends_to_review:
        # Any other algorithm is wrapped in TriageClassifier, for two thresholds of its scores.
        learner = _build(entry, _divide_budget(replace(settings, subject_to=(), confidence=None)), X)
        return reviews.wrap(learner, settings, _guarantee_parameters(settings) | _common_parameters(settings))
    if not settings.subject_to or entry.has_guarantees:
        return _build(entry, settings, X)
    # An algorithm without guarantees of its own is wrapped in PlugInClassifier, for a threshold that has them.
    learner = _build(entry, _divide_budget(settings), X)
    plug_in = find_algorithm("plug-in").load()
    return plug_in(learner, settings.measure, **_guarantee_parameters(settings), **_common_parameters(settings))


def name_labels(table: Any, settings: Settings) -> Any:
    """Return the targets of a table; under constraints, those of several columns with the names of these."""
    if table.y.ndim == 1 or not settings.subject_to:
        return table.y
    import pandas as pd

    return pd.DataFrame(table.y, columns=list(table.target_names))


def _divide_budget(settings: Settings) -> Settings:
    """Return settings with the time budget of one fit of an algorithm that is fitted once per fold and once more."""
    budget = settings.time_budget
    return settings if budget is None else replace(settings, time_budget=budget / _FITS_PER_GUARANTEE)


def _build(entry: EstimatorEntry, settings: Settings, X: Any) -> Any:
    parameters = _common_parameters(settings) | (_guarantee_parameters(settings) if entry.has_guarantees else {})
    if entry.family == "selection":
        return entry.load()(settings.measure, time_budget=settings.time_budget, **parameters)
    if entry.family == "multilabel":
        return _build_multilabel(entry, settings, X)
    if entry.command_name == "adapted-svm":
        return entry.load()(settings.measure, C=settings.C or 1.0, **parameters)
    if entry.sends_to_review:
        parameters |= {"capacity": settings.review_share}
    if entry.family == "wrapper":
        return entry.load()(_build_base_classifier(settings, X), settings.measure, **parameters)
    return _add_preprocessing(X, build_learner(entry.command_name, settings))


def _guarantee_parameters(settings: Settings) -> dict[str, Any]:
    confidence = {} if settings.confidence is None else {"confidence": settings.confidence}
    own = {"group_thresholds": True} if settings.group_thresholds else {}
    return {"subject_to": list(settings.subject_to) or None, **own, **confidence}


def build_learner(algorithm: str, settings: Settings) -> Any:
    """Return an unfitted estimator that trains for the measure on numeric features."""
    entry = find_algorithm(algorithm)
    if entry.family == "selection":
        return _build(entry, settings, None)
    cost = "C3" if algorithm == "sparse-coding" else "C"
    given: dict[str, Any] = {"max_seconds": settings.time_budget, cost: settings.C, "n_features": settings.n_features}
    if entry.family == "streaming" and settings.C is not None:
        raise click.UsageError(f"-C has no effect on {algorithm}: leave it out")
    if entry.has_checkpoints:
        given |= {"checkpoint": settings.checkpoint}
        given |= {"every": settings.every} if entry.family == "streaming" else {}
    common = _common_parameters(settings)
    if entry.ranks_queries:
        del common["pos_label"]
    return entry.load()(
        measure=settings.measure,
        **{key: value for key, value in given.items() if value is not None},
        **common,
    )


def _build_multilabel(entry: EstimatorEntry, settings: Settings, X: Any) -> Any:
    """Return an unfitted multilabel estimator whose inference rule optimises the measure."""
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
    return _build_base_classifier(settings, X, lambda learner: entry.load()(estimator=learner, **common))


def _common_parameters(settings: Settings) -> dict[str, Any]:
    return {"random_state": settings.seed, "pos_label": settings.pos_label}


def _profile_samples(X: Any) -> Profile:
    """Return the profile of the samples, and warn about columns that are left out."""
    from metricwise.estimators.selection.profile import Profile

    profile = Profile.of(X)
    profile.columns.announce()
    return profile


def _add_preprocessing(X: Any, learner: Any) -> Any:
    """Return a pipeline of the preprocessing that X needs and a learner of scaled, numeric features."""
    from metricwise.estimators.selection.preprocessing import for_numbers

    return for_numbers(_profile_samples(X), learner)


def _build_base_classifier(settings: Settings, X: Any, wrap: Callable[[Any], Any] = lambda learner: learner) -> Any:
    """Return a pipeline with the base classifier of --learner; ``wrap`` is applied to the classifier inside it."""
    from metricwise.estimators.selection.preprocessing import for_trees

    if settings.learner == "logistic":
        from sklearn.linear_model import LogisticRegression

        return _add_preprocessing(X, wrap(LogisticRegression(C=settings.C or 1.0, max_iter=1000)))
    if settings.C is not None:
        raise click.UsageError(f"-C has no effect on {settings.learner}: leave it out")
    from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier

    profile = _profile_samples(X)
    if settings.learner == "extra-trees":
        return for_trees(profile, wrap(ExtraTreesClassifier(100, random_state=settings.seed)))
    if profile.is_wide:
        raise ValueError(
            "boosted-trees takes no sparse samples with so many features: use --learner logistic or extra-trees"
        )
    from metricwise.estimators.selection.candidates.trees import stopping_settings

    columns, stopping = list(range(len(profile.categorical))) or None, stopping_settings(settings.is_grouped)[0]
    learner = HistGradientBoostingClassifier(categorical_features=columns, random_state=settings.seed, **stopping)
    return for_trees(profile, wrap(learner))


def choose_stream_algorithm(measure: str) -> str:
    """Return the first streaming algorithm of the registry that can optimise the measure."""
    from metricwise.measures import get_measure

    found = get_measure(measure)
    return next(entry.command_name for entry in entries("streaming") if entry.fits(found))


def parse_label(text: str | None, classes: Any) -> Any:
    """Return the label that prints as the text; None if there is no text."""
    if text is None:
        return None
    for label in list(classes):
        if str(label) == text or (isinstance(label, float) and label.is_integer() and str(int(label)) == text):
            return label
    raise ValueError(f"--pos-label {text} is none of the labels: {', '.join(str(label) for label in classes)}")
