"""All estimators, each described once.

Public names, `measure_names`, the command, model files, exports, error messages and contract tests read this table. An
estimator is loaded on first use, so that reading the table costs nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from metricwise.measures import Measure

Family = Literal["svm", "streaming", "wrapper", "selection", "multilabel"]
DataLocation = Literal["memory", "stream", "disk", "cluster"]

_ANY_MEASURE = ("metricwise.measures.base:Measure",)
_VIOLATED_LABELLING = ("metricwise.measures.base:HasViolatedLabelling",)
_TABLE = ("metricwise.measures.tables:EvaluatesTable",)
_RATIO = ("metricwise.measures.rate_capabilities:RatioOfRates",)


@dataclass(frozen=True)
class EstimatorEntry:
    """One estimator and what it can do.

    Parameters
    ----------
    name : str
        The class.
    home : str
        The module that defines it.
    family : {"svm", "streaming", "wrapper", "selection", "multilabel"}
        Kind of estimator; also the name of its folder.
    command_name : str
        Its name for ``metricwise train --algorithm``.
    description : str
        One line for the help of the command.
    needs : tuple of str
        Capabilities, as "module:name", one of which a measure must have; none if the estimator is not trained for a
        measure.
    trains_on : frozenset of {"memory", "stream", "disk", "cluster"}
        Where the samples may be.
    has_checkpoints : bool
        Whether an interrupted training can be resumed from a file.
    is_linear : bool
        Whether its scores are linear in the features (without a kernel).
    thresholds_learner : bool
        Whether it cuts the probabilities or decision values of another learner, its ``estimator_``.
    has_guarantees : bool
        Whether it takes constraints (``subject_to``) that hold on new samples with a ``confidence``.
    has_certificate : bool
        Whether `metricwise.certify` can recompute the bounds of its training objective.
    ranks_queries : bool
        Whether it ranks the samples of queries by their relevance: no classifier, and without a threshold.
    sends_to_review : bool
        Whether it leaves samples undecided for a person, between two thresholds.
    """

    name: str
    home: str
    family: Family
    command_name: str
    description: str
    needs: tuple[str, ...] = ()
    trains_on: frozenset[DataLocation] = frozenset({"memory"})
    has_checkpoints: bool = False
    is_linear: bool = False
    thresholds_learner: bool = False
    has_guarantees: bool = False
    has_certificate: bool = False
    ranks_queries: bool = False
    sends_to_review: bool = False

    def load(self) -> Any:
        """Return the class."""
        return getattr(import_module(self.home), self.name)

    @property
    def capabilities(self) -> tuple[type, ...]:
        """The protocols one of which a measure must satisfy."""
        homes = (need.split(":") for need in self.needs)
        return tuple(getattr(import_module(module), name) for module, name in homes)

    def fits(self, measure: Measure) -> bool:
        """Return whether the estimator can be trained for a measure."""
        return isinstance(measure, self.capabilities)


_MEMORY, _STREAM, _DISK, _CLUSTER = (
    frozenset[DataLocation]({location}) for location in ("memory", "stream", "disk", "cluster")
)

_ENTRIES = (
    EstimatorEntry(
        "MetricClassifier",
        "metricwise.estimators.selection.classifier",
        "selection",
        "auto",
        "model selection among all that fit the measure and the data, with an ensemble of the best",
        _ANY_MEASURE,
        _MEMORY | _DISK | _CLUSTER,
        has_guarantees=True,
    ),
    EstimatorEntry(
        "MultivariateSVC",
        "metricwise.estimators.svm.multivariate_svc",
        "svm",
        "multivariate-svm",
        "linear or kernel SVM for a measure of all labels together (Joachims 2005)",
        _VIOLATED_LABELLING,
        _MEMORY | _DISK | _CLUSTER,
        has_checkpoints=True,
        is_linear=True,
        has_certificate=True,
    ),
    EstimatorEntry(
        "SmoothedSVC",
        "metricwise.estimators.svm.smoothed_svc",
        "svm",
        "smoothed-svm",
        "the multivariate SVM by smooth objectives (Zhang et al. 2012)",
        ("metricwise.oracles.smoothed:LinearInShares",),
        _MEMORY | _DISK | _CLUSTER,
        is_linear=True,
        has_certificate=True,
    ),
    EstimatorEntry(
        "FeatureSelectingSVC",
        "metricwise.estimators.svm.feature_selecting_svc",
        "svm",
        "feature-selecting-svm",
        "the multivariate SVM on a chosen number of features (Mao and Tsang 2013)",
        _VIOLATED_LABELLING,
        is_linear=True,
        has_certificate=True,
    ),
    EstimatorEntry(
        "AUCSVC",
        "metricwise.estimators.svm.auc_svc",
        "svm",
        "auc-svm",
        "SVM that ranks positives above negatives (Brefeld and Scheffer 2005)",
        ("metricwise.measures.ranking_capabilities:RanksPairs", "metricwise.measures.ranking_capabilities:GainsByRank"),
        _MEMORY | _DISK | _CLUSTER,
        has_checkpoints=True,
        is_linear=True,
        has_certificate=True,
    ),
    EstimatorEntry(
        "RankingSVC",
        "metricwise.estimators.svm.ranking_svc",
        "svm",
        "ranking-svm",
        "learning to rank: SVM for the rankings of queries, which may be graded (Yue et al. 2007)",
        ("metricwise.measures.ranking_capabilities:GainsByRank",),
        has_checkpoints=True,
        is_linear=True,
        has_certificate=True,
        ranks_queries=True,
    ),
    EstimatorEntry(
        "SparseCodingClassifier",
        "metricwise.estimators.svm.sparse_coding",
        "svm",
        "sparse-coding",
        "joint learning of sparse codes and the multivariate SVM (Yang et al. 2015)",
        _VIOLATED_LABELLING,
    ),
    EstimatorEntry(
        "AMPClassifier",
        "metricwise.estimators.svm.amp",
        "svm",
        "amp",
        "alternate maximisation of a ratio of rates (Narasimhan et al. 2015)",
        _RATIO,
        _MEMORY | _DISK | _CLUSTER,
        has_checkpoints=True,
        is_linear=True,
        has_certificate=True,
    ),
    EstimatorEntry(
        "STAMPClassifier",
        "metricwise.estimators.streaming.stamp",
        "streaming",
        "stamp",
        "streaming learner for ratios of rates (Narasimhan et al. 2015)",
        _RATIO,
        _MEMORY | _STREAM | _CLUSTER,
        has_checkpoints=True,
        is_linear=True,
    ),
    EstimatorEntry(
        "SPADEClassifier",
        "metricwise.estimators.streaming.spade",
        "streaming",
        "spade",
        "streaming learner for concave functions of the rates (Narasimhan et al. 2015)",
        ("metricwise.measures.rate_capabilities:HasDualRegion",),
        _MEMORY | _STREAM | _CLUSTER,
        has_checkpoints=True,
        is_linear=True,
    ),
    EstimatorEntry(
        "MiniBatchSVC",
        "metricwise.estimators.streaming.minibatch_svc",
        "streaming",
        "mini-batch-svm",
        "the multivariate SVM on mini-batches (Kar et al. 2014)",
        _VIOLATED_LABELLING,
        _MEMORY | _STREAM,
        has_checkpoints=True,
        is_linear=True,
    ),
    EstimatorEntry(
        "OnlineMetricClassifier",
        "metricwise.estimators.streaming.online",
        "streaming",
        "online",
        "any learner with partial_fit, decided for the measure while samples keep coming (Kotłowski et al. 2024)",
        (
            *_TABLE,
            "metricwise.measures.averages:Averaged",
            "metricwise.measures.multiclass_capabilities:CountsConfusion",
            "metricwise.measures.cost_matrix:CostMatrix",
        ),
        _MEMORY | _STREAM,
    ),
    EstimatorEntry(
        "PlugInClassifier",
        "metricwise.estimators.wrappers.plug_in",
        "wrapper",
        "plug-in",
        "any learner with the threshold that serves the measure",
        _ANY_MEASURE,
        _MEMORY | _CLUSTER,
        thresholds_learner=True,
        has_guarantees=True,
    ),
    EstimatorEntry(
        "CostSensitiveClassifier",
        "metricwise.estimators.wrappers.cost_sensitive.classifier",
        "wrapper",
        "cost-sensitive",
        "any learner trained with the class weights that the measure asks for",
        (*_RATIO, "metricwise.measures.rate_capabilities:ConcaveInRates"),
        thresholds_learner=True,
    ),
    EstimatorEntry(
        "TriageClassifier",
        "metricwise.estimators.wrappers.triage",
        "wrapper",
        "triage",
        "any learner that sends unsure samples to review, by guarantees or capacity",
        _TABLE,
        has_guarantees=True,
        sends_to_review=True,
    ),
    EstimatorEntry(
        "AdaptedSVC",
        "metricwise.estimators.wrappers.adapted.classifier",
        "wrapper",
        "adapted-svm",
        "the multivariate SVM on the outputs of other learners (Li et al. 2013)",
        _VIOLATED_LABELLING,
    ),
    EstimatorEntry(
        "BinaryRelevance",
        "metricwise.estimators.multilabel.binary_relevance",
        "multilabel",
        "binary-relevance",
        "multilabel: one classifier per label, labels chosen for the F-measure",
    ),
    EstimatorEntry(
        "ProbabilisticClassifierChain",
        "metricwise.estimators.multilabel.classifier_chain",
        "multilabel",
        "classifier-chain",
        "multilabel: a chain of classifiers with exact F-measure inference (Dembczyński et al. 2011)",
    ),
)

_REGISTRY: dict[str, EstimatorEntry] = {entry.name: entry for entry in _ENTRIES}


@contextmanager
def register_temporarily(entry: EstimatorEntry) -> Iterator[None]:
    """Add an estimator to the registry within a with block.

    Examples
    --------
    >>> import metricwise
    >>> own = EstimatorEntry("Fraction", "fractions", "wrapper", "fraction", "not a classifier at all")
    >>> with register_temporarily(own):
    ...     metricwise.Fraction(1, 2)
    Fraction(1, 2)
    """
    if entry.name in _REGISTRY:
        raise ValueError(f"an estimator named {entry.name!r} is registered already: choose another name")
    _REGISTRY[entry.name] = entry
    try:
        yield
    finally:
        del _REGISTRY[entry.name]


def entries(
    *families: Family,
    trains_on: DataLocation | None = None,
    has_checkpoints: bool | None = None,
    is_linear: bool | None = None,
) -> tuple[EstimatorEntry, ...]:
    """Return the entries of some families, or of all, that have the given abilities.

    Examples
    --------
    >>> [entry.name for entry in entries("streaming", trains_on="cluster")]
    ['STAMPClassifier', 'SPADEClassifier']
    """
    return tuple(
        entry
        for entry in _REGISTRY.values()
        if (not families or entry.family in families)
        and (trains_on is None or trains_on in entry.trains_on)
        and (has_checkpoints is None or entry.has_checkpoints == has_checkpoints)
        and (is_linear is None or entry.is_linear == is_linear)
    )


def entry_of(estimator: str | type | Any) -> EstimatorEntry | None:
    """Return the entry of an estimator by its name, its class or an object of it or of a subclass; None for others."""
    if isinstance(estimator, str):
        return _REGISTRY.get(estimator)
    kind = estimator if isinstance(estimator, type) else type(estimator)
    for base in kind.__mro__:
        entry = _REGISTRY.get(base.__name__)
        if entry is not None and entry.home == base.__module__:
            return entry
    return None


def trains_on(estimator: Any, location: DataLocation) -> bool:
    """Return whether an estimator of metricwise trains on samples at a location; False for other estimators."""
    entry = entry_of(estimator)
    return entry is not None and location in entry.trains_on


def join_names(found: Iterable[EstimatorEntry], joined_by: str = "or") -> str:
    """Return the names of estimators as part of a sentence.

    Examples
    --------
    >>> join_names(entries("streaming"))
    'STAMPClassifier, SPADEClassifier, MiniBatchSVC or OnlineMetricClassifier'
    """
    names = [entry.name for entry in found]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} {joined_by} {names[-1]}"


def measure_names(estimator: str | type | None = None) -> tuple[str, ...]:
    """Return the names of all measures, or of those that an estimator can be trained for.

    Parameters
    ----------
    estimator : str or class, optional
        An estimator such as "MultivariateSVC".

    Returns
    -------
    tuple of str
        The names, as `metricwise.get_measure` takes them.

    Raises
    ------
    ValueError
        If the estimator is unknown, or not trained for a measure.

    Examples
    --------
    >>> from metricwise import measure_names
    >>> "recall_at_precision" in measure_names()
    True
    >>> "recall_at_precision" in measure_names("MultivariateSVC")
    False
    """
    from metricwise.measures import NeedsConstraint, get_measure, registered_names

    if estimator is None:
        return registered_names()
    entry = entry_of(estimator)
    if entry is None or not entry.needs:
        known = ", ".join(sorted(one.name for one in entries() if one.needs))
        raise ValueError(f"estimator must be one of {known}, got {estimator!r}")
    named = {name: get_measure(name) for name in registered_names(entry.capabilities)}
    return tuple(name for name, measure in named.items() if not isinstance(measure, NeedsConstraint))


def check_trainable(measure: Measure, estimator: Any) -> None:
    """Raise a TypeError that lists the alternatives unless an estimator can be trained for a measure."""
    entry = entry_of(estimator)
    if entry is None or entry.fits(measure):
        return
    from metricwise.measures import NeedsConstraint

    if isinstance(measure, NeedsConstraint):
        raise TypeError(measure.why_not_alone)
    needed = " or ".join(capability.__name__ for capability in entry.capabilities)
    fitting = ", ".join(one.name for one in entries() if one.needs and one.fits(measure))
    raise TypeError(
        f"measure {measure.name!r} lacks what {entry.name} needs ({needed}); estimators for it: {fitting}. "
        f"{entry.name} takes: {', '.join(measure_names(entry.name))}."
    )
