#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Rules that no compiler checks and that need no object files: banned functions, sizes of files,
# SPDX lines, the top level, tolerances of tests.
status=0

# A banned function is one that stands before "(" and is not part of a longer name or a comment.
while read -r name owner instead; do
    case $name in '#'* | '') continue ;; esac
    found=$(grep -nE "(^|[^A-Za-z0-9_>.])$name\(" -r src --include='*.c' --include='*.h' |
        grep -vE '^[^:]*:[0-9]*: *(\*|/\*|//)' | grep -v "^$owner" || true)
    [ -z "$found" ] && continue
    printf '%s\n' "$found" | sed "s|$| -- $name is banned, use $instead|"
    status=1
done <tests/lint/banned.txt

sources=$(find src include tests benchmarks mpi_launch \( -name '*.[ch]' -o -name '*.sh' \))
for f in $sources; do
    case $f in
    *.h) ;;
    *) head -n 2 "$f" | grep -q 'SPDX-License-Identifier: Apache-2.0' || { echo "$f: no SPDX line"; status=1; } ;;
    esac
    lines=$(wc -l <"$f")
    [ "$lines" -le 800 ] || { echo "$f: $lines lines, 800 is the limit"; status=1; }
done
# The folders of the top level are fixed.
for entry in $(git ls-files 2>/dev/null | cut -d/ -f1 | sort -u); do
    case $entry in
    .* | Makefile | README.md | CONTRIBUTING.md | LICENSE | src | include | configs | mpi_launch | tests | benchmarks | docs) ;;
    *) echo "$entry: a new file or folder at the top level; put it below one that is there"; status=1 ;;
    esac
done
# Tolerances are relative but where 0 is expected.  Lines that end with a comma are joined first.
found=$(find tests -name '*.c' -exec awk '
    { line = line $0; if (/,$/) next }
    line ~ /T_NEAR\(.*, *(0\.[2-9]|[1-9])[0-9.]*\);/ && line !~ /, *0, *[0-9.]+\);/ { print FILENAME ": " line }
    { line = "" }' {} +)
[ -z "$found" ] || { printf '%s\n' "$found" | sed 's|$| -- tolerances of T_NEAR are relative: this one passes almost anything|'; status=1; }
exit $status
