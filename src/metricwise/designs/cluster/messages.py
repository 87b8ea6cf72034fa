"""Messages to the workers of a cluster.

A request is a small frozen dataclass. It travels to the data and computes its answer there; the type of the request
says which data it needs and what comes back. Its arrays travel as buffers, without copies.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from metricwise._typing import Floats, Hashes, Indices
from metricwise.designs.cluster.encoding import (
    EncodedCoefficients,
    EncodedWeights,
    decode_coefficients,
    encode_weights,
)
from metricwise.designs.matrix import MatrixDesign, make_matrix_design

AnswerT = TypeVar("AnswerT")
AnswerT_co = TypeVar("AnswerT_co", covariant=True)
DataT = TypeVar("DataT")
DataT_contra = TypeVar("DataT_contra", contravariant=True)


class Request(Protocol[DataT_contra, AnswerT_co]):
    """A request to the data of one worker."""

    def answer(self, data: DataT_contra) -> AnswerT_co:
        """Compute the answer; runs where the data are."""
        ...


@dataclass(frozen=True)
class Reply(Generic[AnswerT]):
    """The answer of one worker, and the seconds it took to compute."""

    answer: AnswerT
    seconds: float


class DataActor(Generic[DataT]):
    """Keeps data on a worker and answers requests to them; a Dask actor.

    Parameters
    ----------
    make_data : callable
        Returns the data.
    *arguments
        Passed to ``make_data``.
    """

    def __init__(self, make_data: Callable[..., DataT], *arguments: Any) -> None:
        self.data = make_data(*arguments)

    def reply(self, request: Request[DataT, AnswerT]) -> Reply[AnswerT]:
        """Return the answer to a request, with its computing time."""
        started = time.perf_counter()
        answer = request.answer(self.data)
        return Reply(answer, time.perf_counter() - started)


@dataclass(frozen=True)
class WorkerBlocks:
    """The chunks that one worker keeps, by their numbers: the matrices and their designs."""

    matrices: Mapping[int, Any]
    designs: Mapping[int, MatrixDesign]


def keep_blocks(chunks: Sequence[int], intercept: float, *matrices: Any) -> WorkerBlocks:
    """Return chunks for a worker, which multiplies with all of its threads.

    Parameters
    ----------
    chunks : sequence of int
        Numbers of the chunks.
    intercept : float
        Value of the constant column; 0 if there is none.
    *matrices
        The chunks.
    """
    from distributed import get_worker

    threads = int(get_worker().state.nthreads)
    designs = [make_matrix_design(matrix, intercept=intercept, threads=threads) for matrix in matrices]
    return WorkerBlocks(dict(zip(chunks, matrices, strict=True)), dict(zip(chunks, designs, strict=True)))


@dataclass(frozen=True)
class ComputeScores(Request[WorkerBlocks, dict[int, Floats]]):
    """Ask for X w of some chunks."""

    chunks: Sequence[int]
    w: Floats

    def answer(self, data: WorkerBlocks) -> dict[int, Floats]:
        return {k: data.designs[k].scores(self.w) for k in self.chunks}


@dataclass(frozen=True)
class CombineSamples(Request[WorkerBlocks, dict[int, EncodedWeights]]):
    """Ask for X' c of some chunks, given the coefficients of their samples."""

    coefficients: Mapping[int, EncodedCoefficients]

    def answer(self, data: WorkerBlocks) -> dict[int, EncodedWeights]:
        return {
            k: encode_weights(data.designs[k].combine(decode_coefficients(c))) for k, c in self.coefficients.items()
        }


@dataclass(frozen=True)
class ComputeSizes(Request[WorkerBlocks, dict[int, tuple[Floats, Floats]]]):
    """Ask for abs(X) weights and abs(X)' mass of some chunks, given the masses of their samples."""

    weights: Floats
    masses: Mapping[int, Floats]

    def answer(self, data: WorkerBlocks) -> dict[int, tuple[Floats, Floats]]:
        return {k: data.designs[k].sizes(self.weights, mass) for k, mass in self.masses.items()}


@dataclass(frozen=True)
class ComputeFingerprints(Request[WorkerBlocks, dict[int, Hashes]]):
    """Ask for one hash per sample of some chunks."""

    chunks: Sequence[int]
    seed: int

    def answer(self, data: WorkerBlocks) -> dict[int, Hashes]:
        return {k: data.designs[k].fingerprints(self.seed) for k in self.chunks}


@dataclass(frozen=True)
class GatherSamples(Request[WorkerBlocks, dict[int, Any]]):
    """Ask for copies of some samples, given their positions within the chunks."""

    positions: Mapping[int, Indices]

    def answer(self, data: WorkerBlocks) -> dict[int, Any]:
        return {k: data.matrices[k][samples] for k, samples in self.positions.items()}
