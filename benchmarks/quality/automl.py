"""AutoGluon and FLAML on some of the tables, in an environment of their own: ``python -m benchmarks.quality.automl``.

They pin the versions of what metricwise needs, too, and are therefore not installed beside it. Splits go to files, a
script of that environment trains and predicts, and F1 is computed here.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from sklearn.metrics import f1_score

from benchmarks.quality.running import RESULTS, append, drop, read, report
from benchmarks.quality.suites import split_table
from benchmarks.quality.trials import Record

AUTOGLUON, FLAML = "AutoGluon", "FLAML"
SECONDS = {AUTOGLUON: 60, FLAML: 30}
AUTOML_SETTINGS = {
    AUTOGLUON: f'``presets="medium_quality"``, ``eval_metric="f1"``, {SECONDS[AUTOGLUON]} s, one core',
    FLAML: f'``metric="f1"``, {SECONDS[FLAML]} s, one core',
}
PROBLEMS = (
    "abalone_7",
    "letter_z",
    "oil_spill",
    "mammography",
    "covtype_5",
    "a9a",
    "phoneme",
    "german",
    "hypothyroid",
    "Cardiotocography",
)
REPETITION = 0
PART = "tables/f1/automl"
SCRIPT = Path(__file__).with_name("automl_process.py")


def run_trial(python: Path, library: str, problem: str) -> Record:
    """Return F1 of a library on a problem, with its wall-clock and processor seconds.

    Parameters
    ----------
    python : Path
        The interpreter of the environment in which the library is installed.
    library : str
        "AutoGluon" or "FLAML".
    problem : str
        Name of a table.

    Returns
    -------
    dict
    """
    split = split_table(problem, REPETITION)
    with tempfile.TemporaryDirectory() as folder:
        samples, predictions = Path(folder) / "samples.npz", Path(folder) / "predictions.npz"
        np.savez(samples, X=split.X, y=split.y.astype(np.int64), X_test=split.X_test)
        command = [python, SCRIPT, library, str(SECONDS[library]), samples, predictions]
        subprocess.run(command, check=True, cwd=folder, stdout=subprocess.DEVNULL)
        with np.load(predictions) as stored:
            predicted = stored["predicted"]
            seconds = {name: float(stored[name]) for name in ("seconds", "cpu_seconds")}
    value = float(f1_score(split.y_test, predicted == 1))
    about = {"repetition": REPETITION, "positives": int(split.y_test.sum())}
    return {"problem": problem, "method": library, "value": value} | seconds | about


def main(arguments: list[str] | None = None) -> int:
    """Run the trials that are missing."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality.automl", description=__doc__)
    parser.add_argument("--python", type=Path, required=True, metavar="FILE", help="interpreter of their environment")
    parser.add_argument("--results", type=Path, default=RESULTS, metavar="FOLDER", help="folder of the trials")
    parser.add_argument("--problems", nargs="+", default=PROBLEMS, choices=PROBLEMS, metavar="NAME")
    parser.add_argument(
        "--again", action="append", choices=tuple(SECONDS), help="drop the stored trials of this library"
    )
    options = parser.parse_args(arguments)
    path = options.results / f"{PART}.jsonl"
    for library in options.again or ():
        drop(path, library)
    done = {(one["method"], one["problem"]) for one in read(path)}
    for problem in options.problems:
        for library in (name for name in SECONDS if (name, problem) not in done):
            found = run_trial(options.python.absolute(), library, problem)
            append(path, [found])
            report(f"{PART} {problem}: {library} {found['value']:.4f}, {found['cpu_seconds']:.1f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
