# Everything here works from a fresh clone with nothing but Python 3.11 or newer.
# The tools live in .venv, which is made on first use and brought up to date when pyproject.toml changes.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PY := $(BIN)/python
WORKERS ?= 2
# The workers share the cores: in each of them, OpenMP and BLAS would only wait for threads that do not get to run.
ONE_THREAD := OMP_THREAD_LIMIT=1 OPENBLAS_NUM_THREADS=1

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo test lint bench bench-quality faults papers docs clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(VENV)/.base ## train three algorithms, certify, and write demo/report.html with its explorer
	$(PY) examples/demo.py

test: lint ## lint, then every test: unit, contracts, properties, scikit-learn, faults, doctests, documentation examples
	$(ONE_THREAD) $(PY) -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder --durations=25

lint: $(VENV)/.test ## formatting, style, types and the direction of imports
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy --strict src
	$(BIN)/lint-imports

bench: $(VENV)/.bench ## speed, side by side with other libraries
	$(PY) -m benchmarks

bench-quality: $(VENV)/.bench ## how good the models are, over many data sets and splits, beside scikit-learn's
	$(PY) -m benchmarks.quality

faults: $(VENV)/.bench ## kill workers and schedulers of a real cluster during training, each case ten times
	$(PY) -m benchmarks --only faults

papers: $(VENV)/.bench ## reproduce the experiments of the papers
	$(PY) -m benchmarks.papers

docs: $(VENV)/.docs ## build the documentation in docs/_build/html; any warning is an error
	$(PY) -m sphinx -W --keep-going -b html docs docs/_build/html

clean: ## remove the environment, the caches and everything generated
	rm -rf $(VENV) build dist demo docs/_build docs/api/generated docs/gallery
	rm -rf .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .benchmarks
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The environment. A stamp is older than pyproject.toml exactly when its packages may be out of date.
$(VENV)/.made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "metricwise needs Python 3.11 or newer; name one with: make PYTHON=/path/to/python3.11"; exit 1; }
	$(PYTHON) -m venv --clear $(VENV)
	@touch $@

$(VENV)/.base: pyproject.toml | $(VENV)/.made
	$(PY) -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(VENV)/.test $(VENV)/.docs $(VENV)/.bench: $(VENV)/.%: pyproject.toml | $(VENV)/.made
	$(PY) -m pip install --quiet --disable-pip-version-check --editable ".[$*]"
	@touch $@ $(VENV)/.base
