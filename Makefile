VENV ?= .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

export TF_CPP_MIN_LOG_LEVEL ?= 2
# The tests start Python some thousand times: what it has compiled is kept, whatever the caller says.
export PYTHONDONTWRITEBYTECODE :=

# What failed among real processes on a busy machine runs once more, alone; both outcomes are shown.
AGAIN := $(BIN)/python -m pytest -q --last-failed --last-failed-no-failures none -m "not torture" tests/integration

.DEFAULT_GOAL := help
.PHONY: help venv demo docs test test-all test-fast test-rest test-unit lint bench faults test-peers test-estimator test-trackers test-ray test-notebooks notebooks fuzz torture compat clean

help:  ## Show this list
	@sed -n 's/^\([a-z-]*\):.*  ## /\1\t/p' $(MAKEFILE_LIST) | expand -t 18

venv: $(READY)  ## Make .venv with Pitstop and its tools

$(READY): pyproject.toml tools/venv.sh
	PYTHON="$(PYTHON)" tools/venv.sh $(VENV)
	@touch $@

demo: $(READY)  ## Stop a training run half way, resume it, prove the bits equal
	$(BIN)/python examples/demo.py

test: lint test-unit test-fast  ## Before each commit: lint, the unit tests, and some real trainings (8 minutes)

test-all: test test-rest  ## Everything that a merge needs (30 minutes)

test-fast: $(READY)
	$(BIN)/python -m pytest -q -m "fast and not torture" tests/integration -n 3 --dist loadgroup \
		|| $(AGAIN)

test-rest: $(READY)  ## The integration tests that `make test` leaves out
	$(BIN)/python -m pytest -q -m "not fast and not torture" tests/integration -n 3 --dist loadgroup \
		|| $(AGAIN)

test-unit: $(READY)  ## The unit tests only
	$(BIN)/python -m pytest -q -m "not torture" --ignore=tests/integration -n 2

lint: $(READY)  ## ruff, mypy, import-linter
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo --no-cache

bench: $(READY)  ## Measure what Pitstop costs a training run, beside other ways to save (an hour)
	$(BIN)/python -m pip install --quiet --editable '.[bench]'
	$(BIN)/python -m benchmarks.boundary
	$(BIN)/python benchmarks/flight.py
	$(BIN)/python benchmarks/overhead.py
	$(BIN)/python benchmarks/resume.py
	$(BIN)/python benchmarks/stop_latency.py
	$(BIN)/python benchmarks/durable.py
	$(BIN)/python benchmarks/saving.py
	$(BIN)/python benchmarks/side_by_side.py

docs: $(READY)  ## Build the site of the documentation in build/site
	$(BIN)/python -m pip install --quiet --editable '.[docs]'
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --site-dir build/site

faults: $(READY)  ## Inject faults, and count who can tell what they were (as root; half an hour)
	$(BIN)/python -m benchmarks.faults

torture: $(READY)  ## Kill and stop runs again and again, 2,000 generated programs included (hours)
	$(BIN)/python -m pytest -q -m torture -n 2 --dist loadgroup
	$(BIN)/python -m pytest -q -m "not integration and not torture" -n 2 --hypothesis-profile=torture

fuzz: $(READY)  ## Read a million malformed manifests, states, random states, journals, beacons and messages
	$(BIN)/python -m tests.fuzz

test-peers: $(READY)  ## Run Keras' own tests of callbacks and fit, plainly and under pitstop run
	$(BIN)/python benchmarks/peers.py

test-estimator: $(READY)  ## Test Estimators with TensorFlow 2.15, in a virtual environment under .compat/
	PYTHON="$(PYTHON)" tools/estimators.sh $(VENV)

test-trackers: $(READY)  ## Test with W&B and MLflow, in a virtual environment under .compat/
	PYTHON="$(PYTHON)" tools/trackers.sh $(VENV)

test-ray: $(READY)  ## Test with Ray Train, in a virtual environment under .compat/
	PYTHON="$(PYTHON)" tools/ray.sh $(VENV)

test-notebooks:  ## Test with JupyterLab, nbconvert and papermill, in a virtual environment under .compat/
	PYTHON="$(PYTHON)" tools/notebooks.sh

notebooks: $(READY)  ## Kill the kernels of generated notebooks, 200 times (half an hour)
	$(BIN)/python -m tests.integration.notebooks 0 30

compat:  ## Test with Keras 3.10 to 3.14 and TensorFlow 2.18 to 2.21, each in a virtual environment under .compat/
	PYTHON="$(PYTHON)" tools/compat.sh

clean:  ## Remove caches and demo output; keeps .venv and runs
	rm -rf .demo build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src tests examples benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +
