# SPDX-License-Identifier: Apache-2.0
# Lines of code, lines that are comment only, lines of code with a comment behind them, and the
# ratios of comment-only lines and of all lines with a comment to code, for each module of src and
# for include.
FNR == 1 { in_comment = 0; m = FILENAME ~ /^include/ ? "include" : module_of(FILENAME); files[m]++ }
{
    was_in = in_comment
    code = code_of($0)
    has = was_in || /\/\*|\/\//
    if (code !~ /^[ \t]*$/) { n_code[m]++; n_behind[m] += has && !was_in }
    else if (has) n_only[m]++
}
function show(name, f, code, only, behind) {
    printf "%-12s %5d files %7d code %6d comment %6d behind code  %.2f %.2f\n", name, f, code, only, behind,
        code ? only / code : 0, code ? (only + behind) / code : 0
}
END {
    for (m in files) {
        if (m != "include") { f += files[m]; c += n_code[m]; o += n_only[m]; b += n_behind[m] }
    }
    for (l = 0; l < 100; l++) for (m in files) if (m in layer && layer[m] == l) show(m, files[m], n_code[m], n_only[m], n_behind[m])
    show("src", f, c, o, b)
    show("include", files["include"], n_code["include"], n_only["include"], n_behind["include"])
}
