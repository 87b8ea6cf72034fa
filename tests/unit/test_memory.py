"""Available memory on any system, within the limits of containers, and parsed amounts of memory."""

from __future__ import annotations

import psutil
import pytest

from metricwise.memory import available_bytes, bytes_left_in_cgroups, parse_bytes

V2, V1 = ("memory.max", "memory.current"), ("memory.limit_in_bytes", "memory.usage_in_bytes")
UNLIMITED_V1 = "9223372036854771712\n"


def compute_bytes_left(tmp_path, membership, groups):
    """Return the bytes left under the given control groups: {folder: (names, limit, used)}."""
    for folder, ((limit_name, used_name), limit, used) in groups.items():
        group = tmp_path / "cgroup" / folder
        group.mkdir(parents=True, exist_ok=True)
        (group / limit_name).write_text(limit, encoding="ascii")
        (group / used_name).write_text(used, encoding="ascii")
    listed = tmp_path / "membership"
    listed.write_text(membership, encoding="ascii")
    return bytes_left_in_cgroups(listed, tmp_path / "cgroup")


def test_version_2_limits_count(tmp_path):
    assert compute_bytes_left(tmp_path, "0::/\n", {".": (V2, "1000000\n", "300000\n")}) == 700_000


def test_version_2_without_a_limit_is_unlimited(tmp_path):
    assert compute_bytes_left(tmp_path, "0::/\n", {".": (V2, "max\n", "300000\n")}) is None


def test_the_strictest_ancestor_group_counts(tmp_path):
    groups = {"a": (V2, "5000\n", "4000\n"), "a/b": (V2, "max\n", "100\n"), "a/b/c": (V2, "3000\n", "50\n")}
    assert compute_bytes_left(tmp_path, "0::/a/b/c\n", groups) == 1000


def test_version_1_limits_count(tmp_path):
    groups = {"memory/docker/x": (V1, "8000\n", "2000\n"), "memory": (V1, UNLIMITED_V1, "9000\n")}
    assert compute_bytes_left(tmp_path, "5:cpu,cpuacct:/\n4:hugetlb,memory:/docker/x\n", groups) == 6000


def test_version_1_and_version_2_may_coexist(tmp_path):
    groups = {"memory/x": (V1, "8000\n", "2000\n"), "unified/y": (V2, "max\n", "1\n")}
    assert compute_bytes_left(tmp_path, "4:memory:/x\n0::/y\n", groups) == 6000


def test_a_group_path_of_the_host_is_ignored(tmp_path):
    assert compute_bytes_left(tmp_path, "4:memory:/docker/of/the/host\n", {"memory": (V1, "900\n", "200\n")}) == 700


def test_a_group_above_its_limit_leaves_nothing(tmp_path):
    assert compute_bytes_left(tmp_path, "0::/\n", {".": (V2, "100\n", "150\n")}) == 0


def test_an_incomplete_group_has_no_limit(tmp_path):
    (tmp_path / "cgroup").mkdir()
    (tmp_path / "cgroup" / "memory.max").write_text("100\n", encoding="ascii")
    assert compute_bytes_left(tmp_path, "0::/\n", {}) is None


def test_a_system_without_control_groups_has_no_limit(tmp_path):
    assert bytes_left_in_cgroups(tmp_path / "absent", tmp_path) is None


def test_available_memory_is_at_most_the_total():
    assert 0 < available_bytes() <= psutil.virtual_memory().total


@pytest.mark.parametrize("text", ["", "much", "-1GB", "1XB", "0GB", "²GB", 0, True, None, 1.5])
def test_invalid_amounts_raise(text):
    with pytest.raises(ValueError, match="memory_limit must be a number of bytes or text such as '800MB'"):
        parse_bytes(text)


@pytest.mark.parametrize("amount", ["99999999TB", "9" * 400 + "GB", 10**30])
def test_amounts_that_no_machine_has_raise(amount):
    with pytest.raises(ValueError, match="is more than any machine has: give at most 8000000TB"):
        parse_bytes(amount)
    assert parse_bytes("8000000TB") == 8 * 10**18
