# Everything here works from a fresh clone with nothing but Python 3.11 or newer.
# The tools live in .venv, which is made on first use and brought up to date when pyproject.toml changes.

PYTHON ?= python3
VENV := .venv
SCRIPTS := $(if $(filter Windows_NT,$(OS)),Scripts,bin)
BIN := $(VENV)/$(SCRIPTS)
PY := $(BIN)/python
INSTALL := -m pip install --quiet --disable-pip-version-check
WORKERS ?= 2
MINUTES ?= 10
SEED ?= 0
# The workers share the cores: in each of them, OpenMP and BLAS would only wait for threads that do not get to run.
PYTEST := pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder
# Percent of the lines of Python; pyproject.toml says which are counted. Raise it when you can, never lower it.
COVERAGE_FLOOR := 97
ONE_THREAD := OMP_THREAD_LIMIT=1 OPENBLAS_NUM_THREADS=1

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo test coverage lint test-oldest test-development test-bounds test-wheel bench bench-quality bench-automl bench-empulse bench-libauc bench-fairlearn bench-mapie bench-quapy bench-river bench-xcolumns test-river test-mlflow faults papers fuzz sweep docs pictures \
  release-notes clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-17s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(VENV)/.base ## train three algorithms, certify, and write demo/report.html with its explorer
	$(PY) examples/demo.py

test: lint ## lint, then every test: unit, contracts, properties, scikit-learn, faults, doctests, documentation examples
	$(ONE_THREAD) $(PY) -m slipcover --json --out .coverage.json -m $(PYTEST) --durations=25
	@$(PY) .ci/coverage_floor.py .coverage.json $(COVERAGE_FLOOR)

coverage: $(VENV)/.test ## list the files that the last `make test` has not covered completely
	@$(PY) .ci/coverage_floor.py .coverage.json --list

test-oldest: .venv-oldest/.test ## every test with the oldest supported versions of the dependencies
	$(ONE_THREAD) .venv-oldest/$(SCRIPTS)/python -m $(PYTEST)

test-river: .venv-river/.made ## the adapter to river by river's own checks, in an environment of its own
	$(ONE_THREAD) .venv-river/$(SCRIPTS)/python -m pytest tests/unit/test_river_adapter.py

test-mlflow: .venv-mlflow/.made ## model files as generic models of MLflow, in an environment of its own
	$(ONE_THREAD) .venv-mlflow/$(SCRIPTS)/python -m pytest tests/unit/test_mlflow_adapter.py

test-development: .venv-development/.test ## every test with pre-releases of the dependencies
	$(ONE_THREAD) .venv-development/$(SCRIPTS)/python -m $(PYTEST)

# Compiled code with checks must not be mixed with the ordinary one, so it has a cache of its own.
test-bounds: $(VENV)/.test ## every test with compiled code that checks each index
	$(ONE_THREAD) NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=$(CURDIR)/.numba_bounds $(PY) -m $(PYTEST)

