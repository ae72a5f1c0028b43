#!/bin/sh
# Builds the two programs that run inside containers, static, and writes the directory they are in: one word, the last line.
set -eu
cd "$(dirname "$0")/../.."
host=$(rustc -vV | sed -n 's/^host: //p')
# Naming the target keeps the flag from build scripts; a directory of its own keeps it from the rest of the build.
RUSTFLAGS='-C target-feature=+crt-static' cargo build --locked --profile small --target "$host" \
    --target-dir target/static -p caisson-runner -p caisson-router >&2
echo "$PWD/target/static/$host/small"
