#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Prints the picture of the layers, made from tests/lint/layers.txt and from what each module really
# includes (src and include): as text for docs/ARCHITECTURE.md, or with `dot` as a Graphviz graph.
# usage: layer_picture.sh [dot | check | update]   check: compare with docs/ARCHITECTURE.md
here=$(cd "$(dirname "$0")" && pwd)
page=docs/ARCHITECTURE.md
form=${1:-text}

picture() {
    find src include -name '*.[ch]' | sort | xargs grep -HE '^# *include <wsc/' |
        awk -v form="$1" -f "$here/module.awk" -f "$here/layer_picture.awk" tests/lint/layers.txt -
}

# The page with a fresh picture between its two marks.
fresh() {
    picture text >"$work/picture"
    awk -v picture="$work/picture" '
        /<!-- end of layers -->/ { skip = 0 }
        !skip
        /<!-- layers:/ { skip = 1; print "```"; while ((getline line <picture) > 0) print line; print "```" }
    ' $page
}

case $form in
text | dot) picture "$form" ;;
check | update)
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    grep -q '<!-- layers:' $page || { echo "$page: no mark for the picture of the layers" >&2; exit 1; }
    fresh >"$work/page"
    if [ "$form" = update ]; then
        cmp -s "$work/page" $page || cp "$work/page" $page
    elif ! diff $page "$work/page"; then
        echo "$page: the picture of the layers is out of date; hint: sh tests/lint/layer_picture.sh update" >&2
        exit 1
    fi ;;
*) echo "usage: layer_picture.sh [dot | check | update]" >&2; exit 2 ;;
esac
