# make book   build the book into _build/html
# make test   style, types, every test
# make bench  side-by-side measurements
# Each makes the environment (.venv) first, and again only when the pins change.

PYTHON ?= python3
BIN := .venv/bin

.PHONY: install book test bench clean

install: .venv/installed

.venv/installed: requirements.txt pyproject.toml
	@$(PYTHON) -c 'import sys; v = sys.version_info[:2]; (3, 11) <= v <= (3, 13) or sys.exit("This book needs Python 3.11, 3.12 or 3.13; %s is Python %d.%d. Try: make PYTHON=python3.13" % (("$(PYTHON)",) + v))'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --requirement requirements.txt
	@touch $@

.venv/installed-test: .venv/installed requirements-test.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --requirement requirements-test.txt
	@touch $@

book: .venv/installed
	$(BIN)/jupyter-book build --warningiserror --nitpick --keep-going .
	@echo "The book is in _build/html/index.html"

test: .venv/installed-test
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/pytest --numprocesses 2 --cov --cov-report term --cov-fail-under 95

bench: .venv/installed-test
	$(BIN)/python -m benchmarks

clean:
	rm -rf _build .coverage .hypothesis .mypy_cache .pytest_cache .ruff_cache
