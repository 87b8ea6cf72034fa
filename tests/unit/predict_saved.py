"""Load every model file of a folder in a process of its own and write the models' predictions beside them."""

from __future__ import annotations

import pickle
import sys
from pathlib import Path
from typing import Any

import numpy as np

import metricwise
from tests.unit.saved_models import predict_all


class NoPickle:
    """A guard that raises if anything is unpickled while a model is loaded; numba unpickles its cache only later."""

    def __init__(self) -> None:
        self.active = False
        sys.addaudithook(self)

    def __call__(self, event: str, _arguments: Any) -> None:
        if self.active and event == "pickle.find_class":
            raise RuntimeError("a model file must not be unpickled")

    def load(self, path: Path) -> Any:
        self.active = True
        model = metricwise.load(path)
        self.active = False
        return model


def main(folder: Path) -> None:
    samples = pickle.loads((folder / "samples.pickle").read_bytes())
    guard, found = NoPickle(), {}
    for path in sorted(folder.glob("*.mw")):
        predictions = predict_all(guard.load(path), samples[path.stem])
        for method, values in predictions.items():
            found[f"{path.stem}/{method}"] = values.astype("U") if values.dtype == object else values
    np.savez(folder / "predictions.npz", **found)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
