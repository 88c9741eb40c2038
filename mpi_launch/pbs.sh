#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# PBS: submit from the top of the tree.  A script gets no options of its own from qsub, so those of
# `wsc run` travel in WSC_ARGS (split at blanks):
#
#   qsub -l select=2:ncpus=16:mpiprocs=16 \
#       -v WSC_ARGS='--params configs/params/gpt3_111m.yaml --num_csx 16' mpi_launch/pbs.sh
#
# Paths are relative to the folder of qsub; WSC_HOME=FOLDER names another tree or an installation.
# As many ranks are started as the job has slots, at most one per role.  A run that dies is started
# again, at most WSC_MAX_RESTARTS times (default 3), and resumes from its newest good checkpoint.
# WSC_STOP_SECONDS (default 120) before the time limit the script asks the run for a checkpoint; it
# ends with status 5, and resubmitting resumes from there.  At the limit itself and for qdel PBS
# signals all processes at once, and mpirun ends the ranks before they have written one.
#PBS -N wsc
#PBS -l select=1:ncpus=17:mpiprocs=17
#PBS -l walltime=04:00:00
#PBS -j oe
set -u

home=${WSC_HOME:-${PBS_O_WORKDIR:?submit with qsub, or set WSC_HOME}}
home=$(cd "$home" && pwd) || exit 2
cd "${PBS_O_WORKDIR:-$home}" || exit 2
. "$home/mpi_launch/common.sh"

# The walltime of the job in seconds; nothing where PBS does not say.
seconds_of_job() {
    if [ -n "${PBS_WALLTIME:-}" ]; then
        echo "$PBS_WALLTIME"
    else
        qstat -f "${PBS_JOBID:-}" 2>/dev/null | awk '$1 == "Resource_List.walltime" {
            n = split($3, part, ":"); for (i = 1; i <= n; i++) s = 60 * s + part[i]; print s }'
    fi
}

number_of WSC_STOP_SECONDS 120
stop=$number
number_of WSC_MAX_RESTARTS 3
# Split at blanks, and no names of files for `*`, `?` and `[`.
set -f
# shellcheck disable=SC2086 # split at blanks on purpose
set -- ${WSC_ARGS:?set WSC_ARGS to the options of wsc run}
set +f
program=$(find_wsc "$home") || exit 2
roles=$(count_ranks "$program" "$@") || exit
slots=$(wc -l <"${PBS_NODEFILE:?not inside a PBS job}")
find_mpirun
ranks=$(smaller "$roles" "$slots")
enough_files "$(smaller "$ranks" "$(sort "$PBS_NODEFILE" | uniq -c | sort -n | awk 'END { print $1 }')")"
hosts=--hostfile
is_open_mpi || hosts=-f
stop_before_limit $$ "$(seconds_of_job)" "$stop" &
timer=$!
own_folder_in_job
# shellcheck disable=SC2046,SC2086 # lists of words
run_with_restarts "$number" $mpirun $(forwarded_variables) \
    "$hosts" "$PBS_NODEFILE" -n "$ranks" "$program" run --run_id "pbs-${PBS_JOBID:-$$}" "$@"
kill -KILL "$timer" 2>/dev/null
exit "$status"
