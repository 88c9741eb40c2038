#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Benchmarks of several ranks and hosts, BUILD/benchmarks/cluster.json, and that beside the last
# committed file of its kind in benchmarks/results:
#
#     sh benchmarks/cluster.sh BUILD [ANOTHER PROGRAM]
#
# Parts, where as many processors compute beside PyTorch's DDP over gloo in the same rounds:
#   two_hosts    network.py: a wafer on one thread, MemoryX on another host, 0.5 to 2 Gbit/s
#   two_threads  the wafer on two threads, 0.5 to 10 Gbit/s
#   delays       the wafer on two threads, 1 and 10 Gbit/s, delays of 0 to 1 ms
#   three_hosts  a SwarmX node between two wafers on three hosts, 0.5 and 1 Gbit/s
#   two_threads_bf16, three_hosts_bf16  in bf16, whose gradients have 32 bits in both programs
#   scaling      scaling.py: 1, 2 and 4 ranks, strong and weak
#   ranks        ranks.py: one run folded, on 2 and on 17 ranks, beside a busy neighbour
# The parts of several hosts need root; without it they are skipped with a line that says so.  Another
# program is measured in the same rounds.
#
#   BENCH_MINUTES  for all of it (20); common.sh has this and BENCH_PROGRESS_SECONDS
#   ROUNDS   most rounds of every part (3)
#   STEPS    steps of every training run (7; the first 3 warm up)
#   PARTS    a list of parts (all)
set -eu
build=${1:?usage: sh benchmarks/cluster.sh BUILD [ANOTHER PROGRAM]}
another=${2:+--wsc $2}
here=$(dirname "$0")
# shellcheck source=benchmarks/common.sh
. "$here/common.sh"
all='two_hosts two_threads two_threads_bf16 delays three_hosts three_hosts_bf16 scaling ranks'
parts=${PARTS:-$all}
python=/usr/bin/python3

# Parts of what is left that a part may take, in tenths of that of a usual one.
weight_of() { # PART
    case $1 in
    two_threads | delays) echo 20 ;;
    scaling) echo 15 ;;
    *) echo 10 ;;
    esac
}

options_of() { # PART
    case $1 in
    two_hosts) echo --rates 0.5,1,2 ;;
    two_threads) echo --rates 0.5,1,2,5,10 --threads 2 --ddp ;;
    delays) echo --rates 1,10 --delays 0,0.1,0.5,1 --threads 2 --ddp ;;
    two_threads_bf16) echo --rates 0.5,1,2 --threads 2 --ddp --format bf16 ;;
    three_hosts) echo --rates 0.5,1 --wafers 2 --ddp ;;
    three_hosts_bf16) echo --rates 0.5,1 --wafers 2 --ddp --format bf16 ;;
    scaling) echo --ddp ;;
    esac
}

# Seconds of a part: what is left, divided by the weights of the parts to come.
seconds_of() { # PART
    weights=0
    for later in $to_come; do
        weights=$((weights + $(weight_of "$later")))
    done
    echo $(($(left) * $(weight_of "$1") / weights))
}

measure() { # PART
    steps=${STEPS:-7}
    case $1 in
    scaling) program=scaling ;;
    ranks)
        program=ranks
        steps=${STEPS:-20}
        ;;
    *) program=network ;;
    esac
    if [ $program = network ] && [ -n "$no_hosts" ]; then
        echo "$1: skipped: $no_hosts"
        return
    fi
    # shellcheck disable=SC2086,SC2046 # lists of options
    part "$1" $python "$here/$program.py" --wsc "$wsc" $another --dir "$out" \
        --out "$out/$1.json" --rounds "${ROUNDS:-3}" --steps "$steps" \
        --seconds "$(seconds_of "$1")" $(options_of "$1")
}

for part in $parts; do
    case " $all " in
    *" $part "*) ;;
    *)
        echo "cluster.sh: PARTS: $part is none of: $all" >&2
        exit 2
        ;;
    esac
done
need_built "$wsc"
# shellcheck disable=SC2086 # a list
begin_parts "$(echo $parts | wc -w)" 20
# shellcheck disable=SC2086 # a list
drop_results $all
no_hosts=$($python "$here/hosts.py") || no_hosts=${no_hosts:-hosts.py failed}
[ "$(left)" -eq 0 ] || make_data
to_come=$parts
for part in $parts; do
    echo "== $part"
    measure "$part"
    to_come=${to_come#"$part"}
    to_come=${to_come# }
done
# shellcheck disable=SC2086 # a list
write_results cluster.json cluster $all
