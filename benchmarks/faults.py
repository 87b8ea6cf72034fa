"""Faults of a cluster during training, with real processes, each case ten times."""

from __future__ import annotations

import statistics
import time

from distributed import Client, LocalCluster

from benchmarks.cluster_process import SETTINGS
from benchmarks.context import Context
from benchmarks.fault_cases import CASES, N_CHUNKS, N_FEATURES, N_ROWS, TOL, Outcome, labels_of, train
from benchmarks.report import Column, Record, Section, Table

RUNS, QUICK_RUNS = 10, 1

COLUMNS = (
    Column("case", "what happens"),
    Column("runs", "runs", "{:d}"),
    Column("happened", "it happened", "{:d}"),
    Column("same_certificate", "same certificate", "{:d}"),
    Column("same_bits", "same bits", "{:d}"),
    Column("gap", "largest difference", "{:.1e}"),
    Column("seconds", "median, s", "{:.2f}"),
    Column("slowest", "slowest, s", "{:.2f}"),
    Column("undisturbed", "undisturbed, s", "{:.2f}"),
)


def measure(context: Context) -> Section:
    """Run every case of `benchmarks.fault_cases`; a run without the undisturbed model is a failure."""
    section = Section("faults", "Faults during training", [_text()])
    runs = QUICK_RUNS if context.quick else RUNS
    records = []
    with LocalCluster(**SETTINGS) as cluster, Client(cluster) as client:
        labels = labels_of(client)
        train(client, labels)
        started = time.perf_counter()
        undisturbed = train(client, labels)
        seconds = time.perf_counter() - started
        for name, case in CASES.items():
            outcomes: list[Outcome] = []
            # A training may end before its disturbance; such a run counts, but not for one in which it happened.
            while sum(outcome.happened for outcome in outcomes) < runs and len(outcomes) < 2 * runs:
                outcomes.append(case(cluster, client, labels, undisturbed, len(outcomes)))
            records.append(_record(name, outcomes, seconds))
            if not all(outcome.same_certificate for outcome in outcomes):
                section.failures.append(f"{name}: not every training ended with the certificate of an undisturbed one")
            if sum(outcome.happened for outcome in outcomes) < runs:
                section.failures.append(f"{name}: happened in fewer than {runs} of {len(outcomes)} trainings")
    section.tables.append(Table("Trainings that were disturbed", COLUMNS, records))
    return section


def _record(name: str, outcomes: list[Outcome], undisturbed: float) -> Record:
    seconds = [outcome.seconds for outcome in outcomes]
    return {
        "case": name,
        "runs": len(outcomes),
        "happened": sum(outcome.happened for outcome in outcomes),
        "same_certificate": sum(outcome.same_certificate for outcome in outcomes),
        "same_bits": sum(outcome.same_bits for outcome in outcomes),
        "gap": max(outcome.gap for outcome in outcomes),
        "seconds": statistics.median(seconds),
        "slowest": max(seconds),
        "undisturbed": undisturbed,
    }


def _text() -> str:
    return (
        f"``MultivariateSVC`` is trained for F1 to a relative gap of {TOL:g} on {N_ROWS:,} rows of {N_FEATURES} "
        f"features in {N_CHUNKS} chunks, on two worker processes with one thread each. After the third iteration "
        "something happens: a worker process gets SIGKILL some milliseconds into the next iteration; a third "
        "worker joins; a worker stands still for four seconds (SIGSTOP, SIGCONT); the process of the scheduler "
        "gets SIGKILL, training fails with an error that names its checkpoint, and goes on from there on another "
        "cluster. *It happened* counts the runs in which the disturbance was seen to come before the end of "
        "training, *same certificate* those with the objective of an undisturbed training within the tolerance, "
        "*same bits* those with equal weights and bounds to the last bit. The largest difference is that of the "
        "objectives. In the last case, seconds are those of the training that goes on."
    )