test-wheel: ## build wheel and source distribution, install both elsewhere, one after the other, and try them there
	rm -rf dist .venv-wheel
	$(PYTHON) -m venv .venv-wheel
	.venv-wheel/$(SCRIPTS)/python $(INSTALL) build
	.venv-wheel/$(SCRIPTS)/python -m build --outdir dist .
	.venv-wheel/$(SCRIPTS)/python $(INSTALL) dist/*.whl
	cd .venv-wheel && $(SCRIPTS)/python -P ../.ci/smoke_test.py
	.venv-wheel/$(SCRIPTS)/python $(INSTALL) --force-reinstall --no-deps dist/*.tar.gz
	cd .venv-wheel && $(SCRIPTS)/python -P ../.ci/smoke_test.py

lint: $(VENV)/.test ## formatting, style, types and the direction of imports
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy --strict src
	$(BIN)/lint-imports

bench: $(VENV)/.bench ## speed, side by side with other libraries
	$(PY) -m benchmarks

bench-quality: $(VENV)/.bench ## how good the models are, over many data sets and splits, beside tuned learners
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(PY) -m benchmarks.quality

bench-automl: $(VENV)/.bench .venv-automl/.made ## AutoGluon and FLAML, in an environment of their own, for the same page
	$(PY) -m benchmarks.quality.automl --python .venv-automl/$(SCRIPTS)/python
	$(PY) -m benchmarks.quality --page-only

bench-libauc: $(VENV)/.bench .venv-libauc/.made ## average precision, beside LibAUC in an environment of its own
	LIBAUC_PYTHON=.venv-libauc/$(SCRIPTS)/python $(PY) -m benchmarks --only rank_quality --only rank_streams

bench-empulse: $(VENV)/.bench .venv-empulse/.made ## profit, beside empulse in an environment of its own
	EMPULSE_PYTHON=.venv-empulse/$(SCRIPTS)/python $(PY) -m benchmarks --only profit

bench-fairlearn: $(VENV)/.bench .venv-fairlearn/.made ## constraints by group, beside fairlearn in an environment of its own
	FAIRLEARN_PYTHON=.venv-fairlearn/$(SCRIPTS)/python $(PY) -m benchmarks --only groups --only parity

bench-mapie: $(VENV)/.bench .venv-mapie/.made ## guarantees with abstention and of labels, beside MAPIE in an environment of its own
	MAPIE_PYTHON=.venv-mapie/$(SCRIPTS)/python $(PY) -m benchmarks --only triage --only label_guarantees

bench-quapy: $(VENV)/.bench .venv-quapy/.made ## prior shift, beside QuaPy in an environment of its own
	QUAPY_PYTHON=.venv-quapy/$(SCRIPTS)/python $(PY) -m benchmarks --only prior_shift

bench-river: $(VENV)/.bench .venv-river/.made ## decisions of streams, beside river in an environment of its own
	RIVER_PYTHON=.venv-river/$(SCRIPTS)/python $(PY) -m benchmarks --only online

bench-xcolumns: $(VENV)/.bench .venv-xcolumns/.made ## measures of several classes, beside xCOLUMNs in an environment of its own
	XCOLUMNS_PYTHON=.venv-xcolumns/$(SCRIPTS)/python $(PY) -m benchmarks --only multiclass

faults: $(VENV)/.bench ## kill workers and schedulers of a real cluster during training, each case ten times
	$(PY) -m benchmarks --only faults

papers: $(VENV)/.bench ## reproduce the experiments of the papers
	$(PY) -m benchmarks.papers

fuzz: $(VENV)/.test ## random cases for MINUTES (10), from SEED (0), of KINDS (all); new failures go to fuzzing/corpus
	$(PY) -m fuzzing --minutes $(MINUTES) --seed $(SEED) $(if $(KINDS),--kinds $(KINDS)) --keep

sweep: $(VENV)/.test ## change every field that model files hold, in every way: an error must be clear
	$(PY) -m fuzzing --sweep

docs: $(VENV)/.docs ## build the documentation in docs/_build/html; any warning or dead link is an error
	$(PY) -m sphinx -W --keep-going -b html docs docs/_build/html
	$(PY) docs/check_links.py docs/_build/html

pictures: $(VENV)/.docs ## draw the pictures of the guide from the examples of its pages, light and dark; needs chromium
	$(PY) docs/pictures.py

release-notes: ## check that TAG, version and changelog agree, and write release-notes.md
	$(PYTHON) .ci/release_notes.py $(TAG) > release-notes.md

clean: ## remove the environments, the caches and everything generated
	rm -rf $(VENV) .venv-oldest .venv-development .venv-wheel .venv-automl .venv-empulse .venv-libauc .venv-fairlearn .venv-mapie .venv-quapy .venv-xcolumns .venv-river .venv-mlflow build dist demo .coverage.json release-notes.md docs/_build docs/api/generated docs/gallery docs/sg_execution_times.rst
	rm -rf .mypy_cache .numba_bounds .ruff_cache .pytest_cache .hypothesis .import_linter_cache .benchmarks .fuzzing
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The environment. A stamp is older than pyproject.toml exactly when its packages may be out of date.
$(VENV)/.made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "metricwise needs Python 3.11 or newer; name one with: make PYTHON=/path/to/python3.11"; exit 1; }
	$(PYTHON) -m venv --clear $(VENV)
	@touch $@

$(VENV)/.base: pyproject.toml | $(VENV)/.made
	$(PY) $(INSTALL) --editable .
	@touch $@

$(VENV)/.test $(VENV)/.docs $(VENV)/.bench: $(VENV)/.%: pyproject.toml | $(VENV)/.made
	$(PY) $(INSTALL) --editable ".[$*]"
	@touch $@ $(VENV)/.base

.venv-oldest/.test: pyproject.toml requirements/oldest.txt
	$(PYTHON) -m venv --clear .venv-oldest
	.venv-oldest/$(SCRIPTS)/python $(INSTALL) --constraint requirements/oldest.txt --editable ".[test]"
	@touch $@

.venv-development/.test: pyproject.toml
	$(PYTHON) -m venv --clear .venv-development
	.venv-development/$(SCRIPTS)/python $(INSTALL) --pre --editable ".[test]"
	@touch $@

.venv-libauc/.made: benchmarks/requirements-libauc.txt
	$(PYTHON) -m venv --clear .venv-libauc
	.venv-libauc/$(SCRIPTS)/python $(INSTALL) --requirement $<
	@touch $@

.venv-empulse/.made: benchmarks/requirements-empulse.txt
	$(PYTHON) -m venv --clear .venv-empulse
	.venv-empulse/$(SCRIPTS)/python $(INSTALL) --requirement $<
	@touch $@

.venv-fairlearn/.made: benchmarks/requirements-fairlearn.txt
	$(PYTHON) -m venv --clear .venv-fairlearn
	.venv-fairlearn/$(SCRIPTS)/python $(INSTALL) --requirement $<
	@touch $@

.venv-mapie/.made: benchmarks/requirements-mapie.txt
	$(PYTHON) -m venv --clear .venv-mapie
	.venv-mapie/$(SCRIPTS)/python $(INSTALL) --requirement $<
	@touch $@

.venv-xcolumns/.made: benchmarks/requirements-xcolumns.txt
	$(PYTHON) -m venv --clear .venv-xcolumns
	.venv-xcolumns/$(SCRIPTS)/python $(INSTALL) --requirement $<
	@touch $@

.venv-quapy/.made: benchmarks/requirements-quapy.txt
	$(PYTHON) -m venv --clear .venv-quapy
	.venv-quapy/$(SCRIPTS)/python $(INSTALL) --requirement $<
	@touch $@

.venv-river/.made: pyproject.toml benchmarks/requirements-river.txt
	$(PYTHON) -m venv --clear .venv-river
	.venv-river/$(SCRIPTS)/python $(INSTALL) --requirement benchmarks/requirements-river.txt --editable ".[test]"
	@touch $@

.venv-mlflow/.made: pyproject.toml requirements/mlflow.txt
	$(PYTHON) -m venv --clear .venv-mlflow
	.venv-mlflow/$(SCRIPTS)/python $(INSTALL) --requirement requirements/mlflow.txt --editable ".[test]"
	@touch $@

.venv-automl/.made: benchmarks/quality/requirements-automl.txt
	$(PYTHON) -m venv --clear .venv-automl
	.venv-automl/$(SCRIPTS)/python $(INSTALL) --requirement $<
	@touch $@
