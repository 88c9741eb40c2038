#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# All test programs, one after the other; the last line adds up what they printed.
make=${1:-make}
log=$(mktemp)
trap 'rm -f "$log"' EXIT
status=0
for part in check-unit check-mpi check-program test-hosts; do
    echo "== $part"
    $make $part >"$log.part" 2>&1 || status=1
    cat "$log.part"
    cat "$log.part" >>"$log"
done
rm -f "$log.part"
awk -v status=$status '
    / passed, [0-9]+ failed/ { sub(/.*: /, ""); passed += $1; failed += $3 }
    END {
        if (status && !failed) failed = 1  # a program that died says nothing
        printf "%d passed, %d failed\n", passed, failed
        exit failed > 0 || passed == 0
    }' "$log"
