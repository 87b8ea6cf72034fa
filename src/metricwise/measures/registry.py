"""Measures by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from difflib import get_close_matches
from functools import partial
from typing import Any

from metricwise.measures.averages import AVERAGES, Averaged
from metricwise.measures.base import CountsTable, Measure
from metricwise.measures.contingency import (
    MCC,
    Accuracy,
    BalancedAccuracy,
    CohenKappa,
    FBeta,
    GMean,
    GowerLegendre,
    HMean,
    Jaccard,
    MinRate,
    QMean,
)
from metricwise.measures.ranking import PartialAuc, RocAuc
from metricwise.measures.restricted import PRBEP, PrecisionAtK, PrecisionAtRecall, RecallAtK, RecallAtPrecision

_FACTORIES: dict[str, Callable[[], Measure]] = {}
# What a parameter in text makes of a measure, by key; "f-beta" has no default and so no name without one.
_PARAMETRIC: dict[str, Callable[[str], Measure]] = {
    "fbeta": lambda text: FBeta(float(text)),
    "gowerlegendre": lambda text: GowerLegendre(float(text)),
    "partialauc": lambda text: PartialAuc(max_fpr=float(text)),
    "partialrocauc": lambda text: PartialAuc(max_fpr=float(text)),
    "precisionatk": lambda text: _top(PrecisionAtK, text),
    "recallatk": lambda text: _top(RecallAtK, text),
    "precisionatrecall": lambda text: PrecisionAtRecall(float(text)),
    "recallatprecision": lambda text: RecallAtPrecision(float(text)),
}
_NAMES: dict[str, str] = {}  # From what is left of a name or an alias once spelling is ignored, to the name.


def _key(name: str) -> str:
    """Forget what should not matter: case, hyphens, underscores and spaces."""
    return name.lower().translate(str.maketrans("", "", "-_ "))


def register(
    name: str, factory: Callable[[], Measure], aliases: Iterable[str] = (), *, overwrite: bool = False
) -> None:
    """Make a measure known by a name.

    Parameters
    ----------
    name : str
        The name; case, hyphens, underscores and spaces do not count.
    factory : callable
        Called without arguments, gives the measure. The class of a measure whose parameters have defaults will do.
    aliases : iterable of str, optional
        Other names of the same measure, which `registered_names` does not list.
    overwrite : bool, default=False
        Whether to replace a measure of exactly this name, if there is one; its aliases stay.

    Raises
    ------
    TypeError
        If the factory does not give a measure.
    ValueError
        If a name or alias is empty or taken.

    Examples
    --------
    >>> from metricwise.measures import FBeta, get_measure, register
    >>> register("f1", FBeta, aliases=["dice"], overwrite=True)
    >>> get_measure("Dice")
    FBeta(beta=1.0)
    """
    keys = [_key(spelling) for spelling in (name, *aliases)]
    for spelling, key in zip((name, *aliases), keys, strict=True):
        owner = _NAMES.get(key)
        if not key:
            raise ValueError(f"A measure cannot be registered under the empty name {spelling!r}.")
        if owner is not None and not (overwrite and owner == name):
            raise ValueError(
                f"{spelling!r} is taken by measure {owner!r}; choose another name, or overwrite=True to replace it."
            )
    if not callable(factory) or not _is_measure(factory()):
        raise TypeError(f"factory must be callable without arguments and return a measure, got {factory!r}.")
    _FACTORIES[name] = factory
    _NAMES.update(dict.fromkeys(keys, name))


def get_measure(measure: str | Measure) -> Measure:
    """Return the measure of a name; a measure is returned as it is.

    Parameters
    ----------
    measure : str or Measure
        A registered name, in which case, hyphens, underscores and spaces do not count, or a measure. The name of a
        measure of the contingency table followed by "macro", "micro", "weighted" or "samples" is an average of it over
        several classes or labels, as in scikit-learn. A parameter may follow: "f-beta:2", "gower-legendre:0.5",
        "partial-auc:0.05" (the largest false positive rate), "precision@100" (samples), "recall@5%" (of all samples),
        "recall@precision:0.9", "precision@recall:0.8".

    Returns
    -------
    Measure
        The measure, with its default parameters if it was named without.

    Raises
    ------
    ValueError
        If no measure has the name; the message suggests some.
    TypeError
        If given neither text nor a measure.

    Examples
    --------
    >>> from metricwise.measures import get_measure
    >>> get_measure("g-mean")
    GMean()
    >>> get_measure("MCC").name
    'matthews_corrcoef'
    >>> get_measure("recall@precision:0.95")
    RecallAtPrecision(precision=0.95)
    >>> get_measure("recall@5%")
    RecallAtK(k=0.05, of='samples')
    """
    if isinstance(measure, str):
        return _averaged(measure) or _named(measure)
    if isinstance(measure, type):
        raise TypeError(f"measure is the class {measure.__name__}; call it to get a measure: {measure.__name__}().")
    if _is_measure(measure):
        return measure
    raise TypeError(
        f"measure must be the name of a measure or a measure, got {measure!r} of type {type(measure).__name__}. "
        "A function of (tp, fp, fn, tn) becomes a measure by metricwise.contingency_measure."
    )


def registered_names(needs: Any = None) -> tuple[str, ...]:
    """Return the names of the registered measures, sorted.

    Parameters
    ----------
    needs : runtime-checkable protocol or class, optional
        A capability, such as `metricwise.measures.RatioOfRates`, that the measures must have.

    Returns
    -------
    tuple of str
        The names, without aliases.

    Examples
    --------
    >>> from metricwise.measures import RestrictsLabellings, registered_names
    >>> registered_names(needs=RestrictsLabellings)
    ('prbep', 'precision_at_k', 'recall_at_k')
    """
    return tuple(sorted(name for name, make in _FACTORIES.items() if needs is None or isinstance(make(), needs)))


def _is_measure(value: object) -> bool:
    # The class of a measure has the attributes of a measure, too.
    return isinstance(value, Measure) and not isinstance(value, type)


def _averaged(name: str) -> Measure | None:
    """Return the average that a name such as "f1_macro" stands for, or None."""
    for average in AVERAGES:
        text = name.strip()
        if not text.lower().endswith(average):
            continue
        base = text[: -len(average)].rstrip("-_ ")
        if not _with_parameter(base) and _key(base) not in _NAMES:
            continue
        measure = _named(base)
        if isinstance(measure, CountsTable):
            return Averaged(measure, average)  # type: ignore[arg-type]
    return None


def _named(name: str) -> Measure:
    """Return the measure of a name, with the parameter that follows it if there is one."""
    found = _with_parameter(name)
    if found is None:
        return _FACTORIES[_known(name)]()
    key, value = found
    if key not in _PARAMETRIC:
        takers = "f-beta:2, gower-legendre:0.5, partial-auc:0.05, precision@100, recall@5%, recall@precision:0.9"
        raise ValueError(f"There is no measure with a parameter {name!r}; such as there are: {takers}.")
    try:
        return _PARAMETRIC[key](value)
    except ValueError as error:
        raise ValueError(f"The parameter {value!r} of the measure {name!r} does not fit: {error}") from error


def _with_parameter(name: str) -> tuple[str, str] | None:
    """Divide "recall@precision:0.9" into the key of "recall at precision" and "0.9"; None without a parameter."""
    before, at, behind = name.partition("@")
    if not at:
        before, colon, value = name.partition(":")
        return (_key(before), value.strip()) if colon else None
    limited, colon, value = behind.partition(":")
    if colon:
        return f"{_key(before)}at{_key(limited)}", value.strip()
    return f"{_key(before)}atk", behind.strip()


def _top(measure: type[PrecisionAtK] | type[RecallAtK], text: str) -> Measure:
    """Return the measure at so many samples, or at a percentage of all samples."""
    if text.endswith("%"):
        return measure(float(text[:-1]) / 100.0, of="samples")
    return measure(int(text))


def _known(name: str) -> str:
    """Return the registered spelling of a name, or raise ValueError with suggestions."""
    key = _key(name)
    if key in _NAMES:
        return _NAMES[key]
    close = dict.fromkeys(_NAMES[match] for match in get_close_matches(key, _NAMES))
    hint = f"; did you mean {' or '.join(map(repr, close))}?" if close else "."
    raise ValueError(f"There is no measure {name!r}{hint} The names are: {', '.join(registered_names())}.")


register("accuracy", Accuracy)
register("balanced_accuracy", BalancedAccuracy)
register("cohen_kappa", CohenKappa, ["kappa"])
register("f0.5", partial(FBeta, 0.5))
register("f1", FBeta)
register("f2", partial(FBeta, 2.0))
register("g_mean", GMean)
register("gower_legendre", GowerLegendre)
register("h_mean", HMean)
register("jaccard", Jaccard)
register("matthews_corrcoef", MCC, ["mcc"])
register("min_rate", MinRate)
register("partial_roc_auc", PartialAuc, ["partial_auc"])
register("prbep", PRBEP)
register("precision_at_k", PrecisionAtK)
register("precision_at_recall", PrecisionAtRecall)
register("q_mean", QMean)
register("recall_at_k", RecallAtK)
register("recall_at_precision", RecallAtPrecision)
register("roc_auc", RocAuc, ["auc"])
