#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# All benchmarks, one table, BUILD/benchmarks/results.json, and that beside the last committed file
# of benchmarks/results:  sh benchmarks/run.sh BUILD
#
#   BENCH_MINUTES  for all of it (5): each row is printed when it is known, a part that is not over
#            by then is ended, and what does not fit is skipped, each with a line that says so
#   ROUNDS   most rounds of every training case (5)
#   STEPS    steps of every training run (10; the first 3 warm up)
#   WAIT     most seconds to wait for an idle machine before a training run (30)
#   MESH_ROUNDS  rounds of every mesh case (3)
#   BENCH_PROGRESS_SECONDS  between lines of progress (1 on a terminal, where they replace each
#            other, else 30)
#   CASES    one training case, as train.py names it (all)
set -eu
build=${1:?usage: sh benchmarks/run.sh BUILD}
here=$(dirname "$0")
out=$build/benchmarks
wsc=$build/bin/wsc
threads=$(nproc)
valid=true
began=$(date +%s)
budget=$((${BENCH_MINUTES:-5} * 60))

left() {
    seconds=$((budget - $(date +%s) + began))
    if [ "$seconds" -gt 0 ]; then echo "$seconds"; else echo 0; fi
}

clock() { printf '%d:%02d' $(($1 / 60)) $(($1 % 60)); }

# What runs, for how long, and how long at most: in place on a terminal, else a line each half minute.
show_progress() { # NAME
    started=$(date +%s)
    trap 'kill "$!" 2>/dev/null; exit 0' TERM
    while sleep "${BENCH_PROGRESS_SECONDS:-$([ -t 2 ] && echo 1 || echo 30)}" & wait "$!"; do
        text="$1: part $n_parts of $all_parts, $(clock $(($(date +%s) - started))) so far, at most $(clock "$(left)") left for all parts"
        if [ -t 2 ]; then printf '%s\033[K\r' "$text" >&2; else echo "$text" >&2; fi
    done
}

# Rows are printed when they are known, also into a file.
n_parts=0
all_parts=6
by_line=
if command -v stdbuf >/dev/null; then by_line='stdbuf -oL'; fi

# The JSON file of a program that was ended before it had written it whole: its last argument.
drop_cut_off() { # COMMAND...
    for last; do :; done
    case $last in
    *.json) rm -f "$last" ;;
    esac
}

# A part of the benchmarks, for as long as there is time.
part() { # NAME COMMAND...
    name=$1
    n_parts=$((n_parts + 1))
    shift
    seconds=$(left)
    status=124
    if [ "$seconds" -gt 0 ]; then
        show_progress "$name" &
        shown_by=$!
        status=0
        # shellcheck disable=SC2086 # a command and its option
        timeout "$seconds" $by_line "$@" || status=$?
        kill "$shown_by" 2>/dev/null
        wait "$shown_by" 2>/dev/null || true
        [ ! -t 2 ] || printf '\033[K' >&2
    fi
    case $status in
    0) ;;
    124)
        echo "$name: skipped what does not fit BENCH_MINUTES=${BENCH_MINUTES:-5}"
        drop_cut_off "$@"
        ;;
    *) valid=false ;;
    esac
}

first_line() { sed -n "s/^$1[^:]*: *//p;T;q" "$2"; }
version_of() { dpkg-query -W -f '${Version}' "$1" 2>/dev/null || echo unknown; }
text() { printf '"%s"' "$(printf '%s' "$1" | tr -d '"\\\n')"; }

provenance() {
    printf '"date": %s,\n' "$(text "$(date '+%Y-%m-%d %H:%M:%S %z')")"
    printf '"program": %s,\n' "$(text "$("$wsc" --version | head -n 1)")"
    printf '"cpu": %s,\n' "$(text "$(first_line 'model name' /proc/cpuinfo)")"
    printf '"cpu_family_model": "%s/%s",\n' "$(first_line 'cpu family' /proc/cpuinfo)" \
        "$(first_line 'model	' /proc/cpuinfo)"
    printf '"vector_units": %s,\n' "$(text "$(first_line flags /proc/cpuinfo | tr ' ' '\n' |
        grep -E '^(avx2|fma|avx512f|avx512_bf16|avx512_vnni|amx_bf16|amx_tile)$' | tr '\n' ' ')")"
    printf '"processors": %s,\n"memory_kib": %s,\n' "$threads" \
        "$(sed -n 's/^MemTotal: *\([0-9]*\).*/\1/p' /proc/meminfo)"
    printf '"load_before": %s,\n' "$(text "$load_before")"
    printf '"load_after": %s,\n' "$(text "$(cut -d ' ' -f 1-3 /proc/loadavg)")"
    printf '"versions": {"compiler": %s, "onednn": %s, "openmpi": %s, "pytorch": %s, ' \
        "$(text "$(cc --version | head -n 1)")" "$(text "$("$wsc" --version | tail -n 1)")" \
        "$(text "$(version_of libopenmpi3)")" "$(text "$(version_of python3-torch)")"
    printf '"blas": %s},\n' "$(text "$(sed -n 's/^ *"blas": "\(.*\)".*/\1/p' "$out/train.json" 2>/dev/null)")"
}

make_data() {
    [ -d "$out/data/train" ] && return
    cat "$here"/../src/*/*.c > "$out/text.txt"
    "$wsc" data --input "$out/text.txt" --out "$out/data" --max_seq_length 256
}

has_torch() { /usr/bin/python3 -c 'import torch, h5py' 2>/dev/null; }

rm -f "$out/sgemm.json" "$out/simulate.json" "$out/mesh.json" "$out/train.json" "$out/sparse.json" \
    "$out/sparse_step.json"
load_before=$(cut -d ' ' -f 1-3 /proc/loadavg)
echo "== products"
part products "$out/sgemm_peak" "$threads" "$out/sgemm.json"
echo "== training: GPT of 6 layers, width 384, batch 8 x 256 tokens"
if has_torch; then
    [ "$(left)" -eq 0 ] || make_data
    # Six tenths of what is left: the other parts take turns for as long as they may.
    part training /usr/bin/python3 "$here/train.py" --wsc "$wsc" --dir "$out" --peak "$out/sgemm.json" \
        --seconds "$(($(left) * 6 / 10))" --rounds "${ROUNDS:-5}" --steps "${STEPS:-10}" \
        --wait "${WAIT:-30}" ${CASES:+--case "$CASES"}
else
    echo "python3-torch and python3-h5py are not installed: nothing to compare with"
fi
echo "== simulation"
part simulation "$out/simulate" "$here/../configs/params" "$out/simulate.json"
echo "== sparse products"
part "sparse products" "$out/sparse_products" "$out/sparse.json"
echo "== mesh"
part mesh "$out/mesh_speed" "${MESH_ROUNDS:-3}" "$out/mesh.json"
echo "== sparse training steps: GPT of 6 layers, width 1024, batch 8 x 256 tokens"
[ "$(left)" -eq 0 ] || make_data
part "sparse steps" sh "$here/sparse_step.sh" "$build" "$out/data/train" "$out/sparse_step.json"
{
    echo '{'
    provenance
    for part in sgemm simulate mesh train sparse sparse_step; do
        printf '"%s": ' "$part"
        cat "$out/$part.json" 2>/dev/null || echo null
        echo ','
    done
    printf '"valid": %s\n}\n' "$valid"
} > "$out/results.json"
echo "wrote $out/results.json, valid: $valid"
if [ -r "$here/compare.py" ] && command -v python3 >/dev/null; then
    echo "== beside the last committed results"
    python3 "$here/compare.py" "$out/results.json" "$here/results"
fi
[ "$valid" = true ]
