# Every target says what it needs. `make` alone explains them.
SHELL := /bin/bash
.DEFAULT_GOAL := help
ARGS ?=

.PHONY: help check docs test soak build images bom demo bench fuzz up down clean-docker

help: ## this list
	@echo 'Caisson. Prerequisite: cargo 1.95 or newer; the rest is installed or named by the target that needs it.'; echo
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 22

check: ## form, lints, scripts, licences, unused dependencies (cargo-deny, cargo-machete, shellcheck); CAISSON_ADVISORIES
	@tests/support/check.sh

docs: ## the documentation of every crate, in target/doc; a warning is a failure
	@RUSTDOCFLAGS=-Dwarnings cargo doc --locked --workspace --no-deps

test: ## every test; starts an installed dockerd where none answers; skips are counted at the end. ARGS='…' goes to cargo test
	@tests/support/test.sh $(ARGS)

soak: ## the bot killed at KILLS=500 random places of its work, RUNS=2000 plays in trouble; SEED=… repeats a run
	@CAISSON_KILLS=$${KILLS:-500} CAISSON_SEED=$(SEED) cargo test --locked --profile soak -p caisson --test stories -- --nocapture killed_wherever_the_dice_fall_the_task
	@CAISSON_RUNS=$${RUNS:-2000} CAISSON_DELIVERIES=500 CAISSON_SEED=$(SEED) cargo test --locked --profile soak -p caisson --test stories -- --nocapture delivery::
	@ARGS= CAISSON_KILLS=$${HOST_KILLS:-170} CAISSON_SEED=$(SEED) tests/support/test.sh --test two_hosts -- --nocapture

build: ## the programs for this machine, in target/release
	@compose/build.sh

images: ## the images, without a registry (debootstrap, as root; with sudo after `make build`); nothing is done that is done already
	@[ -n "$$SUDO_USER" ] || CAISSON_PROGRAMS=$$(tests/support/programs.sh) && CAISSON_PROGRAMS=$$CAISSON_PROGRAMS compose/images/build.sh sandbox router

bom: ## what the program and the images are made of, as CycloneDX in target/bom
	@compose/bom.sh

demo: ## the whole trip on a sample repository; DEMO_AUTO=1 approves by itself, DEMO_KEEP=1 keeps the forge up
	@compose/demo.sh

bench: ## what docs/spec.md promises, measured on this machine; fails on a broken ratio
	@tests/support/bench.sh $(ARGS)

fuzz: ## the parsers of untrusted bytes under libFuzzer, MINUTES=2 each (cargo-fuzz)
	@tests/support/fuzz.sh $(MINUTES)

up: ## Gitea, broker and caisson in containers (compose/compose.yaml)
	@compose/up.sh

down: ## stops what `make up` started; data stays
	@compose/down.sh

clean-docker: ## removes what tests and the demo left in the container engine; images and `make up` stay
	@compose/clean.sh
