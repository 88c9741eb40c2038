#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The figures of docs/VALIDATION.md are those of `wsc validate --out DIR`.
#   validation_doc.sh check DIR     differences, status 1 when there are any
#   validation_doc.sh update DIR    write figures and picture of DIR into docs
# Run in the root of the source tree; the block between two comments of the page is that of
# DIR/validation.md from the summary to the second heading.
set -eu
page=docs/VALIDATION.md
dir=$2
new=$dir/page.md
awk -v results="$dir/validation.md" -v products="$dir/products.md" '
    function block(line, on) {
        while ((getline line < results) > 0) {
            if (line ~ /^## /) break
            if (on) print line
            if (line ~ /^!\[/) on = 1
        }
    }
    /^<!-- figures of wsc validate -->$/ { print; block("", 0); skip = 1 }
    /^<!-- figures of products -->$/ {
        print
        while ((getline line < products) > 0) print line
        skip = 1
    }
    /^<!-- end of the figures -->$/ { skip = 0 }
    !skip { print }' "$page" >"$new"
case $1 in
check) diff "$page" "$new" ;;
update)
    cp "$new" "$page"
    cp "$dir/validation.png" docs/validation.png
    ;;
*)
    echo "usage: validation_doc.sh check|update DIR" >&2
    exit 2
    ;;
esac
