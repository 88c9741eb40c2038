#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# All test programs, one after the other.  The last lines name what was skipped, and add up what the
# programs printed: `N passed, N failed`.  What is skipped counts as neither.
# usage: tests/run.sh [MAKE [PART...]]
make=${1:-make}
[ $# -eq 0 ] || shift
[ $# -gt 0 ] || set -- check-unit check-mpi check-library check-browser check-packaging check-program test-hosts
log=$(mktemp)
trap 'rm -f "$log" "$log.part"' EXIT
status=0
for part; do
    echo "== $part"
    $make "$part" >"$log.part" 2>&1 || status=1
    cat "$log.part"
    cat "$log.part" >>"$log"
done
awk -v status=$status '
    / passed, [0-9]+ failed/ { sub(/.*: /, ""); passed += $1; failed += $3 }
    /^skipped: / { skipped[++n] = $0 }
    END {
        if (status && !failed) failed = 1  # a program that died says nothing
        for (i = 1; i <= n; i++) print skipped[i]
        printf "%d passed, %d failed\n", passed, failed
        exit failed > 0 || passed == 0
    }' "$log"
