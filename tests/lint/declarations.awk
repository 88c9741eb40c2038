# SPDX-License-Identifier: Apache-2.0
# Every declaration of a public header has a comment of its own: one that ends on the line before
# it, or one behind its first or last line.  Section lines (/* ---- name ---- */), opaque types and
# include guards are none.
FNR == 1 { in_comment = depth = parens = open = own = 0 }
{
    was_in = in_comment
    code = code_of($0)
    comment = was_in || /\/\*|\/\//
    blank = code ~ /^[ \t]*$/
    if (blank && !open) {
        if (!comment) own = 0
        else if (!was_in) own = !/\/\* ----/
        next
    }
    if (!open) {
        open = 1
        start = FNR
        text = code
        explained = own
        macro = code ~ /^[ \t]*#/
        sub(/^[ \t]+/, "", text)
    }
    own = 0
    if (comment && !was_in) trailing = FNR
    if (start == FNR && trailing == FNR) explained = 1
    depth += gsub(/\{/, "{", code) - gsub(/\}/, "}", code)
    parens += gsub(/\(/, "(", code) - gsub(/\)/, ")", code)
    ends = macro ? $0 !~ /\\$/ : depth == 0 && parens == 0 && code ~ /[;}][ \t]*$/
    if (!ends || in_comment) next
    open = 0
    if (trailing == FNR) explained = 1
    if (explained || text ~ /^(struct|union|enum) [a-z0-9_]+;/) next
    if (macro && text !~ /^# *define/) next
    if (macro && text ~ /_H[ \t]*$/) next
    finding(FILENAME ":" start, module_of(FILENAME), FILENAME ":" start ": no comment of its own: " text)
}
