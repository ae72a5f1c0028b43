#!/bin/sh
# `make down`: stops what `make up` started, and removes the sandboxes and networks of that installation: a task at work goes on from its last
# commit. Data stays.
set -eu
HERE=$(cd "$(dirname "$0")" && pwd)
why=$(timeout 10 docker version 2>&1 >/dev/null) || case $why in
    *"permission denied"*) echo "you may not use the container engine: run it as root" >&2; exit 1 ;;
    *) echo "the container engine does not answer: nothing runs" >&2; exit 0 ;;
esac
# shellcheck source=tool.sh
. "$HERE/tool.sh"
compose stop caisson
# The broker knows what is its own; nobody asks it for anything new any more.
compose run --rm -T --no-deps broker broker --socket=/tmp/none/broker.sock --installation=compose --teardown </dev/null || true
compose down
