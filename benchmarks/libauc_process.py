"""Train linear models by LibAUC's APLoss and SOAP on the samples in a folder's files: FOLDER.

Runs in an environment of its own, without metricwise. Learning rate and then gamma are chosen by cross-validated
average precision; all else is as in the library's own recipe for this loss: sigmoid outputs, Adam-style steps, learning
rates divided by ten twice, half of every batch positive.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from libauc.losses import APLoss
from libauc.optimizers import SOAP
from libauc.sampler import DualSampler
from sklearn.metrics import average_precision_score

LEARNING_RATES, GAMMAS = (1e-3, 1e-2, 1e-1), (0.1, 0.9)
# As in the library's recipe for this loss.
BATCH, POSITIVE_SHARE = 128, 0.5
EPOCHS, DECAYS = 60, (30, 45)
MARGIN, WEIGHT_DECAY = 0.6, 2e-4


def train(X: Any, y: Any, rate: float, gamma: float, epochs: int = EPOCHS) -> Any:
    """Return the trained linear model."""
    torch.manual_seed(0)
    samples, truth = torch.tensor(X, dtype=torch.float32), torch.tensor(y, dtype=torch.float32)
    model = torch.nn.Linear(X.shape[1], 1)
    loss = APLoss(data_len=len(y), gamma=gamma, margin=MARGIN)
    optimizer = SOAP(model.parameters(), lr=rate, mode="adam", weight_decay=WEIGHT_DECAY, verbose=False)
    dataset = torch.utils.data.TensorDataset(samples, truth)
    size = min(BATCH, len(y) // 4)
    sampler = DualSampler(dataset, size, labels=y.astype(np.float32), sampling_rate=POSITIVE_SHARE)
    for epoch in range(epochs):
        if epoch in DECAYS:
            optimizer.param_groups[0]["lr"] /= 10.0
        order = torch.tensor(list(iter(sampler)))
        for chosen in torch.split(order, size):
            value = loss(torch.sigmoid(model(samples[chosen])), truth[chosen], chosen)
            optimizer.zero_grad()
            value.backward()
            optimizer.step()
    return model


def score(model: Any, X: Any) -> Any:
    """Return the scores of samples."""
    with torch.no_grad():
        return model(torch.tensor(X, dtype=torch.float32)).numpy().ravel().astype(np.float64)


def choose(X: Any, y: Any, fold_of: Any) -> tuple[float, float]:
    """Return the learning rate with the best mean over the folds, and then the best gamma for it."""

    def validate(rate: float, gamma: float) -> float:
        values = []
        for fold in np.unique(fold_of):
            inside = fold_of != fold
            scores = score(train(X[inside], y[inside], rate, gamma), X[~inside])
            finite = np.all(np.isfinite(scores))
            values.append(average_precision_score(y[~inside], scores) if finite else 0.0)
        return float(np.mean(values))

    first, *others = GAMMAS
    by_rate = {rate: validate(rate, first) for rate in LEARNING_RATES}
    rate = max(by_rate, key=lambda one: by_rate[one])
    by_gamma = {first: by_rate[rate]} | {gamma: validate(rate, gamma) for gamma in others}
    return rate, max(by_gamma, key=lambda one: by_gamma[one])


def run(samples: Path) -> None:
    """Choose, train and write the scores of the test samples with the processor seconds taken."""
    with np.load(samples) as stored:
        X, y, fold_of, X_test = (stored[name] for name in ("X", "y", "fold_of", "X_test"))
    started = time.process_time()
    rate, gamma = choose(X, y, fold_of)
    model = train(X, y, rate, gamma)
    seconds = time.process_time() - started
    with samples.with_suffix(".scores").open("wb") as file:
        np.savez(file, scores=score(model, X_test), rate=rate, gamma=gamma, cpu_seconds=seconds)


def main(folder: str) -> None:
    """Run all files of a folder, one after the other: loading the library takes longer than most of them."""
    torch.set_num_threads(1)
    for samples in sorted(Path(folder).glob("*.npz")):
        run(samples)
        sys.stdout.write(f"{samples.stem}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
