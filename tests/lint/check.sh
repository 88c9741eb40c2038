#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs the rules of limits.txt over the tree and compares the number of findings with the limit.
# usage: check.sh [RULE [MODULE]]   without RULE: one line for each rule, findings above a limit
# The symbol rules read the object files below $OBJ (default build/release/obj): build first.
set -u
here=$(cd "$(dirname "$0")" && pwd)
tables=tests/lint # of the tree that is looked at
obj=${OBJ:-build/release/obj}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

headers() { find src include -name '*.h' | sort; }
sources() { find src include -name '*.[ch]' | sort; }

# One line for each symbol of each object file: D (defined) or U (used), source file, symbol.
symbols() {
    find src tests benchmarks -name '*.c' 2>/dev/null | sort | while read -r f; do
        o=$obj/${f%.c}.o
        case $f in src/num/library_*.c) [ -r "$o" ] || continue ;; esac # the Makefile takes one
        if [ -r "$o" ]; then echo "$o"; else echo "$f" >>"$work/unbuilt"; fi
    done | xargs nm -A -P -g | awk -v obj="$obj/" '
        { f = substr($1, length(obj) + 1); sub(/\.o:$/, ".c", f); print ($3 == "U" ? "U" : "D"), f, $2 }'
    if grep -q '^src/' "$work/unbuilt" 2>/dev/null; then
        echo "lint: not built: $(grep '^src/' "$work/unbuilt" | tr '\n' ' ')" >&2
        exit 1
    fi
}

# What the C library and the mathematics library define: free for every module.
libc() {
    for l in libc.so.6 libm.so.6 libgcc_s.so.1; do
        nm -D -P --defined-only "$(${CC:-cc} -print-file-name=$l)"
    done | awk '{ sub(/@.*/, "", $1); print $1 }'
    ${CC:-cc} -print-libgcc-file-name | xargs nm -P -g --defined-only 2>/dev/null | awk 'NF > 2 { print $1 }'
}

