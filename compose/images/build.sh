#!/bin/sh
# Builds the images, with or without a registry.
#
#   build.sh [sandbox] [router] [caisson] [python] [rust] …    default: sandbox router, what `caisson serve` on this
#                           machine needs. `sandbox` is the toolchain profile `base`; the others stand in `profiles`
#                           beside this script, and `caisson image build` makes the same images from the same list.
#
#   CAISSON_BASE=image      what they start from; default caisson-base:local, which base.sh makes when it is not there.
#                           Where a registry can be reached, debian:bookworm-slim does as well.
#   CAISSON_PROGRAMS=dir    programs that were built before (caisson, caisson-runner, caisson-router); otherwise cargo
#                           builds those that are needed, but under sudo those of `make build` are taken where they are
#
# Tags: caisson-router:latest, caisson:latest and caisson-sandbox:base, these also as :local; caisson-sandbox:<profile>.
# Works with the legacy builder.
set -eu

HERE=$(cd "$(dirname "$0")" && pwd)
ROOT=$(cd "$HERE/../.." && pwd)
BASE=${CAISSON_BASE:-caisson-base:local}
CONTEXT=$(mktemp -d)
trap 'rm -rf "$CONTEXT"' EXIT INT TERM

die() { echo "build.sh: $*" >&2; exit 1; }

docker version >/dev/null 2>&1 || die "the container engine does not answer; start it (systemctl start docker)"
[ $# -gt 0 ] || set -- sandbox router
# cargo is rarely on root's PATH, and would leave files that the checkout's owner cannot write.
built=$ROOT/target/release
if [ -z "${CAISSON_PROGRAMS:-}" ] && [ -n "${SUDO_USER:-}" ] && [ -x "$built/caisson-router" ]; then
    sources="Cargo.toml Cargo.lock protocol router"
    case " $* " in *" caisson "*)
        sources="$sources src domain broker runner locate prompts dashboard migrations compose/images/profiles compose/images/sandbox.Dockerfile" ;;
    esac
    # shellcheck disable=SC2086
    newer=$(cd "$ROOT" && find $sources -type f -not -path '*/tests/*' -not -name '*tests.rs' -not -name '*~' -newer "$built/caisson-router" 2>/dev/null | head -n 1) || :
    [ -z "$newer" ] || die "$newer is newer than the programs in $built: \`make build\` first, as yourself"
    echo "programs: those of \`make build\`, in $built"
    CAISSON_PROGRAMS=$built
fi
# Does nothing when the base is there as base.sh would make it.
[ "$BASE" != caisson-base:local ] || "$HERE/base.sh" "$BASE" >/dev/null
docker image inspect "$BASE" >/dev/null 2>&1 || docker pull -q "$BASE" >/dev/null || die "there is no image $BASE"
# One that came from a registry is named by its digest: a tag may move between two images of one run.
digest=$(docker image inspect -f '{{range .RepoDigests}}{{println .}}{{end}}' "$BASE" | head -n 1)
BASE=${digest:-$BASE}

# Puts a program into the context. Runner and router are static: they run in whatever image they are put.
program() {
    if [ -n "${CAISSON_PROGRAMS:-}" ]; then
        cp "$CAISSON_PROGRAMS/$1" "$CONTEXT/" || die "CAISSON_PROGRAMS=$CAISSON_PROGRAMS holds no $1"
        return
    fi
    command -v cargo >/dev/null || die "cargo is needed to build $1; install Rust (under sudo: \`make build\` first, as yourself) or set CAISSON_PROGRAMS"
    target=$(rustc -vV | sed -n 's/^host: //p')
    out=${CARGO_TARGET_DIR:-$ROOT/target}
    if [ "$1" = caisson ]; then
        (cd "$ROOT" && cargo build -q --locked --release -p caisson --bin caisson)
        cp "$out/release/caisson" "$CONTEXT/"
    else
        # Naming the target keeps the flag from the build scripts.
        (cd "$ROOT" && RUSTFLAGS='-C target-feature=+crt-static' \
            cargo build -q --locked --profile small --target "$target" -p "$1" --bin "$1")
        cp "$out/$target/small/$1" "$CONTEXT/"
    fi
}

# The Debian packages of a profile, without those of base; empty when there is no such profile.
packages() { sed -n "s/^$1  *//p" "$HERE/profiles"; }

# image <name> <tag> <Dockerfile> [packages]. A tag made of the same base, Dockerfile, packages and programs stays as it is
# (broker/src/toolchain/ makes the same hash).
image() {
    content=$({
        docker image inspect -f '{{.Id}}' "$BASE"
        cat "$3"
        [ $# -lt 4 ] || printf '%s\n' "$4"
        (cd "$CONTEXT" && sha256sum ./* 2>/dev/null)
    } | sha256sum | cut -c 1-16)
    if [ "$(docker image inspect -f '{{with .Config.Labels}}{{index . "caisson.content"}}{{end}}' "$1:$2" 2>/dev/null || true)" = "$content" ]; then
        also "$1" "$2"
        echo "$1:$2 (there already)"
        return
    fi
    docker build -q --build-arg CONTENT="$content" --build-arg IMAGE="$1:$2" --build-arg BASE="$BASE" \
        ${4:+--build-arg "PACKAGES=$4"} -t "$1:$2" -f "$3" "$CONTEXT" >"$CONTEXT.log" 2>&1 || {
        cat "$CONTEXT.log" >&2
        rm -f "$CONTEXT.log"
        die "$1:$2 could not be built"
    }
    rm -f "$CONTEXT.log"
    also "$1" "$2"
    echo "$1:$2"
}

# The name that compose.yaml and the tests use.
also() { case $2 in base | latest) docker tag "$1:$2" "$1:local" ;; esac; }

# sandbox <profile>
sandbox() {
    own=$(packages "$1")
    [ -n "$own" ] || die "there is no image \"$1\"; there are sandbox, router, caisson, $(sed -n 's/^\([a-z][a-z]*\) .*/\1/p' "$HERE/profiles" | paste -sd ' ')"
    all=$(packages base)
    [ "$1" = base ] || all="$all $own"
    image caisson-sandbox "$1" "$HERE/sandbox.Dockerfile" "$all"
}

for it in "$@"; do
    rm -rf "${CONTEXT:?}"/*
    case $it in
        sandbox) sandbox base ;;
        router) program caisson-router && image caisson-router latest "$ROOT/router/Dockerfile" ;;
        caisson)
            program caisson
            program caisson-runner
            image caisson latest "$HERE/caisson.Dockerfile"
            ;;
        *) sandbox "$it" ;;
    esac
done
