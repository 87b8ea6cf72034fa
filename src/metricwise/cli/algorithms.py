"""Algorithms by the names that the command has for them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import click

# One estimator each that is trained for the measure on scaled numbers: its class and home.
_TRAINED = {
    "multivariate-svm": ("MultivariateSVC", "metricwise.estimators.multivariate_svc"),
    "smoothed-svm": ("SmoothedSVC", "metricwise.estimators.smoothed_svc"),
    "feature-selecting-svm": ("FeatureSelectingSVC", "metricwise.estimators.feature_selecting_svc"),
    "auc-svm": ("AUCSVC", "metricwise.estimators.auc_svc"),
    "sparse-coding": ("SparseCodingClassifier", "metricwise.estimators.sparse_coding"),
    "amp": ("AMPClassifier", "metricwise.estimators.amp"),
    "stamp": ("STAMPClassifier", "metricwise.estimators.stamp"),
    "spade": ("SPADEClassifier", "metricwise.estimators.spade"),
    "mini-batch-svm": ("MiniBatchSVC", "metricwise.estimators.minibatch_svc"),
}
STREAMING = ("stamp", "spade", "mini-batch-svm")
ON_DISK = ("multivariate-svm", "smoothed-svm", "auc-svm", "amp")  # the first is what auto means there
KEEPING = ("multivariate-svm", "auc-svm", "amp")  # a state of their training, beside those that stream
SELECTING = "feature-selecting-svm"
_WRAPPING = ("plug-in", "cost-sensitive", "adapted-svm")
_OF_LABELS = ("binary-relevance", "classifier-chain")
NAMES = ("auto", *_TRAINED, *_WRAPPING, *_OF_LABELS)
LEARNERS = ("logistic", "boosted-trees", "extra-trees")
_FITS_OF_A_PROMISE = 6  # five folds, and all rows


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
    untimed = algorithm in _WRAPPING or algorithm in _OF_LABELS
    if settings.time_budget is not None and untimed:
        raise click.UsageError(f"--time-budget has no meaning for {algorithm}: leave it out")
    if settings.n_features is not None and algorithm != SELECTING:
        raise click.UsageError(f"--n-features is for {SELECTING}: leave it out")
    if settings.checkpoint is not None and algorithm not in (*STREAMING, *KEEPING) and not stream:
        raise click.UsageError(f"--checkpoint is for {', '.join([*STREAMING, *KEEPING])} and --stream: leave it out")
    if settings.checkpoint is not None and settings.subject_to:
        raise click.UsageError("--checkpoint keeps one training, and --subject-to makes several: leave one out")
    if stream and disk:
        raise click.UsageError("--stream reads the rows in their order, --disk as often as needed: leave one out")
    if stream:
        _check_rows_elsewhere("--stream", ("auto", *STREAMING), algorithm, settings, several)
    if disk:
        _check_rows_elsewhere("--disk", ON_DISK, algorithm, settings, several)
    if several and algorithm in (*_TRAINED, "cost-sensitive", "adapted-svm"):
        fitting = ", ".join(["auto", "plug-in", *_OF_LABELS])
        raise click.UsageError(f"{algorithm} takes one --target; several are for {fitting}")
    if several and settings.subject_to:
        raise click.UsageError("--subject-to takes one --target: train a model for each")
    if not several and algorithm in _OF_LABELS:
        raise click.UsageError(f"{algorithm} takes several --target columns of zeros and ones")


def _check_rows_elsewhere(
    way: str, fitting: tuple[str, ...], algorithm: str, settings: Settings, several: bool
) -> None:
    """Raise a usage error if rows that are not in memory do not suit the other options."""
    if algorithm not in fitting:
        raise click.UsageError(f"{way} is for {', '.join(fitting)}: name one of them")
    if settings.subject_to:
        raise click.UsageError(f"--subject-to needs all rows at once: leave {way} out")
    if several:
        raise click.UsageError(f"{way} takes one --target: train a model for each, or leave {way} out")


def build(algorithm: str, settings: Settings, X: Any) -> Any:
    """Return an estimator that takes rows such as these, with what prepares them."""
    from metricwise.estimators.plug_in.classifier import PlugInClassifier

    if algorithm == "plug-in":
        return PlugInClassifier(_learner(settings, X), settings.measure, **_promise(settings), **_common(settings))
    model = _plain(algorithm, settings, X)
    if settings.subject_to:
        return PlugInClassifier(model, settings.measure, **_promise(settings), **_common(settings))
    return model


def _plain(algorithm: str, settings: Settings, X: Any) -> Any:
    """Return an estimator without constraints."""
    if algorithm == "auto":
        from metricwise.estimators.front_door.classifier import MetricClassifier

        budget = settings.time_budget
        if budget is not None and settings.subject_to:
            budget /= _FITS_OF_A_PROMISE
        told = None if settings.subject_to else settings.callback
        return MetricClassifier(settings.measure, time_budget=budget, callback=told, **_common(settings))
    if algorithm == "cost-sensitive":
        from metricwise.estimators.cost_sensitive.classifier import CostSensitiveClassifier

        return CostSensitiveClassifier(_learner(settings, X), settings.measure, **_common(settings))
    if algorithm == "adapted-svm":
        from metricwise.estimators.adapted.classifier import AdaptedSVC

        return AdaptedSVC(settings.measure, C=settings.C or 1.0, **_common(settings))
    if algorithm in _OF_LABELS:
        return _of_labels(algorithm, settings, X)
    return _prepared(X, trained(algorithm, settings))


def trained(algorithm: str, settings: Settings) -> Any:
    """Return an estimator that is trained for the measure on rows of numbers."""
    name, home = _TRAINED[algorithm]
    kind = getattr(import_module(home), name)
    price = "C3" if algorithm == "sparse-coding" else "C"  # of a mistake
    given: dict[str, Any] = {"max_seconds": settings.time_budget, price: settings.C, "n_features": settings.n_features}
    if algorithm in STREAMING:
        if settings.C is not None:
            raise click.UsageError(f"-C has no meaning for {algorithm}: leave it out")
        given |= {"every": settings.every}
    if algorithm in (*STREAMING, *KEEPING):
        given |= {"checkpoint": settings.checkpoint}
    return kind(
        measure=settings.measure,
        **{key: value for key, value in given.items() if value is not None},
        **_common(settings),
    )


def _of_labels(algorithm: str, settings: Settings, X: Any) -> Any:
    """Return an estimator of several labels, with the rule that serves the measure."""
    from metricwise.estimators.multilabel.binary_relevance import BinaryRelevance
    from metricwise.estimators.multilabel.classifier_chain import ProbabilisticClassifierChain
    from metricwise.measures import Accuracy, Averaged, FBeta, get_measure

    measure: Any = get_measure(settings.measure)
    base = measure.base if isinstance(measure, Averaged) else measure
    average = measure.average if isinstance(measure, Averaged) else "macro"
    of_rows = {"binary-relevance": "meuf", "classifier-chain": "gfm"}[algorithm]
    rules = {"samples": of_rows, "macro": "macro_f", "micro": "micro_f"}
    common: dict[str, Any] = {"random_state": settings.seed}
    if isinstance(base, FBeta) and average in rules:
        common |= {"inference": rules[average], "beta": base.beta}
    elif isinstance(base, Accuracy):
        common |= {"inference": "hamming"}
    else:
        raise click.UsageError(
            f"{algorithm} chooses labels for f1_samples, f1_macro, f1_micro (or another beta) and accuracy, not for "
            f"{settings.measure}: use auto or plug-in"
        )
    kind = BinaryRelevance if algorithm == "binary-relevance" else ProbabilisticClassifierChain
    return _learner(settings, X, lambda learner: kind(estimator=learner, **common))


def _common(settings: Settings) -> dict[str, Any]:
    return {"random_state": settings.seed, "pos_label": settings.pos_label}


def _promise(settings: Settings) -> dict[str, Any]:
    if not settings.subject_to:
        return {}
    return {"subject_to": list(settings.subject_to), "confidence": settings.confidence}


def _prepared(X: Any, learner: Any) -> Any:
    """Return a learner that wants scaled numbers, behind what makes them."""
    from metricwise.estimators.front_door.preparing import for_numbers
    from metricwise.estimators.front_door.profile import Profile

    return for_numbers(Profile.of(X), learner)


def _learner(settings: Settings, X: Any, wrapped: Callable[[Any], Any] = lambda learner: learner) -> Any:
    """Return the classifier that a plug-in makes aware of the measure; ``wrapped`` goes between it and its rows."""
    from metricwise.estimators.front_door.preparing import for_trees
    from metricwise.estimators.front_door.profile import Profile

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
    """Return the streaming algorithm that suits a measure."""
    from metricwise.measures import HasDualRegion, RatioOfRates, get_measure

    found = get_measure(measure)
    if isinstance(found, RatioOfRates):
        return "stamp"
    return "spade" if isinstance(found, HasDualRegion) else "mini-batch-svm"


def label_of(text: str | None, classes: Any) -> Any:
    """Return the label that is written like a text; None without one."""
    if text is None:
        return None
    for label in list(classes):
        if str(label) == text or (isinstance(label, float) and label.is_integer() and str(int(label)) == text):
            return label
    raise ValueError(f"--pos-label {text} is none of the labels: {', '.join(str(label) for label in classes)}")
