#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# All test programs, two at a time where there are two processors; those of several hosts come last,
# alone.  Each program's output appears when it has ended.  The last lines name what was skipped, and
# add up what the programs printed: `N passed, N failed`.  What is skipped counts as neither.
# usage: tests/run.sh [MAKE [PART...]]      PARTs run one after the other
make=${1:-make}
[ $# -eq 0 ] || shift
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
# What runs in the background does not hear a Ctrl-C.
trap 'rm -rf "$dir"; trap - TERM; kill 0' INT TERM HUP

# Parts that nobody has taken yet.
run_parts() { # PART...
    for part; do
        mkdir "$dir/$part.taken" 2>/dev/null || continue
        echo "== $part" >"$dir/$part.log"
        $make "$part" >>"$dir/$part.log" 2>&1 </dev/null || : >"$dir/failed"
        cat "$dir/$part.log"
    done
}

if [ $# -gt 0 ]; then
    run_parts "$@"
else
    $make test-programs || : >"$dir/failed" # two of them would build the same objects
    set -- check-unit check-program-1of4 check-program-2of4 check-program-3of4 check-program-4of4 \
        check-mpi check-library check-browser check-packaging check-rules
    if [ "$(nproc)" -gt 1 ]; then run_parts "$@" & fi
    run_parts "$@"
    wait
    run_parts test-hosts
fi
status=0
[ ! -e "$dir/failed" ] || status=1
cat "$dir"/*.log | awk -v status=$status '
    / passed, [0-9]+ failed/ { sub(/.*: /, ""); passed += $1; failed += $3 }
    /^skipped: / { skipped[++n] = $0 }
    END {
        if (status && !failed) failed = 1  # a program that died says nothing
        for (i = 1; i <= n; i++) print skipped[i]
        printf "%d passed, %d failed\n", passed, failed
        exit failed > 0 || passed == 0
    }'
