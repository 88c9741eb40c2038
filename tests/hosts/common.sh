# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh disable=SC2317,SC2119,SC2120 # functions are called by name
# What the tests of schedulers and several hosts share; they source it from the top of the tree.
# A case is a function; it has passed when it returned 0.  Every process that belongs to a test
# carries WSC_HOSTS_TEST=<folder> in its environment, by which the end finds what is still there.

suite=$(basename "$0" .sh)
passed=0
failed=0
wsc=${WSC:-$PWD/build/wsc} # a full path
steps=60

skip() { # REASON
    echo "skipped: $suite: $1"
    exit 0
}

need_programs() { # PROGRAM...
    for program in "$@"; do
        command -v "$program" >/dev/null || skip "no $program: sh mpi_launch/deps.sh hosts"
    done
}

# A folder of its own for the suite, below a path that other users may enter.
begin() {
    [ -x "$wsc" ] || skip "no program $wsc: run make first"
    dir=$(mktemp -d "${TMPDIR:-/tmp}/wsc-hosts.XXXXXX") || exit 1
    chmod 755 "$dir"
    export WSC_HOSTS_TEST="$dir" WSC="$wsc"
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    export OMPI_MCA_rmaps_base_oversubscribe=1 OMP_WAIT_POLICY=passive
    trap end EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM HUP
}

# Processes with the mark, but for this script and what it waits for itself.
marked() { # [ANOTHER_VARIABLE=VALUE]
    for process in /proc/[0-9]*; do
        pid=${process#/proc/}
        [ "$pid" != $$ ] || continue
        grep -qzsx "WSC_HOSTS_TEST=$dir" "$process/environ" || continue
        [ -z "${1:-}" ] || grep -qzsx "$1" "$process/environ" || continue
        echo "$pid"
    done
}

end() {
    status=$?
    trap '' INT TERM HUP
    trap - EXIT
    take_down
    for pid in $(marked); do
        kill -KILL "$pid" 2>/dev/null
    done
    rm -rf "$dir"
    [ "$status" -eq 0 ] || [ "$failed" -gt 0 ] || failed=1
    [ $((passed + failed)) -eq 0 ] || echo "$suite: $passed passed, $failed failed"
    [ "$failed" -eq 0 ] || status=1
    exit "$status"
}

check() { # CASE
    began=$(date +%s)
    if "$1" >"$dir/case.log" 2>&1; then
        passed=$((passed + 1))
        verdict=ok
    else
        failed=$((failed + 1))
        verdict=FAILED
        tail -n 60 "$dir/case.log"
    fi
    printf '  %-52s %s (%d s)\n' "$(echo "$1" | tr _ ' ')" "$verdict" $(($(date +%s) - began))
}

# Run the cases of the suite that the command line names, without names all.
check_chosen() { # NAME... -- CASE...
    chosen=
    while [ "$1" != -- ]; do
        chosen="$chosen $1"
        shift
    done
    shift
    for name in $chosen; do
        case " $* " in *" $name "*) continue ;; esac
        echo "$suite: no case '$name'; hint: $*" >&2
        exit 2
    done
    for name; do
        case " ${chosen:-$name} " in *" $name "*) check "$name" ;; esac
    done
}

wait_until() { # SECONDS COMMAND...
    until=$(($(date +%s) + $1))
    shift
    while ! "$@"; do
        [ "$(date +%s)" -lt "$until" ] || {
            echo "waited in vain: $*"
            return 1
        }
        sleep 0.2
    done
}

make_data() {
    awk 'BEGIN {
        split("the cat sat on a red mat. dog", word, " ")
        for (i = 0; i < 12000; i++)
            printf "%s%s", word[(i * i * 7 + i * 3 + int(i / 5)) % 8 + 1], i % 11 == 10 ? "\n" : " "
    }' >"$dir/text.txt"
    "$wsc" data --input "$dir/text.txt" --out "$dir/data" --max_seq_length 64 --split 0.1 >/dev/null
}

# Options of a small run: five roles (2 shards, 1 SwarmX node, 2 wafers), a checkpoint every 5
# steps, hashes of the weights in metrics.jsonl.
small_run() { # MODEL_DIR
    echo --params configs/params/tiny.yaml --num_csx 2 --set cluster.memoryx.shards=2 \
        --set trace_hash=true --set "train_input.data_dir=$dir/data/train" \
        --set "eval_input.data_dir=$dir/data/val" --set runconfig.checkpoint_steps=5 \
        --set runconfig.max_checkpoints=3 --max_steps "$steps" --model_dir "$1"
}

# What must be equal to the bit: every number of metrics.jsonl that is not of the host.
values_and_times() { # MODEL_DIR
    sed 's/"host_[a-z_]*": [^,]*, //g' "$1/metrics.jsonl"
}

# The undisturbed run, in one process.
make_reference() {
    # shellcheck disable=SC2046 # a list of options
    "$wsc" run $(small_run "$dir/reference") >/dev/null
}

same_as_reference() { # MODEL_DIR
    values_and_times "$dir/reference" >"$dir/reference.values"
    [ "$(wc -l <"$dir/reference.values")" -eq "$steps" ] || return 1
    values_and_times "$1" | cmp - "$dir/reference.values"
}

# Has the run reached a step of its own after step $2?
has_passed_step() { # MODEL_DIR STEP
    [ -r "$1/metrics.jsonl" ] && [ "$(wc -l <"$1/metrics.jsonl")" -gt "$2" ]
}
