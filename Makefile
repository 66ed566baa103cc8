# Every target sets itself up on a fresh machine: `make demo` and `make test` are all there is to know.
# make help lists the rest.

PYTHON ?= $(firstword $(foreach v,3.11 3.12 3.13,$(shell command -v python$(v) 2>/dev/null)) python3)
VENV := .venv
BIN := $(VENV)/bin
CORE := $(VENV)/.installed
ALL := $(VENV)/.installed-all
DOCS := $(VENV)/.installed-docs
UPSTREAM := .upstream/.installed
SERVE ?= 1
PORT ?= 8050
DIR ?= checkpoints
# One thread per process: parallelism comes from processes, and results do not depend on the machine.
export OMP_NUM_THREADS ?= 1
export HF_HUB_OFFLINE = 1

.PHONY: help setup demo app docs test test-fast test-unit test-all hostile hostile-short pins check bench campaign mutants device-check diagnosis-bench challenge diagnosis-runs prescriptions gallery browser upstream libraries pictures probe-figures plateau-figure other-machines pretrained small-model readmes site space notebooks wheel clean

help: ## what there is
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

setup: $(ALL) ## the environment, with every extra

# Not compiled ahead: most modules of the big packages are never imported, and compiling them takes a minute.
INSTALL = $(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check -c constraints.txt -e

$(CORE): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' || \
		{ echo "LengthLens needs Python 3.11 to 3.13; say which: make $(MAKECMDGOALS) PYTHON=/path/to/python3.11"; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || \
		{ echo "This Python has no venv module; on Debian and Ubuntu: apt-get install python3-venv"; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@# In continuous integration by hash, once `make pins` has written the hashes.
	test -z "$(CI)" || test ! -e requirements.lock || \
		$(BIN)/python -m pip install --quiet --no-compile --no-deps --require-hashes -r requirements.lock
	$(INSTALL) .
	@touch $@

$(ALL): $(CORE)
	$(INSTALL) '.[cube,dask,notebook,browser,tensorboard,test,check]'
	@touch $@

$(DOCS): $(CORE)
	$(INSTALL) '.[docs]'
	@touch $@

demo: $(CORE) ## train three models, measure them, open the dashboard (SERVE=0 stops before serving)
	$(BIN)/lengthlens demo --out $(DIR)/demo --port $(PORT) $(if $(filter 0,$(SERVE)),--no-serve,--serve)

app: $(CORE) ## the dashboard over DIR (default checkpoints)
	$(BIN)/lengthlens app $(DIR) --port $(PORT)

test: setup ## all tests, in tiers by cost
	@sh tests/run.sh unit science conformance e2e browser

test-fast: setup ## the unit tests of one room (ROOM=tasks, or ROOM="tasks theory"), or of those that git sees changed
	@sh tests/run.sh fast $(ROOM)

test-unit: setup ## the unit tier alone
	@sh tests/run.sh unit

test-all: test ## everything, with every task x every position scheme
	@sh tests/run.sh product

hostile: setup ## everything that nobody should give: settings, command lines, requests, folders (an hour)
	@sh tests/run.sh hostile

hostile-short: setup ## a seeded sample of the same, in three minutes
	@HOSTILE_SHARE=$(or $(SHARE),0.02) sh tests/run.sh hostile

pins: setup ## write the hashes of all dependencies, actions and the base image (needs a network, git, docker)
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/python .ci/pins.py

check: setup ## lint, types, import rules
	$(BIN)/ruff check .
	@# Elsewhere names of shapes look undefined, and mypy looks for those that are.
	$(BIN)/ruff check --select F821 tests benchmarks docs examples notebooks
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

readmes: ## the README.md of each package, a line a file, from the docstrings; docs/references.bib; definitions of quantities for the Glossary
	@$(PYTHON) docs/package_readmes.py
	@$(PYTHON) -m docs.quantity_wording
	@$(PYTHON) -m workbench.claims.papers > docs/references.bib

bench: setup ## speed, as ratios to peers and limits, in one table; history in benchmarks/history.jsonl
	$(BIN)/python -m benchmarks.run

campaign: setup ## kill training and measuring, damage files: is all continued, is all found?
	$(BIN)/python -m tests.campaign.campaign
	$(BIN)/python -m tests.campaign.taken_workers

mutants: setup ## plant COUNT=40 bugs of SEED=0 (ROOM="tasks theory": in these rooms alone); do the tests see them?
	@$(BIN)/python -m tests.campaign.mutants --count $(or $(COUNT),40) --seed $(or $(SEED),0) $(if $(ROOM),--room $(ROOM)) \
		$(if $(RESULTS),--results $(RESULTS))

device-check: setup ## compare DEVICE (default cuda) with the CPU: training, measuring, tests, speed; report in checkpoints/device_check
	$(BIN)/python -m tests.device.check_device --device $(or $(DEVICE),cuda) --out checkpoints/device_check

diagnosis-bench: setup ## what diagnosis says of models whose cause is known (WORKERS=15): docs/diagnosis_bench.md
	$(BIN)/python -m workbench.diagnosis.bench --out docs/diagnosis_bench --page docs/diagnosis_bench.md $(if $(WORKERS),--workers $(WORKERS))

challenge: setup ## what is missing of the open challenge: its models, the answers of our methods; and the page docs/challenge.md
	mkdir -p checkpoints/challenge
	$(BIN)/python -m docs.challenge_page --run checkpoints/challenge > checkpoints/challenge/page.md
	cp checkpoints/challenge/page.md docs/challenge.md

diagnosis-runs: setup ## the runs of docs/diagnosis.md, trained and diagnosed (WORKERS=15)
	$(BIN)/python docs/diagnosis_runs.py checkpoints/diagnosis docs/diagnosis.md $(if $(WORKERS),--workers $(WORKERS))

prescriptions: setup ## what those runs' diagnoses prescribe, tried (WORKERS=15)
	$(BIN)/python docs/prescription_trial.py checkpoints/prescribed docs/diagnosis.md $(if $(WORKERS),--workers $(WORKERS))

# Its table.parquet says all that its shards do, in a tenth of the files.
gallery: setup ## train, measure and pack the runs that ship with the repository
	$(BIN)/lengthlens sweep gallery
	$(BIN)/lengthlens compile majority --lengths 1-32 --out checkpoints/gallery/compiled/majority
	$(BIN)/lengthlens compile majority --lengths 1-32 --up-to 32 --out checkpoints/gallery/compiled/majority_blunt
	$(BIN)/lengthlens compile majority --lengths 1-32 --first-keys 32 --out checkpoints/gallery/compiled/majority_first_32
	$(BIN)/lengthlens measure checkpoints/gallery/compiled
	$(BIN)/lengthlens measure checkpoints/gallery --only diagnosis
	$(BIN)/lengthlens measure checkpoints/gallery --only circuits.connections --steps last
	@# The one that fails under the challenge law alone is asked there.
	$(BIN)/lengthlens measure checkpoints/gallery/compiled/majority_first_32 --only diagnosis --set diagnosis.law=challenge
	find checkpoints/gallery -name measurements -prune -exec rm -r {} +

browser: ## a Chromium for the browser tests and the pictures
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null || \
		if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
			apt-get update -qq && apt-get install -y -qq chromium >/dev/null; \
		else echo "No Chromium found; install one, e.g.: sudo apt-get install chromium"; exit 1; fi

libraries: setup ## nnsight and pyvene beside LengthLens, and the tests of their examples
	$(INSTALL) '.[libraries]'
	$(BIN)/python -m pytest -q -n 0 tests/conformance/test_other_libraries.py

upstream: $(UPSTREAM) ## TransformerLens 3.9.0 beside the installed version, for the conformance tests

# Without its dependencies: all that it needs is in the environment, or in these three.
$(UPSTREAM): | $(CORE)
	rm -rf .upstream
	$(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check --no-deps --target .upstream \
		transformer-lens==3.9.0 better-abc==0.0.3 fancy-einsum==0.0.3 typeguard==4.6.0
	@touch $@

probe-figures: setup browser ## the runs, measurements and figures of docs/probes.md
	$(BIN)/lengthlens sweep probes
	$(BIN)/python docs/probe_figures.py checkpoints/probes docs/pictures

other-machines: setup ## the runs, measurements and tables of docs/other_machines.md
	$(BIN)/lengthlens sweep other_machines
	$(BIN)/python docs/other_machines_table.py checkpoints/other_machines docs/other_machines.md

pretrained: $(CORE) browser ## a real model of 135 M weights, fetched once, asked tasks in its prompt: docs/pretrained.md (resumable)
	$(INSTALL) '.[pretrained,browser]'
	$(BIN)/python docs/pretrained_page.py checkpoints/pretrained docs/pretrained.md --gallery checkpoints/gallery/pretrained \
		--figure docs/pictures/pretrained.png

small-model: setup browser ## a language model of two layers over training, with its positive control: docs/small_model.md (two hours on one core, resumable)
	$(BIN)/python docs/small_model_page.py checkpoints/small_model docs/small_model.md --control docs/small_model_control.parquet \
		--figure docs/pictures/small-model.png --gallery checkpoints/gallery/small_model

plateau-figure: setup browser ## the runs of the sweep plateau, and their figure
	$(BIN)/lengthlens sweep plateau
	$(BIN)/python docs/plateau_figure.py checkpoints/plateau docs/pictures/plateau.png

pictures: setup browser ## the pictures of every page, from the gallery
	$(BIN)/python -m workbench.dashboard.screenshots checkpoints/gallery docs/pictures --run flip_flop_rotary_s0

# Without a request to anybody; its pages want none either.
docs: $(DOCS) ## the documentation as pages in build/docs, tutorials executed, every link checked (three minutes)
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet
	@echo "build/docs/index.html; served: $(BIN)/python -m http.server --directory build/docs"

site: $(CORE) ## the gallery and the claims as a web site in build/site, which needs no server (3.7 MB)
	$(BIN)/lengthlens publish checkpoints/gallery --claims --out build/site

space: site ## the same site as a folder for a Hugging Face Space, in build/space
	rm -rf build/space && cp -r build/site build/space && rm build/space/lengthlens-site.json
	cp .ci/space_card.md build/space/README.md
	@echo "Publish it: hf auth login, hf repos create OWNER/lengthlens --type space --sdk static, then"
	@echo "hf upload OWNER/lengthlens build/space . --repo-type space"

notebooks: setup ## the tutorials as executed .ipynb files in build/notebooks (LENGTHLENS_URL=https://github.com/OWNER/REPOSITORY: with Colab buttons)
	$(BIN)/python docs/site/notebook_files.py build/notebooks

wheel: $(CORE) ## the package in dist/, with gallery and sweeps (LENGTHLENS_URL=https://HOST/OWNER/REPOSITORY: whole links)
	rm -rf dist build/lib build/bdist*
	$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir dist .

clean: ## remove the environment and caches; runs stay
	rm -rf $(VENV) .upstream .pytest_cache .mypy_cache .ruff_cache .hypothesis *.egg-info
