#!/bin/sh
# `make build`: caisson for this machine, with the static runner beside it, where `caisson serve` looks for it.
set -eu
cd "$(dirname "$0")/.."
programs=$(tests/support/programs.sh)
cargo build --locked --release -p caisson --bin caisson -p caisson-devforge --bin caisson-devforge
out=${CARGO_TARGET_DIR:-target}/release
install -m 755 "$programs/caisson-runner" "$programs/caisson-router" "$out/"
echo "$out/caisson, with caisson-runner and the built-in forge of caisson eval beside it"
