# SPDX-License-Identifier: Apache-2.0
# Cycles among the files of one module: x.c and x.h are one node; an edge is an #include of another
# node's header or the use of a symbol that another node defines.  Prints each strongly connected
# component with one example for each of its edges.
function node_of(path) { sub(/\.[ch]$/, "", path); return path }
function add(a, b, why) {
    if (a == b || module_of(a ".c") != module_of(b ".c")) return
    if (!((a, b) in edge)) edge[a, b] = why
    node[a]; node[b]
}
kind == "includes" {
    split($0, part, ":")
    if (part[1] !~ /^src\//) next
    name = $0; sub(/^[^"]*"/, "", name); sub(/".*/, "", name)
    folder = part[1]; sub(/[^\/]*$/, "", folder)
    add(node_of(part[1]), node_of(folder name), "includes " name)
}
kind == "symbols" && $2 ~ /^src\// {
    if ($1 == "D") file[$3] = $2
    else used[$3 " " $2]
}
END {
    for (pair in used) {
        split(pair, p, " ")
        if (p[1] in file) add(node_of(p[2]), node_of(file[p[1]]), p[1])
    }
    for (e in edge) reach[e]
    for (k in node) for (i in node) if ((i, k) in reach) for (j in node) if ((k, j) in reach) reach[i, j]
    for (i in node) {
        if (i in done || !((i, i) in reach)) continue
        members = edges = ""
        for (j in node) {
            if (!((i, j) in reach && (j, i) in reach)) continue
            done[j]
            name = j; sub(/.*\//, "", name)
            members = members " " name
            for (k in node) if ((j, k) in edge && (k, i) in reach && (i, k) in reach) {
                other = k; sub(/.*\//, "", other)
                edges = edges "; " name " -> " other " (" edge[j, k] ")"
            }
        }
        m = module_of(i ".c")
        finding(m, m, "src/" m ": cycle of files:" members edges)
    }
}
