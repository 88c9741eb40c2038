#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: tests/sparse_zoo.sh PROGRAM FOLDER [STEPS]
# The params files below FOLDER whose weights are sparse, such as the Model Zoo's, unchanged: what
# --validate_only lists, then a shrunk copy with values for STEPS steps (200), a new mask every 20
# where the algorithm has updates.  Losses, norms and weights must be equal to the bit on 1, 2, 3
# and 8 systems, 1 and 3 shards, 1, 2 and all ranks, 1 and 2 threads, and virtual time must be that
# without values.  Another sparse section is tried with --set, as a user would.
set -eu
program=${1:?usage: tests/sparse_zoo.sh PROGRAM FOLDER [STEPS]}
zoo=${2:?usage: tests/sparse_zoo.sh PROGRAM FOLDER [STEPS]}
steps=${3:-200}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
trap 'exit 130' INT TERM
export OMPI_MCA_rmaps_base_oversubscribe=1 OMP_WAIT_POLICY=passive
failed=0

awk 'BEGIN { srand(1); split("the cat sat on a red mat and then it ran to the old barn by the sea", w);
     for (i = 0; i < 40000; i++) printf "%s ", w[1 + int(rand() * 18)] }' >"$folder/text"
"$program" data --input "$folder/text" --out "$folder/data" --max_seq_length 64 --split 0.1 >/dev/null

number() { sed -n "s/.*\"$1\": \([0-9]*\).*/\1/p" "$folder/model.json" | head -n 1; }

# A twelfth of the width, in heads that keep an odd width odd; everything else small.
shrink() {
    width=$(($(number hidden_size) / 12))
    heads=4
    [ $((width % 8)) -eq 0 ] || { [ $((width % 7)) -eq 0 ] && heads=7; } || width=64
    [ "$width" -le 128 ] || width=64
    sets="--set model.hidden_size=$width --set model.num_heads=$heads --set model.vocab_size=257
        --set model.filter_size=$((4 * width)) --set model.num_hidden_layers=2
        --set model.max_position_embeddings=64 --set train_input.data_dir=$folder/data/train
        --set train_input.batch_size=24 --set train_input.micro_batch_size=auto
        --set runconfig.checkpoint_steps=0 --set runconfig.eval_frequency=null
        --set runconfig.log_steps=1 --set trace_hash=true"
    # The section has updates where its algorithm is not static.
    ! grep -Eq '(set|rigl|gmp)  *[0-9]' "$folder/listed" ||
        sets="$sets --set sparsity.update.freq=20 --set sparsity.drop_fraction.half_period=$steps"
}

# train NAME RANKS THREADS SYSTEMS SHARDS NUMERICS: its metrics in $folder/NAME
train() {
    set -- "$@" "$file"
    rm -rf "${folder:?}/$1"
    start=
    [ "$2" -eq 1 ] || start="mpirun --quiet -n $2"
    # shellcheck disable=SC2086 # lists of words
    OMP_NUM_THREADS=$3 $start "$program" run --params "$7" --mode train --num_csx "$4" \
        --num_steps "$steps" --model_dir "$folder/$1" $sets --set "cluster.memoryx.shards=$5" \
        --numerics "$6" >"$folder/out" 2>&1 || { tail -n 5 "$folder/out"; return 1; }
}

values_of() { sed 's/"virtual_time_ps.*host_tokens_per_s": [^,]*,//; s/, "breakdown.*//' "$1/metrics.jsonl"; }
times_of() { sed 's/.*\("virtual_time_ps": [0-9]*, "step_time_ps": [0-9]*\).*/\1/' "$1/metrics.jsonl"; }

# Values of the run before are those of the first one; its virtual time is that without values.
compare() { # SYSTEMS SHARDS WHAT
    values_of "$folder/run" >"$folder/values"
    times_of "$folder/run" >"$folder/times"
    if ! cmp -s "$folder/values" "$folder/first"; then
        echo "  $3: other values: $(diff "$folder/first" "$folder/values" | sed -n 2,3p)"
        failed=$((failed + 1))
    fi
    if [ ! -f "$folder/times.$1.$2" ]; then
        train none 1 1 "$1" "$2" none || { failed=$((failed + 1)); return; }
        times_of "$folder/none" >"$folder/times.$1.$2"
    fi
    if ! cmp -s "$folder/times" "$folder/times.$1.$2"; then
        echo "  $3: other virtual time than without values"
        failed=$((failed + 1))
    fi
}

try() { # RANKS THREADS SYSTEMS SHARDS
    what="$3 systems, $4 shards, $1 ranks, $2 threads"
    train run "$1" "$2" "$3" "$4" host || { echo "  $what: failed"; failed=$((failed + 1)); return; }
    [ -f "$folder/first" ] || values_of "$folder/run" >"$folder/first"
    compare "$3" "$4" "$what"
}

all_ranks() { "$program" ranks --num_csx "$1" --params "$file" --set "cluster.memoryx.shards=$2" 2>/dev/null |
    grep -Eo '^[0-9]+' | head -n 1; }

try_file() {
    rm -f "$folder/first" "$folder"/times.*
    "$program" run --params "$file" --validate_only --json >"$folder/model.json" 2>/dev/null
    shrink
    try 1 1 1 1
    try 1 2 2 3
    try 2 1 3 1
    try 1 1 8 3
    try "$(all_ranks 2 3)" 1 2 3
    [ "$(wc -l <"$folder/first")" -eq "$steps" ] || { echo "  not $steps steps"; failed=$((failed + 1)); }
    # shellcheck disable=SC2016
    awk -F'[:,]' 'NR == 1 { first = $4 } END { printf "  loss %.4f to %.4f in %d steps\n", first, $4, NR }' \
        "$folder/first"
}

n=0
for file in $(find "$zoo" -name '*.yaml' | sort); do
    "$program" run --params "$file" --validate_only 2>/dev/null | sed -n '/sparse tensors/,$p' |
        sed '/^#/d' >"$folder/listed"
    [ -s "$folder/listed" ] || continue
    n=$((n + 1))
    echo "$file"
    cat "$folder/listed"
    try_file
done
echo "sparse files: $n, failures: $failed"
[ "$n" -gt 0 ] && [ "$failed" -eq 0 ]
