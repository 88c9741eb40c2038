# SPDX-License-Identifier: Apache-2.0
# Shared by the awk rules; layers.txt is the first file.  module_of(path): the module that a source
# or header belongs to.  module_of_header(name): that of <wsc/name.h>; module_topic is a header of
# module, and one without a folder of its own is base's.  prefix_of(module):
# what its names start with.  code_of(line): the line without comments and texts, by in_comment.
FNR == 1 { n_files++ }
n_files == 1 {
    if ($1 == "free") for (i = 2; i <= NF; i++) free[$i]
    if (!/^#/ && $1 ~ /^[0-9]+$/) { layer[$2] = $1; for (i = 3; i <= NF; i++) owner[$i] = owner[$i] " " $2 }
    next
}
function module_of_header(name) {
    while (!(name in layer) && sub(/_[^_]*$/, "", name)) continue
    return name in layer ? name : "base"
}
function module_of(path,  part, n) {
    n = split(path, part, "/")
    if (part[1] != "include") return part[2]
    sub(/\.h$/, "", part[n])
    return module_of_header(part[n])
}
function prefix_of(module) { return module == "base" ? "wsc" : module }
function has_prefix(name, module) {
    return name == prefix_of(module) || index(name, prefix_of(module) "_") == 1
}
function code_of(line,  at) {
    gsub(/\\./, "", line)
    gsub(/"[^"]*"/, "\"\"", line)
    if (in_comment) {
        if (!(at = index(line, "*/"))) return ""
        line = substr(line, at + 2)
        in_comment = 0
    }
    gsub(/\/\*([^*]|\*+[^*\/])*\*+\//, " ", line)
    if (at = index(line, "/*")) { in_comment = 1; line = substr(line, 1, at - 1) }
    sub(/\/\/.*/, "", line)
    return line
}
function finding(key, module, text) { gsub(/\|/, "/", text); print key "|" module "|" text }
