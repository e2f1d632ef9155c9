# `make help` lists what there is. Everything happens in .venv and build; nothing is written elsewhere,
# except that Debian packages are installed where you are root (see apt-packages.txt).
SHELL := /bin/bash
.DEFAULT_GOAL := help
VENV := .venv
PY := $(VENV)/bin/python
JOBS ?= $(shell nproc)
TESTS ?= tests
# The C and C++ that is ours (native/third_party is not)
NATIVE := 'native/*.[ch]' 'native/*.cc' 'tests/*.[ch]' 'tests/*.cc' 'bench/*.[ch]' 'bench/*.cc' \
	':!native/third_party'

.PHONY: help
help: ## list the targets
	@echo "drawtap: record the graphics calls of a program and ask questions about them"; echo
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):[^#]*## */  make \1\t/' | expand -t 18
	@echo; echo "  TESTS=tests/unit narrows make test; JOBS=n sets how much runs at once"

.PHONY: setup
setup: $(VENV)/.ready build ## create .venv with drawtap and its tools, build the native parts
	@echo "drawtap is ready: $(VENV)/bin/drawtap --help"

$(VENV)/.ready: pyproject.toml apt-packages.txt .ci/packages
	@.ci/packages build
	@test -x $(PY) || { python=$$(.ci/python) && "$$python" -m venv $(VENV); }
	$(VENV)/bin/pip install --quiet --disable-pip-version-check --config-settings wheel.cmake=false -e '.[dev]'
	@touch $@

.PHONY: build
build: $(VENV)/.ready ## (re)build the tap, the drainer and the reader core
	@test -f build/native/build.ninja || cmake -S . -B build/native -G Ninja -DPython3_EXECUTABLE=$(abspath $(PY)) \
		-DCMAKE_INSTALL_PREFIX=$(abspath src) -DCMAKE_INSTALL_MESSAGE=NEVER >build-configure.log 2>&1 \
		|| { cat build-configure.log >&2; rm -f build-configure.log build/native/build.ninja; exit 3; }
	@rm -f build-configure.log
	@cmake --build build/native -j $(JOBS)
	@cmake --install build/native >/dev/null

.PHONY: demo
demo: $(VENV)/.ready build ## record two programs without a display, answer three questions, write a report
	@.ci/packages demo
	@PATH="$(abspath $(VENV)/bin):$$PATH" examples/demo

.PHONY: test
test: $(VENV)/.ready build ## run all tests
	@.ci/packages demo test
	$(PY) -m pytest -n $(JOBS) $(TESTS)

.PHONY: check
check: $(VENV)/.ready ## lint, format (Python, C++), types, import directions, fresh reference pages
	$(VENV)/bin/ruff check src tests docs native/check.py
	$(VENV)/bin/ruff format --check src tests docs native/check.py
	@git ls-files $(NATIVE) | xargs $(VENV)/bin/clang-format --dry-run -Werror
	$(VENV)/bin/mypy src
	$(VENV)/bin/lint-imports
	$(PY) native/check.py
	$(PY) docs/reference.py --check

.PHONY: format
format: $(VENV)/.ready ## rewrite the Python and C++ sources in the project's style
	$(VENV)/bin/ruff check --fix src tests docs native/check.py
	$(VENV)/bin/ruff format src tests docs native/check.py
	git ls-files $(NATIVE) | xargs $(VENV)/bin/clang-format -i

.PHONY: bench
bench: $(VENV)/.ready build ## measure capture and reading, beside apitrace where it does the job
	@.ci/packages demo test
	$(PY) -m bench

.PHONY: gpu
gpu: $(VENV)/.ready build ## prove and measure on this machine's GPU, without a display (exit code 3: there is none)
	@$(PY) -m bench.gpu $(GPU)

.PHONY: gpu-kit
gpu-kit: $(VENV)/.ready build ## dist/gpu: the same for a machine without network and compilers (dist/gpu/run there)
	@bench/gpu_kit

.PHONY: docs
docs: $(VENV)/.ready ## write the reference pages and the HTML documentation
	$(PY) docs/reference.py
	@$(PY) -c 'import sphinx, furo, myst_parser' 2>/dev/null || \
		$(VENV)/bin/pip install --quiet --disable-pip-version-check 'sphinx>=7' furo 'myst-parser>=3'
	$(PY) -m sphinx -q -W -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

.PHONY: golden
golden: $(VENV)/.ready ## rewrite what is made from the code and committed (reference pages); review the diff
	$(PY) docs/reference.py

.PHONY: wheel
wheel: $(VENV)/.ready ## build the wheel in dist/
	$(VENV)/bin/pip wheel --quiet --disable-pip-version-check --no-deps -w dist .

.PHONY: clean
clean: ## remove everything that was made here
	rm -rf $(VENV) build dist demo docs/_build src/drawtap/_native .pytest_cache .mypy_cache .ruff_cache .import_linter_cache
