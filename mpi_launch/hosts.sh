#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Launches `wsc run` on the machines of a hosts file, without a scheduler.
# shellcheck disable=SC2317 # functions are called by name
set -u

usage() {
    cat <<'EOT'
usage: mpi_launch/hosts.sh HOSTFILE [-n RANKS] [--max-restarts K] [options of wsc run]

  HOSTFILE           one machine per line, NAME or NAME slots=N (the most ranks it may take; default:
                     its cores; several lines of a NAME add up); # begins a comment.
                     mpi_launch/hosts.example is one.
  -n RANKS           MPI ranks (default: one per role), at most the sum of the slots; the results
                     are the same for every number
  --max-restarts K   start a run that died again, at most K times (default 0), on the machines that
                     still answer; it resumes from its newest good checkpoint, with the same results
                     as if nothing had happened

Start it on one of the machines.  It reaches the others by ssh, which must not ask for a password;
program, data and --model_dir lie under the same paths on all, model_dir on a shared file system.
Ranks are spread in proportion to the slots.  Each machine that does not answer is left out.

SIGTERM, SIGUSR1, SIGINT (Ctrl-C) and SIGHUP let the run write a checkpoint and end with status 5; a second one ends
it at once.  Ends with the exit status of wsc.  The program is $WSC, build/wsc or wsc on the PATH.

examples:
  mpi_launch/hosts.sh hosts --params configs/params/gpt3_111m.yaml --num_csx 16
  mpi_launch/hosts.sh hosts --max-restarts 5 --params configs/params/tiny.yaml --num_csx 2
EOT
}

script=$0 # or what it is a symbolic link to
[ ! -h "$script" ] || script=$(readlink -f "$script")
home=$(cd "$(dirname "$script")/.." && pwd)
. "$home/mpi_launch/common.sh"

# A connection is as patient as the heartbeats: a fifth of them five times.
case ${WSC_HEARTBEAT_SECONDS:-} in
'' | *[!0-9]*) patience=60 ;;
*) patience=$WSC_HEARTBEAT_SECONDS ;;
esac
ssh_options="-o BatchMode=yes -o ConnectTimeout=10 -o ServerAliveCountMax=5"
ssh_options="$ssh_options -o ServerAliveInterval=$(((patience + 4) / 5))"

# "NAME SLOTS" or "NAME" for each machine of the file, whose lines may end with CR and LF; the slots
# of several lines add up.  awk reads standard input, as it takes NAME=FILE for an assignment.
read_hosts() { # FILE
    SCRIPT=$0 HOSTS=$1 awk '
        { sub(/\r$/, ""); sub(/#.*/, "") }
        NF && !(NF == 1 || (NF == 2 && $2 ~ /^slots=[1-9][0-9]*$/)) {
            printf "%s: %s:%d: expected NAME or NAME slots=N\n", ENVIRON["SCRIPT"], ENVIRON["HOSTS"], NR
            bad = 1
            exit
        }
        NF { sub(/slots=/, "", $2); if (!seen[$1]++) name[++n] = $1; slots[$1] += $2 }
        END {
            if (!bad && !n) printf "%s: %s: no machine in it\n", ENVIRON["SCRIPT"], ENVIRON["HOSTS"]
            for (i = 1; !bad && i <= n; i++) print name[i], slots[name[i]] ? slots[name[i]] : ""
            exit bad || !n
        }' <"$1"
}

is_here() { # NAME
    case " localhost 127.0.0.1 $(hostname) $(hostname -s) $(hostname -I 2>/dev/null) " in
    *" $1 "*) return 0 ;;
    esac
    return 1
}

# "NAME SLOTS" of a machine that answers and has the program.
probe() { # NAME [SLOTS]
    if is_here "$1"; then
        cores=$(nproc)
    else
        # shellcheck disable=SC2029,SC2086 # the path is meant as it is here; a list of options
        cores=$(ssh $ssh_options "$1" "test -x '$program' || exit 3; nproc" </dev/null 2>/dev/null)
    fi
    case $? in
    0) echo "$1 ${2:-$cores}" ;;
    3) echo "$0: $1 has no program $program; left out" >&2 ;;
    *) echo "$0: $1 does not answer; left out" >&2 ;;
    esac
}

