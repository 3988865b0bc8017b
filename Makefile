# Two commands are enough: `make lab` to work, `make test` to check everything. `make help` lists the rest.
PYTHON ?= python3
LAB_ARGS ?=
NOTEBOOK := notebooks/00_quickstart.ipynb
WIDGETS := workbench/widgets
BIN := .venv/bin
RUN := $(BIN)/python

.DEFAULT_GOAL := help
.PHONY: help lab demo test fast lint js js-check bench huge chaos soak pins clean results

help: ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 12

# Installing. A stamp is older than what it depends on only where pins or ranges changed: else nothing is installed.

.venv/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed; name one: make PYTHON=python3.12 ..." >&2; exit 1; }
	$(PYTHON) -m venv .venv
	@touch $@

.venv/base: .venv/python pyproject.toml constraints.txt
	$(RUN) -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	@touch $@

.venv/dev: .venv/base
	$(RUN) -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

# Using

lab: .venv/base ## install, and open JupyterLab on the quickstart (LAB_ARGS=--no-browser to only serve)
	$(BIN)/jupyter lab $(if $(filter 0,$(shell id -u)),--allow-root) $(LAB_ARGS) $(NOTEBOOK)

demo: .venv/base ## install, run the quickstart without a browser, print its results
	$(RUN) notebooks/run_notebook.py $(NOTEBOOK)

# Checking. What computes in one process runs beside what starts processes and browsers, each in a pytest of its own. The
# browser tests have a third: Playwright's event loop would stay alive in the others.

PURE := $(addprefix tests/,core cost dashboard gather graph models partition sampling testing train widgets)

test: .venv/dev ## install, and run every test (those in a browser need Chromium)
	@status=0; echo "Side by side: what is said of $(PURE) comes last."; \
	$(RUN) -m pytest $(PURE) > .venv/pure.txt 2>&1 & pure=$$!; trap 'kill $$pure' INT TERM; \
	$(RUN) -m pytest --ignore=tests/browser $(PURE:%=--ignore=%) || status=1; \
	$(RUN) -m pytest tests/browser || status=1; \
	wait $$pure || status=1; cat .venv/pure.txt; \
	exit $$status

fast: .venv/dev ## the tests that take seconds
	$(RUN) -m pytest --ignore=tests/browser -m 'not slow'

lint: .venv/dev ## form, types, and imports between the layers
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: .venv/dev ## ratios against plain versions of the same work
	@for script in benchmarks/bench_*.py; do $(RUN) $$script || exit 1; done

CHAOS_FAULTS ?= 200
CHAOS_RESULTS ?= .venv/chaos.jsonl

chaos: .venv/dev ## break 200 runs at random moments and check what comes of it (an hour; goes on where it was)
	$(RUN) -m benchmarks.chaos --faults $(CHAOS_FAULTS) --results $(CHAOS_RESULTS)

soak: .venv/dev ## an hour of events (WORKBENCH_SOAK_MINUTES): memory of kernel and scheduler stays flat
	$(RUN) -m benchmarks.soak

huge: .venv/dev ## generate, sample and explore a graph of 1.6 G edges (7 GB of disk)
	nice -n 10 $(RUN) benchmarks/huge.py --json docs/results/huge.json --markdown docs/results/huge.md

results: .venv/dev ## accuracy by sampler and by strategy, epochs by partitioner: what docs/results lacks (hours)
	nice -n 10 $(RUN) -m benchmarks.results_sampling
	nice -n 10 $(RUN) -m benchmarks.results_strategies
	nice -n 10 $(RUN) -m benchmarks.results_strategies --partitions

# JavaScript: the built files are committed; only those who change the sources need Node.js.

js: $(WIDGETS)/node_modules/.package-lock.json ## build the widgets' JavaScript (needs Node.js)
	npm --prefix $(WIDGETS) run build

js-check: ## build it and compare with the committed files (without npm: skipped, except in CI)
	@if command -v npm > /dev/null; then $(MAKE) --no-print-directory $(WIDGETS)/node_modules/.package-lock.json && npm --prefix $(WIDGETS) run check; \
	elif [ -n "$$CI" ]; then echo "js-check: npm is missing" >&2; exit 1; \
	else echo "js-check: skipped, npm is not installed"; fi

$(WIDGETS)/node_modules/.package-lock.json: $(WIDGETS)/package-lock.json
	npm --prefix $(WIDGETS) ci --no-audit --no-fund
	@touch $@

# Keeping

pins: .venv/dev ## write constraints.txt anew from what .venv holds
	{ sed '/^[^#]/d' constraints.txt; $(RUN) -m pip freeze --all --exclude-editable --exclude pip | sed 's/+.*//'; } > .venv/pins
	mv .venv/pins constraints.txt

clean: ## remove everything that make and the tools have made
	rm -rf .venv build dist *.egg-info $(WIDGETS)/node_modules .*_cache .hypothesis .benchmarks shots
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
