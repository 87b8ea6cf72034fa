"""LightGBM and XGBoost on samples that do not fit into memory.

On disk, LightGBM is given the samples block by block and keeps one byte per value: the number of its bin. On a cluster,
the classifiers that both packages have made for Dask learn where the chunks are.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.class_weight import compute_sample_weight

from metricwise._typing import Floats, Indices, Integers, Labels
from metricwise.decisions.dask_learners import fit_on_dask
from metricwise.designs.cluster.source import DaskSource
from metricwise.designs.disk import BlockReader, DiskSource
from metricwise.estimators.selection.booster import INSTALL_BOOSTERS, BoosterClassifier
from metricwise.estimators.selection.packages import import_package
from metricwise.estimators.selection.subsets import draw_part
from metricwise.threads import available_threads

_BYTES_PER_SAMPLE = 60  # of LightGBM beside the bins: scores, gradients, bags and leaves
_BINNED_SAMPLES = 50_000  # whose values make the bins
_USUAL_ROUNDS = 100  # the default of LightGBM
_OF_DASK = {"lightgbm": ("lightgbm", "DaskLGBMClassifier"), "xgboost": ("xgboost.dask", "DaskXGBClassifier")}


def count_that_fit(n_features: int, room: float) -> int:
    """Return how many samples LightGBM can learn from in so many bytes.

    Examples
    --------
    >>> count_that_fit(40, 1e6)
    10000
    """
    return int(room / (_BYTES_PER_SAMPLE + n_features))


def fit_on_disk(
    learner: BoosterClassifier, reader: BlockReader, y: Labels, weights: Floats | None, samples: Indices
) -> BoosterClassifier:
    """Return a trained copy of a LightGBM classifier.

    Parameters
    ----------
    learner : BoosterClassifier
        Has the settings.
    reader : BlockReader
        The samples, dense.
    y : array
        Labels of all samples of the reader.
    weights : array or None
        Their weights.
    samples : array of int
        Which samples to learn from, ascending.
    """
    lightgbm = import_package("lightgbm", INSTALL_BOOSTERS)
    classes, codes = np.unique(y, return_inverse=True)
    labels, own = codes[samples], None if weights is None else weights[samples]
    source = DiskSource(reader, 1)
    binned = _draw_binned(labels, min(_BINNED_SAMPLES, reader.most_gathered))
    some = source.gather(samples[binned])
    # Its classifier cannot be given data sets: the booster takes the place of that of one iteration on some samples.
    settings = dict(learner.settings or {})
    model = clone(learner).set_params(settings=settings | {"n_estimators": 1}, n_jobs=available_threads())
    model.fit(some, y[samples[binned]])
    parameters = _list_parameters(model.learner_, classes.size)
    if model.learner_.class_weight is not None:
        of_classes = compute_sample_weight(model.learner_.class_weight, labels)
        own = of_classes if own is None else own * of_classes
    bins = lightgbm.Dataset(some, labels[binned], params=parameters)
    data = lightgbm.Dataset(
        _list_sequences(lightgbm, source, samples), labels, weight=own, reference=bins, params=parameters
    )
    n_rounds = int(settings.get("n_estimators", _USUAL_ROUNDS))
    model.learner_._Booster = lightgbm.train(parameters, data, num_boost_round=n_rounds)
    model.learner_.set_params(n_estimators=n_rounds)
    trained: BoosterClassifier = model.set_params(settings=learner.settings, n_jobs=learner.n_jobs)
    return trained


def fit_on_cluster(
    learner: BoosterClassifier, source: DaskSource, y: Labels, weights: Floats | None
) -> BoosterClassifier:
    """Return a copy of a LightGBM or XGBoost classifier, trained on Dask by the same package.

    Parameters
    ----------
    learner : BoosterClassifier
        Has the settings.
    source : DaskSource
        The samples.
    y : array
        Labels of all samples.
    weights : array or None
        Their weights; samples of weight zero are left out.
    """
    classes, codes = np.unique(y, return_inverse=True)
    model: BoosterClassifier = clone(learner)
    settings = {"random_state": learner.random_state, **(learner.settings or {})}
    model.learner_ = fit_on_dask(make_counterpart(learner.package, settings), source, codes, weights)
    model.classes_ = classes
    return model


def make_counterpart(package: str, settings: dict[str, Any]) -> Any:
    """Return the classifier that LightGBM or XGBoost has made for Dask."""
    home, name = _OF_DASK[package]
    import_package(package, INSTALL_BOOSTERS)
    return getattr(import_module(home), name)(**settings)


def _draw_binned(labels: Integers, most: int) -> Indices:
    """Return positions of samples whose values make the bins, of every class."""
    if labels.size <= most:
        return np.arange(labels.size)
    return draw_part(labels, None, most, seed=0)


def _list_parameters(classifier: Any, n_classes: int) -> dict[str, Any]:
    """Return the parameters with which LightGBM trains what its classifier would."""
    found = {name: value for name, value in classifier.get_params().items() if value is not None}
    del found["n_estimators"]
    found |= {"objective": "binary"} if n_classes == 2 else {"objective": "multiclass", "num_class": n_classes}
    found["num_threads"], found["seed"] = found.pop("n_jobs"), found.pop("random_state")
    for name in ("class_weight", "importance_type"):
        found.pop(name, None)
    return found


def _list_sequences(lightgbm: Any, source: DiskSource, samples: Indices) -> list[Any]:
    """Return the samples of every block, to be read once, one block after the other, as LightGBM does."""
    parts = source.take(samples)
    sizes = np.diff(np.searchsorted(samples, source.bounds))

    class Block(lightgbm.Sequence):  # its methods are those that reading in order needs
        def __init__(self, size: int) -> None:
            self.batch_size = size

        def __len__(self) -> int:
            return self.batch_size

        def __getitem__(self, _: slice) -> Any:
            return next(parts)[1]

    return [Block(size) for size in sizes[sizes > 0].tolist()]
