# SPDX-License-Identifier: Apache-2.0
# Tags of structs, enums and unions in headers start with the name of the module.
FNR == 1 { in_comment = 0 }
{
    code = code_of($0)
    if (!match(code, /(struct|enum|union)[ \t]+[A-Za-z_0-9]+[ \t]*\{/)) next
    tag = substr(code, RSTART, RLENGTH)
    sub(/^[a-z]+[ \t]+/, "", tag); sub(/[ \t]*\{/, "", tag)
    m = module_of(FILENAME)
    if (!has_prefix(tag, m)) finding(tag, m, FILENAME ":" FNR ": tag " tag " does not start with " prefix_of(m) "_")
}