# All at the same time; one that is gone takes ten seconds.
probe_hosts() {
    line=0
    while read -r name slots; do
        line=$((line + 1))
        # shellcheck disable=SC2086 # no second word where the file has none
        probe "$name" $slots >"$work/host.$line" &
    done <"$work/hosts"
    wait
    for file in $(seq "$line"); do
        cat "$work/host.$file"
    done
}

# A hosts file with a slot for each rank, ranks in proportion to slots.
share_ranks() { # MOST_RANKS
    awk -v most="$1" '
        { name[NR] = $1; total += $2; below[NR] = total }
        END {
            ranks = total < most ? total : most
            for (i = 1; i <= NR; i++) {
                here = int(ranks * below[i] / total) - int(ranks * below[i - 1] / total)
                if (here) print name[i] " slots=" here
            }
        }' "$work/alive"
}

# Becomes mpirun, so that it is the process that is watched and signalled.  The agent's words are for
# a shell of the other machine: quoted, as paths may have blanks.
start() { # OPTION...
    probe_hosts >"$work/alive"
    [ -s "$work/alive" ] || {
        echo "$0: no machine of $hostfile answers" >&2
        exit 1
    }
    share_ranks "$ranks" >"$work/ranks"
    slots=$(awk '{ sum += $2 } END { print sum }' "$work/alive")
    [ -z "$asked_ranks" ] || [ "$slots" -ge "$ranks" ] ||
        echo "$0: -n $ranks: the machines that answer have $slots slots; that many ranks start" >&2
    enough_files "$(sed 's/.*=//' "$work/ranks" | sort -n | tail -n 1)"
    # shellcheck disable=SC2046,SC2086 # lists of words
    exec $apart mpirun $(forwarded_variables) --hostfile "$work/ranks" --bind-to none --leave-session-attached \
        --mca mpi_yield_when_idle 1 --mca plm_rsh_no_tree_spawn 1 \
        --mca plm_rsh_args "$ssh_options" \
        --mca orte_launch_agent "'$home/mpi_launch/agent.sh' '$shared'" "$program" run "$@"
}

case ${1:-} in
'' | -h | --help)
    usage
    [ -n "${1:-}" ] && exit 0
    exit 2
    ;;
esac
hostfile=$1
shift
take_launch_options "$@"
shift "$taken"

program=$(find_wsc "$home") || exit 2
case $program in /*) ;; *) program=$PWD/$program ;; esac
if [ ! -r "$hostfile" ] || [ -d "$hostfile" ]; then
    echo "$0: $hostfile: cannot be read, or is a folder" >&2
    exit 2
fi
find_mpirun
is_open_mpi || {
    echo "$0: mpirun is MPICH's, and this script works with Open MPI's: start mpirun -f HOSTFILE -n RANKS $program run ..." >&2
    exit 2
}
own_folder
[ -n "${shared:-}" ] || {
    echo "$0: no folder for shared memory in ${WSC_SHM:-/dev/shm}" >&2
    exit 1
}
work=$shared/launch
mkdir "$work"
read_hosts "$hostfile" >"$work/hosts" || {
    cat "$work/hosts" >&2
    exit 2
}
asked_ranks=$ranks
[ -n "$ranks" ] || ranks=$(count_ranks "$program" "$@") || exit
[ "$(id -u)" -ne 0 ] || export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
[ "$max_restarts" -eq 0 ] || set -- --run_id "hosts-$(hostname)-$$-$(date +%s)" "$@"
run_with_restarts "$max_restarts" start "$@"
exit "$status"
