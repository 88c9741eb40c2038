#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Launches `wsc run` on this machine, by default with one MPI rank for each role.
set -u

usage() {
    cat <<'EOF'
usage: mpi_launch/local.sh [-n RANKS] [--max-restarts K] [options of wsc run]

  -n RANKS           MPI ranks, from 1 to the number of roles (default: one per role); the results
                     are the same for every number.  More ranks than cores is fine.
  --max-restarts K   start a run that died again, at most K times (default 0); it resumes from its
                     newest good checkpoint, with the same results as if nothing had happened

SIGTERM, SIGUSR1, SIGINT (Ctrl-C) and SIGHUP let the run write a checkpoint and end with status 5; a second one ends
it at once.  Ends with the exit status of wsc.  The program is $WSC, build/wsc or wsc on the PATH.

examples:
  mpi_launch/local.sh --params configs/params/default.yaml --num_csx 4
  mpi_launch/local.sh -n 3 --params configs/params/tiny.yaml --num_csx 2 --num_steps 20
  mpi_launch/local.sh --max-restarts 5 --params configs/params/tiny.yaml --num_csx 2
EOF
}

script=$0 # or what it is a symbolic link to
[ ! -h "$script" ] || script=$(readlink -f "$script")
home=$(cd "$(dirname "$script")/.." && pwd)
. "$home/mpi_launch/common.sh"

take_launch_options "$@"
shift "$taken"

program=$(find_wsc "$home") || exit 2
# What is wrong with the options, `wsc run` says better than `wsc ranks`.
roles=$(count_ranks "$program" "$@" 2>/dev/null) || roles=
[ -n "$ranks" ] || ranks=${roles:-1}
# A thousand processes take minutes to say it.
if [ "$ranks" -gt "${roles:-$ranks}" ]; then
    echo "mpi_launch/local.sh: -n: $ranks ranks for $roles roles; hint: at most -n $roles" >&2
    exit 2
fi
[ "$max_restarts" -eq 0 ] || set -- --run_id "local-$(hostname)-$$-$(date +%s)" "$@"

set -- "$program" run "$@"
if [ "$ranks" -gt 1 ]; then
    set -- -n "$ranks" "$@"
    find_mpirun
    if is_open_mpi; then
        enough_files "$ranks"
        [ "$ranks" -le "$(nproc)" ] || set -- --oversubscribe "$@"
        [ "$(id -u)" -ne 0 ] || set -- --allow-run-as-root "$@"
        set -- --bind-to none "$@"
    fi
    own_folder
    # shellcheck disable=SC2086 # a list of words
    set -- $mpirun "$@"
fi
# shellcheck disable=SC2086 # no word where there is no setsid
run_with_restarts "$max_restarts" $apart "$@"
exit "$status"
