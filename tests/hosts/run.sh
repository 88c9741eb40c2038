#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The suites of this folder, Slurm beside the others, since they mostly wait; each prints its
# results.
# usage: tests/hosts/run.sh PROGRAM [SUITE...]      without SUITE: slurm netns benchmarks
export WSC="$1"
shift
[ $# -gt 0 ] || set -- slurm netns benchmarks
log=$(mktemp)
slurm=
trap 'kill "$slurm" 2>/dev/null; wait; rm -f "$log"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
case " $* " in *" slurm "*)
    sh tests/hosts/slurm.sh >"$log" 2>&1 &
    slurm=$!
    ;;
esac
status=0
for suite; do
    [ "$suite" = slurm ] || sh "tests/hosts/$suite.sh" || status=1
done
[ -z "$slurm" ] || wait "$slurm" || status=1
cat "$log"
exit "$status"
