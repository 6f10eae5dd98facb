# make start   set up, index REPO and serve it      make test    everything that must hold
# make help    all targets
#
# Needs Python 3.11 or newer, and the network once, to install what requirements.lock names.

REPO ?= $(CURDIR)
TREES ?=
BENCH ?=

VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/installed
PYTEST := $(BIN)/python -m pytest
CODE := engine web tests tools

# An empty HOME would put the user's data directory at the root of the disk.
ifeq ($(strip $(HOME)),)
unexport HOME
endif

# The scripts of a virtual environment hold its path: make it again after the folder was moved.
ifneq ($(shell cat $(STAMP) 2>/dev/null),$(CURDIR))
.PHONY: $(STAMP)
endif

.PHONY: help start test check fix docs bench soak clean
.DEFAULT_GOAL := help

help:
	@echo "make start [REPO=/path]       set up, index a folder (default: this one), serve it"
	@echo "make test                     set up, check, run all tests"
	@echo "make check                    format, lint, types, layers"
	@echo "make fix                      format, and mend what the linter can"
	@echo "make docs                     write the generated parts of docs/"
	@echo "make bench TREES=… BENCH=…    speed and quality on sample repositories"
	@echo "make soak                     the long tests"
	@echo "make clean                    remove what these targets made here"

start: $(STAMP)
	@$(BIN)/cairn index "$(REPO)"
	@$(BIN)/python -m web.cli.first_steps "$(REPO)" "$(CURDIR)/$(BIN)"

# Three at a time on two cores: tests wait for processes more than they compute.
test: check
	$(PYTEST) -n 3

check: $(STAMP)
	$(BIN)/ruff format --check $(CODE)
	$(BIN)/ruff check $(CODE)
	$(BIN)/mypy
	$(BIN)/lint-imports

fix: $(STAMP)
	$(BIN)/ruff check --fix $(CODE)
	$(BIN)/ruff format $(CODE)

docs: $(STAMP)
	$(BIN)/python -m tools.generate_docs

bench: $(STAMP)
	$(BIN)/python tests/benchmark/run.py --trees "$(TREES)" --bench "$(BENCH)"

soak: $(STAMP)
	$(PYTEST) -m soak

clean:
	rm -rf $(VENV) .coverage .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache

$(STAMP): requirements.lock pyproject.toml
	@python=; \
	for each in python3 python3.13 python3.12 python3.11 python3.14 python; do \
		if $$each -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
			python=$$each; break; \
		fi; \
	done; \
	if [ -z "$$python" ]; then \
		echo "error: no Python 3.11 or newer is on the PATH" \
			"(python3 is $$(python3 --version 2>&1 || echo missing))" >&2; exit 1; \
	fi; \
	echo "setting up $(VENV) with $$($$python --version), once: up to a minute or two"; \
	rm -rf $(VENV); \
	if ! $$python -m venv $(VENV); then \
		echo "error: $$python cannot make a virtual environment" \
			"(on Debian and Ubuntu: apt install python3-venv)" >&2; exit 1; \
	fi
	@PIP_DISABLE_PIP_VERSION_CHECK=1 $(BIN)/python -m pip install -qq --require-hashes \
		--requirement requirements.lock
	@PIP_DISABLE_PIP_VERSION_CHECK=1 $(BIN)/python -m pip install -qq --no-deps \
		--no-build-isolation --editable .
	@printf '%s' "$(CURDIR)" > $(STAMP)
