# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# What run.sh and cluster.sh share: parts within a budget of time, the dataset, and one file of
# results with its provenance, beside the last committed one.  They set build, and here, the folder
# of this file, before they source it.
#
#   BENCH_MINUTES  for all of it: each row is printed when it is known, a part that is not over by
#            then is ended, and what does not fit is skipped, each with a line that says so
#   BENCH_PROGRESS_SECONDS  between lines of progress (1 on a terminal, where they replace each
#            other, else 30)
: "${build:?}" "${here:?}"
out=$build/benchmarks
wsc=$build/bin/wsc
valid=true
n_parts=0
export PYTHONDONTWRITEBYTECODE=1
by_line=
if command -v stdbuf >/dev/null; then by_line='stdbuf -oL'; fi

# Ends the run unless all programs are built.
need_built() { # PROGRAM...
    for program; do
        [ -x "$program" ] && continue
        echo "$program: not built; hint: make $(basename "$program" | sed 's/^wsc$/all/;t;s/.*/benches/')" >&2
        exit 1
    done
}

begin_parts() { # NUMBER MINUTES
    all_parts=$1
    BENCH_MINUTES=${BENCH_MINUTES:-$2}
    began=$(date +%s)
    budget=$((BENCH_MINUTES * 60))
    load_before=$(cut -d ' ' -f 1-3 /proc/loadavg)
}

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
        echo "$name: skipped what does not fit BENCH_MINUTES=$BENCH_MINUTES"
        drop_cut_off "$@"
        ;;
    *) valid=false ;;
    esac
}

make_data() {
    [ -d "$out/data/train" ] && return
    mkdir -p "$out"
    cat "$here"/../src/*/*.c > "$out/text.txt"
    "$wsc" data --input "$out/text.txt" --out "$out/data" --max_seq_length 256
}

first_line() { sed -n "s/^$1[^:]*: *//p;T;q" "$2"; }
version_of() { dpkg-query -W -f '${Version}' "$1" 2>/dev/null || echo unknown; }
text() { printf '"%s"' "$(printf '%s' "$1" | tr -d '"\\\n')"; }

provenance() { # PART...
    printf '"date": %s,\n' "$(text "$(date '+%Y-%m-%d %H:%M:%S %z')")"
    printf '"program": %s,\n' "$(text "$("$wsc" --version | head -n 1)")"
    printf '"cpu": %s,\n' "$(text "$(first_line 'model name' /proc/cpuinfo)")"
    printf '"cpu_family_model": "%s/%s",\n' "$(first_line 'cpu family' /proc/cpuinfo)" \
        "$(first_line 'model	' /proc/cpuinfo)"
    printf '"vector_units": %s,\n' "$(text "$(first_line flags /proc/cpuinfo | tr ' ' '\n' |
        grep -E '^(avx2|fma|avx512f|avx512_bf16|avx512_vnni|amx_bf16|amx_tile)$' | tr '\n' ' ')")"
    printf '"kernel": %s,\n' "$(text "$(uname -r)")"
    printf '"processors": %s,\n"memory_kib": %s,\n' "$(nproc)" \
        "$(sed -n 's/^MemTotal: *\([0-9]*\).*/\1/p' /proc/meminfo)"
    printf '"load_before": %s,\n' "$(text "$load_before")"
    printf '"load_after": %s,\n' "$(text "$(cut -d ' ' -f 1-3 /proc/loadavg)")"
    printf '"versions": {"compiler": %s, "onednn": %s, "openmpi": %s, "pytorch": %s, ' \
        "$(text "$(cc --version | head -n 1)")" "$(text "$("$wsc" --version | tail -n 1)")" \
        "$(text "$(version_of libopenmpi3)")" "$(text "$(version_of python3-torch)")"
    printf '"blas": %s},\n' "$(text "$(for p; do
        sed -n 's/^ *"blas": "\(.*\)".*/\1/p' "$out/$p.json" 2>/dev/null
    done | head -n 1)")"
}

# OUT/FILE: provenance, the JSON of each part (null where there is none), whether all is valid.
write_results() { # FILE KIND PART...
    file=$out/$1
    kind=$2
    shift 2
    {
        printf '{\n"kind": "%s",\n' "$kind"
        provenance "$@"
        for p; do
            printf '"%s": ' "$p"
            cat "$out/$p.json" 2>/dev/null || echo null
            echo ','
        done
        printf '"valid": %s\n}\n' "$valid"
    } > "$file"
    echo "wrote $file, valid: $valid"
    if [ -r "$here/compare.py" ] && command -v python3 >/dev/null; then
        echo "== beside the last committed results"
        python3 "$here/compare.py" "$file" "$here/results"
    fi
    [ "$valid" = true ]
}

drop_results() { # PART...
    for p; do
        rm -f "$out/$p.json"
    done
}
