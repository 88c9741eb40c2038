# SPDX-License-Identifier: Apache-2.0
# Shared by the rules about comments.  split_line(line): sets `code`, the line without comments and
# texts, and `comment`, what is in its comments; by in_comment, which a new file sets to 0.
FNR == 1 { in_comment = 0 }
function split_line(line,  block, slashes) {
    code = comment = ""
    if (!in_comment) {
        gsub(/\\./, "", line)
        gsub(/"[^"]*"/, "\"\"", line)
    }
    while (line != "") {
        block = index(line, in_comment ? "*/" : "/*")
        slashes = in_comment ? 0 : index(line, "//")
        if (slashes && (!block || slashes < block)) {
            code = code substr(line, 1, slashes - 1)
            comment = comment substr(line, slashes + 2)
            return
        }
        if (in_comment) comment = comment (block ? substr(line, 1, block - 1) : line) " "
        else code = code (block ? substr(line, 1, block - 1) : line) " "
        if (!block) return
        line = substr(line, block + 2)
        in_comment = !in_comment
    }
}
