"""Project files agree with each other: workflows, Makefile, oldest dependencies, changelog, results."""

from __future__ import annotations

import ast
import json
import pydoc
import re
import runpy
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

from benchmarks.__main__ import PAGES, write_pages

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
FORMS = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("[!c]*.yml"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
TARGETS = set(re.findall(r"^([a-z][a-z-]*):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
CHANGELOG = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
each_workflow = pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)


def read(path):
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def list_steps(workflow):
    return [step for job in workflow["jobs"].values() for step in job["steps"]]


# ----------------------------------------------------------------------------------------------------------- workflows


def test_every_required_workflow_exists():
    assert {path.stem for path in WORKFLOWS} == {"test", "nightly", "docs", "wheel", "release"}


@each_workflow
def test_workflows_are_complete(path):
    workflow = read(path)
    # YAML 1.1 reads the key `on` as a boolean.
    assert workflow["name"] == path.stem and workflow[True] and workflow["permissions"] == {"contents": "read"}
    for name, job in workflow["jobs"].items():
        assert job["runs-on"] and job["timeout-minutes"] <= 60, name
        assert set(job.get("needs", "").split()) <= set(workflow["jobs"])
        for variable in re.findall(r"\$\{\{ matrix\.(\w+) \}\}", json.dumps(job)):
            assert variable in job["strategy"]["matrix"]
    for step in list_steps(workflow):
        assert ("uses" in step) != ("run" in step)
        assert "uses" not in step or re.fullmatch(r"[\w-]+/[\w-]+@(release/)?v\d+", step["uses"])


@each_workflow
def test_make_targets_in_workflows_exist(path):
    for step in list_steps(read(path)):
        command = step.get("run", "")
        assert set(re.findall(r"\bmake ([a-z-]+)", command)) <= TARGETS
        assert all((ROOT / script).is_file() for script in re.findall(r"\.ci/[\w.-]+", command))


def test_every_supported_python_is_tested():
    supported = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))
    assert read(ROOT / ".github/workflows/test.yml")["jobs"]["newest"]["strategy"]["matrix"]["python"] == supported
    assert PROJECT["requires-python"] == f">={supported[0]}"


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_issue_forms_are_complete(path):
    form = read(path)
    assert form["name"] and form["description"]
    assert all(field["type"] in {"textarea", "input"} and field["attributes"]["label"] for field in form["body"])


