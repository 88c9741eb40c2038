#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The efficiencies of docs/SCALING.md are those that `wsc scale` finds.
#   scaling_doc.sh check WSC DIR     differences, status 1 when there are any
#   scaling_doc.sh update WSC DIR    write them into the page
# Run in the root of the source tree; DIR must not exist.  The table between two comments of the
# page is made of the column efficiency of scaling.csv.
set -eu
page=docs/SCALING.md
wsc=$2
dir=$3
mkdir -p "$dir"

# row LABEL PARAMS OPTIONS...: a line of the table
row() {
    label=$1
    params=$2
    shift 2
    "$wsc" scale --params "configs/params/$params.yaml" --num_csx 1,2,4,16,64 "$@" \
        --out "$dir/$params-$#" >"$dir/$params-$#.txt" 2>&1
    awk -F, -v label="$label" '
        NR == 1 { for (i = 1; i <= NF; i++) if ($i == "efficiency") col = i }
        NR > 2 { cells = cells sprintf(" %.2f %% |", 100 * $col) }
        END { print "| " label " |" cells }' "$dir/$params-$#/scaling.csv"
}

{
    echo "| model | 2 | 4 | 16 | 64 |"
    echo "|---|---|---|---|---|"
    row "256M, weak" gpt3_256m
    row "1.3B, weak" gpt3_1p3b
    row "13B, weak" gpt3_13b
    row "20B, weak" gpt3_20b
    row "13B, strong" gpt3_13b --scaling strong --set train_input.batch_size=1024
} >"$dir/table.md"
awk -v table="$dir/table.md" '
    /^<!-- efficiencies of wsc scale -->$/ {
        print
        while ((getline line < table) > 0) print line
        skip = 1
    }
    /^<!-- end of the efficiencies -->$/ { skip = 0 }
    !skip { print }' "$page" >"$dir/page.md"
case $1 in
check) diff "$page" "$dir/page.md" ;;
update) cp "$dir/page.md" "$page" ;;
*)
    echo "usage: scaling_doc.sh check|update WSC DIR" >&2
    exit 2
    ;;
esac
