# SPDX-License-Identifier: Apache-2.0
# Each outside header of layers.txt belongs to one module.
END {
    for (h in owner)
        if (split(owner[h], m, " ") > 1) finding(h, m[1], "tests/lint/layers.txt: " h ": several owners:" owner[h])
}