# Prints KEY|MODULE|MESSAGE for each finding of one rule.
findings() {
    case $1 in
    prefix | unused | tests_only | libraries | cycles | callers)
        [ -r "$work/symbols" ] || symbols >"$work/symbols" || exit 1 ;;
    esac
    case $1 in
    prefix) awk -f "$here/module.awk" -f "$here/prefix.awk" $tables/layers.txt "$work/symbols" ;;
    unused | tests_only)
        # shellcheck disable=SC2046 # a list of files
        awk -v rule="$1" -f "$here/module.awk" -f "$here/unused.awk" $tables/layers.txt \
            kind=header $(headers | grep '^include') kind=symbols "$work/symbols" \
            kind=source $(find src -name '*.[ch]') ;;
    libraries)
        libc >"$work/libc"
        awk -f "$here/module.awk" -f "$here/libraries.awk" $tables/layers.txt \
            kind=table $tables/libraries.txt kind=libc "$work/libc" kind=symbols "$work/symbols" ;;
    owners) awk -f "$here/module.awk" -f "$here/owners.awk" $tables/layers.txt ;;
    cycles)
        sources | xargs grep -HE '^# *include "' >"$work/includes"
        awk -f "$here/module.awk" -f "$here/cycles.awk" $tables/layers.txt \
            kind=includes "$work/includes" kind=symbols "$work/symbols" ;;
    tags) headers | xargs awk -f "$here/module.awk" -f "$here/tags.awk" $tables/layers.txt ;;
    declarations)
        headers | grep '^include' |
            xargs awk -f "$here/module.awk" -f "$here/declarations.awk" $tables/layers.txt ;;
    words) sources | xargs awk -f "$here/module.awk" -f "$here/words.awk" $tables/layers.txt ;;
    heads) sources | xargs awk -f "$here/module.awk" -f "$here/heads.awk" $tables/layers.txt ;;
    files)
        find src include tests benchmarks -name '*.[ch]' 2>/dev/null >"$work/list_of_files"
        # shellcheck disable=SC2046 # a list of files
        awk -f "$here/module.awk" -f "$here/comments.awk" -f "$here/files.awk" $tables/layers.txt \
            kind=list "$work/list_of_files" kind=source $(sources) ;;
    callers)
        # shellcheck disable=SC2046 # a list of files
        awk -f "$here/module.awk" -f "$here/comments.awk" -f "$here/callers.awk" $tables/layers.txt \
            kind=symbols "$work/symbols" kind=source $(sources | grep '\.c$') ;;
    params)
        sources | xargs awk -f "$here/module.awk" -f "$here/comments.awk" -f "$here/params.awk" $tables/layers.txt ;;
    names)
        find src include tests benchmarks -name '*.[ch]' 2>/dev/null | sort |
            awk -f "$here/module.awk" -f "$here/names.awk" $tables/layers.txt - ;;
    docs)
        git ls-files -co --exclude-standard >"$work/files" 2>/dev/null || find . -type f | sed 's|^\./||' >"$work/files"
        sources | xargs grep -HE '^[A-Za-z_][A-Za-z0-9_ *]*\(' >"$work/functions"
        awk -f "$here/module.awk" -f "$here/docs.awk" "$tables/layers.txt" \
            kind=files "$work/files" kind=functions "$work/functions" \
            kind=docs README.md CONTRIBUTING.md docs/*.md docs/decisions/*.md ;;
    terms)
        # shellcheck disable=SC2046 # a list of files
        awk -f "$here/module.awk" -f "$here/terms.awk" "$tables/layers.txt" kind=terms "$tables/terms.txt" \
            kind=text $(find . \( -name .git -o -path ./build -o -path ./out -o -path ./tests/lint \) -prune -o -type f \
                \( -name '*.[ch]' -o -name '*.sh' -o -name '*.md' -o -name '*.yaml' -o -name Makefile \) -print |
                sed 's|^\./||' | grep -v '^docs/CONFIG.md') ;;
    *) echo "lint: no rule '$1'; see $tables/limits.txt" >&2; exit 1 ;;
    esac
}

# The findings of a rule that accepted.txt does not name, of one module or of all.
report() {
    awk -F'|' -v rule="$1" -v module="${2:-}" '
        FNR == NR { split($0, a, " "); if (a[1] == rule) accepted[a[2]]; next }
        !($1 in accepted) && (module == "" || $2 == module) { print $3 }
    ' $tables/accepted.txt "$work/$1"
}

density() {
    sources | xargs awk -f "$here/module.awk" -f "$here/density.awk" $tables/layers.txt
}

if [ "${1:-}" = density ]; then
    density | grep -E "^ *${2:-}"
    exit
fi
if [ $# -gt 0 ]; then
    findings "$1" >"$work/$1" || exit 1
    report "$@" | sort
    exit
fi

status=0
while read -r rule limit about; do
    case $rule in '#'* | '') continue ;; esac
    findings "$rule" >"$work/$rule" || exit 1
    report "$rule" | sort >"$work/list"
    n=$(wc -l <"$work/list")
    if [ "$n" -gt "$limit" ]; then
        cat "$work/list"
        status=1
    fi
    printf 'lint: %-13s %5d of %5d allowed  %s\n' "$rule" "$n" "$limit" "$about"
    [ "$n" -ge "$limit" ] || echo "lint: lower the limit of $rule in limits.txt to $n"
done <$tables/limits.txt
# An accepted finding that no rule makes any more is out of date.
while read -r rule key _; do
    case $rule in '#'* | '') continue ;; esac
    [ ! -r "$work/$rule" ] || cut -d'|' -f1 "$work/$rule" | grep -qxF "$key" || {
        echo "lint: accepted.txt: $rule $key: no such finding any more: remove the line"
        status=1
    }
done <$tables/accepted.txt
density
exit $status
