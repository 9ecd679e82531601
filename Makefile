# Every target does its own set-up in .venv and is quick when nothing changed.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
BUILT  := $(VENV)/.built
NATIVE := $(shell find src -name '_*.pyx' -o -name '_*.px[di]' -o -name '_*.h')
AXE    := build/axe.min.js
CLASSES := build/spark.jsa
# More workers than processors, because many tests wait: for a process, a restart, a timeout.
JOBS   ?= 4
MINUTES ?= 10
LASTS  ?= 60
RATE   ?= 1000
KILLS  ?= 10
WHAT   ?= both
GB     ?= 20

# Without bytecode, every process compiles all its modules again; collecting the tests takes three times as long.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup demo quick test again torture browser interop cluster kubernetes lakes steady scale minutes check docs wheel generate format bench lock clean

help: ## what each target does
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(STAMP): requirements.lock requirements-jdk.lock
	@test -x $(BIN)/python || $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed; set PYTHON=...")'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q --disable-pip-version-check -r requirements.lock
	@command -v java >/dev/null || test -n "$$JAVA_HOME" || { echo "no Java found: installing one for Spark"; \
		$(BIN)/python -m pip install -q --disable-pip-version-check -r requirements-jdk.lock; }
	@touch $@

$(BUILT): $(STAMP) pyproject.toml setup.py $(NATIVE)
	$(BIN)/python -m pip install -q --disable-pip-version-check --no-build-isolation --no-deps -e .
	@touch $@

setup: $(BUILT) ## the virtual environment, the locked versions, the native modules
	@$(BIN)/kafkawire --version

demo: $(BUILT) ## the main job end to end, on data it makes itself
	$(BIN)/kafkawire demo --out demo

quick: $(BUILT) ## the inner loop, under 30 seconds: lint, and the tests of what changed since main
	$(BIN)/ruff format --check -q .
	$(BIN)/ruff check -q .
	$(BIN)/python -m tests.quick

# Java starts from this archive in less than half of the time. The tests run without it where there is no Java.
$(CLASSES): $(STAMP) tests/spark/class_archive.py | $(BUILT)
	@-$(BIN)/python -m tests.spark.class_archive

test: $(BUILT) $(CLASSES) ## all tests; those of codec, messages, records and log in both forms
	$(BIN)/python -m pytest -q -n $(JOBS) tests
	KAFKAWIRE_IMPL=python $(BIN)/python -m pytest -q -n $(JOBS) -m twin tests

again: $(BUILT) $(CLASSES) ## the tests that failed last, alone on the machine; then the Python form
	@echo "once more, alone: $$(tr -d '\n' < .pytest_cache/v/cache/lastfailed)"
	$(BIN)/python -m pytest -q -n 0 --last-failed --last-failed-no-failures none tests
	KAFKAWIRE_IMPL=python $(BIN)/python -m pytest -q -n $(JOBS) -m twin tests

torture: $(BUILT) ## kills, power cuts, failing disks, hostile frames, floods, transactions; MINUTES=30 SEED=7 ONLY=kills,power
	$(BIN)/python -m torture $(if $(ROUNDS),--rounds $(ROUNDS),--minutes $(MINUTES)) $(if $(SEED),--seed $(SEED)) $(if $(ONLY),--only $(ONLY))

# The tests that need axe-core are skipped, and say so, where there is no npm to fetch it.
$(AXE):
	@mkdir -p build
	@command -v npm >/dev/null || echo "no npm found: axe-core is not fetched"
	@! command -v npm >/dev/null || (cd build && npm pack --silent axe-core@4.14.1 >/dev/null && \
		tar -xzf axe-core-4.14.1.tgz --strip-components=1 package/axe.min.js && rm axe-core-4.14.1.tgz && touch axe.min.js)

browser: $(BUILT) $(AXE) ## the page in a real browser (Debian's chromium) with axe-core; says what is missing where there is none
	$(BIN)/python -m pytest -q -m browser tests/browser

interop: $(BUILT) ## against Apache Kafka, its clients and tools, kafkajs, kcat, tshark; says what is missing to fetch them
	$(BIN)/python -m pytest -q -m interop tests/interop
	$(BIN)/python -m benchmarks apache

cluster: $(BUILT) ## Spark on a master with two workers, by Spark Connect, from other drivers; says what it could not fetch
	$(BIN)/python -m pytest -q -n 0 -m cluster tests/cluster

kubernetes: $(BUILT) ## Spark by an image on a Kubernetes of one node (root, Go, Debian's packages); says what is missing
	$(BIN)/python -m pytest -q -n 0 -m kubernetes tests/kubernetes

lakes: $(BUILT) ## Parquet, Delta and Iceberg: killed streams, read back by other engines; says what it could not fetch
	$(BIN)/python -m pytest -q -n 0 -m lakes tests/lakes

steady: $(BUILT) ## a stream into each format at a steady rate, killed ten times; LASTS=60 RATE=1000 KILLS=10
	rm -rf build/steady
	$(BIN)/python -m tests.lakes.steady --minutes $(LASTS) --rate $(RATE) --kills $(KILLS) --work build/steady

scale: $(BUILT) ## one run over much data, with its time and memory; WHAT=topic|segments|both|files|partitions|captures GB=20
	rm -rf build/scale
	$(BIN)/python -m tests.lakes.scale $(WHAT) --gigabytes $(GB) --work build/scale

minutes: $(BUILT) ## promises about rates, each over a minute of real time
	$(BIN)/python -m pytest -q -m minute tests/minutes

check: $(BUILT) docs ## format, lint, types, layers, schemas, generated files, documentation
	$(BIN)/ruff format --check -q .
	$(BIN)/ruff check -q .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m tools.prose
	$(BIN)/python -m tools.frontend
	$(BIN)/python -m tools.generate --check

docs: $(BUILT) ## the documentation as a site in build/site, links and references checked; needs no network
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet
	@! grep -rlE '(src|href)="(https?:)?//[^"]*\.(js|css|woff2?)"|fonts\.g(oogleapis|static)' build/site --include=*.html || \
		{ echo "the pages above load something from the network"; exit 1; }

wheel: $(BUILT) ## a wheel in dist, tried in a virtual environment of its own
	rm -rf dist build/lib* build/bdist*
	KAFKAWIRE_BUILD=compiled $(BIN)/python -m pip wheel -q --disable-pip-version-check --no-build-isolation --no-deps -w dist .
	$(BIN)/python -m pytest -q -m wheel tests/packaging

generate: $(BUILT) ## rewrite the files that derive from the schemas and the diagnosis rules
	$(BIN)/python -m tools.generate

format: $(BUILT) ## format sources and schemas
	$(BIN)/ruff check -q --fix-only .
	$(BIN)/ruff format -q .
	$(BIN)/python -m tools.generate --format

bench: $(BUILT) ## ratios against peers, measured side by side
	$(BIN)/python -m benchmarks

lock: ## resolve the ranges of pyproject.toml again into requirements.lock
	rm -rf build/lock && $(PYTHON) -m venv build/lock
	build/lock/bin/python -m pip install -q -e '.[dev,docs]'
	build/lock/bin/python -m pip freeze --all --exclude-editable --exclude kafkawire --exclude pip > requirements.lock

clean: ## remove what the targets made
	rm -rf $(VENV) build dist demo .mypy_cache .ruff_cache .pytest_cache .hypothesis src/*.egg-info
	find src \( -name '*.so' -o -name '_*.c' \) -delete
	find . -name __pycache__ -prune -exec rm -rf {} +
