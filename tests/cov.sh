#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: tests/cov.sh BUILD      lines of src/<folder> that ran, from the counts in BUILD/obj
set -u
build=$1
find "$build/obj/src" -name '*.gcda' | while read -r counts; do
    gcov -n -o "$(dirname "$counts")" "$counts" 2>/dev/null
done | awk -F"[':%]" '
    /^File/ { file = $2; sub(/.*src\//, "src/", file) }
    /^Lines executed/ {
        split($0, part, /[:% ]+/)
        if (file ~ /^src\/.*\.c$/) {
            split(file, path, "/")
            n = part[5]; run = part[3] / 100 * n
            lines[path[2]] += n; ran[path[2]] += run
            all += n; all_ran += run
        }
        file = ""
    }
    END {
        for (folder in lines)
            printf "%-10s %6d lines %6.1f %%\n", folder, lines[folder], 100 * ran[folder] / lines[folder] | "sort"
        close("sort")
        if (!all) { print "no counts: make cov"; exit 1 }
        printf "%-10s %6d lines %6.1f %%\n", "all", all, 100 * all_ran / all
    }'
