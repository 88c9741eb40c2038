# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# What the launch scripts share; they source it.  Who does what is asked of `wsc ranks`.

# The program: $WSC, or else the build of the tree $1, an installation around it, the PATH.
find_wsc() {
    for candidate in "$1/build/wsc" "$1/../../bin/wsc" "$(command -v wsc)"; do
        candidate=${WSC:-$candidate}
        if [ -f "$candidate" ] && [ -x "$candidate" ]; then
            echo "$candidate"
            return
        fi
    done
    echo "$0: no program wsc: run make first, or set WSC=/path/to/wsc" >&2
    return 1
}

# Ranks for one role per rank: `wsc ranks` with those options of `wsc run` that it knows.
count_ranks() { # PROGRAM OPTION...
    program=$1
    shift
    left=$#
    while [ "$left" -gt 0 ]; do
        option=$1
        shift
        left=$((left - 1))
        case $option in
        --num_csx | --params | --cluster | --set)
            [ "$left" -gt 0 ] || break # its value is missing; `wsc run` will say so
            set -- "$@" "$option" "$1"
            shift
            left=$((left - 1))
            ;;
        --num_csx=* | --params=* | --cluster=* | --set=*) set -- "$@" "$option" ;;
        esac
    done
    "$program" ranks "$@"
}

smaller() {
    if [ "$1" -lt "$2" ]; then echo "$1"; else echo "$2"; fi
}
