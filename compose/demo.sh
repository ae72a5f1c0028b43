#!/bin/bash
# `make demo`: prepares the machine, then shows one whole trip (tests/support/demo). Says what it installs before it does.
#
#   DEMO_AUTO=1     the demo gives the approvals itself, by the API of the person's account
#   DEMO_KEEP=1     forge and bot stay up at the end, until Ctrl-C
#   CAISSON_GITEA_BIN=path              a real Gitea (also: `gitea` on the PATH, or an image gitea/gitea)
#   CAISSON_MODEL_URL=http://127.0.0.1:8080            a real model instead of the recording, where this server answers (the wire of
#                   OpenAI; llama.cpp, Ollama, …); then the issue is one that a very small model solves too
#   CAISSON_MODEL_KIND, _NAME, _KEY_FILE, _BASE_URL    any real model
#
# Leaves behind: packages, the images, and cargo's target directory. Everything else is gone at the end, also after Ctrl-C.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=dockerd.sh
. compose/dockerd.sh

say() { printf '== %s\n' "$*"; }
die() { echo "demo: $*" >&2; exit 1; }

say "Caisson's demo. It needs one thing that it does not install: cargo 1.95 or newer (https://rustup.rs)."
command -v cargo >/dev/null || die "there is no cargo on the PATH"
version=$(cargo --version | cut -d ' ' -f 2)
printf '1.95.0\n%s\n' "${version%%-*}" | sort -V -C || die "cargo $version is older than 1.95; rustup update"

# sudo drops the variables by which this machine's tools find the proxy that they need.
proxies=http_proxy,https_proxy,no_proxy,HTTP_PROXY,HTTPS_PROXY,NO_PROXY
if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || die "run it as root: Docker and debootstrap need that (there is no sudo)"
    say "Docker and debootstrap need root: going on with sudo"
    exec sudo --preserve-env=DEMO_AUTO,DEMO_KEEP,CAISSON_GITEA_BIN,CAISSON_MODEL_URL,CAISSON_MODEL_KIND,CAISSON_MODEL_NAME,CAISSON_MODEL_KEY_FILE,CAISSON_MODEL_BASE_URL,"$proxies" \
        env CAISSON_DEMO_OWNER="$(id -un)" CAISSON_DEMO_HOME="$HOME" \
        PATH="$PATH" CARGO_HOME="${CARGO_HOME:-$HOME/.cargo}" RUSTUP_HOME="${RUSTUP_HOME:-$HOME/.rustup}" "$PWD/compose/demo.sh"
fi

# cargo's files belong to who has the checkout: root's would be in the way of every later build.
as_owner() {
    [ -n "${CAISSON_DEMO_OWNER:-}" ] || { "$@"; return; }
    sudo --preserve-env="$proxies" -u "$CAISSON_DEMO_OWNER" env HOME="$CAISSON_DEMO_HOME" PATH="$PATH" CARGO_HOME="$CARGO_HOME" RUSTUP_HOME="$RUSTUP_HOME" "$@"
}

missing=()
for it in docker:docker.io dockerd:docker.io debootstrap:debootstrap git:git cc:gcc python3:python3 iptables:iptables; do
    command -v "${it%%:*}" >/dev/null || missing+=("${it#*:}")
done
[ -e /usr/share/keyrings/debian-archive-keyring.gpg ] || missing+=(debian-archive-keyring)
if [ ${#missing[@]} -gt 0 ]; then
    command -v apt-get >/dev/null || die "install ${missing[*]} first: there is no apt-get here"
    say "installing from the distribution: ${missing[*]}"
    export DEBIAN_FRONTEND=noninteractive
    timeout 300 apt-get update -q >/dev/null || true
    timeout 900 apt-get install -q -y --no-install-recommends "${missing[@]}" >/dev/null || die "apt-get could not install ${missing[*]}"
fi

trap 'docker_stop' EXIT
# The driver hears Ctrl-C too and ends in order; this waits for it.
trap ':' INT TERM
if ! docker_answers; then
    say "starting dockerd (it is stopped again at the end)"
    docker_start || die "without a container engine there is no sandbox"
fi

say "programs (cargo build; some minutes the first time)"
programs=$(as_owner tests/support/programs.sh)
as_owner cargo build --locked -p caisson --bin caisson --example demo
target=${CARGO_TARGET_DIR:-$PWD/target}

say "images (debootstrap; one or two minutes the first time, no registry)"
CAISSON_PROGRAMS=$programs compose/images/build.sh sandbox router

# The server's own word for its first model and, where it tells it, for its window.
local_model() {
    python3 - "${1%/}" <<'PYTHON'
import json, sys, urllib.request
# Not by a proxy: the server is the operator's own.
direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
def ask(url):
    with direct.open(url, timeout=5) as answer:
        return json.load(answer)
root = sys.argv[1].removesuffix("/v1")
name = ask(root + "/v1/models")["data"][0]["id"].rsplit("/", 1)[-1]
try:
    window = ask(root + "/props")["default_generation_settings"]["n_ctx"]
except Exception:
    window = 8192
print(name, int(window))
PYTHON
}

if [ -n "${CAISSON_MODEL_URL:-}" ] && [ -z "${CAISSON_MODEL_KIND:-}" ]; then
    if found=$(local_model "$CAISSON_MODEL_URL" 2>/dev/null); then
        say "a model answers at CAISSON_MODEL_URL: ${found% *}, with a window of ${found##* } tokens"
        export CAISSON_MODEL_KIND=openai CAISSON_MODEL_BASE_URL=$CAISSON_MODEL_URL CAISSON_MODEL_NAME=${found% *} \
            CAISSON_MODEL_CONTEXT_TOKENS=${found##* } CAISSON_MODEL_MAX_OUTPUT_TOKENS=$((${found##* } / 4)) CAISSON_DEMO_SMALL=1
    else
        say "no model answers at CAISSON_MODEL_URL=$CAISSON_MODEL_URL: the demo uses a recording"
    fi
fi

export CAISSON_RUNNER=$programs/caisson-runner CAISSON_DEMO_PROGRAM=$target/debug/caisson CAISSON_DEMO_INSTALLATION=demo-$$
say "the trip"
code=0
"$target/debug/examples/demo" &
driver=$!
# `wait` ends early on a signal: the driver's own end is what counts.
while kill -0 "$driver" 2>/dev/null; do wait "$driver" && code=0 || code=$?; done
exit "$code"
