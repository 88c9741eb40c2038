#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: tests/tuned_zoo.sh PROGRAM FOLDER [STEPS]
# The params files below FOLDER of encoders, encoder-decoders, adapters and preference optimization,
# such as the Model Zoo's, unchanged: parameters against tests/fixtures/count_parameters.py, plan and
# speed; each T5 without muP in its published sizes as well.  Then a shrunk copy with values for STEPS steps (20),
# on made-up data of the file's own loader.  Losses, norms and weights must be equal to the bit on 1,
# 2 and 3 systems and 1 to all ranks, and virtual time must be that without values.
set -eu
program=${1:?usage: tests/tuned_zoo.sh PROGRAM FOLDER [STEPS]}
zoo=${2:?usage: tests/tuned_zoo.sh PROGRAM FOLDER [STEPS]}
steps=${3:-20}
python=${PYTHON:-/usr/bin/python3}
count=$(dirname "$0")/fixtures/count_parameters.py
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
trap 'exit 130' INT TERM
export OMPI_MCA_rmaps_base_oversubscribe=1 OMP_WAIT_POLICY=passive
failed=0

fail() { echo "  $*"; failed=$((failed + 1)); }
number() { sed -n "s/.*\"$1\": \([0-9]*\).*/\1/p" "$folder/model.json" | head -n 1; }

# ---- data ---------------------------------------------------------------------------------------

# Sentences out of 30 words, one for each number up to $1, at most $2 words each, by an awk program $3
# that finds them in w[1..n] and their number in i.
sentences() {
    awk -v lines="$1" -v most="$2" "BEGIN { srand(1); for (i = 1; i <= lines; i++) {
        n = 3 + int(rand() * (most - 2)); for (k = 1; k <= n; k++) w[k] = \"w\" int(rand() * 30)
        $3 } }"
}
words='{ t = w[1]; for (k = 2; k <= n; k++) t = t " " w[k] }'

