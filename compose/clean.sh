#!/bin/sh
# `make clean-docker`: removes containers, networks, volumes and tables of tests (installations t<number>-…), of the demo (demo-<number>),
# of evaluations (eval-<number>-…) and of `caisson repo try` and `caisson barrier` (…-try<number>, …-barrier<number>).
# An installation in use has another name and stays. Images stay.
set -eu

names='t[0-9]+-|demo-[0-9]+$|eval-[0-9]+-|[a-z0-9-]+-(try|barrier)[0-9]+$'

ours() { # ours <container|network|volume>: "<id> <installation>" of each labelled one, the right ones kept
    case $1 in
        container) docker ps -a --filter label=caisson.installation --format '{{.ID}} {{.Label "caisson.installation"}}' ;;
        *) docker "$1" ls --filter label=caisson.installation --format '{{.Name}} {{.Label "caisson.installation"}}' ;;
    esac | awk -v names="^($names)" '$2 ~ names { print $1 }'
}

why=$(timeout 10 docker version 2>&1 >/dev/null) || case $why in
    *"permission denied"*) echo "you may not use the container engine: run it as root" >&2; exit 1 ;;
    *) echo "the container engine does not answer: nothing to clean" >&2; exit 0 ;;
esac
for id in $(ours container); do docker rm -f -v "$id" >/dev/null && echo "container $id"; done
for id in $(ours network); do docker network rm "$id" >/dev/null && echo "network $id"; done
for id in $(ours volume); do docker volume rm "$id" >/dev/null && echo "volume $id"; done
# What a test that was cut left in the packet filter, by the image that put it there.
in_filter() { docker run --rm --network host --cap-drop ALL --cap-add NET_ADMIN --user 0 --entrypoint nft caisson-router:local "$@"; }
if docker image inspect caisson-router:local >/dev/null 2>&1; then
    for table in $(in_filter list tables inet | awk -v names="^caisson-($names)" '$3 ~ names { print $3 }'); do
        in_filter delete table inet "$table" && echo "table $table"
    done
fi
