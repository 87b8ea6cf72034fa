"""The registry of measures: look up by name, register new ones."""

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
    GowerLegendre,
    Jaccard,
)
from metricwise.measures.profit import parse_profit
from metricwise.measures.rank_gains import NDCG, AveragePrecision, ReciprocalRank
from metricwise.measures.ranking import PartialAuc, RocAuc, TwoWayPartialAuc
from metricwise.measures.rates import GMean, HMean, MinRate, QMean
from metricwise.measures.restricted import PRBEP, PrecisionAtK, PrecisionAtRecall, RecallAtK, RecallAtPrecision
from metricwise.measures.shares import Share

_FACTORIES: dict[str, Callable[[], Measure]] = {}
# Makes a measure from the text of its parameter, by key; "f-beta" has no default and so no name without one.
_PARAMETRIC: dict[str, Callable[[str], Measure]] = {
    "cohenkappa": lambda text: CohenKappa(text),  # type: ignore[arg-type]
    "fbeta": lambda text: FBeta(float(text)),
    "gowerlegendre": lambda text: GowerLegendre(float(text)),
    "ndcgatk": lambda text: NDCG(int(text)),
    "partialauc": lambda text: PartialAuc(max_fpr=float(text)),
    "partialrocauc": lambda text: PartialAuc(max_fpr=float(text)),
    "precisionatk": lambda text: _make_top_k(PrecisionAtK, text),
    "recallatk": lambda text: _make_top_k(RecallAtK, text),
    "precisionatrecall": lambda text: PrecisionAtRecall(float(text)),
    "recallatprecision": lambda text: RecallAtPrecision(float(text)),
    "twowaypartialauc": lambda text: _make_two_way(text),
    "twowaypartialrocauc": lambda text: _make_two_way(text),
}
_PROFIT = "profit:"  # starts the amounts of a profit
_NAMES: dict[str, str] = {}  # from the normalised spelling of a name or alias to the name


def _normalise(name: str) -> str:
    """Normalise the spelling of a name: drop case, hyphens, underscores and spaces."""
    return name.lower().translate(str.maketrans("", "", "-_ "))


