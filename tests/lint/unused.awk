# SPDX-License-Identifier: Apache-2.0
# Symbols that leave a file or a module without need.  A symbol that a public header declares must
# be used by another module, any other one by another file; what tests and benchmarks use does not
# count and is listed by rule tests_only.  rule: unused or tests_only.
FNR == 1 { in_comment = 0 }
kind == "header" || kind == "source" {
    code = code_of($0)
    inlined = kind == "header" && code ~ /^static inline /
    m = module_of(FILENAME)
    while (match(code, /[A-Za-z_][A-Za-z0-9_]*/)) {
        w = substr(code, RSTART, RLENGTH)
        code = substr(code, RSTART + RLENGTH)
        if (kind == "header") public[w]
        if (inlined && code ~ /^\(/) { inline_of[w] = m; inline_at[w] = FILENAME ":" FNR; inlined = 0 }
        else if (w in inline_of && (kind == "header" || m != inline_of[w])) used_inline[w]
        else if (kind == "source") spoken[w]
    }
    next
}
kind == "symbols" && $1 == "D" && $2 ~ /^src\// { file[$3] = $2 }
kind == "symbols" && $1 == "U" { users[$3] = users[$3] " " $2 }
function look(s,  part, n, i, m) {
    outside = inside = test = 0
    m = module_of(file[s])
    n = split(users[s], part, " ")
    for (i = 1; i <= n; i++) {
        if (part[i] !~ /^src\//) test = 1
        else if (module_of(part[i]) != m) outside = 1
        else inside = 1
    }
}
END {
    for (s in file) {
        if (s == "main" || s ~ /^__/ || s ~ /\.resolver$/) continue # of versions of a function
        look(s)
        if (s in public ? outside : outside || inside) continue
        if (test != (rule == "tests_only")) continue
        if (test) why = s in public ? "outside its module only tests use it" : "outside its file only tests use it"
        else if (inside) why = "only its own module uses it: declare it in a private header"
        else why = "only its own file uses it: make it static, or remove it"
        finding(s, module_of(file[s]), file[s] ": " s ": " why)
    }
    if (rule == "unused")
        for (s in inline_of) {
            bare = s
            sub(/^[a-z]+_/, "", bare) # macros put names together: num_##name
            if (!(s in used_inline) && !(bare in spoken))
                finding(s, inline_of[s], inline_at[s] ": " s ": inline, and no other module uses it")
        }
}
