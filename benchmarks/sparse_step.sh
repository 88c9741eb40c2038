#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Training steps with sparse weights against dense ones:  sh benchmarks/sparse_step.sh BUILD DATA [FILE]
#
# The training benchmark's model widened to 1024, dense and at 50, 75 and 90 % zeros, on one thread.
# Verified first: two systems give the weights of one, and those of one thread on two; otherwise
# nothing is measured.  Then the cases take turns for ROUNDS rounds (3) of three steps after one to
# warm up; prints the median time of a step and how many times as fast as the dense step of the same
# round, the median over the rounds so far, and the bytes of weights and gradients against dense
# ones.  FILE: results as JSON.  About 110 s a round on an idle processor.
set -eu
build=${1:?usage: sh benchmarks/sparse_step.sh BUILD DATA [FILE]}
data=${2:?usage: sh benchmarks/sparse_step.sh BUILD DATA [FILE]}
json=${3:-/dev/null}
here=$(dirname "$0")
dir=$build/benchmarks/sparse_step
export OMP_NUM_THREADS=1
mkdir -p "$dir"

run() { # NAME SPARSITY SYSTEMS STEPS WIDTH
    rm -rf "${dir:?}/$1"
    "$build/bin/wsc" run --params "$here/train_384.yaml" --model_dir "$dir/$1" --num_csx "$3" \
        --num_steps "$4" --set "train_input.data_dir=$data" --set "model.hidden_size=$5" \
        --set "model.num_heads=$(($5 / 64))" --set "model.filter_size=$(($5 * 4))" \
        --set "sparsity=$2" --set reduction_leaf=4 --set trace_hash=true \
        >"$dir/$1.txt" 2>"$dir/$1.err" || {
        cat "$dir/$1.err" >&2
        return 1
    }
}

# The median time of three steps of 8 x 256 tokens, after one to warm up, from their own rates.
step_seconds() { # SPARSITY
    run step "$1" 1 4 1024
    sed -n '2,4s/.*"host_tokens_per_s": *\([0-9.e+]*\).*/\1/p' "$dir/step/metrics.jsonl" | sort -g |
        awk 'NR == 2 { printf "%.3f\n", 8 * 256 / $1 }'
}

# Adds a number to the file of a case; prints the median of all in it.
median_with() { # CASE NUMBER
    echo "$2" >>"$dir/ratios_$1"
    sort -n "$dir/ratios_$1" | awk '{ x[NR] = $1 }
        END { printf "%.2f\n", (x[int((NR + 1) / 2)] + x[int(NR / 2) + 1]) / 2 }'
}

hash_of() { sed -n 's/.*"weights_hash": *"\([^"]*\)".*/\1/p' "$dir/$1/metrics.jsonl" | tail -n 1; }

payload() { # the numbers of all links: weights, dense, gradients, dense
    sed -n '/"payload"/,/"between_ranks"/s/.*_bytes": *\([0-9]*\).*/\1/p' "$dir/step/performance.json" |
        head -n 4 | tr '\n' ' '
}

run one 0.9 1 2 192
run two 0.9 2 2 192
(export OMP_NUM_THREADS=2 && run threads 0.9 1 2 192)
for other in two threads; do
    [ -n "$(hash_of one)" ] && [ "$(hash_of one)" = "$(hash_of $other)" ] && continue
    echo "sparse steps: $other: not the weights of one system on one thread" >&2
    printf '{"steps": [], "valid": false}\n' >"$json"
    exit 1
done
echo "verified: the weights of one system, of two, and on two threads are equal"
rm -f "$dir"/ratios_* "$dir/rows"
for round in $(seq "${ROUNDS:-3}"); do
    dense=$(step_seconds null)
    echo "round $round: dense step $dense s"
    for sparsity in 0.5 0.75 0.9; do
        sparse=$(step_seconds "$sparsity")
        bytes=$(payload)
        ratio=$(echo "$dense $sparse" | awk '{ printf "%.3f", $1 / $2 }')
        median=$(median_with "$sparsity" "$ratio")
        part=$(echo "$bytes" | awk '{ printf "%.3f", ($1 + $3) / ($2 + $4) }')
        echo "  $sparsity zeros: $sparse s, $ratio times, median $median; bytes of links $part of dense"
        printf ' {"round": %s, "sparsity": %s, "dense_s": %s, "sparse_s": %s, "ratio": %s, "median_ratio": %s, "bytes": %s},\n' \
            "$round" "$sparsity" "$dense" "$sparse" "$ratio" "$median" "$part" >>"$dir/rows"
        { # whole after each row, since the run can be cut short
            echo '{"steps": ['
            cat "$dir/rows"
            echo ' null], "valid": true}'
        } >"$json"
    done
done
