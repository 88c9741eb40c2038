#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Small runs of the benchmarks of several hosts (benchmarks/network.py and scaling.py), over
# namespaces with a rate and a delay: rows come, values are equal, nothing is left.  Prints
# `benchmarks: N passed, N failed`, or `skipped: ...` where rights or programs are missing.
# usage: tests/hosts/benchmarks.sh [CASE...]
# shellcheck disable=SC2317 # functions are called by name
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/hosts/common.sh
python=/usr/bin/python3
export PYTHONDONTWRITEBYTECODE=1

take_down() { :; }

bench() { # FOLDER PROGRAM OPTION...
    folder=$dir/$1
    program=$2
    shift 2
    mkdir -p "$folder" && ln -sfn "$dir/data" "$folder/data" || return
    $python "benchmarks/$program.py" --wsc "$wsc" --dir "$folder" --rounds 1 --steps 4 "$@"
}

holds() { # FILE EXPRESSION of r, the results
    $python -c 'import json, sys
r = json.load(open(sys.argv[1]))
sys.exit(not eval("(" + sys.argv[2] + ")"))' "$1" "$2"
}

# A message and its answer meet the delay once each; in both rows the bytes of a step move, a vector
# of 10.8 M weights down and one of gradients up.
network_has_rates_and_delays() {
    bench network network --rates 1 --delays 0,1 --batch 2 &&
        holds "$dir/network/network.json" '[x["delay_ms"] for x in r["rows"]] == [0, 1] and
            r["rows"][1]["answer_ms"] > 2 and r["bytes_per_step"][0][0][0] > 43e6 and
            all(x["moving_s"] > 0.6 and x["step_s"] > 0.3 for x in r["rows"])'
}

# Verified before it is timed; efficiencies are those of the round.
scaling_is_verified_and_measured() {
    bench scaling scaling --ranks 1,2 --batch 2 --share 1 >"$dir/said" || return
    cat "$dir/said"
    grep -q '^weak on 2 ranks: losses, norms and virtual times as in one process' "$dir/said" &&
        holds "$dir/scaling/scaling.json" 'r["hosts"] == "namespaces" and
            [(x["job"], x["ranks"]) for x in r["rows"]] ==
            [("strong", 1), ("strong", 2), ("weak", 1), ("weak", 2)] and
            r["rows"][0]["efficiency"] == 1 and abs(r["rows"][1]["efficiency"] -
            r["rows"][0]["step_s"] / r["rows"][1]["step_s"] / 2) < 1e-9'
}

a_row_without_time_left_is_skipped() {
    bench late network --rates 0.5 --batch 2 --seconds 0.1 >"$dir/said" || return
    cat "$dir/said"
    grep -q '^round 0, 0.5 Gbit/s, 0 ms: skipped, no time left$' "$dir/said"
}

nobody_works_in() { # FOLDER
    ! pgrep -f "$1/network_model" && ! kill -0 "$(cat "$1/host1.pid")" 2>/dev/null
}

an_ended_benchmark_leaves_no_process() {
    mkdir -p "$dir/ended" && ln -sfn "$dir/data" "$dir/ended/data" || return
    $python benchmarks/network.py --wsc "$wsc" --dir "$dir/ended" --rates 0.01 --steps 99 &
    job=$!
    wait_until 60 pgrep -f "$dir/ended/network_model.*--num_steps 3" || return
    kill -TERM "$job"
    wait "$job"
    [ $? -eq 143 ] && wait_until 15 nobody_works_in "$dir/ended"
}

[ -x $python ] || skip "no $python"
reason=$($python benchmarks/hosts.py) || skip "$reason"
begin
cat src/*/*.c >"$dir/text.txt" &&
    "$wsc" data --input "$dir/text.txt" --out "$dir/data" --max_seq_length 256 >/dev/null || exit 1
check_chosen "$@" -- network_has_rates_and_delays scaling_is_verified_and_measured \
    a_row_without_time_left_is_skipped an_ended_benchmark_leaves_no_process
exit 0
