#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The table of docs/FAULTS.md is the one that its first command prints.
#   faults_doc.sh check WSC DIR      differences, status 1 when there are any
#   faults_doc.sh update WSC DIR     write the table into the page
# Run in the root of the source tree; DIR must not exist.  The command is read from the page, and its
# model_dir is replaced; the table stands between two comments of the page.
set -eu
page=docs/FAULTS.md
wsc=$2
dir=$3
mkdir -p "$dir"

# The first block of shell commands, with WSC as the program and DIR/run as the folder of the run.
awk -v wsc="\"$wsc\"" -v dir="\"$dir/run\"" '
    /^```sh/ { on = 1; next }
    /^```/ && on { exit }
    on { sub(/build\/wsc/, wsc); sub(/--model_dir [^ ]*/, "--model_dir " dir); print }' \
    "$page" >"$dir/command.sh"
sh "$dir/command.sh" >"$dir/run.txt" 2>&1
{
    echo '```'
    awk '/^fault  .* cost / { on = 1 } on' "$dir/run.txt"
    echo '```'
} >"$dir/table.md"
awk -v table="$dir/table.md" '
    /^<!-- table of wsc run -->/ {
        print
        while ((getline line < table) > 0) print line
        skip = 1
    }
    /^<!-- end of the table -->/ { skip = 0 }
    !skip { print }' "$page" >"$dir/page.md"
case $1 in
check) diff "$page" "$dir/page.md" ;;
update) cp "$dir/page.md" "$page" ;;
*)
    echo "usage: faults_doc.sh check|update WSC DIR" >&2
    exit 2
    ;;
esac
