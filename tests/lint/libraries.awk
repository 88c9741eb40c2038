# SPDX-License-Identifier: Apache-2.0
# Symbols of outside libraries.  libraries.txt names the modules that may use them by a pattern;
# what no pattern matches has to be a function of the C library.
kind == "table" { if (!/^#/ && NF) { n++; pattern[n] = "^(" $1 ")$"; allowed[n] = "," $2 "," } next }
kind == "libc" { libc[$1]; next }
$1 == "D" && $2 ~ /^src\// { ours[$3] }
$1 == "U" && $2 ~ /^src\// { used[$3 " " $2] }
END {
    for (pair in used) {
        split(pair, p, " ")
        if (p[1] in ours || p[1] ~ /^_GLOBAL_OFFSET_TABLE_$|^__(asan|ubsan|tsan|gcov|sanitizer)/) continue
        m = module_of(p[2])
        for (i = 1; i <= n && p[1] !~ pattern[i]; i++) ;
        if (i > n ? p[1] in libc : index(allowed[i], "," m ",")) continue
        why = i > n ? "a library that libraries.txt does not know" : "belongs to " substr(allowed[i], 2, length(allowed[i]) - 2)
        finding(m ":" p[1], m, p[2] ": " p[1] ": " why)
    }
}
