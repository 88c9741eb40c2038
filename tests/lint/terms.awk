# SPDX-License-Identifier: Apache-2.0
# Words of terms.txt in documents, comments and messages: one finding for each line and word.
# Option names (--word), file names, identifiers, quoted single words ("word": names of columns,
# of files) and elements of markup (<word) are no words.  Input: kind=terms the table, kind=text the
# files.
function part_of(path,  part) {
    split(path, part, "/")
    return part[1] == "src" || part[1] == "include" ? module_of(path) : part[2] == "" ? "docs" : part[1]
}
kind == "terms" {
    if (/^#/ || !/\t/) next
    split($0, column, "\t")
    n++
    pattern[n] = "(^|[^a-z0-9_.<-])(" column[1] ")([^a-z0-9_-]|$)"
    instead[n] = column[2]
    next
}
kind == "text" {
    line = tolower($0)
    gsub(/"[a-z0-9_]+"/, "\"\"", line) # a name or a file's word, not a message
    for (i = 1; i <= n; i++)
        if (line ~ pattern[i])
            finding(FILENAME ":" FNR, part_of(FILENAME), FILENAME ":" FNR ": write \"" instead[i] "\": " substr($0, 1, 100))
}
