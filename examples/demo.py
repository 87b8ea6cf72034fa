"""Train for F1 on a real imbalanced data set, compare three algorithms, certify, and write the reports.

``make demo`` runs it; so does ``python examples/demo.py`` where metricwise is installed.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, make_scorer
from sklearn.model_selection import TunedThresholdClassifierCV, train_test_split
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler

from metricwise import Certificate, MetricClassifier, MultivariateSVC, certify, report

SEED = 0
POSITIVE, NEGATIVE = "the digit 8", "another digit"
PIXELS = [f"pixel {row},{column}" for row in range(8) for column in range(8)]
AGREEMENT = 1e-6
FOLDER = Path(__file__).resolve().parents[1] / "demo"


def make_models() -> dict[str, Any]:
    """Return three models for F1: selected automatically, trained for it, and with a tuned threshold."""
    f1 = make_scorer(f1_score, pos_label=POSITIVE)
    tuned = TunedThresholdClassifierCV(LogisticRegression(), scoring=f1, random_state=SEED)
    return {
        "MetricClassifier": MetricClassifier("f1", pos_label=POSITIVE),
        "MultivariateSVC": make_pipeline(MinMaxScaler(), MultivariateSVC("f1", pos_label=POSITIVE)),
        "logistic regression, tuned threshold": make_pipeline(MinMaxScaler(), tuned),
    }


def train(name: str, model: Any, X: Any, y: Any) -> Any:
    """Return the fitted model, and print how long training took."""
    started = time.perf_counter()
    print(f"  {name} ... ", end="", flush=True)
    fitted = model.fit(X, y)
    print(f"{time.perf_counter() - started:.1f} s", flush=True)
    return fitted


def check_certificate(pipeline: Pipeline, X: Any, y: Any) -> bool:
    """Return whether the solver's certificate agrees with the one recomputed from the data."""
    scaler, svc = pipeline[:-1], pipeline[-1]
    recomputed = certify(svc, scaler.transform(X), y)
    assert isinstance(recomputed, Certificate)  # a list only for more than two classes
    claimed = svc.result_.certificate
    differences = np.abs([recomputed.upper - claimed.upper, recomputed.lower - claimed.lower])
    agrees = bool(np.all(differences <= AGREEMENT * claimed.upper))
    print(
        f"Certificate of MultivariateSVC: {svc.result_.status.value} after {svc.result_.n_iter} iterations, within "
        f"{claimed.relative:.2e} of the optimum; recomputed, it {'agrees' if agrees else 'DOES NOT AGREE'}."
    )
    return agrees


def main() -> int:
    X, digit = load_digits(return_X_y=True)
    y = np.where(digit == 8, POSITIVE, NEGATIVE)
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, stratify=y, random_state=SEED)
    share = np.mean(y_train == POSITIVE)
    print(f"Is it {POSITIVE} or {NEGATIVE}? {y_train.size} training samples, {share:.1%} of them positive; ", end="")
    print(f"{y_test.size} test samples.")
    print("Training for F1 (the first run compiles as well):")
    fitted = {name: train(name, model, X_train, y_train) for name, model in make_models().items()}

    FOLDER.mkdir(exist_ok=True)
    options: dict[str, Any] = {"samples": "the test samples", "feature_names": PIXELS, "pos_label": POSITIVE}
    pages = {"MetricClassifier": FOLDER / "report.html", "MultivariateSVC": FOLDER / "certified.html"}
    print("\nF1 on the test samples, with 90 % intervals:")
    for name, model in fitted.items():
        others = {other: one for other, one in fitted.items() if other != name}
        page = report(model, X_test, y_test, pages.get(name), title=f"{name}: the digit 8", compare=others, **options)
        print(f"  {name}: {page.value:.3f} ({page.interval[0]:.3f} to {page.interval[1]:.3f})")
    agrees = check_certificate(fitted["MultivariateSVC"], X_train, y_train)
    print(f"\nReport: {os.path.relpath(pages['MetricClassifier'])}, beside two other algorithms, with the explorer")
    print(f"        {os.path.relpath(pages['MultivariateSVC'])}, with the certificate")
    return 0 if agrees else 1


if __name__ == "__main__":
    sys.exit(main())
