# SPDX-License-Identifier: Apache-2.0
# Includes follow layers.txt; see layers.sh.
function bad(why) { print FILENAME ":" FNR ": " me ": " why; n++ }
FNR == 1 { me = module_of(FILENAME); if (!(me in layer)) bad("module " me " is not in layers.txt") }
/^# *include <wsc\// {
    split($0, a, /[\/.>]/)
    m = module_of_header(a[2])
    if (m != me && layer[m] >= layer[me]) bad("layer " layer[me] " may not include wsc/" a[2] ".h")
}
/^# *include "\.\./ { bad("private header of another folder") }
/^# *include </ && !/<wsc\// {
    h = $0; sub(/^[^<]*</, "", h); sub(/>.*/, "", h)
    if (h in free || index(owner[h] " ", " " me " ")) next
    bad("<" h "> " (h in owner && owner[h] != "" ? "belongs to" owner[h] : "has no owner in layers.txt"))
}
END { exit n > 0 }
