"""What the approximation by clusters costs and gives, and how times grow with the number of rows."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from sklearn.svm import SVC, LinearSVC

from benchmarks.papers.brefeld2005.methods import auc, auc_svm, clocked, clustered, fitted, listed_pairs
from benchmarks.papers.brefeld2005.problems import TIMED_TOPIC, Case, Text

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
    return fitted(make(), case.X, case.y)


# How every method is trained, from features in memory.
TIMED: dict[str, Callable[[Case], Any]] = {
    EXACT: partial(_train, partial(auc_svm, 1, C=C_OF_COSTS)),
    EXACT_2: partial(_train, partial(auc_svm, 2, C=C_OF_COSTS)),
    LISTED: partial(listed_pairs, C=C_OF_COSTS),
    CLUSTERED: partial(_train, partial(clustered, C_OF_COSTS)),
    KERNEL: partial(_train, partial(auc_svm, 1, C=C_OF_COSTS, approximation="exact", **_POLYNOMIAL)),
    PLAIN: partial(_train, partial(SVC, C=C_OF_COSTS, kernel="linear")),
    PLAIN_KERNEL: partial(_train, partial(SVC, C=C_OF_COSTS, **_POLYNOMIAL)),
    HINGE: partial(_train, partial(LinearSVC, C=C_OF_COSTS, loss="hinge", random_state=0)),
}
# Rows up to which a method is tried: there are quadratically many pairs to hold, or to cluster.
MOST_ROWS = {LISTED: 400, CLUSTERED: 800}


def clusters(text: Text, n_rows: int, counts: tuple[int, ...], n_draws: int) -> list[Record]:
    """Return areas and seconds of the AUC-SVM over so many clusters, and over all pairs."""
    found: dict[str, Record] = {}
    for number in range(n_draws):
        cases = text.cases(n_rows, _NUMBER + number, kernel=False)
        for topic in CLUSTER_TOPICS:
            record = found.setdefault(topic, _cluster_record(topic, n_rows, counts))
            models = [("exact", auc_svm(1, C=C_OF_COSTS))]
            models += [(str(count), clustered(C_OF_COSTS, count)) for count in counts]
            for key, model in models:
                seconds, _ = clocked(partial(fitted, model, cases[topic].X, cases[topic].y))
                area = auc(cases[topic], model.decision_function(cases[topic].X_test))
                record[key].append([round(seconds, 4), round(area, 6)])
    return list(found.values())


def _cluster_record(topic: str, n_rows: int, counts: tuple[int, ...]) -> Record:
    record: Record = {"topic": topic, "rows": n_rows, "counts": list(counts), "exact": []}
    return record | {str(count): [] for count in counts}


def times(text: Text, sizes: tuple[int, ...], n_draws: int) -> Record:
    """Return the processor seconds of every method for every number of rows, and the areas they reach."""
    methods: dict[str, Record] = {method: {} for method in TIMED}
    for n_rows in sizes:
        for number in range(n_draws):
            case = text.cases(n_rows, _NUMBER + number, kernel=False)[TIMED_TOPIC]
            for method, train in TIMED.items():
                if n_rows <= MOST_ROWS.get(method, n_rows):
                    seconds, model = clocked(partial(train, case))
                    area = auc(case, model.decision_function(case.X_test))
                    methods[method].setdefault(str(n_rows), []).append([round(seconds, 4), round(area, 6)])
    return {"topic": TIMED_TOPIC, "C": C_OF_COSTS, "methods": methods}


def warm_up(text: Text) -> None:
    """Compile what the timed methods use, on few rows."""
    case = text.cases(100, _NUMBER, kernel=False)[TIMED_TOPIC]
    for train in TIMED.values():
        train(case)
