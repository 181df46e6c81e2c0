# One entry point for developers. Each target sets up what it needs, once.
#   make demo    real nodes on a bad network, one killed; the Spark audit; a page to read and one to explore
#   make test    style, types, layers, every test (those of the explorer page need a Chromium or Chrome)
#   make lint    style, types and layers only
#   make bench   the benchmarks, each printing ratios measured in that run
#   make campaign   tens of thousands of random runs: hybrid buffering against its oracle, PRC under churn, links,
#                   the fleet against its reference;
#                   then the tests that `make test` plays a share of, with all their seeds and scopes
#   make campaign-cluster   audits on machines that share a store only, and are killed meanwhile (20 rounds)
#   make campaign-watch     a watch killed 50 times with -9, and an hour of it at 10,000 events a second
#   make campaign-nodes     10,000 worlds each of all kinds of groups of real nodes (docs/world.md)
#   make campaign-net   real processes: bad weather, crowds, a dead peer, a million hostile frames (13 minutes);
#                   then 200 kills -9 for every algorithm and either way of exactly once (an hour)
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready

.PHONY: demo test lint bench campaign campaign-cluster campaign-watch campaign-net campaign-nodes format clean
.DEFAULT_GOAL := test

# Set up again only when the project's metadata or pins change.
$(READY): pyproject.toml requirements/constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "aforesaid needs Python 3.11 or newer; set PYTHON=/path/to/python3.11"; exit 2; }
	@echo "Setting up $(VENV) (once) ..."
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c requirements/constraints.txt -e '.[dev]' 2>$(VENV)/setup.log \
	  || { cat $(VENV)/setup.log; exit 1; }
	@touch $@

demo: $(READY)
	@BIN=$(BIN) sh scenarios/demo.sh

test: lint
	@$(BIN)/python -m pytest -n 2 --dist loadgroup

lint: $(READY)
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --quiet --check . || { echo "ruff format: run 'make format'"; exit 1; }
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo >$(VENV)/imports.log 2>&1 || { cat $(VENV)/imports.log; exit 1; }

campaign-cluster: $(READY)
	@$(BIN)/python tests/spark/cluster_campaign.py

campaign-watch: $(READY)
	@$(BIN)/python tests/spark/watch_campaign.py 50
	@$(BIN)/python benchmarks/bench_watch.py 5000000 3600 10000

campaign-nodes: $(READY)
	@$(BIN)/aforesaid world --group fixed --seeds 10000
	@$(BIN)/aforesaid world --group changing --seeds 10000
	@$(BIN)/aforesaid world --group durable --seeds 10000
	@$(BIN)/aforesaid world --group admitting --seeds 10000
	@$(BIN)/aforesaid world --group keeping --seeds 10000

campaign-net: $(READY)
	@for c in "weather 180" "crowd 120" "processes 120" "dead 180" "hostile 1000000"; do \
	  $(BIN)/python tests/net/campaign.py $$c || exit 1; done
	@$(BIN)/python tests/net/kills.py 200

format: $(READY)
	@$(BIN)/ruff check --quiet --fix . ; $(BIN)/ruff format .

bench: $(READY)
	@for b in benchmarks/bench_*.py; do echo "== $$b"; $(BIN)/python $$b || exit 1; done

campaign: $(READY)
	@$(BIN)/python tests/sim/frontier_campaign.py 100
	@$(BIN)/python tests/oracle/campaign.py 1500
	@$(BIN)/python tests/oracle/adaptive_campaign.py 850
	@$(BIN)/python tests/sim/prc_campaign.py 400
	@$(BIN)/python tests/sim/links_campaign.py 1000
	@$(BIN)/python tests/differential/fleet_campaign.py 2000
	@AFORESAID_CAMPAIGN=1 $(BIN)/python -m pytest -n 2 $$(grep -rl 'import scaled' tests --include='test_*.py')

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis build dist demo-out