def register(
    name: str, factory: Callable[[], Measure], aliases: Iterable[str] = (), *, overwrite: bool = False
) -> None:
    """Register a measure under a name.

    Parameters
    ----------
    name : str
        The name; case, hyphens, underscores and spaces are ignored.
    factory : callable
        Returns the measure when called without arguments, as the class of a measure with default parameters does.
    aliases : iterable of str, optional
        Other names of the same measure; `registered_names` does not list them.
    overwrite : bool, default=False
        Whether to replace a measure of exactly this name, if there is one; its aliases stay.

    Raises
    ------
    TypeError
        If the factory does not return a measure.
    ValueError
        If a name or alias is empty or taken.

    Examples
    --------
    >>> from metricwise.measures import FBeta, get_measure, register
    >>> register("f1", FBeta, aliases=["dice"], overwrite=True)
    >>> get_measure("Dice")
    FBeta(beta=1.0)
    """
    keys = [_normalise(spelling) for spelling in (name, *aliases)]
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
    """Return the measure with a given name; a measure is returned unchanged.

    Parameters
    ----------
    measure : str or Measure
        A measure, or a registered name; case, hyphens, underscores and spaces are ignored. The name of a measure of the
        contingency table followed by "macro", "micro", "weighted" or "samples" is its multiclass or multilabel average,
        as in scikit-learn. A parameter may follow: "f-beta:2", "gower-legendre:0.5", "cohen-kappa:quadratic",
        "partial-auc:0.05" (the largest false positive rate), "two-way-partial-auc:0.3,0.7" (the largest false positive
        and the smallest true positive rate), "precision@100" (samples), "recall@5%" (of all samples),
        "ndcg@10", "recall@precision:0.9", "precision@recall:0.8", "profit:tp=20, fp=-5" (see `Profit`).

    Returns
    -------
    Measure
        The measure, with default parameters if the name has none.

    Raises
    ------
    ValueError
        If no measure has the name; the message suggests similar names.
    TypeError
        If ``measure`` is neither text nor a measure.

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
        if measure.strip().lower().startswith(_PROFIT):  # whose columns may have any names
            return parse_profit(measure.strip()[len(_PROFIT) :])
        return _find_average(measure) or _make_named(measure)
    if isinstance(measure, type):
        raise TypeError(f"measure is the class {measure.__name__}; call it to get a measure: {measure.__name__}().")
    if _is_measure(measure):
        return measure
    raise TypeError(
        f"measure must be the name of a measure or a measure, got {measure!r} of type {type(measure).__name__}. "
        "metricwise.contingency_measure makes a measure from a function of (tp, fp, fn, tn)."
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


def _find_average(name: str) -> Measure | None:
    """Return the average that a name such as "f1_macro" stands for, or None."""
    for average in AVERAGES:
        text = name.strip()
        if not text.lower().endswith(average):
            continue
        base = text[: -len(average)].rstrip("-_ ")
        if not _split_parameter(base) and _normalise(base) not in _NAMES:
            continue
        measure = _make_named(base)
        if isinstance(measure, CountsTable):
            return Averaged(measure, average)  # type: ignore[arg-type]
    return None


def _make_named(name: str) -> Measure:
    """Return the measure of a name, with the parameter that follows it if there is one."""
    parts = _split_parameter(name)
    if parts is None:
        return _FACTORIES[_find_name(name)]()
    key, value = parts
    if key not in _PARAMETRIC:
        takers = (
            "f-beta:2, gower-legendre:0.5, cohen-kappa:quadratic, partial-auc:0.05, two-way-partial-auc:0.3,0.7, "
            "precision@100, recall@5%, ndcg@10, recall@precision:0.9"
        )
        raise ValueError(f"There is no measure with a parameter {name!r}; measures with one are written as {takers}.")
    try:
        return _PARAMETRIC[key](value)
    except ValueError as error:
        raise ValueError(f"The parameter {value!r} of the measure {name!r} does not fit: {error}") from error


def _split_parameter(name: str) -> tuple[str, str] | None:
    """Split "recall@precision:0.9" into the key of "recall at precision" and "0.9"; None without a parameter."""
    before, at, after = name.partition("@")
    if not at:
        before, colon, value = name.partition(":")
        return (_normalise(before), value.strip()) if colon else None
    limited, colon, value = after.partition(":")
    if colon:
        return f"{_normalise(before)}at{_normalise(limited)}", value.strip()
    return f"{_normalise(before)}atk", after.strip()


def _make_top_k(measure: type[PrecisionAtK] | type[RecallAtK], text: str) -> Measure:
    """Return the measure at a number of samples, or at a percentage of all samples."""
    if text.endswith("%"):
        return measure(float(text[:-1]) / 100.0, of="samples")
    return measure(int(text))


def _make_two_way(text: str) -> Measure:
    """Return the two-way partial area of "0.3,0.7": the largest false positive and the smallest true positive rate."""
    rates = text.split(",")
    if len(rates) != 2:
        raise ValueError("give the largest false positive and the smallest true positive rate, such as 0.3,0.7")
    return TwoWayPartialAuc(*map(float, rates))


def _find_name(name: str) -> str:
    """Return the registered spelling of a name; raise ValueError with suggestions if there is none."""
    key = _normalise(name)
    if key in _NAMES:
        return _NAMES[key]
    close = dict.fromkeys(_NAMES[match] for match in get_close_matches(key, _NAMES))
    hint = f"; did you mean {' or '.join(map(repr, close))}?" if close else "."
    raise ValueError(f"There is no measure {name!r}{hint} The names are: {', '.join(registered_names())}.")


register("accuracy", Accuracy)
register("average_precision", AveragePrecision, ["ap"])
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
register("ndcg", NDCG)
register("npv", partial(Share, "npv"), ["negative_predictive_value"])
register("partial_roc_auc", PartialAuc, ["partial_auc"])
register("prbep", PRBEP)
register("precision", partial(Share, "precision"))
register("precision_at_k", PrecisionAtK)
register("precision_at_recall", PrecisionAtRecall)
register("q_mean", QMean)
register("recall", partial(Share, "recall"), ["sensitivity"])
register("recall_at_k", RecallAtK)
register("recall_at_precision", RecallAtPrecision)
register("reciprocal_rank", ReciprocalRank)
register("roc_auc", RocAuc, ["auc"])
register("specificity", partial(Share, "specificity"))
register("two_way_partial_auc", TwoWayPartialAuc, ["two_way_partial_roc_auc"])
