# SPDX-License-Identifier: Apache-2.0
# A source file opens with a comment of 2 to 10 lines (after the SPDX line), a public header with
# one of 2 to 40.
function close_file() {
    if (path == "") return
    most = path ~ /^include\// ? 40 : 10
    if (n >= 2 && n <= most) return
    finding(path, module_of(path), path ": opening comment: " n " lines, 2 to " most " are wanted")
}
FNR == 1 { close_file(); path = FILENAME; n = 0; state = "before" }
state == "before" && /SPDX-License-Identifier/ { next }
state == "before" { state = /^\/\*/ ? "block" : /^\/\// ? "lines" : "after" }
state == "lines" && !/^\/\// { state = "after" }
state == "after" { next }
{ n++ }
state == "block" && /\*\// { state = "after" }
END { close_file() }
