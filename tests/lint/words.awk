# SPDX-License-Identifier: Apache-2.0
# A comment stands alone: it does not begin with "The same", "Of", "As" or "All".
FNR == 1 { expect = 0 }
{
    text = ""
    if (match($0, /\/\*+<?/)) { text = substr($0, RSTART + RLENGTH); expect = 1 }
    else if (match($0, /(^|[ \t])\/\/<?/)) { text = substr($0, RSTART + RLENGTH); expect = 1 }
    else if (expect) text = $0
    if (!expect) next
    sub(/^[ \t*]+/, "", text)
    if (text == "") next
    expect = 0
    if (text !~ /^([Tt]he same|Of|As|All)([^A-Za-z0-9_]|$)/) next
    finding(FILENAME ":" FNR, module_of(FILENAME), FILENAME ":" FNR ": begins with a reference: " substr(text, 1, 60))
}
