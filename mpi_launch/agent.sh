#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What hosts.sh starts on each other machine: mpirun's daemon, with a folder for shared memory that
# goes with it.  The daemon is ended when its ranks have ended and it does not notice, as when the
# machine that started it is cut off.
# usage: agent.sh FOLDER OPTION...
set -u

# shellcheck source=mpi_launch/common.sh
. "$(dirname "$0")/common.sh"
shared=$1
shift
mkdir -m 700 "$shared" || exit 1
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
