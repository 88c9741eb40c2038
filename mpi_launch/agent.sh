#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What hosts.sh starts on each other machine: mpirun's daemon, with a folder for shared memory that
# goes with it.  The daemon is ended when its ranks have ended and it does not notice, as when the
# machine that started it is cut off.  A restart may reach a machine whose agent of the start before
# is still there: it ends that agent and its processes, and takes the folder over.
# usage: agent.sh FOLDER OPTION...
set -u
# The shell writes of a daemon that was killed, to a connection that may be gone.  Not '', which the
# daemon would inherit.
trap : PIPE

# shellcheck source=mpi_launch/common.sh
. "$(dirname "$0")/common.sh"
shared=$1
shift

# The agent first: at its end it would end the processes of this start, which have its mark.
end_earlier_start() {
    earlier=$(cat "$shared/agent" 2>/dev/null)
    ! grep -qs "$shared" "/proc/${earlier:-none}/cmdline" || kill -KILL "$earlier" 2>/dev/null
    mark_of_folder
    end_processes
    rm -rf "$shared"
}

# A folder without the file `agent` is not an agent's, or one that is being removed.
take_folder() {
    for attempt in 0 1 2; do
        [ "$attempt" -eq 0 ] || [ ! -d "$shared" ] || sleep 1
        [ ! -e "$shared/agent" ] || end_earlier_start
        why=$(mkdir -m 700 "$shared" 2>&1) && echo $$ >"$shared/agent" && return
    done
    echo "$0: $(hostname): ${why:-$shared cannot be written}" >&2
    return 1
}

take_folder || exit 1
own_processes
orted "$@" &
daemon=$!
trap 'kill -TERM "$daemon"' TERM HUP INT
watch_launcher "$daemon" &
watcher=$!
wait "$daemon"
status=$?
kill -KILL "$watcher" 2>/dev/null
exit "$status"
