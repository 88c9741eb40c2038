# SPDX-License-Identifier: Apache-2.0
# References of the documents.  Links lead to files and headings that exist; a path in backticks
# exists (patterns with * too); `name()` is a function of the sources, `path:name()` is defined in
# that file; every folder of src is described in docs/ARCHITECTURE.md.  Input: kind=files a list of
# all files, kind=functions lines `path:first line of a function`, kind=docs the documents.
function slug(text) {
    text = tolower(text)
    gsub(/`/, "", text)
    gsub(/[^a-z0-9_ -]/, "", text)
    gsub(/ /, "-", text)
    return text
}
function dir_of(path) { return path ~ /\// ? substr(path, 1, match(path, /[^\/]*$/) - 1) : "" }
function join(base, path) {
    path = base path
    while (match(path, /[^\/]+\/\.\.\//)) path = substr(path, 1, RSTART - 1) substr(path, RSTART + RLENGTH)
    sub(/\/$/, "", path)
    return path
}
function exists(path,  pattern, f) {
    sub(/\/$/, "", path)
    if (path !~ /[*]/) return path in file
    pattern = path
    gsub(/\./, "\\.", pattern)
    gsub(/\*/, "[^/]*", pattern)
    for (f in file) if (f ~ "^" pattern "$") return 1
    return 0
}
function bad(text) { n_bad++; finding(FILENAME ":" FNR, "docs", FILENAME ":" FNR ": " text) }
kind == "files" {
    file[$0]
    for (d = dir_of($0); d != ""; d = dir_of(d)) { sub(/\/$/, "", d); file[d] }
    next
}
kind == "functions" {
    path = $0; sub(/:.*/, "", path)
    text = substr($0, length(path) + 2)
    while (match(text, /[A-Za-z_][A-Za-z0-9_]*\(/)) {
        name = substr(text, RSTART, RLENGTH - 1)
        defined[name]; defined_in[path, name]
        text = substr(text, RSTART + RLENGTH)
    }
    next
}
kind == "docs" && FNR == 1 { fence = 0 }
kind == "docs" {
    if (/^ *```/) { fence = !fence; next }
    if (fence) next
    if (/^#+ /) { h = $0; sub(/^#+ /, "", h); heading[FILENAME, slug(h)] }
    text = $0
    while (match(text, /\]\([^)]*\)/)) {
        link = substr(text, RSTART + 2, RLENGTH - 3)
        text = substr(text, RSTART + RLENGTH)
        if (link ~ /^[a-z]+:/) continue
        anchor = link ~ /#/ ? substr(link, index(link, "#") + 1) : ""
        sub(/#.*/, "", link)
        target = link == "" ? FILENAME : join(dir_of(FILENAME), link)
        if (!exists(target)) bad("no file " link)
        else if (anchor != "") { n_want++; want[n_want] = target SUBSEP anchor; where[n_want] = FILENAME ":" FNR }
    }
    n = split($0, part, "`")
    for (i = 2; i <= n; i += 2) {
        word = part[i]
        if (FILENAME == "docs/ARCHITECTURE.md") described[word]
        if (word ~ /[ <>{]/) continue
        name = word ~ /[A-Za-z0-9_]+\(\)$/ ? word : ""
        sub(/\(\)$/, "", name); sub(/.*:/, "", name)
        path = word ~ /^(src|include|tests|benchmarks|configs|mpi_launch|docs)\// ? word : ""
        sub(/:.*/, "", path)
        if (path != "" && !exists(path)) bad("no file " path)
        else if (path != "" && name != "") { if (!((path, name) in defined_in)) bad("no function " name " in " path) }
        else if (name != "" && !(name in defined)) bad("no function " name)
    }
}
END {
    for (f in file)
        if (f ~ /^src\/[^\/]*$/ && !((f) in described))
            finding(f, "docs", "docs/ARCHITECTURE.md: " f " is not described")
    for (i = 1; i <= n_want; i++)
        if (!(want[i] in heading)) {
            split(want[i], w, SUBSEP)
            finding(where[i], "docs", where[i] ": no heading #" w[2] " in " w[1])
        }
}
