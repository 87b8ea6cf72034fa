"""Faults of a cluster during training, with real processes, each case ten times."""

from __future__ import annotations

import statistics
import time

from distributed import Client, LocalCluster

from benchmarks.cluster_process import SETTINGS
from benchmarks.context import Context
from benchmarks.fault_cases import CASES, N_CHUNKS, N_FEATURES, N_SAMPLES, TOL, Outcome, make_labels, train
from benchmarks.report import Column, Record, Section, Table

RUNS, QUICK_RUNS = 10, 1

COLUMNS = (
    Column("case", "fault"),
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
    """Run every case of `benchmarks.fault_cases`; a run that ends with another certificate is a failure."""
    section = Section("faults", "Faults during training", [_text()])
    runs = QUICK_RUNS if context.quick else RUNS
    records = []
    with LocalCluster(**SETTINGS) as cluster, Client(cluster) as client:
        labels = make_labels(client)
        train(client, labels)
        started = time.perf_counter()
        undisturbed = train(client, labels)
        seconds = time.perf_counter() - started
        for name, case in CASES.items():
            outcomes: list[Outcome] = []
            # Training may end before the fault; such a run counts as a run, but not as one in which it happened.
            while sum(outcome.happened for outcome in outcomes) < runs and len(outcomes) < 2 * runs:
                outcomes.append(case(cluster, client, labels, undisturbed, len(outcomes)))
            records.append(_record(name, outcomes, seconds))
            if not all(outcome.same_certificate for outcome in outcomes):
                section.failures.append(f"{name}: not every run ended with the certificate of the undisturbed one")
            if sum(outcome.happened for outcome in outcomes) < runs:
                section.failures.append(f"{name}: happened in fewer than {runs} of {len(outcomes)} runs")
    section.tables.append(Table("Disturbed runs", COLUMNS, records))
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
        f"``MultivariateSVC`` is trained for F1 to a relative gap of {TOL:g} on {N_SAMPLES:,} samples of {N_FEATURES} "
        f"features in {N_CHUNKS} chunks, on two worker processes with one thread each. After the third iteration "
        "a fault is injected: a worker process gets SIGKILL some milliseconds into the next iteration; a third "
        "worker joins; a worker is suspended for four seconds (SIGSTOP, SIGCONT); the process of the scheduler "
        "gets SIGKILL, training fails with an error that names its checkpoint, and resumes from there on another "
        "cluster. *It happened* counts the runs in which the fault was seen to occur before the end of "
        "training, *same certificate* those with the objective of an undisturbed run within the tolerance, "
        "*same bits* those with equal weights and bounds to the last bit. The largest difference is that of the "
        "objectives. In the last case, seconds are those of the resumed run."
    )
