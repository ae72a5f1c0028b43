#!/bin/bash
# What was skipped, once for each reason: how many tests, why, which. Reads the file that CAISSON_SKIPS names, given as $1.
set -euo pipefail
[ -s "$1" ] || { echo "nothing was skipped"; exit 0; }
sort -u "$1" | awk -F '\t' '
    function flush() { if (count) printf "  %d × %s\n      %s\n", count, why, names }
    $1 != why { flush(); why = $1; count = 0; names = "" }
    { names = names (count ? ", " : "") $2; count++; total++ }
    END { flush(); printf "%d skipped\n", total }'
