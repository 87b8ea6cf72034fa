"""Disks without room: the error names what could not be written, and what was there before stays."""

import signal
from contextlib import contextmanager

import numpy as np
import pytest

import metricwise.io
from metricwise import MultivariateSVC, load, save

resource = pytest.importorskip("resource")


@contextmanager
def largest_file(size):
    """Let no file of this process grow beyond a size."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


@pytest.fixture(scope="module")
def samples():
    random = np.random.default_rng(0)
    X = random.standard_normal((400, 30))
    return X, (X[:, 0] > 0.5).astype(np.int64)


def test_a_full_disk_is_named_and_the_old_model_stays(samples, tmp_path):
    model = MultivariateSVC("accuracy", threshold=0.0).fit(*samples)
    path = tmp_path / "model.mw"
    save(model, path)
    before = path.read_bytes()
    with largest_file(1000), pytest.raises(OSError, match=r"give another path: '.*model\.mw'"):
        save(model, path)
    assert path.read_bytes() == before and list(tmp_path.iterdir()) == [path]
    np.testing.assert_array_equal(load(path).coef_, model.coef_)


def test_a_conversion_without_room_names_its_folder_and_leaves_nothing(samples, tmp_path):
    X, y = samples
    path = tmp_path / "samples.csv"
    np.savetxt(
        path, np.column_stack([y, X]), delimiter=",", header="y," + ",".join(f"x{j}" for j in range(30)), comments=""
    )
    with largest_file(20_000), pytest.raises(OSError, match=r"give another path: '.*samples.csv.metricwise-"):
        metricwise.io.open(path, target="y")
    assert list(tmp_path.iterdir()) == [path]
