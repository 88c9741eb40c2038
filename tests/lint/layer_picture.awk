# SPDX-License-Identifier: Apache-2.0
# The modules layer by layer, and the matrix of their includes (design structure matrix): the row is
# the module that includes, the column the one that is included, in the same order.
{
    path = $0; sub(/:.*/, "", path)
    name = $0; sub(/.*<wsc\//, "", name); sub(/\.h>.*/, "", name)
    a = module_of(path)
    b = module_of_header(name)
    if (a != b) uses[a, b]
}
function dot(  i, j) {
    print "digraph wsc {\n    rankdir=BT; node [shape=box];"
    for (i = 1; i <= n; i++) {
        print "    { rank=same; " row[i] " }"
        for (j = 1; j <= n; j++) if ((row[i], row[j]) in uses) print "    " row[i] " -> " row[j] ";"
    }
    print "}"
}
function text(  l, i, j, line) {
    for (l = top; l >= 0; l--) {
        line = ""
        for (i = 1; i <= n; i++) if (layer[row[i]] == l) line = line sprintf(" %-11s", row[i])
        sub(/ +$/, "", line)
        if (line != "") printf "%3d |%s\n", l, line
    }
    printf "\n%16s", ""
    for (j = 1; j <= n; j++) printf " %2d", j
    print ""
    for (i = 1; i <= n; i++) {
        line = sprintf("%3d %-11s %2d ", layer[row[i]], row[i], i)
        for (j = 1; j <= n; j++) line = line (i == j ? "  \\" : (row[i], row[j]) in uses ? "  x" : "  .")
        sub(/ +$/, "", line)
        print line
    }
}
END {
    for (m in layer) if (layer[m] + 0 > top) top = layer[m] + 0
    for (l = top; l >= 0; l--) {
        k = 0
        for (m in layer) if (layer[m] == l) name_of[++k] = m
        for (i = 1; i <= k; i++) for (j = i + 1; j <= k; j++) if (name_of[j] < name_of[i]) {
            m = name_of[i]; name_of[i] = name_of[j]; name_of[j] = m
        }
        for (i = 1; i <= k; i++) row[++n] = name_of[i]
    }
    if (form == "dot") dot(); else text()
}
