"""A short fuzzing campaign, and what the campaign itself must guarantee: limits, attribution, clear errors."""

from __future__ import annotations

import ctypes
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import metricwise as mw
from fuzzing import campaign, failures
from fuzzing.campaign import Settings, Tally, format_summary
from fuzzing.cases import KINDS, Kind, load_kind, make_case
from fuzzing.judging import Finding, attempt, find_problem
from fuzzing.state import State
from fuzzing.sweep import list_sweep
from fuzzing.workers import MOST_BYTES, Job, run_jobs

ROOT = Path(__file__).parents[2]
MINUTES = 0.5
MOST_CASES = 100  # so that the cases are the same on all machines that are fast enough


@pytest.fixture(scope="module")
def campaign_output(tmp_path_factory):
    """Return what a short campaign of all kinds prints."""
    state = tmp_path_factory.mktemp("fuzzing") / "state.json"
    command = [sys.executable, "-W", "ignore", "-m", "fuzzing", "--minutes", str(MINUTES), "--cases", str(MOST_CASES)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
    found = subprocess.run(
        [*command, "--workers", "2", "--state", str(state)], cwd=ROOT, env=environment, capture_output=True, text=True
    )
    assert found.returncode in (0, 1), found.stderr
    return found.stdout


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_minute_of_random_cases_finds_nothing(campaign_output, kind):
    findings = re.findall(rf"^FINDING {kind}:.*$", campaign_output, re.MULTILINE)
    assert not findings, "\n".join(findings)
    assert re.search(rf"^{kind} +[1-9]", campaign_output, re.MULTILINE)


# -------------------------------------------------------------------------------------------- limits and attribution


def _behave(case, folder):
    """Do what a case says, well or badly."""
    if case["does"] == "crash":
        ctypes.string_at(0)
    elif case["does"] == "hang":
        while True:
            time.sleep(0.01)
    elif case["does"] == "loop":
        while True:
            pass
    elif case["does"] == "grow":
        attempt(np.ones, 2 * MOST_BYTES // 8)
    elif case["does"] == "exit":
        os._exit(7)
    elif case["does"] == "err":
        {}["missing"]
    elif case["does"] == "find":
        raise Finding("wrong number 3 in /tmp/x/y")
    return "passed"


BEHAVIOUR = ["pass", "crash", "pass", "hang", "loop", "grow", "exit", "err", "find", "pass"]
KIND = Kind(lambda: None, lambda random: {"does": "pass"}, _behave, most_seconds=0.4)


def test_every_kind_of_failure_is_attributed_to_its_case(tmp_path):
    jobs = [Job(f"{number} {does}", case={"does": does}) for number, does in enumerate(BEHAVIOUR)]
    reports = {report.job.name: report for report in run_jobs(KIND, "own", iter(jobs), 0.0, 2, tmp_path)}
    assert len(reports) == len(jobs)
    found = {name.split()[1]: report.finding for name, report in reports.items()}
    assert found["pass"] is None
    assert found["crash"].startswith("crash by SIGSEGV") and "string_at" in found["crash"]
    assert found["hang"].startswith("hang over 0.4 s") and found["loop"].startswith("hang over 0.4 s")
    assert found["grow"].startswith("memory exhausted")
    assert "code 7" in found["exit"] and "KeyError" in found["err"]
    assert found["find"] == "wrong number 3 in /tmp/x/y"


def test_no_process_of_a_killed_case_is_left(tmp_path):
    """A worker that is ended takes the processes with it that its case has started."""

    def start_sleeper(case, folder):
        sleeper = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        Path(case["file"]).write_text(str(sleeper.pid))
        time.sleep(600)
        return "never"

    kind = Kind(lambda: None, lambda random: {}, start_sleeper, most_seconds=0.4)
    (report,) = run_jobs(kind, "own", iter([Job("0", case={"file": str(tmp_path / "pid")})]), 0.0, 1, tmp_path)
    assert report.outcome == "hang"
    pid = int((tmp_path / "pid").read_text())
    for _ in range(100):
        status = Path(f"/proc/{pid}/stat")
        if not status.exists() or status.read_text().split()[2] == "Z":
            return
        time.sleep(0.05)
    os.kill(pid, signal.SIGKILL)
    pytest.fail("the process that the case has started still runs")


# -------------------------------------------------------------------------------------------------------- clear errors


def _raise_internal():
    np.ones(3) @ np.ones(4)


@pytest.mark.parametrize(
    "function, problem",
    [
        (lambda: mw.get_measure("nonsense"), None),
        (lambda: mw.MultivariateSVC(C=-1.0).fit(np.eye(3), [0, 1, 1]), None),
        (lambda: mw.MultivariateSVC().predict(np.eye(3)), None),
        (lambda: mw.io.read_table("missing.csv"), None),
        (lambda: mw.MultivariateSVC().fit(_raise_internal(), [0, 1]), "exception of internals"),
        (lambda: mw.get_measure("f1").value(*[np.ones(k) for k in range(2, 6)]), "exception of internals"),
        (lambda: mw.get_measure("f1").absent, "exception of internals"),
        (lambda: {}["missing"], "unexpected exception"),
    ],
)
def test_only_deliberate_errors_are_clear(function, problem):
    with pytest.raises((ValueError, TypeError, OSError, KeyError, AttributeError, NotFittedError)) as caught:
        function()
    assert find_problem(caught.value) == problem


# ------------------------------------------------------------------------------------------------- corpus and progress


def test_a_campaign_resumes_and_replays_what_it_has_found(tmp_path, monkeypatch, capsys):
    """The first case of every finding is stored, and runs first in the next campaign; seeds go on."""
    kind = Kind(lambda: None, lambda random: {"does": random.choice(["pass", "find"])}, _behave)
    monkeypatch.setattr(campaign, "load_kind", lambda name: kind)
    settings = Settings(60.0, 2, keeps_failures=True, most_cases=20, corpus=tmp_path / "corpus")
    (tally,) = campaign.run_campaign(["own"], State(tmp_path / "state.json", 3), settings)
    assert tally.n_cases == 20 and len(tally.findings) == 1
    assert re.search(r"FINDING own:30000000\d\d  wrong number 3", capsys.readouterr().out)
    (stored,) = failures.list_failures("own", tmp_path / "corpus")
    assert stored.case == {"does": "find"}
    assert State(tmp_path / "state.json", 3).first_seed("own") == 3_000_000_020
    assert State(tmp_path / "state.json", 4).first_seed("own") == 4_000_000_000
    again = Settings(60.0, 1, most_cases=0, corpus=tmp_path / "corpus")
    (tally,) = campaign.run_campaign(["own"], State(tmp_path / "state.json", 3), again)
    assert tally.n_cases == 1 and len(tally.findings) == 1


def test_stored_failures_are_small_and_readable():
    for path in failures.CORPUS.rglob("*"):
        assert path.is_dir() or path.stat().st_size < 32_000, path.name
    for kind in KINDS:
        assert all(isinstance(job.case, dict) for job in failures.list_failures(kind))


def test_the_summary_counts_cases_per_minute():
    tally = Tally("own", seconds=30.0)
    tally.outcomes.update({"read": 40, "finding": 10})
    line = format_summary([tally]).splitlines()[1]
    assert line.split()[:4] == ["own", "50", "100", "0"] and "40 read, 10 finding" in line


def test_cases_depend_on_their_seed_alone():
    """Kinds that need no preparation to make a case make the same one for the same seed."""
    for name in ("data_files", "estimators", "kills", "full_disks", "threads", "forks"):
        kind = load_kind(name)
        assert make_case(kind, name, 5) == make_case(kind, name, 5) != make_case(kind, name, 6)
        assert json.loads(json.dumps(make_case(kind, name, 5))) == make_case(kind, name, 5)


# -------------------------------------------------------------------------------------------------------- every field

# Each of these was accepted once, and failed in the internals of another package.
FIELDS = frozenset(
    {
        "metricwise.BatchRule.measure=metricwise.TablePosterior",
        "metricwise.BatchRule.threshold=too many",
        "metricwise.MiniBatchSVC.pos_label=no numbers",
        "metricwise.ProbabilisticClassifierChain.inference=list",
        "metricwise.SparseCodingClassifier.C1=too many",
        "sklearn.ensemble.RandomForestClassifier.n_estimators=too many",
        "sklearn.impute.MissingIndicator.sparse=true",
        "sklearn.impute.SimpleImputer._fill_dtype=removed",
        "sklearn.linear_model.SGDClassifier.verbose=too many",
        "sklearn.neighbors.KNeighborsClassifier.n_neighbors=true",
        "sklearn.neural_network.MLPClassifier.best_loss_=nothing",
        "sklearn.neural_network.MLPClassifier.loss_curve_=removed",
        "sklearn.preprocessing.LabelBinarizer.sparse_output=true",
        "sklearn.svm.SVC._effective_probability=removed",
    }
)


def test_changed_fields_are_refused_or_harmless(tmp_path):
    """`python -m fuzzing --sweep` changes all fields in this way."""
    kind = load_kind("model_files")
    kind.prepare()
    jobs = list(list_sweep(FIELDS))
    assert {job.name for job in jobs} == FIELDS
    for report in run_jobs(kind, "model_files", iter(jobs), float("inf"), 1, tmp_path):
        assert report.finding is None, report.job.name
        assert report.outcome in ("refused", "predicted")
