# All the set-up on a machine with Python 3.11 or later. Both may be repeated: what is installed, solved and cached is kept.
#
#   make run     an environment in .venv, the main job, and a page about its results
#   make test    the same environment, and the tests
#
# PYTHON: the interpreter. VENV: the folder of the environment. PYTEST, PIP: more options of pytest and of `pip install`.

PYTHON ?= python3
VENV ?= .venv
PYTEST ?=
PIP ?=
RUN := runs/opf30

.PHONY: run test install

run: install
	@echo "make: AC optimal power flow on the IEEE 30-bus grid, into $(RUN)"
	@# 4: the run ended and a statement of the spec does not hold, which the report shows.
	$(VENV)/bin/pdual run specs/opf30.pdual --out $(RUN) $(if $(wildcard $(RUN)/run.json),--resume) || test $$? -eq 4
	$(VENV)/bin/pdual report $(RUN)

test: install
	@echo "make: the tests, on all cores"
	$(VENV)/bin/python -m pytest -n auto $(PYTEST)

install: $(VENV)/.installed

$(VENV)/.installed: pyproject.toml setup.py constraints.txt
	@command -v $(PYTHON) >/dev/null || { echo "make: there is no $(PYTHON): name another interpreter with PYTHON=..."; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit("make: pdual needs Python 3.11 or later, and $(PYTHON) is " + sys.version.split()[0] + "; name another with PYTHON=..." if sys.version_info < (3, 11) else 0)'
	@echo "make: pdual and the tested versions of all it needs, into $(VENV)"
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/python -m pip install --quiet --no-compile -c constraints.txt -e ".[dev]" $(PIP)
	@touch $@
