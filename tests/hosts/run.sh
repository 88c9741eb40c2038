#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The suites of this folder, Slurm beside the other two, since they mostly wait; each prints its
# results.
# usage: tests/hosts/run.sh PROGRAM
export WSC="$1"
log=$(mktemp)
trap 'kill "$slurm" 2>/dev/null; wait; rm -f "$log"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
sh tests/hosts/slurm.sh >"$log" 2>&1 &
slurm=$!
status=0
sh tests/hosts/netns.sh || status=1
sh tests/hosts/benchmarks.sh || status=1
wait "$slurm" || status=1
cat "$log"
exit "$status"
