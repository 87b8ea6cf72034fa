"""Choose C on some draws, then compare on others; as the paper does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.papers.brefeld2005.methods import AUC_1, CLUSTERS, TOLERANCE, Method, auc, make_clustered, on_features
from benchmarks.papers.brefeld2005.problems import Case

Record = dict[str, Any]
Cases = Callable[[int], dict[str, Case]]  # by the number of the draw

EXPONENTS = tuple(half / 2 for half in range(-6, 4))  # of ten: the values of C
SEARCH_TOLERANCE = 1e-2
EVALUATION = 1000  # number of the first draw on which methods are compared
SAME = 1e-4  # difference of areas that does not count when C is chosen


def compare(cases: Cases, methods: dict[str, Method], n_search: int, n_draws: int, n_clustered: int) -> list[Record]:
    """Return one record per case: the areas for every C, the best C, and the areas with it on new draws."""
    found = search(cases, methods, n_search)
    for number in range(n_draws):
        for name, case in cases(EVALUATION + number).items():
            record = found[name]
            for method, train in methods.items():
                scores = train(case, 10.0 ** record["best"][method], TOLERANCE)
                record["values"][method].append(round(auc(case, scores), 6))
            if number < n_clustered:
                scores = on_features(make_clustered(10.0 ** record["best"][AUC_1]), case)
                record["values"].setdefault(CLUSTERS, []).append(round(auc(case, scores), 6))
    return list(found.values())


def search(cases: Cases, methods: dict[str, Method], n_search: int) -> dict[str, Record]:
    """Return the average area of every method for every C, and the best C."""
    areas: dict[str, dict[str, list[list[float]]]] = {}
    scales: dict[str, list[float]] = {}
    for number in range(n_search):
        for name, case in cases(number).items():
            scales.setdefault(name, []).append(case.paper_scale)
            for method, train in methods.items():
                curve = [auc(case, train(case, 10.0**exponent, SEARCH_TOLERANCE)) for exponent in EXPONENTS]
                areas.setdefault(name, {}).setdefault(method, []).append(curve)
    return {name: _record(name, areas[name], float(np.mean(scales[name]))) for name in areas}


def _record(name: str, areas: dict[str, list[list[float]]], paper_scale: float) -> Record:
    means = {method: np.mean(curves, axis=0) for method, curves in areas.items()}
    return {
        "name": name,
        "paper_scale": round(paper_scale, 8),
        "search": {method: [round(float(value), 6) for value in curve] for method, curve in means.items()},
        "best": {method: _best(curve) for method, curve in means.items()},
        "values": {method: [] for method in areas},
    }


def _best(curve: Any) -> float:
    """Return the exponent of the best C, the middle one of those that are tied."""
    good = np.flatnonzero(curve >= curve.max() - SAME)
    return EXPONENTS[int(good[(good.size - 1) // 2])]
