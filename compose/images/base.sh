#!/bin/sh
# Makes the base image without a registry: debootstrap with the verified archive keyring, then `docker import`.
#
#   base.sh [tag]                     default tag: caisson-base:local
#
#   CAISSON_ROOTFS=dir                import this finished root file system instead of making one
#   CAISSON_DEBIAN_MIRROR=url         where packages come from; otherwise what apt on this machine uses, otherwise
#                                     debootstrap's own default
#   CAISSON_SUITE=name                which Debian; a newer one where programs were built against a newer C library
#   CAISSON_BASE_PACKAGES=a,b         what is put in besides a minimal Debian: all that our images need, so that
#                                     building them needs no network
#   CAISSON_CACHE=dir                 where the finished root file system is kept for a month (/var/cache/caisson), so
#                                     that an engine that lost the image gets it back in seconds
#
# Does nothing when the tag is there and was made by this script from the same packages; a tag that it did not make is
# somebody's own base and stays.
#
# Needs root (debootstrap makes device nodes and changes its root) and a running container engine.
set -eu

TAG=${1:-caisson-base:local}
SUITE=${CAISSON_SUITE:-bookworm}
KEYRING=/usr/share/keyrings/debian-archive-keyring.gpg
PACKAGES=${CAISSON_BASE_PACKAGES:-git,ca-certificates,python3,build-essential,curl,iproute2,iptables,nftables}

die() { echo "base.sh: $*" >&2; exit 1; }

command -v docker >/dev/null || die "there is no docker; install the engine first"
docker version >/dev/null 2>&1 || die "the container engine does not answer; start it (systemctl start docker)"

# What the image is made of; a tag that carries it needs no second making.
key=$(printf '%s\n' "$SUITE" "$PACKAGES" "${CAISSON_ROOTFS:-}" | sha256sum | cut -c 1-16)
if found=$(docker image inspect -f '{{with .Config.Labels}}{{index . "caisson.content"}}{{end}}' "$TAG" 2>/dev/null); then
    case $found in "$key" | "") echo "$TAG"; exit 0 ;; esac
fi

# Takes a tar archive from standard input.
import() {
    docker import --change "LABEL caisson.content=$key" - "$TAG" >/dev/null
    echo "$TAG"
}

# Package lists and caches would only make the image larger.
pack() {
    tar -C "$1" -c --numeric-owner --exclude='./var/lib/apt/lists/*' --exclude='./var/cache/apt/*' \
        --exclude='./proc/*' --exclude='./sys/*' .
}

if [ -n "${CAISSON_ROOTFS:-}" ]; then
    [ -x "$CAISSON_ROOTFS/bin/sh" ] || die "CAISSON_ROOTFS=$CAISSON_ROOTFS holds no /bin/sh"
    pack "$CAISSON_ROOTFS" | import
    exit 0
fi

[ "$(id -u)" = 0 ] || die "making a root file system needs root; run it with sudo"
CACHE=${CAISSON_CACHE:-/var/cache/caisson}
kept=$CACHE/base-$SUITE-$key.tar
# Nobody but root may have put it there; after a month Debian has mended enough to make it anew.
if [ -n "$(find "$kept" -maxdepth 0 -user root ! -perm /022 -mtime -30 2>/dev/null)" ]; then
    echo "taking $kept" >&2
    import <"$kept"
    exit 0
fi
command -v debootstrap >/dev/null || die "debootstrap is missing; apt-get install debootstrap"
[ -f "$KEYRING" ] || die "$KEYRING is missing; apt-get install debian-archive-keyring"
# The keyring is what everything else is verified by, so it must be the file that its package brought.
if command -v dpkg >/dev/null; then
    changed=$(dpkg --verify debian-archive-keyring 2>&1 | grep -F "$KEYRING" || true)
    [ -z "$changed" ] || die "$KEYRING is not as its package brought it: $changed"
fi

mirror=${CAISSON_DEBIAN_MIRROR:-}
if [ -z "$mirror" ] && grep -q '^ID=debian' /etc/os-release 2>/dev/null; then
    mirror=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' 2>/dev/null | grep -v security | head -n 1 || true)
fi

work=$(mktemp -d)
maker=
cleanup() {
    [ -z "$maker" ] || { kill "$maker" 2>/dev/null || true; wait "$maker" 2>/dev/null || true; }
    # What debootstrap mounts when it is cut must not be deleted through.
    for it in proc sys; do umount "$work/rootfs/$it" 2>/dev/null || true; done
    rm -rf --one-file-system "$work"
}
trap cleanup EXIT
trap 'exit 130' INT TERM
echo "making a Debian $SUITE with debootstrap (one or two minutes)" >&2
# shellcheck disable=SC2086
timeout "${CAISSON_DEBOOTSTRAP_TIMEOUT:-1500}" debootstrap --variant=minbase --force-check-gpg --keyring="$KEYRING" \
    --include="$PACKAGES" "$SUITE" "$work/rootfs" $mirror >"$work/log" 2>&1 &
maker=$!
while kill -0 "$maker" 2>/dev/null; do
    sleep 5
    echo "  $(tail -n 1 "$work/log" | cut -c 1-100)" >&2
done
made=0
wait "$maker" || made=$?
maker=
[ "$made" = 0 ] || { tail -n 20 "$work/log" >&2; die "debootstrap failed"; }
if install -d -m 700 "$CACHE" && (umask 077 && pack "$work/rootfs" >"$work/base.tar") && mv "$work/base.tar" "$kept"; then
    import <"$kept"
else
    pack "$work/rootfs" | import
fi
