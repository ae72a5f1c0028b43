#!/bin/sh
# `make build`: caisson for this machine, with the static runner beside it, where `caisson serve` looks for it.
set -eu
cd "$(dirname "$0")/.."
programs=$(tests/support/programs.sh)
cargo build --locked --release -p caisson --bin caisson
out=${CARGO_TARGET_DIR:-target}/release
install -m 755 "$programs/caisson-runner" "$programs/caisson-router" "$out/"
echo "$out/caisson, and caisson-runner beside it"
