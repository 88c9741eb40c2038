#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The main job, `make run`: data from a text, training on four emulated CS-2s with one MPI rank for
# each role, a generated sample, and the sweep of throughput over 1 to 64 systems.
# usage: mpi_launch/main_job.sh [TEXT]      a text file of your own, plain or .gz
set -u

jargon=/usr/share/doc/jargon-text/jargon.txt.gz
text=${1:-$jargon}
case $text in /*) ;; *) text=$PWD/$text ;; esac
cd "$(dirname "$0")/.." || exit 1
. mpi_launch/common.sh

params=configs/params/small.yaml
num_csx=4
models='256m 590m 1p3b 2p7b 6p7b 13b 20b'
out=out
wsc=$(find_wsc .) || exit 1
began=$(date +%s)
terminal=
[ -t 1 ] && terminal=yes

die() {
    printf 'main job: %s\n' "$*" >&2
    exit 1
}

head_line() {
    printf '\n== %s\n' "$*"
}

elapsed() {
    echo $(($(date +%s) - began))
}

# Log lines of the run, as one line that is drawn again; elsewhere a line from time to time.
show_training() { # LAST_STEP
    while IFS= read -r line; do
        case $line in
        *'| Train Device='*)
            step=${line##*Step=}
            step=${step%%,*}
            loss=${line##*Loss=}
            loss=${loss%%,*}
            show_step "$step" "$1" "$loss"
            ;;
        *parameters,* | *'Saved checkpoint'* | *'Avg Eval Loss'*)
            [ -z "$terminal" ] || printf '\r\033[K'
            printf '  %s\n' "${line#*INFO:   }"
            ;;
        esac
    done
}

show_step() { # STEP LAST_STEP LOSS
    took=$(($(date +%s) - train_began))
    left=$((took * ($2 - $1) / $1))
    note="step $1 of $2  loss $3  ${took} s, about $left s left"
    if [ -n "$terminal" ]; then
        printf '\r  %s\033[K' "$note"
    elif [ $(($1 % 50)) -eq 0 ]; then
        printf '  %s\n' "$note"
    fi
}

make_data() {
    head_line "data: $text"
    [ -r "$text" ] || die "$text: cannot be read; make deps installs the Jargon File, or name a" \
        "text of your own: make run TEXT=file"
    "$wsc" data --input "$text" --out "$out/data" --max_seq_length 256 ||
        die "no dataset from $text"
}

train() {
    ranks=$(count_ranks "$wsc" --params "$params" --num_csx "$num_csx") || die "$params"
    last_step=$(sed -n 's/^ *max_steps: *\([0-9]*\).*/\1/p' "$params")
    head_line "training: $num_csx emulated CS-2 systems, $ranks roles on $ranks MPI ranks"
    rm -rf "$out/run"
    mkdir -p "$out/run"
    train_began=$(date +%s)
    {
        mpi_launch/local.sh --params "$params" --num_csx "$num_csx" --mode train_and_eval \
            --model_dir "$out/run" </dev/null
        echo $? >"$out/run/exit_status"
    } | show_training "$last_step"
    status=$(cat "$out/run/exit_status")
    [ "$status" -eq 0 ] || die "training ended with status $status; see $out/run/run.log"
    rm "$out/run/exit_status"
}

# A model that only knows how often each byte occurs reaches the unigram entropy.
judge() {
    entropy=$(last_value unigram_entropy_nats "$out/data/train/data_params.json")
    loss=$(sed -n 's/.*"loss": *\([-+0-9.eE]*\).*/\1/p' "$out/run/metrics.jsonl" | tail -n 10 |
        awk '{ sum += $1 } END { print sum / NR }')
    eval_loss=$(last_value eval_loss "$out/run/metrics.jsonl")
    rate=$(last_value tokens_per_s "$out/run/performance.json")
    host_rate=$(last_value host_tokens_per_s "$out/run/performance.json")
    printf '\n  nats per byte:     unigram entropy %.3f   ' "$entropy"
    printf 'final loss: training %.3f (10 logged steps), held out %.3f\n' "$loss" "$eval_loss"
    printf '  tokens per second: emulated machine %.0f   this host %.0f\n' "$rate" "$host_rate"
    awk -v e="$entropy" -v l="$eval_loss" 'BEGIN { exit !(l < e - 0.5) }' ||
        die "the held-out loss $eval_loss is not well below the unigram entropy $entropy: nothing" \
            "was learned"
}

generate() {
    head_line 'a sample: the model continues "A hacker is"'
    mkdir -p "$out/sample"
    mpi_launch/local.sh -n 1 --params "$params" --mode generate --model_dir "$out/sample" \
        --checkpoint_path "$out/run/checkpoint_$last_step.mdl" \
        --prompt 'A hacker is' --max_new_tokens 160 </dev/null >"$out/sample/sample.log" ||
        die "no sample; see $out/sample/sample.log"
    grep -v ' INFO:   ' "$out/sample/sample.log" | sed 's/^/  | /'
}

sweep() {
    head_line 'sweep: throughput of published models on 1 to 64 systems, in virtual time'
    list=
    for model in $models; do
        list="$list,configs/params/gpt3_$model.yaml"
    done
    "$wsc" scale --params "${list#,}" --num_csx 1,2,4,8,16,32,64 --out "$out/scale" \
        >"$out/scale.txt" || die 'the sweep failed'
    cat "$out/scale.txt"
    rm "$out/scale.txt"
}

look() {
    head_line '13B: scaling-loss breakdown, sensitivity, step breakdown'
    "$wsc" scale --params configs/params/gpt3_13b.yaml --num_csx 1,4,16,64 --out "$out/look" \
        --effects --sensitivity --tokens 20xparams --breakdown \
        --trace "$out/look/chrome_trace.json" >"$out/look.txt" || die 'the closer look failed'
    cat "$out/look.txt"
    rm "$out/look.txt"
}

summary() {
    head_line "done in $(elapsed) s"
    cat <<EOF
  $out/data                the dataset: train/ and val/, Model Zoo HDF5
  $out/run/run.log         the log; metrics.jsonl: every logged step; performance.json: the totals
  $out/run/checkpoint_*.mdl    the trained model, HDF5
  $out/sample/sample.log       the text that it generated
  $out/scale/report.html   plot and tables of the sweep; scaling.csv, scaling.svg, scaling.png
  $out/look/report.html    13B: effects, tornado plot, band, critical path, op profile; chrome_trace.json
What to try next:
  build/wsc run --params $params --mode generate --model_dir $out/sample --checkpoint_path $out/run/checkpoint_$last_step.mdl --prompt 'The Internet '
  build/wsc inspect $out/run/checkpoint_$last_step.mdl
  build/wsc scale --params configs/params/gpt3_13b.yaml --out out/slow --set cluster.swarmx.link_latency=1ms
  make run TEXT=your.txt
docs/RUNNING.md has the next steps.
EOF
}

mkdir -p "$out"
make_data
train
judge
generate
sweep
look
summary
