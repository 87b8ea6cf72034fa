"""Linear candidates: logistic regression, linear SVMs, and linear models that are trained for the measure."""

from __future__ import annotations

from collections.abc import Iterator

from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from metricwise.estimators.selection.candidates.candidate import Candidate, Problem, Settings
from metricwise.estimators.selection.preprocessing import for_numbers
from metricwise.estimators.streaming.spade import SPADEClassifier
from metricwise.estimators.streaming.stamp import STAMPClassifier
from metricwise.estimators.svm.auc_svc import AUCSVC
from metricwise.estimators.svm.multivariate_svc import MultivariateSVC
from metricwise.measures import Averaged, HasDualRegion, RatioOfRates
from metricwise.measures.base import HasViolatedLabelling
from metricwise.measures.ranking_capabilities import Ranks

# Settings in the order of their expected value. Samples of text have length one, so that their weights must be large.
LOGISTIC: tuple[Settings, ...] = (
    {"C": 1.0},
    {"C": 0.1},
    {"C": 10.0},
    {"C": 0.01},
    {"C": 1.0, "class_weight": "balanced"},
)
LOGISTIC_OF_TEXTS: tuple[Settings, ...] = ({"C": 10.0}, {"C": 100.0}, {"C": 1.0})
LINEAR_SVM: tuple[Settings, ...] = ({"C": 0.1}, {"C": 1.0})
LINEAR_SVM_OF_TEXTS: tuple[Settings, ...] = ({"C": 1.0}, {"C": 0.1}, {"C": 10.0})

_SVM_SAMPLES_OF_MANY = 50_000  # that a linear SVM, which stores them at twice their size, is trained on at most
_STREAM_SAMPLES = 20_000  # from which streaming learners are candidates


def make_logistic(problem: Problem) -> Iterator[Candidate]:
    """Yield logistic regressions."""
    is_wide = problem.profile.is_wide
    # Of two classes of texts, the faster solver, and as good.
    solver = "liblinear" if is_wide and problem.is_binary else "lbfgs"
    for settings in LOGISTIC_OF_TEXTS if is_wide else LOGISTIC:
        learner = LogisticRegression(solver=solver, max_iter=1000, random_state=problem.seed, **settings)
        yield Candidate("logistic regression", for_numbers(problem.profile, learner), settings)


def make_linear_svm(problem: Problem) -> Iterator[Candidate]:
    """Yield linear SVMs."""
    for settings in LINEAR_SVM_OF_TEXTS if problem.profile.is_wide else LINEAR_SVM:
        learner = LinearSVC(random_state=problem.seed, **settings)
        most_samples = _SVM_SAMPLES_OF_MANY if problem.profile.is_large else None
        yield Candidate("linear SVM", for_numbers(problem.profile, learner), settings, most_samples=most_samples)


def make_multivariate_svm(problem: Problem) -> Iterator[Candidate]:
    """Yield the multivariate SVM of measures with an oracle."""
    # Of more than two classes, each is separated from the rest for the measure that is averaged over them.
    measure = problem.measure
    if problem.is_multiclass and isinstance(measure, Averaged):
        measure = measure.base
    if isinstance(measure, HasViolatedLabelling) and not isinstance(measure, Ranks):
        learner = MultivariateSVC(measure, threshold="train")
        yield Candidate("multivariate SVM", for_numbers(problem.profile, learner))


def make_auc_svm(problem: Problem) -> Iterator[Candidate]:
    """Yield the AUC SVM of measures that rank."""
    if isinstance(problem.measure, Ranks):
        # Squared losses rank as well and are learnt sooner; model selection needs no more digits. An SVM for average
        # precision as a further candidate for that measure has not improved the selected ensembles.
        learner = AUCSVC(norm=2, C=0.1, tol=1e-2)
        yield Candidate("AUC SVM", for_numbers(problem.profile, learner), {"norm": 2, "C": 0.1})


def make_streams(problem: Problem) -> Iterator[Candidate]:
    """Yield the streaming learner of the measure, for many samples."""
    measure, profile = problem.measure, problem.profile
    if profile.n_samples < _STREAM_SAMPLES:
        return
    if isinstance(measure, RatioOfRates):
        yield Candidate("STAMP", for_numbers(profile, STAMPClassifier(measure, random_state=problem.seed)))
    elif isinstance(measure, HasDualRegion):
        yield Candidate("SPADE", for_numbers(profile, SPADEClassifier(measure, random_state=problem.seed)))