def test_every_phony_target_is_documented():
    phony = re.search(r"^\.PHONY:((?:.*\\\n)*.*)", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert set(phony[1].replace("\\", "").split()) == TARGETS


# -------------------------------------------------------------------------------------------------------- dependencies


def test_oldest_requirements_equal_the_lower_bounds():
    groups = [PROJECT["optional-dependencies"][name] for name in ("parquet", "onnx", "dask", "test")]
    floors = {
        re.sub(r"\[.*\]>=|>=", "==", requirement) for requirement in sum(groups, start=PROJECT["dependencies"].copy())
    }
    listed = (ROOT / "requirements" / "oldest.txt").read_text(encoding="utf-8").splitlines()
    assert {line for line in listed if not line.startswith("#")} == floors


def test_the_conda_recipe_equals_the_project():
    recipe = read(ROOT / "conda" / "recipe.yaml")
    known = {"matplotlib-base": "matplotlib"}  # conda-forge's name for it without the windows
    python, *run = recipe["requirements"]["run"]
    renamed = [known.get(name, name) + floor for name, floor in (one.split(" ") for one in run)]
    assert renamed == PROJECT["dependencies"]
    assert (
        python == "python >=${{ python_min }}" and PROJECT["requires-python"] == f">={recipe['context']['python_min']}"
    )
    build = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["build-system"]["requires"]
    assert {one.replace(" ", "") for one in recipe["requirements"]["host"]} >= set(build)
    assert recipe["build"]["python"]["entry_points"] == [
        f"{name} = {home}" for name, home in PROJECT["scripts"].items()
    ]
    assert recipe["about"]["license"] == PROJECT["license"] and (ROOT / recipe["about"]["license_file"]).is_file()
    files = next(one["files"]["source"] for one in recipe["tests"] if "files" in one)
    assert [name for name in files if not (ROOT / name).is_file()] == []


# ------------------------------------------------------------------------------------------------------------ releases


def test_the_changelog_names_every_version_once():
    headings = re.findall(r"^## (.*)$", CHANGELOG, re.MULTILINE)
    assert headings[0] == "[Unreleased]" and len(set(headings)) == len(headings)
    assert all(re.fullmatch(r"\[\d+\.\d+\.\d+\] - \d{4}-\d{2}-\d{2}", heading) for heading in headings[1:])
    sections = re.findall(r"^### (.*)$", CHANGELOG, re.MULTILINE)
    assert set(sections) <= {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}


def test_release_notes_are_extracted_from_the_changelog():
    release = runpy.run_path(str(ROOT / ".ci" / "release_notes.py"))
    text = "## [Unreleased]\n\n## [0.2.0] - 2030-01-31\n\n### Added\n\n- It.\n\n## [0.1.0] - 2029-01-01\n\n- Old.\n"
    assert release["extract_notes"](text, "0.2.0") == "### Added\n\n- It.\n"
    assert release["extract_notes"](text, "0.1.0") == "- Old.\n"
    with pytest.raises(ValueError, match=r"no entries under '## \[0.3.0\] - YYYY-MM-DD'"):
        release["extract_notes"](text, "0.3.0")


def test_a_tag_that_differs_from_the_version_fails():
    found = subprocess.run(
        [sys.executable, ROOT / ".ci" / "release_notes.py", "v99.0.0"], capture_output=True, text=True, check=False
    )
    assert found.returncode == 1 and "the tag is 'v99.0.0', but the package has version" in found.stderr


def test_citation_recipe_and_changelog_name_the_version():
    release = runpy.run_path(str(ROOT / ".ci" / "release_notes.py"))
    version = release["read_version"]()
    assert read(ROOT / "conda" / "recipe.yaml")["context"]["version"] == version
    released = re.search(rf"^## \[{re.escape(version)}\] - (.*)$", CHANGELOG, re.MULTILINE)[1]
    citation = read(ROOT / "CITATION.cff")
    assert citation["version"] == version and str(citation["date-released"]) == released
    assert release["extract_notes"](CHANGELOG, version)


@pytest.mark.parametrize("percent, code", [(93.0, 0), (92.999, 1)])
def test_coverage_below_the_floor_fails(tmp_path, percent, code):
    report = tmp_path / "coverage.json"
    report.write_text(json.dumps({"summary": {"percent_covered": percent}, "files": {}}), encoding="utf-8")
    command = [sys.executable, ROOT / ".ci" / "coverage_floor.py", report, "93"]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert found.returncode == code and found.stdout == "" and ("floor of 93 %" in found.stderr) == bool(code)


# ------------------------------------------------------------------------------------------------------- documentation


def test_the_api_page_names_what_exists():
    page = (ROOT / "docs" / "api" / "index.rst").read_text(encoding="utf-8")
    names = re.findall(r"^   ([A-Za-z][\w.]*)$", page, re.MULTILINE)
    assert "MetricClassifier" in names and "persistence.describe" in names
    assert [name for name in names if pydoc.locate(f"metricwise.{name}") is None] == []


def test_the_readme_imports_what_exists():
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    imports = [node for block in blocks for node in ast.walk(ast.parse(block)) if isinstance(node, ast.ImportFrom)]
    names = {f"{node.module}.{alias.name}" for node in imports for alias in node.names}
    own = [name for name in names if name.startswith("metricwise.")]
    assert "metricwise.MetricClassifier" in own and [name for name in own if pydoc.locate(name) is None] == []


def test_readme_and_landing_page_lead_with_model_selection():
    """A single linear model may have a degenerate optimum on rare positives; model selection compares it."""
    readme = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)[0]
    landing = (ROOT / "docs" / "index.rst").read_text(encoding="utf-8")
    assert "MetricClassifier(" in readme and "quantile(0.9)" in readme and "MultivariateSVC" not in readme
    assert landing.index("MetricClassifier(") < landing.index("MultivariateSVC(")


@pytest.mark.parametrize("path", sorted(ROOT.glob("*.md")), ids=lambda path: path.stem)
def test_links_lead_to_files(path):
    links = re.findall(r"\]\(([^):#]+)\)", path.read_text(encoding="utf-8"))
    assert [link for link in links if not (ROOT / link).is_file()] == []


def test_the_architecture_names_what_exists():
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    walks = text.split("## Seven walks")[1].split("## Where")[0]
    named = {*re.findall(r"`((?:[a-z_]+/)*[a-z_0-9]+)\.py`", text), *re.findall(r"\b((?:[a-z_]+/)+[a-z_]+)\b", walks)}
    folders = [ROOT / "src" / "metricwise", ROOT / "src" / "metricwise" / "estimators"]
    assert {"solvers/stamp", "streaming/training"} <= named
    assert [name for name in named if not any((folder / f"{name}.py").is_file() for folder in folders)] == []


# ------------------------------------------------------------------------------------------------------------- results


def test_committed_results_contain_no_local_paths():
    """Temporary folders and home directories are useless to readers and reveal who measured."""
    local_paths = re.compile(r"/(?:tmp|root|var/folders)/|/(?:home|Users)/\w|[A-Z]:\\\\Users")
    paths = [*(ROOT / "benchmarks").rglob("*.json*"), *(ROOT / "docs").rglob("*.rst"), *(ROOT / "docs").rglob("*.svg")]
    generated = {"raw", "_build", "generated", "gallery"}
    found = [
        f"{path.relative_to(ROOT)}: {match[0]}"
        for path in paths
        if not generated & set(path.relative_to(ROOT).parts)
        for match in local_paths.finditer(path.read_text(encoding="utf-8"))
    ]
    assert not found


def test_benchmark_pages_are_written_from_the_results(tmp_path):
    write_pages(ROOT / "benchmarks" / "results", tmp_path)
    pages = {path.name: path.read_text(encoding="utf-8") for path in tmp_path.iterdir()}
    kept = {name: (ROOT / "docs" / "benchmarks" / name).read_text(encoding="utf-8") for name in pages}
    assert len(pages) == len(PAGES) and [name for name in pages if pages[name] != kept[name]] == []
