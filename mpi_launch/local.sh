#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Launches `wsc run` on this machine, by default with one MPI rank for each role.
set -u

usage() {
    cat <<'EOF'
usage: mpi_launch/local.sh [-n RANKS] [options of wsc run]

  -n RANKS   MPI ranks, from 1 to the number of roles (default: one per role); the results are
             the same for every number.  More ranks than cores is fine.

Ends with the exit status of wsc.  The program is $WSC, build/wsc or wsc on the PATH.

examples:
  mpi_launch/local.sh --params configs/params/default.yaml --num_csx 4
  mpi_launch/local.sh -n 3 --params configs/params/tiny.yaml --num_csx 2 --num_steps 20
EOF
}

home=$(cd "$(dirname "$0")/.." && pwd)
. "$home/mpi_launch/common.sh"

ranks=
case ${1:-} in
-h | --help)
    usage
    exit 0
    ;;
-n)
    ranks=${2:-}
    case $ranks in
    '' | *[!0-9]* | 0*)
        echo "$0: -n: expected a number of ranks, got \"$ranks\"" >&2
        exit 2
        ;;
    esac
    shift 2
    ;;
esac

program=$(find_wsc "$home") || exit 2
# What is wrong with the options, `wsc run` says better than `wsc ranks`.
[ -n "$ranks" ] || ranks=$(count_ranks "$program" "$@" 2>/dev/null) || ranks=1
[ "$ranks" -gt 1 ] || exec "$program" run "$@"

# An idle rank gives its core to the others; where ranks outnumber cores that is what makes the
# difference between minutes and hours.
set -- -n "$ranks" "$program" run "$@"
[ "$ranks" -le "$(nproc)" ] || set -- --oversubscribe "$@"
[ "$(id -u)" -ne 0 ] || set -- --allow-run-as-root "$@"
exec mpirun --quiet --bind-to none --mca mpi_yield_when_idle 1 "$@"
