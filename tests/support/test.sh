#!/bin/bash
# `make test`: the static programs, the images where there is an engine, then every test of the workspace.
#
# What the tests of the real parts read: CAISSON_RUNNER and CAISSON_ROUTER (the static programs), CAISSON_REQUIRE=docker,gitea
# (a part that is missing then fails instead of being skipped), CAISSON_GITEA_BIN. Further words are given to `cargo test`.
set -euo pipefail
cd "$(dirname "$0")/../.."

say() { printf '\n== %s\n' "$*"; }

say "the static runner and router"
programs=$(tests/support/programs.sh)
export CAISSON_RUNNER=$programs/caisson-runner CAISSON_ROUTER=$programs/caisson-router

if timeout 10 docker version >/dev/null 2>&1; then
    say "images"
    if ! CAISSON_PROGRAMS=$programs timeout "${CAISSON_IMAGES_TIMEOUT:-900}" compose/images/build.sh sandbox router; then
        case ",${CAISSON_REQUIRE:-}," in
            *,docker,*) echo "CAISSON_REQUIRE lists docker, and the images could not be made" >&2; exit 1 ;;
        esac
        echo "skipped: the images could not be made; tests that need them say so" >&2
    fi
else
    say "no container engine answers: tests that need one say 'skipped' and pass (CAISSON_REQUIRE=docker forbids that)"
fi

say "tests"
exec cargo test --locked --workspace --no-fail-fast "$@"
