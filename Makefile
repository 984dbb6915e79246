# Everything runs in an environment of its own. Python 3.11 or later and make are all that is needed; with a C compiler
# tight proofs are faster.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

.PHONY: demo test test-all test-release coverage lint bench studies docs browser charts page-picture clean

demo: $(VENV)/app
	$(BIN)/laconic demo --out demo

test: $(VENV)/test
	$(BIN)/python -m pytest -n 2 --dist loadfile -m "not slow"

test-all: $(VENV)/test
	$(BIN)/python -m pytest -n 2 --dist loadfile

test-release: $(VENV)/test
	$(BIN)/python -m pytest tests/release
	$(BIN)/python -m pytest -m slow tests/test_docs.py

coverage: $(VENV)/test
	mkdir -p build/coverage
	$(BIN)/python -m pytest -n 2 --dist loadfile -m "not slow" --cov --cov-report=term --cov-report=html

lint: $(VENV)/test $(VENV)/lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/zizmor --quiet --offline .

bench: $(VENV)/bench
	$(BIN)/python -m benchmarks

studies: $(VENV)/app
	$(BIN)/python -m studies all --out build/studies

docs: $(VENV)/docs
	$(BIN)/python -m sphinx -W --keep-going -q -b html -d build/doctrees docs build/docs
	@! grep -rlE '(src|href)="(https?:)?//[^"]+\.(js|css|woff2?)' --include='*.html' build/docs # pages load nothing from the web

# The browser of the tests of the report page. Without it they are skipped.
browser:
	command -v chromedriver > /dev/null || { \
	    sudo=$$(command -v sudo || true); $$sudo apt-get update && $$sudo apt-get install --yes chromium chromium-driver; }

# The charts of the report page; src/laconic/report/page_assets/README.md has their versions. Needs Node.js.
charts:
	mkdir -p build/charts
	npm install --prefix build/charts --no-save @observablehq/plot@0.6.17 esbuild@0.28.2
	node src/laconic/report/page_assets/bundle.mjs build/charts

page-picture: $(VENV)/test
	$(BIN)/python -m tests.report.browser docs/images/page.png

clean:
	rm -rf $(VENV) build demo docs/api docs/gallery docs/sg_execution_times.rst .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find src tests benchmarks -name __pycache__ -prune -exec rm -rf {} +
	find src -name '*.c' -delete -o -name '*.so' -delete

# The installation compiles two modules, so it is done again when they change.
COMPILED := $(shell find src -name "*.pyx")

$(VENV)/base: pyproject.toml setup.py $(COMPILED)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --editable .
	touch $@

# One stamp for each extra: app, test, lint, bench, docs.
$(VENV)/app $(VENV)/test $(VENV)/lint $(VENV)/bench $(VENV)/docs: $(VENV)/%: $(VENV)/base
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[$*]'
	touch $@
