# make start   set up, index REPO and serve it      make test    what must hold after every change
# make help    all targets
#
# Needs Python 3.11 or newer, and the network once: `make start` installs what requirements.lock
# names, and whatever tests or checks adds requirements-dev.lock.
#
# Tests have three tiers; markers tell them apart (see tests/conftest.py):
#   make test       the checks and the quick tests, which are those of a plain `pytest`
#   make test-all   the slow tests, which make test leaves out: tests/fault, tests/browser, and
#                   what starts many processes; and properties with all their examples
#   make soak       hours of the same kind

REPO ?= $(CURDIR)
TREES ?=
BENCH ?=
BASE ?=

VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/installed
DEV_STAMP := $(VENV)/installed-dev
PIP_INSTALL := PIP_DISABLE_PIP_VERSION_CHECK=1 $(BIN)/python -m pip install -qq
PYTEST := $(BIN)/python -m pytest
CODE := engine web tests tools

# Versions that a lock names already are kept. To renew them: make lock UPGRADE=--upgrade
UPGRADE ?=
LOCK := uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --no-header $(UPGRADE)

# An empty HOME would put the user's data directory at the root of the disk.
ifeq ($(strip $(HOME)),)
unexport HOME
endif

# The scripts of a virtual environment hold its path: make it again after the folder was moved.
ifneq ($(shell cat $(STAMP) 2>/dev/null),$(CURDIR))
.PHONY: $(STAMP)
endif

.PHONY: help start test test-all check fix docs bench soak lock clean
.DEFAULT_GOAL := help

help:
	@echo "make start [REPO=/path]       set up, index a folder (default: this one), serve it"
	@echo "make test                     set up, check, run the quick tests (minutes)"
	@echo "make test-all                 run the slow tests, which make test leaves out"
	@echo "make check                    format, lint, types, layers"
	@echo "make fix                      format, and mend what the linter can"
	@echo "make docs                     write the generated parts of docs/"
	@echo "make bench TREES=… BENCH=…    speed and quality on sample repositories"
	@echo "make bench TREES=… BASE=…     speed on these folders against that of a commit, in turn"
	@echo "make soak                     the long tests (hours)"
	@echo "make lock [UPGRADE=--upgrade] make the lock files anew from pyproject.toml; needs uv"
	@echo "make clean                    remove what these targets made here"

start: $(STAMP)
	@exec $(BIN)/cairn index "$(REPO)"
	@exec $(BIN)/python -m web.cli.first_steps "$(REPO)" "$(CURDIR)/$(BIN)"

# Three at a time on two cores: tests wait for processes more than they compute.
test: check
	$(PYTEST) -n 3

test-all: $(DEV_STAMP)
	ALL_EXAMPLES=1 $(PYTEST) -n 3 -m "slow and not soak"

check: $(DEV_STAMP)
	$(BIN)/ruff format --check $(CODE)
	$(BIN)/ruff check $(CODE)
	$(BIN)/mypy
	$(BIN)/lint-imports

fix: $(DEV_STAMP)
	$(BIN)/ruff check --fix $(CODE)
	$(BIN)/ruff format $(CODE)

docs: $(DEV_STAMP)
	$(BIN)/python -m tools.generate_docs

bench: $(DEV_STAMP)
ifneq ($(strip $(BASE)),)
	$(BIN)/python tests/benchmark/compare.py "$(BASE)" $(TREES)
else
	$(BIN)/python tests/benchmark/run.py --trees "$(TREES)" --bench "$(BENCH)"
endif

soak: $(DEV_STAMP)
	HOLD_PROMISES=1 $(PYTEST) -m soak

lock:
	$(LOCK) --group build pyproject.toml --output-file requirements.lock
	$(LOCK) --group dev --constraint requirements.lock --output-file requirements-dev.lock

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
	@$(PIP_INSTALL) --require-hashes --requirement requirements.lock
	@$(PIP_INSTALL) --no-deps --no-build-isolation --editable .
	@printf '%s' "$(CURDIR)" > $(STAMP)

$(DEV_STAMP): $(STAMP) requirements-dev.lock
	@echo "adding to $(VENV) what tests and checks need, once: up to a minute or two"
	@$(PIP_INSTALL) --require-hashes --requirement requirements-dev.lock
	@touch $(DEV_STAMP)
