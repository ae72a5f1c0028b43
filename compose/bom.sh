#!/bin/bash
# `make bom`: what the program and the images are made of, as CycloneDX 1.5 JSON in target/bom: caisson.cdx.json from cargo's own
# metadata and Cargo.lock, <image>.cdx.json from dpkg in each image that is there (what was put in beside dpkg,
# such as a toolchain of this machine, does not stand in it). Asks no network.
set -euo pipefail
cd "$(dirname "$0")/.."
out=target/bom
mkdir -p "$out"

# Lines of name, version, licence, sha256 and package address, separated by tabs, become a document.
document() {
    python3 -c '
import json, sys
parts = []
for line in sys.stdin:
    name, version, licence, digest, purl = line.rstrip("\n").split("\t")
    part = {"type": "library", "name": name, "version": version, "purl": purl, "bom-ref": purl}
    if licence: part["licenses"] = [{"expression": licence}]
    if digest: part["hashes"] = [{"alg": "SHA-256", "content": digest}]
    parts.append(part)
whole = {"type": sys.argv[2], "name": sys.argv[1], "version": sys.argv[3]}
print(json.dumps({"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1, "metadata": {"component": whole}, "components": parts}, indent=1))
' "$@"
}

# What is linked in: not what only tests and builds use.
cargo tree --locked --offline -p caisson -p caisson-runner -p caisson-router -e normal --prefix none -f $'{p}\t{l}' | sort -u | python3 -c '
import sys, tomllib
digests = {(it["name"], it["version"]): it.get("checksum", "") for it in tomllib.load(open("Cargo.lock", "rb"))["package"]}
for line in sys.stdin:
    if not line.strip(): continue
    package, licence = line.removesuffix("\n").split("\t")
    name, version = package.split(" ")[0], package.split(" ")[1].lstrip("v")
    print(name, version, licence.removesuffix(" (*)").replace("/", " OR "), digests.get((name, version), ""), f"pkg:cargo/{name}@{version}", sep="\t")
' | sort -u | document caisson application "$(git describe --always --dirty)" >"$out/caisson.cdx.json"
echo "$out/caisson.cdx.json"

timeout 10 docker version >/dev/null 2>&1 || { echo "no container engine answers: no image was looked at"; exit 0; }
for image in $(docker image ls --format '{{.Repository}}:{{.Tag}}' | grep -E '^caisson(-router|-sandbox)?:' | grep -v ':local$' | sort); do
    file=$out/$(tr '/:' '--' <<<"$image").cdx.json
    # Read from outside: the router's image holds nothing that could print it.
    made=$(docker create --network none "$image" none)
    trap 'docker rm "$made" >/dev/null' EXIT
    docker cp "$made:/var/lib/dpkg/status" - | tar -xOf - | awk -v RS= '/\nStatus: install ok installed\n/ {
        match($0, /(^|\n)Package: [^\n]*/); package = substr($0, RSTART, RLENGTH); sub(/.*: /, "", package)
        match($0, /\nVersion: [^\n]*/); version = substr($0, RSTART + 10, RLENGTH - 10)
        match($0, /\nArchitecture: [^\n]*/); arch = substr($0, RSTART + 15, RLENGTH - 15)
        printf "%s\t%s\t\t\tpkg:deb/debian/%s@%s?arch=%s\n", package, version, package, version, arch
    }' |
        document "$image" container "$(docker image inspect -f '{{.Id}}' "$image")" >"$file.new"
    mv "$file.new" "$file"
    docker rm "$made" >/dev/null
    trap - EXIT
    echo "$file"
done
