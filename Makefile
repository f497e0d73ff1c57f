# Every target sets itself up: Python 3.11+ with pip is all that a machine needs.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
BENCHES := hook_overhead blackhole extraction intake intake_peers memory judge_cost embedded_speed judge_peers evaluate connections
PHOENIX := .cache/phoenix/bin/phoenix

# Tests and the demo start many interpreters; without bytecode each compiles every import anew.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.PHONY: help demo test unit slow lint types imports format bench fuzz lock clean

help:  ## list the targets
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

$(BIN)/uv:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "ragtrace needs Python 3.11 or newer; set PYTHON=/path/to/python3.11"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet 'uv>=0.5'

$(STAMP): $(BIN)/uv pyproject.toml requirements.lock
	$(BIN)/uv pip sync --quiet --python $(BIN)/python --require-hashes requirements.lock
	$(BIN)/pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

demo: $(STAMP)  ## answer 14 questions, judge them, show where each failed
	$(BIN)/ragtrace demo

test: lint types imports unit  ## lint, types, import directions and all tests

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP)
	$(BIN)/mypy

imports: $(STAMP)
	$(BIN)/lint-imports

unit: $(STAMP)  ## the tests alone
	$(BIN)/pytest -m 'not slow' -n 2 --dist loadfile

slow: $(STAMP) $(PHOENIX)  ## the tests that need Phoenix, a browser, the OpenTelemetry Collector, or time
	RAGTRACE_PHOENIX=$(PHOENIX) $(BIN)/pytest -m slow

chaos: $(STAMP)  ## break everything around a collector for two minutes, and count what became of every span
	$(BIN)/python bench/chaos.py --seconds 120 --seed 7

bench: $(STAMP)  ## ours and the named peers in one run, with ratios
	@for bench in $(BENCHES); do echo "== $$bench"; $(BIN)/python bench/$$bench.py || exit 1; done

fuzz: $(STAMP) .cache/fuzz  ## ten minutes of hostile bytes for each of five readers, guided by coverage
	PYTHONPATH=.cache/fuzz $(BIN)/python bench/fuzz.py

# The fuzzer comes with compiled parts that no one else needs, so it lives beside the environment too.
.cache/fuzz: $(BIN)/uv
	$(BIN)/uv pip install --quiet --python $(BIN)/python --target $@ 'atheris>=3.0'

# Phoenix brings half a gigabyte of packages, so it lives beside the environment and not in it.
$(PHOENIX): $(BIN)/uv
	$(PYTHON) -m venv .cache/phoenix
	$(BIN)/uv pip install --quiet --python .cache/phoenix/bin/python 'arize-phoenix>=11'

OTELCOL := .cache/otelcol/otelcol
OTELCOL_BUILDER := go.opentelemetry.io/collector/cmd/builder@v0.161.0

otelcol: $(OTELCOL)  ## build the OpenTelemetry Collector that tests and benchmarks run beside (needs Go)

$(OTELCOL): bench/otelcol/manifest.yaml
	GOFLAGS= GOBIN=$(CURDIR)/.cache/otelcol/bin go install $(OTELCOL_BUILDER)
	cd .cache/otelcol && GOFLAGS= bin/builder --config $(CURDIR)/bench/otelcol/manifest.yaml
	mv .cache/otelcol/build/otelcol $@
	rm -rf .cache/otelcol/build

format: $(STAMP)  ## rewrite in the house format
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

lock: $(BIN)/uv  ## resolve the lock file anew
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-emit-index-url --no-annotate --extra dev \
	  --python-version 3.11 pyproject.toml requirements.build.in -o requirements.lock

clean:  ## remove the environment and caches
	rm -rf $(VENV) .cache .mypy_cache .ruff_cache .pytest_cache .hypothesis
