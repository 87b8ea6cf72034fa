"""Write empulse's data sets with costs, divided into training and test samples, and its predictions: FOLDER SPLITS.

Runs in an environment of its own, without metricwise. CSLogitClassifier is tuned over its regularisation and
CSBoostClassifier over its rounds and learning rate, by cross-validated savings on the training samples. Both predict by
their own ``predict``.
"""

from __future__ import annotations

import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import sympy
from empulse import datasets
from empulse.metrics import savings_score
from empulse.models import CSBoostClassifier, CSLogitClassifier
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.preprocessing import StandardScaler
from xgboost import XGBClassifier

COSTS = ("tp_cost", "fp_cost", "fn_cost", "tn_cost")
N_TRAIN, N_TEST = 4000, 10_000  # most samples of a split
STRENGTHS = (0.01, 0.1, 1.0, 10.0)
ROUNDS, RATES = (25, 50, 100), (0.03, 0.1)
MOST_CATEGORIES = 20


def find_costs(data: Any) -> dict[str, Any]:
    """Return the four costs of every sample, from the formulas and columns of a data set."""
    n = len(data.target)
    given = {name: np.asarray(values, dtype=float) for name, values in data.instance_costs.items()}
    given |= {str(name): float(value) for name, value in data.cost_matrix._defaults.items()}
    aliases = {str(long): str(short) for long, short in data.cost_matrix._aliases.items()}
    given |= {aliases[name]: values for name, values in given.items() if name in aliases}
    costs = {}
    for name in COSTS:
        formula = sympy.sympify(getattr(data.cost_matrix, name))
        symbols = sorted(formula.free_symbols, key=str)
        values = sympy.lambdify(symbols, formula, "numpy")(*(given[str(one)] for one in symbols))
        costs[name] = np.broadcast_to(np.asarray(values, dtype=float), n)
    return costs


def encode(frame: Any) -> Any:
    """Return numbers: categories become columns of zeros and ones, the rarest of many together."""
    parts = []
    for name, column in frame.items():
        if pd.api.types.is_numeric_dtype(column):
            parts.append(column.astype(float).rename(str(name)))
            continue
        frequent = column.value_counts().index[:MOST_CATEGORIES]
        parts.append(pd.get_dummies(column.where(column.isin(frequent)), prefix=str(name), dtype=float))
    return pd.concat(parts, axis=1).to_numpy(dtype=float)


def select(costs: dict[str, Any], samples: Any) -> dict[str, Any]:
    return {name: values[samples] for name, values in costs.items()}


def validate(model: Any, X: Any, y: Any, costs: dict[str, Any]) -> float:
    """Return the mean savings over three folds."""
    found = []
    for inside, outside in StratifiedKFold(3, shuffle=True, random_state=0).split(X, y):
        fitted = clone(model).fit(X[inside], y[inside], **select(costs, inside))
        found.append(savings_score(y[outside], fitted.predict(X[outside]), **select(costs, outside)))
    return float(np.mean(found))


def candidates() -> dict[str, list[Any]]:
    boosters = [
        CSBoostClassifier(XGBClassifier(n_estimators=n, learning_rate=rate, max_depth=4, n_jobs=1, random_state=0))
        for n in ROUNDS
        for rate in RATES
    ]
    return {"CSLogit": [CSLogitClassifier(C=C, l1_ratio=0.0) for C in STRENGTHS], "CSBoost": boosters}


def main(folder: Path, n_splits: int) -> None:
    warnings.filterwarnings("ignore")
    loaders = [name for name in dir(datasets) if name.startswith("load_")]
    for loader in loaders:
        data = getattr(datasets, loader)(backend="pandas")
        X, y, costs = encode(data.data), np.asarray(data.target).astype(int), find_costs(data)
        for split in range(n_splits):
            size = min(N_TRAIN, len(y) // 2)
            train, test = train_test_split(np.arange(len(y)), train_size=size, stratify=y, random_state=split)
            test = test[:N_TEST]
            name = f"{loader.removeprefix('load_')}-{split}"
            scaler = StandardScaler().fit(X[train])
            X_train, X_test = scaler.transform(X[train]), scaler.transform(X[test])
            stored = {"X": X_train, "y": y[train], "X_test": X_test, "y_test": y[test]}
            stored |= {key: values[train] for key, values in costs.items()}
            stored |= {f"{key}_test": values[test] for key, values in costs.items()}
            for method, models in candidates().items():
                started = time.process_time()
                own = select(costs, train)
                values = [validate(model, X_train, y[train], own) for model in models]
                best = models[int(np.argmax(values))].fit(X_train, y[train], **own)
                stored[method] = best.predict(X_test)
                stored[f"{method}_seconds"] = time.process_time() - started
            np.savez(folder / f"{name}.npz", **stored)
            print(name, flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
