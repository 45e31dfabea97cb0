# The verbs of the repository. Everything they need is installed into .tools, .venv* and node_modules.
SHELL := /bin/bash
.DEFAULT_GOAL := help

PNPM := .tools/node_modules/.bin/pnpm
UV := .tools/py/bin/uv
PNPM_VERSION := 10.34.9
UV_VERSION := 0.13.9

export UV_PYTHON_DOWNLOADS := never
export npm_config_manage_package_manager_versions := false

.PHONY: help demo test test-trainers check gen format bench soak build setup clean

help: ## list the verbs
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

demo: build .venv/ready ## judge three texts with a local model, no key needed
	@echo "==> local model (1.1 GB once, then cached)"
	@.venv/bin/agent-eval model fetch qwen2.5-coder-1.5b >/dev/null
	@.venv/bin/python examples/demo.py

test: build .venv/ready ## set up and run everything
	@.venv/bin/python tests/run.py

test-trainers: build .venv-trainers/ready ## train a tiny model for two steps with TRL (installs torch, several GB)
	@.venv-trainers/bin/python -m pytest -q -W ignore clients/osmosis/training

check: build .venv/ready ## formatting, lint, types, generated files, layers and limits
	@.venv/bin/python tests/run.py check

gen: setup .venv/ready ## write what is generated from the contract
	@node packages/contract/scripts/generate.mjs
	@.venv/bin/python clients/python/scripts/generate.py
	@node docs/generate.mjs

format: setup .venv/ready ## format both languages
	@$(PNPM) --silent format
	@.venv/bin/ruff format clients examples tests bench
	@.venv/bin/ruff check --fix --quiet clients examples tests bench

soak: build .venv/ready ## judge 200,000 texts against an endpoint that fails, and 100,000 through a kill
	@node bench/soak/soak.mjs
	@.venv/bin/python bench/soak/resume.py

bench: build .venv/ready ## measure speed and memory (see bench/README.md)
	@node bench/run.mjs

build: setup ## build the engine and the library
	@echo "==> build"
	@$(PNPM) --silent build

setup: node_modules/.ready ## install the tools and the Node packages

.tools/node_modules/.bin/pnpm:
	@echo "==> pnpm $(PNPM_VERSION)"
	@npm install --loglevel=error --no-save --no-package-lock --prefix .tools pnpm@$(PNPM_VERSION)

.tools/py/bin/uv:
	@echo "==> uv $(UV_VERSION)"
	@python3 -m venv .tools/py
	@.tools/py/bin/pip install --quiet --disable-pip-version-check uv==$(UV_VERSION)

node_modules/.ready: pnpm-lock.yaml package.json packages/agent-eval/package.json packages/contract/package.json | $(PNPM)
	@echo "==> Node packages"
	@$(PNPM) install --frozen-lockfile --silent
	@touch $@

.venv/ready: uv.lock pyproject.toml clients/python/pyproject.toml clients/osmosis/pyproject.toml | $(UV)
	@echo "==> Python packages"
	@$(UV) sync --quiet --frozen --extra dev --group e2e --group skillopt-source --group gepa-source --group trainers
	@touch $@

.venv-trainers/ready: uv.lock clients/osmosis/pyproject.toml | $(UV)
	@echo "==> Python packages, torch among them"
	@UV_PROJECT_ENVIRONMENT=.venv-trainers $(UV) sync --quiet --frozen --package osmosis-ai --extra trl --extra dev
	@touch $@

clean: ## delete what was built and installed, but not fetched models
	@rm -rf .venv* .tools node_modules packages/*/node_modules packages/*/dist
