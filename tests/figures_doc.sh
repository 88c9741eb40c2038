#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The figures of README.md, docs/VALIDATION.md and docs/SCALING.md are those of the program.
#   figures_doc.sh check DIR     differences, status 1 when there are any
#   figures_doc.sh update DIR    write figures and picture into the documents
# DIR is that of `wsc validate --out DIR`; the sweeps of docs/SCALING.md are made here, by $WSC or
# build/wsc.  Run in the root of the source tree.  What stands between a comment `figures of ...` and
# `end of the figures` is generated; in rows whose first cell ends with the id of a published figure
# in a comment, the other cells are.
set -eu
dir=$2
wsc=${WSC:-build/wsc}
models='256m 590m 1p3b 2p7b 6p7b 13b 20b'

sweeps() {
    list=
    for model in $models; do
        list="$list,configs/params/gpt3_$model.yaml"
    done
    "$wsc" scale --params "${list#,}" --num_csx 1,4,16,64 --out "$dir/weak" \
        >"$dir/weak.txt" 2>&1
    "$wsc" scale --params configs/params/gpt3_1p3b.yaml --num_csx 1,16,64 --scaling strong \
        --out "$dir/strong" >"$dir/strong.txt" 2>&1
    "$wsc" inspect configs/cluster/cs2.yaml >"$dir/constants.txt"
}

# A table of the sweep: a row per model, three significant digits.
weak_table() {
    awk -F, '
        function digits(x) { return sprintf(x >= 99.95 ? "%.0f" : x >= 9.995 ? "%.1f" : "%.2f", x) }
        function rate(x) { return x >= 999500 ? digits(x / 1e6) " M" : digits(x / 1e3) " k" }
        function name(s) { sub(/^gpt3_/, "", s); sub(/p/, ".", s); return toupper(s) }
        NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
        $at["num_csx"] == 1 {
            if (row) print row
            row = sprintf("| %s | %d ", name($1), $at["global_batch"])
            mfu = $at["mfu"]
        }
        { row = row "| " rate($at["tokens_per_s"]) " " }
        $at["num_csx"] == 64 { row = row sprintf("| %.1f %% |", 100 * mfu) }
        BEGIN {
            print "| model | batch per system | 1 CS-2 | 4 | 16 | 64 | fraction of the peak, 1 CS-2 |"
            print "|---|---|---|---|---|---|---|"
        }
        END { print row }' "$dir/weak/scaling.csv"
}

# What weak scaling loses over the models, and the efficiency of strong scaling.
losses() {
    awk -F, '
        FNR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
        { loss = 100 * (1 - $at["efficiency"]); n = $at["num_csx"] }
        FILENAME ~ /weak/ {
            if (!(n in low) || loss < low[n]) low[n] = loss
            if (loss > high[n]) high[n] = loss
        }
        FILENAME ~ /strong/ { strong[n] = 100 - loss; batch = $at["global_batch"] }
        END {
            printf "Weak scaling of these models loses %.1f to %.1f %% on 16 systems and %.1f to " \
                "%.1f %% on 64.\n", low[16], high[16], low[64], high[64]
            printf "Strong scaling of 1.3B, at a global batch of %d, has an efficiency of %.0f %% on " \
                "16 systems and %.0f %% on 64.\n", batch, strong[16], strong[64]
        }' "$dir/weak/scaling.csv" "$dir/strong/scaling.csv"
}

# The names and values, one after the other, of the lines `wafer.x = 1.2 unit: source`.
fitted() {
    awk '/^wafer\.[a-z_]* = [^:]*:/ {
            sub(/:.*/, ""); sub(/ = /, "` "); list = list (n++ ? ", `" : "`") $0
        }
        END { printf "%d constants of the machine are fitted to published times: %s.\n", n, list }' \
        "$dir/validation.md"
}

constants() {
    awk '/^ *[0-9]+ documented, / {
            sub(/^ */, ""); n = $1 + $3 + $5 + $7
            rest = index($0, "; ") ? substr($0, index($0, "; ") + 2) + 0 : 0
            sub(/;.*/, "")
            printf "[The cluster file](../configs/cluster/cs2.yaml) has %d constants: %s; each has " \
                "a source and a kind, and a unit unless it is a pure number.", n, $0
            printf " The file leaves %d further keys at their defaults.\n", rest
        }' "$dir/constants.txt"
}

summary() {
    awk '/^[0-9]+ rows never fitted|^[0-9]+ of [0-9]+ measurements that were never fitted/' \
        "$dir/validation.md"
}

# The picture's block of VALIDATION.md: validation.md from the summary to the second heading.
validation() {
    awk '/^## / { exit } on { print } /^!\[/ { on = 1 }' "$dir/validation.md"
}

# The page with its blocks and rows made again.
renew() { # PAGE
    awk -v results="$dir/validation.md" -v dir="$dir" '
        function row(id) { return published[id] " | " predicted[id] " | " error[id] " |" }
        BEGIN {
            while ((getline line < results) > 0 && line !~ /^## /) {
                if (split(line, c, / *\| */) < 10 || c[2] == "id" || c[2] ~ /^-/) continue
                published[c[2]] = c[4] (c[3] == "" ? "" : " " c[3])
                predicted[c[2]] = c[5]; error[c[2]] = c[6]
                if (c[7] == "NO") outside[++n_outside] = c[2]
            }
        }
        /^<!-- figures of .* -->$/ {
            print
            name = $0; sub(/^<!-- figures of /, "", name); sub(/ -->$/, "", name)
            gsub(/ /, "_", name)
            while ((getline line < (dir "/block." name)) > 0) print line
            skip = 1
        }
        /^<!-- end of the figures -->$/ { skip = 0 }
        skip { next }
        /<!-- [a-z0-9_]+ --> \|/ {
            id = $0; sub(/.*<!-- /, "", id); sub(/ -->.*/, "", id)
            seen[id] = 1
            head = $0; sub(/ -->.*/, " --> | ", head)
            print head (id in predicted ? row(id) : "no such row | | |")
            in_rows = 1
            next
        }
        in_rows {
            for (i = 1; i <= n_outside; i++)
                if (!(outside[i] in seen))
                    print "| " outside[i] " <!-- " outside[i] " --> | " row(outside[i])
            in_rows = 0
        }
        { print }' "$1"
}

sweeps
weak_table >"$dir/block.wsc_scale"
losses >"$dir/block.scaling_losses"
fitted >"$dir/block.fitted_constants"
constants >"$dir/block.constants"
summary >"$dir/block.accuracy"
validation >"$dir/block.wsc_validate"
cp "$dir/products.md" "$dir/block.products"
status=0
for page in README.md docs/VALIDATION.md docs/SCALING.md; do
    renew "$page" >"$dir/page.md"
    case $1 in
    check) diff "$page" "$dir/page.md" || status=1 ;;
    update) cp "$dir/page.md" "$page" ;;
    *)
        echo "usage: figures_doc.sh check|update DIR" >&2
        exit 2
        ;;
    esac
done
[ "$1" = check ] || cp "$dir/validation.png" docs/validation.png
exit "$status"
