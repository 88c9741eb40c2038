#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The figures of docs/SCALING.md are those that `wsc scale` and `wsc validate` find.
#   scaling_doc.sh check WSC DIR     differences, status 1 when there are any
#   scaling_doc.sh update WSC DIR    write them into the page
# Run in the root of the source tree; DIR must not exist.  Tables and sentences between two comments
# of the page are made of scaling.csv, effects.csv and training.csv, and of rows of
# docs/VALIDATION.md.
set -eu
page=docs/SCALING.md
wsc=$2
dir=$3
mkdir -p "$dir"

# sweep NAME PARAMS OPTIONS...: a model on all counts, without each mechanism, and whole trainings
sweep() {
    name=$1
    params=$2
    shift 2
    "$wsc" scale --params "configs/params/$params.yaml" --num_csx 1,2,4,16,64 --effects \
        --tokens 20xparams "$@" --out "$dir/$name" >"$dir/$name.txt" 2>&1
}

# column NAME MODEL SYSTEMS COLUMN: a number of scaling.csv
column() {
    awk -F, -v model="$2" -v systems="$3" -v name="$4" '
        NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
        $at["model"] == model && $at["num_csx"] == systems { print $at[name] }' "$dir/$1/scaling.csv"
}

# lost NAME MODEL SYSTEMS: what weak scaling loses, in percent
lost() {
    awk -v x="$(column "$1" "$2" "$3" efficiency)" 'BEGIN { printf "%.1f %%", 100 * (1 - x) }'
}

# slower NAME SYSTEMS: how much slower the 13B model is than in the sweep 13b, in percent
slower() {
    awk -v x="$(column "$1" gpt3_13b "$2" tokens_per_s)" \
        -v of="$(column 13b gpt3_13b "$2" tokens_per_s)" \
        'BEGIN { printf "%.1f %%", 100 * (1 - x / of) }'
}

# efficiencies NAME LABEL: a line of the first table
efficiencies() {
    awk -F, -v label="$2" '
        NR == 1 { for (i = 1; i <= NF; i++) if ($i == "efficiency") col = i }
        NR > 2 { cells = cells sprintf(" %.2f %% |", 100 * $col) }
        END { print "| " label " |" cells }' "$dir/$1/scaling.csv"
}

# losses NAME LABEL: efficiency without each mechanism less that with all, in percent
losses() {
    awk -F, -v label="$2" '
        function fixed(x) { x = sprintf("%.2f", x); return x == "-0.00" ? "0.00" : x }
        NR > 1 {
            if ($3 == 1) one[$1] = $4
            else { eff[$1, $3] = $4 / ($3 * one[$1]) }
        }
        END {
            split("2 4 16 64", n, " ")
            split("jitter,control,boundary,reduce,network", name, ",")
            line = "| " label " |"
            for (k = 1; k <= 5; k++) {
                cell = ""
                for (i = 1; i <= 4; i++)
                    cell = cell (i > 1 ? ", " : "") \
                        fixed(100 * (eff["without " name[k], n[i]] - eff["all", n[i]]))
                line = line " " cell " |"
            }
            cell = ""
            for (i = 1; i <= 4; i++)
                cell = cell (i > 1 ? ", " : "") fixed(100 * (1 - eff["none of them", n[i]]))
            print line " " cell " |"
        }' "$dir/$1/effects.csv"
}

# trainings NAME LABEL SYSTEMS: lines of the table of whole trainings
trainings() {
    awk -F, -v label="$2" -v systems=" $3 " '
        NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
        NR > 1 && index(systems, " " $at["num_csx"] " ") {
            s = $at["seconds"]
            time = s < 86400 ? sprintf("%.3g h", s / 3600) : sprintf("%.3g days", s / 86400)
            printf "| %s | %d | %s | %.2f %% | %.2f %% |\n", label, $at["num_csx"], time,
                100 * $at["checkpoint_s"] / s, 100 * $at["restart_s"] / s
        }' "$dir/$1/training.csv"
}

# published ID LABEL: a row of the comparison with published figures
published() {
    awk -F' [|] ' -v id="| $1" -v label="$2" '
        $1 == id { printf "| %s | %s | %s | %s | %s |\n", label, $3, $4, $5, $6 }' docs/VALIDATION.md
}

sweep 256m gpt3_256m
sweep 1p3b gpt3_1p3b
sweep 13b gpt3_13b
sweep 20b gpt3_20b
sweep strong gpt3_13b --scaling strong --set train_input.batch_size=1024
"$wsc" scale --params configs/params/gpt3_111m.yaml,configs/params/gpt3_13b.yaml --num_csx 1,16 \
    --set cluster.jitter=0.024 --out "$dir/jitter" >"$dir/jitter.txt" 2>&1
"$wsc" scale --params configs/params/gpt3_13b.yaml --num_csx 1,16,64 \
    --set cluster.activation.rate=37.5GB/s --out "$dir/activation" >"$dir/activation.txt" 2>&1

# of_all LINE: one line for each sweep
of_all() {
    $1 256m "256M, weak"
    $1 1p3b "1.3B, weak"
    $1 13b "13B, weak"
    $1 20b "20B, weak"
    $1 strong "13B, strong"
}

{
    echo "| model | 2 | 4 | 16 | 64 |"
    echo "|---|---|---|---|---|"
    of_all efficiencies
} >"$dir/efficiencies.md"
{
    echo "| model | jitter | control | boundary | reduction | network | layout and plan |"
    echo "|---|---|---|---|---|---|---|"
    of_all losses
} >"$dir/losses.md"
{
    echo "| model | systems | time | checkpoints | failures |"
    echo "|---|---|---|---|---|"
    trainings 1p3b 1.3B "4 16"
    trainings 13b 13B "1 16 64"
    trainings 20b 20B "16 64"
} >"$dir/trainings.md"
{
    echo "| row | published | predicted | speed error | within |"
    echo "|---|---|---|---|---|"
    published genslm_25m_2 "GenSLM 25M, one to two CS-2, times"
    published sandia_1t_16 "one trillion parameters, one to 16 CS-3, times"
    published cerebras_gpt_111m_16 "Cerebras-GPT 111M on 16 CS-2, of linear"
    published cerebras_gpt_13b_16 "Cerebras-GPT 13B on 16 CS-2, of linear"
} >"$dir/published.md"
{
    echo "- \`jitter\` 2.4 %: the 111M model loses $(lost jitter gpt3_111m 16) on 16 systems," \
        "13B $(lost jitter gpt3_13b 16)."
    echo "- \`activation.rate\` 37.5 GB/s: 13B is slower by $(slower activation 1) on one system," \
        "$(slower activation 16) on 16 and $(slower activation 64) on 64, because the planner then" \
        "recomputes more."
} >"$dir/ends.md"
awk -v dir="$dir" '
    /^<!-- (ends|efficiencies|losses|trainings|published) of wsc/ {
        print
        while ((getline line < (dir "/" $2 ".md")) > 0) print line
        skip = 1
    }
    /^<!-- end of the / { skip = 0 }
    !skip { print }' "$page" >"$dir/page.md"
case $1 in
check) diff "$page" "$dir/page.md" ;;
update) cp "$dir/page.md" "$page" ;;
*)
    echo "usage: scaling_doc.sh check|update WSC DIR" >&2
    exit 2
    ;;
esac
