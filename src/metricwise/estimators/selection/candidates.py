"""Candidates for model selection: learners that suit the measure, the number of samples and their kind."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC, LinearSVC

from metricwise.estimators.selection.preprocessing import for_numbers, for_trees
from metricwise.estimators.selection.profile import Profile
from metricwise.estimators.streaming.spade import SPADEClassifier
from metricwise.estimators.streaming.stamp import STAMPClassifier
from metricwise.estimators.svm.auc_svc import AUCSVC
from metricwise.estimators.svm.multivariate_svc import MultivariateSVC
from metricwise.measures import HasDualRegion, Measure, RanksPairs, RatioOfRates
from metricwise.measures.base import HasViolatedLabelling

_EXACT_KERNEL_SAMPLES = 4000  # up to which a kernel machine stores the exact kernel matrix
_LANDMARKS = 300
_TREES, _TREES_AT_LAST = 50, 100  # while candidates are compared, and in the final model
_LEAST_SAMPLES_OF_BOOSTING = 10_000
# Of boosted trees that may not stop early; the first is the better guess where there is no choice.
_ITERATIONS = (30, 100)
_CAREFUL_SAMPLES = 2000  # below which boosted trees with their usual settings overfit
_STREAM_SAMPLES = 20_000  # from which streaming learners are candidates


@dataclass(frozen=True)
class Candidate:
    """A learner with its name, its settings, and the growth of its time with the samples.

    ``last`` is trained on all samples if the candidate is selected, which takes ``last_cost`` times as long; None for
    the same estimator. A learner that needs many samples, and takes nearly as long for few, runs from ``least_samples``
    on. Settings that may gain more from more samples than others of the learner (``gains_later``) are not judged by
    few.
    """

    name: str
    estimator: Any
    settings: dict[str, Any] = field(default_factory=dict)
    growth: float = 1.0  # exponent
    last: Any = None
    last_cost: float = 1.0
    least_samples: int = 0
    gains_later: bool = False

    def change_estimators(self, change: Callable[[Any], Any]) -> Candidate:
        """Return the candidate with other estimators, made of its own."""
        last = None if self.last is None else change(self.last)
        return replace(self, estimator=change(self.estimator), last=last)

    @property
    def title(self) -> str:
        """The name with the settings.

        Examples
        --------
        >>> Candidate("logistic regression", None, {"C": 0.1}).title
        'logistic regression (C=0.1)'
        """
        settings = ", ".join(f"{name}={value}" for name, value in self.settings.items())
        return f"{self.name} ({settings})" if settings else self.name

    @property
    def final(self) -> Any:
        """The estimator that is trained on all samples."""
        return self.estimator if self.last is None else self.last


Maker = Callable[[Profile, Measure, int], Iterator[Candidate]]


def _logistic(profile: Profile, measure: Measure, seed: int) -> Iterator[Candidate]:
    # Samples of text have length one, so that their weights must be large.
    for C in (1.0, 10.0, 100.0) if profile.is_wide else (0.1, 1.0, 10.0):
        learner = LogisticRegression(C=C, max_iter=1000)
        yield Candidate("logistic regression", for_numbers(profile, learner), {"C": C})


def _linear_svm(profile: Profile, measure: Measure, seed: int) -> Iterator[Candidate]:
    for C in (0.1, 1.0):
        yield Candidate("linear SVM", for_numbers(profile, LinearSVC(C=C, random_state=seed)), {"C": C})


def _boosted_trees(profile: Profile, measure: Measure, seed: int) -> Iterator[Candidate]:
    if profile.is_wide:
        return
    columns = list(range(len(profile.categorical))) or None
    few = profile.n_samples < _CAREFUL_SAMPLES
    settings = (
        {"learning_rate": 0.05, "max_leaf_nodes": 15, "l2_regularization": 1.0} if few else {"l2_regularization": 3.0}
    )
    for stopping in stopping_settings(profile.is_grouped):
        learner = HistGradientBoostingClassifier(
            categorical_features=columns, random_state=seed, **settings, **stopping
        )
        n_iterations = {"max_iter": stopping["max_iter"]} if stopping else {}
        yield Candidate(
            "boosted trees",
            for_trees(profile, learner),
            settings | n_iterations,
            growth=0.6,
            least_samples=_LEAST_SAMPLES_OF_BOOSTING,
            gains_later=n_iterations.get("max_iter") == max(_ITERATIONS),
        )


def stopping_settings(is_grouped: bool) -> list[dict[str, Any]]:
    """Return the settings that decide when boosted trees stop, one dictionary per candidate; the best guess is first.

    From 10,000 samples on they stop when the loss of random held-out samples does. With groups, other samples of the
    same groups are learnt, so that this loss falls on and on; the number of iterations is then one of a few, among
    which folds of whole groups choose.

    Examples
    --------
    >>> stopping_settings(False)
    [{}]
    >>> [settings["max_iter"] for settings in stopping_settings(True)]
    [30, 100]
    """
    if not is_grouped:
        return [{}]
    return [{"early_stopping": False, "max_iter": count} for count in _ITERATIONS]


def _extra_trees(profile: Profile, measure: Measure, seed: int) -> Iterator[Candidate]:
    if profile.is_wide:
        return
    for leaf_size in (1, 3):
        few, many = (
            for_trees(profile, ExtraTreesClassifier(count, min_samples_leaf=leaf_size, random_state=seed))
            for count in (_TREES, _TREES_AT_LAST)
        )
        yield Candidate(
            "extra trees",
            few,
            {"min_samples_leaf": leaf_size},
            growth=0.9,
            last=many,
            last_cost=_TREES_AT_LAST / _TREES,
            gains_later=leaf_size == 1,  # larger leaves average out noise, as more samples do
        )


def _kernel_machine(profile: Profile, measure: Measure, seed: int) -> Iterator[Candidate]:
    if profile.is_wide:
        return
    if profile.n_samples <= _EXACT_KERNEL_SAMPLES:
        for C, weights in ((3.0, None), (1.0, "balanced")):
            learner = SVC(C=C, class_weight=weights)
            settings = {"C": C} | ({} if weights is None else {"class_weight": weights})
            yield Candidate("rbf machine", for_numbers(profile, learner), settings, growth=2.0)
        return
    features = Nystroem(gamma=1.0 / profile.n_features, n_components=_LANDMARKS, random_state=seed)
    learner = make_pipeline(features, LogisticRegression(C=10.0, max_iter=1000))
    yield Candidate("rbf machine", for_numbers(profile, learner), {"landmarks": _LANDMARKS})


def _multivariate(profile: Profile, measure: Measure, seed: int) -> Iterator[Candidate]:
    if isinstance(measure, HasViolatedLabelling) and not isinstance(measure, RanksPairs):
        learner = MultivariateSVC(measure, threshold="train")
        yield Candidate("multivariate SVM", for_numbers(profile, learner))


def _ranking(profile: Profile, measure: Measure, seed: int) -> Iterator[Candidate]:
    if isinstance(measure, RanksPairs):
        # Squared losses rank as well and are learnt sooner; model selection needs no more digits.
        learner = AUCSVC(norm=2, C=0.1, tol=1e-2)
        yield Candidate("AUC SVM", for_numbers(profile, learner), {"norm": 2, "C": 0.1})


def _streams(profile: Profile, measure: Measure, seed: int) -> Iterator[Candidate]:
    if profile.n_samples < _STREAM_SAMPLES:
        return
    if isinstance(measure, RatioOfRates):
        yield Candidate("STAMP", for_numbers(profile, STAMPClassifier(measure, random_state=seed)))
    elif isinstance(measure, HasDualRegion):
        yield Candidate("SPADE", for_numbers(profile, SPADEClassifier(measure, random_state=seed)))


# In the order in which they run: fast ones first, so that there is always a result. Those of the second list are for
# two classes only.
_MAKERS: dict[str, Maker] = {"logistic": _logistic, "boosted_trees": _boosted_trees, "extra_trees": _extra_trees}
_OF_TWO_CLASSES: dict[str, Maker] = {
    "linear_svm": _linear_svm,
    "multivariate_svm": _multivariate,
    "auc_svm": _ranking,
    "streams": _streams,
    "rbf": _kernel_machine,
}
NAMES = (*_MAKERS, *_OF_TWO_CLASSES)


def candidates_for(wanted: Any, profile: Profile, measure: Measure, two_classes: bool, seed: int) -> list[Candidate]:
    """Return the candidates: all that fit ("auto"), those of a list of names, or a dictionary's own estimators.

    Raises
    ------
    ValueError
        If a name is unknown, or nothing that is wanted fits the measure and the samples.
    """
    if isinstance(wanted, dict):
        return [Candidate(str(name), estimator) for name, estimator in wanted.items()]
    names = NAMES if wanted == "auto" else wanted
    unknown = [name for name in names if name not in NAMES]
    if unknown:
        raise ValueError(
            f"candidates must be 'auto', a dictionary of estimators, or some of {NAMES}; got {unknown[0]!r}"
        )
    makers = {**_MAKERS, **(_OF_TWO_CLASSES if two_classes else {})}
    found = [one for name in names if name in makers for one in makers[name](profile, measure, seed)]
    if not found:
        raise ValueError(
            f"none of the candidates {', '.join(names)} fits measure {measure.name!r} and these samples: use "
            "candidates='auto', or a dictionary of your own estimators"
        )
    return found
