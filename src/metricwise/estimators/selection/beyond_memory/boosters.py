"""LightGBM and XGBoost on samples that do not fit into memory.

On disk, LightGBM is given the samples block by block and keeps one byte per value: the number of its bin. On a cluster,
the classifiers that both packages have made for Dask learn where the chunks are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.utils.class_weight import compute_sample_weight

from metricwise._typing import Floats, Indices, Integers, Labels
from metricwise.decisions.dask_learners import fit_on_dask
from metricwise.designs.cluster.source import DaskSource
from metricwise.designs.disk import BlockReader, DiskSource
from metricwise.estimators.selection.booster import INSTALL_BOOSTERS, BoosterClassifier
from metricwise.estimators.selection.clock import Clock
from metricwise.estimators.selection.packages import import_package
from metricwise.estimators.selection.subsets import draw_part
from metricwise.threads import available_threads

_BYTES_PER_SAMPLE = 60  # of LightGBM beside the bins: scores, gradients, bags and leaves
_BINNED_SAMPLES = 50_000  # whose values make the bins, and whose training is timed
_TIMED_ROUNDS = 20
_LEAST_ROUNDS = 100  # for which the number of samples leaves time
_MARGIN = 2.0  # on the time of a round: many samples are not in the caches of the processor
_WORTHWHILE = 0.9  # of the time, after which no further round starts
_USUAL_ROUNDS = 100  # the default of LightGBM
_OF_DASK = {"lightgbm": ("lightgbm", "DaskLGBMClassifier"), "xgboost": ("xgboost.dask", "DaskXGBClassifier")}


class Offer(NamedTuple):
    """What a training on disk may take.

    Attributes
    ----------
    most : int
        How many samples fit into memory.
    fewest : int
        The training is not worth its time on this number of samples or fewer.
    seconds : float
        Time for everything.
    seed : int
        Seeds the draw of samples if not all are learnt from.
    """

    most: int
    fewest: int = 0
    seconds: float = math.inf
    seed: int = 0


def count_that_fit(n_features: int, room: float) -> int:
    """Return how many samples LightGBM can learn from in so many bytes.

    Examples
    --------
    >>> count_that_fit(40, 1e6)
    10000
    """
    return int(room / (_BYTES_PER_SAMPLE + n_features))


def fit_on_disk(
    learner: BoosterClassifier, reader: BlockReader, y: Labels, weights: Floats | None, offer: Offer
) -> tuple[BoosterClassifier, int] | None:
    """Return a trained copy of a LightGBM classifier with its number of samples; None if there is no time for it.

    The time of a round is measured on a few samples. It decides how many samples are learnt from, drawn at random, so
    that there is time for enough rounds on them; no round starts when the time is nearly over.

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
    offer : Offer
        How many samples and seconds the training may take.
    """
    lightgbm, clock = import_package("lightgbm", INSTALL_BOOSTERS), Clock(offer.seconds)
    classes, source = np.unique(y), DiskSource(reader, 1)
    labels: Any = np.searchsorted(classes, y).astype(np.int32)  # smaller than `Integers`
    binned = _draw_binned(labels, classes.size, min(_BINNED_SAMPLES, reader.most_gathered))
    some = source.gather(binned)
    # Its classifier cannot be given data sets: the booster takes the place of that of one iteration on some samples.
    settings = dict(learner.settings or {})
    model = clone(learner).set_params(settings=settings | {"n_estimators": 1}, n_jobs=available_threads())
    model.fit(some, y[binned])
    n_rounds = int(settings.get("n_estimators", _USUAL_ROUNDS))
    parameters = _list_parameters(model.learner_, classes.size)
    bins = lightgbm.Dataset(some, labels[binned], params=parameters)
    pace = _measure_pace(lightgbm, some, labels[binned], bins, parameters) if offer.seconds < math.inf else Pace(0, 0)
    n_samples = _count_affordable(pace, clock.left(), min(n_rounds, _LEAST_ROUNDS), min(offer.most, labels.size))
    if n_samples <= offer.fewest:
        return None
    samples = np.arange(labels.size) if n_samples == labels.size else draw_part(labels, None, n_samples, offer.seed)
    own = _weigh_samples(model.learner_.class_weight, labels[samples], None if weights is None else weights[samples])
    parts = (part for _, part in source.take(samples))
    sizes = np.diff(np.searchsorted(samples, source.bounds))
    sequences = _list_sequences(lightgbm, parts, sizes[sizes > 0].tolist())
    data = lightgbm.Dataset(sequences, labels[samples], weight=own, reference=bins, params=parameters)
    booster = lightgbm.train(
        parameters, data, num_boost_round=n_rounds, callbacks=[_stop_in_time(lightgbm, clock, offer.seconds)]
    )
    model.learner_._Booster = booster
    model.learner_.set_params(n_estimators=booster.current_iteration())
    return model.set_params(settings=learner.settings, n_jobs=learner.n_jobs), int(samples.size)


def _weigh_samples(class_weight: Any, labels: Integers, weights: Floats | None) -> Floats | None:
    """Return the weights of samples, multiplied by those of their classes; None if all are one."""
    if class_weight is None:
        return weights
    of_classes: Floats = compute_sample_weight(class_weight, labels)
    return of_classes if weights is None else weights * of_classes


class Pace(NamedTuple):
    """Seconds per sample: those of reading it into bins, and those of a round."""

    reading: float
    round: float


def _measure_pace(lightgbm: Any, X: Any, labels: Integers, bins: Any, parameters: dict[str, Any]) -> Pace:
    """Return the pace on some samples, as the machine is now."""
    bins.construct()
    clock = Clock(None)
    data = lightgbm.Dataset(
        _list_sequences(lightgbm, iter([X]), [len(X)]), labels, reference=bins, params=parameters
    ).construct()
    reading = clock.seconds()
    lightgbm.train(parameters, data, num_boost_round=_TIMED_ROUNDS)
    rounds = (clock.seconds() - reading) / _TIMED_ROUNDS
    return Pace(reading / len(X), rounds / len(X))


def _count_affordable(pace: Pace, seconds: float, n_rounds: int, most: int) -> int:
    """Return on how many samples there is time for so many rounds, at most ``most``.

    Examples
    --------
    >>> _count_affordable(Pace(reading=1e-6, round=1e-7), 21.0, 50, 10**8)
    1909090
    >>> _count_affordable(Pace(0.0, 0.0), math.inf, 50, 1000)
    1000
    """
    per_sample = pace.reading + _MARGIN * n_rounds * pace.round
    return most if seconds == math.inf else min(most, max(0, int(seconds / per_sample)))


def _stop_in_time(lightgbm: Any, clock: Clock, seconds: float) -> Callable[[Any], None]:
    """Return a callback that ends a training when most of its time is over."""

    def stop(state: Any) -> None:
        if clock.seconds() > _WORTHWHILE * seconds:
            raise lightgbm.callback.EarlyStopException(state.iteration, [])

    return stop


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


def _draw_binned(labels: Integers, n_classes: int, most: int) -> Indices:
    """Return ascending positions of samples whose values make the bins, two or more of every class."""
    if labels.size <= most:
        return np.arange(labels.size)
    drawn = np.random.default_rng(0).integers(labels.size, size=most)
    of_classes = [np.flatnonzero(labels == code)[:2] for code in range(n_classes)]
    return np.unique(np.concatenate([drawn, *of_classes]))


def _list_parameters(classifier: Any, n_classes: int) -> dict[str, Any]:
    """Return the parameters with which LightGBM trains what its classifier would."""
    found = {name: value for name, value in classifier.get_params().items() if value is not None}
    del found["n_estimators"]
    found |= {"objective": "binary"} if n_classes == 2 else {"objective": "multiclass", "num_class": n_classes}
    found["num_threads"], found["seed"] = found.pop("n_jobs"), found.pop("random_state")
    for name in ("class_weight", "importance_type"):
        found.pop(name, None)
    return found


def _list_sequences(lightgbm: Any, parts: Iterator[Any], sizes: list[int]) -> list[Any]:
    """Return parts of so many samples, to be read once, one after the other, as LightGBM does."""

    class Part(lightgbm.Sequence):  # its methods are those that reading in order needs
        def __init__(self, size: int) -> None:
            self.batch_size = size

        def __len__(self) -> int:
            return self.batch_size

        def __getitem__(self, _: slice) -> Any:
            return next(parts)

    return [Part(size) for size in sizes]
