#!/bin/bash
# `make test`: an engine where one is installed, the static programs and the images beside the build, then every test of the workspace, and at the end
# what was skipped and why. An engine that was started here is ended.
#
# What the tests of the real parts read: CAISSON_RUNNER and CAISSON_ROUTER (the static programs), CAISSON_REQUIRE=docker,gitea
# (a part that is missing then fails instead of being skipped), CAISSON_GITEA_BIN, CAISSON_SKIPS (the file that each skip is
# written to; a temporary one where it is not set), CAISSON_TEST_DIR (where the tests make their files; the system's place for temporary
# ones where it is not set). Further words are given to `cargo test`, which then runs one program after the other.
set -euo pipefail
cd "$(dirname "$0")/../.."
# shellcheck source=../../compose/dockerd.sh
. compose/dockerd.sh

say() { printf '\n== %s\n' "$*"; }

# Programs that wait for most of their time, for containers, a forge or a page, run two at a time, and before the others, which take all of
# the cores: beside those they took longer than one after the other. All that use tests/support/home.rs are in one list, because the
# addresses of their networks are counted within one program.
with_home=(contract dashboard eval eval_model serve setup try_out two_hosts)
without=(barrier docker lab trip)

# `--test=NAME` for each program of tests that is not among these.
others() {
    local it
    for it in tests/*.rs tests/*/main.rs */tests/*.rs */tests/*/main.rs; do
        it=$(basename "${it%/main.rs}" .rs)
        case " ${with_home[*]} ${without[*]} " in *" $it "*) ;; *) echo "--test=$it" ;; esac
    done | sort -u
}

scratch=$(mktemp -d)
parts=
beside=
shown=
leave() {
    # Who reads this may be gone, and what was started is ended all the same.
    trap '' PIPE
    set +e
    [ -z "$beside" ] || { kill "$beside" 2>/dev/null; wait "$beside" 2>/dev/null; }
    # What it had said by now: the reason may stand there.
    [ -z "$beside" ] || [ -n "$shown" ] || cat "$scratch/beside"
    [ -z "$parts" ] || { kill "$parts" 2>/dev/null; wait "$parts" 2>/dev/null; cat "$scratch/parts"; }
    [ -z "$DOCKERD_PID" ] || { say "stopping the dockerd started here"; docker_stop; }
    rm -rf "$scratch"
}
trap leave EXIT
trap 'exit 130' INT TERM
export CAISSON_SKIPS=${CAISSON_SKIPS:-$scratch/skips}

say "container engine"
engine=
if docker_start "$scratch/dockerd.log" >"$scratch/why" 2>&1; then
    echo "${DOCKERD_PID:+started dockerd (process $DOCKERD_PID); }an engine answers"
    engine=yes
else
    why=$(tr '\n' ' ' <"$scratch/why")
    echo "none answers: $why"
    printf 'no container engine answers: %s\tmake images\n' "$why" >>"$CAISSON_SKIPS"
fi

# The static programs are linked on one core, and the images wait for the network and for dpkg: beside the build of the tests.
parts() {
    tests/support/programs.sh >"$1/programs" || return
    [ -z "$2" ] || CAISSON_PROGRAMS=$(cat "$1/programs") timeout --foreground "${CAISSON_IMAGES_TIMEOUT:-900}" compose/images/build.sh sandbox router
}
export -f parts
say "build (the static runner and router and the images beside it)"
# Its own group of processes, which `leave` ends as one.
timeout 7200 bash -c 'parts "$@"' parts "$scratch" "$engine" >"$scratch/parts" 2>&1 </dev/null &
parts=$!
cargo test --locked --workspace --no-run "$@"
made=0
wait "$parts" || made=$?
parts=
say "the static runner and router${engine:+, and the images}"
cat "$scratch/parts"
if [ ! -s "$scratch/programs" ]; then
    echo "the static programs could not be built" >&2
    exit 1
fi
programs=$(cat "$scratch/programs")
export CAISSON_RUNNER=$programs/caisson-runner CAISSON_ROUTER=$programs/caisson-router
if [ "$made" != 0 ]; then
    case ",${CAISSON_REQUIRE:-}," in
        *,docker,*) echo "CAISSON_REQUIRE lists docker, and the images could not be made" >&2; exit 1 ;;
    esac
    printf 'the images could not be made\tmake images\n' >>"$CAISSON_SKIPS"
fi

# Most stories wait for a lease or a retry; with one thread per core half of the processor time was unused.
export RUST_TEST_THREADS=${RUST_TEST_THREADS:-$((2 * $(nproc)))}
# Of the tests alone: what is built beside them is large.
[ -z "${CAISSON_TEST_DIR:-}" ] || export TMPDIR=$CAISSON_TEST_DIR
say "tests"
verdict=0
# Cargo's own code for tests that failed is 101; anything else has not tried everything.
whole() { case $1 in 0 | 101) ;; *) say "a part of the tests was ended before its end" ;; esac; verdict=$1; }
run=(cargo test --locked --workspace --no-fail-fast)
if [ $# -gt 0 ]; then
    "${run[@]}" "$@" 2>&1 | tee "$scratch/told" || verdict=$?
else
    # Its own group of processes, which `leave` ends as one.
    timeout 7200 "${run[@]}" "${without[@]/#/--test=}" >"$scratch/beside" 2>&1 </dev/null &
    beside=$!
    "${run[@]}" "${with_home[@]/#/--test=}" 2>&1 | tee "$scratch/told" || whole $?
    shown=yes
    say "tests that ran beside these: ${without[*]}"
    tail -n +1 -f --pid="$beside" "$scratch/beside" | tee -a "$scratch/told"
    wait "$beside" || whole $?
    beside=
    say "all others"
    mapfile -t rest < <(others)
    "${run[@]}" --lib --bins "${rest[@]}" 2>&1 | tee -a "$scratch/told" || whole $?
fi
if [ "$verdict" -ne 0 ]; then
    say "failed"
    grep -E '^test .* \.\.\. FAILED$' "$scratch/told" || echo "no test by name: the reason stands above"
fi
say "skipped"
tests/support/skips.sh "$CAISSON_SKIPS"
exit "$verdict"
