#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Launches `wsc run` on this machine, by default with one MPI rank for each role.
set -u

usage() {
    cat <<'EOF'
usage: mpi_launch/local.sh [-n RANKS] [--max-restarts K] [options of wsc run]

  -n RANKS           MPI ranks, from 1 to the number of roles (default: one per role); the results
                     are the same for every number.  More ranks than cores is fine.
  --max-restarts K   start a run that died again, at most K times (default 0); it goes on from its
                     newest good checkpoint, with the same results as if nothing had happened

SIGTERM, SIGUSR1 and SIGINT let the run write a checkpoint and end with status 5; a second one ends
it at once.  Ends with the exit status of wsc.  The program is $WSC, build/wsc or wsc on the PATH.

examples:
  mpi_launch/local.sh --params configs/params/default.yaml --num_csx 4
  mpi_launch/local.sh -n 3 --params configs/params/tiny.yaml --num_csx 2 --num_steps 20
  mpi_launch/local.sh --max-restarts 5 --params configs/params/tiny.yaml --num_csx 2
EOF
}

whole_number() { # OPTION TEXT SMALLEST
    case $2 in
    '' | *[!0-9]* | 0?*) ;;
    *) [ "$2" -lt "$3" ] || return 0 ;;
    esac
    echo "$0: $1: expected a whole number, at least $3, got \"$2\"" >&2
    exit 2
}

home=$(cd "$(dirname "$0")/.." && pwd)
. "$home/mpi_launch/common.sh"

# What mpirun leaves when it is killed or crashes itself: shared memory, and ranks that were stopped.
# The folder's name in their environment is how they are known.
# shellcheck disable=SC2317 # called by the trap
clean_up() {
    for process in /proc/[0-9]*; do
        if grep -qs "btl_vader_backing_directory=$shared" "$process/environ"; then
            kill -KILL "${process#/proc/}" 2>/dev/null
        fi
    done
    rm -rf "$shared"
}

ranks=
max_restarts=0
while :; do
    case ${1:-} in
    -h | --help)
        usage
        exit 0
        ;;
    -n)
        ranks=${2:-}
        whole_number -n "$ranks" 1
        ;;
    --max-restarts)
        max_restarts=${2:-}
        whole_number --max-restarts "$max_restarts" 0
        ;;
    *) break ;;
    esac
    shift 2
done

program=$(find_wsc "$home") || exit 2
# What is wrong with the options, `wsc run` says better than `wsc ranks`.
[ -n "$ranks" ] || ranks=$(count_ranks "$program" "$@" 2>/dev/null) || ranks=1
[ "$max_restarts" -eq 0 ] || set -- --run_id "local-$(hostname)-$$-$(date +%s)" "$@"

set -- "$program" run "$@"
# An idle rank gives its core to the others; where ranks outnumber cores that is what makes the
# difference between minutes and hours.
if [ "$ranks" -gt 1 ]; then
    set -- -n "$ranks" "$@"
    [ "$ranks" -le "$(nproc)" ] || set -- --oversubscribe "$@"
    [ "$(id -u)" -ne 0 ] || set -- --allow-run-as-root "$@"
    # Shared memory and mpirun's own files in a folder that goes even when mpirun was killed.
    if shared=$(mktemp -d "${WSC_SHM:-/dev/shm}/wsc.XXXXXX" 2>/dev/null); then
        trap clean_up EXIT
        set -- --mca btl_vader_backing_directory "$shared" --mca orte_tmpdir_base "$shared" "$@"
    fi
    set -- mpirun --quiet --bind-to none --mca mpi_yield_when_idle 1 "$@"
fi
run_with_restarts "$max_restarts" "$@"
exit "$status"
