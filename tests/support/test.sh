#!/bin/bash
# `make test`: an engine where one is installed, the static programs, the images, then every test of the workspace, and at the end
# what was skipped and why. An engine that was started here is ended.
#
# What the tests of the real parts read: CAISSON_RUNNER and CAISSON_ROUTER (the static programs), CAISSON_REQUIRE=docker,gitea
# (a part that is missing then fails instead of being skipped), CAISSON_GITEA_BIN, CAISSON_SKIPS (the file that each skip is
# written to; a temporary one where it is not set), CAISSON_TEST_DIR (where the tests make their files; the system's place for temporary
# ones where it is not set). Further words are given to `cargo test`.
set -euo pipefail
cd "$(dirname "$0")/../.."
# shellcheck source=../../compose/dockerd.sh
. compose/dockerd.sh

say() { printf '\n== %s\n' "$*"; }

scratch=$(mktemp -d)
images=
leave() {
    [ -z "$images" ] || { kill "$images" 2>/dev/null || true; wait "$images" 2>/dev/null || true; }
    [ -z "$DOCKERD_PID" ] || { say "stopping the dockerd started here"; docker_stop; }
    rm -rf "$scratch"
}
trap leave EXIT
trap 'exit 130' INT TERM
export CAISSON_SKIPS=${CAISSON_SKIPS:-$scratch/skips}

say "the static runner and router"
programs=$(tests/support/programs.sh)
export CAISSON_RUNNER=$programs/caisson-runner CAISSON_ROUTER=$programs/caisson-router

say "container engine"
if docker_start "$scratch/dockerd.log" >"$scratch/why" 2>&1; then
    echo "${DOCKERD_PID:+started dockerd (process $DOCKERD_PID); }an engine answers"
    # They wait for the network and for dpkg, so they are made beside the build of the tests.
    CAISSON_PROGRAMS=$programs timeout "${CAISSON_IMAGES_TIMEOUT:-900}" compose/images/build.sh sandbox router >"$scratch/images" 2>&1 &
    images=$!
else
    why=$(tr '\n' ' ' <"$scratch/why")
    echo "none answers: $why"
    printf 'no container engine answers: %s\tmake images\n' "$why" >>"$CAISSON_SKIPS"
fi

say "build"
cargo test --locked --workspace --no-run "$@"
if [ -n "$images" ]; then
    made=yes
    wait "$images" || made=
    images=
    say "images"
    cat "$scratch/images"
    if [ -z "$made" ]; then
        case ",${CAISSON_REQUIRE:-}," in
            *,docker,*) echo "CAISSON_REQUIRE lists docker, and the images could not be made" >&2; exit 1 ;;
        esac
        printf 'the images could not be made\tmake images\n' >>"$CAISSON_SKIPS"
    fi
fi

# Most stories wait for a lease or a retry; with one thread per core half of the processor time was unused.
export RUST_TEST_THREADS=${RUST_TEST_THREADS:-$((2 * $(nproc)))}
# Of the tests alone: what is built beside them is large.
[ -z "${CAISSON_TEST_DIR:-}" ] || export TMPDIR=$CAISSON_TEST_DIR
say "tests"
verdict=0
cargo test --locked --workspace --no-fail-fast "$@" 2>&1 | tee "$scratch/told" || verdict=$?
if [ "$verdict" -ne 0 ]; then
    say "failed"
    grep -E '^test .* \.\.\. FAILED$' "$scratch/told" || echo "no test by name: the reason stands above"
fi
say "skipped"
tests/support/skips.sh "$CAISSON_SKIPS"
exit "$verdict"
