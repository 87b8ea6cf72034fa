"""Time and area of the approximation by clusters, and growth of times with the number of samples."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from sklearn.svm import SVC, LinearSVC

from benchmarks.papers.brefeld2005.methods import auc, auc_svm, fit_quietly, listed_pairs, make_clustered
from benchmarks.papers.brefeld2005.problems import TIMED_TOPIC, Case, Text
from benchmarks.timing import clock

Record = dict[str, Any]

CLUSTER_TOPICS = ("earn", "interest")
C_OF_COSTS = 1.0
DEGREE = 3
_NUMBER = 5000  # of the first draw

EXACT, EXACT_2, LISTED, CLUSTERED, KERNEL, PLAIN, PLAIN_KERNEL, HINGE = (
    "exact_1",
    "exact_2",
    "listed",
    "clustered",
    "kernel",
    "plain",
    "plain_kernel",
    "hinge",
)
_POLYNOMIAL = {"kernel": "poly", "degree": DEGREE, "gamma": 1.0, "coef0": 1.0}


def _train(make: Callable[[], Any], case: Case) -> Any:
    return fit_quietly(make(), case.X, case.y)


# How every method is trained, from features in memory.
TIMED: dict[str, Callable[[Case], Any]] = {
    EXACT: partial(_train, partial(auc_svm, 1, C=C_OF_COSTS)),
    EXACT_2: partial(_train, partial(auc_svm, 2, C=C_OF_COSTS)),
    LISTED: partial(listed_pairs, C=C_OF_COSTS),
    CLUSTERED: partial(_train, partial(make_clustered, C_OF_COSTS)),
    KERNEL: partial(_train, partial(auc_svm, 1, C=C_OF_COSTS, approximation="exact", **_POLYNOMIAL)),
    PLAIN: partial(_train, partial(SVC, C=C_OF_COSTS, kernel="linear")),
    PLAIN_KERNEL: partial(_train, partial(SVC, C=C_OF_COSTS, **_POLYNOMIAL)),
    HINGE: partial(_train, partial(LinearSVC, C=C_OF_COSTS, loss="hinge", random_state=0)),
}
# Number of samples up to which a method is run: quadratically many pairs must be stored, or clustered.
MOST_SAMPLES = {LISTED: 400, CLUSTERED: 800}


def clusters(text: Text, n_samples: int, counts: tuple[int, ...], n_draws: int) -> list[Record]:
    """Return areas and seconds of the AUC-SVM over clusters, and over all pairs."""
    found: dict[str, Record] = {}
    for number in range(n_draws):
        cases = text.cases(n_samples, _NUMBER + number, kernel=False)
        for topic in CLUSTER_TOPICS:
            record = found.setdefault(topic, _cluster_record(topic, n_samples, counts))
            models = [("exact", auc_svm(1, C=C_OF_COSTS))]
            models += [(str(count), make_clustered(C_OF_COSTS, count)) for count in counts]
            for key, model in models:
                seconds, _ = clock(partial(fit_quietly, model, cases[topic].X, cases[topic].y))
                area = auc(cases[topic], model.decision_function(cases[topic].X_test))
                record[key].append([round(seconds, 4), round(area, 6)])
    return list(found.values())


def _cluster_record(topic: str, n_samples: int, counts: tuple[int, ...]) -> Record:
    record: Record = {"topic": topic, "n_samples": n_samples, "counts": list(counts), "exact": []}
    return record | {str(count): [] for count in counts}


def times(text: Text, sizes: tuple[int, ...], n_draws: int) -> Record:
    """Return the processor seconds of every method for every number of samples, and their areas."""
    methods: dict[str, Record] = {method: {} for method in TIMED}
    for n_samples in sizes:
        for number in range(n_draws):
            case = text.cases(n_samples, _NUMBER + number, kernel=False)[TIMED_TOPIC]
            for method, train in TIMED.items():
                if n_samples <= MOST_SAMPLES.get(method, n_samples):
                    seconds, model = clock(partial(train, case))
                    area = auc(case, model.decision_function(case.X_test))
                    methods[method].setdefault(str(n_samples), []).append([round(seconds, 4), round(area, 6)])
    return {"topic": TIMED_TOPIC, "C": C_OF_COSTS, "methods": methods}


def warm_up(text: Text) -> None:
    """Compile the kernels of the timed methods on few samples."""
    case = text.cases(100, _NUMBER, kernel=False)[TIMED_TOPIC]
    for train in TIMED.values():
        train(case)
