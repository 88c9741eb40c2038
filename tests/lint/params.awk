# SPDX-License-Identifier: Apache-2.0
# `@p NAME` in the comment directly above a function, or above several without an empty line between
# them, is one of their parameters.  Comments inside braces (fields), of macros, variables and
# structs are left out.
function check(  text, name) {
    text = group ~ /\(/ ? above : ""
    while (match(text, /@p +\**[A-Za-z_][A-Za-z0-9_]*/)) {
        name = substr(text, RSTART, RLENGTH)
        text = substr(text, RSTART + RLENGTH)
        sub(/.*[ *]/, "", name)
        if ((" " group " ") !~ ("[^A-Za-z0-9_]" name "[^A-Za-z0-9_]"))
            finding(path ":" line ":" name, module_of(path), path ":" line ": @p " name ": no parameter of the function below")
    }
    above = group = ""
}
FNR == 1 { check(); path = FILENAME; depth = 0; statement = ""; continues = 0 }
END { check() }
{
    was_in = in_comment
    split_line($0)
    empty = code ~ /^[ \t]*$/
    if (depth == 0 && statement == "" && empty) {
        if (!was_in || !in_comment && comment == "") check()
        if (!was_in) line = FNR
        above = above " " comment
        next
    }
    if (continues || code ~ /^[ \t]*#/) { check(); continues = /\\$/; next }
    if (depth == 0) {
        statement = statement " " code
        if (statement ~ /[{;]/) {
            sub(/[{;].*/, "", statement)
            if (statement ~ /=|^ *(typedef )?(struct|enum|union)[^()]*$/) above = ""
            group = group " " statement
            statement = ""
        }
    }
    depth += gsub(/\{/, "{", code) - gsub(/\}/, "}", code)
}
