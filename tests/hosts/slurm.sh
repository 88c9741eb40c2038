#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# mpi_launch/slurm*.sbatch under a real Slurm: a cluster of this machine alone (munged, slurmctld,
# slurmd) in a folder of its own, gone at the end.  Prints `slurm: N passed, N failed`, or
# `skipped: ...` where the programs are missing.
# usage: tests/hosts/slurm.sh [CASE...]
# shellcheck disable=SC2317 # functions are called by name
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/hosts/common.sh
PATH=$PATH:/usr/sbin

free_port() { # FIRST
    port=$1
    while grep -qi ":$(printf %04X "$port") " /proc/net/tcp /proc/net/tcp6; do
        port=$((port + 1))
    done
    echo "$port"
}

write_config() {
    host=$(hostname -s)
    user=$(id -un)
    control_port=$(free_port $((20000 + $$ % 8000)))
    cat >"$dir/slurm.conf" <<END
ClusterName=wsc
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$control_port
SlurmdPort=$(free_port $((control_port + 1)))
SlurmUser=$user
SlurmdUser=$user
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket=$dir/munge/socket,cred_expire=5
StateSaveLocation=$dir/state
SlurmdSpoolDir=$dir/spool
SlurmctldPidFile=$dir/slurmctld.pid
SlurmdPidFile=$dir/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
JobAcctGatherType=jobacct_gather/none
SlurmdParameters=config_overrides
SchedulerParameters=sched_interval=2,batch_sched_delay=0
ReturnToService=2
MailProg=/bin/true
KillWait=5
NodeName=$host NodeAddr=127.0.0.1 CPUs=64
PartitionName=test Nodes=ALL Default=YES MaxTime=INFINITE State=UP
END
    export SLURM_CONF="$dir/slurm.conf"
}

bring_up() {
    mkdir "$dir/munge" "$dir/state" "$dir/spool"
    chmod 711 "$dir/munge"
    dd if=/dev/urandom of="$dir/munge/key" bs=128 count=1 2>/dev/null
    chmod 400 "$dir/munge/key"
    munged --foreground --force --socket="$dir/munge/socket" --key-file="$dir/munge/key" \
        --pid-file="$dir/munge/pid" --seed-file="$dir/munge/seed" --log-file="$dir/munge/log" \
        >/dev/null 2>&1 &
    wait_until 10 test -S "$dir/munge/socket" || return
    write_config
    slurmctld -D >"$dir/slurmctld.log" 2>&1 &
    slurmd -D >"$dir/slurmd.log" 2>&1 &
    wait_until 30 node_is_idle
}

node_is_idle() {
    sinfo -h -o %T 2>/dev/null | grep -qx idle
}

take_down() {
    [ -n "${SLURM_CONF:-}" ] || return
    scancel --user="$(id -un)" >/dev/null 2>&1
}

# ---- jobs ------------------------------------------------------------------------------------

submit() { # MODEL_DIR SBATCH_OPTION...
    model_dir=$1
    shift
    # shellcheck disable=SC2046 # a list of options
    job=$(sbatch --parsable --chdir="$PWD" --output="$model_dir.log" --ntasks=5 "$@" \
        mpi_launch/slurm.sbatch $(small_run "$model_dir"))
}

job_is() { # JOB STATE
    scontrol --oneliner show job "$1" | grep -q " JobState=$2 "
}

# Times that a job was put back into the queue.
restarts_of() { # JOB
    scontrol --oneliner show job "$1" | sed -n 's/.* Restarts=\([0-9]*\) .*/\1/p'
}

was_queued_again() { # JOB
    [ "$(restarts_of "$1")" -ge 1 ]
}

ends_like_the_reference() { # JOB MODEL_DIR
    wait_until 90 job_is "$1" COMPLETED || {
        tail -n 20 "$2.log"
        return 1
    }
    same_as_reference "$2"
}

# ---- cases -----------------------------------------------------------------------------------

a_job_equals_a_local_run() {
    submit "$dir/plain" && ends_like_the_reference "$job" "$dir/plain" &&
        grep -q '"ranks": 5,' "$dir/plain/performance.json"
}

fewer_tasks_than_roles_fold_them() {
    submit "$dir/folded" --ntasks=3 && ends_like_the_reference "$job" "$dir/folded" &&
        grep -q '"ranks": 3,' "$dir/folded/performance.json"
}

a_signalled_job_goes_on_from_the_queue() {
    submit "$dir/signalled" && wait_until 60 has_passed_step "$dir/signalled" 3 &&
        scancel --signal=USR1 --batch "$job" && wait_until 60 was_queued_again "$job" &&
        grep -q 'Saved checkpoint' "$dir/signalled.log" &&
        ends_like_the_reference "$job" "$dir/signalled" && grep -q 'Loaded' "$dir/signalled.log"
}

kill_rank() { # JOB RANK
    pids=$(marked "OMPI_COMM_WORLD_RANK=$2" | while read -r pid; do
        grep -qzsx "SLURM_JOB_ID=$1" "/proc/$pid/environ" && echo "$pid"
    done)
    # shellcheck disable=SC2086 # a list of processes
    [ -n "$pids" ] && kill -KILL $pids
}

# Rank 4 is the second wafer.
a_job_whose_wafer_dies_goes_on_from_the_queue() {
    WSC_MAX_RESTARTS=0 submit "$dir/killed" &&
        wait_until 60 has_passed_step "$dir/killed" 6 && kill_rank "$job" 4 &&
        wait_until 60 was_queued_again "$job" && ends_like_the_reference "$job" "$dir/killed"
}

