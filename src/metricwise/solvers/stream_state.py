"""The state of a streaming solver, in arrays and numbers that can be stored in a file.

Updates depend on the position in the stream only, never on its division into chunks. The positions
at which statistics are brought up to date are *landmarks*: 1, 2, 4, ... (unless samples were observed ahead) and then
evenly spaced, far enough apart that work on all features is negligible per sample.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from scipy import sparse

from metricwise._sklearn import LARGEST_TOTAL_WEIGHT
from metricwise._state import Values, stored_fields
from metricwise._typing import Floats, Indices, Mask
from metricwise.kernels import streaming
from metricwise.memory import check_feature_memory
from metricwise.solvers.saved import COUNT, Arrays, pack_fields, unpack_fields
from metricwise.solvers.schema import MOST, ArrayField, Schema, check_arrays, csr_fields, require_state
from metricwise.solvers.stream_data import StreamData

_INTERVAL = 8192  # most samples between landmarks, or the number of features if that is larger
_OBSERVED_AT_FIRST = 4096
_OBSERVED_LATER = 64  # then one sample in 64 enters the statistics of the features
_REMEMBERED = 4096  # scores of each class
_REMEMBERED_BETWEEN_LANDMARKS = 256
_REMEMBERED_IN_ESTIMATION = 2048
_ENOUGH_RECENT = 25
_VECTORS = ("v", "z", "mean", "precision", "origin", "first", "second", "snapshot")
_NUMBER_BYTES = np.dtype(np.float64).itemsize

_VECTOR = ArrayField("float", ("features",))
_SUMS = ArrayField("float", ("features",), may_be_infinite=True, may_be_nan=True)  # of features with huge values
_REMEMBERED_SCORES = ArrayField("float", (2, _REMEMBERED))
_SCHEMA: Schema = {
    "is_sparse": ArrayField("bool"),
    "v": _VECTOR,
    "z": _VECTOR,
    "mean": _VECTOR,
    "precision": ArrayField("float", ("features",), low=0.0),
    "origin": _VECTOR,
    "first": _SUMS,
    "second": _SUMS,
    "snapshot": _VECTOR,
    "numbers": ArrayField("float", (streaming.N_NUMBERS,), low=streaming.LEAST_NUMBERS),
    "snapshot_bias": ArrayField("float"),
    "square": ArrayField("float", low=1.0),
    "position": COUNT,
    "observed": COUNT,
    "next_landmark": COUNT,
    "strides": ArrayField("count", (2,), low=1, high=MOST),
    "scores": _REMEMBERED_SCORES,
    "score_weights": ArrayField("float", (2, _REMEMBERED), low=0.0, high=LARGEST_TOTAL_WEIGHT),
    "score_positions": ArrayField("float", (2, _REMEMBERED), low=0.0),
    "n_scores": ArrayField("count", (2,), low=0, high=MOST),
    "level": ArrayField("float"),
    "estimating": ArrayField("bool"),
    "stage_start": COUNT,
    "stage_end": COUNT,
    "epoch_rows": COUNT,
    "batches": COUNT,
    "waiting": COUNT,
}


def _make_schema(n_pieces: int, n_features: int, is_sparse: bool) -> Schema:
    """Return what the arrays of a state with so many pieces, the samples that wait, are."""
    schema = dict(_SCHEMA)
    for name in (f"piece{number}" for number in range(n_pieces)):
        size = f"{name} samples"
        dense = {f"{name}_dense": ArrayField("real", (size, "features"))}
        schema |= csr_fields(name, size, n_features, "real") if is_sparse else dense
        schema |= {
            f"{name}_positive": ArrayField("bool", (size,)),
            f"{name}_weights": ArrayField("float", (size,), low=0.0, high=LARGEST_TOTAL_WEIGHT),
        }
    return schema


def _pack_pieces(pieces: list[tuple[Any, Mask, Floats]], is_sparse: bool) -> Arrays:
    packed: Arrays = {}
    for number, (X, positive, weights) in enumerate(pieces):
        matrix = {"data": X.data, "indices": X.indices, "indptr": X.indptr} if is_sparse else {"dense": X}
        named = matrix | {"positive": positive, "weights": weights}
        packed |= {f"piece{number}_{name}": value for name, value in named.items()}
    return packed


def _check_waiting(waiting: int, pieces: list[tuple[Any, Mask, Floats]]) -> None:
    found = sum(weights.size for _, _, weights in pieces)
    require_state(waiting == found, "'waiting' is not the number of samples that wait")


def _check_recent_scores(n_scores: Indices, weights: Floats) -> None:
    for side, count in enumerate(n_scores.tolist()):
        require_state(count == 0 or weights[side, :count].sum() > 0.0, "'score_weights' are zero where scores are kept")


def check_values(values: Values) -> None:
    """Raise a `StateError` unless values, each of its declared type, are those of the fields of a `StreamState`."""
    is_sparse, pieces, n_features = values["is_sparse"], values["pieces"], values["v"].size
    for X, _, weights in pieces:
        is_right = X.format == "csr" if sparse.issparse(X) else isinstance(X, np.ndarray)
        require_state(is_right and sparse.issparse(X) == is_sparse, "'pieces' are not samples")
        require_state(X.shape == (weights.size, n_features), "'pieces' have the wrong shape")
    found = {name: (values[name], field) for name, field in _SCHEMA.items()}
    arrays = {name: one if isinstance(one, np.ndarray) else field.pack(one) for name, (one, field) in found.items()}
    arrays |= _pack_pieces(pieces, is_sparse)
    check_arrays(arrays, _make_schema(len(pieces), n_features, is_sparse), features=n_features)
    require_state(all(array.flags.c_contiguous for array in arrays.values()), "an array is not contiguous")
    _check_waiting(values["waiting"], pieces)
    _check_recent_scores(values["n_scores"], values["score_weights"])


def _no_scores() -> Floats:
    return np.zeros((2, _REMEMBERED))


@stored_fields(version=1)
@dataclass
class StreamState:
    """The model, its average, statistics of the features, and recent scores of samples not yet learnt from.

    ``v``, ``z`` and ``numbers`` are explained in `metricwise.kernels.streaming`. ``first`` and ``second`` are sums over
    observed samples: of x - origin and its square, or, for sparse samples, of entries and of their squares.
    """

    is_sparse: bool
    v: Floats
    z: Floats
    mean: Floats
    precision: Floats
    origin: Floats
    first: Floats
    second: Floats
    snapshot: Floats
    numbers: Floats
    snapshot_bias: float = 0.0
    square: float = 1.0
    position: int = 0
    observed: int = 0
    next_landmark: int = 1
    strides: Indices = field(default_factory=lambda: np.ones(2, dtype=np.int64))
    scores: Floats = field(default_factory=_no_scores)
    score_weights: Floats = field(default_factory=_no_scores)
    score_positions: Floats = field(default_factory=_no_scores)
    n_scores: Indices = field(default_factory=lambda: np.zeros(2, dtype=np.int64))
    # The alternating stages of STAMP.
    level: float = 0.5
    estimating: bool = False
    stage_start: int = 0
    stage_end: int = 0
    epoch_rows: int = 0
    # The buffers of mini-batches: how many were learnt from, and the samples of the next one, with truth and weights.
    batches: int = 0
    waiting: int = 0
    pieces: list[tuple[Any, Mask, Floats]] = field(default_factory=list)

    @classmethod
    def fresh(cls, n_features: int, is_sparse: bool, scaling: bool) -> Self:
        """Return the state before the first sample, for features that will be scaled or used unchanged."""
        check_feature_memory(n_features, len(_VECTORS) * _NUMBER_BYTES)
        numbers = np.zeros(streaming.N_NUMBERS)
        numbers[streaming.SCALE] = 1.0
        numbers[[streaming.ALPHA, streaming.BETA]] = 0.5
        vectors: dict[str, Any] = {name: np.zeros(n_features) for name in _VECTORS}
        if not scaling:
            vectors["precision"] = np.ones(n_features)
        return cls(is_sparse=is_sparse, numbers=numbers, **vectors)

    def to_arrays(self) -> Arrays:
        """Return all fields as arrays for a file."""
        return pack_fields(self, _SCHEMA) | _pack_pieces(self.pieces, self.is_sparse)

    @classmethod
    def from_arrays(cls, arrays: Arrays, fresh: StreamState) -> Self:
        """Return the state that `to_arrays` has packed; raise a `StateError` if it is none of the same training.

        ``fresh`` is the state before the first sample of this training.
        """
        n_pieces = 0
        while f"piece{n_pieces}_weights" in arrays:
            n_pieces += 1
        check_arrays(arrays, _make_schema(n_pieces, fresh.v.size, fresh.is_sparse), features=fresh.v.size)
        state = cls(**unpack_fields(arrays, _SCHEMA))
        require_state(state.is_sparse == fresh.is_sparse, "'is_sparse' is not that of the samples")
        require_state(state.epoch_rows > 0 or fresh.epoch_rows == 0, "'epoch_rows' is zero")
        state.pieces = [state._piece(arrays, f"piece{number}_") for number in range(n_pieces)]
        _check_waiting(state.waiting, state.pieces)
        _check_recent_scores(state.n_scores, state.score_weights)
        return state

    def _piece(self, arrays: Arrays, prefix: str) -> tuple[Any, Mask, Floats]:
        positive, weights = arrays[prefix + "positive"], arrays[prefix + "weights"]
        if not self.is_sparse:
            return arrays[prefix + "dense"], positive, weights
        parts = tuple(arrays[prefix + name] for name in ("data", "indices", "indptr"))
        return sparse.csr_matrix(parts, shape=(weights.size, self.v.size)), positive, weights

    # ---------------------------------------------------------------------------------------------------- the model

    def average(self) -> tuple[Floats, float]:
        """Return weights and intercept of the averaged model, for raw features."""
        weights = np.empty(self.v.size)
        return weights, self._write_average(weights)

    def _write_average(self, weights: Floats) -> float:
        """Write the weights of the averaged model; return its intercept."""
        shares = self.numbers[streaming.SUM_SHARES]
        if shares == 0.0:
            weights[:] = 0.0
            return 0.0
        streaming.average_weights(self.v, self.z, self.numbers[streaming.SUM_SCALE], shares, weights)
        return float(self.numbers[streaming.SUM_BIAS] / shares)

    @property
    def positive_share(self) -> float:
        """The share of positives among the samples learnt from; nan before the first."""
        positive, negative = self.numbers[streaming.POS_WEIGHT], self.numbers[streaming.NEG_WEIGHT]
        return float(positive / (positive + negative)) if positive + negative > 0.0 else float("nan")

    @property
    def prior(self) -> float:
        """The estimated probability of positives; between 0 and 1 even if one class has not been seen."""
        positive, negative = self.numbers[streaming.POS_WEIGHT], self.numbers[streaming.NEG_WEIGHT]
        return float((positive + 1.0) / (positive + negative + 2.0))

    # ----------------------------------------------------------------------------------------------------- landmarks

    def check_countable(self, n_samples: int) -> None:
        """Raise a ValueError if more samples cannot be counted: positions planned ahead are up to twice those seen."""
        most = max(getattr(self, name) for name, field in _SCHEMA.items() if field is COUNT)
        if most + n_samples > MOST / 2.0:
            raise ValueError(
                f"{n_samples} more samples cannot be counted after those of the stream, whose counts reach {most:g}: "
                "train a new model"
            )

    def observe(self, data: StreamData, samples: Indices) -> None:
        """Enter samples at the current position into the statistics: all of the first ones, then some."""
        all_until = max(_OBSERVED_AT_FIRST - self.observed, 0)
        later = all_until + (-self.position - all_until) % _OBSERVED_LATER
        self._enter(data, np.concatenate([samples[:all_until], samples[later::_OBSERVED_LATER]]))

    def observe_ahead(self, data: StreamData, samples: Indices, scaling: bool) -> None:
        """Estimate the scale of the features from the given samples before the first update."""
        if scaling:
            self._enter(data, samples)
        self.pass_landmark(scaling)
        # The statistics will change little at first.
        self.next_landmark = self.position + self._longest_interval

    def _enter(self, data: StreamData, samples: Indices) -> None:
        if samples.size == 0:
            return
        if self.observed == 0 and not self.is_sparse:
            self.origin[:] = data.sample(int(samples[0]))
        data.observe(samples, self.origin, self.first, self.second, self.observed)
        self.observed += samples.size

    @property
    def _longest_interval(self) -> int:
        return max(_INTERVAL, self.v.size)

    def pass_landmark(self, scaling: bool) -> None:
        """Bring mean and scale of the features up to date, take a snapshot of the model, set the next landmark."""
        if scaling:
            self.rescale()
        self.take_snapshot()
        interval = min(max(self.position, 1), self._longest_interval)
        self.next_landmark = self.position + interval
        self.strides = self._strides(interval, _REMEMBERED_BETWEEN_LANDMARKS)

    def _strides(self, n_samples: int, wanted: int) -> Indices:
        """Return the stride per class at which samples are kept, so that as many as wanted are."""
        prior = self.prior
        return np.array([max(math.ceil(n_samples * share / wanted), 1) for share in (prior, 1.0 - prior)], np.int64)

    def rescale(self) -> None:
        """Bring mean and scale of the features up to date; the model stays the same."""
        if self.observed == 0:
            return
        if self.is_sparse:
            # The scale of the entries that are not zero, and larger steps for rare features: their gradients are rare
            # too, and grow with the root of their frequency only (as in AdaGrad).
            shares = np.empty(self.first.size)
            streaming.rescale_sparse(self.first, self.second, float(self.observed), self.precision, shares)
            self.square = 1.0 + float(shares.sum()) / self.observed
            return
        shift = self.first / self.observed
        with np.errstate(over="ignore", invalid="ignore"):  # a feature with infinite squares is not used
            variance = self.second / self.observed - shift**2
        # A variance within the rounding errors of its computation is that of a constant.
        varies = np.isfinite(variance) & (variance > 1e-14 * self.second / self.observed) & (variance > 1e-300)
        self.precision[:] = 0.0
        np.divide(1.0, variance, out=self.precision, where=varies)
        self.mean[:] = np.where(varies, self.origin + shift, 0.0)
        self.square = 1.0 + np.count_nonzero(varies)
        # The model stays the same: what the new mean adds to the offset, the bias gives back.
        numbers, offset = self.numbers, float(self.v @ self.mean)
        numbers[streaming.BIAS] += numbers[streaming.SCALE] * (offset - numbers[streaming.OFFSET])
        numbers[streaming.OFFSET] = offset

    def take_snapshot(self) -> None:
        """Keep a copy of the averaged model, to score the samples that follow."""
        self.snapshot_bias = self._write_average(self.snapshot)

    # ------------------------------------------------------------------------------------------------- recent scores

    def remember(self, data: StreamData, samples: Indices, positions: Indices | None = None) -> None:
        """Score some samples that were not learnt from yet, with the snapshot; the rare class more often."""
        if not self.snapshot.any():
            return
        strides = self.strides
        if self.estimating:  # these samples have no other purpose
            strides = self._strides(self.stage_end - self.stage_start, _REMEMBERED_IN_ESTIMATION)
        if self.is_sparse and positions is None:
            recent = self.scores, self.score_weights, self.score_positions, self.n_scores
            data.remember(samples, self.position, strides, self.snapshot, self.snapshot_bias, *recent)
            return
        if positions is None:
            positions = self.position + np.arange(samples.size)
        for side, stride in enumerate(strides):
            spaced = np.flatnonzero(positions % stride == 0)
            chosen = spaced[data.positive[samples[spaced]] == (side == 0)]
            scores = data.scores(samples[chosen], self.snapshot, self.snapshot_bias)
            self._keep(side, scores, data.weights[samples[chosen]], positions[chosen])

    def _keep(self, side: int, scores: Floats, weights: Floats, positions: Indices) -> None:
        scores, weights, positions = scores[-_REMEMBERED:], weights[-_REMEMBERED:], positions[-_REMEMBERED:]
        places = (self.n_scores[side] + np.arange(scores.size)) % _REMEMBERED
        self.scores[side, places] = scores
        self.score_weights[side, places] = weights
        self.score_positions[side, places] = positions
        self.n_scores[side] += scores.size

    def recent_scores(self, since: float | None = None) -> tuple[Mask, Floats, Floats] | None:
        """Return truth, scores and weights of the samples remembered since a position; None if a class has none.

        By default of the later half of the stream, or all of them if those are few. The weights give both classes
        their share in the stream, however many samples of each were kept.
        """
        if since is None:
            since = self.position / 2
            if min(self._select_scores(side, since).size for side in (0, 1)) < _ENOUGH_RECENT:
                since = 0.0
        kept = [self._select_scores(side, since) for side in (0, 1)]
        if not all(self.score_weights[side, kept[side]].any() for side in (0, 1)):
            return None
        truth = np.repeat([True, False], [places.size for places in kept])
        scores = np.concatenate([self.scores[side, kept[side]] for side in (0, 1)])
        weights = [self.score_weights[side, kept[side]] for side in (0, 1)]
        totals = self.numbers[[streaming.POS_WEIGHT, streaming.NEG_WEIGHT]]
        shares = [total * weight / weight.sum() for total, weight in zip(totals, weights, strict=True)]
        return truth, scores, np.concatenate(shares)

    def _select_scores(self, side: int, since: float) -> Indices:
        """Return where scores of a class since a position are."""
        return np.flatnonzero(self.score_positions[side, : self.n_scores[side]] >= since)
