# SPDX-License-Identifier: Apache-2.0
# A source or header that a comment names exists.  Input: kind=list paths, one a line; kind=source
# sources and headers.  Files of others stand there with their folders; a name in upper case stands
# for many.
kind == "list" { name = $0; sub(/.*\//, "", name); known[name]; next }
{
    split_line($0)
    text = comment
    while (match(text, /[A-Za-z0-9_\/"-]+\.[ch]([^A-Za-z0-9_.]|\.$|\. |$)/)) {
        name = substr(text, RSTART, RLENGTH)
        text = substr(text, RSTART + RLENGTH)
        sub(/[^ch]*$/, "", name)
        if (name ~ /^[a-z0-9_]+\.[ch]$/ && !(name in known))
            finding(FILENAME ":" FNR, module_of(FILENAME), FILENAME ":" FNR ": " name ": no such file")
    }
}
