# Short targets; CI calls only these. `make help` lists them.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready

.DEFAULT_GOAL := help

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

$(READY): requirements/dev.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Fallgate needs Python 3.11 or newer: make PYTHON=/path/to/python3.11 ..."; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.txt
	PYTHONWARNINGS=ignore $(BIN)/pip install --quiet --disable-pip-version-check --no-build-isolation --no-deps --editable .
	@touch $@

setup: $(READY) ## make the virtual environment

demo: $(READY) ## set up, start the server and show the main job on examples/
	@$(BIN)/python -m examples.demo

test: $(READY) ## set up and run the fast suite
	$(BIN)/python -m pytest -n 2 -q

test-cluster: $(READY) ## the suite on real control planes, built once with Go or taken from KUBEBUILDER_ASSETS (docs/testing.md)
	@$(BIN)/python -m tests.cluster.binaries
	$(BIN)/python -m pytest -q -n 2 --dist loadfile tests/cluster
	$(BIN)/python -m pytest -q tests/chart  # again, now that there is a helm

lint: $(READY) ## style, types, layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(READY) ## time decide against decoding JSON, and the server against a no-op one, in one run
	$(BIN)/python -m bench

fuzz: $(READY) ## 100,000 random and malformed AdmissionReviews: no traceback, no 5xx
	$(BIN)/python -m tests.fuzz

oracle: $(READY) ## build the judge on Kubernetes' own libraries (needs Go), into the user's cache folder
	$(BIN)/python -m tests.oracle.client

parity: $(READY) ## ask it about 200,000 fresh selectors and 20,000 allocations: the same answers
	$(BIN)/python -m tests.oracle.parity

parity-brief: $(READY) ## the same, briefly, with the day's seed; skipped aloud where there is no Go
	PARITY_SEED=$${PARITY_SEED:-$$(date -u +%Y%m%d)} $(BIN)/python -m tests.oracle.parity --brief

chart: $(READY) ## write what is made from the chart anew (packs, deploy/, golden files); builds Helm 3 and 4 if needed (needs Go)
	$(BIN)/python -m tests.chart.regenerate

image: $(READY) ## do what the Dockerfile's build stage does, without a container runtime (needs a package index)
	$(BIN)/python -m tests.chart.dockerfile

docs: $(READY) ## write the generated pages and schemas anew
	$(BIN)/python -m docs.generate

LOCK := uv pip compile -q --generate-hashes --no-emit-index-url --universal --python-version 3.11 \
  --custom-compile-command "make lock"
lock: ## resolve the locked dependencies anew: for work on the tree; to run; to build what runs
	$(LOCK) pyproject.toml --group dev -o requirements/dev.txt
	$(LOCK) pyproject.toml -c requirements/dev.txt -o requirements/run.txt
	$(LOCK) --group build -c requirements/dev.txt -o requirements/build.txt

clean: ## remove what setup and tests made
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache build *.egg-info .coverage

.PHONY: help setup demo test test-cluster lint bench fuzz oracle parity chart image docs lock clean