make_data() {
    mkdir -p "$folder/data"
    (cd "$folder/data"
     { printf '[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n'; seq 0 29 | sed s/^/w/; } >bert.txt
     { printf '<pad>\n</s>\n<unk>\n<s>\n'; seq 0 29 | sed s/^/w/; } >lines.txt
     mkdir -p csv sst2 sums lines pairs
     { echo tokens,segment_ids,is_random_next
       sentences 200 20 "$words; s = \"0\"; for (k = 1; k <= n + 1; k++) s = s \", \" (k > n / 2)
            printf \"[CLS] %s [SEP],\\\"[%s]\\\",%d\\n\", t, s, i % 2"; } >csv/a.csv
     echo 'a.csv 200' >csv/meta.dat
     { printf 'sentence\tlabel\n'; sentences 200 20 "$words; print t \"\\t\" i % 2"; } >sst2/train.tsv
     cp sst2/train.tsv sst2/dev.tsv
     { echo input_token_ids,labels,segment_ids,cls_indices
       sentences 200 20 'p = 2 + int(n / 2); a = "2"; s = "0"
            for (k = 2; k <= n + 2; k++) { a = a ", " (k == p ? 2 : 5 + (i * k) % 30); s = s ", " (k >= p) }
            printf "\"[%s]\",\"[0, %d]\",\"[%s]\",\"[0, %d]\"\n", a, i % 2, s, p - 1'; } >sums/a.csv
     echo 'a.csv 200' >sums/meta.dat
     sentences 200 20 "$words; print t" >lines/a.txt
     sentences 200 20 "$words; print t" >lines/b.txt
     echo 'a.txt 200' >lines/meta.dat
     cp lines/?.txt pairs
     echo 'a.txt b.txt 200' >pairs/meta.dat)
    sentences 200 8 "$words; printf \"{\\\"prompt\\\": \\\"say %d\\\", \\\"chosen\\\": \\\"%s\\\", \\\"rejected\\\": \\\"no\\\"}\\n\", i, t" \
        >"$folder/pairs.jsonl"
    "$program" data --input "$folder/pairs.jsonl" --out "$folder/data/choices" --chat_template plain \
        --max_seq_length 64 >/dev/null
    cat "$folder/data/lines/a.txt" "$folder/data/lines/b.txt" >"$folder/text"
    "$program" data --input "$folder/text" --out "$folder/data/bytes" --max_seq_length 64 >/dev/null
}

# ---- a shrunk copy ------------------------------------------------------------------------------

small="--set model.hidden_size=48 --set model.num_heads=4 --set model.filter_size=96
    --set model.num_hidden_layers=2 --set train_input.batch_size=12
    --set train_input.micro_batch_size=auto --set runconfig.checkpoint_steps=0
    --set runconfig.eval_frequency=null --set runconfig.log_steps=1 --set trace_hash=true"

# What else a file needs, by its data loader.
shrink() {
    data=$folder/data
    sets=$small
    case $1 in
    Bert*Dynamic*) sets="$sets --set train_input.data_dir=$data/csv" ;;
    SST2*) sets="$sets --set train_input.data_dir=$data/sst2" ;;
    BertSum*) sets="$sets --set train_input.data_dir=$data/sums --set train_input.max_cls_tokens=4" ;;
    T5*) sets="$sets --set train_input.data_dir=$data/lines --set train_input.extra_ids=20" ;;
    Transformer*) sets="$sets --set train_input.data_dir=$data/pairs
        --set train_input.tgt_data_dir=$data/pairs --set train_input.tgt_vocab_file=$data/lines.txt" ;;
    Dpo*) sets="$sets --set train_input.data_dir=$data/choices/train" ;;
    Gpt*) sets="$sets --set train_input.data_dir=$data/bytes/train" ;;
    esac
    case $1 in
    Dpo* | Gpt*) sets="$sets --set model.vocab_size=256 --set model.max_position_embeddings=64
        --set model.rotary_dim=12" ;;
    esac
    [ "$(number num_kv_groups)" = "$(number num_heads)" ] ||
        sets="$sets --set model.extra_attention_params.num_kv_groups=2"
    [ -z "$(number attention_sliding_window_length)" ] ||
        sets="$sets --set model.attention_sliding_window_length=32"
    case $1 in
    Bert* | SST2*) sets="$sets --set train_input.vocab_file=$data/bert.txt --set model.vocab_size=35
        --set model.max_position_embeddings=24 --set train_input.max_sequence_length=24" ;;
    T5* | Transformer*) sets="$sets --set train_input.vocab_file=$data/lines.txt
        --set model.vocab_size=34 --set model.tgt_vocab_size=34 --set model.d_kv=12
        --set train_input.max_sequence_length=24 --set train_input.tgt_max_sequence_length=24" ;;
    esac
    case $1 in
    T5*) sets="$sets --set model.extra_ids=20" ;;
    BertCSV*) sets="$sets --set train_input.max_predictions_per_seq=4
        --set model.max_predictions_per_seq=4" ;;
    esac
}

# train RANKS THREADS SYSTEMS NUMERICS: its metrics in $folder/run
train() {
    rm -rf "$folder/run"
    start=
    [ "$1" -eq 1 ] || start="mpirun --quiet -n $1"
    # shellcheck disable=SC2086 # lists of words
    OMP_NUM_THREADS=$2 $start "$program" run --params "$file" --mode train --num_csx "$3" \
        --num_steps "$steps" --model_dir "$folder/run" $sets --numerics "$4" >"$folder/out" 2>&1 ||
        { tail -n 5 "$folder/out"; return 1; }
}

values_of() { sed 's/"virtual_time_ps.*host_tokens_per_s": [^,]*,//; s/, "breakdown.*//' "$folder/run/metrics.jsonl"; }
times_of() { sed 's/.*\("virtual_time_ps": [0-9]*, "step_time_ps": [0-9]*\).*/\1/' "$folder/run/metrics.jsonl"; }
all_ranks() { "$program" ranks --num_csx "$1" --params "$file" 2>/dev/null | grep -Eo '^[0-9]+' | head -n 1; }

