# `make help` lists what there is. Everything happens in .venv and build; nothing is written elsewhere,
# except that Debian packages are installed where you are root (see apt-packages.txt).
SHELL := /bin/bash
.DEFAULT_GOAL := help
VENV := .venv
PY := $(VENV)/bin/python
JOBS ?= $(shell nproc)
TESTS ?= tests
# What clang-format lays out: the project's own C, C++ and JavaScript.
FORMATTED := 'native/*.[ch]' 'native/*.cc' 'tests/*.[ch]' 'tests/*.cc' 'bench/*.[ch]' 'bench/*.cc' \
	':!native/third_party' 'src/drawtap/*.js' ':!src/drawtap/**/uplot*'

# What .ci/packages prints is complete: SIGPIPE ends make without a line of its own.
packages = .ci/packages $(1) || { kill -s PIPE $$PPID; exit 3; }

.PHONY: help
help: ## list the targets
	@echo "drawtap: record the graphics calls of a program and ask questions about them"; echo
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):[^#]*## */  make \1\t/' | expand -t 18
	@echo; echo "  TESTS=tests/unit narrows make test; JOBS=n sets how much runs at once"

.PHONY: setup
setup: ## create .venv with drawtap and its tools, build the native parts
	@$(call packages,build)
	@$(SETUP:.ready=.dev) build
	@echo "drawtap is ready: $(VENV)/bin/drawtap --help"

# Python's packages are fetched while the native parts are compiled: the generators need Python alone.
SETUP = echo "installing Python packages and compiling the native parts, both at once" && \
	$(MAKE) --no-print-directory $(PY) && $(MAKE) --no-print-directory -j2 $(VENV)/.ready

$(PY):
	@$(call packages,build)
	@python=$$(.ci/python) && "$$python" -m venv $(VENV)

# What drawtap needs to run ...
$(VENV)/.ready: pyproject.toml | $(PY)
	@$(PIP) -e .
	@touch $@
# ... and what its developers need besides.
$(VENV)/.dev: pyproject.toml | $(PY)
	@$(PIP) -e '.[dev]'
	@touch $@ $(VENV)/.ready
# Python compiles what is imported, when it first is.
PIP = $(VENV)/bin/pip install --quiet --no-compile --disable-pip-version-check --config-settings wheel.cmake=false

.PHONY: configure
configure: | $(PY)
	@test -f build/native/build.ninja || cmake -S . -B build/native -G Ninja -DPython3_EXECUTABLE=$(abspath $(PY)) \
		-DCMAKE_INSTALL_PREFIX=$(abspath src) -DCMAKE_INSTALL_MESSAGE=NEVER >build-configure.log 2>&1 \
		|| { cat build-configure.log >&2; rm -f build-configure.log build/native/build.ninja; exit 3; }
	@rm -f build-configure.log

.PHONY: build
build: configure ## (re)build the native parts: tap, drainer, reader, player, ...
	@cmake --build build/native -j $(JOBS)
	@cmake --install build/native >/dev/null

# What records and answers questions, and what plays recordings, which is compiled while the first parts are shown. The demo
# needs no more than what reads in the core and what plays in the player, unless the whole of it is there.
READER = $(if $(wildcard src/drawtap/_native/libdrawtap-core.so),core,reading)
PLAYER = $(if $(wildcard src/drawtap/_native/drawtap-play),play,play-only)
first-parts: PART = $(READER)
first-parts: TARGETS = tap preload_tap drawtap-drain
demo-parts: PART = $(PLAYER)
demo-parts: TARGETS = drawtap-state
.PHONY: first-parts demo-parts
first-parts demo-parts: %-parts: configure
	@cmake --build build/native -j $(JOBS) --target $(TARGETS) drawtap-$(PART)
	@for part in $* $(PART); do cmake --install build/native --component $$part >/dev/null || exit; done

.PHONY: demo
demo: ## record two programs without a display, answer three questions, write a report
	@$(call packages,build demo)
	@$(SETUP) first-parts
	@examples/demo --build "$(MAKE) --no-print-directory demo-parts" "$(abspath $(VENV)/bin)"
	@test -f src/drawtap/_native/libdrawtap-system.so || echo "make build compiles the rest: measuring, edits, exports, the readers of kernel traces \
	and of apitrace's, the flight recorder, the OpenVG engine."

# The tests start drawtap hundreds of times: Python may keep what it compiles, and numpy starts no threads of its own,
# which look for work at each start.
COMPILED = env -u PYTHONDONTWRITEBYTECODE OPENBLAS_NUM_THREADS=1
# A file stays with one worker, which sets its fixtures up once; tests/conftest.py puts the longest first.
SHARED_OUT = --dist loadfile --no-loadscope-reorder
# Tests wait for programs a fourth of their time: two workers more have something to do meanwhile.
WORKERS = $$(($(JOBS) + 2))

.PHONY: test
test: $(VENV)/.dev build ## run all tests
	@$(call packages,demo test)
	$(COMPILED) $(PY) -m pytest -n $(WORKERS) $(SHARED_OUT) $(TESTS)

.PHONY: test-all
test-all: export DRAWTAP_TESTS = all
test-all: test ## run all tests with every case and every step (make test takes a sample of the longest)

# Types take as long as all other checks together, so checks run beside each other; each prints at its end.
CHECKS = check-types check-imports check-layout check-lint check-native check-pages
.PHONY: check
check: $(VENV)/.dev ## lint, format (Python, C++, JavaScript), types, import directions, fresh reference pages
	@$(MAKE) --no-print-directory -j $(JOBS) --output-sync=target $(CHECKS)

.PHONY: $(CHECKS)
check-types:
	$(VENV)/bin/mypy src
check-imports:
	$(VENV)/bin/lint-imports
check-layout:
	@git ls-files $(FORMATTED) | xargs $(VENV)/bin/clang-format --dry-run -Werror
check-lint:
	$(VENV)/bin/ruff check src tests docs native/*.py
	$(VENV)/bin/ruff format --check src tests docs native/*.py
check-native:
	$(PY) native/check.py
check-pages:
	$(PY) docs/reference.py --check

.PHONY: format
format: $(VENV)/.dev ## rewrite the Python, C++ and JavaScript sources in the project's style
	$(VENV)/bin/ruff check --fix src tests docs native/*.py
	$(VENV)/bin/ruff format src tests docs native/*.py
	git ls-files $(FORMATTED) | xargs $(VENV)/bin/clang-format -i

.PHONY: bench
bench: $(VENV)/.dev build ## measure, beside apitrace; BENCH="--only setup" names groups
	@$(call packages,demo test)
	$(PY) -m bench $(BENCH)

.PHONY: gpu
gpu: $(VENV)/.dev build ## prove and measure on this machine's GPU, without a display (exit code 3: there is none)
	@$(PY) -m bench.gpu $(GPU)

.PHONY: gpu-kit
gpu-kit: $(VENV)/.dev build ## dist/gpu: the same for a machine without network and compilers (dist/gpu/run there)
	@bench/gpu_kit

.PHONY: docs
docs: $(VENV)/.dev ## write the reference pages and the HTML documentation
	$(PY) docs/reference.py
	@$(PY) -c 'import sphinx, furo, myst_parser' 2>/dev/null || \
		$(VENV)/bin/pip install --quiet --disable-pip-version-check 'sphinx>=7' furo 'myst-parser>=3'
	$(PY) -m sphinx -q -W -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

.PHONY: pictures
pictures: $(VENV)/.dev build ## make the pictures of the tutorial anew (Chromium, Xvfb, glmark2); look at them
	@.ci/packages demo test
	$(PY) docs/pictures.py

.PHONY: golden
golden: $(VENV)/.dev ## rewrite what is made from the code and committed (reference pages); review the diff
	$(PY) docs/reference.py

.PHONY: wheel
wheel: $(VENV)/.dev build ## build the wheel in dist/, for glibc 2.28 and later, and test it
	@.ci/wheel $(PY)
	$(PY) -m pytest -q -n 0 --durations 0 --durations-min 60 tests/unit/test_wheel.py

.PHONY: wheel-test
wheel-test: ## install the wheel into bare Debian 12 and 13 and run its demo (as root; needs mmdebstrap)
	@.ci/wheel-roots bookworm trixie

.PHONY: clean
clean: ## remove everything that was made here
	rm -rf $(VENV) build dist demo docs/_build src/drawtap/_native .pytest_cache .mypy_cache .ruff_cache .import_linter_cache
