# SPDX-License-Identifier: Apache-2.0
# An opening comment says "Called by a.c" or "a.c and b.c call" of files that use one of its symbols.
# Input: kind=symbols lines `D|U path symbol`; kind=source files in C.
kind == "symbols" {
    name = $2
    sub(/.*\//, "", name)
    if ($1 == "D") { defined[name] = defined[name] " " $3 }
    else used[name, $3]
    next
}
function uses(caller, name,  symbol, n, i) {
    n = split(defined[name], symbol, " ")
    for (i = 1; i <= n; i++) if ((caller, symbol[i]) in used) return 1
    return 0
}
function check_names(text,  caller) {
    while (match(text, /[a-z0-9_]+\.c/)) {
        caller = substr(text, RSTART, RLENGTH)
        text = substr(text, RSTART + RLENGTH)
        if (!uses(caller, file)) finding(path ":" caller, module_of(path), path ": " caller " does not call it")
    }
}
function check_file(  text, part) {
    if (path == "" || !(file in defined)) return
    gsub(/ +/, " ", opening)
    text = opening
    while (match(text, /[Cc]alled by ([^.;:]|\.c)*/)) {
        part = substr(text, RSTART, RLENGTH)
        text = substr(text, RSTART + RLENGTH)
        check_names(part)
    }
    text = opening
    while (match(text, /([a-z0-9_]+\.c(, and |,| and) ?)*[a-z0-9_]+\.c calls?[ .,;]/)) {
        part = substr(text, RSTART, RLENGTH)
        text = substr(text, RSTART + RLENGTH)
        check_names(part)
    }
}
FNR == 1 {
    check_file()
    path = FILENAME
    file = path
    sub(/.*\//, "", file)
    opening = ""
    state = "before"
}
state == "after" || /SPDX-License-Identifier/ { next }
{
    split_line($0)
    if (code !~ /^[ \t]*$/) { state = "after"; next }
    sub(/^[ \t]*\*? */, "", comment)
    opening = opening comment " "
    if (!in_comment) state = "after"
}
END { check_file() }
