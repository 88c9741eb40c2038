# SPDX-License-Identifier: Apache-2.0
# No file name occurs twice in the tree.
{
    name = $0
    sub(/.*\//, "", name)
    if (name in path) finding($0, module_of($0), $0 ": the name of " path[name])
    else path[name] = $0
}