a_job_that_cannot_start_is_not_repeated() {
    job=$(sbatch --parsable --output="$dir/wrong.log" -n 2 mpi_launch/slurm.sbatch --num_csx none) &&
        wait_until 30 job_is "$job" FAILED && [ "$(restarts_of "$job")" -eq 0 ] &&
        grep -q 'num_csx' "$dir/wrong.log"
}

a_cancelled_job_stays_cancelled() {
    submit "$dir/cancelled" && wait_until 60 has_passed_step "$dir/cancelled" 3 &&
        scancel "$job" && wait_until 30 job_is "$job" CANCELLED && sleep 3 &&
        job_is "$job" CANCELLED && [ "$(restarts_of "$job")" -eq 0 ]
}

# Cancelled while it writes the checkpoint of an earlier signal, which asks for the queue.
a_job_cancelled_while_it_stops_stays_cancelled() {
    submit "$dir/stopping" && wait_until 60 has_passed_step "$dir/stopping" 3 &&
        scancel --signal=USR1 --batch "$job" && scancel "$job" &&
        wait_until 30 job_is "$job" CANCELLED && sleep 3 && job_is "$job" CANCELLED &&
        [ "$(restarts_of "$job")" -eq 0 ]
}

sweep_has_rows() { # FILE ROWS
    [ -r "$1" ] && [ "$(wc -l <"$1")" -eq $(($2 + 1)) ]
}

# Losses are equal for any number of systems, virtual times are not.
an_array_job_sweeps() {
    out=$dir/sweep
    # shellcheck disable=SC2046 # a list of options
    sbatch --array=1-3 --ntasks=4 --output="$out-%a.log" mpi_launch/slurm_sweep.sbatch \
        num_csx=1,2,4 "$out" $(small_run "$out" | sed 's/ --model_dir .*//') &&
        wait_until 90 sweep_has_rows "$out/sweep.csv" 3 && cat "$out/sweep.csv" &&
        [ "$(cut -d, -f 1 "$out/sweep.csv" | tr '\n' ' ')" = 'num_csx 1 2 4 ' ] &&
        [ "$(tail -n +2 "$out/sweep.csv" | cut -d, -f 2,3 | sort -u | wc -l)" -eq 1 ] &&
        [ "$(tail -n +2 "$out/sweep.csv" | cut -d, -f 4 | sort -u | wc -l)" -eq 3 ] &&
        same_as_reference "$out/2"
}

# The last task has the number of the whole array.
a_signalled_task_of_an_array_comes_back_alone() {
    out=$dir/array
    # shellcheck disable=SC2046 # a list of options
    job=$(sbatch --parsable --array=1-3 --ntasks=4 --output="$out-%a.log" \
        mpi_launch/slurm_sweep.sbatch num_csx=1,2,4 "$out" \
        $(small_run "$out" | sed 's/ --model_dir .*//')) &&
        wait_until 60 has_passed_step "$out/3" 3 && scancel --signal=USR1 --batch "${job}_3" &&
        wait_until 90 sweep_has_rows "$out/sweep.csv" 3 &&
        wait_until 30 job_is "${job}_3" COMPLETED && same_as_reference "$out/2" &&
        [ "$(restarts_of "${job}_1") $(restarts_of "${job}_2") $(restarts_of "${job}_3")" = '0 0 1' ]
}

# Slurm looks at time limits every half minute, so that the signal, asked for 20 s before the limit
# of a minute, comes 10 to 40 s after the start.  The job is longer than that.
submit_long() {
    steps=100000 submit "$dir/limited" --time=1 --signal=B:USR1@20
    long_job=$job
}

the_time_limit_puts_a_job_back() {
    wait_until 60 was_queued_again "$long_job" || return
    stopped=$(wc -l <"$dir/limited/metrics.jsonl")
    wait_until 60 has_passed_step "$dir/limited" $((stopped + 5)) && scancel "$long_job" &&
        wait_until 30 job_is "$long_job" CANCELLED || return
    passed_steps=$((stopped + 5))
    # shellcheck disable=SC2046 # a list of options
    steps=$passed_steps "$wsc" run $(steps=$passed_steps small_run "$dir/unlimited") >/dev/null &&
        values_and_times "$dir/unlimited" >"$dir/unlimited.values" &&
        values_and_times "$dir/limited" | head -n "$passed_steps" | cmp - "$dir/unlimited.values"
}

need_programs mpirun munged slurmctld slurmd sbatch scancel scontrol
# Its daemon of a node does not start without the file system of control groups.
[ -n "$(ls -A /sys/fs/cgroup 2>/dev/null)" ] || skip "no control groups in /sys/fs/cgroup"
begin
make_data && make_reference || exit 1
bring_up || {
    tail -n 30 "$dir"/*.log
    exit 1
}
submit_long
check_chosen "$@" -- a_job_equals_a_local_run fewer_tasks_than_roles_fold_them \
    a_signalled_job_goes_on_from_the_queue a_job_whose_wafer_dies_goes_on_from_the_queue \
    a_job_that_cannot_start_is_not_repeated a_cancelled_job_stays_cancelled \
    a_job_cancelled_while_it_stops_stays_cancelled an_array_job_sweeps \
    a_signalled_task_of_an_array_comes_back_alone the_time_limit_puts_a_job_back
exit 0
