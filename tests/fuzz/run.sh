#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: tests/fuzz/run.sh PROGRAM SECONDS|EXECUTIONSx [TARGET...]
# Fuzzes each target (without one: all) for SECONDS, or for so many executions (1000000x), from the corpus in tests/fuzz/corpus; new inputs and findings go
# to build/fuzz/TARGET.  Prints executions and coverage per target; status 1 when one has a finding.
set -u
program=$1
case $2 in
*x) limit=-runs=${2%x} ;;
*) limit=-max_total_time=$2 ;;
esac
shift 2
# shellcheck disable=SC2046 # a list of names
[ $# -gt 0 ] || set -- $("$program" | cut -f 1)
status=0
for target; do
    work=build/fuzz/$target
    mkdir -p "$work/corpus" "$work/findings"
    # HDF5 loses blocks of its own when it refuses a file; our own are counted by the targets.  A file
    # on which HDF5 loops is refused after the prober's limit of processor time, not at once.
    case $target in
    samples | checkpoint | pairs) leaks=0 most=32768 longest=150 ;;
    bpe) leaks=1 most=16384 longest=10 ;;
    encode | pair_sets) leaks=1 most=400 longest=10 ;;
    *) leaks=1 most=4096 longest=10 ;;
    esac
    ASAN_OPTIONS=detect_leaks=$leaks WSC_FUZZ_TARGET=$target nice -n 19 "$program" "$work/corpus" "tests/fuzz/corpus/$target" \
        -dict=tests/fuzz/keys.dict "$limit" -timeout="$longest" -report_slow_units="$longest" -rss_limit_mb=1024 \
        -malloc_limit_mb=512 -max_len="$most" -detect_leaks=$leaks -print_final_stats=1 \
        -artifact_prefix="$work/findings/" >"$work/log" 2>&1 || status=1
    awk -v target="$target" '
        /stat::number_of_executed_units/ { n = $2 }
        / cov: / { for (i = 1; i < NF; i++) if ($i == "cov:") cov = $(i + 1) }
        END { printf "%-12s %12d executions, %6d edges\n", target, n, cov }' "$work/log"
    if [ -n "$(ls "$work/findings")" ]; then
        echo "$target: findings in $work/findings, see $work/log"
    fi
done
exit $status
