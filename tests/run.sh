#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# All test programs, each with its output when it has ended.  Where there are two processors the
# program's tests run beside the others; those of several hosts come last, alone.  The last lines name
# what was skipped, and add up what the programs printed: `N passed, N failed`.  What is skipped counts
# as neither.
# usage: tests/run.sh [MAKE [PART...]]      PARTs run one after the other
make=${1:-make}
[ $# -eq 0 ] || shift
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
# What runs in the background does not hear a Ctrl-C.
trap 'rm -rf "$dir"; trap - TERM; kill 0' INT TERM HUP

run_parts() { # PART...
    for part; do
        echo "== $part" >"$dir/$part"
        $make "$part" >>"$dir/$part" 2>&1 </dev/null || : >"$dir/status"
        cat "$dir/$part"
    done
}

if [ $# -gt 0 ]; then
    run_parts "$@"
else
    $make test-programs || : >"$dir/status" # two of them would build the same objects
    if [ "$(nproc)" -gt 1 ]; then
        run_parts check-program &
        run_parts check-unit check-mpi check-library check-browser check-packaging
        wait
    else
        run_parts check-unit check-mpi check-library check-browser check-packaging check-program
    fi
    run_parts test-hosts
fi
status=0
[ ! -e "$dir/status" ] || status=1
rm -f "$dir/status"
cat "$dir"/* | awk -v status=$status '
    / passed, [0-9]+ failed/ { sub(/.*: /, ""); passed += $1; failed += $3 }
    /^skipped: / { skipped[++n] = $0 }
    END {
        if (status && !failed) failed = 1  # a program that died says nothing
        for (i = 1; i <= n; i++) print skipped[i]
        printf "%d passed, %d failed\n", passed, failed
        exit failed > 0 || passed == 0
    }'