try() { # RANKS THREADS SYSTEMS
    what="$3 systems, $1 ranks, $2 threads"
    train "$1" "$2" "$3" host || { fail "$what: failed"; return; }
    values_of >"$folder/values"
    times_of >"$folder/times"
    [ -f "$folder/first" ] || cp "$folder/values" "$folder/first"
    cmp -s "$folder/values" "$folder/first" || fail "$what: other values"
    if [ ! -f "$folder/times.$3" ]; then
        train 1 1 "$3" none || { fail "$what: failed without values"; return; }
        times_of >"$folder/times.$3"
    fi
    cmp -s "$folder/times" "$folder/times.$3" || fail "$what: other virtual time than without values"
}

train_everywhere() {
    rm -f "$folder/first" "$folder"/times.*
    shrink "$1"
    try 1 1 1
    try 1 2 2
    for systems in 1 2 3; do
        most=$(all_ranks "$systems")
        try 2 1 "$systems"
        [ "$most" -lt 6 ] || try $((most / 2)) 1 "$systems"
        try "$most" 1 "$systems"
    done
    [ -f "$folder/first" ] || return 0 # every run has failed, and was counted
    [ "$(wc -l <"$folder/first")" -eq "$steps" ] || fail "not $steps steps"
    awk -F'[:,]' 'NR == 1 { first = $4 } END { printf "  loss %.4f to %.4f in %d steps\n", first, $4, NR }' \
        "$folder/first"
}

# ---- files --------------------------------------------------------------------------------------

describe() {
    "$program" run --params "$1" --validate_only --json >"$folder/model.json" 2>/dev/null ||
        { fail "--validate_only fails"; return; }
    expected=$(number params)
    case $loader in
    Gpt*) echo "  adapters are not counted by definition" ;;
    *)
        if "$python" -c 'import numpy' 2>/dev/null; then
            expected=$("$python" "$count" "$1" | cut -d ' ' -f 1)
        else
            echo "  no numpy for $python: parameters are not counted by definition"
        fi
        ;;
    esac
    [ "$(number params)" = "$expected" ] || fail "$(number params) parameters, $expected by definition"
    speed=$("$program" run --params "$1" --compile_only 2>/dev/null |
        awk '{ last = $2 " " $3 " a step, " $4 " samples/s" } END { print last }')
    echo "  $expected parameters; $speed"
}

# Raffel et al. 2020, appendix: d_model, d_kv, d_ff, heads, layers of each stack.
t5_sizes() {
    while read -r name width kv filter heads layers; do
        echo "$name, from $(basename "$1")"
        sed "s/^\( *d_model *:\).*/\1 $width/; s/^\( *d_kv *:\).*/\1 $kv/; s/^\( *d_ff *:\).*/\1 $filter/
             s/^\( *num_heads *:\).*/\1 $heads/; s/^\( *[a-z]*coder_num_hidden_layers *:\).*/\1 $layers/" \
            "$1" >"$folder/$name.yaml"
        describe "$folder/$name.yaml"
    done <<END
t5_small 512 64 2048 8 6
t5_base 768 64 3072 12 12
t5_large 1024 64 4096 16 24
t5_3B 1024 128 16384 32 24
t5_11B 1024 128 65536 128 24
END
}

make_data
n=0
for file in $(find "$zoo" -name '*.yaml' | sort); do
    loader=$(sed -n 's/^.*data_processor *: *"\{0,1\}\([A-Za-z0-9]*\).*/\1/p' "$file" | head -n 1)
    case $loader in
    Bert* | SST2* | MNLI* | T5* | Transformer* | Dpo*) ;;
    *) grep -Eq '^ *-? *(lora_params|Lora) *:' "$file" || continue ;;
    esac
    n=$((n + 1))
    echo "$file"
    describe "$file"
    train_everywhere "$loader"
    case $loader in T5*) grep -q mup_base "$file" || t5_sizes "$file" ;; esac
done
echo "files: $n, failures: $failed"
[ "$n" -gt 0 ] && [ "$failed" -eq 0 ]
